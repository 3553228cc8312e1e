"""`beamkeep work` as processes that can be killed, paused and resumed."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from beamkeep.testing.forking import Forked
from tests.faults.ground import Ground
from tests.faults.report import ROOT

DEADLINE = 60.0
UNSTARTED = ("The service cannot start on this database.", ", in service\n")
"""The last words of a process that ended before `Deployment.service` returned."""
NOTHING: Mapping[str, str] = {}


class Worker:
    """One worker process."""

    def __init__(
        self,
        ground: Ground,
        name: str,
        log: Path,
        words: Sequence[str] = ("beamkeep", "work"),
        environment: Mapping[str, str] = NOTHING,
    ) -> None:
        self.name, self._environment = name, environment
        self._ground, self._log, self._words = ground, log / f"{name}.log", words
        self._process = self._start()

    def require_alive(self) -> None:
        """Fail with its last words if it has ended by itself."""
        assert self._process.poll() is None, self._log.read_text()[-2000:]

    def revive(self) -> bool:
        """Start it again if it began while the database was away; fail if it ended otherwise."""
        if self._process.poll() is None:
            return False
        words = self._log.read_text()[-4000:]
        assert any(each in words for each in UNSTARTED), words
        self._process = self._start()
        return True

    def kill(self) -> None:
        """End it without a chance to put anything away, and start another in its place."""
        self._process.kill()
        self._process.wait(DEADLINE)
        self._process = self._start()

    def pause(self) -> None:
        """Stop it in the middle of whatever it does."""
        self._process.pause()

    def go_on(self) -> None:
        """Let it go on as if nothing had happened."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Stop it for good."""
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            self._process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(DEADLINE)

    def _start(self) -> Forked:
        with self._log.open("ab") as log:
            return Forked(
                self._words,
                cwd=ROOT,
                env={**os.environ, **self._ground.environment(self.name), **self._environment},
                stdout=log,
                stderr=log,
            )
