"""Plan: a practice bound to the assets that perform it, and to a window of time."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen
from pydantic import Field

from beamkeep.contexts.equipment import asset, declaration
from beamkeep.contexts.equipment.asset import Asset, AssetLifecycle, AssetNotFoundError, assets
from beamkeep.contexts.equipment.family import Family, families
from beamkeep.contexts.federation.facility import Facility, facility_by_code
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import upwards, with_all_below
from beamkeep.kernel import (
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    Refusal,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, Timestamp, Trimmed
from beamkeep.schemas import JsonObject, UnitChange, carry, changed_units, merge_patch, untouched

from .capability import Capability, capabilities
from .method import Method, methods
from .practice import Practice, PracticeNotFoundError, practices

MOST_ASSETS = 100
MOST_NAMED = 100


class Window(Record):
    """The time in which a plan can be run, without its last moment; null is open on that side."""

    starts_at: Timestamp | None = None
    ends_at: Timestamp | None = None

    def holds(self, time: datetime) -> bool:
        """Return whether a time is in the window."""
        begun = self.starts_at is None or self.starts_at <= time
        return begun and (self.ends_at is None or time < self.ends_at)


# Events are stored for ever: add a field with a default; never rename or drop one.
class PlanEvent(Event):
    plan_id: UUID


class PlanContent(PlanEvent):
    name: str
    asset_ids: tuple[UUID, ...]
    window: Window
    default_parameters: JsonObject
    method_version: int | None = None


class PlanDefined(PlanContent, kw_only=True):
    practice_id: UUID
    method_id: UUID


class PlanVersioned(PlanContent, kw_only=True):
    version_tag: str


class PlanDefaultParametersUpdated(PlanEvent):
    default_parameters: JsonObject
    method_version: int | None = None


class PlanDeprecated(PlanEvent): ...


class PlanNotFoundError(NotFound): ...


class InvalidPlanNameError(Blank): ...


class InvalidPlanAssetIdsError(Invalid):
    """A plan must bind at least one asset."""


class InvalidPlanWindowError(Invalid):
    """The window must start before it ends."""


class InvalidPlanDefaultParametersError(Invalid):
    """Default parameters must fit the method's parameters schema."""


class InvalidPlanVersionTagError(declaration.InvalidVersionTag): ...


class PlanCannotVersionError(declaration.CannotVersion): ...


class PlanCannotUpdateDefaultParametersError(Cannot):
    """The default parameters of a deprecated plan cannot be changed; define another plan."""


class PlanParameterUnitsChangedError(Cannot):
    """The method has changed the unit of a default parameter that the patch does not name."""


class PlanCannotDeprecateError(declaration.CannotDeprecate): ...


class PlanBoundPracticeDeprecatedError(Cannot):
    """A plan cannot follow a deprecated practice."""


class PlanBoundMethodDeprecatedError(Cannot):
    """A plan cannot follow a practice whose method is deprecated."""


class PlanBoundCapabilityDeprecatedError(Cannot):
    """A plan cannot follow a practice whose method realizes a deprecated capability."""


class PlanAssetDecommissionedError(Cannot):
    """A plan cannot bind a decommissioned asset."""


class PlanAssetOutsideSiteError(Cannot):
    """A plan can only bind assets at the site of its practice or in an area of that site."""


class PlanFamiliesNotSatisfiedError(Cannot):
    """The assets of a plan must cover every family that its method and its practice need."""


class PlanAffordancesNotSatisfiedError(Cannot):
    """The families of a plan's assets must cover every affordance that the capability requires."""


STATUS = declaration.Lifecycle(
    (PlanVersioned, PlanCannotVersionError),
    (PlanDeprecated, PlanCannotDeprecateError),
    InvalidPlanVersionTagError,
)


class Plan(declaration.Declaration, kw_only=True):
    practice_id: UUID
    method_id: UUID
    asset_ids: frozenset[UUID]
    window: Window
    default_parameters: JsonObject
    method_version: int | None = None
    """The version of the method when the default parameters were last written."""


def begin(event: PlanDefined) -> Plan:
    return STATUS.begin(Plan, event.plan_id, event)


def evolve(
    plan: Plan, event: PlanVersioned | PlanDefaultParametersUpdated | PlanDeprecated
) -> Plan:
    if isinstance(event, PlanDefaultParametersUpdated):
        parameters, version = event.default_parameters, event.method_version
        return replace(plan, default_parameters=parameters, method_version=version)
    return STATUS.evolve(plan, event)


class DeclarePlan(Command):
    name: Annotated[Name, Trimmed(InvalidPlanNameError)]
    asset_ids: Annotated[frozenset[UUID], MaxLen(MOST_ASSETS)]
    """The assets that do the work; assets above and below them are not included."""
    window: Window
    default_parameters: JsonObject
    """The parameters of a run that sends none; they must fit the method's schema."""


class DefinePlan(DeclarePlan):
    practice_id: UUID
    window: Window = Field(default_factory=Window)
    default_parameters: JsonObject = Field(default_factory=dict)


class PlanCommand(Command):
    plan_id: UUID


class VersionPlan(PlanCommand, DeclarePlan):
    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidPlanVersionTagError)]


class UpdatePlanDefaultParameters(PlanCommand):
    default_parameters_patch: JsonObject
    """A JSON merge patch (RFC 7396): a value sets a parameter, null removes it."""


class DeprecatePlan(PlanCommand): ...


class PlanReferences(Record):
    """The practice of a plan with its method and capability, and the assets of the plan."""

    practice: Practice
    method: Method
    method_version: int
    capability: Capability
    assets: Mapping[UUID, Asset]
    families: Mapping[UUID, Family]
    """The families of the assets."""
    site: Facility | None
    """The site of the practice, if it has one."""
    facilities: Mapping[UUID, Facility]
    """The facility of each asset; empty if the practice has no site."""


async def references(practice_id: UUID, asset_ids: Iterable[UUID], read: Reader) -> PlanReferences:
    practice = await read.one(practices, practice_id)
    method = await read.one(methods, practice.method_id)
    capability = await read.one(capabilities, method.capability_id)
    bound = await read.many(assets, sorted(asset_ids))
    site, where = None, dict[UUID, Facility]()
    if practice.facility_code is not None:
        site = await facility_by_code(practice.facility_code, read)
        known = await asset.with_all_above(bound, read)
        codes = {id: code for id in bound if (code := upwards(id, known)[-1].facility_code)}
        found = {code: await facility_by_code(code, read) for code in sorted({*codes.values()})}
        where = {id: found[code] for id, code in codes.items()}
    return PlanReferences(
        practice,
        method,
        method_version=read.version(methods, method.id),
        capability=capability,
        assets=bound,
        families=await read.many(families, sorted(family_ids_of(bound.values()))),
        site=site,
        facilities=where,
    )


class PlanMethod(Record):
    method: Method
    version: int
    before: Method


async def plan_method(plan: Plan, read: Reader) -> PlanMethod:
    """Return the method of a plan, now and when the plan's default parameters were written."""
    method = await read.one(methods, plan.method_id)
    # Plans of earlier builds do not name the version; version 1 is the safe assumption.
    version, written = read.version(methods, method.id), plan.method_version or 1
    if written == version or not plan.default_parameters:
        return PlanMethod(method, version, method)
    return PlanMethod(method, version, await read.as_of(methods, method.id, written))


def define_plan(command: DefinePlan, given: PlanReferences, call: Call) -> list[PlanDefined]:
    """Bind a practice to the assets that perform it."""
    content = _content(command, given)
    _require_bindable(given)
    method_id, id, now = given.method.id, call.new_id, call.now
    return [PlanDefined.of(command, occurred_at=now, plan_id=id, method_id=method_id, **content)]


def version_plan(
    plan: Plan, command: VersionPlan, given: PlanReferences, call: Call
) -> list[PlanVersioned]:
    """Replace every field of a plan except its practice."""
    content = _content(command, given)
    tag = STATUS.new_tag(plan, command.version_tag)
    _require_bindable(given)
    return [PlanVersioned.of(command, occurred_at=call.now, version_tag=tag, **content)]


def update_plan_default_parameters(
    plan: Plan, command: UpdatePlanDefaultParameters, given: PlanMethod, call: Call
) -> list[PlanDefaultParametersUpdated]:
    """Change some default parameters of a plan; the result must fit the method's schema."""
    patch = command.default_parameters_patch
    merged = merge_patch(plan.default_parameters, patch)
    parameters = carried_parameters(merged, given.method, InvalidPlanDefaultParametersError)
    if plan.status is declaration.DeclarationStatus.DEPRECATED:
        raise PlanCannotUpdateDefaultParametersError
    # A number that the patch does not name would silently be taken for one in the new unit.
    if unnamed := units_changed(untouched(plan.default_parameters, patch), given):
        detail = f"{units_in_words(unnamed)} Name these parameters in the patch, in the new units."
        raise PlanParameterUnitsChangedError(detail, parameters=unnamed)
    version = given.version
    return [PlanDefaultParametersUpdated(call.now, plan.id, parameters, method_version=version)]


def deprecate_plan(plan: Plan, command: DeprecatePlan, call: Call) -> list[PlanDeprecated]:
    """Deprecate a plan, so that no run can start from it."""
    return [STATUS.allow(plan.status, PlanDeprecated(call.now, plan.id))]


def carried_parameters(
    parameters: JsonObject, method: Method, refusal: type[Refusal]
) -> JsonObject:
    """Return the parameters unchanged; raise the refusal when the method's schema refuses them."""
    return carry(parameters, method.parameters_schema, refusal, f"method {method.name}")


def units_changed(parameters: JsonObject, given: PlanMethod) -> list[UnitChange]:
    """Return the first parameters whose unit the method has changed since they were written."""
    before, now = given.before.parameters_schema, given.method.parameters_schema
    return changed_units(parameters, before, now)[:MOST_NAMED]


def units_in_words(changes: Iterable[UnitChange]) -> str:
    """Return changes of units as a sentence."""
    return "; ".join(f"{each.path}: {each}" for each in changes) + "."


def family_ids_of(assets: Iterable[Asset]) -> set[UUID]:
    """Return the families of some assets."""
    return {id for asset in assets for id in asset.family_ids}


def missing_family_ids(assets: Iterable[Asset], method: Method, practice: Practice) -> list[UUID]:
    """Return the families that a method or its practice needs and that no asset belongs to."""
    return sorted((method.needed_family_ids | practice.family_ids) - family_ids_of(assets))


def _content(command: DeclarePlan, given: PlanReferences) -> dict[str, object]:
    """Return the fields that the command does not have in the form of the event."""
    window = command.window
    if not command.asset_ids:
        raise InvalidPlanAssetIdsError
    if window.starts_at and window.ends_at and window.starts_at >= window.ends_at:
        times = f"starts_at is {window.starts_at}, ends_at is {window.ends_at}."
        raise InvalidPlanWindowError(times)
    refusal = InvalidPlanDefaultParametersError
    carried_parameters(command.default_parameters, given.method, refusal)
    asset_ids = tuple(sorted(command.asset_ids))
    return {"asset_ids": asset_ids, "method_version": given.method_version}


def _require_bindable(given: PlanReferences) -> None:
    """Refuse what a plan cannot follow, and assets that cannot perform it."""
    declaration.require_current([given.practice], PlanBoundPracticeDeprecatedError)
    declaration.require_current([given.method], PlanBoundMethodDeprecatedError)
    declaration.require_current([given.capability], PlanBoundCapabilityDeprecatedError)
    bound = given.assets.values()
    retired = [each for each in bound if each.lifecycle is AssetLifecycle.DECOMMISSIONED]
    _require_none(retired, PlanAssetDecommissionedError)
    if site := given.site:
        inside = {id for id, it in given.facilities.items() if site.id in (it.id, it.parent_id)}
        _require_none([each for each in bound if each.id not in inside], PlanAssetOutsideSiteError)
    if lacking := missing_family_ids(bound, given.method, given.practice):
        detail = f"Missing families: {', '.join(map(str, lacking))}."
        raise PlanFamiliesNotSatisfiedError(detail, family_ids=lacking)
    offered = {each for family in given.families.values() for each in family.affordances}
    if unable := sorted(given.capability.required_affordances - offered):
        detail = f"Missing affordances: {', '.join(unable)}."
        raise PlanAffordancesNotSatisfiedError(detail, affordances=unable)


def _require_none(assets: Iterable[Asset], refusal: type[Cannot]) -> None:
    if refused := {each.id: each.name for each in assets}:
        named = ", ".join(f"{name} ({id})" for id, name in refused.items())
        raise refusal(f"Choose other assets than {named}.", asset_ids=[*refused])


plans = Aggregate("Plan", begin, evolve, absent=PlanNotFoundError, axes=(STATUS,))

# fmt: off
NOT_BINDABLE = (PlanBoundPracticeDeprecatedError, PlanBoundMethodDeprecatedError,
    PlanBoundCapabilityDeprecatedError, PlanAssetDecommissionedError, PlanAssetOutsideSiteError,
    PlanFamiliesNotSatisfiedError, PlanAffordancesNotSatisfiedError)
OPERATIONS = (
    plans.creates("POST /plans", DefinePlan, define_plan, PracticeNotFoundError,
        AssetNotFoundError, InvalidPlanAssetIdsError, InvalidPlanWindowError,
        InvalidPlanDefaultParametersError, *NOT_BINDABLE,
        given=lambda command, read: references(command.practice_id, command.asset_ids, read)),
    plans.changes("POST /plans/{plan_id}/version", VersionPlan, version_plan, AssetNotFoundError,
        InvalidPlanAssetIdsError, InvalidPlanWindowError, InvalidPlanDefaultParametersError,
        PlanCannotVersionError, *NOT_BINDABLE,
        given=lambda plan, command, read: references(plan.practice_id, command.asset_ids, read)),
    plans.changes("POST /plans/{plan_id}/update-default-parameters", UpdatePlanDefaultParameters,
        update_plan_default_parameters, InvalidPlanDefaultParametersError,
        PlanCannotUpdateDefaultParametersError, PlanParameterUnitsChangedError,
        given=lambda plan, _, read: plan_method(plan, read)),
    plans.changes("POST /plans/{plan_id}/deprecate", DeprecatePlan, deprecate_plan,
        PlanCannotDeprecateError, destructive=True),
)
# fmt: on


class ListPlans(Listing):
    """List plans, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    practice_id: UUID | None = None
    method_id: UUID | None = None
    asset_id: UUID | None = None
    under_asset_id: UUID | None = None
    """Plans that use this asset or an asset below it."""


# fmt: off
QUESTIONS = reads("/plans", plans, ListPlans, version=2, milestones=STATUS.milestones,
    facets={"asset_id": lambda plan: plan.asset_ids},
    expanded={"under_asset_id": with_all_below}, aliases={"under_asset_id": "asset_id"},
    directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.status,
        scope=lambda it: it.asset_ids or None, version=2))
