"""The start checks of a run, in their order: those of its plan, and the gates."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.installation import installation
from beamkeep.contexts.recipe import plan as plan_context
from beamkeep.contexts.recipe.capability import capabilities
from beamkeep.contexts.recipe.method import Method
from beamkeep.contexts.recipe.plan import Plan, PlanMethod, carried_parameters, plans
from beamkeep.contexts.recipe.practice import Practice, practices
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import DeclarationVersions, InvalidRunParametersError, Run, runs
from beamkeep.contexts.safety.clearance import Clearance
from beamkeep.contexts.subject.subject import Subject, subjects
from beamkeep.kernel import Cannot, Reader, Record, replace
from beamkeep.schemas import JsonObject, merge_patch
from beamkeep.schemas.bounds import require_bounded

from . import gates
from .gates import NOT_SHOWN, GateResult, Preconditions, StartFact, fact


class RunParameterUnitsChangedError(Cannot):
    """The unit of a default parameter has changed since the plan was written."""


class RunBoundPlanDeprecatedError(Cannot):
    """A run cannot start from a Deprecated plan."""


class RunOutsidePlanWindowError(Cannot):
    """The current time is outside the window of the plan."""


class RunSubjectNotMountedError(Cannot):
    """The subject is not mounted."""


class RunAssetDecommissionedError(Cannot):
    """An asset of the plan is decommissioned; version the plan with another asset."""


class RunFamiliesNotSatisfiedError(Cannot):
    """The assets of the plan lack a family that the method or the practice needs."""


class RunRequiresActiveClearanceError(Cannot):
    """No clearance covers the subject or the assets of the run."""


class RunClearanceCoverageMismatchError(Cannot):
    """None of the clearances that cover this run is in force."""


class RunRequiresAvailableSupplyError(Cannot):
    """A supply that the method needs is not available."""


class RunRequiresPermittedEnclosureError(Cannot):
    """None of the enclosures that the assets stand in is Permitted and Active."""


class RunEnclosureCoverageMismatchError(Cannot):
    """Not all of the enclosures that the assets stand in are Permitted and Active."""


class RunPreconditions(Record):
    """Everything that the start of a run depends on, as it was read."""

    plan: Plan
    practice: Practice
    followed: PlanMethod
    """The method, now and as it was when the plan's default parameters were written."""
    versions: DeclarationVersions
    work: Preconditions
    """The assets of the plan and what is around them."""
    subject: Subject | None
    clearances: Mapping[UUID, Clearance] | None
    """The clearances for this run; None if the deployment requires none."""
    live_runs: Sequence[Run]
    """The open runs that use an asset of the plan."""

    @property
    def method(self) -> Method:
        return self.followed.method


MOST_RUNS = 20


async def live_runs_on(asset_ids: Iterable[UUID], read: Reader) -> Sequence[Run]:
    """Return the first open runs that use one of these assets."""
    list_filter = run.ListRuns(status=run.OPEN, asset_id=frozenset(asset_ids))
    # A list lags behind its streams: fold what it finds before it counts.
    found = await read.many(runs, await read.matching(list_filter, most=MOST_RUNS))
    return [each for each in found.values() if each.status in run.OPEN]


async def run_preconditions(
    plan_id: UUID, subject_id: UUID | None, read: Reader, to_show: bool = False
) -> RunPreconditions:
    """Return the current preconditions of a run, without names that the caller may not see.

    With `to_show`, raise when the caller may not see the subject.
    """
    plan = await read.one(plans, plan_id)
    practice = await read.one(practices, plan.practice_id)
    method = await plan_context.plan_method(plan, read)
    work = await gates.preconditions(plan.asset_ids, method.method.needed_supplies, read)
    subject = await read.one(subjects, subject_id, to_show) if subject_id else None
    if subject and not await read.visible(subjects, [subject.id]):
        subject = replace(subject, name=NOT_SHOWN)
    clearances = None
    if installation(read).require_run_clearance:
        clearances = await gates.covering_clearances(subject_id, work.ancestry, read)
    capability = await read.one(capabilities, method.method.capability_id)
    versions = DeclarationVersions(
        plan=read.version(plans, plan.id),
        practice=read.version(practices, practice.id),
        method=method.version,
        capability=read.version(capabilities, capability.id),
    )
    return RunPreconditions(
        plan,
        practice,
        followed=method,
        versions=versions,
        work=work,
        subject=subject,
        clearances=clearances,
        live_runs=await live_runs_on(plan.asset_ids, read),
    )


def run_checks(
    given: RunPreconditions, override: JsonObject, now: datetime
) -> Mapping[str, GateResult]:
    """Return the results of all start checks of a run, in the order in which they refuse it."""
    work = given.work
    return {
        "parameters": _parameters(given, override),
        "units": _units(given),
        "plan": _plan(given.plan),
        "window": _window(given.plan, now),
        "subject": gates.subject_gate(given.subject, RunSubjectNotMountedError),
        "assets": gates.asset_gate(work.assets, RunAssetDecommissionedError, ["version_plan"]),
        "families": _families(given),
        "clearance": gates.clearance_gate(
            given.clearances,
            now,
            missing=RunRequiresActiveClearanceError,
            not_in_force=RunClearanceCoverageMismatchError,
        ),
        "supply": gates.supply_gate(work.supplies, RunRequiresAvailableSupplyError),
        "enclosure": gates.enclosure_gate(
            work.enclosures,
            none_permitted=RunRequiresPermittedEnclosureError,
            some_not_permitted=RunEnclosureCoverageMismatchError,
        ),
    }


def effective_parameters(given: RunPreconditions, override: JsonObject) -> JsonObject:
    """Return the parameters of the run, or raise when the method does not accept them."""
    bounded = require_bounded(override, InvalidRunParametersError)
    merged = merge_patch(given.plan.default_parameters, bounded)
    return carried_parameters(merged, given.method, InvalidRunParametersError)


CORRECTS_DEFAULTS = "update_plan_default_parameters", "version_plan"


def _parameters(given: RunPreconditions, override: JsonObject) -> GateResult:
    facts = [fact("Method", given.method, given.method.status)]
    try:
        effective_parameters(given, override)
    except InvalidRunParametersError as refusal:
        # If the defaults alone are valid, the fault is in the override.
        if override and not _parameters(given, {}).refusal:
            return GateResult(facts, refusal, ["start_run"])
        return GateResult(facts, refusal, [*CORRECTS_DEFAULTS])
    return GateResult(facts)


def _units(given: RunPreconditions) -> GateResult:
    plan, method = given.plan, given.method
    changed = plan_context.units_changed(plan.default_parameters, given.followed)
    if not changed:
        return GateResult([fact("Method", method, method.status)])
    facts = [StartFact("Parameter", plan.id, name=each.path, state=str(each)) for each in changed]
    remedy = "Give the default parameters of the plan in the new unit."
    told = f"{plan_context.told_units(changed)} {remedy}"
    refusal = RunParameterUnitsChangedError(told, parameters=changed)
    return GateResult(facts, refusal, [*CORRECTS_DEFAULTS])


def _plan(plan: Plan) -> GateResult:
    found = fact("Plan", plan, plan.status)
    if plan.status is not DeclarationStatus.DEPRECATED:
        return GateResult([found])
    return GateResult([found], RunBoundPlanDeprecatedError(f"{found}. Use another plan."))


def _window(plan: Plan, now: datetime) -> GateResult:
    window = plan.window
    facts = [replace(fact("Plan", plan, plan.status), until=window.ends_at)]
    if window.holds(now):
        return GateResult(facts)
    since, until = window.starts_at or "none", window.ends_at or "none"
    told = f"Start of the window: {since}; end of the window: {until}; current time: {now}."
    return GateResult(facts, RunOutsidePlanWindowError(told))


def _families(given: RunPreconditions) -> GateResult:
    assets = given.work.assets
    facts = [fact("Asset", asset, asset.lifecycle) for asset in assets]
    missing = plan_context.missing_family_ids(assets, given.method, given.practice)
    if not missing:
        return GateResult(facts)
    told = f"Missing families: {', '.join(map(str, missing))}. Add these families to the assets."
    refusal = RunFamiliesNotSatisfiedError(told, family_ids=missing)
    return GateResult(facts, refusal, ["add_asset_family", "version_plan"])
