"""The control system of an address is the one of its longest route."""

import sys
from contextlib import aclosing

import pytest
from tests.support.handing_over import always_open

from beamkeep.adapters.extras import MissingExtraError
from beamkeep.contexts.seams.routes import ControlRoute, Substrate
from beamkeep.parts.conducting.channels.memory import ChannelSimulator
from beamkeep.parts.conducting.channels.routed import RoutedControl, control_systems
from beamkeep.parts.conducting.control import (
    ControlNotConnectedError,
    ControlSystem,
    ControlTimeoutError,
    Quality,
)

pytestmark = pytest.mark.anyio

ROUTES = (
    ControlRoute(prefix="bl:", substrate=Substrate.EPICS_CA),
    ControlRoute(prefix="bl:sim:", substrate=Substrate.IN_MEMORY),
)


async def test_the_longest_prefix_chooses_and_only_what_is_used_is_made():
    simulators = {Substrate.EPICS_CA: ChannelSimulator(), Substrate.IN_MEMORY: ChannelSimulator()}
    made: list[Substrate] = []

    def maker(substrate: Substrate) -> ControlSystem:
        made.append(substrate)
        return simulators[substrate]

    makers = {each: (lambda each=each: maker(each)) for each in simulators}
    control = RoutedControl(ROUTES, makers)
    await control.write("bl:sim:x", 1.0, 5.0, always_open)
    await control.write("bl:sim:x", 2.0, 5.0, always_open)
    assert made == [Substrate.IN_MEMORY]
    await control.write("bl:x", 3.0, 5.0, always_open)
    assert (await control.read("bl:x", 5.0)).value == 3.0
    async with aclosing(control.subscribe("bl:sim:x")) as readings:
        assert (await anext(readings)).value == 2.0
    assert made == [Substrate.IN_MEMORY, Substrate.EPICS_CA]
    assert simulators[Substrate.EPICS_CA].writes == [("bl:x", 3.0)]
    await control.close()


async def test_an_address_without_a_route_is_not_connected():
    control = control_systems(ROUTES[1:])
    with pytest.raises(ControlNotConnectedError):
        await control.read("elsewhere", 5.0)


@pytest.mark.parametrize(
    ("substrate", "library", "module", "extra"),
    [
        (Substrate.EPICS_CA, "aioca", "channel_access", "epics"),
        (Substrate.EPICS_PVA, "p4p.client.asyncio", "pv_access", "pvaccess"),
        (Substrate.TANGO, "tango", "tango", "tango"),
    ],
)
async def test_a_library_that_is_not_installed_is_named_at_the_start(
    substrate: Substrate,
    library: str,
    module: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"beamkeep.parts.conducting.channels.{module}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"Install beamkeep\[{extra}\]"):
        control_systems([ControlRoute(prefix="x", substrate=substrate)])


async def test_an_address_of_the_simulator_starts_at_zero_and_takes_its_type_from_its_value():
    simulator = ChannelSimulator()
    assert (await simulator.read("new", 5.0)).value == 0.0
    await simulator.write("new", "in", 5.0, always_open)
    assert (await simulator.read("new", 5.0)).value == "in"
    assert simulator.writes == [("new", "in")]


async def test_the_simulator_raises_the_error_it_was_given():
    simulator = ChannelSimulator()
    simulator.errors["x"] = ControlTimeoutError("late", sent=True)
    with pytest.raises(ControlTimeoutError):
        await simulator.write("x", 1.0, 5.0, always_open)
    del simulator.errors["x"]
    assert simulator.writes == [("x", 1.0)]
    simulator.set_alarm("x", Quality.BAD, "broken")
    reading = await simulator.read("x", 5.0)
    assert (reading.value, reading.quality_detail) == (1.0, "broken")
