"""The contexts in which only one kind of agent decides, and in the words of a closed list."""

from beamkeep.kernel import Record


class Reserved(Record):
    agent_kind: str
    choices: tuple[str, ...]


# fmt: off
RESERVED = {
    "RunDebrief": Reserved("RunDebriefer", ("NominalCompletion", "DegradedCompletion",
        "OperatorAbort", "EquipmentAbort", "DataSuspect", "DebriefDeferred", "DebriefConflicted")),
    "CautionProposal": Reserved("CautionDrafter", ("NoAction", "ProposeNotice", "ProposeCaution",
        "ProposeWarning", "ProposeSupersede", "CautionDraftConflicted")),
    "RunSupervision": Reserved("RunSupervisor", ("Hold", "Stop", "SupervisionDeferred")),
    "CautionPromotion": Reserved("CautionPromoter", ("Promote", "PromotionDeferred",
        "PromotionConflicted")),
    "ClearanceExpiry": Reserved("ClearanceExpirer", ("Expire", "ExpiryDeferred")),
}
# fmt: on
