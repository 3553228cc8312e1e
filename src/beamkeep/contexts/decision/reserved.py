"""Reserved contexts: only one kind of agent decides there, with one of the listed choices."""

from beamkeep.kernel import Record


class ReservedContext(Record):
    agent_kind: str
    choices: tuple[str, ...]


# fmt: off
RESERVED = {
    "RunDebrief": ReservedContext("RunDebriefer", ("NominalCompletion", "DegradedCompletion",
        "OperatorAbort", "EquipmentAbort", "DataSuspect", "DebriefDeferred", "DebriefConflicted")),
    "CautionProposal": ReservedContext("CautionDrafter", ("NoAction", "ProposeNotice",
        "ProposeCaution", "ProposeWarning", "ProposeSupersede", "CautionDraftConflicted")),
    "RunSupervision": ReservedContext("RunSupervisor", ("Hold", "Stop", "SupervisionDeferred")),
    "CautionPromotion": ReservedContext("CautionPromoter", ("Promote", "PromotionDeferred",
        "PromotionConflicted")),
    "ClearanceExpiry": ReservedContext("ClearanceExpirer", ("Expire", "ExpiryDeferred")),
}
# fmt: on
