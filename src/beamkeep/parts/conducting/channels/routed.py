"""The control systems of a deployment, chosen by the routes."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from beamkeep.adapters.extras import MissingExtraError
from beamkeep.contexts.seams.routes import ControlRoute, Substrate, route_of
from beamkeep.parts.conducting.control import (
    ControlNotConnectedError,
    ControlReading,
    ControlSystem,
    HandingOver,
)
from beamkeep.schemas import Json

type Makers = Mapping[Substrate, Callable[[], ControlSystem]]


class RoutedControl:
    """The control systems behind the routes; each is made when it is first used."""

    def __init__(self, routes: Sequence[ControlRoute], makers: Makers) -> None:
        self._routes, self._makers = routes, makers
        self._made = dict[Substrate, ControlSystem]()

    async def read(self, address: str, timeout: float) -> ControlReading:
        return await self._system(address).read(address, timeout)

    async def write(
        self, address: str, value: Json, timeout: float, handing_over: HandingOver
    ) -> None:
        await self._system(address).write(address, value, timeout, handing_over)

    def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        return self._system(address).subscribe(address)

    async def close(self) -> None:
        while self._made:
            await self._made.popitem()[1].close()

    def _system(self, address: str) -> ControlSystem:
        route = route_of(self._routes, address)
        if route is None:
            raise ControlNotConnectedError(f"No route leads to {address!r}.")
        if route.substrate not in self._made:
            self._made[route.substrate] = self._makers[route.substrate]()
        return self._made[route.substrate]


def control_systems(
    routes: Sequence[ControlRoute],
    *,
    silence_seconds: float = 15.0,
    connect_seconds: float = 5.0,
    tango_nodb_host: str | None = None,
    simulator: Callable[[], ControlSystem] | None = None,
) -> RoutedControl:
    """Return the control systems behind the routes.

    Raise MissingExtraError when a route needs a library that is not installed.
    """
    makers = dict[Substrate, Callable[[], ControlSystem]]()
    for substrate in {route.substrate for route in routes}:
        match substrate:
            case Substrate.IN_MEMORY:
                makers[substrate] = simulator or simulated
            case Substrate.EPICS_CA:
                makers[substrate] = _channel_access(connect_seconds, silence_seconds)
            case Substrate.EPICS_PVA:
                makers[substrate] = _pv_access(connect_seconds, silence_seconds)
            case Substrate.TANGO:
                makers[substrate] = _tango(connect_seconds, silence_seconds, tango_nodb_host)
    return RoutedControl(routes, makers)


def simulated() -> ControlSystem:
    """Return a new control system in memory."""
    # It needs numpy, which takes long to import and much memory.
    from .memory import ChannelSimulator  # noqa: PLC0415

    return ChannelSimulator()


def _channel_access(connect: float, silence: float) -> Callable[[], ControlSystem]:
    try:
        from .channel_access import ChannelAccess  # noqa: PLC0415
    except ImportError:
        raise _missing(Substrate.EPICS_CA, "epics") from None
    return lambda: ChannelAccess(connect_seconds=connect, silence_seconds=silence)


def _pv_access(connect: float, silence: float) -> Callable[[], ControlSystem]:
    try:
        from .pv_access import PvAccess  # noqa: PLC0415
    except ImportError:
        raise _missing(Substrate.EPICS_PVA, "pvaccess") from None
    return lambda: PvAccess(connect_seconds=connect, silence_seconds=silence)


def _tango(connect: float, silence: float, host: str | None) -> Callable[[], ControlSystem]:
    try:
        from .tango import Tango  # noqa: PLC0415
    except ImportError:
        raise _missing(Substrate.TANGO, "tango") from None
    return lambda: Tango(connect_seconds=connect, silence_seconds=silence, nodb_host=host)


def _missing(substrate: Substrate, extra: str) -> MissingExtraError:
    return MissingExtraError(
        f"A route or an observed signal names {substrate}. Install beamkeep[{extra}]."
    )
