"""Readiness: every check a start of a plan would meet, passed or not, and what to look out for."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.equipment.asset import AssetCondition, AssetLifecycle
from beamkeep.contexts.recipe.plan import plans
from beamkeep.contexts.safety.clearance import IN_FORCE
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.contexts.supply.supply import SupplyStatus
from beamkeep.kernel import Query, Reader, Record, answers

from .acknowledging import ShownCaution, as_shown
from .checks import CHECKS, Fact, Surroundings
from .start import surroundings


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


async def readiness(query: GetPlanReadiness, read: Reader) -> PlanReadiness:
    given = await surroundings(query.plan_id, query.subject_id, read, to_show=True)
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
    return PlanReadiness(given.plan.id, ready, checks, tuple(advisories(given, read.now)), told)


def advisories(given: Surroundings, now: datetime) -> Iterator[Fact]:
    """What is not as it should be, and stops nothing."""
    for asset in given.wired:
        if asset.condition is not AssetCondition.NOMINAL:
            yield Fact("Asset", asset.id, asset.name, asset.condition)
        if asset.lifecycle is AssetLifecycle.MAINTENANCE:
            yield Fact("Asset", asset.id, asset.name, asset.lifecycle)
    for found in given.supplies.found.values():
        for supply in found:
            if supply.status is SupplyStatus.RECOVERING:
                yield Fact("Supply", supply.supply_id, supply.name, supply.status)
    end = given.plan.window.ends_at
    for clearance in (given.clearances or {}).values():
        until = clearance.valid_until
        if IN_FORCE.holds_of(clearance, now) and until is not None and (end is None or until < end):
            yield Fact("Clearance", clearance.id, clearance.title, clearance.status, until)


QUESTIONS = (
    answers(
        "GET /plans/{plan_id}/readiness",
        GetPlanReadiness,
        readiness,
        PlanReadiness,
        SubjectNotFoundError,
        of=plans,
        about="plan_id",
    ),
)
