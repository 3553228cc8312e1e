"""The checks of a start, in their order: each with the facts that decided it, and the way out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.caution.caution import Caution
from beamkeep.contexts.enclosure.gate import Permit
from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle
from beamkeep.contexts.recipe.declaration import DeclarationStatus
from beamkeep.contexts.recipe.method import Method
from beamkeep.contexts.recipe.plan import (
    Followed,
    Plan,
    carried_parameters,
    missing_family_ids,
    told_units,
    units_changed,
)
from beamkeep.contexts.recipe.practice import Practice
from beamkeep.contexts.run.run import DeclarationVersions, InvalidRunParametersError, Run
from beamkeep.contexts.safety.clearance import IN_FORCE, Clearance, ClearanceStatus
from beamkeep.contexts.subject.subject import Subject, SubjectStatus
from beamkeep.contexts.supply.gate import Coverage
from beamkeep.contexts.supply.supply import SupplyStatus
from beamkeep.kernel import Cannot, Record, Refusal
from beamkeep.schemas import JsonObject, merge_patch
from beamkeep.schemas.bounds import require_bounded


class RunParameterUnitsChangedError(Cannot):
    """The unit of a default parameter has changed; give the plan's defaults in the new unit."""


class RunBoundPlanDeprecatedError(Cannot):
    """The plan is deprecated; start the run by one that is not."""


class RunOutsidePlanWindowError(Cannot):
    """It is not the time the plan was made for."""


class RunSubjectNotMountedError(Cannot):
    """The subject is not mounted; mount it first."""


class RunAssetDecommissionedError(Cannot):
    """An asset of the plan is decommissioned; version the plan with what stands in its place."""


class RunFamiliesNotSatisfiedError(Cannot):
    """The assets no longer belong to all families that the method or the practice needs."""


class RunRequiresActiveClearanceError(Cannot):
    """No clearance names the subject, an asset of the plan or one above it; register one."""


class RunClearanceCoverageMismatchError(Cannot):
    """There are clearances for this work, but none is in force now."""


class RunRequiresAvailableSupplyError(Cannot):
    """A supply that the method needs is not available where the work takes place."""


class RunRequiresPermittedEnclosureError(Cannot):
    """No enclosure the assets stand in permits work; its interlock must."""


class RunEnclosureCoverageMismatchError(Cannot):
    """Some of the enclosures the assets stand in do not permit work; their interlocks must."""


NOT_SHOWN = "(not shown)"
"""Stands for the name of what the caller may not see: a check tells how it is, not what."""


class Fact(Record):
    """Something that decided a check, and how it stands."""

    kind: str
    id: UUID
    name: str
    state: str
    until: datetime | None = None
    valid_from: datetime | None = None
    in_force: bool | None = None
    """Whether a clearance is in force; none of everything else."""


class Surroundings(Record):
    """Everything a start is decided on, as it was read."""

    plan: Plan
    practice: Practice
    method: Method
    assets: Mapping[UUID, Asset]
    """Those of the plan and all above them."""
    subject: Subject | None
    clearances: Mapping[UUID, Clearance] | None
    """Those that name this work; none are asked for where the deployment requires none."""
    supplies: Coverage
    enclosures: Mapping[UUID, Permit]
    cautions: Sequence[Caution]
    followed: Followed
    """The method, also as the plan's default parameters were written under it."""
    versions: DeclarationVersions
    live_runs: Sequence[Run]
    """Those that work on an asset of the plan."""

    @property
    def wired(self) -> list[Asset]:
        """The assets of the plan itself."""
        return [self.assets[id] for id in sorted(self.plan.asset_ids)]


class Verdict(Record):
    """What one check found: the facts behind it, and the refusal if it failed."""

    facts: Sequence[Fact] = ()
    refusal: Refusal | None = None
    cleared_by: Sequence[str] = ()
    """The commands that could clear it."""


type Check = Callable[[Surroundings, JsonObject, datetime], Verdict]


def effective_parameters(given: Surroundings, override: JsonObject) -> JsonObject:
    """What will govern a run, once its method takes it."""
    bounded = require_bounded(override, InvalidRunParametersError)
    merged = merge_patch(given.plan.default_parameters, bounded)
    return carried_parameters(merged, given.method, InvalidRunParametersError)


def parameters(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    method = given.method
    facts = [Fact("Method", method.id, method.name, method.status)]
    try:
        effective_parameters(given, override)
    except InvalidRunParametersError as refusal:
        # What is wrong only with the override is for whoever gave it, not for the plan.
        if override and not parameters(given, {}, now).refusal:
            return Verdict(facts, refusal, ["start_run"])
        return Verdict(facts, refusal, ["update_plan_default_parameters", "version_plan"])
    return Verdict(facts)


def units(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    method, its = given.method, given.plan
    changed = units_changed(its.default_parameters, given.followed)
    if not changed:
        return Verdict([Fact("Method", method.id, method.name, method.status)])
    facts = [Fact("Parameter", its.id, each.path, str(each)) for each in changed]
    refusal = RunParameterUnitsChangedError(told_units(changed), parameters=changed)
    return Verdict(facts, refusal, ["update_plan_default_parameters", "version_plan"])


def plan(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    its = given.plan
    facts = [Fact("Plan", its.id, its.name, its.status)]
    deprecated = its.status is DeclarationStatus.DEPRECATED
    return Verdict(facts, RunBoundPlanDeprecatedError() if deprecated else None)


def window(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    its, span = given.plan, given.plan.window
    facts = [Fact("Plan", its.id, its.name, its.status, span.ends_at)]
    if span.holds(now):
        return Verdict(facts)
    told = f"It is for {span.starts_at or 'any time'} to {span.ends_at or 'any time'}; it is {now}."
    return Verdict(facts, RunOutsidePlanWindowError(told))


def subject(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    its = given.subject
    if its is None:
        return Verdict()
    facts = [Fact("Subject", its.id, its.name, its.status)]
    if its.status in {SubjectStatus.MOUNTED, SubjectStatus.MEASURED}:
        return Verdict(facts)
    way = ["mount_subject"] if its.status is SubjectStatus.RECEIVED else []
    return Verdict(facts, RunSubjectNotMountedError(f"{its.name} is {its.status}."), way)


def assets(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    facts = [Fact("Asset", each.id, each.name, each.lifecycle) for each in given.wired]
    gone = [fact for fact in facts if fact.state == AssetLifecycle.DECOMMISSIONED]
    if not gone:
        return Verdict(facts)
    return Verdict(facts, RunAssetDecommissionedError(_named(gone)), ["version_plan"])


def families(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    facts = [Fact("Asset", each.id, each.name, each.lifecycle) for each in given.wired]
    lacking = missing_family_ids(given.wired, given.method, given.practice)
    if not lacking:
        return Verdict(facts)
    told = f"Lacking are {', '.join(map(str, lacking))}."
    refusal = RunFamiliesNotSatisfiedError(told, family_ids=lacking)
    return Verdict(facts, refusal, ["add_asset_family", "version_plan"])


TOWARDS_FORCE: dict[ClearanceStatus, tuple[str, ...]] = {
    ClearanceStatus.DEFINED: ("submit_clearance",),
    ClearanceStatus.SUBMITTED: ("start_clearance_review",),
    ClearanceStatus.UNDER_REVIEW: ("append_clearance_review_step", "approve_clearance"),
    ClearanceStatus.APPROVED: ("activate_clearance",),
    ClearanceStatus.ACTIVE: ("amend_clearance",),
}
"""What brings a clearance nearer to being in force; of those that ended, a new one."""


def clearance_fact(each: Clearance, now: datetime) -> Fact:
    """A clearance, and whether it is in force."""
    until, since, holds = each.valid_until, each.valid_from, IN_FORCE.holds_of(each, now)
    return Fact("Clearance", each.id, each.title, each.status, until, since, holds)


def clearance(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    if given.clearances is None:
        return Verdict()
    facts = [clearance_fact(each, now) for each in given.clearances.values()]
    if any(fact.in_force for fact in facts):
        return Verdict(facts)
    if not facts:
        return Verdict(facts, RunRequiresActiveClearanceError(), ["register_clearance"])
    statuses = {each.status for each in given.clearances.values()}
    ways = [way for status, steps in TOWARDS_FORCE.items() if status in statuses for way in steps]
    refusal = RunClearanceCoverageMismatchError(_named(facts))
    return Verdict(facts, refusal, ways or ["register_clearance"])


def covering_ids(given: Surroundings, now: datetime) -> list[UUID]:
    """The clearances in force that name this work."""
    named = (given.clearances or {}).values()
    return sorted(each.id for each in named if IN_FORCE.holds_of(each, now))


TOWARDS_AVAILABLE: dict[SupplyStatus, tuple[str, ...]] = {
    SupplyStatus.UNKNOWN: ("mark_supply_available",),
    SupplyStatus.DEGRADED: ("mark_supply_unavailable", "mark_supply_recovering", "restore_supply"),
    SupplyStatus.UNAVAILABLE: ("mark_supply_recovering", "restore_supply"),
    SupplyStatus.RECOVERING: ("restore_supply",),
}


def supply(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    found = [each for kind in given.supplies.found.values() for each in kind]
    facts = [Fact("Supply", each.supply_id, each.name, each.state) for each in found]
    uncovered = given.supplies.uncovered
    if not uncovered:
        return Verdict(facts)
    lacking = [each for kind in uncovered.values() for each in kind]
    statuses = {each.status for each in lacking}
    ways = [w for status, steps in TOWARDS_AVAILABLE.items() if status in statuses for w in steps]
    missing = ["register_supply"] if not all(uncovered.values()) else []
    stale = ["observe_supply_status"] if any(each.silent_for for each in lacking) else []
    again = " A stale supply counts again once its observer reports or it is marked available."
    told = f"{given.supplies}{again if stale else ''}"
    refusal = RunRequiresAvailableSupplyError(told, kinds=[*uncovered])
    return Verdict(facts, refusal, [*dict.fromkeys(ways), *missing, *stale])


def enclosure(given: Surroundings, override: JsonObject, now: datetime) -> Verdict:
    permits = given.enclosures
    facts = [
        Fact("Enclosure", id, permit.enclosure.name, permit.state) for id, permit in permits.items()
    ]
    failing = [fact for fact in facts if not permits[fact.id].holds]
    if not failing:
        return Verdict(facts)
    every = len(failing) == len(facts)
    refusal = RunRequiresPermittedEnclosureError if every else RunEnclosureCoverageMismatchError
    stale = any(permits[fact.id].stale for fact in failing)
    remedy = " A stale permit counts again once its monitor reports." if stale else ""
    ways = ["observe_enclosure_status"] if stale else []
    return Verdict(facts, refusal(_named(failing) + remedy), ways)


CHECKS: Mapping[str, Check] = {
    "parameters": parameters,
    "units": units,
    "plan": plan,
    "window": window,
    "subject": subject,
    "assets": assets,
    "families": families,
    "clearance": clearance,
    "supply": supply,
    "enclosure": enclosure,
}
"""In the order in which a start meets them: the first that fails is what it is refused for."""


def require_ready(given: Surroundings, override: JsonObject, now: datetime) -> None:
    """Refuse a start with the first check that fails, its facts and the way out."""
    for name, check in CHECKS.items():
        verdict = check(given, override, now)
        if verdict.refusal:
            facts, ways = verdict.facts, verdict.cleared_by
            verdict.refusal.facts |= {"check": name, "facts": facts, "cleared_by": ways}
            raise verdict.refusal


def _named(facts: Iterable[Fact]) -> str:
    return "; ".join(f"{fact.kind} {fact.name} ({fact.id}) is {fact.state}" for fact in facts) + "."
