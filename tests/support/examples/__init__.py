"""One working example of every command and question, made with calls as far as they can."""

from beamkeep.testing.examples import CallExample, Do
from beamkeep.testing.service import CALLERS
from tests.support.examples import (
    agent,
    assets,
    board,
    calibration,
    campaign,
    caution,
    data,
    decision,
    directory,
    edition,
    enclosure,
    equipment,
    exchange,
    federation,
    feed,
    operation,
    proposal,
    recipe,
    run,
    safety,
    shift,
    starting,
    subject,
    supply,
    trust,
)
from tests.support.examples.derived import derived

__all__ = [
    "CALLERS",
    "EXAMPLES",
    "OUTSIDE",
    "REPLIES",
    "SHOWN_ONCE",
    "WITHOUT_BODY",
    "WITHOUT_EVENT",
    "CallExample",
    "Do",
]

WRITTEN: dict[str, CallExample] = {
    **trust.EXAMPLES,
    **federation.EXAMPLES,
    **enclosure.EXAMPLES,
    **equipment.EXAMPLES,
    **assets.EXAMPLES,
    **supply.EXAMPLES,
    **recipe.EXAMPLES,
    **subject.EXAMPLES,
    **decision.EXAMPLES,
    **data.EXAMPLES,
    **edition.EXAMPLES,
    **calibration.EXAMPLES,
    **campaign.EXAMPLES,
    **safety.EXAMPLES,
    **caution.EXAMPLES,
    **run.EXAMPLES,
    **operation.EXAMPLES,
    **starting.EXAMPLES,
    **shift.EXAMPLES,
    **feed.EXAMPLES,
    **directory.EXAMPLES,
    **board.EXAMPLES,
    **exchange.EXAMPLES,
    **agent.EXAMPLES,
    **proposal.EXAMPLES,
}
EXAMPLES = WRITTEN | derived(WRITTEN)

REPLIES: dict[str, int] = {
    "append_inferences": 200,
    "append_decision_logbook_entry": 201,
    "append_observations": 200,
    "append_run_logbook_entry": 201,
    "adjust_run": 200,
    "append_calibration_revision": 201,
    "amend_clearance": 201,
    "supersede_caution": 201,
    "start_procedure": 200,
    "append_activities": 200,
    "conduct_procedure": 202,
    "conduct_or_hold_procedure": 202,
    "make_procedure_safe": 202,
    "conduct_from_procedure": 202,
    "conduct_until_converged": 202,
    "conduct_until_advised": 202,
    "conduct_until_advised_from": 202,
    "cancel_conduct": 202,
    "request_distribution_check": 202,
    "rotate_subscription_secret": 200,
    "mint_dataset_external_id": 202,
    "mint_edition_external_id": 202,
    "approve_proposal": 200,
    "export_artifact": 200,
    "import_artifact": 201,
}
"""The changes that answer something else than 204, and with which status."""

SHOWN_ONCE = {"register_subscription": "secret", "rotate_subscription_secret": "secret"}
"""The field that only the first answer of a change shows."""

WITHOUT_BODY = frozenset({"cancel_conduct"})
"""The changes that answer 202 and nothing more."""

WITHOUT_EVENT = frozenset(
    {
        "append_inferences",
        "append_decision_logbook_entry",
        "append_observations",
        "append_run_logbook_entry",
        "append_activities",
        "export_artifact",
        "import_artifact",
    }
)
"""The changes that write rows and no event."""

OUTSIDE = frozenset(
    {
        "ingest_scan",
        "register_credential",
        "start_credential_rotation",
        "sign_seal_pointer",
        "export_artifact",
    }
)
"""Operations whose outcome rests on a step outside the service, which a dry run does not take."""
