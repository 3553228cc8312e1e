"""Durable work as rules see it: how far it is, and how it is asked to stop."""

from datetime import datetime, timedelta
from uuid import UUID

from beamkeep.kernel import Record, Table

MOST_IDLE_CLAIMS = 5
"""Work that was claimed this many times without a result is left to people."""


class WorkStop(Record):
    """What somebody asked of the worker that holds the work; the other columns stay."""

    work_id: UUID
    stop: str


WORK_STOPS = Table("work", WorkStop, key=("work_id",))


class WorkTurn(Record):
    """Work that is taken from its worker, to be claimed again or by nobody; other columns stay."""

    work_id: UUID
    ended_at: datetime | None
    due_at: datetime
    """The store fills in its own time."""
    owner: UUID | None = None
    idle_claims: int = 0


WORK_TURNS = Table("work", WorkTurn, key=("work_id",), stamped=("due_at", "overdue"))


class WorkState(Record):
    """Who holds a row of work, until when, and what was asked of the holder."""

    work_id: UUID
    claim: int
    owner: UUID | None
    due_at: datetime
    """Of claimed work, the end of its lease."""
    idle_claims: int
    stop: str | None
    last_error: str | None
    ended_at: datetime | None
    overdue: timedelta
    """How long ago the work was due; negative while a lease lasts."""

    @property
    def is_held(self) -> bool:
        """Whether a worker holds the work now."""
        return self.owner is not None and self.ended_at is None and self.overdue < timedelta()

    @property
    def is_left(self) -> bool:
        """Whether no worker claims the work any more, so that a person must end it."""
        return self.ended_at is None and not self.is_held and self.idle_claims >= MOST_IDLE_CLAIMS


WORK_STATES = Table("work", WorkState, key=("work_id",), stamped=("due_at", "overdue"))
