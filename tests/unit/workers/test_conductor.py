"""The conductor of one process: which conducts it holds, renews, drops and gives back."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.work import (
    MOST_IDLE_CLAIMS,
    WORK_STATES,
    WORK_STOPS,
    WorkState,
    WorkStop,
)
from beamkeep.kernel import WORK, Work, replace
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import WorkLostError
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import append
from beamkeep.workers.leases import CONDUCT, Holding, LeaseHolder, LeaseTimes

pytestmark = pytest.mark.anyio

TIMES = LeaseTimes(slots=2, lease=30.0, renew=10.0, self_fence=20.0)


class Room:
    """A store and a queue whose clock only moves when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.store = MemoryStore(Codec(CATALOGUE.aggregates.values()), self.now)
        self.queue = MemoryWorkQueue(self.store)
        self.held: list[Holding] = []
        self.ended: list[UUID] = []
        self.body: Callable[[Holding], Awaitable[None]] = _until_drained

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def conductor(self, times: LeaseTimes = TIMES) -> LeaseHolder:
        return LeaseHolder(
            queue=self.queue,
            owner=uuid4(),
            walk=self.walk,
            times=times,
            telemetry=Telemetry(),
            clock=lambda: self.seconds,
        )

    async def walk(self, held: Holding) -> None:
        self.held.append(held)
        try:
            await self.body(held)
        finally:
            self.ended.append(held.work.work_id)

    async def ask(self) -> UUID:
        work = Work(uuid7(), CONDUCT, uuid7())
        await self.store.append(append(side_writes=[WORK.insert(work)]))
        return work.work_id

    async def state(self, work_id: UUID) -> WorkState:
        (found,) = await self.store.rows(WORK_STATES, {"work_id": work_id})
        return found

    async def turn(self, conductor: LeaseHolder, after: float = 0.0) -> None:
        self.seconds += after
        await conductor.turn()
        for _ in range(10):
            await asyncio.sleep(0)


async def _until_drained(held: Holding) -> None:
    while not held.is_draining:
        await asyncio.sleep(0)


@pytest.fixture
def room() -> Room:
    return Room()


async def test_a_process_holds_as_many_conducts_as_it_has_slots(room: Room):
    for _ in range(3):
        await room.ask()
    conductor = room.conductor()
    await room.turn(conductor)
    assert len(room.held) == 2
    await room.turn(conductor, after=1.0)
    assert len(room.held) == 2
    await room.turn(room.conductor())
    assert len({held.work.work_id for held in room.held}) == 3
    await conductor.close()


async def test_a_process_without_slots_claims_nothing(room: Room):
    await room.ask()
    await room.turn(room.conductor(replace(TIMES, slots=0)))
    assert room.held == []


async def test_a_conduct_that_is_dropped_before_it_began_keeps_no_other_from_being_claimed(
    room: Room,
):
    work_id, conductor = await room.ask(), room.conductor()
    # Nothing else ran since the claim: the task of the conduct has not begun.
    await conductor.turn()
    assert room.held == []
    await room.turn(conductor, after=TIMES.self_fence + 1.0)
    await room.turn(conductor, after=TIMES.lease)
    assert [held.work.claim for held in room.held] == [2]
    assert (await room.state(work_id)).is_held
    await conductor.close()


async def test_leases_are_renewed_while_a_step_takes_long(room: Room):
    work_id, conductor, other = await room.ask(), room.conductor(), room.conductor()
    await room.turn(conductor)
    for _ in range(12):
        await room.turn(conductor, after=10.0)
        await room.turn(other)
    assert (await room.state(work_id)).claim == 1
    assert room.held[0].still_mine()
    await conductor.close()


async def test_a_worker_that_was_away_stops_before_another_takes_over(room: Room):
    work_id, conductor, other = await room.ask(), room.conductor(), room.conductor()
    await room.turn(conductor)
    (held,) = room.held
    room.seconds += 19.9
    assert held.still_mine()
    room.seconds += 0.2
    assert not held.still_mine()
    await room.turn(conductor)
    assert room.ended == [work_id]
    await room.turn(other, after=10.0)
    assert (await room.state(work_id)).claim == 2
    await other.close()


async def test_the_fence_counts_from_when_a_renewal_was_sent(
    room: Room, monkeypatch: pytest.MonkeyPatch
):
    await room.ask()
    conductor, renew = room.conductor(), room.queue.renew
    await room.turn(conductor)

    async def slow(*asked: Any) -> object:
        answer = await renew(*asked)
        room.seconds += 15.0
        return answer

    monkeypatch.setattr(room.queue, "renew", slow)
    await room.turn(conductor, after=10.0)
    room.seconds += 4.9
    assert room.held[0].still_mine()
    room.seconds += 0.2
    assert not room.held[0].still_mine()
    await conductor.close()


async def test_a_task_whose_claim_is_lost_is_cancelled(room: Room):
    work_id, conductor, other = await room.ask(), room.conductor(), room.conductor()
    await room.turn(conductor)
    # The clock of this process stood still, and that of the database went on.
    room.store.clock = lambda: room.now() + timedelta(seconds=31)
    await room.turn(other)
    await room.turn(conductor, after=1.0)
    assert room.ended == [work_id]
    await other.close()


@pytest.mark.parametrize(
    ("stop", "interrupts"), [("hold", False), ("cancel", True), ("abort", True)]
)
async def test_a_cancel_and_an_abort_interrupt_the_step_and_a_hold_does_not(
    room: Room, stop: str, interrupts: bool
):
    work_id, conductor = await room.ask(), room.conductor()
    await room.turn(conductor)
    stops = [WORK_STOPS.replace(WorkStop(work_id, stop))]
    await room.store.append(append(side_writes=stops))
    assert not room.held[0].stopping.is_set()
    await room.turn(conductor, after=1.0)
    assert room.held[0].stopping.is_set() is interrupts
    await conductor.close()


async def test_a_task_that_does_not_end_keeps_the_process_from_claiming(room: Room):
    await room.ask()
    released = asyncio.Event()

    async def stubborn(held: Holding) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    room.body, conductor = stubborn, room.conductor()
    await room.turn(conductor)
    await room.turn(conductor, after=25.0)
    await room.turn(conductor, after=25.0)
    await room.turn(conductor, after=25.0)
    assert len(room.held) == 1
    released.set()
    await room.turn(conductor)
    room.body = _until_drained
    await room.turn(conductor)
    assert len(room.held) == 2
    await conductor.close()


async def test_a_process_that_stops_lets_the_step_end_and_gives_the_conduct_back(room: Room):
    work_id, conductor = await room.ask(), room.conductor()

    await room.turn(conductor)
    await conductor.close()
    state = await room.state(work_id)
    assert (state.owner, state.is_held, state.idle_claims) == (None, False, 1)
    other = room.conductor()
    await room.turn(other)
    assert (await room.state(work_id)).claim == 2
    await other.close()


async def test_a_walk_that_fails_five_times_is_left_to_people(room: Room):
    work_id, conductor = await room.ask(), room.conductor()

    async def broken(held: Holding) -> None:
        raise ZeroDivisionError("a fault of the program")

    room.body = broken
    for _ in range(MOST_IDLE_CLAIMS + 3):
        await room.turn(conductor, after=TIMES.lease)
    assert len(room.held) == MOST_IDLE_CLAIMS
    assert (await room.state(work_id)).last_error == "ZeroDivisionError"
    ((_, waiting, held, dead, _),) = await room.queue.counts()
    assert (waiting, held, dead) == (0, 0, 1)


async def test_a_walk_that_lost_its_work_leaves_the_row_alone(room: Room):
    work_id, conductor = await room.ask(), room.conductor()

    async def lost(held: Holding) -> None:
        raise WorkLostError

    room.body = lost
    await room.turn(conductor)
    state = await room.state(work_id)
    assert (state.last_error, state.is_held) == (None, True)
