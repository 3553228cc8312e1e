"""Evidence: what agents were answered, stored so that their decisions can be judged by it."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from beamkeep.kernel import Record, Table

MOST_SEEN = 1_000
FOLDED = "folded"
"""In place of a question, for what an agent of the service itself decided on."""


class SeenObject(Record):
    """An object, and the version at which an answer showed it."""

    stream_type: str
    stream_id: UUID
    version: int


class AnswerEvidence(Record):
    """What one question of an agent was answered with."""

    evidence_id: UUID
    agent_id: UUID
    asked_at: datetime
    """The store fills in its own time."""
    surface_id: UUID | None
    correlation_id: UUID
    question: str
    arguments: dict[str, Any]
    """The arguments as parsed; they may contain personal data."""
    seen: tuple[SeenObject, ...]
    more: bool
    """Whether further objects were seen than are listed."""
    digest: str
    """The SHA-256 of what was answered."""
    release: str
    age: timedelta = timedelta()


EVIDENCE = Table("evidence", AnswerEvidence, key=("evidence_id",), stamped=("asked_at", "age"))
