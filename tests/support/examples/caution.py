"""Examples of cautions."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.decision.decision import DecisionRegistered
from beamkeep.testing.examples import CallExample, Do, changed, given, made
from tests.support.examples.assets import an_asset

WORDING: dict[str, Any] = {
    "category": "OperationalWindow",
    "severity": "Caution",
    "text": "The stage stalls at low speed after a thermal soak",
    "workaround": "Wait ten minutes before the first move",
    "tags": ["thermal"],
    "expires_at": "2100-01-31T07:30:00Z",
}


async def register_caution(do: Do) -> dict[str, Any]:
    target = {"kind": "Asset", "id": await an_asset(do)}
    return {"target": target, **WORDING, "propagate_to_children": True}


a_caution = made("register_caution", register_caution, "caution_id")


async def supersede_caution(do: Do) -> dict[str, Any]:
    return {"caution_id": await a_caution(do), **WORDING, "severity": "Warning"}


a_superseded_caution = changed("supersede_caution", supersede_caution, "caution_id")


async def a_proposal(do: Do) -> str:
    """What only an agent decides; there is none yet, so the decision is put on record as it is."""
    decision_id = uuid4()
    draft = {name: value for name, value in WORDING.items() if name != "expires_at"} | {
        "target_kind": "Asset",
        "target_id": await an_asset(do),
        "severity": "Notice",
        "supersedes_caution_id": None,
    }
    await do.put(
        DecisionRegistered(
            occurred_at=datetime(2026, 1, 31, 7, 30, tzinfo=UTC),
            decision_id=decision_id,
            actor_id=SYSTEM,
            context="CautionProposal",
            choice="ProposeNotice",
            parent_id=None,
            override_kind=None,
            rule="agent:CautionDrafter:v1",
            reasoning=None,
            confidence=None,
            confidence_source=None,
            alternatives=(),
            inputs={"proposed_caution": draft},
            determining_policy_ids=(),
        )
    )
    return str(decision_id)


EXAMPLES: dict[str, CallExample] = {
    "register_caution": register_caution,
    "supersede_caution": supersede_caution,
    "retire_caution": given(caution_id=a_caution, retire_reason="Resolved"),
    "promote_caution_proposal": given(decision_id=a_proposal),
    "get_caution": given(caution_id=a_superseded_caution),
    "get_caution_history": given(caution_id=a_superseded_caution),
    "list_cautions": given(
        status=["Active"],
        covering_asset_id=an_asset,
        min_severity="Notice",
        tag="thermal",
        in_effect="true",
    ),
}
