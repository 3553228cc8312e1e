"""Recipe: the steps of a capability, and every version they ever had."""

from typing import Any
from uuid import UUID

from tests.unit.contexts.recipe.test_method import CAPABILITY
from tests.unit.contexts.recipe.test_method import capability as realized

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.recipe.capability import (
    CapabilityDeprecated,
    CapabilityNotFoundError,
    CapabilityVersioned,
    ExecutorShape,
)
from beamkeep.contexts.recipe.capability import begin as begin_capability
from beamkeep.contexts.recipe.recipe import (
    OPERATIONS,
    DefineRecipe,
    DeprecateRecipe,
    InvalidRecipeReplacedByRecipeIdError,
    InvalidRecipeVersionTagError,
    Recipe,
    RecipeBoundCapabilityDeprecatedError,
    RecipeCannotVersionError,
    RecipeCapabilityExecutorMismatchError,
    RecipeDefined,
    RecipeDeprecated,
    RecipeNotFoundError,
    RecipeVersioned,
    RecipeVersionEntry,
    VersionRecipe,
    begin,
    evolve,
)
from beamkeep.contexts.recipe.steps import (
    DuplicateRecipeCaptureError,
    DuplicateRecipeOutputError,
    InvalidRecipeStepsError,
    RecipeBindingReferencesUnknownParameterError,
    RecipeCaptureStep,
    RecipeComputeStep,
    RecipeRequiresCapabilityParametersSchemaError,
    RecipeSetpointStep,
    UnboundRecipeCaptureError,
    UnboundRecipeOutputError,
)
from beamkeep.kernel import Event, replace
from beamkeep.testing.past import ABSENT, LATER, NEW, NOW
from beamkeep.testing.scenario import Scenario

ID, ANOTHER = NEW, UUID(int=5)
SHAPES = (ExecutorShape.PROCEDURE,)
capability = replace(realized, name="Alignment", executor_shapes=SHAPES)
discontinued = CapabilityDeprecated(NOW, CAPABILITY, None)
for_methods = CapabilityVersioned.of(
    capability, version_tag="2", executor_shapes=(ExecutorShape.METHOD,)
)
without_schema = replace(for_methods, executor_shapes=SHAPES, parameters_schema=None)

HOME = RecipeCaptureStep("bl:x.RBV", "home")
MOVE = RecipeSetpointStep("bl:x", {"$binding": "mode"})
BACK = RecipeSetpointStep("bl:x", {"$capture": "home"})
PUT = RecipeComputeStep("fit", output_uri="fit.h5", output_name="fit")

defined = RecipeDefined(
    NOW,
    ID,
    name="Align",
    capability_id=CAPABILITY,
    steps=(HOME, MOVE),
    closing_steps=(BACK,),
    version_number=1,
)
versioned = RecipeVersioned(
    NOW, ID, version_tag="2", version_number=2, steps=(MOVE,), closing_steps=()
)
deprecated = RecipeDeprecated(NOW, ID, None)
another = replace(defined, recipe_id=ANOTHER)

DEFINE = DefineRecipe.model_validate(
    {
        "name": "Align",
        "capability_id": CAPABILITY,
        "steps": [
            {"kind": "capture", "address": " bl:x.RBV ", "capture_name": "home"},
            {"kind": "setpoint", "address": "bl:x", "value": {"$binding": "mode"}},
        ],
        "closing_steps": [{"kind": "setpoint", "address": "bl:x", "value": {"$capture": "home"}}],
    }
)
VERSION = VersionRecipe.model_validate(
    {
        "recipe_id": ID,
        "version_tag": "2",
        "steps": [{"kind": "setpoint", "address": " bl:x ", "value": {"$binding": "mode"}}],
        "closing_steps": [],
    }
)
DEPRECATE = DeprecateRecipe(recipe_id=ID)
BOUND = begin_capability(capability)


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, (capability, *history))


def defining(**changes: Any) -> DefineRecipe:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionRecipe:
    return VERSION.model_copy(update=changes)


def deprecating(replaced_by: UUID) -> DeprecateRecipe:
    return DeprecateRecipe(recipe_id=ID, replaced_by_recipe_id=replaced_by)


def test_a_recipe_is_defined_with_its_texts_trimmed_and_is_version_one():
    given().when(DEFINE).then(defined)


def test_a_recipe_needs_no_closing_steps():
    step = {"kind": "setpoint", "address": "bl:x", "value": 1}
    told = {"name": "x", "capability_id": CAPABILITY, "steps": [step]}
    bare = DefineRecipe.model_validate(told)
    steps = (RecipeSetpointStep("bl:x", 1),)
    given().when(bare).then(replace(defined, name="x", steps=steps, closing_steps=()))


def test_every_rule_of_steps_holds_in_a_new_recipe_and_in_a_new_version():
    unknown = RecipeSetpointStep("bl:x", {"$binding": "gap"})
    for refusal, wrong, place in (
        (InvalidRecipeStepsError, (), "steps"),
        (InvalidRecipeStepsError, (RecipeSetpointStep(" ", 1),), "steps[0].address"),
        (RecipeBindingReferencesUnknownParameterError, (unknown,), "steps[0].value"),
        (UnboundRecipeCaptureError, (BACK,), "steps[0].value"),
        (DuplicateRecipeCaptureError, (HOME, HOME), "steps[1].capture_name"),
        (
            UnboundRecipeOutputError,
            (RecipeComputeStep("fit", input_uris=({"$output": "fit"},)),),
            "steps[0].input_uris[0]",
        ),
        (DuplicateRecipeOutputError, (PUT, PUT), "steps[1].output_name"),
    ):
        told = given().when(defining(steps=wrong, closing_steps=())).refused(refusal)
        again = given(defined).when(versioning(steps=wrong)).refused(refusal)
        assert told.facts == again.facts == {"path": place}


def test_a_binding_needs_a_capability_with_a_schema():
    refusal = RecipeRequiresCapabilityParametersSchemaError
    given(without_schema).when(DEFINE).refused(refusal, saying="the parameter is 'mode'")
    given(without_schema, defined).when(VERSION).refused(refusal)


def test_a_deprecated_capability_has_no_new_recipe():
    told = f"Deprecated: Alignment ({CAPABILITY})."
    given(discontinued).when(DEFINE).refused(RecipeBoundCapabilityDeprecatedError, told)
    given(discontinued, defined).when(VERSION).refused(RecipeBoundCapabilityDeprecatedError, told)


def test_a_capability_for_methods_only_has_no_recipe():
    refusal = RecipeCapabilityExecutorMismatchError
    given(for_methods).when(DEFINE).refused(refusal)
    given(for_methods, defined).when(VERSION).refused(refusal)


def test_each_version_of_a_recipe_has_the_next_number():
    given(defined, versioned).when(versioning(version_tag="3")).then(
        replace(versioned, version_tag="3", version_number=3)
    )


def test_the_same_steps_make_a_new_version_too():
    same = versioning(steps=(HOME, MOVE), closing_steps=(BACK,))
    given(defined).when(same).then(replace(versioned, steps=(HOME, MOVE), closing_steps=(BACK,)))


def test_no_tag_is_used_twice_in_one_recipe():
    third = replace(versioned, version_tag="3", version_number=3)
    given(defined, versioned, third).when(VERSION).refused(
        InvalidRecipeVersionTagError, saying="The tag 2 is taken; choose another."
    )


def test_two_recipes_may_have_the_same_tags():
    others = replace(versioned, recipe_id=ANOTHER)
    given(defined, another, others).when(VERSION).then(versioned)


def test_a_recipe_is_deprecated_with_a_replacement():
    given(discontinued, defined, versioned, another).when(deprecating(ANOTHER)).then(
        replace(deprecated, replaced_by_recipe_id=ANOTHER)
    )


def test_the_replacement_exists_and_is_another():
    ended = given(defined, deprecated)
    ended.when(deprecating(ABSENT)).refused(RecipeNotFoundError)
    ended.when(deprecating(ID)).refused(InvalidRecipeReplacedByRecipeIdError)


def test_faults_are_reported_in_order():
    past = replace(for_methods, version_tag="3"), discontinued
    given(*past).when(defining(capability_id=ABSENT, steps=())).refused(CapabilityNotFoundError)
    given(*past).when(defining(steps=())).refused(InvalidRecipeStepsError)
    given(*past).when(DEFINE).refused(RecipeBoundCapabilityDeprecatedError)
    ended = (*past, defined, deprecated)
    tagged = given(*past, defined, versioned, deprecated)
    tagged.when(versioning(steps=())).refused(InvalidRecipeStepsError)
    tagged.when(VERSION).refused(InvalidRecipeVersionTagError)
    given(*ended).when(VERSION).refused(RecipeCannotVersionError)
    given(*past, defined).when(VERSION).refused(RecipeBoundCapabilityDeprecatedError)


ONE = RecipeVersionEntry(1, None, step_count=2, closing_step_count=1, defined_at=NOW)
TWO = RecipeVersionEntry(2, "2", step_count=1, closing_step_count=0, defined_at=LATER)


def test_a_recipe_is_what_its_events_say():
    recipe = begin(defined)
    assert recipe == Recipe(
        ID,
        "Align",
        capability_id=CAPABILITY,
        steps=(HOME, MOVE),
        closing_steps=(BACK,),
        step_count=2,
        version_number=1,
        versions=(ONE,),
        version_tag=None,
        status=DeclarationStatus.DEFINED,
        replaced_by_recipe_id=None,
    )
    recipe = evolve(recipe, replace(versioned, occurred_at=LATER))
    assert (recipe.name, recipe.capability_id) == ("Align", CAPABILITY)
    assert (recipe.steps, recipe.closing_steps, recipe.step_count) == ((MOVE,), (), 1)
    assert (recipe.version_number, recipe.version_tag, recipe.versions) == (2, "2", (ONE, TWO))
    assert recipe.status is DeclarationStatus.VERSIONED
    ended = evolve(recipe, replace(deprecated, replaced_by_recipe_id=ANOTHER))
    assert ended == replace(
        recipe, status=DeclarationStatus.DEPRECATED, replaced_by_recipe_id=ANOTHER
    )


FACETS = {"status=Defined", f"capability_id={CAPABILITY}"}
"""What a list finds the declaration by."""
