"""The event store and its lists in memory, for fast tests."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from operator import attrgetter, gt, lt
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw

from beamkeep.adapters.call_memory import CallMemory
from beamkeep.adapters.stream_queues import StreamQueues
from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, TEAM_MEMBERS
from beamkeep.feed.lists.rows import RowFold
from beamkeep.feed.tail import TailEvent
from beamkeep.kernel import (
    DENIALS,
    EVERY_COMMAND,
    WORK,
    Delete,
    Denial,
    Fenced,
    Grant,
    Insert,
    Lock,
    ObjectScope,
    Record,
    Replace,
    Rows,
    SideWrite,
    Sight,
    Standing,
    Table,
    Upsert,
    View,
    Work,
    replace,
)
from beamkeep.runtime.answers import EVIDENCE, AnswerEvidence
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import (
    BEGINNING,
    READ_AT_ONCE,
    AlreadyAnsweredError,
    Append,
    CallContext,
    CallLookup,
    DuplicateEventError,
    Envelope,
    KeyTakenError,
    ListFilter,
    ListPage,
    ListRow,
    LoadedStream,
    Memory,
    MovedError,
    NewSnapshot,
    Position,
    RowQuery,
    RowsStoredError,
    Snapshot,
    StoredAnswer,
    StoredEvent,
    Stream,
    WorkLostError,
)

from .filtering import COMPARISONS, fits


class StoredWork(Work):
    """A row of durable work with all its columns."""

    created_at: datetime
    due_at: datetime
    claim: int = 0
    owner: UUID | None = None
    beat_at: datetime | None = None
    idle_claims: int = 0
    stop: str | None = None
    last_error: str | None = None
    ended_at: datetime | None = None
    overdue: timedelta = timedelta()


type TableRows = dict[tuple[object, ...], Any]
"""Rows by their key."""


class MemoryBackup(Record):
    """Everything that a store in memory held at one moment. Later writes do not change it."""

    streams: Mapping[Stream, Sequence[Envelope]]
    log: Sequence[TailEvent]
    tables: Mapping[str, Mapping[tuple[object, ...], Any]]
    answers: Mapping[tuple[UUID, UUID | None, str], StoredAnswer]
    snapshots: Mapping[tuple[UUID, Stream], Snapshot]
    position: Position
    numbers: Mapping[str, int]


def _only(grant: Grant, name: str) -> Grant:
    permits = not {name, EVERY_COMMAND}.isdisjoint(grant.permitted_commands)
    permitted, proposable = ((name,), ()) if permits else ((), (name,))
    return replace(grant, permitted_commands=permitted, proposable_commands=proposable)


class MemoryStore:
    """Keeps events and the rows next to them in dictionaries; its lists are always current."""

    def __init__(
        self, codec: Codec, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._codec, self.clock = codec, clock
        self.streams: dict[Stream, list[Envelope]] = {}
        self.log: list[TailEvent] = []
        """All events in the order they were written, for `MemoryTail`."""
        self.tables: dict[str, TableRows] = {}
        self.answers: dict[tuple[UUID, UUID | None, str], StoredAnswer] = {}
        self.snapshots: dict[tuple[UUID, Stream], Snapshot] = {}
        self.position = BEGINNING
        self._locks: dict[str, asyncio.Lock] = {}
        self._numbers: dict[str, int] = {}
        self._turns, self._memory = StreamQueues(), CallMemory()

    def backup(self) -> MemoryBackup:
        """Return a copy of everything that the store holds. Events and rows are immutable."""
        return MemoryBackup(
            streams={stream: tuple(events) for stream, events in self.streams.items()},
            log=tuple(self.log),
            tables={name: dict(rows) for name, rows in self.tables.items() if rows},
            answers=dict(self.answers),
            snapshots=dict(self.snapshots),
            position=self.position,
            numbers=dict(self._numbers),
        )

    def restore(self, backup: MemoryBackup) -> None:
        """Hold what a backup has and nothing else. No call may be under way."""
        self.streams = {stream: list(events) for stream, events in backup.streams.items()}
        self.log = list(backup.log)
        self.tables = {name: dict(rows) for name, rows in backup.tables.items()}
        self.answers, self.snapshots = dict(backup.answers), dict(backup.snapshots)
        self.position, self._numbers = backup.position, dict(backup.numbers)
        self._locks, self._turns = {}, StreamQueues()
        self._memory.forget()

    async def open(self, opening: CallLookup) -> CallContext:
        """Return the caller, its grants, the stored answer and the events of the target."""
        if not opening.recalls:
            return self._look_up(opening)
        if recalled := self._memory.recall(opening):
            return recalled
        return replace(self._look_up(opening), memory=Memory(opening, self._memory.era))

    def _look_up(self, opening: CallLookup) -> CallContext:
        principal_id = opening.principal_id
        if principal_id is None and opening.identity is not None:
            bound = self._table("actor_identity").get(opening.identity)
            principal_id = bound.actor_id if bound else None
        standing: Standing | None = self._table("principal_standing").get((principal_id,))
        grants: list[Grant] = [
            # A grant that was found for one command has only that command.
            _only(grant, opening.command_name) if opening.command_name else grant
            for grant in self._table("policy_grant").values()
            if standing
            and grant.principal_id == standing.principal_id
            and grant.conduit_id == opening.conduit_id
            and grant.surface_id == opening.surface_id
            and (
                opening.command_name is None
                or not {opening.command_name, EVERY_COMMAND}.isdisjoint(
                    (
                        *grant.permitted_commands,
                        *(grant.proposable_commands if opening.proposable else ()),
                    )
                )
            )
        ]
        stored_answer = None
        if standing and opening.idempotency_key:
            key = standing.principal_id, opening.surface_id, opening.idempotency_key
            stored_answer = self.answers.get(key)
        if not grants or not standing or standing.bar:
            return CallContext(standing, tuple(grants))
        controlling = None
        if opening.creates:
            control = self._table("surface_control").get((opening.surface_id,))
            controlling = (control.visit_id,) if control else ()
        stream = opening.stream
        if stream is None or stream not in self.streams:
            known = standing, tuple(grants), stored_answer
            return CallContext(*known, controlling=controlling)
        owner_id, loaded = self.streams[stream][0].principal_id, self._loaded(stream, opening.fold)
        return CallContext(
            standing=standing,
            grants=tuple(grants),
            stored_answer=stored_answer,
            owner_id=owner_id,
            is_member=any(grant.object_scope is ObjectScope.TEAM for grant in grants)
            and self.is_of_team(stream[1], Sight(standing.principal_id, teams=True)),
            loaded=loaded,
        )

    async def load(
        self, streams: Sequence[Stream], folds: Mapping[str, UUID] | None = None
    ) -> Mapping[Stream, LoadedStream]:
        """Return these streams, with the snapshots of these folds by aggregate name."""
        return {
            stream: self._loaded(stream, folds[stream[0]] if folds else None)
            for stream in streams
            if stream in self.streams
        }

    def _loaded(self, stream: Stream, fold: UUID | None) -> LoadedStream:
        snapshot = self.snapshots.get((fold, stream)) if fold else None
        after = snapshot.version if snapshot else 0
        events = self.streams[stream][after : after + READ_AT_ONCE]
        return LoadedStream([envelope.recorded for envelope in events], snapshot)

    async def owners(self, streams: Sequence[Stream]) -> Mapping[Stream, UUID]:
        """Return the principal that wrote the first event of each of these streams."""
        return {s: self.streams[s][0].principal_id for s in streams if s in self.streams}

    async def reached(self, streams: Sequence[Stream], sight: Sight) -> Mapping[Stream, bool]:
        """Return whether each of these streams is in sight; leave out those that do not exist."""
        return {s: self.is_in_sight(s, sight) for s in streams if s in self.streams}

    def is_in_sight(self, stream: Stream, sight: Sight) -> bool:
        """Return whether a stream belongs to the principal, or to one of its teams."""
        is_own = self.streams[stream][0].principal_id == sight.principal_id
        return is_own or self.is_of_team(stream[1], sight)

    def is_of_team(self, object_id: UUID, sight: Sight) -> bool:
        """Return whether an object belongs to a team of which the principal is a member now."""
        of = self._table(OBJECT_TEAMS.name).get((object_id,))
        if not sight.teams or of is None:
            return False
        member = self._table(TEAM_MEMBERS.name).get((of.team_id, sight.principal_id))
        return member is not None and member.counts(self.clock())

    async def append(self, append: Append) -> Position:
        """Write an append completely, or raise an error if something that it rests on has moved."""
        if append.answer:
            key = append.principal_id, append.surface_id, append.answer.key
            if key in self.answers:
                raise AlreadyAnsweredError
        if append.opened and append.opened.is_recalled and not self._holds(append.opened):
            self._memory.drop(append, has_moved=True)
            raise MovedError
        if append.fence and not self.holds(append.fence):
            raise WorkLostError if append.fence.owner else MovedError
        # Without events, the versions that were read are checked only under a lock.
        if append.events or any(isinstance(part, Lock) for part in append.side_writes):
            self._require_unmoved(append)
        self.write_rows(append.side_writes)
        if append.fence:
            self.advance(append.fence)
        if append.events:
            self._write_events(append)
            await self.keep_snapshots(append.snapshots)
        position = self.position if append.events else BEGINNING
        if append.answer:
            answer = append.answer
            self.answers[append.principal_id, append.surface_id, answer.key] = StoredAnswer(
                fingerprint=answer.fingerprint,
                status=answer.status,
                result=answer.result,
                version=answer.version,
                position=position,
            )
        self._memory.remember(append)
        return position

    def _holds(self, recalled: CallContext) -> bool:
        """Return whether what was recalled for a call is still what is stored."""
        assert recalled.memory, "it was recalled"  # noqa: S101
        lookup, last_event_id = recalled.memory.lookup, recalled.memory.last_event_id
        now = self._look_up(replace(lookup, recalls=False))
        last = self.streams[lookup.stream][-1].event_id if lookup.stream else None
        return (
            now.standing == recalled.standing
            and set(recalled.grants) <= {*now.grants}
            and last == last_event_id
        )

    def _require_unmoved(self, append: Append) -> None:
        expected = {stream: len(self.streams.get(stream, ())) for stream in append.read}
        if expected != dict(append.read):
            raise MovedError
        for event in append.events:
            expected[event.stream] = expected.get(
                event.stream, len(self.streams.get(event.stream, ()))
            )
            expected[event.stream] += 1
            if event.version != expected[event.stream]:
                raise MovedError
            if event.event_id in {each.event_id for each in self.streams.get(event.stream, ())}:
                raise DuplicateEventError

    def holds(self, fence: Fenced) -> bool:
        """Return whether the claim holds; without an owner, whether nobody holds the work."""
        work: StoredWork | None = self._table(WORK.name).get((fence.work_id,))
        if work is None or work.claim != fence.claim or work.ended_at:
            return False
        is_late = work.due_at <= self.clock()
        if fence.owner is None:
            return work.owner is None or is_late
        return work.owner == fence.owner and not is_late

    def advance(self, fence: Fenced) -> None:
        """Note that work got on, or ended."""
        rows, key = self._table(WORK.name), (fence.work_id,)
        rows[key] = replace(rows[key], idle_claims=0, ended_at=self.clock() if fence.ends else None)

    def _write_events(self, append: Append) -> None:
        self.position = Position(self.position.tx + 1, self.position.position)
        for event in append.events:
            self.position = Position(self.position.tx, self.position.position + 1)
            self.streams.setdefault(event.stream, []).append(
                Envelope(
                    event_id=event.event_id,
                    stream_type=event.stream[0],
                    stream_id=event.stream[1],
                    version=event.version,
                    transaction_id=self.position.tx,
                    position=self.position.position,
                    event_type=event.event_type,
                    schema_version=event.schema_version,
                    principal_id=append.principal_id,
                    command_name=event.command_name or append.command_name,
                    surface_id=append.surface_id,
                    correlation_id=append.correlation_id,
                    causation_id=append.causation_id,
                    recorded_at=self.clock(),
                    occurred_at=append.occurred_at,
                    payload=Raw(event.payload),
                )
            )
            stored = event.version, event.event_type, event.schema_version, event.payload
            self.log.append(
                TailEvent(
                    *stored,
                    tx=self.position.tx,
                    position=self.position.position,
                    stream_type=event.stream[0],
                    stream_id=event.stream[1],
                    principal_id=append.principal_id,
                    watermark=0,
                )
            )

    async def later(self, stream: Stream, after: int, limit: int) -> Sequence[StoredEvent]:
        """Return the events of one stream after a version, without their envelopes."""
        return [each.recorded for each in self.streams.get(stream, [])[after : after + limit]]

    async def history(self, stream: Stream, after: int, limit: int) -> Sequence[Envelope]:
        """Return the events of one stream after a version, with their envelopes."""
        return self.streams.get(stream, [])[after : after + limit]

    async def happened(
        self,
        types: Sequence[str],
        since: datetime,
        until: datetime,
        sight: Sight | None,
        limit: int,
    ) -> Sequence[tuple[str, StoredEvent]]:
        """Return events of these types between two times, oldest first, with aggregate names."""
        found = [
            each
            for stream, stored in self.streams.items()
            if sight is None or self.is_in_sight(stream, sight)
            for each in stored
            if each.event_type in types and since <= each.occurred_at < until
        ]
        found.sort(key=lambda each: (each.occurred_at, each.position))
        return [(each.stream_type, each.recorded) for each in found[:limit]]

    async def latest(
        self, streams: Sequence[Stream], types: Sequence[str], before: datetime
    ) -> Mapping[Stream, StoredEvent]:
        """Return the last event of these types before a time, for each of the streams."""
        return {
            stream: each.recorded
            for stream in streams
            for each in self.streams.get(stream, ())
            if each.event_type in types and each.occurred_at < before
        }

    async def rows[R](self, table: Table[R], where: Mapping[str, object]) -> tuple[R, ...]:
        """Return the rows whose columns equal these values, or are among several of them."""
        return tuple(row for row in self._read(table) if _matches(row, where))

    async def entries[R](self, table: Table[R], row_query: RowQuery, limit: int) -> tuple[R, ...]:
        """Return one page of rows, in the order of the query."""
        found = [row for row in self._read(table) if _matches(row, row_query.where)]
        for column, how, wanted in row_query.compared:
            found = [row for row in found if COMPARISONS[how](getattr(row, column), wanted)]

        def place(row: R) -> tuple[Any, ...]:
            return tuple(getattr(row, column) for column in row_query.by)

        found.sort(key=place, reverse=row_query.newest_first)
        if after := row_query.after:
            beyond = lt if row_query.newest_first else gt
            found = [row for row in found if beyond(place(row), after)]
        return tuple(found[:limit])

    async def last[R](
        self, table: Table[R], column: str, by: str, ids: Sequence[UUID]
    ) -> tuple[R, ...]:
        """Return, for each of these ids in one column, the row with the greatest value in `by`."""
        rows = sorted(self._read(table), key=lambda row: getattr(row, by))
        found = {id: row for row in rows if (id := getattr(row, column)) in ids}
        return tuple(found.values())

    async def above[R](self, table: Table[R], ids: Sequence[UUID]) -> tuple[R, ...]:
        """Return the rows of a tree that have these ids, and all rows above them."""
        rows = self._table(table.name)
        return tuple(rows[id,] for id in {over for id in ids for over in self._chain(table, id)})

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncGenerator[None]:
        """Hold a lock that excludes every other task."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            yield

    def is_contended(self, stream: Stream | None) -> bool:
        """Whether a command on this stream may have to wait for its turn."""
        return self._turns.is_contended(stream)

    def wait_turn(self, stream: Stream | None) -> AbstractAsyncContextManager[None]:
        """Let the commands on a contended stream run one after another."""
        return self._turns.take(stream)

    async def keep_snapshots(self, snapshots: Sequence[NewSnapshot]) -> None:
        """Store snapshots without an append, unless a newer snapshot of the same fold is stored."""
        for stream, fold, snapshot in snapshots:
            before = self.snapshots.get((fold, stream))
            if before is None or before.version < snapshot.version:
                self.snapshots[fold, stream] = snapshot

    async def outdated_snapshots(
        self, folds: Sequence[UUID], after: Stream, limit: int
    ) -> Sequence[Stream]:
        """Return the streams after this one that have snapshots, but none of these folds."""
        current = {stream for fold, stream in self.snapshots if fold in folds}
        others = {stream for _, stream in self.snapshots} - current
        return sorted(stream for stream in others if stream > after)[:limit]

    async def drop_snapshots(self, folds: Sequence[UUID], days: int) -> int:
        """Delete snapshots of other folds than these if days is 0; their age is not known here."""
        gone = [key for key in self.snapshots if key[0] not in folds and days == 0]
        for key in gone:
            del self.snapshots[key]
        return len(gone)

    async def deny(self, denial: Denial) -> None:
        """Record a denial."""
        self._table(DENIALS.name)[(denial.denial_id,)] = denial

    async def record_refusal(self, insert: Insert) -> None:
        """Write the row of a refusal, unless its key is taken."""
        self._table(insert.table.name).setdefault(_key(insert.table, insert.row), insert.row)

    async def keep_evidence(self, evidence: AnswerEvidence) -> None:
        """Store what an agent is about to be answered."""
        self.write_rows([EVIDENCE.insert(evidence)])

    async def listing(
        self,
        view: View[Any],
        list_filter: ListFilter,
        sight: Sight | None,
        page: ListPage,
    ) -> Sequence[ListRow]:
        """Return rows in the order of their ids; only those in sight if one is given."""
        ahead = lt if page.newest_first else gt
        fold, standing = RowFold(view, self._codec), self._along(view.tree, list_filter.along)
        found: list[ListRow] = []
        for (name, id), stored in sorted(self.streams.items(), reverse=page.newest_first):
            if name != view.aggregate.name or (page.after and not ahead(id, page.after)):
                continue
            if standing is not None and id not in standing:
                continue
            row = fold.after(None, [e.recorded for e in stored], stored[0].principal_id)
            is_self = sight and view.aggregate.self_owned and id == sight.principal_id
            is_seen = sight is None or is_self or self.is_in_sight((name, id), sight)
            shown = fold.dump(row)
            is_shown = fits(list_filter, view.facets_of(row.state), msgspec.json.decode(shown))
            if is_shown and is_seen:
                found.append(ListRow(id, shown, row.version))
        return found[: page.limit]

    async def follows(self, views: Sequence[View[Any]], position: Position) -> bool:
        """Whether views show all events up to a position, which they do if the events exist."""
        return position <= self.position

    def _table(self, name: str) -> TableRows:
        return self.tables.setdefault(name, {})

    def _chain(self, table: Table[Any], id: UUID | None) -> list[UUID]:
        """Return the id of a row and the ids of all rows above it."""
        found: list[UUID] = []
        rows = self._table(table.name)
        while id is not None and (id,) in rows and id not in found:
            found.append(id)
            id = getattr(rows[id,], str(table.parent))
        return found

    def _along(self, tree: Table[Any] | None, along: Mapping[str, UUID]) -> set[UUID] | None:
        """Return the ids below and above the given rows, or None without a filter by the tree."""
        if tree is None or not along:
            return None
        ids: set[UUID] = {getattr(row, tree.key[0]) for row in self._table(tree.name).values()}
        below, above = along.get("below"), along.get("above")
        if below:
            ids = {id for id in ids if below in self._chain(tree, id)[1:]}
        return ids & {*self._chain(tree, above)[1:]} if above else ids

    def write_rows(self, side_writes: Sequence[SideWrite | Rows]) -> None:
        writes = [part for part in side_writes if not isinstance(part, Lock)]
        for part in writes:
            rows = self._table(part.table.name)
            if isinstance(part, Insert) and _key(part.table, part.row) in rows:
                raise KeyTakenError(part)
        for part in writes:
            if isinstance(part, Rows):
                rows = self._table(part.table.name)
                keys = [_key(part.table, row) for row in part.rows]
                if stored := {k[0]: getattr(rows[k], part.under) for k in keys if k in rows}:
                    raise RowsStoredError(stored)
        # Rows of one write have the same time, as in a transaction.
        now = self.clock()
        for part in writes:
            rows = self._table(part.table.name)
            match part:
                case Insert(table, row) | Upsert(table, row):
                    rows[_key(table, row)] = self._stamped(table, row, now)
                    if table is WORK:
                        rows[_key(table, row)] = StoredWork.of(row, created_at=now, due_at=now)
                case Rows(table, added):
                    rows.update({_key(table, row): self._stamped(table, row, now) for row in added})
                case Replace(table, row):
                    if (taken := _key(table, row)) in rows:
                        fresh = self._stamped(table, row, now)
                        # A table may be written by several records, each with some columns.
                        rows[taken] = replace(rows[taken], **msgspec.structs.asdict(fresh))
                case Delete(_, key):
                    for taken in [taken for taken in rows if taken[: len(key)] == key]:
                        del rows[taken]

    def _read(self, table: Table[Any]) -> list[Any]:
        """Return all rows of a table, with their age if the table has one."""
        rows = [*self._table(table.name).values()]
        rows = [row if type(row) is table.row else table.row.of(row) for row in rows]
        if table.stamped is None:
            return rows
        stamp, age = table.stamped
        now, at = self.clock(), attrgetter(stamp)
        return [replace(row, **{age: now - at(row) if at(row) else None}) for row in rows]

    def _stamped(self, table: Table[Any], row: Any, now: datetime) -> Any:
        """Return the row with its number and the time, if it has them."""
        if table.numbered:
            self._numbers[table.name] = number = self._numbers.get(table.name, 0) + 1
            row = replace(row, **{table.numbered: number})
        stamp = table.stamped[0] if table.stamped else None
        if stamp is None or getattr(row, stamp) is None:
            return row
        return replace(row, **{stamp: now})


def of_stream(stored: tuple[tuple[UUID, Stream], Snapshot]) -> Stream:
    """Return the stream of a snapshot."""
    return stored[0][1]


def _key(table: Table[Any], row: object) -> tuple[object, ...]:
    return tuple(getattr(row, column) for column in table.key)


def _matches(row: Any, where: Mapping[str, object]) -> bool:
    for column, wanted in where.items():
        value = getattr(row, column)
        if isinstance(wanted, list | tuple | set | frozenset):
            if value not in wanted:
                return False
        elif value != wanted:
            return False
    return True
