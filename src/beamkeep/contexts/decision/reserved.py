"""Reserved contexts: only one kind of agent decides there, with one of the listed choices."""

from beamkeep.kernel import Record


class ReservedContext(Record):
    record: str
    """The name of such a decision."""
    agent_kind: str
    choices: tuple[str, ...]


# fmt: off
RESERVED = {
    # context: record, kind of the agent, choices
    "RunDebrief": ReservedContext("RunDebriefDecision", "RunDebriefer", (
        "NominalCompletion", "DegradedCompletion", "OperatorAbort", "EquipmentAbort",
        "DataSuspect", "DebriefDeferred", "DebriefConflicted")),
    "CautionProposal": ReservedContext("CautionProposal", "CautionDrafter", (
        "NoAction", "ProposeNotice", "ProposeCaution", "ProposeWarning", "ProposeSupersede",
        "CautionDraftConflicted")),
    "RunSupervision": ReservedContext("RunSupervisionDecision", "RunSupervisor", (
        "Hold", "Stop", "SupervisionDeferred")),
    "CautionPromotion": ReservedContext("CautionPromotionDecision", "CautionPromoter", (
        "Promote", "PromotionDeferred", "PromotionConflicted")),
    "ClearanceExpiry": ReservedContext("ClearanceExpiryDecision", "ClearanceExpirer", (
        "Expire", "ExpiryDeferred")),
}
# fmt: on
