"""The tail in memory: the twin for fast tests."""

from collections.abc import Sequence

from beamkeep.feed.tail import PARTITIONS, WHOLE_LOG, Bookmark, TailEvent, TailPage
from beamkeep.kernel import replace
from beamkeep.runtime.store import BEGINNING, Position


class MemoryTail:
    """Reads a log in memory in order and keeps the bookmarks of its followers."""

    def __init__(self, log: Sequence[TailEvent]) -> None:
        self._log = log
        self._bookmarks: dict[tuple[str, int, int], Bookmark] = {}
        self.open_transactions: set[int] = set()
        """Ids of transactions that may still write; the store itself never leaves one open."""

    @property
    def watermark(self) -> int:
        last = max((event.tx for event in self._log), default=0)
        return min(self.open_transactions, default=last + 1)

    async def begin(
        self, follower: str, generation: int, shards: Sequence[int], at: Position = BEGINNING
    ) -> None:
        """Put a bookmark at a position in each shard, unless the follower has one there."""
        for shard in shards:
            key = follower, generation, shard
            self._bookmarks.setdefault(key, Bookmark(*key, reached=at))

    async def bookmarks(self, shard: int) -> Sequence[Bookmark]:
        """Return the bookmarks of all followers in this shard."""
        return [bookmark for bookmark in self._bookmarks.values() if bookmark.shard == shard]

    async def page(
        self,
        shard: int,
        after: Position,
        limit: int,
        stream_types: Sequence[str] | None = None,
        until: int | None = None,
    ) -> TailPage:
        """Return the next events after a position, of these stream types or of all."""
        watermark = self.watermark
        below = watermark if until is None else min(watermark, until)
        found = [
            event
            for event in self._log
            if event.at > after
            and event.tx < below
            and shard in {WHOLE_LOG, event.stream_id.int % PARTITIONS}
            and (stream_types is None or event.stream_type in stream_types)
        ]
        return TailPage(watermark, sorted(found, key=lambda event: event.at)[:limit])

    async def move(self, bookmarks: Sequence[Bookmark], reached: Position) -> bool:
        """Move these bookmarks, or none of them if any has been moved since it was read."""
        keys = [(bookmark.follower, bookmark.generation, bookmark.shard) for bookmark in bookmarks]
        if [self._bookmarks.get(key) for key in keys] != list(bookmarks):
            return False
        self._bookmarks.update(
            {key: replace(self._bookmarks[key], reached=reached) for key in keys}
        )
        return True
