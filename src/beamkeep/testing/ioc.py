"""A real EPICS server on loopback, a process of its own that can be killed and frozen at will."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# Below Linux's ephemeral range: nobody's outgoing connection takes the port while the IOC is down.
PORTS = range(20_000, 32_000)
DEADLINE = 60.0
SILENCE = 6.0
"""libca reads it once in a process, so that all tests agree on it."""

PROGRAM = Path(__file__).with_name("ioc_program.py")


class IocError(RuntimeError):
    """The IOC did not do what was asked of it."""


@dataclass(frozen=True)
class Network:
    """Loopback ports that nobody else uses, and the environment in which a client finds them."""

    ports: tuple[int, ...]
    environment: Mapping[str, str]


@contextmanager
def loopback_network(servers: int = 1) -> Generator[Network]:
    """Ports for so many IOCs, apart from everything else that speaks Channel Access here."""
    # A client that finds nobody at the repeater's port starts a daemon, which would outlive us.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as repeater:
        repeater.bind(("127.0.0.1", free_ports(1)[0]))
        ports = free_ports(servers)
        environment = {
            "EPICS_CA_ADDR_LIST": " ".join(f"127.0.0.1:{port}" for port in ports),
            "EPICS_CA_AUTO_ADDR_LIST": "NO",
            "EPICS_CA_SERVER_PORT": str(ports[0]),
            "EPICS_CA_REPEATER_PORT": str(repeater.getsockname()[1]),
        }
        yield Network(tuple(ports), environment)


@dataclass(frozen=True)
class IocRecord:
    """One process variable: `kind` is a function of `softioc.builder`, such as `boolOut`.

    A `kind` in lower case is a record type of EPICS itself, such as `calc`.

    Every put to an `Out` is a change of its own; those to an `In` may be merged by the IOC.
    """

    name: str
    kind: str
    initial: bool | int | float | str | Sequence[float]
    labels: Sequence[str] = ()
    """The states of an `mbbIn` or `mbbOut`, or the two of a `boolIn` or `boolOut`."""
    fields: Mapping[str, float | str] = field(default_factory=dict[str, float | str])
    """Fields of the record, such as `DISP`, and further arguments of `kind`."""
    slow: bool = False
    """Whether a put is confirmed only when the IOC is asked to release it."""


class ServerProcess:
    """A program that serves channels, running until it is stopped.

    The program reads one JSON array a line, the first when it starts, and answers `done` to each.
    """

    def __init__(
        self, program: Path, environment: Mapping[str, str], opening: Sequence[Any]
    ) -> None:
        self._command = [sys.executable, str(program)]
        self._opening = opening
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the server
        self._puts = tempfile.NamedTemporaryFile("r")  # noqa: SIM115 - closed with the server
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("EPICS_")}
        self._environment = inherited | dict(environment) | {"PUT_LOG": self._puts.name}

    def start(self) -> None:
        """Start, and return once it serves its channels."""
        if self._process is not None:
            raise IocError("the server is already running")
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.ask(self._opening)

    def puts(self) -> list[list[Any]]:
        """Return name and value of every put the server took up, over all its lives."""
        return [[name, value] for name, value, *_ in self.timed_puts()]

    def timed_puts(self) -> list[list[Any]]:
        """Return name, value and time of every put, over all lives of the server."""
        self._puts.seek(0)
        return [json.loads(line) for line in self._puts]

    def put(self, name: str, *values: Any) -> None:
        """Give a channel one value after another, as fast as the server takes them."""
        self.ask(["put", name, *values])

    def release(self) -> None:
        """Confirm the puts to slow channels that are waiting."""
        self.ask(["release"])

    def freeze(self) -> None:
        """Stop every thread of the server; its connections stay open."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let a frozen server continue."""
        self._running().send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once; do nothing if it is down."""
        if self._process is not None:
            with self._process as process:
                process.kill()
                process.wait(DEADLINE)
            self._process = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self._log.close()
        self._puts.close()

    def ask(self, request: Sequence[Any]) -> None:
        """Send a request, and return once it is done."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(request), file=process.stdin, flush=True)
        if process.stdout.readline() != "done\n":
            self._log.seek(0)
            raise IocError(f"the server ended:\n{self._log.read()[-4000:]}")

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise IocError("the server is not running")
        return self._process


class Ioc(ServerProcess):
    """An IOC with some records on a port."""

    def __init__(self, port: int, *records: IocRecord) -> None:
        address = "127.0.0.1"
        environment = {
            "EPICS_CAS_SERVER_PORT": str(port),
            "EPICS_CAS_INTF_ADDR_LIST": address,
            "EPICS_CAS_AUTO_BEACON_ADDR_LIST": "NO",
            "EPICS_CA_ADDR_LIST": address,
            "EPICS_CA_AUTO_ADDR_LIST": "NO",
        }
        fields = ([r.name, r.kind, r.initial, r.labels, r.fields, r.slow] for r in records)
        super().__init__(PROGRAM, environment, list(fields))
        self.port = port

    def alarm(self, name: str, severity: str, status: str = "NO") -> None:
        """Set the alarm of a record, such as `INVALID` and `LINK`."""
        self.ask(["alarm", name, severity, status])

    def access(self, name: str, group: str) -> None:
        """Put a record into an access group: `DEFAULT`, `HIDDEN` (no reading) or `LOCKED`."""
        self.set_field(name, "ASG", group)

    def set_field(self, name: str, field: str, value: str) -> None:
        """Set a field of a record, such as the name of a state."""
        self.ask(["field", name, field, value])


def free_ports(count: int) -> list[int]:
    """Return loopback ports that nobody uses."""
    found = [port for port in random.sample(PORTS, 200) if _is_free(port)]
    if len(found) < count:
        raise IocError("no free port was found")
    return found[:count]


def _is_free(port: int) -> bool:
    """Whether nobody has the port, neither for TCP nor for the searches over UDP."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True
