"""Copies of a process that imported the service are processes like any other."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from beamkeep.testing.forking import Forked

SLEEPING = "import time\ntime.sleep(600)\n"
TELLING = """
import os, random, sys, uuid
from uuid_utils.compat import uuid7
print(os.getcwd(), sorted(os.environ), sys.argv[1:], repr(sys.stdin.read()))
print(uuid.uuid4(), uuid7(), random.random(), file=sys.stderr)
sys.exit(7)
"""


def started(folder: Path, text: str, *arguments: str) -> Forked:
    """A copy that runs a program of its own."""
    (folder / "program.py").write_text(text)
    with (folder / "out").open("ab") as out, (folder / "error").open("ab") as error:
        words, own = ["program", *arguments], {"PYTHONPATH": str(folder)}
        return Forked(words, cwd=folder, env=own, stdout=out, stderr=error)


def test_a_copy_has_its_own_folder_environment_arguments_and_exit_code(tmp_path: Path):
    program = started(tmp_path, TELLING, "a", "b")
    assert program.wait(60) == program.poll() == 7
    assert (tmp_path / "out").read_text() == f"{tmp_path} ['PYTHONPATH'] ['a', 'b'] ''\n"


def test_two_copies_make_up_different_numbers(tmp_path: Path):
    for _ in range(2):
        started(tmp_path, TELLING).wait(60)
    first, second = (line.split() for line in (tmp_path / "error").read_text().splitlines())
    assert set(first).isdisjoint(second)


def test_a_copy_is_killed_though_many_wait_for_it(tmp_path: Path):
    program = started(tmp_path, SLEEPING)
    assert program.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0)
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(program.wait, 60) for _ in range(4)]
        program.kill()
        assert [each.result() for each in waiting] == [-9] * 4


def test_a_paused_copy_does_nothing_and_ends_when_it_is_killed(tmp_path: Path):
    program = started(tmp_path, SLEEPING)
    program.pause()
    state = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[0]
    assert state == "T"
    program.kill()
    assert program.wait(60) == -9
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)
