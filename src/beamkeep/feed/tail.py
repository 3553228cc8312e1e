"""The tail seam: all events in one order, page by page, and a bookmark for each follower."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from beamkeep.kernel import Record
from beamkeep.runtime.store import BEGINNING, Position

WHOLE_LOG = -1
"""The shard that is the whole log."""
PARTITIONS = 16


class TailEvent(NamedTuple):
    """An event as the tail delivers it; its first fields are those of `StoredEvent`."""

    version: int
    event_type: str
    schema_version: int
    payload: bytes | str
    tx: int
    position: int
    stream_type: str
    stream_id: UUID
    principal_id: UUID
    watermark: int

    @property
    def at(self) -> Position:
        return Position(self.tx, self.position)


class TailPage(Record):
    """Events in order, and the transaction id below which no further event can appear."""

    watermark: int
    events: Sequence[TailEvent]


class Bookmark(Record):
    """How far one generation of a follower has come in one shard of the log."""

    follower: str
    generation: int
    shard: int
    reached: Position

    @property
    def key(self) -> tuple[str, int]:
        return self.follower, self.generation


class Tail(Protocol):
    """Delivers every event at least once, in the order of transaction id and position."""

    async def begin(
        self, follower: str, generation: int, shards: Sequence[int], at: Position = BEGINNING
    ) -> None:
        """Put a bookmark at a position in each shard, unless the follower has one there."""
        ...

    async def bookmarks(self, shard: int) -> Sequence[Bookmark]:
        """Return the bookmarks of all followers in this shard."""
        ...

    async def page(
        self,
        shard: int,
        after: Position,
        limit: int,
        stream_types: Sequence[str] | None = None,
        until: int | None = None,
    ) -> TailPage:
        """Return the next events of transactions below the watermark, and below `until`."""
        ...

    async def move(self, bookmarks: Sequence[Bookmark], reached: Position) -> bool:
        """Move these bookmarks, or none of them if any has been moved since it was read."""
        ...


def shards(number: int) -> tuple[int, ...]:
    """Return the shards of a log that is followed whole, or by its partitions."""
    return (WHOLE_LOG,) if number == 1 else tuple(range(PARTITIONS))
