"""Readiness: every check a start of a plan would meet, passed or not, and what to look out for."""

from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen

from beamkeep.contexts.calibration.calibration import CalibrationRevisionNotFoundError
from beamkeep.contexts.recipe.plan import plans
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.kernel import Query, Reader, Record, answers

from .acknowledging import ShownCaution, as_shown
from .advising import advisories
from .checks import CHECKS, Fact
from .start import MOST_PINNED, calibrations_of, surroundings


class CheckedOff(Record):
    check: str
    passed: bool
    error: str | None
    """What a start would be refused with."""
    facts: tuple[Fact, ...]
    cleared_by: tuple[str, ...]
    """The commands that could clear it."""


class PlanReadiness(Record):
    plan_id: UUID
    ready: bool
    checks: tuple[CheckedOff, ...]
    advisories: tuple[Fact, ...]
    """What refuses no start and is worth knowing before one."""
    cautions: tuple[ShownCaution, ...]


class GetPlanReadiness(Query):
    """Show whether a run of a plan would start now: every check, with what decided it."""

    plan_id: UUID
    subject_id: UUID | None = None
    pinned_calibration_id: Annotated[frozenset[UUID] | None, MaxLen(MOST_PINNED)] = None
    """Calibration revisions that the run would pin."""


async def readiness(query: GetPlanReadiness, read: Reader) -> PlanReadiness:
    given = await surroundings(query.plan_id, query.subject_id, read, to_show=True)
    pinned = await calibrations_of(query.pinned_calibration_id or (), read, to_show=True)
    verdicts = {name: check(given, {}, read.now) for name, check in CHECKS.items()}
    checks = tuple(
        CheckedOff(
            name,
            verdict.refusal is None,
            type(verdict.refusal).__name__ if verdict.refusal else None,
            tuple(verdict.facts),
            tuple(verdict.cleared_by),
        )
        for name, verdict in verdicts.items()
    )
    told = tuple(as_shown(each) for each in given.cautions)
    ready = all(check.passed for check in checks)
    advice = tuple(advisories(given, pinned, read.now))
    return PlanReadiness(given.plan.id, ready, checks, advice, told)


QUESTIONS = (
    answers(
        "GET /plans/{plan_id}/readiness",
        GetPlanReadiness,
        readiness,
        PlanReadiness,
        SubjectNotFoundError,
        CalibrationRevisionNotFoundError,
        of=plans,
        about="plan_id",
    ),
)
