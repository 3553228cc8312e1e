"""Declaration: what the seven kinds of declaration have in common."""

import pytest

from beamkeep.contexts.equipment.declaration import Declaration
from beamkeep.contexts.equipment.family import Family, FamilyDefined, FamilyVersioned
from beamkeep.contexts.equipment.model import Model, ModelDefined, ModelVersioned
from beamkeep.contexts.recipe.capability import Capability, CapabilityDefined, CapabilityVersioned
from beamkeep.contexts.recipe.method import Method, MethodDefined, MethodVersioned
from beamkeep.contexts.recipe.plan import Plan, PlanDefined, PlanVersioned
from beamkeep.contexts.recipe.practice import Practice, PracticeDefined, PracticeVersioned
from beamkeep.contexts.recipe.recipe import Recipe, RecipeDefined, RecipeVersioned
from beamkeep.kernel import Event

KINDS: list[tuple[type[Declaration], type[Event], type[Event]]] = [
    (Family, FamilyDefined, FamilyVersioned),
    (Model, ModelDefined, ModelVersioned),
    (Capability, CapabilityDefined, CapabilityVersioned),
    (Method, MethodDefined, MethodVersioned),
    (Practice, PracticeDefined, PracticeVersioned),
    (Plan, PlanDefined, PlanVersioned),
    (Recipe, RecipeDefined, RecipeVersioned),
]


@pytest.mark.parametrize(("state", "defined", "versioned"), KINDS)
def test_a_declaration_has_every_field_of_its_events(
    state: type[Declaration], defined: type[Event], versioned: type[Event]
):
    common = {"occurred_at", f"{state.__name__.lower()}_id"}
    for event in (defined, versioned):
        assert {*event.__struct_fields__} - common <= {*state.__struct_fields__}


def test_every_kind_of_declaration_is_listed():
    assert {state for state, _, _ in KINDS} == {*Declaration.__subclasses__()}
