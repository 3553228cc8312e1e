"""Witness: signed checkpoints of the log, and the proof of one event."""

from collections.abc import Sequence

from beamkeep.contexts.federation.facility import facilities
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.log import ListEvents
from beamkeep.contexts.seams.witnessed import (
    EventDiffersError,
    EventNotFoundError,
    EventNotWitnessedError,
    EventProof,
    GetEventProof,
    ListCheckpoints,
    SignedCheckpoint,
)
from beamkeep.kernel import answers, listed


async def get_event_proof(query: GetEventProof, read: Reader) -> EventProof:
    """Return the proof of an event that the caller may see."""
    events = present(read.readers.events)
    kinds, ids = frozenset({query.stream_type}), frozenset({query.stream_id})
    # Who may see any event of an object may see all of them.
    seen = await events.page(ListEvents(stream_type=kinds, stream_id=ids, limit=1), read.sight)
    if not seen.items:
        raise EventNotFoundError
    found = await present(read.readers.witness).proof(query)
    read.seen.append((query.stream_type, query.stream_id, query.version))
    return found


async def list_checkpoints(query: ListCheckpoints, read: Reader) -> Sequence[SignedCheckpoint]:
    """Return a page of checkpoints."""
    return await present(read.readers.witness).checkpoints(query)


# fmt: off
QUESTIONS = (
    answers("GET /events/proof", GetEventProof, get_event_proof, EventProof,
        EventNotFoundError, EventNotWitnessedError, EventDiffersError,
        of=facilities, about=None, title="Get the proof of an event"),
    listed("GET /checkpoints", ListCheckpoints, list_checkpoints, SignedCheckpoint,
        of=facilities, about=None, title="List checkpoints of the log"),
)
# fmt: on
