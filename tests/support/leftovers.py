"""A run of tests that leaves a process behind has failed."""

import os
import signal
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

MARK = "BEAMKEEP_TEST_RUN"
LEFT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Mark the environment that every process of this run inherits."""
    config.stash[LEFT] = []
    os.environ[MARK] = uuid4().hex


def processes(mark: str) -> dict[int, str]:
    """The command lines of the processes that were started under this mark, by process id."""
    found: dict[int, str] = {}
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                found[int(folder.name)] = command
        except (OSError, ValueError):
            continue  # it has ended, or is not ours to read
    # A process that has ended and is waited for has no command line.
    return {number: command for number, command in found.items() if command}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Name and end what is left, once every fixture has been put away."""
    if forking := sys.modules.get("beamkeep.testing.forking"):
        forking.end_original()
    left = processes(os.environ[MARK])
    left.pop(os.getpid(), None)
    for number, command in left.items():
        session.config.stash[LEFT].append(f"{number}: {command}")
        os.kill(number, signal.SIGKILL)
    if left and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was left."""
    for each in config.stash[LEFT]:
        terminalreporter.write_line(f"LEFT BEHIND: {each}", red=True)
