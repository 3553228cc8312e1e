"""The projector: follows the tail of the log and updates the rows of every list."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import structlog

from beamkeep.feed.directory.entries import Entry, entry_of
from beamkeep.feed.lists.rows import Row, RowFold
from beamkeep.feed.tail import Bookmark, Tail, TailEvent
from beamkeep.kernel import Record, View, replace
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.store import Position

from .supervision import Lease

PAGE = 1000
PAYLOAD = attrgetter("payload")
BUSY_PAUSE, LONGEST_PAUSE, GATHERING = 0.025, 0.25, 0.01
REVIEW_EVERY = 2.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Generation(Record):
    """One generation of one list's rows."""

    name: str
    number: int
    live: bool
    declared: int
    """The version of its view and of the layout of all lists, when it was created."""

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.number


class Follower(NamedTuple):
    """A generation of a list, and its bookmark in one shard."""

    generation: Generation
    bookmark: Bookmark

    @property
    def key(self) -> tuple[str, int]:
        return self.generation.key

    @property
    def reached(self) -> Position:
        return self.bookmark.reached


class RowChange(NamedTuple):
    """A row that replaces an older version of itself."""

    id: UUID
    version: int
    owner_id: UUID
    facets: Sequence[str]
    marks: Collection[str]
    """The marks that filters find the row by: facets, owner and times."""
    row: bytes
    entry: Entry | None
    """The entry of the object in the directory."""
    new_of_team: UUID | None = None
    """The team of the object, if the list had no row of it."""


class Bounds(NamedTuple):
    """How much is folded before it is written, and how much is cached after it was written.

    Each is exceeded by one page at most.
    """

    rows: int
    bytes: int
    """The size of folded payloads, and of rows that were read or cached, as JSON."""
    events: int


BOUNDS = Bounds(rows=20_000, bytes=64_000_000, events=100_000)


class Projections(Protocol):
    """The stored rows of the lists."""

    async def generations(self) -> Sequence[Generation]:
        """Return every generation of every list."""
        ...

    async def stored(
        self, generation: Generation, ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[int, bytes]]:
        """Return the rows a generation has for these ids, with their versions."""
        ...

    async def apply(
        self,
        followers: Sequence[Follower],
        reached: Position,
        changes: Mapping[tuple[str, int], Sequence[RowChange]],
    ) -> bool:
        """Move the bookmarks and write the rows, unless another worker has moved them."""
        ...

    async def switch(self) -> Sequence[str]:
        """Make each generation that has caught up the live one, and return the names of lists."""
        ...

    async def outdated(self, declared: Mapping[str, int]) -> Sequence[Generation]:
        """Return the live generations from which the directory's entries are to be rebuilt.

        `declared` has the version of each list's entries.
        """
        ...

    async def rows_after(
        self, generation: Generation, after: UUID
    ) -> Sequence[tuple[UUID, int, bytes]]:
        """Return the next rows of a generation with their ids and versions."""
        ...

    async def remake(
        self, generation: Generation, entries: Sequence[Entry], declared: int | None
    ) -> None:
        """Write entries made from a live generation; `declared` is given with the last of them."""
        ...


class Projector:
    """Follows shards of the log. Several projectors may run: each page is applied once."""

    def __init__(
        self,
        views: Sequence[View[Any]],
        codec: Codec,
        tail: Tail,
        projections: Projections,
        page: int = PAGE,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._folds = {view.name: RowFold(view, codec) for view in views}
        self._types = {view.name: view.aggregate.name for view in views}
        self._declared = {view.name: view.directory.version for view in views if view.directory}
        self._remaking: dict[Generation, UUID] = {}
        """The generations whose entries are being rebuilt, and the last id that was."""
        self._tail, self._projections = tail, projections
        self._page, self._bounds = page, bounds
        self._batches: dict[int, list[_Batch]] = {}
        self._cache = _RowCache(bounds)
        self._leased: Sequence[int] = ()
        self._reviewed, self._pause = -inf, BUSY_PAUSE

    async def turn(self, lease: Lease) -> float:
        """Fold a page of each leased shard, and return the seconds until the next turn."""
        now = asyncio.get_running_loop().time()
        try:
            if self._reviewed + REVIEW_EVERY < now:
                # A review that fails is repeated later; meanwhile the lists are followed.
                self._reviewed = now
                self._leased = await lease()
                await self.review()
            moved = max([await self.step(shard) for shard in self._leased], default=0)
            remade = await self.remake()
        except Exception:
            self._forget()
            raise
        if 0 < moved < self._page:
            # Events that are written at about the same time are applied together.
            await asyncio.sleep(GATHERING)
        longer = min(max(self._pause * 1.5, BUSY_PAUSE), LONGEST_PAUSE)
        self._pause = 0.0 if moved or remade else longer
        return self._pause

    async def review(self) -> None:
        """Read the bookmarks again if others changed them, and switch what has caught up."""
        for shard, batches in list(self._batches.items()):
            known = {follower for batch in batches for follower in batch.followers}
            if set(await self._followers(shard)) != known:
                # The cached rows are as old as the bookmarks.
                self._forget()
        if switched := await self._projections.switch():
            self._forget()
            log.info("projections switched", names=switched)
        found = await self._projections.outdated(self._declared)
        # In the order of the contexts: what is in the facility of others is made after these.
        order = [*self._folds]
        found = sorted(found, key=lambda each: order.index(each.name))
        self._remaking = {each: self._remaking.get(each, UUID(int=0)) for each in found}

    async def remake(self) -> bool:
        """Rebuild the next entries of the directory, and return whether there may be more."""
        if not self._remaking:
            return False
        generation, after = next(iter(self._remaking.items()))
        fold = self._folds[generation.name]
        rows = await self._projections.rows_after(generation, after)
        made = [entry_of(fold.view, id, fold.load(version, row)) for id, version, row in rows]
        declared = None if rows else self._declared[generation.name]
        await self._projections.remake(generation, [each for each in made if each], declared)
        if rows:
            self._remaking[generation] = rows[-1][0]
        else:
            del self._remaking[generation]
        return True

    async def catch_up(self, shards: Sequence[int]) -> None:
        """Follow these shards to their current end."""
        while any([await self.step(shard) for shard in shards]):
            pass

    async def step(self, shard: int) -> int:
        """Fold the next page of one shard, and return the number of its events.

        What was folded is written once there is enough of it, or no more to come.
        """
        if shard not in self._batches:
            self._batches[shard] = _batches(await self._followers(shard))
        batches = self._batches[shard]
        alone, behind, until, most = len(batches) == 1, False, None, 0
        for batch in batches:
            types = None if alone else [self._types[f.generation.name] for f in batch.followers]
            page = await self._tail.page(shard, batch.folded, self._page, types, until)
            # Followers that reach the end in the same step get the same position.
            until = until or page.watermark
            most = max(most, len(page.events))
            await self._fold(batch, page.events)
            full = len(page.events) == self._page
            batch.folded = page.events[-1].at if full else Position(until, 0)
            behind |= full
            if full and not batch.is_full(self._bounds):
                continue
            # Followers with nothing to write keep their position until the others reach it.
            waits = not batch.events and (alone or behind)
            if not waits and not await self._apply(batch):
                return self._page
        self._batches[shard] = _batches([f for batch in batches for f in batch.followers], batches)
        return most

    async def _followers(self, shard: int) -> list[Follower]:
        """Return every generation that has a bookmark in this shard."""
        bookmarks = await self._tail.bookmarks(shard)
        generations = {each.key: each for each in await self._projections.generations()}
        return [
            Follower(generations[bookmark.key], bookmark)
            for bookmark in bookmarks
            if bookmark.key in generations
        ]

    async def _apply(self, batch: "_Batch") -> bool:
        """Write each changed row once, and move the bookmarks behind the folded events."""
        before, end = batch.followers[0].reached, batch.folded
        if end <= before:
            batch.folded = before
            return True
        changes = {
            key: [
                self._change(key[0], id, row, is_new=(key, id) in batch.new)
                for id, row in rows.items()
            ]
            for key, rows in batch.changed.items()
        }
        bookmarks = [follower.bookmark for follower in batch.followers]
        moved = (
            await self._projections.apply(batch.followers, end, changes)
            if any(changes.values())
            else await self._tail.move(bookmarks, end)
        )
        if not moved:
            self._forget()
            return False
        for key, written in changes.items():
            for change in written:
                self._cache.keep((key, change.id), batch.changed[key][change.id], len(change.row))
        batch.move(end)
        return True

    def _change(self, name: str, id: UUID, row: Row, is_new: bool) -> RowChange:
        fold = self._folds[name]
        facets = fold.facets(row)
        return RowChange(
            id=id,
            version=row.version,
            owner_id=row.owner_id,
            facets=facets,
            marks=fold.marks(id, row, facets),
            row=fold.dump(row),
            entry=entry_of(fold.view, id, row),
            new_of_team=getattr(row.state, "team_id", None) if is_new else None,
        )

    async def _fold(self, batch: "_Batch", events: Sequence[TailEvent]) -> None:
        """Fold a page into the rows that each follower of a batch has changed."""
        by_type: dict[str, dict[UUID, list[TailEvent]]] = defaultdict(lambda: defaultdict(list))
        for event in events:
            by_type[event.stream_type][event.stream_id].append(event)
        for follower in batch.followers:
            if own := by_type.get(self._types[follower.generation.name]):
                await self._fold_own(batch, follower, own)
        batch.events += len(events)
        batch.bytes += sum(map(len, map(PAYLOAD, events)))

    async def _fold_own(
        self, batch: "_Batch", follower: Follower, own: Mapping[UUID, Sequence[TailEvent]]
    ) -> None:
        """Fold the events of one follower's streams."""
        name, key = follower.generation.name, follower.key
        fold, mine = self._folds[name], self._types[name]
        changed = batch.changed.setdefault(key, {})
        rows = {id: changed.get(id) or self._cache.take((key, id)) for id in own}
        if unknown := [id for id, run in own.items() if rows[id] is None and run[0].version > 1]:
            stored = await self._projections.stored(follower.generation, unknown)
            rows.update({id: fold.load(*found) for id, found in stored.items()})
            batch.bytes += sum(len(row) for _, row in stored.values())
        for id, run in own.items():
            row = rows[id]
            before = row.version if row else 0
            # When the shards change, a new bookmark starts at the lowest of the old ones.
            ahead = run if run[0].version > before else [e for e in run if e.version > before]
            versions = [event.version for event in ahead]
            if versions != [*range(before + 1, before + 1 + len(ahead))]:
                raise BrokenStreamError(f"{mine} {id} came to versions {versions} after {before}")
            if not before:
                batch.new.add((key, id))
            if ahead:
                changed[id] = fold.after(row, ahead, run[0].principal_id)

    def _forget(self) -> None:
        self._batches.clear()
        self._cache.clear()


class _Batch:
    """Followers at one position, and the rows changed since their bookmarks moved."""

    def __init__(self, followers: Sequence[Follower]) -> None:
        self.followers, self.folded = followers, followers[0].reached
        self.changed: dict[tuple[str, int], dict[UUID, Row]] = {}
        self.new: set[tuple[tuple[str, int], UUID]] = set()
        """The rows among them that the list did not have."""
        self.events = self.bytes = 0

    def is_full(self, bounds: Bounds) -> bool:
        """Whether the rows of this batch must be written before more events are folded."""
        rows = sum(map(len, self.changed.values()))
        return rows >= bounds.rows or self.bytes >= bounds.bytes or self.events >= bounds.events

    def move(self, reached: Position) -> None:
        """Start an empty batch at the new position of the bookmarks."""
        self.followers = [
            Follower(generation, replace(bookmark, reached=reached))
            for generation, bookmark in self.followers
        ]
        self.folded, self.changed, self.new = reached, {}, set()
        self.events = self.bytes = 0


def _batches(followers: Sequence[Follower], before: Sequence[_Batch] = ()) -> list[_Batch]:
    """Group followers by position, the lowest first; batches with folded events stay."""
    under_way = [batch for batch in before if batch.events]
    busy = {follower.key for batch in under_way for follower in batch.followers}
    idle = sorted((f for f in followers if f.key not in busy), key=lambda f: f.reached)
    together = [_Batch(list(group)) for _, group in groupby(idle, key=lambda f: f.reached)]
    return sorted([*under_way, *together], key=lambda batch: batch.folded)


class _RowCache:
    """A cache of written rows; the least recently used rows are dropped first."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds, self._bytes = bounds, 0
        self._rows: OrderedDict[tuple[tuple[str, int], UUID], tuple[Row, int]] = OrderedDict()

    def keep(self, key: tuple[tuple[str, int], UUID], row: Row, size: int) -> None:
        """Add a row of this size, and drop rows beyond the bounds."""
        self._rows[key] = row, size
        self._bytes += size
        while len(self._rows) > self._bounds.rows or self._bytes > self._bounds.bytes:
            self._bytes -= self._rows.popitem(last=False)[1][1]

    def take(self, key: tuple[tuple[str, int], UUID]) -> Row | None:
        """Remove and return a row, if it is cached."""
        row, size = self._rows.pop(key, (None, 0))
        self._bytes -= size
        return row

    def clear(self) -> None:
        """Drop everything."""
        self._rows.clear()
        self._bytes = 0
