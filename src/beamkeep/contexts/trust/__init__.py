"""Trust: the permissions of principals, the surfaces where calls arrive, and visits."""

from . import administrators, conduit, policy, surface, visit, zone

OPERATIONS = (
    *zone.OPERATIONS,
    *conduit.OPERATIONS,
    *surface.OPERATIONS,
    *policy.OPERATIONS,
    *administrators.OPERATIONS,
    *visit.OPERATIONS,
)
QUESTIONS = (
    *zone.QUESTIONS,
    *conduit.QUESTIONS,
    *surface.QUESTIONS,
    *policy.QUESTIONS,
    *visit.QUESTIONS,
)
