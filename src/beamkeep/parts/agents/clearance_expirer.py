"""ClearanceExpirer: ends clearances whose validity has elapsed."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.safety.clearance import (
    Clearance,
    ClearanceStatus,
    ExpireClearance,
    ListClearances,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.schemas import Json

from .resolution import AgentIdentity, Resolution

EXPIRER = AgentIdentity(
    UUID("00000000-0000-7000-8000-000000000055"), "ClearanceExpirer", "ClearanceExpiry"
)
REASON = "validity window elapsed"


def react(clearance: Clearance, now: datetime, decision_id: UUID) -> Resolution | None:
    """Return the expiry of a clearance; None if it is not active or still valid."""
    until = clearance.valid_until
    if clearance.status is not ClearanceStatus.ACTIVE or until is None or until > now:
        return None
    about = f"{clearance.id}:{until.isoformat()}"
    inputs: dict[str, Json] = {
        "clearance_id": str(clearance.id),
        "valid_until": until.isoformat(),
    }

    def deferred(reason: str) -> Resolution:
        explained = {**inputs, "reason_code": reason}
        return Resolution(decision_id, "ExpiryDeferred", key=f"defer:{about}", inputs=explained)

    return Resolution(
        decision_id,
        "Expire",
        key=f"expire:{about}",
        inputs=inputs,
        command=ExpireClearance(clearance_id=clearance.id, reason=REASON),
        denied=deferred,
    )


async def elapsed(read: Reader, now: datetime) -> Sequence[UUID]:
    """Return the active clearances whose validity has elapsed."""
    active = frozenset({ClearanceStatus.ACTIVE})
    return await read.matching(ListClearances(status=active, valid_until_before=now))
