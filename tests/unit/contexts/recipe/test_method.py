"""Method: what a technique needs, and that it keeps within its capability."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tests.unit.contexts.recipe.test_capability import CARELESS, FORBIDDEN, PARAMETERS, WARNINGS

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.equipment.family import (
    Affordance,
    FamilyDefined,
    FamilyDeprecated,
    FamilyNotFoundError,
)
from beamkeep.contexts.recipe.capability import (
    CapabilityDefined,
    CapabilityDeprecated,
    CapabilityNotFoundError,
    CapabilityVersioned,
    ExecutorShape,
)
from beamkeep.contexts.recipe.capability import begin as begin_capability
from beamkeep.contexts.recipe.method import (
    OPERATIONS,
    DefineMethod,
    DeprecateMethod,
    InvalidMethodNeededSuppliesError,
    InvalidMethodParametersSchemaError,
    InvalidMethodVersionTagError,
    Method,
    MethodBoundCapabilityDeprecatedError,
    MethodCannotVersionError,
    MethodCapabilityExecutorMismatchError,
    MethodDefined,
    MethodDeprecated,
    MethodFamilyDeprecatedError,
    MethodParametersNotSubsetError,
    MethodReferences,
    MethodVersioned,
    VersionMethod,
    begin,
    evolve,
)
from beamkeep.kernel import Event, replace
from beamkeep.schemas import JsonSchema
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Scenario

ID = NEW
CAPABILITY, STAGES, CAMERAS, OLD = UUID(int=20), UUID(int=10), UUID(int=11), UUID(int=12)
WIDER: JsonSchema = {**PARAMETERS, "properties": {"mode": {"type": "string"}, "gap": {}}}


def family(id: UUID, name: str, *affordances: Affordance) -> FamilyDefined:
    return FamilyDefined(NOW, id, name=name, affordances=affordances, settings_schema=None)


capability = CapabilityDefined(
    NOW,
    CAPABILITY,
    code="beamkeep.capability.tomography",
    name="Tomography",
    description=None,
    required_affordances=(),
    executor_shapes=(ExecutorShape.METHOD,),
    parameters_schema=PARAMETERS,
)
AROUND = (
    family(STAGES, "Stages"),
    family(CAMERAS, "Cameras"),
    family(OLD, "Relays"),
    FamilyDeprecated(NOW, OLD),
    capability,
)
discontinued = CapabilityDeprecated(NOW, CAPABILITY, None)
for_procedures = CapabilityVersioned.of(
    capability, version_tag="2", executor_shapes=(ExecutorShape.PROCEDURE,)
)
opened = replace(for_procedures, executor_shapes=(ExecutorShape.METHOD,), parameters_schema=None)
defined = MethodDefined(
    NOW,
    ID,
    name="Fly scan",
    capability_id=CAPABILITY,
    needed_family_ids=(STAGES, CAMERAS),
    needed_supplies=("cryogen", "photon_beam"),
    parameters_schema=PARAMETERS,
)
versioned = MethodVersioned(
    NOW,
    ID,
    version_tag="2",
    name="Step scan",
    needed_family_ids=(STAGES,),
    needed_supplies=(),
    parameters_schema=None,
)
deprecated = MethodDeprecated(NOW, ID)

DEFINE = DefineMethod(
    name="Fly scan",
    capability_id=CAPABILITY,
    needed_family_ids=frozenset({CAMERAS, STAGES}),
    needed_supplies=frozenset({"photon_beam", "cryogen"}),
    parameters_schema=PARAMETERS,
)
VERSION = VersionMethod(
    method_id=ID,
    version_tag="2",
    name="Step scan",
    needed_family_ids=frozenset({STAGES}),
    needed_supplies=frozenset(),
    parameters_schema=None,
)
DEPRECATE = DeprecateMethod(method_id=ID)
BOUND: MethodReferences = (begin_capability(capability), {})


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def defining(**changes: Any) -> DefineMethod:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionMethod:
    return VERSION.model_copy(update=changes)


def refused_either_way(
    refusal: type[Any], saying: str = "", past: Sequence[Event] = (), **changes: Any
) -> None:
    """The same is refused in a new method and in a new version."""
    given(*past).when(defining(**changes)).refused(refusal, saying)
    given(*past, defined).when(versioning(**changes)).refused(refusal, saying)


def test_a_method_is_defined_with_its_sets_sorted():
    given().when(DEFINE).then(defined)


def test_a_method_may_need_nothing():
    bare = DefineMethod(name="Fly scan", capability_id=CAPABILITY, needed_family_ids=frozenset())
    given().when(bare).then(
        replace(defined, needed_family_ids=(), needed_supplies=(), parameters_schema=None)
    )


def test_a_method_needs_at_most_twenty_kinds_of_supply():
    kinds = [f"kind {n}" for n in range(10, 31)]
    refused_either_way(
        InvalidMethodNeededSuppliesError, "There are 21 kinds.", needed_supplies=frozenset(kinds)
    )
    given().when(defining(needed_supplies=frozenset(kinds[:20]))).then(
        replace(defined, needed_supplies=tuple(kinds[:20]))
    )


def test_kinds_of_supply_that_differ_only_in_blanks_around_them_are_one():
    given().when(defining(needed_supplies=frozenset({"a", " a "}))).then(
        replace(defined, needed_supplies=("a",))
    )


def test_a_schema_outside_the_subset_is_refused():
    refused_either_way(
        InvalidMethodParametersSchemaError, "`oneOf` is not allowed", parameters_schema=FORBIDDEN
    )


def test_a_badly_authored_schema_is_accepted_with_advice():
    given(opened).when(defining(parameters_schema=CARELESS)).then(
        replace(defined, parameters_schema=CARELESS), *WARNINGS
    )
    given(opened, defined).when(versioning(parameters_schema=CARELESS)).then(
        replace(versioned, parameters_schema=CARELESS), *WARNINGS
    )


def test_a_method_takes_no_more_than_its_capability():
    refused_either_way(
        MethodParametersNotSubsetError, "At $.properties.gap", parameters_schema=WIDER
    )


def test_a_capability_without_a_schema_bounds_nothing():
    given(opened).when(defining(parameters_schema=WIDER)).then(
        replace(defined, parameters_schema=WIDER)
    )


def test_the_capability_and_the_families_must_exist():
    given().when(defining(capability_id=ABSENT)).refused(CapabilityNotFoundError)
    refused_either_way(FamilyNotFoundError, needed_family_ids=frozenset({STAGES, ABSENT}))


def test_a_deprecated_capability_has_no_new_method():
    refused_either_way(
        MethodBoundCapabilityDeprecatedError,
        f"Deprecated: Tomography ({CAPABILITY}).",
        past=[discontinued],
    )


def test_a_capability_for_procedures_only_has_no_method():
    refused_either_way(MethodCapabilityExecutorMismatchError, past=[for_procedures])


def test_a_deprecated_family_is_not_needed_again():
    ids, told = frozenset({STAGES, OLD}), f"Deprecated: Relays ({OLD})."
    refused_either_way(MethodFamilyDeprecatedError, told, needed_family_ids=ids)
    asked = given().when(defining(needed_family_ids=ids))
    assert asked.refused(MethodFamilyDeprecatedError).facts == {"deprecated_ids": [OLD]}


def test_faults_are_reported_in_order():
    wrong: dict[str, Any] = {
        "capability_id": ABSENT,
        "needed_family_ids": frozenset({ABSENT}),
        "needed_supplies": frozenset(f"kind {n}" for n in range(21)),
        "parameters_schema": FORBIDDEN,
    }
    steps: list[tuple[type[Any], dict[str, Any]]] = [
        (CapabilityNotFoundError, {"capability_id": CAPABILITY}),
        (FamilyNotFoundError, {"needed_family_ids": frozenset({OLD})}),
        (InvalidMethodNeededSuppliesError, {"needed_supplies": frozenset({"x"})}),
        (InvalidMethodParametersSchemaError, {"parameters_schema": WIDER}),
    ]
    past = replace(for_procedures, version_tag="3"), discontinued
    for refusal, mended in steps:
        given(*past).when(defining(**wrong)).refused(refusal)
        if refusal is not CapabilityNotFoundError:
            new = {name: value for name, value in wrong.items() if name != "capability_id"}
            given(*past, defined, versioned, deprecated).when(versioning(**new)).refused(refusal)
        wrong |= mended
    given(*past).when(defining(**wrong)).refused(MethodBoundCapabilityDeprecatedError)
    given(for_procedures).when(defining(**wrong)).refused(MethodCapabilityExecutorMismatchError)
    given().when(defining(**wrong)).refused(MethodFamilyDeprecatedError)
    del wrong["capability_id"]
    tagged = given(*past, defined, versioned, deprecated)
    tagged.when(versioning(**wrong)).refused(InvalidMethodVersionTagError)
    given(*past, defined, deprecated).when(versioning(**wrong)).refused(MethodCannotVersionError)
    given(*past, defined).when(versioning(**wrong)).refused(MethodBoundCapabilityDeprecatedError)
    given(for_procedures, defined).when(versioning(**wrong)).refused(
        MethodCapabilityExecutorMismatchError
    )
    given(defined).when(versioning(**wrong)).refused(MethodFamilyDeprecatedError)


def test_a_method_is_what_its_events_say():
    method = begin(defined)
    assert method == Method(
        ID,
        "Fly scan",
        capability_id=CAPABILITY,
        needed_family_ids=frozenset({STAGES, CAMERAS}),
        needed_supplies=frozenset({"photon_beam", "cryogen"}),
        parameters_schema=PARAMETERS,
        status=DeclarationStatus.DEFINED,
        version_tag=None,
    )
    method = evolve(method, versioned)
    assert (method.name, method.needed_family_ids) == ("Step scan", {STAGES})
    assert (method.needed_supplies, method.parameters_schema) == (frozenset(), None)
    assert (method.status, method.version_tag) == (DeclarationStatus.VERSIONED, "2")
    assert method.capability_id == CAPABILITY
    assert evolve(method, deprecated) == replace(method, status=DeclarationStatus.DEPRECATED)


FACETS = {
    "status=Defined",
    f"capability_id={CAPABILITY}",
    f"family_id={STAGES}",
    f"family_id={CAMERAS}",
}
"""What a list finds the declaration by."""
