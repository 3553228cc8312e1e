"""Readiness: the result of every start check of a plan, with advisories and cautions."""

from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen

from beamkeep.contexts.calibration.calibration import CalibrationRevisionNotFoundError
from beamkeep.contexts.recipe.plan import plans
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.kernel import Fresh, Record, answers

from .acknowledging import ShownCaution, as_shown
from .advising import run_advisories
from .checks import run_checks, run_preconditions
from .gates import StartFact
from .start import MOST_PINNED, pinned_calibrations


class ReadinessCheck(Record):
    check: str
    passed: bool
    error: str | None
    """The code of the refusal that a start would get."""
    facts: tuple[StartFact, ...]
    cleared_by: tuple[str, ...]
    """The commands that could clear the check."""


class PlanReadiness(Record):
    plan_id: UUID
    ready: bool
    checks: tuple[ReadinessCheck, ...]
    advisories: tuple[StartFact, ...]
    """What does not refuse a start and is worth knowing before one."""
    cautions: tuple[ShownCaution, ...]


class GetPlanReadiness(Fresh):
    """Show whether a run of a plan could start now, with the result of every start check."""

    plan_id: UUID
    subject_id: UUID | None = None
    pinned_calibration_id: Annotated[frozenset[UUID] | None, MaxLen(MOST_PINNED)] = None
    """Calibration revisions that the run would pin."""


async def readiness(query: GetPlanReadiness, read: Reader) -> PlanReadiness:
    given = await run_preconditions(query.plan_id, query.subject_id, read, to_show=True)
    pinned = await pinned_calibrations(query.pinned_calibration_id or (), read, to_show=True)
    checks = tuple(
        ReadinessCheck(
            name,
            result.refusal is None,
            error=type(result.refusal).__name__ if result.refusal else None,
            facts=tuple(result.facts),
            cleared_by=tuple(result.cleared_by),
        )
        for name, result in run_checks(given, {}, read.now).items()
    )
    return PlanReadiness(
        given.plan.id,
        ready=all(check.passed for check in checks),
        checks=checks,
        advisories=tuple(run_advisories(given, pinned, read.now)),
        cautions=tuple(map(as_shown, given.work.cautions)),
    )


ROUTE = "GET /plans/{plan_id}/readiness"
REFUSED, ABOUT = (SubjectNotFoundError, CalibrationRevisionNotFoundError), "plan_id"
OF_READINESS = (
    *("Asset", "Calibration", "Capability", "Caution", "Clearance", "Enclosure", "Facility"),
    *("Family", "Method", "Mount", "Practice", "Procedure", "Run", "Subject", "Supply"),
)
# fmt: off
QUESTIONS = (
    answers(ROUTE, GetPlanReadiness, readiness, PlanReadiness, *REFUSED, of=plans, about=ABOUT,
        title="Show whether a run of a plan can start", composed_of=OF_READINESS),
)
# fmt: on
