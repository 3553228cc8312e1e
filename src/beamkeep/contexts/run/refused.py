"""Refused starts: which plans did not start and why, as rows that a refusal leaves."""

from datetime import datetime
from uuid import UUID

from beamkeep.kernel import Call, Insert, Record, Refusal, Table


class RefusedStart(Record):
    """A start that a check refused; the same one again within a minute is not written again."""

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
    """The row that a refused start of a plan leaves."""
    minute = call.now.replace(second=0, microsecond=0)
    code, where = type(refusal).__name__, (call.surface_id, call.correlation_id)
    row = RefusedStart(plan_id, call.principal_id, code, minute, call.now, *where)
    return REFUSED_STARTS.insert(row)
