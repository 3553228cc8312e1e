"""The start checks of a run, in their order: those of its plan, and the gates."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.operation.procedure import Procedure
from beamkeep.contexts.recipe import plan as plan_context
from beamkeep.contexts.recipe.capability import capabilities
from beamkeep.contexts.recipe.method import Method
from beamkeep.contexts.recipe.plan import Plan, PlanMethod, carried_parameters, plans
from beamkeep.contexts.recipe.practice import Practice, practices
from beamkeep.contexts.run.run import DeclarationVersions, InvalidRunParametersError, Run
from beamkeep.contexts.safety.clearance import Clearance
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.subject.subject import Subject, subjects
from beamkeep.kernel import NOT_SHOWN, Cannot, Record, replace
from beamkeep.schemas import JsonObject, merge_patch
from beamkeep.schemas.bounds import require_bounded

from . import gates
from .gates import GateResult, Preconditions, StartFact, fact
from .others import live_runs_on, open_procedures_on


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


class RunGround(Record):
    """What the gates of a run look at, as it was read."""

    work: Preconditions
    """The assets of the run and what is around them."""
    subject: Subject | None
    clearances: Mapping[UUID, Clearance] | None
    """The clearances for the run; None if the deployment requires none."""


async def run_ground(
    asset_ids: Collection[UUID],
    method: Method,
    subject_id: UUID | None,
    read: Reader,
    *,
    to_show: bool = False,
    shows_cautions: bool = True,
) -> RunGround:
    """Return what the gates of a run look at, without names that the caller may not see.

    With `to_show`, raise when the caller may not see the subject.
    """
    work = await gates.preconditions(
        asset_ids, method.needed_supplies, read, shows_cautions=shows_cautions
    )
    subject = await read.one(subjects, subject_id, to_show) if subject_id else None
    if subject and not await read.visible(subjects, [subject.id]):
        subject = replace(subject, name=NOT_SHOWN)
    clearances = None
    if read.facts.require_run_clearance:
        clearances = await gates.covering_clearances(subject_id, work.ancestry, read)
    return RunGround(work, subject, clearances)


class RunPreconditions(RunGround):
    """Everything that the start of a run depends on, as it was read."""

    plan: Plan
    practice: Practice
    followed: PlanMethod
    """The method, now and as it was when the plan's default parameters were written."""
    versions: DeclarationVersions
    live_runs: Sequence[Run]
    """The open runs that use an asset of the plan."""
    open_procedures: Sequence[Procedure]
    """The open procedures that are about an asset of the plan or move it."""

    @property
    def method(self) -> Method:
        return self.followed.method


async def run_preconditions(
    plan_id: UUID, subject_id: UUID | None, read: Reader, to_show: bool = False
) -> RunPreconditions:
    """Return the current preconditions of a run, without names that the caller may not see.

    With `to_show`, raise when the caller may not see the subject.
    """
    plan = await read.one(plans, plan_id)
    practice = await read.one(practices, plan.practice_id)
    method = await plan_context.plan_method(plan, read)
    ground = await run_ground(plan.asset_ids, method.method, subject_id, read, to_show=to_show)
    capability = await read.one(capabilities, method.method.capability_id)
    versions = DeclarationVersions(
        plan=read.version(plans, plan.id),
        practice=read.version(practices, practice.id),
        method=method.version,
        capability=read.version(capabilities, capability.id),
    )
    return RunPreconditions.of(
        ground,
        plan=plan,
        practice=practice,
        followed=method,
        versions=versions,
        live_runs=await live_runs_on(plan.asset_ids, read),
        open_procedures=await open_procedures_on(plan.asset_ids, read),
    )


def run_checks(
    given: RunPreconditions, override: JsonObject, now: datetime
) -> Mapping[str, GateResult]:
    """Return the results of all start checks of a run, in the order in which they refuse it."""
    return {
        "parameters": _parameters(given, override),
        "units": _units(given),
        "plan": _plan(given.plan),
        "window": _window(given.plan, now),
        **used_gates(given, ["version_plan"]),
        "families": _families(given),
        **surrounding_gates(given, now),
    }


def used_gates(given: RunGround, cleared_by: Sequence[str] = ()) -> Mapping[str, GateResult]:
    """Return the results of the gates that look at what a run uses."""
    assets = given.work.assets
    return {
        "subject": gates.subject_gate(given.subject, RunSubjectNotMountedError),
        "assets": gates.asset_gate(assets, RunAssetDecommissionedError, cleared_by),
    }


def surrounding_gates(given: RunGround, now: datetime) -> Mapping[str, GateResult]:
    """Return the results of the gates that look at what is around a run."""
    work = given.work
    return {
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
    detail = f"{plan_context.units_in_words(changed)} {remedy}"
    refusal = RunParameterUnitsChangedError(detail, parameters=changed)
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
    detail = f"Start of the window: {since}; end of the window: {until}; current time: {now}."
    return GateResult(facts, RunOutsidePlanWindowError(detail))


def _families(given: RunPreconditions) -> GateResult:
    assets = given.work.assets
    facts = [fact("Asset", asset, asset.lifecycle) for asset in assets]
    missing = plan_context.missing_family_ids(assets, given.method, given.practice)
    if not missing:
        return GateResult(facts)
    detail = f"Missing families: {', '.join(map(str, missing))}. Add these families to the assets."
    refusal = RunFamiliesNotSatisfiedError(detail, family_ids=missing)
    return GateResult(facts, refusal, ["add_asset_family", "version_plan"])
