"""Commands from inside the service: one or several by one append, with a cause, fenced, signed."""

import json
from collections.abc import AsyncGenerator
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4, uuid5

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.work import PostgresWorkQueue
from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import POLICY_GRANTS
from beamkeep.deployment.service import compose
from beamkeep.kernel import (
    CLAIMS,
    DENIALS,
    INTERNAL,
    WORK,
    Accepted,
    ActorKind,
    Aggregate,
    Allow,
    AnyReader,
    Call,
    Cannot,
    Catalogue,
    Command,
    DenialReason,
    Deny,
    Event,
    Fenced,
    Grant,
    Identified,
    NotFound,
    ObjectScope,
    Operation,
    Outside,
    Record,
    Standing,
    Work,
    claim,
    replace,
)
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request, UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.dispatch import Basis, PreconditionFailedError
from beamkeep.runtime.sending import Creation
from beamkeep.runtime.store import (
    DuplicateEventError,
    Envelope,
    EventStore,
    MovedError,
    WorkLostError,
)
from beamkeep.testing.appends import append
from beamkeep.testing.database import Database
from beamkeep.workers.durable import WorkQueue

pytestmark = pytest.mark.anyio

WORKER, STRANGER = uuid7(), uuid7()
LEASE = timedelta(minutes=5)


class LampLit(Event):
    lamp_id: UUID


class LampDimmed(Event):
    lamp_id: UUID
    level: int


class LampSigned(Event):
    lamp_id: UUID
    signature: str


class LampNotFoundError(NotFound):
    """The lamp does not exist."""


class LampCannotDimError(Cannot):
    """The lamp cannot be dimmed further."""


class Lamp(Record):
    id: UUID
    level: int = 3
    signature: str | None = None


def begin(event: LampLit) -> Lamp:
    return Lamp(event.lamp_id)


def evolve(lamp: Lamp, event: LampDimmed | LampSigned) -> Lamp:
    match event:
        case LampDimmed(level=level):
            return replace(lamp, level=level)
        case LampSigned(signature=signature):
            return replace(lamp, signature=signature)


class LightLamp(Command):
    pass


class DimLamp(Command):
    lamp_id: UUID


class DimOtherLamp(Command):
    lamp_id: UUID
    other_id: UUID


class SealLamp(Command):
    lamp_id: UUID


class StampLamp(Command):
    lamp_id: UUID


class SignLamp(Command):
    lamp_id: UUID


class BurnLamp(Command):
    lamp_id: UUID


class TendLamp(Command):
    lamp_id: UUID
    fence: Fenced


class TimeStamp(Record):
    lamp_id: UUID
    now: datetime


class Signature(Record):
    """What is to be signed."""

    lamp_id: UUID
    level: int


class Burning(Accepted):
    work_id: UUID


def light_lamp(command: LightLamp, call: Call) -> list[LampLit]:
    """Light a lamp."""
    return [LampLit(call.now, call.new_id)]


def dim_lamp(lamp: Lamp, command: DimLamp, call: Call) -> list[LampDimmed]:
    """Dim a lamp by one."""
    if lamp.level == 0:
        raise LampCannotDimError
    return [LampDimmed(call.now, lamp.id, lamp.level - 1)]


async def other_lamp(lamp: Lamp, command: DimOtherLamp, read: AnyReader) -> Lamp:
    return await read.one(lamps, command.other_id)


def dim_other_lamp(lamp: Lamp, command: DimOtherLamp, other: Lamp, call: Call) -> list[LampDimmed]:
    """Dim a lamp to the level of another."""
    return [LampDimmed(call.now, lamp.id, other.level)]


def seal_lamp(lamp: Lamp, command: SealLamp, call: Call) -> list[Identified]:
    """Seal a lamp once."""
    return [Identified(LampSigned(call.now, lamp.id, "sealed"), uuid5(lamp.id, "seal"))]


def sign_lamp(lamp: Lamp, command: SignLamp, call: Call) -> Outside[str]:
    """Sign a lamp's level."""
    if lamp.level == 0:
        raise LampCannotDimError
    return Outside(
        Signature(lamp.id, lamp.level), lambda signed: [LampSigned(call.now, lamp.id, signed)]
    )


def stamp_lamp(lamp: Lamp, command: StampLamp, call: Call) -> Outside[str]:
    """Sign the time of a lamp."""
    return Outside(
        TimeStamp(lamp.id, call.now), lambda signed: [LampSigned(call.now, lamp.id, signed)]
    )


def burn_lamp(lamp: Lamp, command: BurnLamp, call: Call) -> list[LampDimmed | Any]:
    """Let a lamp burn down in the background."""
    work = Work(call.new_id, "burn", lamp.id)
    return [LampDimmed(call.now, lamp.id, 2), WORK.insert(work), Burning(work.work_id)]


def tend_lamp(lamp: Lamp, command: TendLamp, call: Call) -> list[LampDimmed | Fenced]:
    """Dim a lamp as the worker that holds it."""
    return [LampDimmed(call.now, lamp.id, lamp.level - 1), command.fence]


lamps = Aggregate("Lamp", begin, evolve, LampNotFoundError)
OPERATIONS = (
    lamps.creates("POST /lamps", LightLamp, light_lamp),
    lamps.changes("POST /lamps/{lamp_id}/dim", DimLamp, dim_lamp, LampCannotDimError),
    lamps.changes(
        "POST /lamps/{lamp_id}/dim-other", DimOtherLamp, dim_other_lamp, given=other_lamp
    ),
    lamps.changes("POST /lamps/{lamp_id}/seal", SealLamp, seal_lamp),
    lamps.changes("POST /lamps/{lamp_id}/sign", SignLamp, sign_lamp, LampCannotDimError),
    lamps.changes("POST /lamps/{lamp_id}/stamp", StampLamp, stamp_lamp),
    lamps.changes("POST /lamps/{lamp_id}/burn", BurnLamp, burn_lamp),
    lamps.changes(INTERNAL, TendLamp, tend_lamp),
)
LAMPS = Catalogue(OPERATIONS, ())
CODEC = Codec([lamps])


class World(NamedTuple):
    store: EventStore
    service: Service
    work: WorkQueue
    signed: list[Signature]

    async def light(self) -> UUID:
        lit = await self.service.sender.send(LightLamp(), as_=WORKER)
        assert lit.id
        return lit.id

    async def history(self, lamp_id: UUID) -> list[Envelope]:
        return list(await self.store.history(("Lamp", lamp_id), 0, 100))

    async def denials(self, principal_id: UUID) -> int:
        return len(await self.store.rows(DENIALS, {"principal_id": principal_id}))

    async def events(self, lamp_id: UUID) -> list[tuple[str, str]]:
        return [(each.event_type, each.command_name) for each in await self.history(lamp_id)]


@pytest.fixture
async def world(place: Database | None) -> AsyncGenerator[World]:
    signed: list[Signature] = []

    async def sign(asked: Signature) -> str:
        signed.append(asked)
        return f"signed {asked.level}"

    if place is None:
        store = MemoryStore(CODEC)
        service = compose(store, store, b"k" * 32, LAMPS, outside={Signature: sign})
        await permit(store)
        yield World(store, service, MemoryWorkQueue(store), signed)
        return
    connections = place.connections()
    kept = PostgresEventStore(connections, place.url())
    service = compose(kept, MemoryStore(CODEC), b"k" * 32, LAMPS, outside={Signature: sign})
    await permit(kept)
    yield World(kept, service, PostgresWorkQueue(connections), signed)
    await connections.close()


async def permit(store: EventStore) -> None:
    names = tuple(operation.name for operation in OPERATIONS)
    grant = Grant(
        policy_id=uuid7(),
        principal_id=WORKER,
        conduit_id=seeded.INTERNAL,
        surface_id=None,
        permitted_commands=names,
        object_scope=ObjectScope.ALL,
    )
    standings = [Standing(id, ActorKind.SERVICE_ACCOUNT) for id in (WORKER, STRANGER)]
    rows = [*map(STANDINGS.insert, standings), POLICY_GRANTS.insert(grant)]
    await store.append(append(side_writes=rows))


async def test_a_command_is_sent_by_its_class_as_a_principal(world: World):
    lamp_id = await world.light()
    dimmed = await world.service.sender.send(DimLamp(lamp_id=lamp_id), as_=WORKER)
    assert (dimmed.status, dimmed.version) == (204, 2)
    told = await world.history(lamp_id)
    assert {each.principal_id for each in told} == {WORKER}
    assert {each.surface_id for each in told} == {None}


async def test_a_principal_without_the_permission_is_refused(world: World):
    with pytest.raises(UnauthorizedError):
        await world.service.sender.send(LightLamp(), as_=STRANGER)


async def test_an_event_that_caused_a_command_is_on_the_envelope(world: World):
    lamp_id = await world.light()
    (cause,) = await world.history(lamp_id)
    await world.service.sender.send(DimLamp(lamp_id=lamp_id), as_=WORKER, caused_by=cause)
    _, caused = await world.history(lamp_id)
    assert (caused.causation_id, caused.correlation_id) == (cause.event_id, cause.correlation_id)
    assert cause.causation_id is None


async def test_commands_sent_together_are_one_append_and_see_each_other(world: World):
    lamp_id, other_id = await world.light(), uuid7()
    results = await world.service.sender.send_together(
        [
            Creation(LightLamp(), other_id),
            DimLamp(lamp_id=other_id),
            DimLamp(lamp_id=other_id),
            DimOtherLamp(lamp_id=lamp_id, other_id=other_id),
        ],
        as_=WORKER,
    )
    assert [result.version for result in results] == [3, 3, 3, 2]
    assert {result.token for result in results} == {results[0].token}
    assert await world.events(other_id) == [
        ("LampLit", "light_lamp"),
        ("LampDimmed", "dim_lamp"),
        ("LampDimmed", "dim_lamp"),
    ]
    *_, last = await world.history(lamp_id)
    assert last.command_name == "dim_other_lamp"
    assert json.loads(bytes(last.payload))["level"] == 1


async def test_of_commands_sent_together_all_are_written_or_none(world: World):
    lamp_id = await world.light()
    commands = [DimLamp(lamp_id=lamp_id) for _ in range(4)]
    with pytest.raises(LampCannotDimError):
        await world.service.sender.send_together(commands, as_=WORKER)
    assert len(await world.history(lamp_id)) == 1


async def test_each_command_sent_together_needs_its_permission(world: World):
    lamp_id = await world.light()
    with pytest.raises(UnauthorizedError):
        await world.service.sender.send_together([DimLamp(lamp_id=lamp_id)] * 2, as_=STRANGER)


@pytest.mark.parametrize("held", [1, 2])
async def test_commands_are_written_only_if_everything_they_were_judged_by_stands(
    world: World, held: int
):
    judged, changed = await world.light(), await world.light()
    await world.service.sender.send(DimLamp(lamp_id=judged), as_=WORKER)
    basis = Basis({("Lamp", judged): held, ("Lamp", changed): 1})
    caller = Caller(uuid7(), principal_id=WORKER)
    sent = world.service.sender.send_judged([DimLamp(lamp_id=changed)], caller, basis)
    if held == 2:
        await sent
    else:
        with pytest.raises(MovedError):
            await sent
    assert len(await world.history(changed)) == held


async def test_a_command_judged_by_a_stream_that_changed_is_not_decided_again(world: World):
    lamp_id = await world.light()
    await world.service.sender.send(DimLamp(lamp_id=lamp_id), as_=WORKER)
    caller, basis = Caller(uuid7(), principal_id=WORKER), Basis({("Lamp", lamp_id): 1})
    with pytest.raises(MovedError):
        await world.service.sender.send_judged([DimLamp(lamp_id=lamp_id)], caller, basis)
    assert len(await world.history(lamp_id)) == 2


async def test_a_claim_that_goes_with_commands_is_taken_once(world: World):
    lamp_id, caller = await world.light(), Caller(uuid7(), principal_id=WORKER)
    taken = claim("agent-decision", "key", holder=lamp_id, loser=LampCannotDimError)
    for version in (1, 2):
        basis = Basis({("Lamp", lamp_id): version}, [taken])
        sent = world.service.sender.send_judged([DimLamp(lamp_id=lamp_id)], caller, basis)
        if version == 1:
            await sent
        else:
            with pytest.raises(LampCannotDimError):
                await sent
    assert len(await world.history(lamp_id)) == 2
    assert [row.holder for row in await world.store.rows(CLAIMS, {"scope": "agent-decision"})] == [
        lamp_id
    ]


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_caller_inside_the_service_may_be_denied_without_a_record(
    world: World, recorded: bool
):
    caller = Caller(uuid7(), principal_id=STRANGER, records_denials=recorded)
    with pytest.raises(UnauthorizedError):
        await world.service.sender.send_judged([LightLamp()], caller, Basis({}))
    assert await world.denials(STRANGER) == int(recorded)


async def test_the_verdict_names_the_policies_that_determine_it(world: World):
    verdicts = await world.service.admission.verdicts(
        Caller(uuid7(), principal_id=STRANGER), ["light_lamp"]
    )
    assert verdicts == {"light_lamp": Deny(DenialReason.NO_MATCHING_POLICY)}
    mine = Caller(uuid7(), principal_id=WORKER)
    (verdict,) = (await world.service.admission.verdicts(mine, ["light_lamp"])).values()
    assert isinstance(verdict, Allow)
    assert verdict.determining_policies


async def test_a_stream_takes_an_event_id_that_a_rule_names_once(world: World):
    lamp_id = await world.light()
    await world.service.sender.send(SealLamp(lamp_id=lamp_id), as_=WORKER)
    with pytest.raises(DuplicateEventError):
        await world.service.sender.send(SealLamp(lamp_id=lamp_id), as_=WORKER)
    sealed = await world.history(lamp_id)
    assert [each.event_id for each in sealed[1:]] == [uuid5(lamp_id, "seal")]


async def test_an_operation_whose_work_a_worker_does_answers_202_and_leaves_a_row(world: World):
    lamp_id = await world.light()
    burning = await world.service.sender.send(BurnLamp(lamp_id=lamp_id), as_=WORKER)
    assert burning.status == 202
    work_id = UUID(json.loads(burning.body)["work_id"])
    assert await world.store.rows(WORK, {"work_id": work_id}) == (Work(work_id, "burn", lamp_id),)


async def test_a_worker_that_holds_its_work_writes(world: World):
    lamp_id = await world.light()
    await world.service.sender.send(BurnLamp(lamp_id=lamp_id), as_=WORKER)
    (mine,) = await world.work.claim("burn", uuid4(), LEASE, 10)
    assert mine.subject_id == lamp_id
    tended = TendLamp(lamp_id=lamp_id, fence=mine.fence)
    assert (await world.service.sender.send(tended, as_=WORKER)).version == 3


async def test_work_that_is_held_is_not_claimed_again(world: World):
    await world.service.sender.send(BurnLamp(lamp_id=await world.light()), as_=WORKER)
    assert len(await world.work.claim("burn", uuid4(), LEASE, 10)) == 1
    assert await world.work.claim("burn", uuid4(), LEASE, 10) == []
    assert await world.work.claim("other", uuid4(), LEASE, 10) == []


async def test_a_worker_whose_work_was_taken_over_writes_nothing(world: World):
    lamp_id, first, second = await world.light(), uuid4(), uuid4()
    await world.service.sender.send(BurnLamp(lamp_id=lamp_id), as_=WORKER)
    (lost,) = await world.work.claim("burn", first, timedelta(0), 10)
    (held,) = await world.work.claim("burn", second, LEASE, 10)
    assert held.claim == lost.claim + 1
    for fence in (lost.fence, replace(held.fence, owner=first)):
        tended = TendLamp(lamp_id=lamp_id, fence=fence)
        with pytest.raises(WorkLostError):
            await world.service.sender.send(tended, as_=WORKER)
    assert len(await world.history(lamp_id)) == 2


async def test_a_worker_whose_lease_has_ended_writes_nothing(world: World):
    lamp_id = await world.light()
    await world.service.sender.send(BurnLamp(lamp_id=lamp_id), as_=WORKER)
    (late,) = await world.work.claim("burn", uuid4(), timedelta(0), 10)
    tended = TendLamp(lamp_id=lamp_id, fence=late.fence)
    with pytest.raises(WorkLostError):
        await world.service.sender.send(tended, as_=WORKER)


async def test_work_that_was_claimed_in_vain_too_often_is_left(world: World):
    await world.service.sender.send(BurnLamp(lamp_id=await world.light()), as_=WORKER)
    claims = [await world.work.claim("burn", uuid4(), timedelta(0), 10) for _ in range(6)]
    assert [len(claimed) for claimed in claims] == [1, 1, 1, 1, 1, 0]


async def test_an_outside_step_gives_its_result_to_the_rule(world: World):
    lamp_id = await world.light()
    await world.service.sender.send(SignLamp(lamp_id=lamp_id), as_=WORKER)
    assert world.signed == [Signature(lamp_id, 3)]
    *_, signed = await world.history(lamp_id)
    assert json.loads(bytes(signed.payload))["signature"] == "signed 3"


async def test_an_outside_step_is_not_taken_before_every_check_has_passed(world: World):
    lamp_id = await world.light()
    await world.service.sender.send_together([DimLamp(lamp_id=lamp_id)] * 3, as_=WORKER)
    with pytest.raises(LampCannotDimError):
        await world.service.sender.send(SignLamp(lamp_id=lamp_id), as_=WORKER)
    caller = Caller(uuid7(), principal_id=WORKER)
    stale = Request(caller, {"lamp_id": str(await world.light())}, if_match='"7"')
    with pytest.raises(PreconditionFailedError):
        await world.service.dispatcher.execute(LAMPS.by_command[SignLamp], stale)
    assert world.signed == []


async def test_a_dry_run_takes_no_outside_step(world: World):
    lamp_id = await world.light()
    caller = Caller(uuid7(), principal_id=WORKER)
    dry = Request(caller, {"lamp_id": str(lamp_id)}, dry_run=True)
    answer = await world.service.dispatcher.execute(LAMPS.by_command[SignLamp], dry)
    assert (json.loads(answer.body), world.signed) == ({"events": []}, [])


async def test_a_change_during_an_outside_step_is_decided_again():
    """Nothing is held meanwhile: another command on the same lamp goes through."""
    store, asked = MemoryStore(CODEC), list[Signature]()

    async def sign(request: Signature) -> str:
        asked.append(request)
        if len(asked) == 1:
            await service.sender.send(DimLamp(lamp_id=request.lamp_id), as_=WORKER)
        return f"signed {request.level}"

    service = compose(store, store, b"k" * 32, LAMPS, outside={Signature: sign})
    await permit(store)
    lamp_id = (await service.sender.send(LightLamp(), as_=WORKER)).id
    assert lamp_id
    await service.sender.send(SignLamp(lamp_id=lamp_id), as_=WORKER)
    assert [request.level for request in asked] == [3, 2]
    *_, signed = await store.history(("Lamp", lamp_id), 0, 10)
    assert json.loads(bytes(signed.payload))["signature"] == "signed 2"


class MovingOnce(MemoryStore):
    moves = 0

    async def append(self, append: Any) -> Any:
        if self.moves:
            self.moves -= 1
            raise MovedError
        return await super().append(append)


async def test_a_decision_has_the_time_of_the_one_that_asked_for_the_step():
    """Else a step whose request has the time would be asked for again and again."""
    store, asked = MovingOnce(CODEC), list[datetime]()

    async def stamp(request: TimeStamp) -> str:
        asked.append(request.now)
        return "stamped"

    service = compose(store, store, b"k" * 32, LAMPS, outside={TimeStamp: stamp})
    await permit(store)
    lamp_id = (await service.sender.send(LightLamp(), as_=WORKER)).id
    assert lamp_id
    store.moves = 1
    await service.sender.send(StampLamp(lamp_id=lamp_id), as_=WORKER)
    *_, signed = await store.history(("Lamp", lamp_id), 0, 10)
    # The append lost once, so that the decision was taken again, at another time.
    assert len({*asked}) == 2
    assert signed.occurred_at == asked[-1]


async def test_an_outside_step_is_not_repeated_when_only_the_append_lost():
    store, asked = MovingOnce(CODEC), list[Signature]()

    async def sign(request: Signature) -> str:
        asked.append(request)
        return "signed"

    service = compose(store, store, b"k" * 32, LAMPS, outside={Signature: sign})
    await permit(store)
    lamp_id = (await service.sender.send(LightLamp(), as_=WORKER)).id
    assert lamp_id
    store.moves = 2
    await service.sender.send(SignLamp(lamp_id=lamp_id), as_=WORKER)
    assert len(asked) == 1


def test_no_surface_offers_an_operation_without_a_route():
    assert "tend_lamp" not in {operation.name for operation in LAMPS.operations}
    assert "tend_lamp" not in LAMPS.named
    assert "tend_lamp" in LAMPS.permissions
    assert isinstance(LAMPS.by_command[TendLamp], Operation)
