"""Examples of clearances."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, Make, given, made
from tests.support.examples.assets import an_asset
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.subject import a_subject


async def a_form(do: Do) -> dict[str, Any]:
    return {
        "title": "Uranyl salts",
        "bindings": [
            {"kind": "Subject", "id": await a_subject(do)},
            {"kind": "Asset", "id": await an_asset(do)},
            {"kind": "External", "scheme": "proposal", "value": "P-1234"},
        ],
        "hazards": [{"scheme": "ghs", "code": "H301", "mitigation": "Gloves"}],
        "risk_band": "Yellow",
        "valid_until": "2100-01-31T07:30:00Z",
    }


async def register_clearance(do: Do) -> dict[str, Any]:
    return {"kind": "radiation", "facility_code": OWN_SITE, **await a_form(do)}


a_clearance = made("register_clearance", register_clearance, "clearance_id")


REVIEWED = ("submit_clearance", "start_clearance_review", "append_clearance_review_step")
APPROVED = (*REVIEWED, "approve_clearance")
ENDORSED = {"role": "Safety", "decision": "Approved", "notes": "Seen in person"}


def after(make: Make, *names: str) -> Make:
    """A clearance so made, to which these commands were given."""

    async def made(do: Do) -> str:
        clearance_id = await make(do)
        for name in names:
            more = ENDORSED if name == "append_clearance_review_step" else {}
            await do(name, {"clearance_id": clearance_id, **more})
        return clearance_id

    return made


a_submitted_clearance = after(a_clearance, *REVIEWED[:1])
a_clearance_under_review = after(a_clearance, *REVIEWED[:2])
a_reviewed_clearance = after(a_clearance, *REVIEWED)
an_active_clearance = after(a_clearance, *APPROVED, "activate_clearance")


async def amend_clearance(do: Do) -> dict[str, Any]:
    return {"clearance_id": await an_active_clearance(do), **await a_form(do)}


an_amendment = made("amend_clearance", amend_clearance, "clearance_id")


EXAMPLES: dict[str, CallExample] = {
    "register_clearance": register_clearance,
    "submit_clearance": given(clearance_id=a_clearance),
    "start_clearance_review": given(clearance_id=a_submitted_clearance),
    "append_clearance_review_step": given(
        clearance_id=a_clearance_under_review, role="Safety", decision="Approved", notes="Seen"
    ),
    "approve_clearance": given(
        clearance_id=a_reviewed_clearance, valid_from="2026-01-31T07:30:00Z"
    ),
    "reject_clearance": given(clearance_id=a_clearance_under_review, reason="No shielding"),
    "activate_clearance": given(clearance_id=after(an_amendment, *APPROVED)),
    "expire_clearance": given(clearance_id=an_active_clearance, reason="Sample sent back"),
    "amend_clearance": amend_clearance,
    "get_clearance": given(clearance_id=an_active_clearance),
    "get_clearance_history": given(clearance_id=an_active_clearance),
    "list_clearances": given(
        status=["Approved", "Active"],
        kind="radiation",
        facility_code=OWN_SITE,
        covering_asset_id=an_asset,
        in_force="true",
    ),
}
