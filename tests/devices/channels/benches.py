"""Real servers with the same channels, one for each kind of control system."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from beamkeep.parts.conducting.channels.channel_access import ChannelAccess
from beamkeep.parts.conducting.channels.memory import ChannelSimulator
from beamkeep.parts.conducting.channels.pv_access import PvAccess
from beamkeep.parts.conducting.channels.tango import Tango
from beamkeep.parts.conducting.control import ControlSystem, ControlWriteRejectedError, Quality
from beamkeep.schemas import Json
from beamkeep.testing.ioc import (
    SILENCE,
    Ioc,
    IocRecord,
    Network,
    ServerProcess,
    free_ports,
)

SERVERS = Path(__file__).with_name("servers")
CONNECT = 5.0
NAMES = ("number", "integer", "text", "shutter", "curve", "locked", "slow")
RECORDS = (
    IocRecord("ch:number", "aOut", 1.5),
    IocRecord("ch:integer", "longOut", 7),
    IocRecord("ch:text", "stringOut", "Si 111"),
    IocRecord("ch:shutter", "mbbOut", 0, ("Closed", "Open")),
    IocRecord("ch:curve", "WaveformOut", (1.0, 2.0, 3.0), fields={"length": 8}),
    IocRecord("ch:locked", "aOut", 1.5, fields={"DISP": 1}),
    IocRecord("ch:slow", "aOut", 1.5, slow=True),
)


class Bench(Protocol):
    """A server that a test reads, writes, disturbs and kills."""

    def client(self, connect_seconds: float = CONNECT) -> ControlSystem:
        """Return a new client."""
        ...

    def address(self, name: str) -> str:
        """Return the address of a channel."""
        ...

    def put(self, name: str, value: Json) -> None:
        """Change a channel from the server's side."""
        ...

    def alarm(self, name: str, severity: str) -> None:
        """Set the alarm of a channel to `NO`, `MINOR`, `MAJOR` or `INVALID`."""
        ...

    def puts(self, name: str) -> list[Json]:
        """Return every value that clients put into a channel, over all lives of the server."""
        ...

    def release(self) -> None:
        """Confirm the puts to the slow channel that are waiting."""
        ...

    def freeze(self) -> None:
        """Stop the server; its connections stay open."""
        ...

    def thaw(self) -> None:
        """Let a frozen server go on."""
        ...

    def kill(self) -> None:
        """End the server at once."""
        ...

    def start(self) -> None:
        """Start a killed server again."""
        ...


class ProcessBench:
    """A server in its own process."""

    def __init__(
        self,
        server: ServerProcess,
        prefix: str,
        client: Callable[[float], ControlSystem],
        environment: Mapping[str, str],
    ) -> None:
        self._server, self._prefix, self._client = server, prefix, client
        self.environment = environment
        """The variables by which another process finds the server."""

    def client(self, connect_seconds: float = CONNECT) -> ControlSystem:
        return self._client(connect_seconds)

    def address(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def put(self, name: str, value: Json) -> None:
        self._server.put(self._inside(name), value)

    def alarm(self, name: str, severity: str) -> None:
        status = "NO" if severity == "NO" else "SOFT"
        self._server.ask(["alarm", self._inside(name), severity, status])

    def puts(self, name: str) -> list[Json]:
        return [value for put, value in self._server.puts() if put == self._inside(name)]

    def release(self) -> None:
        self._server.release()

    def freeze(self) -> None:
        self._server.freeze()

    def thaw(self) -> None:
        self._server.thaw()

    def kill(self) -> None:
        self._server.kill()

    def start(self) -> None:
        self._server.start()

    def _inside(self, name: str) -> str:
        # A Tango device knows its attributes without its own name.
        return self.address(name).rpartition("/")[2]


class SimulatorBench:
    """The simulator, which has no server: it is its own."""

    def __init__(self) -> None:
        values: dict[str, Any] = {
            **dict.fromkeys(("number", "integer", "locked", "slow"), 1.5),
            "text": "Si 111",
            "shutter": 0,
            "curve": [1.0, 2.0, 3.0],
        }
        self._control = ChannelSimulator(values)
        self._control.labels["shutter"] = ("Closed", "Open")
        self._control.errors["locked"] = ControlWriteRejectedError("locked")
        self._control.disconnect("nothing")
        self._control.hold("slow")

    def client(self, connect_seconds: float = CONNECT) -> ControlSystem:
        return self._control

    def address(self, name: str) -> str:
        return name

    def put(self, name: str, value: Json) -> None:
        self._control.put(name, value)

    def alarm(self, name: str, severity: str) -> None:
        qualities = {"NO": Quality.GOOD, "MINOR": Quality.UNCERTAIN}
        detail = "" if severity == "NO" else severity
        self._control.set_alarm(name, qualities.get(severity, Quality.BAD), detail)

    def puts(self, name: str) -> list[Json]:
        return [value for put, value in self._control.writes if put == name]

    def release(self) -> None:
        self._control.release("slow")
        self._control.hold("slow")

    def kill(self) -> None:
        for name in NAMES:
            self._control.disconnect(name)

    def start(self) -> None:
        for name in NAMES:
            self._control.connect(name)

    freeze, thaw = kill, start


@contextmanager
def channel_access_bench(network: Network) -> Generator[ProcessBench]:
    with Ioc(network.ports[2], *RECORDS) as ioc:
        yield ProcessBench(
            ioc,
            "ch:",
            lambda connect: ChannelAccess(connect_seconds=connect, silence_seconds=SILENCE),
            network.environment,
        )


@contextmanager
def pv_access_bench(network: Network) -> Generator[ProcessBench]:
    (port,) = free_ports(1)
    program = ServerProcess(SERVERS / "pva_program.py", {}, [port])
    found_by = {
        "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVA_NAME_SERVERS": f"127.0.0.1:{port}",
    }
    with program as server, pytest.MonkeyPatch.context() as patch:
        for name, value in found_by.items():
            patch.setenv(name, value)
        yield ProcessBench(
            server,
            "pva:",
            lambda connect: PvAccess(connect_seconds=connect, silence_seconds=SILENCE),
            found_by,
        )


@contextmanager
def tango_bench(network: Network) -> Generator[ProcessBench]:
    (port,) = free_ports(1)
    with ServerProcess(SERVERS / "tango_program.py", {}, [port, port]) as server:
        host = f"127.0.0.1:{port}"
        yield ProcessBench(
            server,
            "test/channels/1/",
            lambda connect: Tango(connect_seconds=connect, silence_seconds=SILENCE, nodb_host=host),
            {"TANGO_NODB_HOST": host},
        )


@contextmanager
def simulator_bench(network: Network) -> Generator[Bench]:
    yield SimulatorBench()
