"""Plan: which assets may do a practice, when, and with which parameters."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.support.schemas import DIALECT
from tests.unit.contexts.recipe.test_method import CAMERAS, CAPABILITY, STAGES, family
from tests.unit.contexts.recipe.test_method import capability as realized
from tests.unit.contexts.recipe.test_method import defined as defined_method
from tests.unit.contexts.recipe.test_practice import defined as defined_practice
from tests.unit.contexts.recipe.test_practice import facility

from beamkeep.contexts.equipment.asset import (
    AssetActivated,
    AssetDecommissioned,
    AssetFaulted,
    AssetMaintenanceEntered,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.equipment.family import Affordance, FamilyDeprecated
from beamkeep.contexts.recipe.capability import CapabilityDeprecated
from beamkeep.contexts.recipe.capability import begin as begin_capability
from beamkeep.contexts.recipe.method import MethodDeprecated, MethodVersioned
from beamkeep.contexts.recipe.method import begin as begin_method
from beamkeep.contexts.recipe.plan import (
    OPERATIONS,
    DefinePlan,
    DeprecatePlan,
    InvalidPlanAssetIdsError,
    InvalidPlanDefaultParametersError,
    InvalidPlanVersionTagError,
    InvalidPlanWindowError,
    Plan,
    PlanAffordancesNotSatisfiedError,
    PlanAssetDecommissionedError,
    PlanAssetOutsideSiteError,
    PlanBoundCapabilityDeprecatedError,
    PlanBoundMethodDeprecatedError,
    PlanBoundPracticeDeprecatedError,
    PlanCannotUpdateDefaultParametersError,
    PlanCannotVersionError,
    PlanDefaultParametersUpdated,
    PlanDefined,
    PlanDeprecated,
    PlanFamiliesNotSatisfiedError,
    PlanMethod,
    PlanNotFoundError,
    PlanParameterUnitsChangedError,
    PlanReferences,
    PlanVersioned,
    UpdatePlanDefaultParameters,
    VersionPlan,
    Window,
    begin,
    carried_parameters,
    evolve,
    missing_family_ids,
)
from beamkeep.contexts.recipe.practice import PracticeDeprecated, PracticeNotFoundError
from beamkeep.contexts.recipe.practice import begin as begin_practice
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.kernel import Event, Invalid, SideWrite, replace
from beamkeep.schemas import UnitChange
from beamkeep.testing.past import ABSENT, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, METHOD, PRACTICE, FREE_PRACTICE = NEW, UUID(int=21), UUID(int=22), UUID(int=23)
SITE, HALL, OTHER_SITE, OTHER_HALL = (UUID(int=n) for n in range(30, 34))
BEAMLINE, STAGE, CAMERA, HALL_STAGE, FAR_STAGE, FAR_HALL_STAGE = (
    UUID(int=n) for n in range(40, 46)
)


def asset(
    id: UUID, name: str, parent_id: UUID | None, facility_code: str | None, *family_ids: UUID
) -> tuple[Event | SideWrite, ...]:
    tier = AssetTier.DEVICE if parent_id else AssetTier.UNIT
    return (
        AssetRegistered(NOW, id, name, tier, parent_id, facility_code, family_ids, None, None, ()),
        PLACES.insert(AssetPlace(id, parent_id, facility_code)),
    )


IMAGING = (Affordance.IMAGEABLE, Affordance.ROTATABLE)
capability = replace(realized, required_affordances=IMAGING)
method = replace(defined_method, method_id=METHOD, needed_family_ids=(STAGES,), needed_supplies=())
practice = replace(defined_practice, practice_id=PRACTICE, family_ids=(CAMERAS,))
AROUND = (
    family(STAGES, "Stages", Affordance.HOMEABLE, Affordance.ROTATABLE),
    family(CAMERAS, "Cameras", Affordance.IMAGEABLE),
    capability,
    method,
    practice,
    replace(practice, practice_id=FREE_PRACTICE, facility_code=None),
    *facility(SITE, "ring"),
    *facility(HALL, "hall", SITE),
    *facility(OTHER_SITE, "annex"),
    *facility(OTHER_HALL, "annex-hall", OTHER_SITE),
    *asset(BEAMLINE, "Beamline", None, "ring"),
    *asset(STAGE, "Stage", BEAMLINE, None, STAGES),
    *asset(CAMERA, "Camera", BEAMLINE, None, CAMERAS),
    *asset(HALL_STAGE, "Hall stage", None, "hall", STAGES),
    *asset(FAR_STAGE, "Far stage", None, "annex", STAGES),
    *asset(FAR_HALL_STAGE, "Far hall stage", None, "annex-hall", STAGES),
)
retired = AssetDecommissioned(NOW, STAGE)
old_practice, old_method = PracticeDeprecated(NOW, PRACTICE), MethodDeprecated(NOW, METHOD)
old_capability = CapabilityDeprecated(NOW, CAPABILITY, None)
without_schema = MethodVersioned.of(method, version_tag="2", parameters_schema=None)

BOTH = frozenset({STAGE, CAMERA})
DAY = Window(NOW, LATER)
defined = PlanDefined(
    NOW,
    ID,
    name="Monday",
    practice_id=PRACTICE,
    method_id=METHOD,
    asset_ids=(STAGE, CAMERA),
    window=DAY,
    default_parameters={"mode": "fast"},
    method_version=1,
)
versioned = PlanVersioned(
    NOW,
    ID,
    version_tag="2",
    name="Tuesday",
    asset_ids=(CAMERA, HALL_STAGE),
    window=Window(),
    default_parameters={},
    method_version=1,
)
updated = PlanDefaultParametersUpdated(
    NOW, ID, default_parameters={"mode": "slow"}, method_version=1
)
deprecated = PlanDeprecated(NOW, ID)

DEFINE = DefinePlan(
    name="Monday", practice_id=PRACTICE, asset_ids=BOTH, default_parameters={"mode": "fast"}
).model_copy(update={"window": DAY})
VERSION = VersionPlan.model_validate(
    {
        "plan_id": ID,
        "version_tag": "2",
        "name": "Tuesday",
        "asset_ids": [CAMERA, HALL_STAGE],
        "window": {},
        "default_parameters": {},
    }
)
UPDATE = UpdatePlanDefaultParameters(plan_id=ID, default_parameters_patch={"mode": "slow"})
DEPRECATE = DeprecatePlan(plan_id=ID)
BOUND = PlanReferences(
    replace(begin_practice(practice), family_ids=frozenset()),
    replace(begin_method(method), needed_family_ids=frozenset()),
    method_version=1,
    capability=replace(begin_capability(capability), required_affordances=frozenset()),
    assets={},
    families={},
    site=None,
    facilities={},
)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def defining(**changes: Any) -> DefinePlan:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionPlan:
    return VERSION.model_copy(update=changes)


def refused_either_way(
    refusal: type[Any],
    saying: str = "",
    past: Sequence[Event] = (),
    facts: dict[str, object] | None = None,
    **changes: Any,
) -> None:
    """The same is refused in a new plan and in a new version."""
    found = given(*past).when(defining(**changes)).refused(refusal, saying)
    again = given(*past, defined).when(versioning(**changes)).refused(refusal, saying)
    assert facts is None or found.facts == again.facts == facts


def test_a_plan_is_defined_with_its_assets_sorted_and_the_method_noted():
    given().when(DEFINE).then(defined)


def test_a_plan_needs_no_window_and_no_parameters():
    bare = DefinePlan(name="Monday", practice_id=PRACTICE, asset_ids=BOTH)
    given().when(bare).then(replace(defined, window=Window(None, None), default_parameters={}))


def test_a_plan_binds_some_asset():
    refused_either_way(InvalidPlanAssetIdsError, asset_ids=frozenset[UUID]())


def test_a_window_starts_before_it_ends():
    for window in (Window(NOW, NOW), Window(LATER, NOW)):
        refused_either_way(InvalidPlanWindowError, window=window)


def test_a_window_may_be_open_on_either_side():
    for window in (Window(NOW, None), Window(None, NOW)):
        given().when(defining(window=window)).then(replace(defined, window=window))


def test_a_window_holds_its_start_and_not_its_end():
    moment = timedelta(microseconds=1)
    assert [DAY.holds(NOW - moment), DAY.holds(NOW)] == [False, True]
    assert [DAY.holds(LATER - moment), DAY.holds(LATER)] == [True, False]


def test_an_open_window_holds_every_time_on_that_side():
    for window, time in ((Window(), NOW), (Window(NOW), LATER), (Window(None, LATER), NOW)):
        assert window.holds(time)


def test_the_default_parameters_follow_the_schema_of_the_method():
    refused_either_way(
        InvalidPlanDefaultParametersError, "At $.mode", default_parameters={"mode": 5}
    )


def test_no_parameters_without_a_schema():
    refused_either_way(
        InvalidPlanDefaultParametersError,
        "declare one on method Fly scan first",
        past=[without_schema],
        default_parameters={"mode": "fast"},
    )


def test_what_a_plan_follows_and_binds_must_exist():
    given().when(defining(practice_id=ABSENT)).refused(PracticeNotFoundError)
    refused_either_way(AssetNotFoundError, asset_ids=frozenset({STAGE, ABSENT}))


def test_nothing_that_a_plan_follows_is_deprecated():
    for event, refusal in (
        (old_practice, PlanBoundPracticeDeprecatedError),
        (old_method, PlanBoundMethodDeprecatedError),
        (old_capability, PlanBoundCapabilityDeprecatedError),
    ):
        refused_either_way(refusal, "Use a current one instead.", past=[event])


def test_a_decommissioned_asset_is_not_bound():
    refused_either_way(
        PlanAssetDecommissionedError,
        f"Stage ({STAGE})",
        past=[retired],
        facts={"asset_ids": [STAGE]},
        asset_ids=BOTH,
    )


def test_an_asset_in_use_or_in_maintenance_or_faulted_may_be_bound():
    for past in (
        [AssetActivated(NOW, STAGE)],
        [AssetActivated(NOW, STAGE), AssetMaintenanceEntered(NOW, STAGE)],
        [AssetFaulted(NOW, STAGE, "stuck")],
    ):
        given(*past).when(DEFINE).then(defined)


def test_an_asset_elsewhere_is_not_bound():
    for elsewhere, name in ((FAR_STAGE, "Far stage"), (FAR_HALL_STAGE, "Far hall stage")):
        refused_either_way(
            PlanAssetOutsideSiteError,
            f"{name} ({elsewhere})",
            facts={"asset_ids": [elsewhere]},
            asset_ids=BOTH | {elsewhere},
        )


def test_an_asset_in_an_area_of_the_site_is_bound():
    inside = frozenset({CAMERA, HALL_STAGE})
    given().when(defining(asset_ids=inside)).then(replace(defined, asset_ids=tuple(sorted(inside))))


def test_a_practice_of_an_area_does_not_reach_the_rest_of_the_site():
    of_the_hall = replace(practice, practice_id=UUID(int=24), facility_code="hall")
    given(of_the_hall).when(
        defining(practice_id=UUID(int=24), asset_ids=BOTH | {HALL_STAGE})
    ).refused(PlanAssetOutsideSiteError, f"Stage ({STAGE}), Camera ({CAMERA})")


def test_a_practice_without_a_site_binds_assets_anywhere():
    anywhere = frozenset({CAMERA, FAR_STAGE})
    given().when(defining(practice_id=FREE_PRACTICE, asset_ids=anywhere)).then(
        replace(defined, practice_id=FREE_PRACTICE, asset_ids=tuple(sorted(anywhere)))
    )


def test_the_assets_cover_the_families_of_method_and_practice():
    for only, lacking in ((STAGE, CAMERAS), (CAMERA, STAGES)):
        refused_either_way(
            PlanFamiliesNotSatisfiedError,
            f"Missing families: {lacking}.",
            facts={"family_ids": [lacking]},
            asset_ids=frozenset({only}),
        )


def test_what_stands_below_a_bound_asset_does_not_count():
    given().when(defining(asset_ids=frozenset({BEAMLINE}))).refused(
        PlanFamiliesNotSatisfiedError, f"Missing families: {STAGES}, {CAMERAS}."
    )


def test_the_families_together_can_do_what_the_capability_requires():
    needing = replace(
        capability,
        required_affordances=(Affordance.TRIGGERABLE, Affordance.IMAGEABLE, Affordance.COOLABLE),
    )
    refusal = PlanAffordancesNotSatisfiedError
    facts: dict[str, object] = {"affordances": ["Coolable", "Triggerable"]}
    past = [each if each is not capability else needing for each in AROUND]
    told = "Missing affordances: Coolable, Triggerable."
    assert Scenario(OPERATIONS, past).when(DEFINE).refused(refusal, told).facts == facts
    again = Scenario(OPERATIONS, [*past, defined]).when(versioning(asset_ids=BOTH))
    assert again.refused(refusal, told).facts == facts


def test_deprecated_families_still_count():
    given(FamilyDeprecated(NOW, STAGES), FamilyDeprecated(NOW, CAMERAS)).when(DEFINE).then(defined)


def test_default_parameters_are_patched_and_an_unchanged_patch_is_recorded_too():
    for patch, parameters in (
        ({"mode": "slow"}, {"mode": "slow"}),
        ({"mode": None}, {}),
        ({"mode": "fast"}, {"mode": "fast"}),
        ({}, {"mode": "fast"}),
    ):
        told = {"plan_id": ID, "default_parameters_patch": patch}
        update = UpdatePlanDefaultParameters.model_validate(told)
        given(defined).when(update).then(replace(updated, default_parameters={**parameters}))


def test_the_patched_whole_follows_the_schema_of_the_method():
    odd = UpdatePlanDefaultParameters(plan_id=ID, default_parameters_patch={"gap": 5})
    given(defined, deprecated).when(odd).refused(InvalidPlanDefaultParametersError)
    given(defined, without_schema).when(UPDATE).refused(
        InvalidPlanDefaultParametersError, saying="no schema is declared for `mode`"
    )


def test_the_parameters_of_a_plan_of_deprecated_things_may_still_change():
    given(defined, old_practice, old_method, old_capability, retired).when(UPDATE).then(
        replace(updated, method_version=2)
    )


def in_units(**codes: str | None) -> dict[str, Any]:
    """A schema of numbers, each in a unit of UDUNITS, or in none."""
    units = {name: {"unit": {"system": "udunits", "code": code}} for name, code in codes.items()}
    numbers = {name: {"type": "number", **(units[name] if codes[name] else {})} for name in codes}
    return {"$schema": DIALECT, "type": "object", "properties": numbers}


def measuring(tag: str, **codes: str | None) -> MethodVersioned:
    return MethodVersioned.of(method, version_tag=tag, parameters_schema=in_units(**codes))


in_kev = measuring("2", energy="keV", exposure="s", gap=None)
in_ev = measuring("3", energy="eV", exposure="s", gap="mm")
measured = PlanDefaultParametersUpdated(
    NOW, ID, default_parameters={"energy": 25, "exposure": 0.1}, method_version=2
)


def updating(**patch: float | None) -> UpdatePlanDefaultParameters:
    return UpdatePlanDefaultParameters(plan_id=ID, default_parameters_patch={**patch})


def test_a_plan_notes_the_version_of_the_method_its_defaults_are_written_under():
    given(in_kev).when(defining(default_parameters={"energy": 25})).then(
        replace(defined, default_parameters={"energy": 25}, method_version=2)
    )
    given(in_kev, defined).when(VERSION).then(replace(versioned, method_version=2))
    given(in_kev, replace(defined, default_parameters={})).when(updating(energy=25)).then(
        replace(measured, default_parameters={"energy": 25})
    )


def test_a_number_whose_unit_has_changed_is_named_to_be_confirmed_changed_or_removed():
    past = in_kev, in_ev, defined, measured
    for energy, parameters in (
        (25_000, {"energy": 25_000, "exposure": 0.1}),
        (25, {"energy": 25, "exposure": 0.1}),
        (None, {"exposure": 0.1}),
    ):
        written = replace(measured, default_parameters={**parameters}, method_version=3)
        given(*past).when(updating(energy=energy)).then(written)


def test_a_number_whose_unit_has_changed_is_not_taken_for_one_in_the_new_unit_unnamed():
    past = in_kev, in_ev, defined, measured
    for patch in ({}, {"exposure": 0.2}):
        told = "$.energy: 25 was written in keV (udunits); the unit is now eV (udunits)."
        asked = given(*past).when(updating(**patch))
        refusal = asked.refused(PlanParameterUnitsChangedError, told)
        change = UnitChange("$.energy", 25, "keV (udunits)", "eV (udunits)")
        assert refusal.facts == {"parameters": [change]}
    given(*past, deprecated).when(updating()).refused(PlanCannotUpdateDefaultParametersError)


def test_defaults_that_do_not_say_when_they_were_written_count_as_the_methods_first_version():
    of_old = replace(measured, method_version=None)
    same = replace(measured, method_version=3)
    first = replace(method, parameters_schema=in_units(energy="keV", exposure="s"))
    around = [part for part in AROUND if part is not method]
    history = first, in_kev, in_ev, replace(defined, method_version=None), of_old
    asked = Scenario(OPERATIONS, (*around, *history)).when(updating(exposure=0.1))
    asked.refused(PlanParameterUnitsChangedError)
    without_change = first, in_kev, measuring("3", energy="keV", exposure="s"), defined, of_old
    Scenario(OPERATIONS, (*around, *without_change)).when(updating()).then(same)


def test_the_parameters_of_a_deprecated_plan_or_of_none_do_not_change():
    given(defined, deprecated).when(UPDATE).refused(PlanCannotUpdateDefaultParametersError)
    given().when(UPDATE).refused(PlanNotFoundError)


def test_faults_are_reported_in_order():
    wrong: dict[str, Any] = {
        "practice_id": ABSENT,
        "asset_ids": frozenset({ABSENT}),
        "window": Window(LATER, NOW),
        "default_parameters": {"mode": 5},
    }
    steps: list[tuple[type[Any], dict[str, Any]]] = [
        (PracticeNotFoundError, {"practice_id": PRACTICE}),
        (AssetNotFoundError, {"asset_ids": frozenset[UUID]()}),
        (InvalidPlanAssetIdsError, {"asset_ids": frozenset({STAGE, FAR_STAGE})}),
        (InvalidPlanWindowError, {"window": Window()}),
        (InvalidPlanDefaultParametersError, {"default_parameters": {}}),
    ]
    past: list[Event] = [old_practice, old_method, old_capability, retired]
    for refusal, mended in steps:
        given(*past).when(defining(**wrong)).refused(refusal)
        if refusal is not PracticeNotFoundError:
            new = {name: value for name, value in wrong.items() if name != "practice_id"}
            given(*past, defined, versioned, deprecated).when(versioning(**new)).refused(refusal)
        wrong |= mended
    del wrong["practice_id"]
    tagged = given(*past, defined, versioned, deprecated)
    tagged.when(versioning(**wrong)).refused(InvalidPlanVersionTagError)
    given(*past, defined, deprecated).when(versioning(**wrong)).refused(PlanCannotVersionError)
    for refusal in (
        PlanBoundPracticeDeprecatedError,
        PlanBoundMethodDeprecatedError,
        PlanBoundCapabilityDeprecatedError,
        PlanAssetDecommissionedError,
    ):
        given(*past).when(defining(**wrong)).refused(refusal)
        given(*past, defined).when(versioning(**wrong)).refused(refusal)
        past.pop(0)
    given().when(defining(**wrong)).refused(PlanAssetOutsideSiteError)
    given().when(defining(asset_ids=frozenset({STAGE}))).refused(PlanFamiliesNotSatisfiedError)


def test_a_plan_is_what_its_events_say():
    plan = begin(defined)
    assert plan == Plan(
        ID,
        "Monday",
        practice_id=PRACTICE,
        method_id=METHOD,
        asset_ids=BOTH,
        window=DAY,
        default_parameters={"mode": "fast"},
        status=DeclarationStatus.DEFINED,
        version_tag=None,
        method_version=1,
    )
    later = replace(updated, method_version=2)
    written = replace(plan, default_parameters={"mode": "slow"}, method_version=2)
    assert evolve(plan, later) == written
    assert evolve(plan, replace(updated, method_version=None)).method_version is None
    plan = evolve(plan, versioned)
    assert (plan.name, plan.asset_ids, plan.window) == ("Tuesday", {CAMERA, HALL_STAGE}, Window())
    assert (plan.default_parameters, plan.practice_id, plan.method_id) == ({}, PRACTICE, METHOD)
    assert (plan.status, plan.version_tag) == (DeclarationStatus.VERSIONED, "2")
    assert evolve(plan, updated).status is DeclarationStatus.VERSIONED
    assert evolve(plan, deprecated) == replace(plan, status=DeclarationStatus.DEPRECATED)


def test_families_that_nobody_brings_are_named_in_order():
    nobody: list[Any] = []
    lacking = missing_family_ids(nobody, begin_method(method), begin_practice(practice))
    assert lacking == [STAGES, CAMERAS]


def test_carried_parameters_are_validated():
    assert carried_parameters({"mode": "x"}, begin_method(method), Invalid) == {"mode": "x"}
    with pytest.raises(Invalid):
        carried_parameters({"mode": 5}, begin_method(method), Invalid)


FACETS = {
    *("status=Defined", f"practice_id={PRACTICE}", f"method_id={METHOD}"),
    *(f"asset_id={STAGE}", f"asset_id={CAMERA}"),
}
"""What a list finds the declaration by."""


MATRIX = """
            update_plan_default_parameters
Defined     Defined
Versioned   Versioned
Deprecated  -
"""


def test_an_update_keeps_the_status():
    followed = PlanMethod(BOUND.method, 1, BOUND.method)
    matrix(
        OPERATIONS,
        DeclarationStatus,
        [Example(UPDATE, followed)],
        lambda status: replace(begin(defined), status=status),
        lambda plan: plan.status,
        MATRIX,
    )
