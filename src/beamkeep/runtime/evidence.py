"""Evidence: what agents are answered is stored before they are answered."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.kernel import Insert
from beamkeep.runtime.answers import EVIDENCE, FOLDED, MOST_SEEN, AnswerEvidence, SeenObject

from .codec import encode
from .session import Session
from .store import EventStore, Stream

RELEASE = version("beamkeep")
"""The version of the server."""
STAMPED = datetime(1970, 1, 1, tzinfo=UTC)
"""In place of the time, which the store fills in."""


class EvidenceKeeper:
    """Stores what agents are answered."""

    def __init__(self, store: EventStore, new_id: Callable[[], UUID], release: str) -> None:
        self._store, self._new_id, self.release = store, new_id, release

    async def keep(
        self,
        question: str,
        basis: object,
        seen: Iterable[tuple[str, UUID, int]],
        *,
        agent_id: UUID,
        surface_id: UUID | None,
        correlation_id: UUID,
        arguments: Mapping[str, Any],
    ) -> None:
        """Store the evidence of one answer, or raise the refusal with which to answer instead."""
        evidence = self._evidence(
            seen,
            agent_id=agent_id,
            surface_id=surface_id,
            correlation_id=correlation_id,
            question=question,
            arguments=dict(arguments),
            digest=digest(basis),
        )
        await self._store.keep_evidence(evidence)

    def folded(self, read: Session, agent_id: UUID, correlation_id: UUID) -> Insert:
        """Return the row, written with a decision, of all that an agent of the service folded."""
        states = {stream: (each.version, each.state) for stream, each in read.folded.items()}
        evidence = self._evidence(
            [(*stream, states[stream][0]) for stream in sorted(states)],
            agent_id=agent_id,
            surface_id=None,
            correlation_id=correlation_id,
            question=FOLDED,
            arguments={},
            digest=folded_digest(states),
        )
        return EVIDENCE.insert(evidence)

    def _evidence(self, seen: Iterable[tuple[str, UUID, int]], **asked: Any) -> AnswerEvidence:
        objects = [SeenObject(*each) for each in seen]
        return AnswerEvidence(
            evidence_id=self._new_id(),
            asked_at=STAMPED,
            seen=tuple(objects[:MOST_SEEN]),
            more=len(objects) > MOST_SEEN,
            release=self.release,
            **asked,
        )


def digest(basis: object) -> str:
    """Return the SHA-256 of an answer, or of the part of it that can be read again."""
    return sha256(basis if isinstance(basis, bytes) else encode(basis)).hexdigest()


def folded_digest(states: Mapping[Stream, tuple[int, object]]) -> str:
    """Return the SHA-256 of some states at their versions."""
    found = [(*stream, *states[stream]) for stream in sorted(states)]
    return digest(msgspec.to_builtins(found, order="deterministic"))
