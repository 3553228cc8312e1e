"""Capability: what a kind of operation provides, by a code that is given once."""

from typing import Any
from uuid import UUID

from tests.support.schemas import DIALECT

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.equipment.family import Affordance
from beamkeep.contexts.recipe.capability import (
    OPERATIONS,
    Capability,
    CapabilityCodeAlreadyExistsError,
    CapabilityDefined,
    CapabilityDeprecated,
    CapabilityNotFoundError,
    CapabilityVersioned,
    DefineCapability,
    DeprecateCapability,
    ExecutorShape,
    InvalidCapabilityCodeError,
    InvalidCapabilityExecutorShapesError,
    InvalidCapabilityParametersSchemaError,
    InvalidCapabilityReplacedByCapabilityIdError,
    InvalidCapabilityVersionTagError,
    VersionCapability,
    begin,
    evolve,
)
from beamkeep.kernel import CLAIMS, Advice, Claim, Event, SideWrite, claim, replace
from beamkeep.schemas import JsonSchema
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Scenario

ID, ANOTHER = NEW, UUID(int=5)
CODE = "beamkeep.capability.tomography"
IMAGING = (Affordance.IMAGEABLE, Affordance.ROTATABLE)
BOTH = (ExecutorShape.METHOD, ExecutorShape.PROCEDURE)
PARAMETERS: JsonSchema = {
    "$schema": DIALECT,
    "type": "object",
    "properties": {"mode": {"type": "string"}},
    "additionalProperties": False,
    "unevaluatedProperties": False,
}
CARELESS: JsonSchema = {"$schema": DIALECT, "type": "object", "properties": {"gap_mm": {}}}
WARNINGS = (
    Advice("$", "close every object level"),
    Advice("$.properties.gap_mm", "keep units out of names"),
)
FORBIDDEN: JsonSchema = {"$schema": DIALECT, "type": "object", "oneOf": []}

defined = CapabilityDefined(
    NOW,
    ID,
    code=CODE,
    name="Tomography",
    description="By turning",
    required_affordances=IMAGING,
    executor_shapes=BOTH,
    parameters_schema=PARAMETERS,
)
versioned = CapabilityVersioned(
    NOW,
    ID,
    version_tag="2",
    name="Imaging",
    description=None,
    required_affordances=(),
    executor_shapes=(ExecutorShape.METHOD,),
    parameters_schema=None,
)
deprecated = CapabilityDeprecated(NOW, ID, None)
another = replace(defined, capability_id=ANOTHER, code="beamkeep.capability.imaging")
claimed = CLAIMS.insert(
    Claim("capability-code", f'["{CODE}"]', ID), CapabilityCodeAlreadyExistsError
)

DEFINE = DefineCapability(
    code=CODE,
    name="Tomography",
    description=" By turning ",
    required_affordances=frozenset(IMAGING),
    executor_shapes=frozenset(BOTH),
    parameters_schema=PARAMETERS,
)
VERSION = VersionCapability(
    capability_id=ID,
    version_tag="2",
    name="Imaging",
    description=None,
    required_affordances=frozenset(),
    executor_shapes=frozenset({ExecutorShape.METHOD}),
    parameters_schema=None,
)
DEPRECATE = DeprecateCapability(capability_id=ID)
BOUND = None


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history)


def defining(**changes: Any) -> DefineCapability:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionCapability:
    return VERSION.model_copy(update=changes)


def deprecating(replaced_by: UUID) -> DeprecateCapability:
    return DeprecateCapability(capability_id=ID, replaced_by_capability_id=replaced_by)


def test_a_capability_is_defined_with_its_sets_sorted_and_its_code_taken():
    given().when(DEFINE).then(defined, claimed)


def test_a_capability_needs_no_description_no_affordance_and_no_schema():
    bare = DefineCapability(
        code=CODE,
        name="Tomography",
        required_affordances=frozenset(),
        executor_shapes=frozenset(BOTH),
    )
    without = replace(defined, description=None, required_affordances=(), parameters_schema=None)
    given().when(bare).then(without, claimed)


def test_a_blank_description_is_none():
    for blank in ("", " "):
        given().when(defining(description=blank)).then(replace(defined, description=None), claimed)


def test_a_code_is_dotted_words_below_ours():
    for good in ("beamkeep.capability.x", "beamkeep.capability.a1_b.c"):
        claims = claim("capability-code", good, holder=ID, loser=CapabilityCodeAlreadyExistsError)
        given().when(defining(code=good)).then(replace(defined, code=good), claims)
    for end in ("", ".", ".X", ".1", "._a", ".a..b", ".a-b", ".a\n"):
        bad = f"beamkeep.capability{end}"
        given().when(defining(code=bad)).refused(InvalidCapabilityCodeError)
    for bad in ("beamkeep-capability.a", " beamkeep.capability.a", "tomography"):
        given().when(defining(code=bad)).refused(InvalidCapabilityCodeError)


def test_a_code_is_given_once_and_stays_taken_by_a_deprecated_capability():
    for past in ((defined, claimed), (defined, claimed, deprecated)):
        given(*past).when(DEFINE).refused(CapabilityCodeAlreadyExistsError)


def test_a_capability_is_for_methods_or_procedures():
    none: dict[str, Any] = {"executor_shapes": frozenset()}
    given().when(defining(**none)).refused(InvalidCapabilityExecutorShapesError)
    given(defined).when(versioning(**none)).refused(InvalidCapabilityExecutorShapesError)


def test_a_schema_outside_the_subset_is_refused():
    for history, command in (((), defining()), ((defined,), versioning())):
        given(*history).when(command.model_copy(update={"parameters_schema": FORBIDDEN})).refused(
            InvalidCapabilityParametersSchemaError, saying="`oneOf` is not allowed"
        )


def test_a_badly_authored_schema_is_accepted_with_advice():
    given().when(defining(parameters_schema=CARELESS)).then(
        replace(defined, parameters_schema=CARELESS), claimed, *WARNINGS
    )
    given(defined).when(versioning(parameters_schema=CARELESS)).then(
        replace(versioned, parameters_schema=CARELESS), *WARNINGS
    )


def test_a_tag_may_come_back_later():
    given(defined, versioned, replace(versioned, version_tag="3")).when(VERSION).then(versioned)


def test_a_capability_is_deprecated_with_a_replacement_that_may_be_deprecated_too():
    replaced = replace(deprecated, replaced_by_capability_id=ANOTHER)
    old = replace(deprecated, capability_id=ANOTHER)
    for past in ((defined, versioned, another), (defined, another, old)):
        given(*past).when(deprecating(ANOTHER)).then(replaced)


def test_the_replacement_exists_and_is_another():
    ended = given(defined, deprecated)
    ended.when(deprecating(ABSENT)).refused(CapabilityNotFoundError)
    ended.when(deprecating(ID)).refused(InvalidCapabilityReplacedByCapabilityIdError)


def test_faults_are_reported_in_order():
    wrong: dict[str, Any] = {"executor_shapes": frozenset(), "parameters_schema": FORBIDDEN}
    given(defined, claimed).when(defining(**wrong, code="x")).refused(InvalidCapabilityCodeError)
    mended: list[tuple[type[Any], dict[str, Any]]] = [
        (InvalidCapabilityExecutorShapesError, {"executor_shapes": frozenset(BOTH)}),
        (InvalidCapabilityParametersSchemaError, {"parameters_schema": None}),
    ]
    for refusal, mending in mended:
        given(defined, claimed).when(defining(**wrong)).refused(refusal)
        given(defined, versioned, deprecated).when(versioning(**wrong)).refused(refusal)
        wrong |= mending
    given(defined, claimed).when(defining(**wrong)).refused(CapabilityCodeAlreadyExistsError)
    ended = given(defined, versioned, deprecated)
    ended.when(VERSION).refused(InvalidCapabilityVersionTagError)


def test_a_capability_is_what_its_events_say():
    affordances, shapes = frozenset(IMAGING), frozenset(BOTH)
    capability = begin(defined)
    assert capability == Capability(
        ID,
        "Tomography",
        code=CODE,
        description="By turning",
        required_affordances=affordances,
        executor_shapes=shapes,
        parameters_schema=PARAMETERS,
    )
    assert (capability.status, capability.version_tag) == (DeclarationStatus.DEFINED, None)
    capability = evolve(capability, versioned)
    assert (capability.code, capability.name, capability.description) == (CODE, "Imaging", None)
    assert capability.required_affordances == frozenset()
    assert capability.executor_shapes == {ExecutorShape.METHOD}
    assert capability.parameters_schema is None
    assert (capability.status, capability.version_tag) == (DeclarationStatus.VERSIONED, "2")
    ended = evolve(capability, replace(deprecated, replaced_by_capability_id=ANOTHER))
    assert ended == replace(
        capability, status=DeclarationStatus.DEPRECATED, replaced_by_capability_id=ANOTHER
    )


FACETS = {
    "status=Defined",
    f"code={CODE}",
    "executor_shape=METHOD",
    "executor_shape=PROCEDURE",
    "affordance=Imageable",
    "affordance=Rotatable",
}
"""What a list finds the declaration by."""
