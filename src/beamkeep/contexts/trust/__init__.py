"""Trust: the permissions of principals, the surfaces where calls arrive, teams and visits."""

from . import administrators, conduit, policy, surface, team, visit, zone

OPERATIONS = (
    *zone.OPERATIONS,
    *conduit.OPERATIONS,
    *surface.OPERATIONS,
    *policy.OPERATIONS,
    *administrators.OPERATIONS,
    *team.OPERATIONS,
    *visit.OPERATIONS,
)
QUESTIONS = (
    *zone.QUESTIONS,
    *conduit.QUESTIONS,
    *surface.QUESTIONS,
    *policy.QUESTIONS,
    *team.QUESTIONS,
    *visit.QUESTIONS,
)
