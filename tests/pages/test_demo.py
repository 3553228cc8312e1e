"""What `make demo` shows works as it is printed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.postgres
def test_every_line_that_the_demo_prints_works_and_nothing_is_left_running(tmp_path: Path):
    command = [sys.executable, "-m", "demo.run", "--check", "--folder", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [line.split()[:3] for line in ran.stdout.splitlines()] == [
        ["works:", ".venv/bin/beamkeep", "procedure"],
        ["works:", ".venv/bin/beamkeep", "status"],
        ["works:", "curl", "-s"],
        ["works:", ".venv/bin/python", "demo/mcp_client.py"],
        ["works:", ".venv/bin/beamkeep", "run"],
        ["works:", ".venv/bin/beamkeep", "procedure"],
        ["works:", ".venv/bin/beamkeep", "proposal"],
        ["works:", ".venv/bin/beamkeep", "proposal"],
    ]
    assert {file.name for file in tmp_path.iterdir()} == {
        "data",
        "env",
        "jwks.json",
        "token",
        "service.log",
    }
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
