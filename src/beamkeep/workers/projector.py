"""The projector: follows the events in order and keeps every list's rows in step."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, Protocol
from uuid import UUID

import structlog

from beamkeep.kernel import Record, View, replace
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.rows import Row, RowFold
from beamkeep.runtime.store import Position, Tailed

PAGE = 1000
KEPT_ROWS = 20_000
BUSY_PAUSE, LONGEST_PAUSE, FAILURE_PAUSE, GATHERING = 0.025, 0.25, 1.0, 0.01
REVIEW_EVERY = 2.0

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Follower(Record):
    """One generation of one view's rows, and how far it has come in one shard."""

    name: str
    generation: int
    live: bool
    reached: Position

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.generation


class TailPage(Record):
    """Events in order, and the transaction id below which nothing more can appear."""

    watermark: int
    events: Sequence[Tailed]


class Change(NamedTuple):
    """A row to be put in place of an older one."""

    id: UUID
    version: int
    owner_id: UUID
    facets: Sequence[str]
    row: bytes


class Projections(Protocol):
    """Where the events are tailed and the rows kept."""

    async def followers(self, shard: int) -> Sequence[Follower]:
        """Every generation of every view, with its bookmark in this shard."""
        ...

    async def page(
        self,
        shard: int,
        after: Position,
        limit: int,
        names: Sequence[str] | None,
        until: int | None,
    ) -> TailPage:
        """The next events after a position, of these streams or of all, and the watermark."""
        ...

    async def stored(
        self, follower: Follower, ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[int, bytes]]:
        """The rows a follower has for these ids, with their versions."""
        ...

    async def apply(
        self,
        shard: int,
        followers: Sequence[Follower],
        reached: Position,
        changes: Mapping[tuple[str, int], Sequence[Change]],
    ) -> bool:
        """Move the bookmarks and write the rows, unless another worker has moved them."""
        ...

    async def switch(self) -> Sequence[str]:
        """Make each generation that has caught up the one that is read, and say which."""
        ...


class Projector:
    """Follows one or more shards of the log. Any number may run: each page is applied once."""

    def __init__(
        self, views: Sequence[View[Any]], codec: Codec, projections: Projections, page: int = PAGE
    ) -> None:
        self._folds = {view.name: RowFold(view, codec) for view in views}
        self._types = {view.name: view.aggregate.name for view in views}
        self._projections, self._page = projections, page
        self._followers: dict[int, Sequence[Follower]] = {}
        self._rows: dict[tuple[tuple[str, int], int], OrderedDict[UUID, Row]] = {}

    async def run(
        self,
        lease: Callable[[], Awaitable[Sequence[int]]],
        wake: asyncio.Event,
        stop: asyncio.Event,
    ) -> None:
        """Follow the shards leased until told to stop; sleep longer the less there is to do."""
        pause, reviewed = BUSY_PAUSE, -REVIEW_EVERY
        shards: Sequence[int] = ()
        clock = asyncio.get_running_loop().time
        while not stop.is_set():
            try:
                if reviewed + REVIEW_EVERY < clock():
                    # A review that fails is repeated later; the lists that are read go on.
                    reviewed = clock()
                    shards = await lease()
                    await self.review()
                moved = max([await self.step(shard) for shard in shards], default=0)
                pause = 0.0 if moved else min(max(pause * 1.5, BUSY_PAUSE), LONGEST_PAUSE)
                if 0 < moved < self._page:
                    # What is written at about the same time is followed together.
                    await asyncio.sleep(GATHERING)
            except Exception:
                log.exception("projection step failed")
                self._forget()
                pause = FAILURE_PAUSE
            wake.clear()
            if pause:
                await _first(wake, stop, pause)

    async def review(self) -> None:
        """Notice new generations and other workers, and switch what has caught up."""
        for shard, known in list(self._followers.items()):
            if set(await self._projections.followers(shard)) != set(known):
                # The rows kept in memory are as old as the bookmarks.
                self._forget()
        if switched := await self._projections.switch():
            self._followers.clear()
            log.info("projections switched", names=switched)

    async def catch_up(self, shards: Sequence[int]) -> None:
        """Follow these shards to their present end."""
        while any([await self.step(shard) for shard in shards]):
            pass

    async def step(self, shard: int) -> int:
        """Apply the next page of one shard, and say how many events were in it."""
        if shard not in self._followers:
            self._followers[shard] = await self._projections.followers(shard)
        followers = sorted(self._followers[shard], key=lambda f: f.reached)
        groups = [list(group) for _, group in groupby(followers, key=lambda f: f.reached)]
        until: int | None = None
        most = 0
        for group in groups:
            names = None if len(groups) == 1 else [self._types[f.name] for f in group]
            page = await self._projections.page(shard, group[0].reached, self._page, names, until)
            # Followers that reach the end in one step reach the same end, and go on together.
            until = until or page.watermark
            full = len(page.events) == self._page
            if not page.events and len(groups) == 1:
                break
            end = page.events[-1].at if full else Position(until, 0)
            if end <= group[0].reached:
                continue
            most = max(most, len(page.events))
            if not await self._apply(shard, group, page.events, end):
                return self._page
        return most

    async def _apply(
        self, shard: int, group: Sequence[Follower], events: Sequence[Tailed], end: Position
    ) -> bool:
        by_type: dict[str, dict[UUID, list[Tailed]]] = {}
        for event in events:
            streams = by_type.setdefault(event.stream_type, {})
            streams.setdefault(event.stream_id, []).append(event)
        changes = {
            f.key: await self._fold(shard, f, own)
            for f in group
            if (own := by_type.get(self._types[f.name]))
        }
        if not await self._projections.apply(shard, group, end, changes):
            self._forget()
            return False
        moved = {f.key for f in group}
        known = self._followers[shard]
        self._followers[shard] = [replace(f, reached=end) if f.key in moved else f for f in known]
        return True

    async def _fold(
        self, shard: int, follower: Follower, own: Mapping[UUID, Sequence[Tailed]]
    ) -> Sequence[Change]:
        """The rows one follower has after these events, given by stream."""
        fold, mine = self._folds[follower.name], self._types[follower.name]
        rows = self._rows.setdefault((follower.key, shard), OrderedDict())
        if unknown := [id for id, run in own.items() if run[0].version > 1 and id not in rows]:
            stored = await self._projections.stored(follower, unknown)
            rows.update({id: fold.load(*found) for id, found in stored.items()})
        changed: dict[UUID, Row] = {}
        for id, run in own.items():
            row = rows.get(id)
            before = row.version if row else 0
            # Some were seen already: a bookmark starts furthest behind when the shards change.
            ahead = [event for event in run if event.version > before]
            if [event.version for event in ahead] != [*range(before + 1, before + 1 + len(ahead))]:
                found = f"{[event.version for event in ahead]} after {before}"
                raise BrokenStreamError(f"{mine} {id} came to versions {found}")
            if ahead:
                rows[id] = changed[id] = fold.after(row, ahead, run[0].principal_id)
        while len(rows) > KEPT_ROWS:
            rows.popitem(last=False)
        facets_of = fold.view.facets_of
        # Sorted: a set remembers how it was built, and rows built anew must equal the old ones.
        return [
            Change(id, row.version, row.owner_id, sorted(facets_of(row.state)), fold.dump(row))
            for id, row in changed.items()
        ]

    def _forget(self) -> None:
        self._followers.clear()
        self._rows.clear()


async def _first(wake: asyncio.Event, stop: asyncio.Event, pause: float) -> None:
    """Sleep until woken, stopped, or the pause is over."""
    waits = [asyncio.ensure_future(event.wait()) for event in (wake, stop)]
    await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
    for waiting in waits:
        waiting.cancel()
