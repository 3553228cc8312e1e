"""Plan: a practice bound to the assets that are to do it, and to a span of time."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import Field

from beamkeep.contexts.equipment.asset import (
    Asset,
    AssetLifecycle,
    AssetNotFoundError,
    assets,
    with_all_above,
)
from beamkeep.contexts.equipment.family import Affordance, Family, VersionTag, families, new_tag
from beamkeep.contexts.equipment.place import upwards
from beamkeep.contexts.federation.facility import Facility, facility_by_code
from beamkeep.kernel import (
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    Refusal,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, Timestamp, trimmed
from beamkeep.schemas import (
    JsonObject,
    UnitChange,
    carry,
    changed_units,
    merge_patch,
    untouched,
)

from .capability import Capability, capabilities
from .declaration import DeclarationStatus, lifecycle, milestones, require_current
from .method import Method, methods
from .practice import Practice, PracticeNotFoundError, practices

MOST_ASSETS = 100
MOST_TOLD = 100


class Window(Record):
    """The span of time in which a plan may be run, its end not included; null is open."""

    starts_at: Timestamp | None = None
    ends_at: Timestamp | None = None

    def holds(self, time: datetime) -> bool:
        """Whether a time is inside."""
        begun = self.starts_at is None or self.starts_at <= time
        return begun and (self.ends_at is None or time < self.ends_at)


# Events are stored for ever: add a field with a default; never rename or drop one.
class PlanEvent(Event):
    plan_id: UUID


class PlanDefined(PlanEvent):
    name: str
    practice_id: UUID
    method_id: UUID
    asset_ids: tuple[UUID, ...]
    window: Window
    default_parameters: JsonObject
    method_version: int | None = None


class PlanVersioned(PlanEvent):
    version_tag: str
    name: str
    asset_ids: tuple[UUID, ...]
    window: Window
    default_parameters: JsonObject
    method_version: int | None = None


class PlanDefaultParametersUpdated(PlanEvent):
    default_parameters: JsonObject
    method_version: int | None = None


class PlanDeprecated(PlanEvent): ...


type PlanChanged = PlanVersioned | PlanDefaultParametersUpdated | PlanDeprecated


class PlanNotFoundError(NotFound):
    """The plan does not exist."""


class InvalidPlanNameError(Invalid):
    """The plan's name is not usable."""


class InvalidPlanAssetIdsError(Invalid):
    """A plan binds at least one asset; name one."""


class InvalidPlanWindowError(Invalid):
    """A window starts before it ends."""


class InvalidPlanDefaultParametersError(Invalid):
    """The default parameters are not what the method takes."""


class InvalidPlanVersionTagError(Invalid):
    """The version tag is not usable: a new version has a tag of its own."""


class PlanCannotVersionError(Cannot):
    """The plan cannot be versioned."""


class PlanCannotUpdateDefaultParametersError(Cannot):
    """The default parameters of a deprecated plan do not change; define another plan."""


class PlanParameterUnitsChangedError(Cannot):
    """The unit of a default parameter has changed; name it in the patch, in the new unit."""


class PlanCannotDeprecateError(Cannot):
    """The plan cannot be deprecated."""


class PlanBoundPracticeDeprecatedError(Cannot):
    """No plan may follow a deprecated practice."""


class PlanBoundMethodDeprecatedError(Cannot):
    """No plan may follow a practice of a deprecated method."""


class PlanBoundCapabilityDeprecatedError(Cannot):
    """No plan may follow a method that realizes a deprecated capability."""


class PlanAssetDecommissionedError(Cannot):
    """No plan may bind a decommissioned asset; bind what stands in its place."""


class PlanAssetOutsideSiteError(Cannot):
    """Every asset of a plan stands at the site of its practice, or in an area of that site."""


class PlanFamiliesNotSatisfiedError(Cannot):
    """The assets lack a family that the method or the practice needs; bind one that has it."""


class PlanAffordancesNotSatisfiedError(Cannot):
    """The assets cannot do all that the capability requires; bind one whose family can."""


STATUS = lifecycle(
    (PlanVersioned, PlanCannotVersionError), (PlanDeprecated, PlanCannotDeprecateError)
)


class Plan(Record):
    id: UUID
    name: str
    practice_id: UUID
    method_id: UUID
    asset_ids: frozenset[UUID]
    window: Window
    default_parameters: JsonObject
    status: DeclarationStatus = DeclarationStatus.DEFINED
    version_tag: str | None = None
    method_version: int | None = None
    """The version of the method its default parameters were last written under."""


def begin(event: PlanDefined) -> Plan:
    return Plan(
        event.plan_id,
        event.name,
        event.practice_id,
        event.method_id,
        frozenset(event.asset_ids),
        event.window,
        event.default_parameters,
        method_version=event.method_version,
    )


def evolve(plan: Plan, event: PlanChanged) -> Plan:
    match event:
        case PlanVersioned():
            return replace(
                plan,
                status=STATUS.after(event),
                version_tag=event.version_tag,
                name=event.name,
                asset_ids=frozenset(event.asset_ids),
                window=event.window,
                default_parameters=event.default_parameters,
                method_version=event.method_version,
            )
        case PlanDefaultParametersUpdated():
            return replace(
                plan,
                default_parameters=event.default_parameters,
                method_version=event.method_version,
            )
        case PlanDeprecated():
            return replace(plan, status=STATUS.after(event))


class DeclarePlan(Command):
    name: Name
    asset_ids: Annotated[frozenset[UUID], MaxLen(MOST_ASSETS)]
    """Exactly the assets that do the work, not what they stand under or what is below them."""
    window: Window
    default_parameters: JsonObject
    """What a run takes unless it says otherwise; checked against the method's schema."""


class DefinePlan(DeclarePlan):
    practice_id: UUID
    window: Window = Field(default_factory=Window)
    default_parameters: JsonObject = Field(default_factory=dict)


class PlanCommand(Command):
    plan_id: UUID


class VersionPlan(PlanCommand, DeclarePlan):
    """Every field replaces the old one."""

    version_tag: VersionTag


class UpdatePlanDefaultParameters(PlanCommand):
    default_parameters_patch: JsonObject
    """A merge patch (RFC 7396): what it names is set, null removes, all else stays."""


class DeprecatePlan(PlanCommand): ...


class Bound(Record):
    """What a plan binds together."""

    practice: Practice
    method: Method
    method_version: int
    capability: Capability
    assets: Mapping[UUID, Asset]
    families: Mapping[UUID, Family]
    """Those of the assets."""
    site: Facility | None
    """The one of the practice, if it has one."""
    facilities: Mapping[UUID, Facility]
    """Where each asset stands, if the practice has a site."""


async def bound(command: DefinePlan, read: Reader) -> Bound:
    return await _bound(command.practice_id, command.asset_ids, read)


async def bound_anew(plan: Plan, command: VersionPlan, read: Reader) -> Bound:
    return await _bound(plan.practice_id, command.asset_ids, read)


class Followed(Record):
    """The method of a plan: now, at its version, and as the default parameters were written."""

    method: Method
    version: int
    before: Method


async def own_method(plan: Plan, command: UpdatePlanDefaultParameters, read: Reader) -> Followed:
    return await followed(plan, read)


async def followed(plan: Plan, read: Reader) -> Followed:
    """The method of a plan, as it is and as it was when the plan's defaults were written."""
    method = await read.one(methods, plan.method_id)
    # Plans of earlier builds do not say under which version; the first is the careful guess.
    version, written = read.version(methods, method.id), plan.method_version or 1
    if written == version or not plan.default_parameters:
        return Followed(method, version, method)
    return Followed(method, version, await read.as_of(methods, method.id, written))


async def _bound(practice_id: UUID, asset_ids: Iterable[UUID], read: Reader) -> Bound:
    practice = await read.one(practices, practice_id)
    method = await read.one(methods, practice.method_id)
    capability = await read.one(capabilities, method.capability_id)
    wired = await read.many(assets, sorted(asset_ids))
    theirs = await read.many(families, sorted(family_ids_of(wired.values())))
    site, where = None, dict[UUID, Facility]()
    if practice.facility_code is not None:
        site = await facility_by_code(practice.facility_code, read)
        known = await with_all_above(wired, read)
        codes = {id: code for id in wired if (code := upwards(id, known)[-1].facility_code)}
        found = {code: await facility_by_code(code, read) for code in sorted({*codes.values()})}
        where = {id: found[code] for id, code in codes.items()}
    version = read.version(methods, method.id)
    return Bound(practice, method, version, capability, wired, theirs, site, where)


def define_plan(command: DefinePlan, given: Bound, call: Call) -> list[PlanDefined]:
    """Bind a practice to the assets that are to do it."""
    declaration = _declaration(command, given.method)
    _require_bindable(given)
    name, ids, what = declaration[0], (given.practice.id, given.method.id), declaration[1:]
    return [PlanDefined(call.now, call.new_id, name, *ids, *what, given.method_version)]


def version_plan(plan: Plan, command: VersionPlan, given: Bound, call: Call) -> list[PlanVersioned]:
    """Replace everything a plan says, but for its practice."""
    declaration = _declaration(command, given.method)
    tag = new_tag(command.version_tag, plan.version_tag, InvalidPlanVersionTagError)
    STATUS.require(plan.status, PlanVersioned)
    _require_bindable(given)
    return [PlanVersioned(call.now, plan.id, tag, *declaration, given.method_version)]


def update_plan_default_parameters(
    plan: Plan, command: UpdatePlanDefaultParameters, given: Followed, call: Call
) -> list[PlanDefaultParametersUpdated]:
    """Change some of a plan's default parameters; the whole must follow the method's schema."""
    patch = command.default_parameters_patch
    merged = merge_patch(plan.default_parameters, patch)
    parameters = carried_parameters(merged, given.method, InvalidPlanDefaultParametersError)
    if plan.status is DeclarationStatus.DEPRECATED:
        raise PlanCannotUpdateDefaultParametersError
    # A number that the patch does not name would silently be taken for one in the new unit.
    if unnamed := units_changed(untouched(plan.default_parameters, patch), given):
        raise PlanParameterUnitsChangedError(told_units(unnamed), parameters=unnamed)
    return [PlanDefaultParametersUpdated(call.now, plan.id, parameters, given.version)]


def deprecate_plan(plan: Plan, command: DeprecatePlan, call: Call) -> list[PlanDeprecated]:
    """Let nothing new run by a plan."""
    STATUS.require(plan.status, PlanDeprecated)
    return [PlanDeprecated(call.now, plan.id)]


def carried_parameters(
    parameters: JsonObject, method: Method, refusal: type[Refusal]
) -> JsonObject:
    """The parameters, unchanged, once the method's schema takes them."""
    return carry(parameters, method.parameters_schema, refusal, f"method {method.name}")


def units_changed(parameters: JsonObject, given: Followed) -> list[UnitChange]:
    """The first parameters that the method now declares in another unit than when written."""
    before, now = given.before.parameters_schema, given.method.parameters_schema
    return changed_units(parameters, before, now)[:MOST_TOLD]


def told_units(changes: Iterable[UnitChange]) -> str:
    """Changes of units in a sentence."""
    return "; ".join(f"{each.path}: {each}" for each in changes) + "."


def family_ids_of(assets: Iterable[Asset]) -> set[UUID]:
    """The families that some of these assets belong to."""
    return {id for asset in assets for id in asset.family_ids}


def missing_family_ids(assets: Iterable[Asset], method: Method, practice: Practice) -> list[UUID]:
    """The families that a method or its practice needs and none of these assets belongs to."""
    return sorted((method.needed_family_ids | practice.family_ids) - family_ids_of(assets))


def missing_affordances(families: Iterable[Family], capability: Capability) -> list[Affordance]:
    """What a capability requires and no device of these families can do."""
    offered = {each for family in families for each in family.affordances}
    return sorted(capability.required_affordances - offered)


def _declaration(
    command: DeclarePlan, method: Method
) -> tuple[str, tuple[UUID, ...], Window, JsonObject]:
    """What the plan says, once it makes sense."""
    name, window = trimmed(command.name, InvalidPlanNameError), command.window
    if not command.asset_ids:
        raise InvalidPlanAssetIdsError
    if window.starts_at and window.ends_at and window.starts_at >= window.ends_at:
        raise InvalidPlanWindowError
    refusal = InvalidPlanDefaultParametersError
    parameters = carried_parameters(command.default_parameters, method, refusal)
    return name, tuple(sorted(command.asset_ids)), window, parameters


def _require_bindable(given: Bound) -> None:
    """Refuse a plan that its practice, its method, its capability or an asset does not bear."""
    require_current([given.practice], PlanBoundPracticeDeprecatedError)
    require_current([given.method], PlanBoundMethodDeprecatedError)
    require_current([given.capability], PlanBoundCapabilityDeprecatedError)
    wired = given.assets.values()
    _refuse_any(
        [each for each in wired if each.lifecycle is AssetLifecycle.DECOMMISSIONED],
        PlanAssetDecommissionedError,
    )
    if site := given.site:
        inside = {id for id, it in given.facilities.items() if site.id in (it.id, it.parent_id)}
        _refuse_any([each for each in wired if each.id not in inside], PlanAssetOutsideSiteError)
    if lacking := missing_family_ids(wired, given.method, given.practice):
        told = f"Lacking are {', '.join(map(str, lacking))}."
        raise PlanFamiliesNotSatisfiedError(told, family_ids=lacking)
    if unable := missing_affordances(given.families.values(), given.capability):
        told = f"Lacking are {', '.join(unable)}."
        raise PlanAffordancesNotSatisfiedError(told, affordances=unable)


def _refuse_any(assets: Iterable[Asset], refusal: type[Cannot]) -> None:
    if refused := {each.id: each.name for each in assets}:
        named = ", ".join(f"{name} ({id})" for id, name in refused.items())
        raise refusal(f"Refused: {named}.", asset_ids=[*refused])


plans = Aggregate("Plan", begin, evolve, PlanNotFoundError)

# fmt: off
OPERATIONS = (
    plans.creates("POST /plans", DefinePlan, define_plan, PracticeNotFoundError,
        AssetNotFoundError, InvalidPlanNameError, InvalidPlanAssetIdsError, InvalidPlanWindowError,
        InvalidPlanDefaultParametersError, PlanBoundPracticeDeprecatedError,
        PlanBoundMethodDeprecatedError, PlanBoundCapabilityDeprecatedError,
        PlanAssetDecommissionedError, PlanAssetOutsideSiteError, PlanFamiliesNotSatisfiedError,
        PlanAffordancesNotSatisfiedError, given=bound),
    plans.changes("POST /plans/{plan_id}/version", VersionPlan, version_plan, AssetNotFoundError,
        InvalidPlanNameError, InvalidPlanAssetIdsError, InvalidPlanWindowError,
        InvalidPlanDefaultParametersError, InvalidPlanVersionTagError, PlanCannotVersionError,
        PlanBoundPracticeDeprecatedError, PlanBoundMethodDeprecatedError,
        PlanBoundCapabilityDeprecatedError, PlanAssetDecommissionedError,
        PlanAssetOutsideSiteError, PlanFamiliesNotSatisfiedError,
        PlanAffordancesNotSatisfiedError, given=bound_anew),
    plans.changes("POST /plans/{plan_id}/update-default-parameters", UpdatePlanDefaultParameters,
        update_plan_default_parameters, InvalidPlanDefaultParametersError,
        PlanCannotUpdateDefaultParametersError, PlanParameterUnitsChangedError, given=own_method),
    plans.changes("POST /plans/{plan_id}/deprecate", DeprecatePlan, deprecate_plan,
        PlanCannotDeprecateError),
)
# fmt: on


class ListPlans(Listing):
    """List plans, by age."""

    status: DeclarationStatus | None = None
    practice_id: UUID | None = None
    method_id: UUID | None = None
    asset_id: UUID | None = None


QUESTIONS = reads(
    "/plans",
    plans,
    ListPlans,
    milestones=milestones(STATUS),
    facets={"asset_id": lambda plan: plan.asset_ids},
    version=2,
)
