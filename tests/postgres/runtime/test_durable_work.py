"""Durable work: one worker at a time, and nothing written by one that lost its claim."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID, uuid4, uuid5

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.operation.activity import ACTIVITIES
from beamkeep.contexts.operation.conducted import Activity, ActivitySource, Stage, StepKind
from beamkeep.contexts.seams.work import WORK_STATES, WORK_STOPS, WorkState, WorkStop
from beamkeep.kernel import CLAIMS, WORK, Claim, Fenced, Work, replace
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import EventStore, MovedError, WorkLostError
from beamkeep.testing.appends import ME, NOW, append
from beamkeep.testing.database import Database
from beamkeep.workers.durable import WorkCounts, WorkQueue, WorkStoppedError

pytestmark = pytest.mark.anyio

KIND, LEASE, OVER = "errand", timedelta(minutes=5), timedelta(0)
SUBJECT = uuid7()


class Bench(NamedTuple):
    store: EventStore
    queue: WorkQueue

    async def ask_for_work(self, work_id: UUID | None = None) -> UUID:
        work = Work(work_id or uuid7(), KIND, SUBJECT)
        await self.store.append(append(side_writes=[WORK.insert(work)]))
        return work.work_id

    async def state(self, work_id: UUID) -> WorkState:
        (found,) = await self.store.rows(WORK_STATES, {"work_id": work_id})
        return found

    async def stop(self, work_id: UUID, stop: str) -> None:
        await self.store.append(append(side_writes=[WORK_STOPS.replace(WorkStop(work_id, stop))]))

    async def record(self, fence: Fenced, *names: str, unless: tuple[str, ...] = ()) -> list[str]:
        rows = [an_activity(fence.work_id, name) for name in names]
        lock = str(fence.work_id)
        stored = await self.queue.record(fence, ACTIVITIES, rows, lock=lock, unless=unless)
        return [str(row.detail["name"]) for row in stored]

    async def recorded(self, work_id: UUID) -> list[object]:
        rows = await self.store.rows(ACTIVITIES, {"conduct_id": work_id})
        return [row.detail["name"] for row in sorted(rows, key=lambda row: row.sequence)]


def an_activity(work_id: UUID, name: str) -> Activity:
    return Activity(
        activity_id=uuid5(work_id, name.partition(" ")[0]),
        procedure_id=SUBJECT,
        source=ActivitySource.CONDUCTOR,
        step_kind=StepKind.CHECK,
        stage=Stage.STARTED,
        detail={"name": name},
        sampled_at=NOW,
        recorded_at=NOW,
        principal_id=ME,
        surface_id=None,
        correlation_id=None,
        conduct_id=work_id,
    )


def a_claim(name: str) -> Claim:
    return Claim("errand", name, SUBJECT)


@pytest.fixture
async def bench(place: Database | None) -> AsyncGenerator[Bench]:
    if place is None:
        store = MemoryStore(Codec(CATALOGUE.aggregates.values()))
        yield Bench(store, MemoryWorkQueue(store))
        return
    connections = place.connections()
    yield Bench(PostgresEventStore(connections, place.url()), PostgresWorkQueue(connections))
    await connections.close()


async def test_new_work_is_due_and_nobody_holds_it(bench: Bench):
    state = await bench.state(await bench.ask_for_work())
    assert (state.claim, state.owner, state.idle_claims, state.stop) == (0, None, 0, None)
    assert not state.is_held
    assert state.overdue >= OVER


async def test_claimed_work_is_held_until_its_lease_ends(bench: Bench):
    work_id, owner = await bench.ask_for_work(), uuid4()
    await bench.queue.claim(KIND, owner, LEASE, 1)
    state = await bench.state(work_id)
    assert (state.claim, state.owner, state.is_held) == (1, owner, True)
    await bench.queue.renew(owner, [work_id], OVER)
    assert not (await bench.state(work_id)).is_held


async def test_a_process_renews_those_of_its_leases_that_it_names(bench: Bench):
    owner, other = uuid4(), uuid4()
    mine = [await bench.ask_for_work() for _ in range(3)]
    await bench.queue.claim(KIND, owner, LEASE, 10)
    theirs = await bench.ask_for_work()
    await bench.queue.claim(KIND, other, LEASE, 10)
    renewed = await bench.queue.renew(owner, [*mine[:2], theirs], timedelta(hours=1))
    assert {*renewed} == {*mine[:2]}
    assert {held.claim for held in renewed.values()} == {1}
    assert (await bench.state(mine[0])).overdue < -timedelta(minutes=50)
    for other_id in (theirs, mine[2]):
        assert (await bench.state(other_id)).overdue > -timedelta(minutes=50)


async def test_a_lease_that_is_over_is_not_renewed(bench: Bench):
    work_id, owner = await bench.ask_for_work(), uuid4()
    await bench.queue.claim(KIND, owner, OVER, 1)
    assert await bench.queue.renew(owner, [work_id], LEASE) == {}
    assert await bench.queue.held(owner) == {}


async def test_a_takeover_knows_how_long_nobody_worked(bench: Bench):
    await bench.ask_for_work()
    await bench.queue.claim(KIND, uuid4(), OVER, 1)
    (taken,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    assert (taken.claim, OVER <= taken.silence < LEASE) == (2, True)


async def test_a_holder_learns_what_was_asked_of_it(bench: Bench):
    work_id, owner = await bench.ask_for_work(), uuid4()
    await bench.queue.claim(KIND, owner, LEASE, 1)
    assert (await bench.queue.held(owner))[work_id].stop is None
    await bench.stop(work_id, "hold")
    assert (await bench.queue.held(owner))[work_id].stop == "hold"
    assert (await bench.queue.renew(owner, [work_id], LEASE))[work_id].stop == "hold"
    assert (await bench.state(work_id)).is_held


async def test_rows_of_a_holder_are_stored_once_and_in_order(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    assert await bench.record(mine.fence, "one", "two") == ["one", "two"]
    assert await bench.record(mine.fence, "two again", "three") == ["two", "three"]
    assert await bench.recorded(work_id) == ["one", "two", "three"]


@pytest.mark.postgres
async def test_rows_that_a_worker_adds_are_passed_to_the_sender_of_notices(database: Database):
    told: list[tuple[str, int]] = []
    connections = database.connections()
    queue = PostgresWorkQueue(connections, lambda table, rows: told.append((table, len(rows))))
    bench = Bench(PostgresEventStore(connections, database.url()), queue)
    await bench.ask_for_work()
    (mine,) = await queue.claim(KIND, uuid4(), LEASE, 1)
    await bench.record(mine.fence, "one", "two")
    await bench.record(mine.fence, "two again")
    assert told == [(ACTIVITIES.name, 2)]
    await connections.close()


async def test_rows_of_a_worker_that_lost_its_claim_are_refused(bench: Bench):
    work_id, first = await bench.ask_for_work(), uuid4()
    (lost,) = await bench.queue.claim(KIND, first, OVER, 1)
    with pytest.raises(WorkLostError):
        await bench.record(lost.fence, "too late")
    (held,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    for fence in (lost.fence, replace(held.fence, owner=first), replace(held.fence, claim=3)):
        with pytest.raises(WorkLostError):
            await bench.record(fence, "foreign")
    assert await bench.recorded(work_id) == []


async def test_rows_that_a_stop_forbids_are_refused_and_others_are_stored(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    await bench.stop(work_id, "hold")
    with pytest.raises(WorkStoppedError):
        await bench.record(mine.fence, "start", unless=("hold", "cancel"))
    await bench.record(mine.fence, "closing", unless=("cancel",))
    await bench.record(mine.fence, "outcome")
    assert await bench.recorded(work_id) == ["closing", "outcome"]


async def test_a_row_that_was_stored_before_a_stop_is_answered_after_it(bench: Bench):
    """A worker that does not know whether its row was stored sends the row again."""
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    await bench.record(mine.fence, "start", unless=("hold",))
    await bench.stop(work_id, "hold")
    assert await bench.record(mine.fence, "start again", unless=("hold",)) == ["start"]


async def test_an_effect_may_begin_only_while_the_claim_holds_and_nobody_stopped_it(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    async with bench.queue.handing_over(mine.fence, ("abort",)) as may_send:
        assert may_send()
    assert not may_send()
    with pytest.raises(WorkLostError):
        async with bench.queue.handing_over(replace(mine.fence, claim=2), ("abort",)):
            pytest.fail("the claim is another one")
    await bench.stop(work_id, "hold")
    async with bench.queue.handing_over(mine.fence, ("abort",)) as may_send:
        assert may_send()
    await bench.stop(work_id, "abort")
    with pytest.raises(WorkStoppedError):
        async with bench.queue.handing_over(mine.fence, ("abort",)):
            pytest.fail("it was stopped")


async def test_a_stop_is_answered_before_an_effect_may_begin_or_after_it_has_begun(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    async with bench.queue.handing_over(mine.fence, ("abort",)) as may_send:
        stop, asked = asyncio.create_task(bench.stop(work_id, "abort")), 0
        while not stop.done() and may_send():
            await asyncio.sleep(0)
            asked += 1
        # Either the stop waited for the moment to end, or it ended the moment.
        assert not (stop.done() and may_send())
    await stop
    assert (await bench.state(work_id)).stop == "abort"
    assert asked


@pytest.mark.postgres
async def test_a_worker_that_is_suspended_while_it_hands_over_delays_a_stop_and_no_more(
    database: Database,
):
    connections = database.connections()
    queue = PostgresWorkQueue(connections)
    bench = Bench(PostgresEventStore(connections, database.url()), queue)
    work_id = await bench.ask_for_work()
    (mine,) = await queue.claim(KIND, uuid4(), LEASE, 1)
    async with queue.handing_over(mine.fence, ("abort",)) as may_send:
        await bench.stop(work_id, "abort")
        assert not may_send()
    assert (await bench.state(work_id)).stop == "abort"
    await connections.close()


async def test_work_that_gets_on_may_be_claimed_as_often_as_new_work(bench: Bench):
    work_id = await bench.ask_for_work()
    for turn in range(4):
        (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
        assert (await bench.state(work_id)).idle_claims == 1
        await bench.record(mine.fence, f"turn{turn}")
        assert (await bench.state(work_id)).idle_claims == 0
        await bench.queue.renew(mine.owner, [work_id], OVER)
    for _ in range(5):
        await bench.queue.claim(KIND, uuid4(), OVER, 1)
    assert await bench.queue.claim(KIND, uuid4(), LEASE, 1) == []


async def test_a_fenced_append_without_events_writes_its_rows(bench: Bench):
    await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    written = append(side_writes=[CLAIMS.insert(a_claim("a"))], fence=mine.fence)
    await bench.store.append(written)
    lost = append(side_writes=[CLAIMS.insert(a_claim("b"))], fence=replace(mine.fence, claim=9))
    with pytest.raises(WorkLostError):
        await bench.store.append(lost)
    assert [row.key for row in await bench.store.rows(CLAIMS, {"scope": "errand"})] == ["a"]


async def test_work_that_ended_is_neither_claimed_nor_written_for(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    await bench.store.append(append(fence=replace(mine.fence, ends=True)))
    assert (await bench.state(work_id)).ended_at is not None
    with pytest.raises(WorkLostError):
        await bench.record(mine.fence, "after the end")
    assert await bench.queue.renew(mine.owner, [work_id], LEASE) == {}
    assert await bench.queue.counts() == []


async def test_a_command_can_end_work_that_nobody_holds(bench: Bench):
    work_id = await bench.ask_for_work()
    await bench.store.append(append(fence=Fenced(work_id, 0, None, ends=True)))
    assert (await bench.state(work_id)).ended_at is not None
    abandoned = await bench.ask_for_work()
    (lost,) = await bench.queue.claim(KIND, uuid4(), OVER, 1)
    await bench.store.append(append(fence=Fenced(abandoned, lost.claim, None, ends=True)))
    assert await bench.queue.claim(KIND, uuid4(), LEASE, 1) == []


async def test_a_command_decides_again_when_a_worker_holds_the_work(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    for claim in (0, mine.claim):
        with pytest.raises(MovedError):
            await bench.store.append(append(fence=Fenced(work_id, claim, None, ends=True)))
    assert (await bench.state(work_id)).ended_at is None


async def test_failed_work_is_claimed_again_later_or_left_to_people(bench: Bench):
    work_id = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    await bench.queue.fail(mine.fence, "the receiver is away", LEASE)
    assert await bench.queue.claim(KIND, uuid4(), LEASE, 1) == []
    state = await bench.state(work_id)
    assert (state.last_error, state.owner, state.is_held) == ("the receiver is away", None, False)
    assert await bench.queue.counts() == [WorkCounts(KIND, 0, 0, 0, OVER)]

    other = await bench.ask_for_work()
    (mine,) = await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    assert mine.work_id == other
    await bench.queue.fail(mine.fence, "the receiver refuses", None)
    assert await bench.queue.claim(KIND, uuid4(), LEASE, 1) == []
    ((_, waiting, held, dead, _),) = await bench.queue.counts()
    assert (waiting, held, dead) == (0, 0, 1)


async def test_a_worker_that_lost_its_claim_does_not_give_the_work_back(bench: Bench):
    work_id = await bench.ask_for_work()
    (lost,) = await bench.queue.claim(KIND, uuid4(), OVER, 1)
    await bench.queue.claim(KIND, uuid4(), LEASE, 1)
    await bench.queue.fail(lost.fence, "late", None)
    assert (await bench.state(work_id)).is_held


async def test_many_workers_never_claim_the_same_work_twice(bench: Bench):
    wanted = {await bench.ask_for_work() for _ in range(40)}
    turns = await asyncio.gather(*(bench.queue.claim(KIND, uuid4(), LEASE, 5) for _ in range(20)))
    claimed = [each.work_id for turn in turns for each in turn]
    assert len(claimed) == len({*claimed})
    assert {*claimed} <= wanted
    ((_, waiting, held, _, _),) = await bench.queue.counts()
    assert (waiting, held) == (40 - len(claimed), len(claimed))
