"""How the evidence of a decision is asked for, read again and judged."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol
from uuid import UUID

from annotated_types import Ge, Le

from beamkeep.kernel import AnyReader, Page, Record
from beamkeep.schemas import JsonObject

MOST_MINUTES = 10_080


class EvidencePage(Page):
    decision_id: UUID
    window_minutes: Annotated[int, Ge(1), Le(MOST_MINUTES)] | None = None
    """Minutes before the decision from which all answers count (default: those since the agent's
    decision before it)."""


class ListDecisionEvidence(EvidencePage):
    """List what the agent had been answered before it made a decision, newest first."""


class VerifyDecisionEvidence(EvidencePage):
    """Read again what an agent had been answered before a decision, and compare, newest first."""


class LinkedObject(Record):
    """An object that an answer showed."""

    stream_type: str
    stream_id: UUID
    version: int
    link: str
    """The path at which the object is read as it was."""


class DecisionEvidence(Record):
    """A question of the agent, and what its answer showed."""

    evidence_id: UUID
    question: str
    arguments: JsonObject | None
    """Null when the answer showed an object that you may not see."""
    asked_at: datetime
    surface_id: UUID | None
    correlation_id: UUID
    seen: tuple[LinkedObject, ...]
    """The objects that you may see."""
    hidden: int
    """How many further objects are listed that you may not see."""
    more: bool
    """Whether the answer showed more objects than are listed."""
    digest: str
    release: str
    since_last_decision: bool
    """Whether the agent made no other decision between this answer and the decision."""


class EvidenceVerdict(StrEnum):
    SAME = "same"
    DIFFERS = "differs"
    NOT_REPLAYABLE = "not_replayable"


class VerifiedEvidence(Record):
    """What reading again found of one answer."""

    evidence_id: UUID
    question: str
    verdict: EvidenceVerdict
    asked_at: datetime
    release: str
    """The release that answered."""
    verified_by: str
    """The release that read it again."""


class EvidenceReader(Protocol):
    """Reads the evidence of decisions for one question."""

    async def page(
        self, query: ListDecisionEvidence, read: AnyReader
    ) -> tuple[DecisionEvidence, ...]:
        """Return a page of the evidence, newest first, and the first row after it."""
        ...

    async def verify(
        self, query: VerifyDecisionEvidence, read: AnyReader
    ) -> tuple[VerifiedEvidence, ...]:
        """Return a page of verdicts, newest first, and the first row after it."""
        ...
