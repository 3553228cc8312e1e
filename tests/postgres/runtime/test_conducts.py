"""Conducts on both stores: accepted, advanced by a worker, cancelled, and continued."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest
from tests.support.examples.operation import conduct, conduct_until_converged

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.contexts.operation.advancing import BeginPass, End, EndPass, StatusEvent, Walked
from beamkeep.contexts.operation.conduct import CHANNELS, AdvanceProcedureConduct
from beamkeep.contexts.operation.conducted import ConductOutcome, Failure, FailureSource, Phase
from beamkeep.contexts.operation.stopping import ProcedureCannotCancelConductError
from beamkeep.contexts.seams.work import WORK_STATES
from beamkeep.contexts.starting.conducting import ProcedureChannelBusyError
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request
from beamkeep.runtime.store import WorkLostError
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, by, memory_service
from beamkeep.workers.durable import ClaimedWork, WorkQueue

pytestmark = pytest.mark.anyio

LEASE, OVER = timedelta(minutes=5), timedelta(0)
FAILED = Failure(
    phase=Phase.STEPS,
    source_kind=FailureSource.CAPTURE,
    error_class="CaptureFailedError",
    message="The quality is Bad.",
    target="bl:i",
    step_index=1,
)


class Room(NamedTuple):
    """A service, its store and the queue of its workers."""

    service: Service
    store: MemoryStore | PostgresEventStore
    queue: WorkQueue

    @property
    def do(self) -> AdminClient:
        return AdminClient(self.service, self.store)

    async def requested(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await self.do(name, arguments)
        return {key: answer[key] for key in ("procedure_id", "conduct_id")}

    async def claimed(self, lease: timedelta = LEASE) -> ClaimedWork:
        (work,) = await self.queue.claim("conduct", uuid4(), lease, 1)
        return work

    async def advance(self, work: ClaimedWork, what: BeginPass | EndPass | Walked | End) -> None:
        command = AdvanceProcedureConduct(
            procedure_id=work.subject_id,
            conduct_id=work.work_id,
            claim=work.claim,
            owner=work.owner,
            advance=what,
        )
        operation = self.service.catalogue.by_command[AdvanceProcedureConduct]
        await self.service.dispatcher.execute(operation, Request(by("ada"), {}, command=command))

    async def is_over(self, conduct_id: str) -> bool:
        (state,) = await self.store.rows(WORK_STATES, {"work_id": UUID(conduct_id)})
        channels = await self.store.rows(CHANNELS, {"conduct_id": UUID(conduct_id)})
        return state.ended_at is not None and not channels


@pytest.fixture
async def room(place: Database | None) -> AsyncGenerator[Room]:
    if place is None:
        service, store = await memory_service()
        yield Room(service, store, MemoryWorkQueue(store))
        return
    connections = place.connections()
    async with postgres_service(place) as deployed:
        yield Room(deployed.service, deployed.store, PostgresWorkQueue(connections))
    await connections.close()


async def test_a_conduct_is_advanced_and_ended_by_the_worker_that_has_it(room: Room):
    asked = await room.requested("conduct_procedure", await conduct(room.do))
    work = await room.claimed()
    assert (await room.do("get_conduct", asked))["status"] == "Running"
    await room.advance(work, Walked(ConductOutcome.ABORTED, FAILED))
    shown = await room.do("get_conduct", asked)
    assert (shown["status"], shown["failure"]["message"]) == ("Closing", "The quality is Bad.")
    end = End(
        outcome=ConductOutcome.ABORTED,
        succeeded=False,
        completed_count=1,
        failure=FAILED,
        closing_failures=(FAILED,),
        status_event=StatusEvent.ABORTED,
        reason="capture[1] bl:i: CaptureFailedError: The quality is Bad.",
    )
    await room.advance(work, end)
    ended = await room.do("get_conduct", asked)
    assert (ended["status"], ended["outcome"], ended["succeeded"]) == ("Ended", "Aborted", False)
    assert (ended["completed_count"], ended["claim_count"]) == (1, 1)
    assert [each["target"] for each in ended["closing_failures"]] == ["bl:i"]
    assert await room.is_over(asked["conduct_id"])
    procedure = await room.do("get_procedure", {"procedure_id": asked["procedure_id"]})
    assert (procedure["status"], procedure["active_conduct"]) == ("Aborted", None)


async def test_a_worker_that_lost_its_claim_advances_nothing(room: Room):
    asked = await room.requested("conduct_procedure", await conduct(room.do))
    late = await room.claimed(OVER)
    await room.claimed()
    with pytest.raises(WorkLostError):
        await room.advance(late, Walked(ConductOutcome.COMPLETED))
    assert (await room.do("get_conduct", asked))["status"] == "Running"


async def test_a_conduct_is_cancelled_by_its_worker_or_without_one_by_the_command(room: Room):
    asked = await room.requested("conduct_procedure", await conduct(room.do))
    cancel = {**asked, "reason": "The wrong sample"}
    await room.claimed()
    await room.do("cancel_conduct", cancel)
    (state,) = await room.store.rows(WORK_STATES, {"work_id": UUID(asked["conduct_id"])})
    assert (state.stop, state.ended_at) == ("cancel", None)
    with pytest.raises(ProcedureCannotCancelConductError):
        await room.do("cancel_conduct", cancel)

    lost = await room.requested("conduct_procedure", await conduct(room.do))
    await room.claimed(OVER)
    assert (await room.do("get_conduct", lost))["lease_expired"]
    await room.do("cancel_conduct", {**lost, "reason": "The wrong sample"})
    assert await room.is_over(lost["conduct_id"])
    ended = await room.do("get_conduct", lost)
    assert (ended["outcome"], ended["cancel_requested"]) == ("Cancelled", True)
    assert ended["needs"] == ["conduct_from_procedure"]


async def test_a_held_conduct_is_continued_and_listed_with_the_one_before(room: Room):
    first = await room.requested("conduct_procedure", await conduct(room.do))
    procedure_id = {"procedure_id": first["procedure_id"]}
    await room.do("hold_procedure", {**procedure_id, "reason": "Beam lost"})
    second = await room.requested("conduct_from_procedure", {**procedure_id, "abandon": True})
    listed = (await room.do("list_conducts", procedure_id))["items"]
    assert [(each["conduct_id"], each["status"]) for each in listed] == [
        (first["conduct_id"], "Ended"),
        (second["conduct_id"], "Queued"),
    ]
    shown = await room.do("get_conduct", second)
    assert (shown["continues_conduct_id"], shown["conduct_kind"]) == (first["conduct_id"], "From")


async def test_a_channel_is_free_again_when_its_conduct_has_ended(room: Room):
    arguments = await conduct(room.do)
    first = await room.requested("conduct_procedure", arguments)
    other = {**arguments, "procedure_id": (await conduct(room.do))["procedure_id"]}
    with pytest.raises(ProcedureChannelBusyError):
        await room.do("conduct_procedure", other)
    await room.do("cancel_conduct", {**first, "reason": "The wrong sample"})
    await room.do("conduct_procedure", other)


async def test_passes_of_a_loop_are_begun_and_ended(room: Room):
    asked = await room.requested("conduct_until_converged", await conduct_until_converged(room.do))
    work = await room.claimed()
    await room.advance(work, BeginPass(1))
    await room.advance(work, EndPass(1, converged=False, value=2.0))
    await room.advance(work, BeginPass(2))
    shown = await room.do("get_conduct", asked)
    assert (shown["iteration_count"], shown["max_iterations"]) == (2, 5)
    rows = await room.do("list_procedure_iterations", {"procedure_id": asked["procedure_id"]})
    assert [(row["converged"], row["value"]) for row in rows["items"]] == [
        (False, 2.0),
        (None, None),
    ]
