"""Loops over real Channel Access: a rotation centre is aligned on a soft IOC."""

import asyncio
from collections.abc import AsyncGenerator, Generator

import aioca
import pytest
from tests.support.conducting import ConductorBench, action, capture, check, entry, setpoint

from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.seams.routes import AddressBounds, ControlRoute, Substrate
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.parts.conducting.channels.channel_access import ChannelAccess
from beamkeep.testing.ioc import SILENCE, Ioc, IocRecord, Network
from beamkeep.testing.service import memory_service

pytestmark = pytest.mark.anyio

STAGE, CENTRE, SHUTTER = "RC:STAGE:X", "RC:CENTRE", "RC:SHUTTER"
TRUE_CENTRE = 1.7
ROUTES = (
    ControlRoute(
        "RC:",
        Substrate.EPICS_CA,
        simulated=True,
        writable=True,
        inline=True,
        bounds=(AddressBounds(STAGE, -5.0, 5.0),),
    ),
)


async def correct(call: ActionCall) -> None:
    """Move the stage by most of the offset that was measured, then measure the offset again."""
    offset = float((await call.control.read(CENTRE)).value)  # type: ignore[arg-type]
    at = float((await call.control.read(STAGE)).value)  # type: ignore[arg-type]
    moved = at - 0.8 * offset
    await call.control.write(STAGE, moved)
    await call.control.write(CENTRE, moved - TRUE_CENTRE)


@pytest.fixture(scope="module")
def ioc(network: Network) -> Generator[Ioc]:
    records = IocRecord(STAGE, "aOut", 0.0), IocRecord(CENTRE, "aOut", -TRUE_CENTRE)
    with Ioc(network.ports[0], *records, IocRecord(SHUTTER, "aOut", 1.0)) as ioc:
        yield ioc


@pytest.fixture
async def world(ioc: Ioc) -> AsyncGenerator[ConductorBench]:
    _, store = await memory_service()
    # A client searches for a server that was away at longer and longer intervals.
    control = ChannelAccess(connect_seconds=60.0, silence_seconds=SILENCE)
    centring = RegisteredAction(entry("correct", writes=(STAGE, CENTRE)), correct)
    yield ConductorBench(
        store,
        store,
        MemoryWorkQueue(store),
        key=b"k" * 32,
        control=control,
        actions=[centring],
        routes=ROUTES,
    )
    await control.close()
    aioca.purge_channel_caches()


async def test_a_rotation_centre_converges_on_a_real_ioc(world: ConductorBench, ioc: Ioc):
    ids = procedure_id, _ = await world.accepted(
        [action("correct"), capture(CENTRE, "offset")],
        "conduct_until_converged",
        closing_steps=[setpoint(SHUTTER, 0.0)],
        capture_name="offset",
        criterion={"kind": "within_tolerance", "expected": 0.0, "tolerance": 0.01},
    )
    ended = await world.ended(*ids)
    assert (ended["outcome"], ended["iteration_count"]) == ("Completed", 4)
    told = await world.ask("list_procedure_iterations", procedure_id=procedure_id)
    assert [each["converged"] for each in told["items"]] == [False, False, False, True]
    puts = ioc.puts()
    assert [name for name, _ in puts].count(STAGE) == 4
    assert puts[-1] == [SHUTTER, 0.0]
    where = next(value for name, value in reversed(puts) if name == STAGE)
    assert abs(where - TRUE_CENTRE) < 0.01


async def test_an_ioc_that_is_away_fails_the_step_and_moves_nothing_when_it_comes_back(
    world: ConductorBench, ioc: Ioc
):
    before = len(ioc.puts())
    ioc.kill()
    ended = await world.conducted([setpoint(STAGE, 3.0, timeout=1.0), check(STAGE, 3.0)])
    ioc.start()
    assert (ended["outcome"], ended["failure"]["error_class"]) == (
        "Aborted",
        "ControlNotConnectedError",
    )
    ended = await world.conducted([check(STAGE, 0.0, wait=60.0)])
    assert (ended["outcome"], ended["failure"]) == ("Completed", None)
    assert len(ioc.puts()) == before


async def test_an_ioc_that_comes_back_after_an_abort_is_written_nothing(
    world: ConductorBench, ioc: Ioc
):
    before = len(ioc.puts())
    ioc.kill()
    ids = procedure_id, _ = await world.accepted([setpoint(STAGE, 4.0)])
    conductor = world.conductor()
    await conductor.turn()
    async with asyncio.timeout(30):
        while (0, "Started") not in await world.stages(procedure_id):
            await asyncio.sleep(0.01)
    await world.ask("abort_procedure", procedure_id=procedure_id, reason="Smoke.")
    await asyncio.to_thread(ioc.start)
    # The worker does not look for a stop before the connection is there again.
    async with asyncio.timeout(60):
        while (0, "Failed") not in (stages := await world.stages(procedure_id)):
            assert (0, "Succeeded") not in stages
            await asyncio.sleep(0.01)
    ended = await world.ended(*ids, conductor)
    assert ended["outcome"] == "Cancelled"
    ended = await world.conducted([check(STAGE, 0.0, wait=60.0)])
    assert (ended["outcome"], len(ioc.puts())) == ("Completed", before)
