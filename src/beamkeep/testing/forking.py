"""Programs of ours that begin as copies of a process which imported the service before.

Python imports the service for seconds; tests that kill a program over and over wait for that most
of all. A copy is a process like any other: its own memory, files, environment and exit code.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from .cluster import await_paused

ROOT = Path(__file__).parents[3]
IMPORTED = (
    "beamkeep.adapters.http_server",
    "beamkeep.deployment.web",
    "beamkeep.parts.agents.loops",
    "beamkeep.parts.conducting.loops",
    "beamkeep.parts.subscriptions.loops",
    "beamkeep.parts.witness.loops",
    "beamkeep.parts.witness.proving",
    "beamkeep.surfaces.http.mcp",
    "beamkeep.surfaces.http.openapi",
)
"""What programs of the tests need, which is imported once for all of them."""
LARGEST = 2**20
type OpenFile = IO[bytes] | int


class Forked:
    """A running program, used like one of `subprocess`."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdout: OpenFile,
        stderr: OpenFile,
    ) -> None:
        """Run a module with its arguments; its standard input is empty."""
        self.args, self.returncode = words, None
        order = {"words": [*words], "cwd": str(cwd), "env": {**env}}
        with Path(os.devnull).open("rb") as nothing:
            self.pid: int = _original().ask(order, (nothing, stdout, stderr))
        self._end, self._turn = os.pidfd_open(self.pid), threading.Lock()
        weakref.finalize(self, os.close, self._end)

    returncode: int | None

    def poll(self) -> int | None:
        """Return the exit code, or None while the program runs."""
        return None if self._runs(0) else self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the program, and return its exit code."""
        if self._runs(timeout) or self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the program without a chance to close anything."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the program to end."""
        self.send_signal(signal.SIGTERM)

    def pause(self) -> None:
        """Stop the program in the middle of whatever it does."""
        self.send_signal(signal.SIGSTOP)
        await_paused([self.pid])

    def _runs(self, seconds: float | None) -> bool:
        if self.returncode is None and not select.select([self._end], [], [], seconds)[0]:
            return True
        with self._turn:
            if self.returncode is None:
                self.returncode = _original().ask({"ended": self.pid}, ())
        return False


class _Original:
    """The process that is copied."""

    def __init__(self) -> None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # One thread, so that a copy lacks none.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "beamkeep.testing.forking", str(its.fileno())]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL
        )
        its.close()
        self._socket, self._turn = ours, threading.Lock()
        atexit.register(self.end)

    def end(self) -> None:
        atexit.unregister(self.end)
        self._socket.close()
        self._process.wait()

    def ask(self, order: Mapping[str, Any], streams: Sequence[OpenFile]) -> int:
        numbers = [each if isinstance(each, int) else each.fileno() for each in streams]
        with self._turn:
            socket.send_fds(self._socket, [json.dumps(order).encode()], numbers)
            answer = self._socket.recv(LARGEST)
        if not answer:
            raise RuntimeError("the process that is copied has ended")
        return json.loads(answer)


@cache
def _original() -> _Original:
    return _Original()


def end_original() -> None:
    """End the process that is copied, if there is one; the next program starts another."""
    if _original.cache_info().currsize:
        _original().end()
        _original.cache_clear()


def main(number: int) -> None:
    """Answer orders until the tests close the socket."""
    for name in IMPORTED:
        import_module(name)
    # What all copies share is not written to by their collectors.
    gc.collect()
    gc.freeze()
    # Ctrl-C is for the copies. This process tells with which exit codes they end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = socket.socket(fileno=number)
    while True:
        text, streams, _, _ = socket.recv_fds(orders, LARGEST, 3)
        if not text:
            return
        order = json.loads(text)
        if pid := order.get("ended"):
            answer = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        elif not (answer := os.fork()):
            orders.close()
            _become(order, streams)
            return
        for each in streams:
            os.close(each)
        orders.send(json.dumps(answer).encode())


def _become(order: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Become the program of an order."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    paths = order["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [each for each in paths if each]
    module, *arguments = order["words"]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
