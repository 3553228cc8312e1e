"""A compute job runs as the user of the service, and learns nothing from the service's process."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

USER = 65534 if os.geteuid() == 0 else os.geteuid()
"""Who the processes are: root could read everything."""
BEGUN = """
import ctypes, os
from beamkeep.adapters.hiding import PR_SET_DUMPABLE, hide_process
if os.geteuid() == 0:
    os.setgroups([]); os.setgid({user}); os.setuid({user})
    # As if it had begun as this user.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
{hide}
print("begun", flush=True)
input()
"""


@contextmanager
def program(hide: str) -> Generator[int]:
    """Run a process of the user with a secret in its environment."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGUN.format(user=USER, hide=hide)],
        env={**os.environ, "DATABASE_URL": "postgresql://bk:quiet@"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"begun\n"
        yield process.pid
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def spied(pid: int, file: str) -> subprocess.CompletedProcess[bytes]:
    """Return what another process of the same user can read of a process."""
    command = ["head", "-c", "4096", f"/proc/{pid}/{file}"]
    return subprocess.run(command, capture_output=True, user=USER, group=USER, check=False)


def test_the_environment_of_a_process_that_does_not_hide_is_read_by_its_user():
    with program("") as pid:
        assert b"quiet" in spied(pid, "environ").stdout


@pytest.mark.parametrize("file", ["environ", "mem", "maps"])
def test_no_other_process_of_its_user_reads_anything_of_the_service(file: str):
    with program("hide_process()") as pid:
        found = spied(pid, file)
        assert b"Permission denied" in found.stderr
        assert found.stdout == b""
