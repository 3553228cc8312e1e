"""What happened before a command, in memory."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.adapters.memory.filtering import fits
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Call,
    Delete,
    Event,
    Insert,
    Lock,
    ObjectScope,
    Preview,
    Replace,
    Rows,
    SideWrite,
    Sight,
    Table,
    UnnamedListing,
    Upsert,
)
from beamkeep.runtime.filters import filter_for

from .installation import FACTS, READERS

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = datetime(2030, 1, 2, tzinfo=UTC)
ME = UUID(int=9)
NEW = UUID(int=1)
CALL = Call(ME, ActorKind.HUMAN, NOW, new_id=NEW)
ABSENT = UUID(int=404)


class Past:
    """The events and rows before a command, as a rule reads them."""

    def __init__(
        self,
        parts: Iterable[Event | SideWrite | Rows],
        facts: Facts = FACTS,
        readers: Readers = READERS,
        hidden: Set[UUID] = frozenset(),
    ) -> None:
        self._hidden = hidden
        self.seen: list[tuple[str, UUID, int]] = []
        self.operation_names: Set[str] = CATALOGUE.named.keys()
        self.proposable: Set[str] = CATALOGUE.proposable
        self.facts, self.readers = facts, readers
        self.now, self.shows_past = NOW, False
        self.principal_id: UUID | None = ME
        self.sight: Sight | None = None
        self.surface_id: UUID | None = None
        self.controlling: Sequence[UUID] | None = None
        self.token_ends_at: datetime | None = None
        self._streams: dict[tuple[str, UUID], list[Event]] = defaultdict(list)
        self._tables: dict[str, dict[tuple[object, ...], Any]] = defaultdict(dict)
        for part in parts:
            match part:
                case Event():
                    aggregate = CATALOGUE.streams[type(part)]
                    id: UUID = getattr(part, aggregate.id_field)
                    self._streams[aggregate.name, id].append(part)
                case Insert(table, row) | Replace(table, row) | Upsert(table, row):
                    key = tuple(getattr(row, column) for column in table.key)
                    self._tables[table.name][key] = row
                case Delete(table, key):
                    self._tables[table.name].pop(key)
                case Rows(table, rows):
                    for row in rows:
                        self._tables[table.name][getattr(row, table.key[0]),] = row
                case Lock():
                    pass

    @property
    def only(self) -> UUID | None:
        return self.sight and self.sight.principal_id

    def has(self, insert: Insert) -> bool:
        """Return whether the key of a row is taken."""
        key = tuple(getattr(insert.row, column) for column in insert.table.key)
        return key in self._tables[insert.table.name]

    def holds_elsewhere(self, bulk: Rows) -> bool:
        """Return whether a row of another aggregate has the key of one of these rows."""
        key, under, stored = bulk.table.key[0], bulk.under, self._tables[bulk.table.name]
        taken = [(row, stored.get((getattr(row, key),))) for row in bulk.rows]
        return any(other and getattr(row, under) != getattr(other, under) for row, other in taken)

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID, to_show: bool = False) -> S:
        if (of.name, id) not in self._streams or (to_show and id in self._hidden):
            raise of.absent
        first, *rest = self._streams[of.name, id]
        state = of.begin(first)
        for event in rest:
            state = of.evolve(state, event)
        return state

    async def many[S](
        self, of: Aggregate[S, Any, Any], ids: Iterable[UUID], to_show: bool = False
    ) -> Mapping[UUID, S]:
        return {id: await self.one(of, id, to_show) for id in ids}

    def version(self, of: Aggregate[Any, Any, Any], id: UUID) -> int:
        return len(self._streams[of.name, id])

    async def visible(
        self, of: Aggregate[Any, Any, Any], ids: Iterable[UUID], scope: ObjectScope | None = None
    ) -> Set[UUID]:
        return frozenset(ids) - self._hidden

    async def scopes(self, calls: Iterable[str]) -> Mapping[str, ObjectScope]:
        return dict.fromkeys(calls, ObjectScope.ALL)

    async def proposes(self) -> Set[str]:
        return frozenset()

    async def preview(self, proposal_id: UUID) -> Preview:
        return Preview(None, events=())

    async def as_of[S](self, of: Aggregate[S, Any, Any], id: UUID, version: int) -> S:
        return await Past(self._streams[of.name, id][:version]).one(of, id)

    async def past[S](
        self, of: Aggregate[S, Any, Any], ids: Iterable[UUID], time: datetime
    ) -> Mapping[UUID, S]:
        until = {
            id: [event for event in self._streams[of.name, id] if event.occurred_at <= time]
            for id in ids
        }
        return {id: await Past(events).one(of, id) for id, events in until.items() if events}

    async def matching(
        self,
        query: UnnamedListing,
        to_show: bool = False,
        most: int = 10_000,
        newest: bool = False,
    ) -> tuple[UUID, ...]:
        view = next(view for view in CATALOGUE.views if view.listing is type(query))
        wanted, name = await filter_for(view, query, self), view.aggregate.name
        states = [
            await self.one(view.aggregate, id) for n, id in sorted(self._streams) if n == name
        ]
        states = states[::-1] if newest else states
        begun = {state.id: self._streams[name, state.id][0].occurred_at for state in states}
        rows = [
            {"created_at": begun[state.id].isoformat()} | msgspec.to_builtins(state)
            for state in states
        ]
        return tuple(
            state.id
            for state, row in zip(states, rows, strict=True)
            if fits(wanted, view.facets_of(state), row)
        )[:most]

    async def happened(
        self, types: Sequence[type[Event]], since: datetime, until: datetime, most: int
    ) -> Sequence[Event]:
        events = [event for stream in self._streams.values() for event in stream]
        found = [
            e for e in events if isinstance(e, tuple(types)) and since <= e.occurred_at < until
        ]
        return sorted(found, key=lambda event: event.occurred_at)[:most]

    async def latest(
        self,
        of: Aggregate[Any, Any, Any],
        ids: Iterable[UUID],
        types: Sequence[type[Event]],
        before: datetime,
    ) -> Mapping[UUID, Event]:
        return {
            id: event
            for id in ids
            for event in self._streams[of.name, id]
            if isinstance(event, tuple(types)) and event.occurred_at < before
        }

    async def written[R](
        self,
        of: Table[R],
        about: Aggregate[Any, Any, Any],
        time: str,
        since: datetime,
        until: datetime,
        most: int,
    ) -> Sequence[R]:
        rows = self._tables[of.name].values()
        found = [row for row in rows if since <= getattr(row, time) < until]
        return sorted(found, key=lambda row: getattr(row, time))[:most]

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        return tuple(
            row
            for row in self._tables[of.name].values()
            if all(_equals(getattr(row, column), wanted) for column, wanted in where.items())
        )

    async def last[R](self, of: Table[R], by: str, **ids: Iterable[UUID]) -> tuple[R, ...]:
        ((column, wanted),) = ids.items()
        rows = await self.rows(of, **{column: frozenset(wanted)})
        ordered = sorted(rows, key=lambda row: getattr(row, by))
        return (*{getattr(row, column): row for row in ordered}.values(),)

    async def above[R](self, of: Table[R], ids: Iterable[UUID]) -> Mapping[UUID, R]:
        rows, found = self._tables[of.name], dict[UUID, R]()
        waiting = [*ids]
        while waiting:
            id = waiting.pop()
            if (id,) in rows and id not in found:
                found[id] = rows[id,]
                waiting.append(getattr(found[id], str(of.parent)))
        return found


def _equals(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, set | frozenset) else value == wanted
