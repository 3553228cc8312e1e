"""A test that passes only the second time is flaky; a fault test that is skipped has failed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faults import report

ROOT = Path(__file__).parents[2]
SECOND = ("--second-run", "--last-failed", "--last-failed-no-failures=none")
TESTS = """
from pathlib import Path
import pytest

def test_sound():
    pass

@pytest.mark.parametrize("what", ["odd"])
def test_flaky(what):
    seen = Path(__file__).with_name("seen")
    before = seen.exists()
    seen.touch()
    assert before

def test_rows(subtests):
    for row in ("sound", "broken"):
        with subtests.test(row):
            assert row == "sound" or Path(__file__).with_name("mended").exists()

def test_broken():
    assert Path(__file__).with_name("mended").exists()

@pytest.mark.faults
@pytest.mark.skipif(True, reason="a library is missing")
def test_skipped():
    pass
"""


def run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run the tests of a folder in a process of their own."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = faults\n")
    (folder / "test_it.py").write_text(TESTS)
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    inherited |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.support.verdicts", "-rs", *arguments],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


def test_what_passes_only_the_second_time_is_printed_and_listed_as_flaky(tmp_path: Path):
    (tmp_path / "mended").touch()
    code, told = run(tmp_path)
    assert code == 1
    assert "FLAKY" not in told
    code, told = run(tmp_path, *SECOND)
    assert code == 0
    assert [line for line in told.splitlines() if line.startswith("FLAKY")] == [
        "FLAKY: test_it.py::test_flaky[odd]"
    ]
    assert (tmp_path / "build/flaky.txt").read_text() == "test_it.py::test_flaky[odd]\n"


def test_what_fails_twice_has_failed(tmp_path: Path):
    run(tmp_path)
    code, told = run(tmp_path, *SECOND)
    assert code == 1
    assert "3 failed, 1 passed" in told
    assert (tmp_path / "build/flaky.txt").read_text() == "test_it.py::test_flaky[odd]\n"


def test_a_skipped_fault_test_fails_in_ci_alone(tmp_path: Path):
    assert "1 skipped" in run(tmp_path, "-k", "skipped")[1]
    code, told = run(tmp_path, "-k", "skipped", CI="true")
    assert code == 1
    assert "no fault test is skipped in CI: Skipped: a library is missing" in told


def test_a_fault_test_that_begins_late_is_small_and_not_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BEAMKEEP_ROUNDS", raising=False)
    monkeypatch.setenv("BEAMKEEP_FAULT_SECONDS", "360")
    monkeypatch.setattr(report, "BEGAN", time.monotonic())
    assert report.size("ROUNDS", 100, 60) == (100, 30)
    monkeypatch.setattr(report, "BEGAN", time.monotonic() - 3600)
    assert report.size("ROUNDS", 100, 60) == (100, 0)
    assert len(list(report.rounds("ROUNDS", 100, 7, 60))) == 7
