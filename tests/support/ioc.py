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
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# Below Linux's ephemeral range: nobody's outgoing connection takes the port while the IOC is down.
PORTS = range(20_000, 32_000)
DEADLINE = 60.0
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
        repeater.bind(("127.0.0.1", _free_ports(1)[0]))
        ports = _free_ports(servers)
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

    Every put to an `Out` is a change of its own; those to an `In` may be merged by the IOC.
    """

    name: str
    kind: str
    initial: bool | int | float | str
    labels: Sequence[str] = ()
    """The states of an `mbbIn` or `mbbOut`, or the two of a `boolIn` or `boolOut`."""


class Ioc:
    """An IOC with some records on a port, running until it is told otherwise."""

    def __init__(self, port: int, *records: IocRecord) -> None:
        self.port = port
        self._records = records
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the IOC

    def start(self) -> None:
        """Start, and return once it serves its records."""
        if self._process is not None:
            raise IocError("the IOC is already running")
        address = "127.0.0.1"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EPICS_")} | {
            "EPICS_CAS_SERVER_PORT": str(self.port),
            "EPICS_CAS_INTF_ADDR_LIST": address,
            "EPICS_CAS_AUTO_BEACON_ADDR_LIST": "NO",
            "EPICS_CA_ADDR_LIST": address,
            "EPICS_CA_AUTO_ADDR_LIST": "NO",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._ask([[each.name, each.kind, each.initial, each.labels] for each in self._records])

    def put(self, name: str, *values: bool | int | float | str) -> None:
        """Give a record one value after another, as fast as it takes them."""
        self._ask(["put", name, *values])

    def alarm(self, name: str, severity: str, status: str = "NO") -> None:
        """Set the alarm of a record, such as `INVALID` and `LINK`."""
        self._ask(["alarm", name, severity, status])

    def access(self, name: str, group: str) -> None:
        """Put a record into the access group `DEFAULT`, or into `HIDDEN`, which nobody may read."""
        self._ask(["access", name, group])

    def freeze(self) -> None:
        """Stop every thread of the IOC; its connections stay open."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let a frozen IOC go on."""
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

    def _ask(self, request: Sequence[Any]) -> None:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(request), file=process.stdin, flush=True)
        if process.stdout.readline() != "done\n":
            self._log.seek(0)
            raise IocError(f"the IOC ended:\n{self._log.read()[-4000:]}")

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise IocError("the IOC is not running")
        return self._process


def _free_ports(count: int) -> list[int]:
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
