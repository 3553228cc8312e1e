"""Refused starts: the rows that refusals of `start_run` leave for the shift handover."""

from datetime import datetime
from uuid import UUID

from beamkeep.kernel import Call, Insert, Record, Refusal, Table


class RefusedStart(Record):
    """A start that a check refused; a repetition within the same minute adds no row."""

    plan_id: UUID
    principal_id: UUID
    error_code: str
    minute: datetime
    refused_at: datetime
    surface_id: UUID | None
    correlation_id: UUID | None


REFUSED_STARTS = Table(
    "refused_start", RefusedStart, key=("plan_id", "principal_id", "error_code", "minute")
)


def refused_start(plan_id: UUID, refusal: Refusal, call: Call) -> Insert:
    """Return the row that a refused start of a plan leaves."""
    return REFUSED_STARTS.insert(
        RefusedStart(
            plan_id,
            call.principal_id,
            error_code=type(refusal).__name__,
            minute=call.now.replace(second=0, microsecond=0),
            refused_at=call.now,
            surface_id=call.surface_id,
            correlation_id=call.correlation_id,
        )
    )
