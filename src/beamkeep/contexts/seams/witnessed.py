"""How checkpoints of the log, and the proof of one event, are asked for."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol
from uuid import UUID

from annotated_types import Ge, MaxLen

from beamkeep.kernel import Cannot, NotFound, Page, Query, Record
from beamkeep.kernel.values import Timestamp


class EventNotFoundError(NotFound):
    """There is no such event."""


class EventNotWitnessedError(Cannot, retry_after=60):
    """No checkpoint covers this event yet. The witness signs one every minute."""


class EventDiffersError(Cannot):
    """The event is not the one that the witness has signed. Run `beamkeep verify`."""


class WitnessedTree(StrEnum):
    EVENTS = "events"
    ROWS = "rows"


class GetEventProof(Query):
    """Get what proves to an outsider that one event is in the log as it was signed."""

    stream_type: Annotated[str, MaxLen(100)]
    """The kind of the object, such as `Run`."""
    stream_id: UUID
    """The id of the object."""
    version: Annotated[int, Ge(1)]
    """The version of the object that the event made."""


class EventProof(Record):
    """One event, and its way to the root of a signed tree."""

    stream_type: str
    stream_id: UUID
    version: int
    leaf: str
    """What is hashed as the leaf, in UTF-8."""
    leaf_index: int
    tree_size: int
    proof: tuple[str, ...]
    """The hashes of RFC 6962 from the leaf to the root, in base64."""
    checkpoint: str
    """The newest signed checkpoint, which covers the event."""


class ListCheckpoints(Page):
    """List the signed checkpoints of the log, newest first."""

    tree: WitnessedTree | None = None
    """Only checkpoints of the events, or of the rows next to them."""
    since: Timestamp | None = None
    """Only checkpoints signed at this time or later."""


class SignedCheckpoint(Record):
    """How large a tree was, and its root, with signatures."""

    checkpoint_id: str
    tree: WitnessedTree
    size: int
    root: str
    """The root of the tree in base64."""
    note: str
    """The checkpoint as C2SP defines it, with the signatures of other witnesses."""
    signed_at: datetime


class WitnessReader(Protocol):
    """Reads what the witness has written."""

    async def proof(self, query: GetEventProof) -> EventProof:
        """Return the proof of one event. Raise a refusal when there is none."""
        ...

    async def checkpoints(self, query: ListCheckpoints) -> Sequence[SignedCheckpoint]:
        """Return a page of checkpoints and one more."""
        ...
