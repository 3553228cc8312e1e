"""Checks of one simulated run: that what is stored, listed and answered agrees."""

from collections import defaultdict
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

import msgspec

from beamkeep.contexts.access.actor import (
    ActorDeactivated,
    ActorIdentityBound,
    ActorIdentityUnbound,
    ActorProfileForgotten,
    actors,
)
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import grant_to, policies
from beamkeep.contexts.trust.visit import visits
from beamkeep.deployment.seeding import LOCAL_FACTS, NO_READERS
from beamkeep.feed.lists.rows import RowFold
from beamkeep.kernel import (
    Call,
    Event,
    Operation,
    Outcome,
    Question,
    Refusal,
    Standing,
    SurfaceKind,
    View,
)
from beamkeep.kernel import Table as KernelTable
from beamkeep.runtime.codec import encode, shown
from beamkeep.runtime.parsing import parse
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import EventStore, LoadedStream, ReadModel, StoredEvent, Stream
from beamkeep.testing.installation import ISSUER
from tests.faults.simulation import CODEC, Attempt, End, Look, Run
from tests.support.memory_postgres import MemoryPostgres, Stored

FOLDS = {view.name: RowFold(view, CODEC) for view in CATALOGUE.views}
NOT_YET = {
    "StoreUnavailableError",
    "IdempotencyInFlightError",
    "ConcurrencyError",
    # Whoever has lost a right has lost it for repetitions too.
    "UnauthorizedError",
    "InvalidTokenError",
    "UnregisteredLoginError",
    # The key of another request.
    "IdempotencyConflictError",
}


def audit(run: Run) -> list[str]:
    """Everything that is not as it must be, in words; nothing when all is well."""
    log = run.database.log()
    faults = [*run.broken, *_order(log)]
    if not faults:
        # Nothing else can be told of streams that are broken.
        faults += _history(run, log)
        faults += _keys(run, log)
        faults += _decisions(run, log)
        faults += _beside(run.database)
        faults += _lists(run.database, log)
        faults += _snapshots(run.database)
        faults += [fault for look in run.looks for fault in _look(run.database, look)]
    return [a.refusal or "" for a in run.attempts if a.end is End.LEAKED] + faults


def _order(log: Sequence[Stored]) -> Iterator[str]:
    """In the order of the tail, the versions of a stream are 1, 2, 3, …"""
    streams: dict[Stream, list[int]] = defaultdict(list)
    for event in log:
        streams[event.stream].append(event.version)
    for (kind, _), versions in streams.items():
        if versions != [*range(1, len(versions) + 1)]:
            yield f"order: the tail has versions {versions} of one {kind}"


def _history(run: Run, log: Sequence[Stored]) -> Iterator[str]:
    """What was acknowledged is there once and whole; what was refused is not there."""
    written: dict[UUID, list[Stored]] = defaultdict(list)
    for event in log:
        written[event.correlation_id].append(event)
    known = {a.correlation_id for a in run.attempts}
    for attempt in run.attempts:
        name, events = attempt.call.name, written.get(attempt.correlation_id, [])
        answered = attempt.answered
        if len({e.place[0] for e in events}) > 1:
            yield f"doubled: {name} was written in two transactions"
        elif attempt.end is End.REFUSED and events:
            yield f"written though refused: {name} ({attempt.refusal})"
        elif answered and (answered.replayed or attempt.call.dry_run):
            if events:
                yield f"written though it was a repetition or a dry run: {name}"
        elif answered and not events:
            yield f"lost: {name} was acknowledged"
        elif answered:
            of_target = [e.version for e in events if e.stream[1] == answered.id]
            if (answered.version, answered.token) != (max(of_target), events[-1].place):
                yield f"misnumbered: {name}"
        released = [e for e in events if '"taken_by_visit_id":"' in e.payload]
        if len({e.stream for e in events}) != (2 if released else 1) and events:
            yield f"torn: {name} wrote {[e.event_type for e in events]}"
    for event in log[run.beginning :]:
        if event.correlation_id not in known:
            yield f"unaccounted: {event.event_type}"


def _keys(run: Run, log: Sequence[Stored]) -> Iterator[str]:
    """Of all attempts with one key, one has an effect, and all have its answer."""
    by_key: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in run.attempts:
        if attempt.call.key and not attempt.call.dry_run:
            by_key[attempt.call.subject, attempt.call.key].append(attempt)
    written = {event.correlation_id for event in log}
    for (_, key), attempts in by_key.items():
        effects = sum(a.correlation_id in written for a in attempts)
        given = [a.answered for a in attempts if a.answered]
        answers = {(a.status, a.body, a.version, a.token) for a in given}
        name = attempts[0].call.name
        if effects > 1:
            yield f"doubled: {name} with key {key} had {effects} effects"
        if len(answers) > 1:
            yield f"answers: {name} with key {key} had {len(answers)}"
        if answers and not effects:
            yield f"lost: {name} with key {key} was acknowledged"
        first = min((n for n, a in enumerate(attempts) if a.answered), default=None)
        if first is not None:
            told = run.attempts.index(attempts[first])
            for a in attempts[first + 1 :]:
                if a.order > told and a.end is End.REFUSED and a.refusal not in NOT_YET:
                    yield f"answers: {name} was acknowledged and then refused ({a.refusal})"


class _Snapshot:
    """What a rule may read, as it was for one transaction."""

    def __init__(self, database: MemoryPostgres, at: int) -> None:
        self._database, self._at = database, at

    def recorded(self, stream: Stream) -> list[StoredEvent]:
        return [StoredEvent(*e.recorded) for e in self._database.events(stream, self._at)]

    async def load(
        self, streams: Sequence[Stream], folds: Mapping[str, UUID]
    ) -> Mapping[Stream, LoadedStream]:
        return {
            stream: LoadedStream(events) for stream in streams if (events := self.recorded(stream))
        }

    async def rows[R](self, table: KernelTable[R], where: Mapping[str, object]) -> tuple[R, ...]:
        list_filter = [(name, _among(value)) for name, value in where.items()]
        found = self._database.selected(table.name, list_filter, self._at)
        return tuple(msgspec.convert(row, table.row) for row in found)


def _among(value: object) -> list[object]:
    several = isinstance(value, set | frozenset)
    return [*cast("Iterable[object]", value)] if several else [value]


def _decisions(run: Run, log: Sequence[Stored]) -> Iterator[str]:
    """Each decision, taken again on what its append could see, is the same; so is the permission.

    None is then taken on something that had moved before it was written.
    """
    by_correlation = {a.correlation_id: a for a in run.attempts}
    written: dict[UUID, list[Stored]] = defaultdict(list)
    for event in log[run.beginning :]:
        written[event.correlation_id].append(event)
    for correlation_id, events in written.items():
        attempt = by_correlation[correlation_id]
        name, first = attempt.call.name, events[0]
        try:
            again = _result(_decided_again(run.database, attempt, events))
        except Refusal as refused:
            yield f"stale: {name} would have been refused ({type(refused).__name__})"
            continue
        if again != [(e.stream, e.event_type, e.payload) for e in events]:
            yield f"stale: {name} would have written {again}"
        if not _permitted(run.database, first.principal_id, name, attempt.began, first.by.snapshot):
            yield f"unauthorized: {name}"


async def _decided_again(
    database: MemoryPostgres, attempt: Attempt, events: Sequence[Stored]
) -> list[tuple[Stream, str, str]]:
    operation, first = CATALOGUE.named[attempt.call.name], events[0]
    assert isinstance(operation, Operation)
    of, snapshot = operation.aggregate, _Snapshot(database, first.by.snapshot)
    store = cast("EventStore", snapshot)
    then = first.occurred_at
    lists = cast("ReadModel", None)
    session = Session(store, lists, CODEC, CATALOGUE, LOCAL_FACTS, NO_READERS, lambda: then)
    session.principal_id = first.principal_id
    command = parse(operation.command, attempt.call.arguments)
    given: list[Any] = [command]
    if not operation.genesis:
        id = getattr(command, of.id_field)
        loaded = LoadedStream(snapshot.recorded((of.name, id)))
        given.insert(0, await session.adopt(of, id, loaded))
    if operation.given:
        given.append(await operation.given(*given, session))
    (standing,) = [s for s in database.rows("principal_standing") if _is(s, first.principal_id)]
    kind = msgspec.convert(standing, Standing).kind
    call = Call(first.principal_id, kind, first.occurred_at, first.stream[1])
    outcome = cast("Outcome", operation.rule(*given, call))
    encoded = [
        CODEC.encode(event, 1, first.event_id) for event in outcome if isinstance(event, Event)
    ]
    return [(new.stream, new.event_type, new.payload.decode()) for new in encoded]


def _is(standing: Mapping[str, str], id: UUID) -> bool:
    return standing["principal_id"] == str(id)


def _permitted(database: MemoryPostgres, id: UUID, name: str, began: int, wrote: int) -> bool:
    """Whether a grant was there at some time between the beginning of a call and its append."""
    surface_id = str(seeded.SURFACES[SurfaceKind.HTTP])
    return any(
        version.by.seen_by(wrote)
        and not (version.gone and version.gone.seen_by(began))
        and {name, "*"} & {*version.row["permitted_commands"]}
        for versions in database.table("policy_grant").values()
        for version in versions
        if (version.row["principal_id"], version.row["surface_id"]) == (str(id), surface_id)
    )


def _beside(database: MemoryPostgres) -> Iterator[str]:
    """The rows beside the streams are those that a replay of the streams makes."""
    grants: set[tuple[object, ...]] = set()
    controls: set[tuple[str, str]] = set()
    barred: dict[str, bool] = {}
    forgotten: set[str] = set()
    bound: dict[str, int] = {}
    for stream in database.streams:
        events = [StoredEvent(*event.recorded) for event in database.events(stream)]
        kind, id = stream[0], str(stream[1])
        if kind == policies.name and (policy := CODEC.fold(policies, events)):
            for principal in policy.permitted_principal_ids:
                grants.add(tuple(_plain(grant_to(policy, principal)).values()))
        elif kind == visits.name and (visit := CODEC.fold(visits, events)) and visit.controlling:
            controls.add((str(visit.parent_surface_id), id))
        elif kind == actors.name and events:
            happened = [type(event) for event in CODEC.decode(kind, events)]
            barred[id] = ActorDeactivated in happened
            forgotten |= {id} if ActorProfileForgotten in happened else set()
            bound[id] = happened.count(ActorIdentityBound) - happened.count(ActorIdentityUnbound)
    kept = {tuple(_plain(row).values()) for row in database.rows("policy_grant")}
    if kept != grants:
        yield f"beside: {len(kept ^ grants)} grants differ from the policies"
    held = {(row["surface_id"], row["visit_id"]) for row in database.rows("surface_control")}
    if held != controls:
        yield f"beside: {len(held ^ controls)} surfaces are held otherwise than the visits say"
    standings = database.rows("principal_standing")
    if {row["principal_id"]: row["barred"] is not None for row in standings} != barred:
        yield "beside: standings differ from the actors"
    profiles = {row["actor_id"] for row in database.rows("actor_profile")}
    if profiles != barred.keys() - forgotten:
        yield "beside: profiles differ from the actors"
    logins = [row["actor_id"] for row in database.rows("actor_identity")]
    if forgotten & {*logins}:
        yield "beside: a forgotten actor has a login"
    # One more is what an actor was registered with; the event does not say.
    for id, count in bound.items():
        if id not in forgotten and not count <= logins.count(id) <= count + 1:
            yield f"beside: an actor has {logins.count(id)} logins, not {count}"
    if any(row["issuer"] != ISSUER for row in database.rows("actor_identity")):
        yield "beside: a login of nobody's"


def _plain(row: Any) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(row)
    sets = ("permitted_commands", "proposable_commands")
    return built | {name: tuple(built[name]) for name in sets}


def _lists(database: MemoryPostgres, log: Sequence[Stored]) -> Iterator[str]:
    """The lists are, byte for byte, a fresh fold of the log."""
    streams: dict[Stream, list[Stored]] = defaultdict(list)
    for event in log:
        streams[event.stream].append(event)
    for view in CATALOGUE.views:
        fold, folded = FOLDS[view.name], dict[UUID, tuple[object, ...]]()
        for (kind, id), events in streams.items():
            if kind == view.aggregate.name:
                first = events[0].principal_id
                row = fold.after(None, [StoredEvent(*e.recorded) for e in events], first)
                facets = sorted(view.facets_of(row.state))
                folded[id] = row.version, row.owner_id, facets, fold.dump(row).decode()
        stored = {
            row["id"]: (row["version"], row["owner_id"], row["facets"], row["row"])
            for row in database.rows(f"proj.{view.name}")
        }
        if stored != folded:
            different = sum(
                stored.get(id) != folded.get(id) for id in stored.keys() | folded.keys()
            )
            yield f"lists: {different} rows of {view.name} differ from a fresh fold"


def _snapshots(database: MemoryPostgres) -> Iterator[str]:
    """Every snapshot is the full fold of its stream at its version, byte for byte."""
    for row in database.rows("snapshots"):
        kind, version = row["stream"][0], row["version"]
        events = [StoredEvent(*event.recorded) for event in database.events(row["stream"])]
        if not 1 <= version <= len(events):
            yield f"snapshots: one of a {kind} is at version {version} of {len(events)}"
            continue
        folded = CODEC.fold(CATALOGUE.aggregates[kind], events[:version])
        if CODEC.snapshot(folded, version).state.decode() != row["state"]:
            yield f"snapshots: one of a {kind} differs from the full fold at version {version}"


def _look(database: MemoryPostgres, look: Look) -> Iterator[str]:
    """What a question showed is a beginning of the stream, and no older than what was known."""
    question = CATALOGUE.named[look.name]
    assert isinstance(question, Question)
    of = question.aggregate
    answer: dict[str, Any] = msgspec.json.decode(look.found.body)
    if look.stream is None:
        view = next(v for v in CATALOGUE.views if v.listing is question.query)
        listed = {UUID(item[of.id_field]): item for item in answer["items"]}
        for (kind, id), version in look.least.items():
            if kind == of.name and id not in listed:
                yield f"look: {look.name} lacks a {kind} at version {version}"
        for id, item in listed.items():
            least = look.least.get((of.name, id), 1)
            if item not in _rows(database, view, id)[least - 1 :]:
                yield f"look: {look.name} shows what never was, or is too old"
        return
    events = [StoredEvent(*event.recorded) for event in database.events(look.stream)]
    if look.name.endswith("_history"):
        versions = [(i["version"], i["event_type"]) for i in answer["items"]]
        if versions != [event[:2] for event in events[: len(versions)]]:
            yield f"look: {look.name} shows no beginning of the stream"
        shown_version = len(versions)
    else:
        shown_version = look.found.version or 0
        owner = database.events(look.stream)[0].principal_id
        state = CODEC.fold(of, events[:shown_version])
        if state is None or encode(shown(of, state, owner)) != look.found.body:
            yield f"look: {look.name} shows what never was"
    if shown_version < look.least.get(look.stream, 0):
        yield f"look: {look.name} shows an older version than was known"


def _rows(database: MemoryPostgres, view: View[Any], id: UUID) -> list[Any]:
    """A list's row as it was after each event of its stream."""
    fold = FOLDS[view.name]
    stored = database.events((view.aggregate.name, id))
    events = [StoredEvent(*event.recorded) for event in stored]
    return [
        msgspec.json.decode(fold.dump(fold.after(None, events[:n], stored[0].principal_id)))
        for n in range(1, len(events) + 1)
    ]


def _result[T](reading: Coroutine[Any, Any, T]) -> T:
    """What a read in memory finds: it never waits."""
    try:
        reading.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the read waits for something")
