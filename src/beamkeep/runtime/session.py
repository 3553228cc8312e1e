"""Reading for one call."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any, NamedTuple, Self
from uuid import UUID

from beamkeep.kernel import (
    Aggregate,
    AnyAggregate,
    Catalogue,
    Event,
    ObjectScope,
    Preview,
    Sight,
    Table,
    UnnamedListing,
)

from .codec import Codec
from .filters import filter_for
from .store import (
    READ_AT_ONCE,
    EventStore,
    ListPage,
    LoadedStream,
    MovedError,
    NewEvent,
    NewSnapshot,
    ReadModel,
    RowQuery,
    StoredEvent,
    Stream,
)

ALL_MATCHES = 10_000
SNAPSHOT_EVERY = 64
SNAPSHOT_BYTES = 16_384
"""A snapshot is due after `SNAPSHOT_EVERY` events, and that many more for each `SNAPSHOT_BYTES`
it is large: however large it grows, snapshots add little to what the events themselves take."""
STORED_EVERY = 20
"""Pages of a long stream after which its reader stores a snapshot."""


type Permits = Callable[[Iterable[str]], Awaitable[Mapping[str, ObjectScope]]]
"""Returns the scope of each of these calls that the caller may make."""


def sight_of(principal_id: UUID, scope: ObjectScope) -> Sight | None:
    """Return whose objects a principal reaches with a scope; None for everybody's."""
    if scope is ObjectScope.ALL:
        return None
    return Sight(principal_id, teams=scope is ObjectScope.TEAM)


class Folded(NamedTuple):
    """A state, its version, and the snapshot from which it was folded."""

    state: Any
    version: int
    snapshot_version: int
    snapshot_bytes: int


class Session:
    """The reader of one call. It remembers every version read, for the append to compare."""

    principal_id: UUID | None = None
    sight: Sight | None = None
    """Whose objects an answer may show; None for everybody's."""
    shows_past = False
    recalled = False
    """Whether the command is decided by what the store remembers."""
    surface_id: UUID | None = None
    controlling: Sequence[UUID] | None = None
    token_ends_at: datetime | None = None
    caller_reads: Permits | None = None
    """For a command: the scope of the reads that its caller may make with it."""
    caller_proposes: Callable[[], Awaitable[Set[str]]] | None = None
    previews: Callable[[UUID], Awaitable[Preview]] | None = None
    _permits: Permits | None = None

    def __init__(
        self,
        store: EventStore,
        lists: ReadModel,
        codec: Codec,
        catalogue: Catalogue,
        facts: Any,
        readers: Any,
        clock: Callable[[], datetime],
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self._store, self._lists, self._codec = store, lists, codec
        self._catalogue, self.facts, self.readers = catalogue, facts, readers
        self.now, self._snapshot_every = clock(), snapshot_every
        self.operation_names: Set[str] = catalogue.permissions
        self.proposable: Set[str] = catalogue.proposable
        self.seen: list[tuple[str, UUID, int]] = []
        self.versions: dict[Stream, int] = {}
        self.new_versions: dict[Stream, int] = {}
        """The version that each stream has once the decided events are written."""
        self.folded: dict[Stream, Folded] = {}
        """Every stream that was read, as it was read."""
        self._decided: dict[Stream, list[StoredEvent]] = {}
        """Events that commands before this one in the same append have decided."""

    def read_for(
        self, principal_id: UUID, scope: ObjectScope, permits: Permits | None = None
    ) -> Self:
        """Read on behalf of a principal whose permission has this scope."""
        self.principal_id, self._permits = principal_id, permits
        self.sight = sight_of(principal_id, scope)
        return self

    @property
    def only(self) -> UUID | None:
        """The principal, if not everybody's objects may be shown."""
        return self.sight and self.sight.principal_id

    async def adopt[S](
        self, of: Aggregate[S, Any, Any], id: UUID | None, loaded: LoadedStream
    ) -> S:
        """Return the state of a stream, remembered as read; refuse one that does not exist."""
        # Most calls have one command, before which nothing was decided.
        decided = self._decided.get((of.name, id), ()) if self._decided and id else ()
        if id is None or not (loaded.events or loaded.snapshot or decided):
            raise of.absent(f"There is no {of.noun.replace('_', ' ')} {id}.")
        stream, stored = (of.name, id), loaded.snapshot
        if stored and stored.version < of.snapshots_from:
            # The service stores none of so short a stream, so this one is not trusted.
            loaded, stored = (await self._store.load([stream])).get(stream, LoadedStream()), None
        state, version = (self._codec.restore(of, stored), stored.version) if stored else (None, 0)
        size, snapshot_version = len(stored.state) if stored else 0, version
        events, pages = loaded.events, 0
        while events:
            state = self._codec.fold(of, events, state, version)
            version, pages = version + len(events), pages + 1
            if pages % STORED_EVERY == 0:
                # Should this take longer than a call may, the next one continues from here.
                await self._keep(stream, state, version)
            events = await self._after(stream, events) if len(events) >= READ_AT_ONCE else ()
        if pages > 1:
            await self._keep(stream, state, version)
            snapshot_version = version
        # What was read first counts.
        if version and self.versions.setdefault(stream, version) == version:
            self.folded[stream] = Folded(state, version, snapshot_version, snapshot_bytes=size)
        elif decided and version != self.versions.get(stream, 0):
            raise MovedError
        if decided:
            state = self._codec.fold(of, decided, state, version)
        assert state is not None, "it has events or a snapshot"  # noqa: S101
        return state

    def decide(self, events: Iterable[NewEvent]) -> None:
        """Let commands that follow in the same append see these events as if they were written."""
        for new in events:
            self._decided.setdefault(new.stream, []).append(new.stored)

    async def at[S](
        self, of: Aggregate[S, Any, Any], id: UUID, as_of: int | datetime, loaded: LoadedStream
    ) -> tuple[S, int]:
        """Return the state and the version at a version or time, from a stream without snapshot."""
        state, version, events = None, 0, loaded.events
        while events:
            then = self._codec.until(of.name, events, as_of)
            state, version = self._codec.fold(of, then, state, version), version + len(then)
            is_over = len(then) < len(events) or len(events) < READ_AT_ONCE
            events = () if is_over else await self._after((of.name, id), events)
        if state is None or (isinstance(as_of, int) and version < as_of):
            then = f" as of {as_of}" if state or loaded.events else ""
            raise of.absent(f"There is no {of.noun.replace('_', ' ')} {id}{then}.")
        return state, version

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID, to_show: bool = False) -> S:
        return (await self.many(of, [id], to_show))[id]

    async def many[S](
        self, of: Aggregate[S, Any, Any], ids: Iterable[UUID], to_show: bool = False
    ) -> Mapping[UUID, S]:
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        shown = await self.visible(of, wanted) if to_show else {*wanted}
        streams = [(of.name, id) for id in wanted if id in shown]
        found: Mapping[Stream, LoadedStream] = {}
        if streams:
            found = await self._store.load(streams, self._codec.folds)
        return {
            id: await self.adopt(of, id, found.get((of.name, id), LoadedStream())) for id in wanted
        }

    async def past[S](
        self, of: Aggregate[S, Any, Any], ids: Iterable[UUID], time: datetime
    ) -> Mapping[UUID, S]:
        if not (streams := [(of.name, id) for id in ids]):
            return {}
        found: dict[UUID, S] = {}
        for (name, id), loaded in (await self._store.load(streams)).items():
            if self._codec.until(name, loaded.events[:1], time):
                found[id], version = await self.at(of, id, time, loaded)
                self.seen.append((name, id, version))
        return found

    def version(self, of: AnyAggregate, id: UUID) -> int:
        return self.versions[of.name, id]

    async def visible(
        self, of: AnyAggregate, ids: Iterable[UUID], scope: ObjectScope | None = None
    ) -> Set[UUID]:
        wanted, sight = frozenset(ids), self.sight
        if scope is not None:
            assert self.principal_id, "it reads for a principal"  # noqa: S101
            sight = sight_of(self.principal_id, scope)
        if sight is None:
            return wanted
        reached = await self._store.reached([(of.name, id) for id in sorted(wanted)], sight)
        own = {id for (_, id), is_seen in reached.items() if is_seen}
        # What a command before this one in the same append begins is not stored yet.
        own |= {id for id in wanted if (of.name, id) in self._decided.keys() - reached.keys()}
        seen = own | (wanted & {sight.principal_id} if of.self_owned else set[UUID]())
        get = self._catalogue.gets.get(of.name)
        if scope is None and get and self.caller_reads and not wanted <= seen:
            reach = await self.caller_reads([get.name])
            return wanted if reach.get(get.name) is ObjectScope.ALL else seen
        return seen

    async def scopes(self, calls: Iterable[str]) -> Mapping[str, ObjectScope]:
        assert self._permits, "a question is asked by a caller"  # noqa: S101
        return await self._permits(call for call in calls if call in self._catalogue.named)

    async def proposes(self) -> Set[str]:
        assert self.caller_proposes, "a question is asked by a caller"  # noqa: S101
        return await self.caller_proposes()

    async def preview(self, proposal_id: UUID) -> Preview:
        assert self.previews, "a question is asked by a caller"  # noqa: S101
        return await self.previews(proposal_id)

    async def as_of[S](self, of: Aggregate[S, Any, Any], id: UUID, version: int) -> S:
        now, stream = await self.one(of, id), (of.name, id)
        if version >= self.versions[stream]:
            return now
        loaded = (await self._store.load([stream])).get(stream, LoadedStream())
        return (await self.at(of, id, version, loaded))[0]

    def snapshots(self, events: Sequence[NewEvent]) -> list[NewSnapshot]:
        """Return the snapshots that are due once these events are written."""
        due: list[NewSnapshot] = []
        if not self.folded:
            return due
        for stream, version in {new.stream: new.version for new in events}.items():
            folded, of = self.folded.get(stream), self._catalogue.aggregates[stream[0]]
            if folded and version >= of.snapshots_from and self.is_due(folded, version):
                # Folded from what is stored, as every later reader will.
                written = [new.stored for new in events if new.stream == stream]
                state = self._codec.fold(of, written, folded.state, folded.version)
                due.append(self._snapshot(stream, state, version))
        return due

    def snapshot(self, stream: Stream) -> NewSnapshot:
        """Return a stream that was read as a snapshot."""
        folded = self.folded[stream]
        return self._snapshot(stream, folded.state, folded.version)

    async def matching(
        self,
        query: UnnamedListing,
        to_show: bool = False,
        most: int = ALL_MATCHES,
        newest: bool = False,
    ) -> tuple[UUID, ...]:
        view = next(view for view in self._catalogue.views if view.listing is type(query))
        list_filter = await filter_for(view, query, self)
        page = ListPage(most, newest_first=newest, ids_only=True)
        sight = self.sight if to_show else None
        rows = await self._lists.listing(view, list_filter, sight, page)
        return tuple(row.id for row in rows)

    async def happened(
        self, types: Sequence[type[Event]], since: datetime, until: datetime, most: int
    ) -> Sequence[Event]:
        names = [type.__name__ for type in types]
        found = await self._store.happened(names, since, until, self.sight, most)
        return [event for name, each in found for event in self._codec.decode(name, [each])]

    async def latest(
        self, of: AnyAggregate, ids: Iterable[UUID], types: Sequence[type[Event]], before: datetime
    ) -> Mapping[UUID, Event]:
        streams = [(of.name, id) for id in ids]
        found = await self._store.latest(streams, [type.__name__ for type in types], before)
        return {id: self._codec.decode(of.name, [each])[0] for (_, id), each in found.items()}

    async def written[R](
        self,
        of: Table[R],
        about: AnyAggregate,
        time: str,
        since: datetime,
        until: datetime,
        most: int,
    ) -> Sequence[R]:
        between = ((time, ">=", since), (time, "<", until))
        list_filter = RowQuery({}, between, by=(time, *of.key), newest_first=False, after=())
        found = await self._store.entries(of, list_filter, most)
        seen = await self.visible(about, (getattr(row, about.id_field) for row in found))
        return [row for row in found if getattr(row, about.id_field) in seen]

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        return await self._store.rows(of, where)

    async def last[R](self, of: Table[R], by: str, **ids: Iterable[UUID]) -> tuple[R, ...]:
        ((column, wanted),) = ids.items()
        return await self._store.last(of, column, by, list(wanted))

    async def above[R](self, of: Table[R], ids: Iterable[UUID]) -> Mapping[UUID, R]:
        return {getattr(row, of.key[0]): row for row in await self._store.above(of, list(ids))}

    async def _after(self, stream: Stream, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        return await self._store.later(stream, events[-1][0], READ_AT_ONCE)

    def is_due(self, folded: Folded, version: int) -> bool:
        """Return whether a stream needs a new snapshot at this version."""
        wait = self._snapshot_every * (1 + folded.snapshot_bytes // SNAPSHOT_BYTES)
        return version - folded.snapshot_version >= wait

    def _snapshot(self, stream: Stream, state: object, version: int) -> NewSnapshot:
        fold = self._codec.folds[stream[0]]
        return NewSnapshot(stream, fold, self._codec.snapshot(state, version))

    async def _keep(self, stream: Stream, state: object, version: int) -> None:
        await self._store.keep_snapshots([self._snapshot(stream, state, version)])
