"""The witness in memory: the twin for fast tests, which signs whatever the log is when asked."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beamkeep.contexts.seams.witnessed import (
    EventNotFoundError,
    EventProof,
    GetEventProof,
    ListCheckpoints,
    SignedCheckpoint,
    WitnessedTree,
)
from beamkeep.feed.log import EventLog, LogQuery
from beamkeep.runtime.store import Envelope

from .trees.notes import Checkpoint, NoteSigner
from .trees.tree import inclusion, leaf_hash, root_of

ORIGIN = "control.example.org/north-ring"
SIGNER = NoteSigner(f"{ORIGIN}/witness", Ed25519PrivateKey.from_private_bytes(b"k" * 32))
ALL = 1_000_000


class MemoryWitness:
    """Reads the log of a store in memory, and proves its events."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def proof(self, query: GetEventProof) -> EventProof:
        """Return the proof of one event. Raise a refusal when there is none."""
        events = await self._events()
        wanted = query.stream_type, query.stream_id, query.version
        named = [(e.stream_type, e.stream_id, e.version) for e in events]
        if wanted not in named:
            raise EventNotFoundError
        index = named.index(wanted)
        leaves = [leaf_of(each) for each in events]
        hashes = [leaf_hash(leaf.encode()) for leaf in leaves]
        ranges = inclusion(index, len(events))
        path = [root_of(hashes[start:end]) for start, end in ranges]
        return EventProof(
            stream_type=query.stream_type,
            stream_id=query.stream_id,
            version=query.version,
            leaf=leaves[index],
            leaf_index=index,
            tree_size=len(events),
            proof=tuple(b64encode(each).decode() for each in path),
            checkpoint=self._checkpoint(hashes).signed([SIGNER]),
        )

    async def checkpoints(self, query: ListCheckpoints) -> Sequence[SignedCheckpoint]:
        """Return the one checkpoint that there is now."""
        events = await self._events()
        if not events or query.tree is WitnessedTree.ROWS or query.cursor:
            return []
        signed = self._checkpoint([leaf_hash(leaf_of(each).encode()) for each in events])
        at = events[-1].recorded_at
        checkpoint = SignedCheckpoint(
            checkpoint_id=f"events-1-{signed.size}",
            tree=WitnessedTree.EVENTS,
            size=signed.size,
            root=b64encode(signed.root).decode(),
            note=signed.signed([SIGNER]),
            signed_at=at,
        )
        return [checkpoint] if query.since is None or at >= query.since else []

    def _checkpoint(self, hashes: Sequence[bytes]) -> Checkpoint:
        return Checkpoint(f"{ORIGIN}/events-1", len(hashes), root_of(hashes))

    async def _events(self) -> Sequence[Envelope]:
        return (await self._log.page(LogQuery(limit=ALL))).events


def leaf_of(it: Envelope) -> str:
    """Return the leaf of an event as the database makes it."""
    fields = (
        *(it.transaction_id, it.position, it.stream_type, it.stream_id, it.version, it.event_id),
        *(it.event_type, it.schema_version, it.principal_id, it.surface_id, it.correlation_id),
        *(it.causation_id, it.command_name, _microseconds(it.occurred_at)),
        *(_microseconds(it.recorded_at), bytes(it.payload).decode()),
    )
    texts = ("-" if field is None else str(field) for field in fields)
    return "\n".join(["beamkeep/event/v1", *texts])


def _microseconds(at: datetime) -> int:
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
