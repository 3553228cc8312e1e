"""How the projector batches: many pages far behind, one page near the end, and never too much."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.tail import MemoryTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.directory.entries import Entry
from beamkeep.feed.lists.rows import Row, RowFold
from beamkeep.feed.tail import WHOLE_LOG, TailEvent
from beamkeep.kernel import View
from beamkeep.runtime.codec import BrokenStreamError
from beamkeep.runtime.store import BEGINNING, Position
from beamkeep.testing.appends import CODEC, ME, registered, updated
from beamkeep.workers.projector import BOUNDS, Bounds, Follower, Generation, Projector, RowChange

pytestmark = pytest.mark.anyio

ACTOR: View[Any] = next(view for view in CATALOGUE.views if view.name == "actor")
SHARD, PAGE = WHOLE_LOG, 10

type Key = tuple[str, int]


class MemoryProjections:
    """A log and the rows of its followers in memory, and what was asked of them."""

    def __init__(self) -> None:
        self.log: list[TailEvent] = []
        self.tail = MemoryTail(self.log)
        self.rows: dict[Key, dict[UUID, RowChange]] = {}
        self.applied: list[list[RowChange]] = []
        self.before_apply: Callable[[], Awaitable[None]] | None = None

    async def begin(self, generation: int) -> None:
        self.rows["actor", generation] = {}
        await self.tail.begin("actor", generation, [SHARD])

    def happens(self, id: UUID, version: int) -> None:
        event = CODEC.encode(registered(id) if version == 1 else updated(id), version, uuid7())
        stored = event.version, event.event_type, event.schema_version, event.payload
        self.log.append(
            TailEvent(
                *stored,
                tx=len(self.log) + 1,
                position=1,
                stream_type="Actor",
                stream_id=id,
                principal_id=ME,
                watermark=0,
            )
        )

    async def reached(self) -> list[Position]:
        return [bookmark.reached for bookmark in await self.tail.bookmarks(SHARD)]

    async def generations(self) -> Sequence[Generation]:
        return [Generation(*key, live=key[1] == 1, declared=1) for key in self.rows]

    async def stored(
        self, generation: Generation, ids: Sequence[UUID]
    ) -> Mapping[UUID, tuple[int, bytes]]:
        rows = self.rows[generation.key]
        return {id: (rows[id].version, rows[id].row) for id in ids if id in rows}

    async def apply(
        self,
        followers: Sequence[Follower],
        reached: Position,
        changes: Mapping[Key, Sequence[RowChange]],
    ) -> bool:
        if meanwhile := self.before_apply:
            self.before_apply = None
            await meanwhile()
        if not await self.tail.move([follower.bookmark for follower in followers], reached):
            return False
        for follower in followers:
            written = changes.get(follower.key, ())
            self.rows[follower.key].update({change.id: change for change in written})
            self.applied.append([*written])
        return True

    async def switch(self) -> Sequence[str]:
        return ()

    async def outdated(self, declared: Mapping[str, int]) -> Sequence[Generation]:
        return ()

    async def rows_after(
        self, generation: Generation, after: UUID
    ) -> Sequence[tuple[UUID, int, bytes]]:
        return ()

    async def remake(
        self, generation: Generation, entries: Sequence[Entry], declared: int | None
    ) -> None:
        raise AssertionError("no entry is outdated")

    def require_in_step(self) -> None:
        """Every follower shows what the events alone make of each stream."""
        fold, rows = RowFold(ACTOR, CODEC), dict[UUID, Row]()
        for event in self.log:
            rows[event.stream_id] = fold.after(rows.get(event.stream_id), [event], ME)
        wanted = {id: (row.version, fold.dump(row)) for id, row in rows.items()}
        for found in self.rows.values():
            assert {id: (each.version, each.row) for id, each in found.items()} == wanted


def by_turns(projections: MemoryProjections, streams: int, versions: int) -> None:
    """Events of many streams such that no page has two of one stream."""
    ids = [uuid7() for _ in range(streams)]
    for version in range(1, versions + 1):
        for id in ids:
            projections.happens(id, version)


@pytest.fixture
async def projections() -> MemoryProjections:
    projections = MemoryProjections()
    await projections.begin(1)
    return projections


def projector(projections: MemoryProjections, bounds: Bounds = BOUNDS) -> Projector:
    return Projector(
        [ACTOR], CODEC, projections.tail, projections=projections, page=PAGE, bounds=bounds
    )


async def test_far_behind_each_row_is_written_once_however_its_events_are_interleaved(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=12)
    await projector(projections).catch_up([SHARD])
    (written,) = projections.applied
    assert len(written) == PAGE
    projections.require_in_step()


async def test_near_the_end_a_page_is_written_at_once(projections: MemoryProjections):
    following, id = projector(projections), uuid7()
    for version in (1, 2, 3):
        projections.happens(id, version)
        assert await following.step(SHARD) == 1
        assert [change.version for change in projections.applied[-1]] == [version]
    assert len(projections.applied) == 3
    assert await following.step(SHARD) == 0
    assert len(projections.applied) == 3, "nothing is written where nothing happened"


async def test_a_page_that_ends_where_the_log_does_is_written_in_the_next_step(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=1)
    following = projector(projections)
    assert await following.step(SHARD) == PAGE
    assert projections.applied == []
    assert await following.step(SHARD) == 0
    projections.require_in_step()


@pytest.mark.parametrize(
    "bounds",
    [
        Bounds(rows=25, bytes=10**9, events=10**9),
        Bounds(rows=10**9, bytes=10**9, events=25),
        Bounds(rows=10**9, bytes=2_000, events=10**9),
    ],
    ids=["rows", "events", "bytes"],
)
async def test_no_more_is_held_than_is_allowed_and_one_page(
    projections: MemoryProjections, bounds: Bounds
):
    by_turns(projections, streams=100, versions=4)
    await projector(projections, bounds).catch_up([SHARD])
    assert len(projections.applied) > 10
    size = len(projections.log[-1].payload)
    for written in projections.applied:
        assert len(written) < min(bounds.rows, bounds.events) + PAGE
        assert len(written) * size < bounds.bytes + 2 * PAGE * size
    projections.require_in_step()


async def test_rows_that_are_no_longer_stored_are_read_again(projections: MemoryProjections):
    by_turns(projections, streams=50, versions=3)
    await projector(projections, Bounds(rows=1, bytes=1, events=1)).catch_up([SHARD])
    assert len(projections.applied) == 15
    projections.require_in_step()


async def test_a_worker_that_ends_between_pages_leaves_nothing_half_done(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=5)
    ended = projector(projections)
    for _ in range(3):
        await ended.step(SHARD)
    assert projections.applied == []
    assert await projections.reached() == [BEGINNING]
    await projector(projections).catch_up([SHARD])
    projections.require_in_step()


async def test_a_worker_whose_write_failed_begins_again_at_the_bookmark(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=3)
    following = projector(projections)

    async def lost() -> None:
        raise ConnectionError("lost")

    projections.before_apply = lost
    with pytest.raises(ConnectionError):
        await following.catch_up([SHARD])
    await following.catch_up([SHARD])
    projections.require_in_step()


async def test_a_worker_that_was_overtaken_writes_nothing_of_its_batch(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=5)
    following, moved = projector(projections), Position(PAGE, 1)

    async def another_moves() -> None:
        for event in projections.log[:PAGE]:
            row = RowFold(ACTOR, CODEC).after(None, [event], ME)
            dumped = RowFold(ACTOR, CODEC).dump(row)
            made = RowChange(event.stream_id, 1, ME, facets=(), marks=(), row=dumped, entry=None)
            projections.rows["actor", 1][event.stream_id] = made
        assert await projections.tail.move(await projections.tail.bookmarks(SHARD), moved)

    projections.before_apply = another_moves
    for _ in range(6):
        await following.step(SHARD)
    assert await projections.reached() == [moved]
    assert projections.applied == []
    await following.catch_up([SHARD])
    projections.require_in_step()


async def test_a_hole_between_two_pages_of_a_batch_is_noticed_and_nothing_is_written(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=2)
    projections.happens(projections.log[0].stream_id, 4)
    with pytest.raises(BrokenStreamError, match=r"came to versions \[4\] after 2"):
        await projector(projections).catch_up([SHARD])
    assert projections.applied == []


async def test_a_list_that_is_read_is_fresh_while_its_successor_is_still_being_built(
    projections: MemoryProjections,
):
    by_turns(projections, streams=PAGE, versions=8)
    following = projector(projections)
    await following.catch_up([SHARD])
    await projections.begin(2)
    await following.review()
    new = uuid7()
    for version in range(1, 4):
        projections.happens(new, version)
        await following.step(SHARD)
        assert projections.rows["actor", 1][new].version == version
        assert projections.rows["actor", 2] == {}
    await following.catch_up([SHARD])
    assert len({*await projections.reached()}) == 1, "all stand at one place again"
    projections.require_in_step()
