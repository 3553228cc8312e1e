"""A real terminal of 80 columns and 24 lines, as a person sits in front of it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

COLUMNS, LINES = 80, 24
BEAMKEEP = str(Path(sys.executable).parent / "beamkeep")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07")
PATIENCE = 60.0


class Screen(NamedTuple):
    """What a command left on the screen, with its colours, and how it ended."""

    raw: str
    code: int

    @property
    def text(self) -> str:
        """What a person reads."""
        return COLOURS.sub("", self.raw)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


class Terminal:
    """A program that runs at a terminal."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process, self._descriptor, self._seen = process, descriptor, b""

    def type(self, text: str) -> None:
        """Press these keys."""
        os.write(self._descriptor, text.encode())

    def wait_for(self, *texts: str) -> str:
        """Return what was shown since the last time, once it has all of these texts."""
        late = time.monotonic() + PATIENCE
        while True:
            shown = CONTROL.sub("", self._seen.decode(errors="replace"))
            if all(text in shown for text in texts):
                self._seen = b""
                return shown
            assert time.monotonic() < late, shown
            assert self._read(), shown

    def rest(self) -> str:
        """Return everything until the program has ended."""
        while self._read():
            pass
        return self._seen.decode().replace("\r\n", "\n")

    def _read(self) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE)
        assert ready, "the program says nothing"
        try:
            part = os.read(self._descriptor, 65536)
        except OSError:  # what Linux says when the other side is gone
            return False
        self._seen += part
        return bool(part)


@contextmanager
def at_terminal(*words: str, environment: Mapping[str, str]) -> Generator[Terminal]:
    """Run a program at a terminal; end it if it has not ended by itself."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    left_out = {"COLUMNS", "LINES", "NO_COLOR", "BEAMKEEP_URL", "BEAMKEEP_TOKEN"}
    inherited = {n: v for n, v in os.environ.items() if n not in left_out}
    process = subprocess.Popen(
        words,
        env={**inherited, "TERM": "xterm", "TZ": "UTC", **environment},
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,
    )
    os.close(there)
    try:
        yield Terminal(process, here)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        os.close(here)


def screen(*words: str, **environment: str) -> Screen:
    """Return what `beamkeep` shows for these words."""
    with at_terminal(BEAMKEEP, *words, environment=environment) as terminal:
        raw = terminal.rest()
        return Screen(raw, terminal.process.wait(PATIENCE))
