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


KEY = "plan_id", "principal_id", "error_code", "minute"
REFUSED_STARTS = Table("refused_start", RefusedStart, key=KEY)


def refused_start(plan_id: UUID, refusal: Refusal, call: Call) -> Insert:
    """Return the row that a refused start of a plan leaves."""
    minute, code = call.now.replace(second=0, microsecond=0), type(refusal).__name__
    what = {"plan_id": plan_id, "error_code": code, "minute": minute, "refused_at": call.now}
    return REFUSED_STARTS.insert(RefusedStart.of(call, **what))
