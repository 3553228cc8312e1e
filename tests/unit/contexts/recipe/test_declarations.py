"""What every declaration of this context does alike: it is versioned, and deprecated for good."""

from typing import Any, NamedTuple

from tests.unit.contexts.recipe import test_capability as of_capability
from tests.unit.contexts.recipe import test_method as of_method
from tests.unit.contexts.recipe import test_plan as of_plan
from tests.unit.contexts.recipe import test_practice as of_practice
from tests.unit.contexts.recipe import test_recipe as of_recipe

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.recipe import capability, method, plan, practice, recipe
from beamkeep.kernel import Cannot, Invalid, NotFound, replace
from beamkeep.testing.scenario import Example, matrix


class Kind(NamedTuple):
    """The module of an aggregate, its sentences, and what it is refused with."""

    of: Any
    told: Any
    absent: type[NotFound]
    taken: type[Invalid]
    cannot_version: type[Cannot]
    cannot_deprecate: type[Cannot]


KINDS = (
    Kind(
        capability,
        of_capability,
        absent=capability.CapabilityNotFoundError,
        taken=capability.InvalidCapabilityVersionTagError,
        cannot_version=capability.CapabilityCannotVersionError,
        cannot_deprecate=capability.CapabilityCannotDeprecateError,
    ),
    Kind(
        method,
        of_method,
        absent=method.MethodNotFoundError,
        taken=method.InvalidMethodVersionTagError,
        cannot_version=method.MethodCannotVersionError,
        cannot_deprecate=method.MethodCannotDeprecateError,
    ),
    Kind(
        practice,
        of_practice,
        absent=practice.PracticeNotFoundError,
        taken=practice.InvalidPracticeVersionTagError,
        cannot_version=practice.PracticeCannotVersionError,
        cannot_deprecate=practice.PracticeCannotDeprecateError,
    ),
    Kind(
        plan,
        of_plan,
        absent=plan.PlanNotFoundError,
        taken=plan.InvalidPlanVersionTagError,
        cannot_version=plan.PlanCannotVersionError,
        cannot_deprecate=plan.PlanCannotDeprecateError,
    ),
    Kind(
        recipe,
        of_recipe,
        absent=recipe.RecipeNotFoundError,
        taken=recipe.InvalidRecipeVersionTagError,
        cannot_version=recipe.RecipeCannotVersionError,
        cannot_deprecate=recipe.RecipeCannotDeprecateError,
    ),
)


def test_a_declaration_is_versioned_and_all_that_can_change_is_replaced():
    for _, told, *_ in KINDS:
        told.given(told.defined).when(told.VERSION).then(told.versioned)


def test_a_version_has_another_tag_than_the_one_before():
    for _, told, _, taken, *_ in KINDS:
        past = told.given(told.defined, told.versioned)
        past.when(told.VERSION).refused(taken, saying="The tag 2 is taken; choose another.")
        assert past.when(told.versioning(version_tag="3")).decided()[0].version_tag == "3"


def test_a_declaration_is_deprecated_before_and_after_a_version():
    for _, told, *_ in KINDS:
        for past in ([told.defined], [told.defined, told.versioned]):
            told.given(*past).when(told.DEPRECATE).then(told.deprecated)


def test_a_deprecated_declaration_does_not_change():
    saying = "The status is Deprecated; it must be Defined or Versioned."
    for kind in KINDS:
        past = kind.told.given(kind.told.defined, kind.told.deprecated)
        past.when(kind.told.VERSION).refused(kind.cannot_version, saying)
        past.when(kind.told.DEPRECATE).refused(kind.cannot_deprecate, saying)


def test_a_declaration_that_does_not_exist_does_not_change():
    for _, told, absent, *_ in KINDS:
        for command in (told.VERSION, told.DEPRECATE):
            told.given().when(command).refused(absent)


def test_a_list_finds_a_declaration_and_tells_when_it_was_versioned_and_deprecated():
    for of, told, *_ in KINDS:
        view = of.QUESTIONS[2].source.view
        named = f"name={told.defined.name.lower()}"
        assert set(view.facets_of(of.begin(told.defined))) == told.FACETS | {named}
        assert view.milestones == {
            "versioned_at": (type(told.versioned),),
            "deprecated_at": (type(told.deprecated),),
        }


MATRIX = """
            version_{0}  deprecate_{0}
Defined     Versioned    Deprecated
Versioned   Versioned    Deprecated
Deprecated  -            -
"""


def test_every_move_from_every_status():
    for of, told, *_ in KINDS:
        noun = type(told.DEPRECATE).__name__.removeprefix("Deprecate").lower()
        matrix(
            of.OPERATIONS,
            DeclarationStatus,
            [Example(told.VERSION, told.BOUND), Example(told.DEPRECATE)],
            lambda status, of=of, told=told: replace(of.begin(told.defined), status=status),
            lambda declaration: declaration.status,
            MATRIX.format(noun),
        )
