"""A run of tests that leaves a process behind fails and names it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEAVING = """
import subprocess, sys
from beamkeep.testing.forking import end_original

def test_leaving():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
"""
TIDY = """
import subprocess, sys

def test_tidy():
    subprocess.run([sys.executable, "-c", ""], check=True)
"""


def run(folder: Path, text: str) -> tuple[int, str]:
    """Run one test in a process of its own."""
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.leftovers"]
    ended = subprocess.run(
        [*command, "-W", "ignore", f"--rootdir={folder}", "-c", "/dev/null", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def test_a_process_that_is_left_behind_is_named_and_fails_the_run(tmp_path: Path):
    code, told = run(tmp_path, LEAVING)
    assert code == 1
    assert "1 passed" in told
    assert "LEFT BEHIND" in told
    assert "time.sleep(60)" in told


def test_a_run_that_ends_what_it_starts_passes(tmp_path: Path):
    code, told = run(tmp_path, TIDY)
    assert code == 0
    assert "LEFT BEHIND" not in told
