"""The event-store seam: what the one path asks of whatever keeps the events."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from msgspec import Raw

from beamkeep.kernel import (
    Cannot,
    Denial,
    Fenced,
    Grant,
    Insert,
    ListFilter,
    Record,
    Refusal,
    Rows,
    SideWrite,
    Standing,
    Table,
    View,
)

type Stream = tuple[str, UUID]
"""An aggregate's name and id."""

READ_AT_ONCE = 1000
"""The most events of one stream that one statement reads: a long stream is read in pages."""


class StoredEvent(NamedTuple):
    """An event as it was stored: all that a fold needs.

    Read it by position: an adapter may hand over its driver's rows when they begin with these.
    """

    version: int
    event_type: str
    schema_version: int
    payload: bytes | str


class CallLookup(Record):
    """What one statement finds out before anything is decided."""

    identity: tuple[str, str] | None
    """Issuer and subject of a verified token."""
    principal_id: UUID | None
    """The principal itself, for calls from inside the service."""
    conduit_id: UUID | None
    surface_id: UUID | None
    command_name: str | None
    """None finds the grants for every command."""
    idempotency_key: str | None = None
    stream: Stream | None = None
    fold: UUID | None = None
    """The fold whose snapshot of the stream is read; without one, the events from the first on."""


class StoredAnswer(Record):
    """An answer given earlier to the same idempotency key."""

    fingerprint: bytes
    status: int
    result: bytes
    version: int | None = None
    position: "Position | None" = None
    """Neither is known of an answer that was kept before they were."""


class Snapshot(Record):
    """The state of a stream at a version, kept so that the events up to it need not be folded."""

    version: int
    state: bytes


class LoadedStream(Record):
    """A stream as one statement reads it: its events after the snapshot, if there is one.

    Where there are `READ_AT_ONCE` events, more may follow.
    """

    events: Sequence[StoredEvent] = ()
    snapshot: Snapshot | None = None


class CallContext(Record):
    """What the opening statement found; of a call that is not permitted, only who calls."""

    standing: Standing | None
    grants: tuple[Grant, ...]
    stored_answer: StoredAnswer | None = None
    owner_id: UUID | None = None
    """Who wrote the stream's first event."""
    loaded: LoadedStream = LoadedStream()


class NewEvent(NamedTuple):
    stream: Stream
    version: int
    event_id: UUID
    event_type: str
    schema_version: int
    payload: bytes
    command_name: str | None = None
    """The command that decided this event, where it is not the append's."""

    @property
    def stored(self) -> StoredEvent:
        return StoredEvent(self.version, self.event_type, self.schema_version, self.payload)


class NewSnapshot(NamedTuple):
    """A snapshot to be kept, and the fold that made it."""

    stream: Stream
    fold: UUID
    snapshot: Snapshot


class AnswerToStore(Record):
    """The answer to keep under an idempotency key."""

    key: str
    fingerprint: bytes
    status: int
    result: bytes
    version: int


class Append(Record):
    """Everything one decision writes: all of it or none."""

    events: Sequence[NewEvent]
    read: Mapping[Stream, int]
    """The version of every other stream the decision rests on."""
    side_writes: Sequence[SideWrite | Rows]
    answer: AnswerToStore | None
    command_name: str
    principal_id: UUID
    surface_id: UUID | None
    correlation_id: UUID
    causation_id: UUID | None
    occurred_at: datetime
    snapshots: Sequence[NewSnapshot] = ()
    """Of streams this very decision writes to."""
    fence: Fenced | None = None


class Position(NamedTuple):
    """A place in the order of all events."""

    tx: int
    position: int

    def __str__(self) -> str:
        return f"{self.tx}-{self.position}"


BEGINNING = Position(0, 0)


class Envelope(Record):
    """An event with everything known about it."""

    event_id: UUID
    stream_type: str
    stream_id: UUID
    version: int
    position: int
    event_type: str
    schema_version: int
    principal_id: UUID
    command_name: str
    surface_id: UUID | None
    correlation_id: UUID
    causation_id: UUID | None
    recorded_at: datetime
    occurred_at: datetime
    payload: Raw

    @property
    def recorded(self) -> StoredEvent:
        return StoredEvent(self.version, self.event_type, self.schema_version, bytes(self.payload))


class MovedError(Exception):
    """A stream that was written or read has moved on: load and decide again."""


class AlreadyAnsweredError(Exception):
    """The idempotency key was answered meanwhile: read the answer."""


class KeyTakenError(Exception):
    """Another holder has the key of a row beside the streams."""

    def __init__(self, insert: Insert) -> None:
        super().__init__(insert.table.name)
        self.insert = insert


class RowsStoredError(Exception):
    """Some rows are stored already: by key, the value of the column they are stored under."""

    def __init__(self, under: Mapping[object, object]) -> None:
        super().__init__(len(under))
        self.under = under


class DuplicateEventError(Cannot):
    """An event with this id is already in the stream; nothing was written."""


class WorkLostError(Cannot):
    """Another worker has taken over this work, or the work has ended; nothing was written."""


class StoreUnavailableError(Refusal, status=503, retry_after=1):
    """The database does not answer; nothing was written."""


class OutcomeUnknownError(Refusal, status=503, retry_after=1):
    """The database went away while it wrote, and whether it wrote is not known yet.

    Repeat the request with the same idempotency key, or read the object before trying again.
    """


class IdempotencyInFlightError(Refusal, status=409, retry_after=1):
    """The first request with this idempotency key is still being written."""


class RowQuery(Record):
    """Which rows of a table are asked for, and in which order."""

    where: Mapping[str, object]
    compared: tuple[tuple[str, str, Any], ...]
    """A column, a comparison, and with what."""
    by: tuple[str, ...]
    newest_first: bool
    after: tuple[Any, ...]
    """What the columns of the order have in the last row of the page before, if there was one."""


class EventStore(Protocol):
    """Keeps events for ever, in order, and the rows written with them."""

    async def open(self, opening: CallLookup) -> CallContext:
        """Find who calls, what they may do, what was answered before, and the target's events."""
        ...

    async def load(
        self, streams: Sequence[Stream], folds: Mapping[str, UUID] | None = None
    ) -> Mapping[Stream, LoadedStream]:
        """Read these streams, with the snapshots of these folds by aggregate name."""
        ...

    async def owners(self, streams: Sequence[Stream]) -> Mapping[Stream, UUID]:
        """Who wrote the first event of each of these streams."""
        ...

    async def append(self, append: Append) -> Position:
        """Write all of it or nothing, unless something it rests on has moved."""
        ...

    async def history(self, stream: Stream, after: int, limit: int) -> Sequence[Envelope]:
        """The events of one stream after a version."""
        ...

    async def happened(
        self,
        types: Sequence[str],
        since: datetime,
        until: datetime,
        owner_id: UUID | None,
        limit: int,
    ) -> Sequence[tuple[str, StoredEvent]]:
        """Events of these types between two times, oldest first, each with its aggregate's name.

        Only those of the owner's streams where one is named.
        """
        ...

    async def latest(
        self, streams: Sequence[Stream], types: Sequence[str], before: datetime
    ) -> Mapping[Stream, StoredEvent]:
        """The last event of these types that each of the streams had before a time."""
        ...

    async def rows[R](self, table: Table[R], where: Mapping[str, object]) -> tuple[R, ...]:
        """The rows whose columns equal these values, or are among them where a set is given."""
        ...

    async def entries[R](self, table: Table[R], row_query: "RowQuery", limit: int) -> tuple[R, ...]:
        """Rows beside one aggregate, in the order asked for."""
        ...

    async def above[R](self, table: Table[R], ids: Sequence[UUID]) -> tuple[R, ...]:
        """The rows of a tree with these ids and all those above them."""
        ...

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Keep every other process out of a piece of work while this one does it."""
        ...

    def is_contended(self, stream: Stream | None) -> bool:
        """Whether a command on this stream has to wait for its turn."""
        ...

    def wait_turn(self, stream: Stream | None) -> AbstractAsyncContextManager[None]:
        """Let commands on a stream that is fought over come one after the other."""
        ...

    async def keep_snapshots(self, snapshots: Sequence[NewSnapshot]) -> None:
        """Keep snapshots apart from any append; a newer one of the same fold stays."""
        ...

    async def outdated_snapshots(
        self, folds: Sequence[UUID], after: Stream, limit: int
    ) -> Sequence[Stream]:
        """Streams after this one that have a snapshot of another fold and none of these."""
        ...

    async def drop_snapshots(self, folds: Sequence[UUID], days: int) -> int:
        """Drop snapshots of other folds than these that are older, and answer how many."""
        ...

    async def deny(self, denial: Denial) -> None:
        """Record a denial, in a transaction of its own."""
        ...

    async def record_refusal(self, insert: Insert) -> None:
        """Write the row a refusal leaves, in a transaction of its own, unless its key is taken."""
        ...


class ReadModel(Protocol):
    """The lists that projections keep."""

    async def listing(
        self,
        view: View[Any],
        list_filter: ListFilter,
        owner_id: UUID | None,
        after: UUID | None,
        limit: int,
    ) -> Sequence[tuple[UUID, bytes]]:
        """Rows by id, as JSON, each with its id; only the owner's where one is named."""
        ...

    async def follows(self, view: View[Any], position: Position) -> bool:
        """Whether the view shows everything up to a position."""
        ...
