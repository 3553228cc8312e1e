"""Every bounded context of the service, and so everything it can do."""

from beamkeep.kernel import Catalogue

from . import (
    access,
    calibration,
    campaign,
    caution,
    decision,
    enclosure,
    equipment,
    federation,
    operation,
    recipe,
    run,
    safety,
    shift,
    starting,
    subject,
    supply,
    trust,
)

OPERATIONS = (
    *access.OPERATIONS,
    *trust.OPERATIONS,
    *federation.OPERATIONS,
    *enclosure.OPERATIONS,
    *equipment.OPERATIONS,
    *supply.OPERATIONS,
    *subject.OPERATIONS,
    *decision.OPERATIONS,
    *recipe.OPERATIONS,
    *run.OPERATIONS,
    *operation.OPERATIONS,
    *calibration.OPERATIONS,
    *campaign.OPERATIONS,
    *safety.OPERATIONS,
    *caution.OPERATIONS,
    *starting.OPERATIONS,
    *shift.OPERATIONS,
)
QUESTIONS = (
    *access.QUESTIONS,
    *trust.QUESTIONS,
    *federation.QUESTIONS,
    *enclosure.QUESTIONS,
    *equipment.QUESTIONS,
    *supply.QUESTIONS,
    *subject.QUESTIONS,
    *decision.QUESTIONS,
    *recipe.QUESTIONS,
    *run.QUESTIONS,
    *operation.QUESTIONS,
    *calibration.QUESTIONS,
    *campaign.QUESTIONS,
    *safety.QUESTIONS,
    *caution.QUESTIONS,
    *starting.QUESTIONS,
    *shift.QUESTIONS,
)
CATALOGUE = Catalogue(OPERATIONS, QUESTIONS)
