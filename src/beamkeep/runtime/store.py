"""The event-store seam: what the call path needs of a store."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from msgspec import Raw

from beamkeep import kernel
from beamkeep.kernel import Cannot, Record, Refusal, Sight, Table

from .answers import AnswerEvidence

type Stream = tuple[str, UUID]
"""An aggregate's name and id."""

READ_AT_ONCE = 1000
"""The most events of one stream that one statement reads: a long stream is read in pages."""


type EventRow = tuple[int, str, int, bytes | str, *tuple[Any, ...]]
"""A row that begins with the fields of `StoredEvent`."""


class StoredEvent(NamedTuple):
    """A stored event. Read it by position: it may be a driver's row that begins so."""

    version: int
    event_type: str
    schema_version: int
    payload: bytes | str


class CallLookup(Record):
    """What the opening statement of a call looks up."""

    identity: tuple[str, str] | None
    """Issuer and subject of a verified token."""
    principal_id: UUID | None
    """The principal of a call without a token."""
    conduit_id: UUID | None
    surface_id: UUID | None
    command_name: str | None
    """The command whose grants are read; None for all commands."""
    proposable: bool = False
    """Whether grants that let this command be proposed are read, too."""
    idempotency_key: str | None = None
    stream: Stream | None = None
    fold: UUID | None = None
    """The fold whose snapshot is read; without one, all events are read."""
    recalls: bool = False
    """Whether the store may answer from memory; the append then asks whether that still holds."""
    creates: bool = False
    """Whether the call creates an object that may belong to the team in control of the surface."""


class StoredAnswer(Record):
    """An answer given earlier to the same idempotency key."""

    fingerprint: bytes
    status: int
    result: bytes
    version: int | None = None
    position: "Position | None" = None
    """Unknown, like the version, for answers that early releases stored."""


class Snapshot(Record):
    """The state of a stream at a version, from which later events are folded."""

    version: int
    state: bytes


class LoadedStream(Record):
    """A snapshot, if there is one, and at most `READ_AT_ONCE` events after it."""

    events: Sequence[StoredEvent] = ()
    snapshot: Snapshot | None = None


class CallContext(Record):
    """What the opening statement found; for a denied call, only the standing and the grants."""

    standing: kernel.Standing | None
    grants: tuple[kernel.Grant, ...]
    stored_answer: StoredAnswer | None = None
    owner_id: UUID | None = None
    """The principal of the stream's first event."""
    is_member: bool = False
    """Whether a grant for teams counts, and the caller is in the team of the stream now."""
    loaded: LoadedStream = LoadedStream()
    controlling: tuple[UUID, ...] | None = None
    """The visit that controls the surface, if any; None if that was not looked up."""
    memory: "Memory | None" = None
    """Set where the lookup allowed an answer from memory."""

    @property
    def is_recalled(self) -> bool:
        """Whether it was not read for this call."""
        return self.memory is not None and self.memory.is_recalled


class Memory(Record):
    """What a store needs to remember a call that is written, and to ask whether that holds."""

    lookup: CallLookup
    era: int
    """It changes with each connection that is lost."""
    is_recalled: bool = False
    last_event_id: UUID | None = None
    """The last event of the target that the store remembers."""


class NewEvent(NamedTuple):
    stream: Stream
    version: int
    event_id: UUID
    event_type: str
    schema_version: int
    payload: bytes
    command_name: str | None = None
    """The command that decided this event, if it is not that of the append."""

    @property
    def stored(self) -> StoredEvent:
        return StoredEvent(self.version, self.event_type, self.schema_version, payload=self.payload)


class NewSnapshot(NamedTuple):
    """A snapshot to store, and the fold that made it."""

    stream: Stream
    fold: UUID
    snapshot: Snapshot


class StoredSnapshot(Record):
    """A snapshot as it is stored, with its owner and the principal of the first event."""

    stream: Stream
    snapshot: Snapshot
    owner_id: UUID | None
    first_principal_id: UUID | None


class AnswerToStore(Record):
    """The answer to store under an idempotency key."""

    key: str
    fingerprint: bytes
    status: int
    result: bytes
    version: int | None


class Append(Record):
    """Everything that one decision writes, all or nothing."""

    events: Sequence[NewEvent]
    read: Mapping[Stream, int]
    """The versions of the other streams that were read."""
    side_writes: Sequence[kernel.SideWrite | kernel.Rows]
    answer: AnswerToStore | None
    command_name: str
    principal_id: UUID
    surface_id: UUID | None
    correlation_id: UUID
    causation_id: UUID | None
    occurred_at: datetime
    snapshots: Sequence[NewSnapshot] = ()
    fence: kernel.Fenced | None = None
    opened: CallContext | None = None
    """What a command was decided by that the store may remember, or that it recalled."""


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
    transaction_id: int
    """Of the transaction that wrote it; with the position, its place among all events."""
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
        payload = bytes(self.payload)
        return StoredEvent(self.version, self.event_type, self.schema_version, payload=payload)


class MovedError(Exception):
    """A stream that was read has changed. Load and decide again."""


class AlreadyAnsweredError(Exception):
    """An answer is stored under this idempotency key now. Read it."""


class KeyTakenError(Exception):
    """Another holder has the key of a row next to the streams."""

    def __init__(self, insert: kernel.Insert) -> None:
        super().__init__(insert.table.name)
        self.insert = insert


class RowsStoredError(Exception):
    """Some rows are stored already; `under` has the value of their column, by key."""

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
    """Which rows of a table are read, and in which order."""

    where: Mapping[str, object]
    compared: tuple[tuple[str, str, Any], ...]
    """Column, comparison, value."""
    by: tuple[str, ...]
    newest_first: bool
    after: tuple[Any, ...]
    """The values of the columns `by` in the last row of the page before, if there was one."""


class ListFilter(Record):
    """What the rows of a list must have."""

    now: datetime
    every: tuple[str, ...] = ()
    """All of these properties, each as `name=value`."""
    groups: tuple[tuple[str, ...], ...] = ()
    """At least one property of each group."""
    none: tuple[str, ...] = ()
    """None of these properties."""
    compared: tuple[tuple[str, str, datetime], ...] = ()
    """Times that compare so: field, comparison, value."""
    period: tuple[kernel.Period, bool] | None = None
    along: Mapping[str, UUID] = {}
    """A place in the tree."""
    owner_id: UUID | None = None
    created: tuple[tuple[str, datetime], ...] = ()
    """How the time of creation compares, and with what."""


class ListPage(Record):
    """Which part of a list is read."""

    limit: int
    after: UUID | None = None
    """The last object of the page before."""
    newest_first: bool = False
    ids_only: bool = False
    """Whether the rows themselves are left out."""


class ListRow(NamedTuple):
    """A row of a list."""

    id: UUID
    row: bytes
    """The row as JSON."""
    version: int
    """The version of the object that the row shows."""


class EventStore(Protocol):
    """Stores events in order, and the rows written with them."""

    async def open(self, opening: CallLookup) -> CallContext:
        """Return the caller's standing and grants, a stored answer, and the target's events."""
        ...

    async def load(
        self, streams: Sequence[Stream], folds: Mapping[str, UUID] | None = None
    ) -> Mapping[Stream, LoadedStream]:
        """Return these streams, with the snapshots of these folds, by aggregate name."""
        ...

    async def later(self, stream: Stream, after: int, limit: int) -> Sequence[StoredEvent]:
        """Return the events of one stream after a version, without their envelopes."""
        ...

    async def owners(self, streams: Sequence[Stream]) -> Mapping[Stream, UUID]:
        """Return the principal of the first event of each of these streams."""
        ...

    async def reached(self, streams: Sequence[Stream], sight: Sight) -> Mapping[Stream, bool]:
        """Return whether each of these streams is in sight; leave out those that do not exist."""
        ...

    async def append(self, append: Append) -> Position:
        """Write everything and return its position. Raise MovedError when a stream changed."""
        ...

    async def history(self, stream: Stream, after: int, limit: int) -> Sequence[Envelope]:
        """Return the events of one stream after a version."""
        ...

    async def happened(
        self,
        types: Sequence[str],
        since: datetime,
        until: datetime,
        sight: Sight | None,
        limit: int,
    ) -> Sequence[tuple[str, StoredEvent]]:
        """Return events between two times, oldest first, each with its aggregate's name."""
        ...

    async def latest(
        self, streams: Sequence[Stream], types: Sequence[str], before: datetime
    ) -> Mapping[Stream, StoredEvent]:
        """Return the last event of these types that each of the streams had before a time."""
        ...

    async def rows[R](self, table: Table[R], where: Mapping[str, object]) -> tuple[R, ...]:
        """Return the rows whose columns equal these values, or are in them where one is a set."""
        ...

    async def entries[R](self, table: Table[R], row_query: "RowQuery", limit: int) -> tuple[R, ...]:
        """Return rows in the order of the query."""
        ...

    async def last[R](
        self, table: Table[R], column: str, by: str, ids: Sequence[UUID]
    ) -> tuple[R, ...]:
        """Return, for each of these ids in one column, the row with the greatest value in `by`."""
        ...

    async def above[R](self, table: Table[R], ids: Sequence[UUID]) -> tuple[R, ...]:
        """Return the rows of a tree with these ids and all rows above them."""
        ...

    def alone(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold a lock of this name, which one process at a time can hold."""
        ...

    def is_contended(self, stream: Stream | None) -> bool:
        """Return whether a command on this stream has to wait for its turn."""
        ...

    def wait_turn(self, stream: Stream | None) -> AbstractAsyncContextManager[None]:
        """Hold the turn of a contended stream, on which one command runs at a time."""
        ...

    async def keep_snapshots(self, snapshots: Sequence[NewSnapshot]) -> None:
        """Store snapshots without an append; a newer snapshot of the same fold stays."""
        ...

    async def outdated_snapshots(
        self, folds: Sequence[UUID], after: Stream, limit: int
    ) -> Sequence[Stream]:
        """Return streams after this one that have a snapshot, but none of these folds."""
        ...

    async def drop_snapshots(self, folds: Sequence[UUID], days: int) -> int:
        """Delete older snapshots of other folds than these, and return how many."""
        ...

    async def deny(self, denial: kernel.Denial) -> None:
        """Record a denial, in a transaction of its own."""
        ...

    async def record_refusal(self, insert: kernel.Insert) -> None:
        """Write the row of a refusal in a transaction of its own, unless its key is taken."""
        ...

    async def keep_evidence(self, evidence: AnswerEvidence) -> None:
        """Store what an agent is about to be answered. Raise StoreUnavailableError if it cannot."""
        ...


class ReadModel(Protocol):
    """The lists that the projector maintains."""

    async def listing(
        self,
        view: kernel.View[Any],
        list_filter: ListFilter,
        sight: Sight | None,
        page: ListPage,
    ) -> Sequence[ListRow]:
        """Return rows in the order of their ids; with `sight`, only those in sight."""
        ...

    async def follows(self, views: Sequence[kernel.View[Any]], position: Position) -> bool:
        """Return whether these views include everything up to a position."""
        ...
