"""What the one path asks of an event store, held against each of the two there are."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters import call_memory, stream_queues
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.actor import (
    ActorDeactivated,
    ActorIdentityAlreadyBoundError,
    ActorRegistered,
)
from beamkeep.contexts.access.profile import IDENTITIES, STANDINGS, Identity
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.enclosure.enclosure import FRESHNESS, Freshness
from beamkeep.contexts.run.observation import (
    OBSERVATIONS,
    Observation,
    Reading,
    RunObservationIdTakenError,
    UnitAnnotation,
)
from beamkeep.contexts.run.refused import REFUSED_STARTS, RefusedStart
from beamkeep.contexts.supply.supply import SUPPLY_FRESHNESS, SupplyFreshness
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import POLICY_GRANTS
from beamkeep.contexts.trust.visit import VisitCancelled, VisitRegistered, VisitType
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import (
    CLAIMS,
    DENIALS,
    ActorKind,
    Claim,
    Denial,
    DenialReason,
    Grant,
    Lock,
    ObjectScope,
    Period,
    Record,
    Rows,
    SideWrite,
    Sight,
    Standing,
    Table,
    View,
    replace,
)
from beamkeep.runtime.store import (
    BEGINNING,
    READ_AT_ONCE,
    AlreadyAnsweredError,
    CallContext,
    CallLookup,
    EventStore,
    KeyTakenError,
    ListFilter,
    ListPage,
    LoadedStream,
    MovedError,
    NewSnapshot,
    ReadModel,
    RowQuery,
    RowsStoredError,
    Snapshot,
    StoredAnswer,
    StoredEvent,
    StoreUnavailableError,
    Stream,
)
from beamkeep.testing.appends import (
    ANSWER,
    CODEC,
    FINGERPRINT,
    HTTP,
    ME,
    NOW,
    append,
    at,
    registered,
    updated,
)
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service

pytestmark = pytest.mark.anyio

ENTRY = seeded.ENTRY
NAMED = Claim("name", "a", None)
FOLD = uuid4()
FOLDS = {"Actor": FOLD}


class Hosted(NamedTuple):
    """A store and the lists read from it; lists are in step after `catch_up`."""

    store: EventStore
    lists: ReadModel
    catch_up: Callable[[], Awaitable[None]]


@pytest.fixture
async def hosted(place: Database | None) -> AsyncGenerator[Hosted]:
    if place is None:
        store = MemoryStore(CODEC)

        async def nothing() -> None: ...

        yield Hosted(store, store, nothing)
        return
    async with postgres_service(place, seeds=False) as deployed:

        async def catch_up() -> None:
            await deployed.projector.catch_up([WHOLE_LOG])

        yield Hosted(deployed.store, deployed.lists, catch_up)


@pytest.fixture
def store(hosted: Hosted) -> EventStore:
    return hosted.store


async def an_actor(store: EventStore, versions: int = 1, **more: Any) -> UUID:
    id = uuid7()
    changes = [at(version, updated(id)) for version in range(2, versions + 1)]
    await store.append(append(at(1, registered(id)), *changes, **more))
    return id


async def count(store: EventStore, id: UUID) -> int:
    return len((await store.load([("Actor", id)])).get(("Actor", id), LoadedStream()).events)


def asked(**known: Any) -> CallLookup:
    opening = CallLookup(None, None, ENTRY, HTTP, "define_zone")
    return replace(opening, **known)


def grant(principal_id: UUID, *commands: str, surface_id: UUID | None = HTTP) -> Grant:
    return Grant(uuid7(), principal_id, ENTRY, surface_id, commands, ObjectScope.OWN)


def versions(loaded: LoadedStream) -> list[int]:
    return [version for version, *_ in loaded.events]


def read(recorded: StoredEvent) -> tuple[int, str, int, dict[str, Any]]:
    version, event_type, schema_version, payload = recorded
    return version, event_type, schema_version, json.loads(payload)


# Opening a call


async def test_nothing_is_known_of_an_unknown_identity(store: EventStore):
    assert await store.open(asked(identity=("https://idp.test", "nobody"))) == CallContext(None, ())


async def test_a_principal_without_a_standing_has_no_grants_and_no_answers(store: EventStore):
    ghost = uuid7()
    await an_actor(
        store,
        principal_id=ghost,
        answer=ANSWER,
        side_writes=[POLICY_GRANTS.insert(grant(ghost, "*"))],
    )
    assert await store.open(asked(principal_id=ghost, idempotency_key="key")) == CallContext(
        None, ()
    )


async def test_a_bound_login_is_its_actor_with_its_standing(store: EventStore):
    me = Standing(uuid7(), ActorKind.AGENT, DenialReason.SUSPENDED_AGENT)
    login = Identity("https://idp.test", "ada", me.principal_id)
    await an_actor(store, side_writes=[STANDINGS.insert(me), IDENTITIES.insert(login)])

    by_login = await store.open(asked(identity=("https://idp.test", "ada")))
    by_id = await store.open(asked(principal_id=me.principal_id))
    assert by_login.standing == by_id.standing == me
    assert (await store.open(asked(identity=("https://idp.test", "eve")))).standing is None
    assert (await store.open(asked(identity=("https://other.test", "ada")))).standing is None


async def with_grants(store: EventStore, *grants: Grant) -> None:
    me = Standing(grants[0].principal_id, ActorKind.HUMAN)
    beside = [STANDINGS.insert(me), *(POLICY_GRANTS.insert(grant) for grant in grants)]
    await an_actor(store, side_writes=beside)


async def test_the_grants_found_for_one_command_permit_that_command_only(store: EventStore):
    me = uuid7()
    named, every = grant(me, "define_zone", "get_zone"), grant(me, "*")
    await with_grants(store, named, every, grant(me, "get_zone"))

    opened = await store.open(asked(principal_id=me))
    assert sorted(opened.grants, key=lambda g: g.policy_id) == [
        replace(named, permitted_commands=("define_zone",)),
        replace(every, permitted_commands=("define_zone",)),
    ]


async def test_the_grants_found_for_all_commands_name_every_command_they_permit(store: EventStore):
    me = uuid7()
    grants = [grant(me, "define_zone", "get_zone"), grant(me, "*")]
    await with_grants(store, *grants)
    opened = await store.open(asked(principal_id=me, command_name=None))
    assert sorted(opened.grants, key=lambda g: g.policy_id) == grants


async def test_a_grant_holds_only_for_its_principal_its_conduit_and_its_surface(store: EventStore):
    me, inside = uuid7(), grant(uuid7(), "*", surface_id=None)
    outside = grant(me, "*")
    elsewhere = replace(grant(me, "*"), conduit_id=seeded.INTERNAL)
    await with_grants(store, outside, elsewhere, replace(inside, principal_id=me), inside)

    async def found(**at: Any) -> list[UUID]:
        return [g.policy_id for g in (await store.open(asked(principal_id=me, **at))).grants]

    assert await found() == [outside.policy_id]
    assert await found(conduit_id=seeded.INTERNAL) == [elsewhere.policy_id]
    assert await found(surface_id=None) == [inside.policy_id]
    assert await found(surface_id=uuid4()) == []
    assert await found(conduit_id=None) == []


async def test_an_answer_is_remembered_for_its_principal_surface_and_key(store: EventStore):
    me, other = Standing(uuid7(), ActorKind.HUMAN), Standing(uuid7(), ActorKind.HUMAN)
    standings = [STANDINGS.insert(me), STANDINGS.insert(other)]
    grants = [POLICY_GRANTS.insert(grant(each.principal_id, "*")) for each in (me, other)]
    new = append(
        at(1, registered(uuid7())),
        principal_id=me.principal_id,
        answer=ANSWER,
        side_writes=[*standings, *grants],
    )
    position = await store.append(new)

    async def remembered(**more: Any) -> StoredAnswer | None:
        known = {"principal_id": me.principal_id, "idempotency_key": "key"} | more
        return (await store.open(asked(**known))).stored_answer

    assert await remembered() == StoredAnswer(FINGERPRINT, 201, b'{"id":1}', 1, position)
    assert await remembered(idempotency_key="other") is None
    assert await remembered(idempotency_key=None) is None
    assert await remembered(surface_id=uuid4()) is None
    assert await remembered(principal_id=other.principal_id) is None


async def permitted(store: EventStore) -> UUID:
    """Somebody who may define zones."""
    await with_grants(store, grant(me := uuid7(), "define_zone"))
    return me


@pytest.mark.parametrize("events", [0, 1, 3])
async def test_an_answer_is_remembered_with_the_version_and_the_position_it_named(
    store: EventStore, events: int
):
    id, me = uuid7(), await permitted(store)
    written = [registered(id), updated(id), updated(id)][:events]
    new = append(
        *(at(version, event) for version, event in enumerate(written, 1)),
        principal_id=me,
        answer=replace(ANSWER, version=events),
    )
    position = await store.append(new)
    opened = await store.open(asked(principal_id=me, idempotency_key="key"))
    assert opened.stored_answer
    assert (opened.stored_answer.version, opened.stored_answer.position) == (events, position)


async def test_the_target_is_opened_with_its_events_and_its_first_writer(store: EventStore):
    me, id = await permitted(store), await an_actor(store, 3)
    await store.append(append(at(4, updated(id)), principal_id=uuid7()))
    opened = await store.open(asked(principal_id=me, stream=("Actor", id)))
    assert versions(opened.loaded) == [1, 2, 3, 4]
    assert opened.owner_id == ME
    absent = await store.open(asked(principal_id=me, stream=("Zone", id)))
    assert absent.loaded == LoadedStream()


async def test_a_caller_without_permission_finds_neither_stream_nor_answer(store: EventStore):
    granted, barred, unasked = uuid7(), uuid7(), uuid7()
    standings = [
        Standing(granted, ActorKind.HUMAN),
        Standing(unasked, ActorKind.HUMAN),
        Standing(barred, ActorKind.HUMAN, DenialReason.INACTIVE_PRINCIPAL),
    ]
    grants = [grant(granted, "*"), grant(barred, "*"), grant(unasked, "get_zone")]
    beside = [*map(STANDINGS.insert, standings), *map(POLICY_GRANTS.insert, grants)]
    await an_actor(store, side_writes=beside)
    for me, expected in ((granted, True), (barred, False), (unasked, False)):
        id = await an_actor(store, principal_id=me, answer=ANSWER)
        known = asked(principal_id=me, stream=("Actor", id), idempotency_key="key")
        opened = await store.open(known)
        assert bool(opened.loaded.events) is expected
        assert (opened.owner_id is not None) is expected
        assert (opened.stored_answer is not None) is expected
        await store.keep_snapshots([NewSnapshot(("Actor", id), FOLD, Snapshot(1, b"{}"))])
        opened = await store.open(replace(known, fold=FOLD))
        assert (opened.loaded.snapshot is not None) is expected
        assert opened.standing is not None


# Recalling a call

LOGIN = "https://idp.test", "ada"


class Remembered(NamedTuple):
    """A command that a store remembers: its caller, and the stream that it began."""

    me: Standing
    grant: Grant
    id: UUID

    @property
    def lookup(self) -> CallLookup:
        return asked(identity=LOGIN, stream=("Actor", self.id), fold=FOLD, recalls=True)


async def remembered(store: EventStore, *side_writes: SideWrite) -> Remembered:
    """Let a caller begin a stream and change it, so that the store remembers both."""
    me = Standing(uuid7(), ActorKind.HUMAN)
    known = Remembered(me, grant(me.principal_id, "define_zone"), uuid7())
    login = IDENTITIES.insert(Identity(*LOGIN, me.principal_id))
    rows = STANDINGS.insert(me), POLICY_GRANTS.insert(known.grant), login, *side_writes
    await an_actor(store, side_writes=rows)
    opened = await store.open(replace(known.lookup, stream=None))
    assert not opened.is_recalled
    first = at(1, registered(known.id))
    await store.append(append(first, principal_id=me.principal_id, opened=opened))
    return known


async def change(store: EventStore, known: Remembered, version: int) -> CallContext:
    """Change the stream by what the store answers a lookup, and return that."""
    opened = await store.open(known.lookup)
    new = append(at(version, updated(known.id)), principal_id=known.me.principal_id, opened=opened)
    await store.append(new)
    return opened


async def test_a_call_like_one_that_was_written_is_recalled(store: EventStore):
    known = await remembered(store)
    stored = await store.open(replace(known.lookup, recalls=False))
    for version in range(2, 6):
        opened = await change(store, known, version)
        assert opened.is_recalled
        assert versions(opened.loaded) == list(range(1, version))
        same = opened.standing, opened.grants, opened.owner_id
        assert same == (stored.standing, stored.grants, stored.owner_id)
    assert await count(store, known.id) == 5


async def test_what_is_recalled_of_a_stream_is_what_is_stored(store: EventStore):
    known = await remembered(store)
    await change(store, known, 2)
    opened = await store.open(known.lookup)
    found = await store.open(replace(known.lookup, recalls=False))
    assert opened.is_recalled
    assert [*map(read, opened.loaded.events)] == [*map(read, found.loaded.events)]


DIFFERENT: Mapping[str, Mapping[str, Any]] = {
    "another command": {"command_name": "get_zone"},
    "another surface": {"surface_id": uuid4()},
    "no surface": {"surface_id": None},
    "another conduit": {"conduit_id": uuid4()},
    "another login": {"identity": ("https://idp.test", "eve")},
    "another stream": {"stream": ("Actor", uuid4())},
    "a read": {"recalls": False},
}


@pytest.mark.parametrize("case", DIFFERENT)
async def test_another_call_is_not_recalled(store: EventStore, case: str):
    known = await remembered(store)
    opened = await store.open(replace(known.lookup, **DIFFERENT[case]))
    assert not opened.is_recalled


async def test_a_call_of_an_agent_is_not_recalled(store: EventStore):
    known = await remembered(store)
    agent = replace(known.me, kind=ActorKind.AGENT, agent_kind="Scripted")
    await an_actor(store, side_writes=[STANDINGS.replace(agent)])
    fresh = await store.open(replace(known.lookup, recalls=False))
    assert fresh.standing == agent
    known = known._replace(id=await an_actor(store))
    opened = await store.open(known.lookup)
    assert not opened.is_recalled
    new = append(at(2, updated(known.id)), principal_id=agent.principal_id, opened=opened)
    await store.append(new)
    assert not (await store.open(known.lookup)).is_recalled


async def test_a_call_that_wrote_several_events_is_not_recalled(store: EventStore):
    known = (await remembered(store))._replace(id=await an_actor(store))
    opened = await store.open(known.lookup)
    several = at(2, updated(known.id)), at(3, updated(known.id))
    await store.append(append(*several, principal_id=known.me.principal_id, opened=opened))
    assert not (await store.open(known.lookup)).is_recalled


type Undo = Callable[[Remembered], Sequence[SideWrite]]
UNDONE: Mapping[str, Undo] = {
    "the grant is gone": lambda _: [],
    "the grant permits another command": lambda r: regranted(r, permitted_commands=("x",)),
    "the grant lets it be proposed only": lambda r: regranted(
        r, permitted_commands=(), proposable_commands=("define_zone",)
    ),
    "the grant is for another surface": lambda r: regranted(r, surface_id=None),
    "the grant is for another conduit": lambda r: regranted(r, conduit_id=uuid4()),
    "the grant has another scope": lambda r: regranted(r, object_scope=ObjectScope.ALL),
    "the actor is barred": lambda r: standing(r, barred=DenialReason.INACTIVE_PRINCIPAL),
    "the actor is an agent now": lambda r: standing(r, kind=ActorKind.AGENT, agent_kind="Scripted"),
    "the login is bound to nobody": lambda _: [],
    "the login is bound to another actor": lambda _: [IDENTITIES.insert(Identity(*LOGIN, uuid7()))],
}


def regranted(known: Remembered, **changes: Any) -> Sequence[SideWrite]:
    return [POLICY_GRANTS.insert(replace(known.grant, **changes))]


def standing(known: Remembered, **changes: Any) -> Sequence[SideWrite]:
    return [STANDINGS.replace(replace(known.me, **changes))]


@pytest.mark.parametrize("case", UNDONE)
async def test_what_was_recalled_writes_nothing_once_its_caller_may_not(
    store: EventStore, case: str
):
    known = await remembered(store)
    opened = await store.open(known.lookup)
    assert opened.is_recalled
    if "grant" in case:
        await an_actor(store, side_writes=[POLICY_GRANTS.delete(known.grant.policy_id)])
    elif "login" in case:
        await an_actor(store, side_writes=[IDENTITIES.delete(*LOGIN)])
    await an_actor(store, side_writes=UNDONE[case](known))
    change = at(2, updated(known.id))
    with pytest.raises(MovedError):
        await store.append(
            append(change, principal_id=known.me.principal_id, opened=opened, answer=ANSWER)
        )
    assert await count(store, known.id) == 1
    now = await store.open(replace(known.lookup, recalls=False, idempotency_key=ANSWER.key))
    assert now.stored_answer is None


async def test_what_was_recalled_writes_nothing_once_its_stream_is_longer(store: EventStore):
    known = await remembered(store)
    opened = await store.open(known.lookup)
    await store.append(append(at(2, updated(known.id))))
    with pytest.raises(MovedError):
        await store.append(
            append(at(2, updated(known.id)), principal_id=known.me.principal_id, opened=opened)
        )
    assert await count(store, known.id) == 2


async def test_what_was_recalled_writes_nothing_after_another_event_of_that_version(
    store: EventStore,
):
    known = await remembered(store)
    opened = await store.open(known.lookup)
    assert opened.memory
    lost = replace(opened, memory=replace(opened.memory, last_event_id=uuid7()))
    with pytest.raises(MovedError):
        await store.append(
            append(at(2, updated(known.id)), principal_id=known.me.principal_id, opened=lost)
        )
    assert await count(store, known.id) == 1


async def test_what_was_recalled_writes_nothing_under_a_key_that_has_an_answer(store: EventStore):
    known = await remembered(store)
    opened = await store.open(replace(known.lookup, idempotency_key=ANSWER.key))
    assert opened.is_recalled
    me = known.me.principal_id
    await store.append(append(side_writes=[CLAIMS.insert(NAMED)], answer=ANSWER, principal_id=me))
    with pytest.raises((MovedError, AlreadyAnsweredError)):
        await store.append(
            append(at(2, updated(known.id)), principal_id=me, opened=opened, answer=ANSWER)
        )
    assert await count(store, known.id) == 1
    assert not (await store.open(replace(known.lookup, idempotency_key=ANSWER.key))).is_recalled


async def test_a_stream_that_another_command_changed_is_read_again(store: EventStore):
    known = await remembered(store)
    await store.append(append(at(2, updated(known.id))))
    opened = await store.open(known.lookup)
    assert not opened.is_recalled
    assert versions(opened.loaded) == [1, 2]
    await change(store, known, 3)
    assert (await store.open(known.lookup)).is_recalled


async def test_a_long_stream_is_read_each_time(store: EventStore):
    known = await remembered(store)
    for version in range(2, call_memory.MOST_EVENTS + 1):
        assert (await change(store, known, version)).is_recalled
    assert (await change(store, known, call_memory.MOST_EVENTS + 1)).is_recalled
    assert not (await store.open(known.lookup)).is_recalled


# Snapshots


async def test_a_stream_is_read_from_its_snapshot_on(store: EventStore):
    me, one, two = await permitted(store), await an_actor(store, 3), await an_actor(store, 2)
    hosted = Snapshot(2, '{"name":"Schön 🜂"}'.encode())
    await store.keep_snapshots([NewSnapshot(("Actor", one), FOLD, hosted)])
    opened = await store.open(asked(principal_id=me, stream=("Actor", one), fold=FOLD))
    assert (opened.loaded.snapshot, versions(opened.loaded)) == (hosted, [3])
    assert opened.owner_id == ME
    streams = [("Actor", one), ("Actor", two)]
    for found in (await store.load(streams, FOLDS), await store.load(streams[:1], FOLDS)):
        assert (found[streams[0]].snapshot, versions(found[streams[0]])) == (hosted, [3])
    assert versions((await store.load(streams, FOLDS))[streams[1]]) == [1, 2]


async def test_a_snapshot_of_another_fold_is_not_read(store: EventStore):
    me, id = await permitted(store), await an_actor(store, 2)
    await store.keep_snapshots([NewSnapshot(("Actor", id), uuid4(), Snapshot(2, b"{}"))])
    for fold in (FOLD, None):
        opened = await store.open(asked(principal_id=me, stream=("Actor", id), fold=fold))
        assert (opened.loaded.snapshot, versions(opened.loaded)) == (None, [1, 2])
    assert (await store.load([("Actor", id)]))["Actor", id].snapshot is None


async def test_a_snapshot_is_written_with_the_events_it_includes_or_not_at_all(store: EventStore):
    id = await an_actor(store)
    stream = "Actor", id
    new = [NewSnapshot(stream, FOLD, Snapshot(2, b'{"at":2}'))]
    await store.append(append(at(2, updated(id)), snapshots=new))
    found = (await store.load([stream], FOLDS))[stream]
    assert (found.snapshot, versions(found)) == (new[0].snapshot, [])
    lost = [NewSnapshot(stream, FOLD, Snapshot(5, b'{"at":5}'))]
    with pytest.raises(MovedError):
        await store.append(append(at(5, updated(id)), snapshots=lost))
    assert (await store.load([stream], FOLDS))[stream].snapshot == new[0].snapshot


async def test_an_older_snapshot_does_not_replace_a_newer_one(store: EventStore):
    stream = "Actor", await an_actor(store, 4)
    for version in (3, 2, 4, 1):
        await store.keep_snapshots([NewSnapshot(stream, FOLD, Snapshot(version, b"{}"))])
    assert (await store.load([stream], FOLDS))[stream].snapshot == Snapshot(4, b"{}")


async def test_outdated_snapshots_are_found_until_there_is_a_current_one(store: EventStore):
    stream, old, older = ("Actor", await an_actor(store, 2)), uuid4(), uuid4()
    for fold in (old, older):
        await store.keep_snapshots([NewSnapshot(stream, fold, Snapshot(1, b"{}"))])
    first = "", UUID(int=0)
    assert stream in await store.outdated_snapshots([FOLD], first, 1000)
    assert stream not in await store.outdated_snapshots([FOLD], stream, 1000)
    await store.keep_snapshots([NewSnapshot(stream, FOLD, Snapshot(2, b"{}"))])
    assert stream not in await store.outdated_snapshots([FOLD], first, 1000)
    assert await store.drop_snapshots([FOLD], 7) == 0
    assert await store.drop_snapshots([FOLD], 0) >= 2
    assert (await store.load([stream], {"Actor": old}))[stream].snapshot is None
    assert (await store.load([stream], FOLDS))[stream].snapshot is not None


async def test_a_long_stream_is_read_in_pages(store: EventStore):
    me, id = await permitted(store), await an_actor(store)
    await store.append(append(*(at(n, updated(id)) for n in range(2, READ_AT_ONCE + 3))))
    stream, first = ("Actor", id), [*range(1, READ_AT_ONCE + 1)]
    opened = await store.open(asked(principal_id=me, stream=stream))
    assert versions(opened.loaded) == first
    assert versions((await store.load([stream]))[stream]) == first
    assert versions((await store.load([stream, ("Actor", uuid7())]))[stream]) == first


# Loading


async def test_several_streams_are_loaded_at_once_and_an_absent_one_is_left_out(store: EventStore):
    one, two, absent = await an_actor(store), await an_actor(store, 2), uuid7()
    found = await store.load([("Actor", one), ("Actor", two), ("Actor", absent)])
    assert {stream: versions(loaded) for stream, loaded in found.items()} == {
        ("Actor", one): [1],
        ("Actor", two): [1, 2],
    }


async def test_the_owner_of_a_stream_is_who_wrote_its_first_event(store: EventStore):
    other, absent = uuid7(), uuid7()
    mine, theirs = await an_actor(store), await an_actor(store, principal_id=other)
    await store.append(append(at(2, updated(mine)), principal_id=other))
    streams = [("Actor", mine), ("Actor", theirs), ("Actor", absent), ("Zone", mine)]
    assert await store.owners(streams) == {("Actor", mine): ME, ("Actor", theirs): other}
    assert await store.owners([]) == {}


async def test_an_event_is_read_as_it_was_written(store: EventStore):
    id = uuid7()
    event = ZoneDefined(NOW, id, 'Schöner "Hutch" \\ \t 1€ 🜂')
    await store.append(append(at(1, event)))
    stream = CODEC.stream(event)
    (recorded,) = (await store.load([stream]))[stream].events
    assert CODEC.decode("Zone", [recorded]) == [event]
    expected = {"occurred_at": "2030-01-01T12:30:15.123456Z", "zone_id": str(id)}
    assert read(recorded) == (1, "ZoneDefined", 1, expected | {"name": event.name})


# Appending


async def test_each_append_is_further_on_than_the_one_before(store: EventStore):
    id = uuid7()
    one = await store.append(append(at(1, registered(id))))
    two = await store.append(append(at(2, updated(id)), at(3, updated(id))))
    assert BEGINNING < one < two
    assert one.tx < two.tx
    assert await count(store, id) == 3


async def test_several_streams_are_appended_to_at_once(store: EventStore):
    one, two = uuid7(), uuid7()
    events = [at(1, registered(one)), at(1, registered(two)), at(2, updated(one))]
    await store.append(append(*events))
    assert (await count(store, one), await count(store, two)) == (2, 1)


async def test_of_several_streams_none_is_appended_to_when_one_has_moved(store: EventStore):
    moved, other = await an_actor(store, 2), uuid7()
    with pytest.raises(MovedError):
        await store.append(append(at(1, registered(other)), at(2, updated(moved))))
    assert (await count(store, moved), await count(store, other)) == (2, 0)


async def test_a_version_is_written_once(store: EventStore):
    id = await an_actor(store)
    with pytest.raises(MovedError):
        await store.append(append(at(1, registered(id))))
    await store.append(append(at(2, updated(id))))
    with pytest.raises(MovedError):
        await store.append(append(at(2, updated(id))))
    assert await count(store, id) == 2


async def test_a_gap_between_the_versions_is_refused(store: EventStore):
    id = await an_actor(store)
    with pytest.raises(MovedError):
        await store.append(append(at(3, updated(id))))
    with pytest.raises(MovedError):
        await store.append(append(at(2, updated(id)), at(4, updated(id))))
    with pytest.raises(MovedError):
        await store.append(append(at(2, updated(uuid7()))))
    assert await count(store, id) == 1


async def test_a_decision_stands_while_what_it_read_stands(store: EventStore):
    one, two, mine = await an_actor(store, 2), await an_actor(store), uuid7()
    read = {("Actor", one): 2, ("Actor", two): 1, ("Actor", uuid7()): 0}
    await store.append(append(at(1, registered(mine)), read=read))
    assert await count(store, mine) == 1


@pytest.mark.parametrize("version", [0, 1])
async def test_a_decision_falls_when_something_it_read_has_moved(store: EventStore, version: int):
    still, moved, mine = await an_actor(store), await an_actor(store, version + 1), uuid7()
    read = {("Actor", still): 1, ("Actor", moved): version}
    with pytest.raises(MovedError):
        await store.append(append(at(1, registered(mine)), read=read))
    assert await count(store, mine) == 0


async def test_an_answer_is_stored_though_nothing_is_written_with_it(store: EventStore):
    assert await store.append(append()) == BEGINNING
    assert await store.append(append(answer=ANSWER)) == BEGINNING
    with pytest.raises(AlreadyAnsweredError):
        await store.append(append(answer=ANSWER))
    with pytest.raises(AlreadyAnsweredError):
        await an_actor(store, answer=ANSWER)


async def test_rows_may_be_written_without_an_event(store: EventStore):
    id, other = uuid7(), uuid7()
    stood, alike = Standing(id, ActorKind.HUMAN, None), Standing(other, ActorKind.AGENT, None)
    beside = [STANDINGS.insert(stood), STANDINGS.insert(alike)]
    await store.append(append(at(1, registered(id)), side_writes=beside))
    barred = replace(stood, barred=DenialReason.INACTIVE_PRINCIPAL)
    rows = append(side_writes=[STANDINGS.replace(barred)], answer=ANSWER)
    assert await store.append(rows) == BEGINNING
    with pytest.raises(AlreadyAnsweredError):
        await store.append(rows)
    assert set(await store.rows(STANDINGS, {"principal_id": {id, other}})) == {barred, alike}


async def test_what_is_written_under_a_lock_is_written_once_and_whole(store: EventStore):
    id, lock = uuid7(), Lock("tree")
    await store.append(append(at(1, registered(id)), side_writes=[lock, CLAIMS.insert(NAMED)]))
    assert await claims(store) == {("name", "a")}
    with pytest.raises(MovedError):
        await store.append(append(at(1, registered(id)), side_writes=[lock]))
    await store.append(append(at(2, updated(id)), side_writes=[lock], read={("Actor", id): 1}))
    assert await count(store, id) == 2


class EntryPoint(Record):
    asset_id: UUID
    parent_id: UUID | None
    facility_code: str | None


PLACES = Table("asset_place", EntryPoint, key=("asset_id",), parent="parent_id")


async def test_the_rows_above_some_rows_are_found_whatever_their_number(store: EventStore):
    root, middle, leaf, twin, stranger = [uuid7() for _ in range(5)]
    over = {root: None, middle: root, leaf: middle, twin: root, stranger: None}
    rows = {id: EntryPoint(id, parent, None) for id, parent in over.items()}
    beside = [PLACES.insert(row) for row in rows.values()]
    await store.append(append(at(1, registered(uuid7())), side_writes=beside))

    async def above(*ids: UUID) -> set[EntryPoint]:
        found = await store.above(PLACES, ids)
        assert len(found) == len(set(found))
        return set(found)

    assert await above(leaf) == {rows[leaf], rows[middle], rows[root]}
    assert await above(leaf, twin) == {rows[leaf], rows[middle], rows[twin], rows[root]}
    assert await above(uuid7()) == set()
    await store.append(append(side_writes=[PLACES.replace(EntryPoint(root, leaf, None))]))
    assert {row.asset_id for row in await above(middle)} == {root, middle, leaf}, "a circle ends"


# Rows beside the events


async def claims(store: EventStore) -> set[tuple[str, str]]:
    rows = await store.rows(CLAIMS, {"scope": {"name", "code"}})
    return {(row.scope, row.key) for row in rows}


async def with_claims(store: EventStore) -> None:
    names = [("name", "a"), ("name", "b"), ("code", "a")]
    await an_actor(store, side_writes=[CLAIMS.insert(Claim(*name, ME)) for name in names])


async def test_rows_are_inserted_with_the_events(store: EventStore):
    await with_claims(store)
    assert await claims(store) == {("name", "a"), ("name", "b"), ("code", "a")}


async def test_a_row_is_put_in_place_of_the_one_with_its_key(store: EventStore):
    me, other = Standing(uuid7(), ActorKind.HUMAN), Standing(uuid7(), ActorKind.HUMAN)
    await an_actor(store, side_writes=[STANDINGS.insert(me), STANDINGS.insert(other)])
    barred = replace(me, barred=DenialReason.INACTIVE_PRINCIPAL)
    absent = Standing(uuid7(), ActorKind.HUMAN)
    await an_actor(store, side_writes=[STANDINGS.replace(barred), STANDINGS.replace(absent)])
    ids = {me.principal_id, other.principal_id, absent.principal_id}
    assert set(await store.rows(STANDINGS, {"principal_id": ids})) == {barred, other}


async def test_a_row_is_added_or_put_in_place_of_the_one_with_its_key(store: EventStore):
    me, other = Standing(uuid7(), ActorKind.HUMAN), Standing(uuid7(), ActorKind.HUMAN)
    barred = replace(me, barred=DenialReason.INACTIVE_PRINCIPAL)
    ids = {me.principal_id, other.principal_id}
    await an_actor(store, side_writes=[STANDINGS.upsert(me)])
    assert await store.rows(STANDINGS, {"principal_id": ids}) == (me,)
    await an_actor(store, side_writes=[STANDINGS.upsert(barred), STANDINGS.upsert(other)])
    assert set(await store.rows(STANDINGS, {"principal_id": ids})) == {barred, other}
    await store.append(append(side_writes=[STANDINGS.upsert(me)]))
    assert set(await store.rows(STANDINGS, {"principal_id": ids})) == {me, other}


LONG_AGO = datetime(1999, 1, 1, tzinfo=UTC)
A_WHILE = timedelta(hours=1)


async def test_a_time_is_stamped_by_the_store_and_read_with_its_age(store: EventStore):
    id = uuid7()
    about = {"enclosure_id": id}

    async def stored() -> Freshness:
        (row,) = await store.rows(FRESHNESS, about)
        return row

    await an_actor(store, side_writes=[FRESHNESS.insert(Freshness(id, None))])
    assert await stored() == Freshness(id, None, None), "what is null stays null"
    await store.append(append(side_writes=[FRESHNESS.replace(Freshness(id, LONG_AGO))]))
    first = await stored()
    assert first.last_reported_at
    assert first.last_reported_at > LONG_AGO + timedelta(days=365)
    assert first.age is not None
    assert timedelta(0) <= first.age < A_WHILE
    ahead = first.last_reported_at + timedelta(days=365)
    await an_actor(store, side_writes=[FRESHNESS.replace(Freshness(id, ahead))])
    second = await stored()
    assert second.last_reported_at
    assert first.last_reported_at < second.last_reported_at < ahead
    await store.append(append(side_writes=[FRESHNESS.replace(Freshness(id, None))]))
    assert await stored() == Freshness(id, None, None)


async def test_a_time_is_stamped_also_in_a_row_that_is_added(store: EventStore):
    inserted, added = uuid7(), uuid7()
    beside = [
        SUPPLY_FRESHNESS.insert(SupplyFreshness(inserted, LONG_AGO)),
        SUPPLY_FRESHNESS.upsert(SupplyFreshness(added, LONG_AGO)),
    ]
    await an_actor(store, side_writes=beside)
    rows = await store.rows(SUPPLY_FRESHNESS, {})
    assert {row.supply_id for row in rows} == {inserted, added}, "without a filter all are found"
    assert all(row.age is not None and timedelta(0) <= row.age < A_WHILE for row in rows)


async def test_rows_are_deleted_by_their_key(store: EventStore):
    await with_claims(store)
    absent = CLAIMS.delete("name", "never there")
    await an_actor(
        store, side_writes=[CLAIMS.delete("name", "a"), absent, CLAIMS.delete("code", "a")]
    )
    assert await claims(store) == {("name", "b")}


async def test_rows_are_deleted_by_how_their_key_begins(store: EventStore):
    await with_claims(store)
    await an_actor(store, side_writes=[CLAIMS.delete("name")])
    assert await claims(store) == {("code", "a")}


async def test_inserts_deletes_and_replacements_go_together(store: EventStore):
    await with_claims(store)
    me = Standing(uuid7(), ActorKind.HUMAN)
    parts = [CLAIMS.delete("code"), CLAIMS.delete("name", "b"), STANDINGS.insert(me)]
    await an_actor(store, side_writes=[*parts, CLAIMS.insert(Claim("code", "c", None))])
    assert await claims(store) == {("name", "a"), ("code", "c")}
    assert await store.rows(STANDINGS, {"principal_id": me.principal_id}) == (me,)


async def test_a_write_whose_key_is_taken_names_the_key_and_writes_nothing(store: EventStore):
    await with_claims(store)
    id, me = uuid7(), Standing(uuid7(), ActorKind.HUMAN)
    free = CLAIMS.insert(Claim("name", "free", ME))
    taken = CLAIMS.insert(Claim("name", "b", ME), loser=ActorIdentityAlreadyBoundError)
    beside = [STANDINGS.insert(me), free, taken, CLAIMS.delete("code")]
    with pytest.raises(KeyTakenError) as error:
        await store.append(append(at(1, registered(id)), side_writes=beside, answer=ANSWER))
    assert error.value.insert is taken
    assert await count(store, id) == 0
    assert await claims(store) == {("name", "a"), ("name", "b"), ("code", "a")}
    assert await store.rows(STANDINGS, {"principal_id": me.principal_id}) == ()
    await an_actor(store, answer=ANSWER)


async def test_a_write_whose_idempotency_key_is_answered_writes_nothing(store: EventStore):
    await an_actor(store, answer=ANSWER)
    id, insert = uuid7(), CLAIMS.insert(Claim("name", "a", ME))
    again = append(at(1, registered(id)), side_writes=[insert], answer=ANSWER)
    with pytest.raises(AlreadyAnsweredError):
        await store.append(again)
    assert await count(store, id) == 0
    assert await claims(store) == set()
    await store.append(replace(again, principal_id=uuid7()))


async def test_a_write_whose_stream_has_moved_writes_no_row_and_no_answer(store: EventStore):
    await with_claims(store)
    id, me = await an_actor(store, 2), Standing(uuid7(), ActorKind.HUMAN)
    for version in (2, 4):
        beside = [STANDINGS.insert(me), CLAIMS.delete("name")]
        with pytest.raises(MovedError):
            await store.append(append(at(version, updated(id)), side_writes=beside, answer=ANSWER))
    assert await store.rows(STANDINGS, {"principal_id": me.principal_id}) == ()
    assert len(await claims(store)) == 3
    await an_actor(store, answer=ANSWER)


# Rows in bulk


RUN, OTHER_RUN = UUID(int=100), UUID(int=101)
UNIT = UnitAnnotation("udunits", "keV", 'Energy "é" \\')


def observed(number: int, run_id: UUID = RUN, hours: float = 0, **more: Any) -> Observation:
    at = NOW + timedelta(hours=hours)
    reading = Reading(UUID(int=number), "energy", 0.1, "monitor", sampled_at=at, unit=UNIT)
    observation = Observation.of(
        reading,
        run_id=run_id,
        recorded_at=NOW,
        principal_id=ME,
        surface_id=HTTP,
        correlation_id=UUID(int=7),
    )
    return replace(observation, **more)


def bulk(*rows: Observation) -> Rows:
    return OBSERVATIONS.append(rows, under="run_id", taken=RunObservationIdTakenError)


async def observations(store: EventStore) -> list[Observation]:
    found = await store.rows(OBSERVATIONS, {"run_id": {RUN, OTHER_RUN}})
    return sorted(found, key=lambda row: row.observation_id)


async def test_rows_in_bulk_are_written_together_and_come_back_as_they_were(store: EventStore):
    rows = [observed(1), observed(2, unit=None, surface_id=None, correlation_id=None)]
    rows += [observed(3, value=value, simulated=True) for value in (-1e308,)]
    assert await store.append(append(side_writes=[bulk(*rows)])) == BEGINNING
    assert await observations(store) == rows


async def test_rows_stored_already_are_named_with_what_they_are_stored_under(store: EventStore):
    await store.append(append(side_writes=[bulk(observed(1), observed(2, OTHER_RUN))]))
    before = await observations(store)
    with pytest.raises(RowsStoredError) as found:
        await store.append(append(side_writes=[bulk(observed(3), observed(2), observed(1))]))
    assert found.value.under == {UUID(int=1): RUN, UUID(int=2): OTHER_RUN}
    assert await observations(store) == before, "none is written where some are stored"


async def test_rows_stored_already_stay_as_they_were(store: EventStore):
    await store.append(append(side_writes=[bulk(observed(1))]))
    with pytest.raises(RowsStoredError):
        await store.append(append(side_writes=[bulk(observed(1, value=0.2))]))
    assert await observations(store) == [observed(1)]


async def test_an_answer_is_stored_with_rows_in_bulk(store: EventStore):
    await store.append(append(side_writes=[bulk(observed(1))], answer=ANSWER))
    with pytest.raises(AlreadyAnsweredError):
        await store.append(append(side_writes=[bulk(observed(2))], answer=ANSWER))
    assert await observations(store) == [observed(1)]


async def test_an_answer_is_stored_where_no_row_is_left_to_write(store: EventStore):
    await store.append(append(side_writes=[bulk()], answer=ANSWER))
    with pytest.raises(AlreadyAnsweredError):
        await store.append(append(side_writes=[bulk()], answer=ANSWER))


async def test_no_answer_is_stored_where_rows_were_stored_already(store: EventStore):
    await store.append(append(side_writes=[bulk(observed(1))]))
    with pytest.raises(RowsStoredError):
        await store.append(append(side_writes=[bulk(observed(1))], answer=ANSWER))
    await store.append(append(side_writes=[bulk(observed(2))], answer=ANSWER))
    assert await observations(store) == [observed(1), observed(2)]


async def test_of_the_same_rows_sent_twice_at_once_one_batch_is_written(store: EventStore):
    batch = append(side_writes=[bulk(*(observed(number) for number in range(1, 51)))])
    done = await asyncio.gather(*(store.append(batch) for _ in range(2)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["Position", "RowsStoredError"]
    assert len(await observations(store)) == 50


async def test_rows_in_bulk_are_written_with_the_events(store: EventStore):
    id, one, two = uuid7(), observed(1), observed(2, OTHER_RUN)
    beside = [bulk(one), CLAIMS.insert(NAMED), bulk(two)]
    position = await store.append(append(at(1, registered(id)), side_writes=beside, answer=ANSWER))
    assert position > BEGINNING
    assert await count(store, id) == 1
    assert await observations(store) == [one, two]
    assert await claims(store) == {("name", "a")}
    with pytest.raises(AlreadyAnsweredError):
        await store.append(append(side_writes=beside, answer=ANSWER))


async def test_rows_in_bulk_are_written_with_other_rows(store: EventStore):
    await store.append(append(side_writes=[bulk(observed(1)), CLAIMS.insert(NAMED), Lock("tree")]))
    assert await observations(store) == [observed(1)]
    assert await claims(store) == {("name", "a")}


@pytest.mark.parametrize("lock", [(), (Lock("tree"),)])
async def test_rows_in_bulk_are_not_written_where_a_stream_has_moved(
    store: EventStore, lock: tuple[Lock, ...]
):
    id = await an_actor(store, 2)
    for late in (at(1, registered(id)), at(2, updated(id)), at(4, updated(id))):
        with pytest.raises(MovedError):
            await store.append(append(late, side_writes=[bulk(observed(1)), *lock], answer=ANSWER))
    new, read = at(1, registered(uuid7())), {("Actor", id): 1}
    with pytest.raises(MovedError):
        await store.append(append(new, read=read, side_writes=[bulk(observed(1)), *lock]))
    assert await observations(store) == []
    await store.append(append(at(3, updated(id)), side_writes=[bulk(observed(1))], answer=ANSWER))
    assert await observations(store) == [observed(1)]


async def test_no_event_is_written_where_rows_in_bulk_are_stored_already(store: EventStore):
    await store.append(append(side_writes=[bulk(observed(1))]))
    id, beside = uuid7(), [CLAIMS.insert(NAMED), bulk(observed(1), observed(2))]
    with pytest.raises(RowsStoredError) as found:
        await store.append(append(at(1, registered(id)), side_writes=beside, answer=ANSWER))
    assert found.value.under == {UUID(int=1): RUN}
    assert await count(store, id) == 0
    assert await claims(store) == set()
    assert await observations(store) == [observed(1)]
    await an_actor(store, answer=ANSWER)


@pytest.mark.parametrize("rows", [(), (observed(1),)])
async def test_a_key_that_is_taken_is_distinguished_from_a_key_that_is_answered(
    store: EventStore, rows: tuple[Observation, ...]
):
    await with_claims(store)
    taken = CLAIMS.insert(Claim("name", "b", ME), loser=ActorIdentityAlreadyBoundError)
    beside = [bulk(*rows), taken, CLAIMS.insert(Claim("name", "free", ME))]
    with pytest.raises(KeyTakenError) as error:
        await store.append(append(side_writes=beside if rows else beside[1:], answer=ANSWER))
    assert error.value.insert is taken
    assert await claims(store) == {("name", "a"), ("name", "b"), ("code", "a")}
    assert await observations(store) == []
    await store.append(append(answer=ANSWER))
    with pytest.raises(AlreadyAnsweredError):
        await store.append(append(side_writes=[taken], answer=ANSWER))


async def test_rows_alone_under_a_lock_fall_when_something_they_rest_on_has_moved(
    store: EventStore,
):
    id = await an_actor(store, 2)
    for parts in ([CLAIMS.insert(NAMED)], [bulk(observed(1))]):
        with pytest.raises(MovedError):
            await store.append(append(side_writes=[Lock("tree"), *parts], read={("Actor", id): 1}))
        await store.append(append(side_writes=[Lock("tree"), *parts], read={("Actor", id): 2}))
    assert await claims(store) == {("name", "a")}
    assert await observations(store) == [observed(1)]


# Reading


async def test_a_history_is_read_page_by_page(store: EventStore):
    id = await an_actor(store, 5)

    async def versions(after: int, limit: int) -> list[int]:
        return [e.recorded.version for e in await store.history(("Actor", id), after, limit)]

    assert await versions(0, 3) == [1, 2, 3]
    assert await versions(3, 3) == [4, 5]
    assert await versions(5, 3) == []
    assert await store.history(("Actor", uuid7()), 0, 10) == []


async def test_later_events_are_those_of_the_history_without_their_envelopes(store: EventStore):
    id = await an_actor(store, 5)
    for after, limit in ((0, 3), (3, 3), (5, 3)):
        history = await store.history(("Actor", id), after, limit)
        later = await store.later(("Actor", id), after, limit)
        assert [read(each) for each in later] == [read(each.recorded) for each in history]


async def test_a_history_tells_everything_known_of_an_event(store: EventStore):
    id = uuid7()
    new = at(1, registered(id))
    position = await store.append(append(new))
    (envelope,) = await store.history(("Actor", id), 0, 10)
    assert envelope.position == position.position
    assert (envelope.stream_type, envelope.stream_id) == ("Actor", id)
    assert read(envelope.recorded)[:3] == (1, "ActorRegistered", 1)
    assert envelope.event_id == new.event_id
    assert envelope.principal_id == ME
    assert (envelope.command_name, envelope.surface_id) == ("try_it", HTTP)
    assert (envelope.correlation_id, envelope.causation_id) == (UUID(int=7), UUID(int=8))
    assert envelope.occurred_at == NOW
    assert datetime.now(UTC) - envelope.recorded_at < timedelta(minutes=1)


async def test_rows_are_found_by_a_value_and_by_a_set_of_values(store: EventStore):
    await with_claims(store)

    async def keys(**where: object) -> list[tuple[str, str]]:
        return sorted((row.scope, row.key) for row in await store.rows(CLAIMS, where))

    assert await keys(scope="name") == [("name", "a"), ("name", "b")]
    assert await keys(scope="name", key="b") == [("name", "b")]
    assert await keys(scope={"name", "code"}, key=["a"]) == [("code", "a"), ("name", "a")]
    assert await keys(scope="name", key=()) == []
    assert await keys(scope="none") == []


async def test_a_row_comes_back_as_it_was_written(store: EventStore):
    me = uuid7()
    inside = grant(me, "define_zone", "get_zone", surface_id=None)
    await with_grants(store, inside)
    assert await store.rows(POLICY_GRANTS, {"principal_id": me}) == (inside,)


def denial(number: int, conduit_id: UUID = ENTRY, name: str = "define_zone") -> Denial:
    reason = DenialReason.NO_MATCHING_POLICY
    return Denial(UUID(int=number), conduit_id, None, ME, name, reason, UUID(int=7), NOW)


async def test_what_happened_is_found_by_type_time_and_owner(store: EventStore):
    now, other = datetime.now(UTC), uuid7()
    mine, theirs = uuid7(), uuid7()
    await store.append(append(at(1, registered(mine)), occurred_at=now))
    await store.append(append(at(1, registered(theirs)), occurred_at=now, principal_id=other))
    await store.append(append(at(2, updated(theirs)), occurred_at=now))

    async def found(since: float, until: float, sight: Sight | None, *types: str) -> list[str]:
        period = now + timedelta(seconds=since), now + timedelta(seconds=until)
        rows = await store.happened(types, *period, sight, 9)
        return [f"{name} {recorded[1]}" for name, recorded in rows]

    both = "ActorRegistered", "ActorProfileUpdated"
    assert await found(-1, 1, None, *both) == [
        "Actor ActorRegistered",
        "Actor ActorRegistered",
        "Actor ActorProfileUpdated",
    ]
    assert await found(-1, 1, Sight(other), *both) == [
        "Actor ActorRegistered",
        "Actor ActorProfileUpdated",
    ]
    assert await found(-1, 1, None, "ActorProfileUpdated") == ["Actor ActorProfileUpdated"]
    assert await found(-1, 0, None, *both) == []
    assert await found(0.001, 1, None, *both) == []


async def test_the_last_event_of_some_types_before_a_time_is_found(store: EventStore):
    now, first, second = datetime.now(UTC), uuid7(), uuid7()
    for hours, id, version in ((0, first, 1), (1, first, 2), (2, first, 3), (1, second, 1)):
        event = registered(id) if version == 1 else updated(id)
        await store.append(append(at(version, event), occurred_at=now + timedelta(hours=hours)))
    both = "ActorRegistered", "ActorProfileUpdated"

    async def found(hours: float, *types: str) -> dict[UUID, int]:
        streams = [("Actor", first), ("Actor", second), ("Actor", uuid7())]
        last = await store.latest(streams, types, now + timedelta(hours=hours))
        return {id: recorded[0] for (_, id), recorded in last.items()}

    assert await found(9, *both) == {first: 3, second: 1}
    assert await found(9, "ActorRegistered") == {first: 1, second: 1}
    assert await found(2, *both) == {first: 2, second: 1}
    assert await found(1, *both) == {first: 1}
    assert await found(0, *both) == {}
    assert await store.latest([], both, now) == {}


async def test_the_row_that_a_refusal_leaves_is_written_once(store: EventStore):
    def refused(code: str, seconds: int) -> RefusedStart:
        when = NOW + timedelta(seconds=seconds)
        return RefusedStart(UUID(int=1), ME, code, NOW, when, HTTP, UUID(int=7))

    for row in (refused("A", 1), refused("B", 2), refused("A", 3)):
        await store.record_refusal(REFUSED_STARTS.insert(row))
    by_time = RowQuery(
        {}, (("refused_at", "<", NOW + timedelta(days=1)),), ("refused_at",), False, ()
    )
    assert await store.entries(REFUSED_STARTS, by_time, 9) == (refused("A", 1), refused("B", 2))
    early = replace(by_time, compared=(("refused_at", ">=", NOW + timedelta(seconds=2)),))
    assert await store.entries(REFUSED_STARTS, early, 9) == (refused("B", 2),)


async def test_denials_are_read_newest_first(store: EventStore):
    for number in (2, 3, 1):
        await store.deny(denial(number))
    await store.deny(denial(4, seeded.INTERNAL))
    await store.deny(denial(5, name="get_zone"))

    async def found(before: int | None, limit: int, **where: object) -> list[int]:
        last = () if before is None else (UUID(int=before),)
        newest = RowQuery({"conduit_id": ENTRY} | where, (), ("denial_id",), True, last)
        rows = await store.entries(DENIALS, newest, limit)
        return [row.denial_id.int for row in rows]

    assert await found(None, 2) == [5, 3]
    assert await found(3, 9) == [2, 1]
    assert await found(1, 9) == []
    assert await found(None, 9, command_name="define_zone") == [3, 2, 1]
    internal = RowQuery({"conduit_id": seeded.INTERNAL}, (), ("denial_id",), True, ())
    assert await store.entries(DENIALS, internal, 9) == (denial(4, seeded.INTERNAL),)


async def found_entries(
    store: EventStore,
    *compared: tuple[str, str, datetime],
    after: tuple[datetime, int] | None = None,
    newest_first: bool = False,
    limit: int = 9,
    **where: object,
) -> list[int]:
    by, last = ("sampled_at", "observation_id"), ()
    if after:
        last = (after[0], UUID(int=after[1]))
    list_filter = RowQuery({"run_id": RUN} | where, compared, by, newest_first, last)
    rows = await store.entries(OBSERVATIONS, list_filter, limit)
    return [row.observation_id.int for row in rows]


async def with_observations(store: EventStore) -> tuple[datetime, datetime]:
    """Four of one run, of which two were sampled at the same time, and one of another."""
    of_run = [observed(3), observed(2, hours=1), observed(1, hours=1), observed(4, hours=2)]
    of_run[3] = replace(of_run[3], channel_name="current", simulated=True)
    await store.append(append(side_writes=[bulk(*of_run, observed(5, OTHER_RUN))]))
    return NOW + timedelta(hours=1), NOW + timedelta(hours=2)


async def test_entries_are_read_in_the_order_of_several_columns(store: EventStore):
    await with_observations(store)
    assert await found_entries(store) == [3, 1, 2, 4]
    assert await found_entries(store, newest_first=True) == [4, 2, 1, 3]


async def test_entries_are_read_page_by_page_between_those_of_one_moment(store: EventStore):
    then, last = await with_observations(store)
    assert await found_entries(store, limit=2) == [3, 1]
    assert await found_entries(store, after=(then, 1)) == [2, 4]
    assert await found_entries(store, after=(last, 4)) == []
    assert await found_entries(store, after=(then, 2), newest_first=True) == [1, 3]


async def test_entries_are_compared_and_narrowed(store: EventStore):
    then, last = await with_observations(store)
    since, until = ("sampled_at", ">=", then), ("sampled_at", "<", last)
    assert await found_entries(store, since) == [1, 2, 4]
    assert await found_entries(store, until) == [3, 1, 2]
    assert await found_entries(store, since, until, after=(then, 1)) == [2]
    assert await found_entries(store, ("sampled_at", "<=", then)) == [3, 1, 2]
    assert await found_entries(store, channel_name="current", simulated=True) == [4]
    assert await found_entries(store, since, simulated=False) == [1, 2]


async def test_the_last_entry_of_each_object_is_found_by_one_statement(store: EventStore):
    await with_observations(store)
    found = await store.last(OBSERVATIONS, "run_id", "sampled_at", [RUN, OTHER_RUN, uuid7()])
    assert {row.run_id: row.observation_id.int for row in found} == {RUN: 4, OTHER_RUN: 5}
    assert await store.last(OBSERVATIONS, "run_id", "sampled_at", []) == ()


async def test_one_task_at_a_time_is_alone_with_a_piece_of_work(store: EventStore):
    inside, left, order = asyncio.Event(), asyncio.Event(), list[str]()

    async def first() -> None:
        async with store.alone("work"):
            inside.set()
            await left.wait()
            order.append("first")

    async def second() -> None:
        await inside.wait()
        async with store.alone("work"):
            order.append("second")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first())
        tasks.create_task(second())
        await inside.wait()
        async with store.alone("other work"):
            order.append("other")
        left.set()
    assert order == ["other", "first", "second"]


async def test_commands_on_a_stream_are_at_it_together_while_nobody_loses(store: EventStore):
    stream = "Actor", uuid7()
    async with (
        store.wait_turn(stream),
        store.wait_turn(stream),
        store.wait_turn(None),
        store.wait_turn(None),
    ):
        pass


async def test_once_one_has_lost_commands_on_a_stream_take_turns(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_queues, "CONTENTION_SECONDS", 60.0)
    inside, left, order = asyncio.Event(), asyncio.Event(), list[str]()
    stream = "Actor", uuid7()
    await lose(store, stream)

    async def first() -> None:
        async with store.wait_turn(stream):
            inside.set()
            await left.wait()
            order.append("first")

    async def then(name: str) -> None:
        async with store.wait_turn(stream):
            order.append(name)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first())
        await inside.wait()
        tasks.create_task(then("second"))
        tasks.create_task(then("third"))
        async with store.wait_turn(("Actor", uuid7())), store.wait_turn(None):
            order.append("other")
        left.set()
    assert order == ["other", "first", "second", "third"]


async def test_a_turn_ends_however_its_command_ends(store: EventStore):
    stream = "Actor", uuid7()
    for error in (MovedError, StoreUnavailableError, asyncio.CancelledError):
        await lose(store, stream)
        with pytest.raises(error):
            async with store.wait_turn(stream):
                raise error
    async with asyncio.timeout(2), store.wait_turn(stream):
        pass


async def test_a_writer_that_leaves_while_waiting_for_its_turn_keeps_nobody_waiting(
    store: EventStore,
):
    stream = "Actor", uuid7()
    await lose(store, stream)
    async with store.wait_turn(stream):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), store.wait_turn(stream):
                pass
    async with asyncio.timeout(2), store.wait_turn(stream):
        pass


async def test_a_writer_that_waited_long_for_its_turn_continues_without(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_queues, "WAIT_TIMEOUT", 0.01)
    stream = "Actor", uuid7()
    await lose(store, stream)
    async with store.wait_turn(stream), store.wait_turn(stream):
        pass


async def test_turns_are_not_taken_any_more_when_nobody_waited_for_a_while(
    store: EventStore, monkeypatch: pytest.MonkeyPatch
):
    stream, other = ("Actor", uuid7()), ("Actor", uuid7())
    monkeypatch.setattr(stream_queues, "CONTENTION_SECONDS", -1.0)
    await lose(store, stream)
    await lose(store, other)
    async with (
        store.wait_turn(stream),
        store.wait_turn(stream),
        store.wait_turn(other),
        store.wait_turn(other),
    ):
        pass


async def lose(store: EventStore, stream: Stream) -> None:
    with pytest.raises(MovedError):
        async with store.wait_turn(stream):
            raise MovedError


# Lists


VIEWS: dict[str, View[Any]] = {view.name: view for view in CATALOGUE.views}


async def listed(
    hosted: Hosted,
    *facets: str,
    name: str = "actor",
    sight: Sight | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[UUID]:
    await hosted.catch_up()
    page = ListPage(limit, after)
    rows = await hosted.lists.listing(VIEWS[name], ListFilter(NOW, facets), sight, page)
    return [row.id for row in rows]


async def test_a_list_shows_each_aggregate_as_it_is_by_age(hosted: Hosted):
    ids = [await an_actor(hosted.store) for _ in range(3)]
    await hosted.store.append(append(at(2, ActorDeactivated(NOW, ids[1]))))
    assert await listed(hosted) == ids
    rows = await hosted.lists.listing(VIEWS["actor"], ListFilter(NOW), None, ListPage(10))
    assert json.loads(rows[1][1]) == {
        "actor_id": str(ids[1]),
        "kind": "human",
        "active": False,
        "owner_id": str(ME),
        "created_at": "2030-01-01T12:30:15.123456Z",
        "deactivated_at": "2030-01-01T12:30:15.123456Z",
        "unconfirmed_logins": [],
    }


async def test_a_list_is_narrowed_by_all_its_facets(hosted: Hosted):
    one, two = [await an_actor(hosted.store) for _ in range(2)]
    await hosted.store.append(append(at(2, ActorDeactivated(NOW, one))))
    assert await listed(hosted, "active=true") == [two]
    assert await listed(hosted, "active=false", "kind=human") == [one]
    assert await listed(hosted, "active=false", "kind=agent") == []


async def sought_in(
    hosted: Hosted, name: str, after: UUID | None = None, **asked: Any
) -> list[UUID]:
    await hosted.catch_up()
    given: dict[str, Any] = {"now": NOW, **asked}
    list_filter = ListFilter(**given)
    rows = await hosted.lists.listing(VIEWS[name], list_filter, None, ListPage(100, after))
    return [row.id for row in rows]


async def some_actors(hosted: Hosted) -> tuple[UUID, UUID, UUID]:
    """A person, an agent an hour later, and a person who left after two."""
    ids = uuid7(), uuid7(), uuid7()
    person, agent, gone = ids
    for id, kind, hours in (
        (person, ActorKind.HUMAN, 0),
        (agent, ActorKind.AGENT, 1),
        (gone, ActorKind.HUMAN, 1),
    ):
        event = ActorRegistered(NOW + timedelta(hours=hours), id, kind)
        await hosted.store.append(append(at(1, event)))
    left = ActorDeactivated(NOW + timedelta(hours=2), gone)
    await hosted.store.append(append(at(2, left)))
    return ids


async def test_a_list_is_narrowed_to_those_with_one_of_each_group(hosted: Hosted):
    person, agent, gone = await some_actors(hosted)
    either, active = ("kind=agent", "kind=human"), ("active=true",)
    assert await sought_in(hosted, "actor", groups=(either,)) == [person, agent, gone]
    assert await sought_in(hosted, "actor", groups=(either, active)) == [person, agent]
    assert await sought_in(hosted, "actor", groups=(("kind=agent", "active=false"),)) == [
        agent,
        gone,
    ]
    assert await sought_in(hosted, "actor", every=("kind=human",), groups=(active,)) == [person]


async def test_a_group_of_nothing_is_had_by_nobody(hosted: Hosted):
    await some_actors(hosted)
    assert await sought_in(hosted, "actor", groups=((),)) == []


async def test_a_list_leaves_out_those_with_any_that_is_not_wanted(hosted: Hosted):
    person, agent, gone = await some_actors(hosted)
    assert await sought_in(hosted, "actor", none=("active=false",)) == [person, agent]
    assert await sought_in(hosted, "actor", none=("active=false", "kind=agent")) == [person]
    assert await sought_in(hosted, "actor", every=("kind=human",), none=("kind=human",)) == []
    assert await sought_in(hosted, "actor", none=("kind=robot",)) == [person, agent, gone]


async def test_a_list_is_narrowed_by_times_to_the_microsecond(hosted: Hosted):
    person, agent, gone = await some_actors(hosted)
    then, moment = NOW + timedelta(hours=1), timedelta(microseconds=1)

    async def found(*compared: tuple[str, str, datetime], **more: Any) -> list[UUID]:
        return await sought_in(hosted, "actor", compared=compared, **more)

    assert await found(("created_at", ">=", then)) == [agent, gone]
    assert await found(("created_at", ">=", then + moment)) == []
    assert await found(("created_at", "<", then)) == [person]
    assert await found(("created_at", "<", then + moment)) == [person, agent, gone]
    assert await found(("created_at", "<=", then)) == [person, agent, gone]
    assert await found(("created_at", ">=", then), ("created_at", "<=", then), after=agent) == [
        gone
    ]


async def test_a_time_that_has_not_come_is_neither_before_nor_after(hosted: Hosted):
    _, _, gone = await some_actors(hosted)
    for how in (">=", "<", "<="):
        compared = (("deactivated_at", how, NOW + timedelta(hours=2)),)
        expected = [] if how == "<" else [gone]
        assert await sought_in(hosted, "actor", compared=compared) == expected


async def test_all_that_is_asked_for_holds_at_once(hosted: Hosted):
    person, agent, gone = await some_actors(hosted)
    asked: dict[str, Any] = {
        "groups": (("kind=agent", "kind=human"),),
        "none": ("active=false",),
        "compared": (("created_at", ">=", NOW),),
    }
    assert await sought_in(hosted, "actor", **asked) == [person, agent]
    assert await sought_in(hosted, "actor", **asked, after=person) == [agent]
    assert await sought_in(hosted, "actor", **asked, every=("kind=human",)) == [person]
    assert gone not in await sought_in(hosted, "actor", **asked)


async def a_visit(hosted: Hosted, *, cancelled: bool = False) -> UUID:
    """A visit planned from an hour from now until two hours from now."""
    id, hour = uuid7(), timedelta(hours=1)
    staff, where = VisitType.STAFF, (uuid7(), HTTP)
    planned = VisitRegistered(NOW, id, *where, staff, NOW + hour, NOW + 2 * hour, None, {})
    await hosted.store.append(append(at(1, planned)))
    if cancelled:
        await hosted.store.append(append(at(2, VisitCancelled(NOW, id, "beam lost"))))
    return id


async def test_what_holds_for_a_time_holds_from_its_first_moment_until_its_last(hosted: Hosted):
    id, cancelled = await a_visit(hosted), await a_visit(hosted, cancelled=True)
    during = Period("during", "Planned", "planned_start_at", "planned_end_at")
    hour, moment = timedelta(hours=1), timedelta(microseconds=1)
    for after, holds in (
        (hour - moment, False),
        (hour, True),
        (2 * hour - moment, True),
        (2 * hour, False),
    ):
        now = NOW + after
        found = await sought_in(hosted, "visit", now=now, period=(during, True))
        assert found == ([id] if holds else [])
        found = await sought_in(hosted, "visit", now=now, period=(during, False))
        assert found == ([cancelled] if holds else [id, cancelled])


async def test_what_has_no_first_or_no_last_moment_is_open_on_that_side(hosted: Hosted):
    id = await a_visit(hosted)
    long_ago, far_ahead = NOW - timedelta(days=9999), NOW + timedelta(days=9999)
    for since, until in ((None, "ended_at"), ("arrived_at", "ended_at")):
        period = Period("open", "Planned", since, until), True
        assert await sought_in(hosted, "visit", now=long_ago, period=period) == [id]
        assert await sought_in(hosted, "visit", now=far_ahead, period=period) == [id]


async def test_a_list_shows_only_the_owners_where_one_is_named(hosted: Hosted):
    mine, zone = await an_actor(hosted.store), uuid7()
    other = await an_actor(hosted.store, principal_id=uuid7())
    await hosted.store.append(append(at(1, ZoneDefined(NOW, zone, "Hutch"))))
    assert await listed(hosted, sight=Sight(ME)) == [mine]
    assert await listed(hosted, sight=Sight(other)) == [other], "an actor is its own"
    assert await listed(hosted, "kind=human", sight=Sight(ME)) == [mine]
    assert await listed(hosted, name="zone", sight=Sight(ME)) == [zone]
    assert await listed(hosted, name="zone", sight=Sight(zone)) == [], "a zone is not"


async def test_a_list_is_read_from_its_newest_end(hosted: Hosted):
    ids = [await an_actor(hosted.store) for _ in range(4)]
    await hosted.catch_up()

    async def found(*facets: str, after: UUID | None = None, limit: int = 10) -> list[UUID]:
        page = ListPage(limit, after, newest_first=True)
        rows = await hosted.lists.listing(VIEWS["actor"], ListFilter(NOW, facets), Sight(ME), page)
        return [row.id for row in rows]

    assert await found() == ids[::-1]
    assert await found(limit=2) == [ids[3], ids[2]]
    assert await found(after=ids[2]) == [ids[1], ids[0]]
    assert await found("kind=human", "active=true", after=ids[1]) == [ids[0]]
    assert await found(after=ids[0]) == []


async def test_the_ids_of_a_list_are_read_without_its_rows(hosted: Hosted):
    ids = [await an_actor(hosted.store) for _ in range(3)]
    await hosted.catch_up()
    for facets in (), ("kind=human",), ("kind=human", "active=true"):
        page = ListPage(2, ids_only=True)
        rows = await hosted.lists.listing(VIEWS["actor"], ListFilter(NOW, facets), None, page)
        assert [row.id for row in rows] == ids[:2]


def id_at(time: datetime) -> UUID:
    """An id that was made at this time."""
    return UUID(int=int(time.timestamp() * 1000) << 80 | uuid7().int % 2**80)


async def test_a_list_is_narrowed_by_the_time_of_creation(hosted: Hosted):
    days = [NOW + timedelta(days=n) for n in range(4)]
    ids = [id_at(day) for day in days]
    for id, day in zip(ids, days, strict=True):
        await hosted.store.append(append(at(1, ZoneDefined(day, id, "Hutch"))))
    moment = timedelta(microseconds=1)

    async def found(*created: tuple[str, datetime], **more: Any) -> list[UUID]:
        return await sought_in(hosted, "zone", created=created, **more)

    assert await found((">=", days[1])) == ids[1:]
    assert await found((">=", days[1] + moment)) == ids[2:]
    assert await found(("<", days[1])) == ids[:1]
    assert await found((">=", days[1]), ("<", days[3])) == ids[1:3]
    assert await found((">=", days[1]), every=("name=hutch",), after=ids[1]) == ids[2:]
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 11, 30, tzinfo=UTC)
    assert await found((">=", first), ("<", last)) == ids


async def test_a_list_is_narrowed_by_a_name_without_case_and_accents(hosted: Hosted):
    ids = {name: uuid7() for name in ("Hutch", "HÜTCH", "Hutch 2")}
    for name, id in ids.items():
        await hosted.store.append(append(at(1, ZoneDefined(NOW, id, name))))
    assert await listed(hosted, "name=hutch", name="zone") == [ids["Hutch"], ids["HÜTCH"]]


async def test_a_list_is_narrowed_by_an_owner_that_a_filter_names(hosted: Hosted):
    mine, stranger = await an_actor(hosted.store), uuid7()
    other = await an_actor(hosted.store, principal_id=stranger)
    assert await sought_in(hosted, "actor", owner_id=ME) == [mine]
    assert await sought_in(hosted, "actor", owner_id=stranger) == [other]
    assert await sought_in(hosted, "actor", owner_id=other) == [], "the filter is about who made it"
    await hosted.catch_up()
    of_stranger = ListFilter(NOW, owner_id=stranger)
    assert not await hosted.lists.listing(VIEWS["actor"], of_stranger, Sight(ME), ListPage(10))


async def test_a_list_is_read_page_by_page(hosted: Hosted):
    ids = [await an_actor(hosted.store) for _ in range(5)]
    assert await listed(hosted, limit=2) == ids[:2]
    assert await listed(hosted, after=ids[1], limit=2) == ids[2:4]
    assert await listed(hosted, "kind=human", after=ids[2], sight=Sight(ME)) == ids[3:]
    assert await listed(hosted, after=ids[4]) == []


async def test_a_list_follows_what_was_written_and_not_what_was_not(hosted: Hosted):
    id = uuid7()
    position = await hosted.store.append(append(at(1, registered(id))))
    await hosted.catch_up()
    assert await hosted.lists.follows([VIEWS["actor"]], position)
    assert await hosted.lists.follows([VIEWS["zone"]], position), "of other streams too"
    assert await hosted.lists.follows([VIEWS["actor"]], BEGINNING)


async def test_positions_are_distinct_within_one_append(hosted: Hosted):
    id = uuid7()
    last = await hosted.store.append(append(at(1, registered(id)), at(2, updated(id))))
    first, second = await hosted.store.history(("Actor", id), 0, 10)
    assert (first.position, second.position) == (last.position - 1, last.position)
