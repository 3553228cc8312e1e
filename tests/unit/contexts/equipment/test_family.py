"""Family: what a class of devices can do, which settings it has, and how it is versioned."""

from typing import Any

from tests.support.schemas import DIALECT

from beamkeep.contexts.equipment.declaration import MOST_WARNINGS, DeclarationStatus
from beamkeep.contexts.equipment.family import (
    OPERATIONS,
    QUESTIONS,
    Affordance,
    DefineFamily,
    DeprecateFamily,
    Family,
    FamilyCannotDeprecateError,
    FamilyCannotVersionError,
    FamilyDefined,
    FamilyDeprecated,
    FamilyEvent,
    FamilyNotFoundError,
    FamilyVersioned,
    InvalidFamilySettingsSchemaError,
    InvalidFamilyVersionTagError,
    ListFamilies,
    VersionFamily,
    begin,
    evolve,
)
from beamkeep.kernel import Advice, Many, replace
from beamkeep.runtime.filters import filter_of
from beamkeep.schemas import JsonSchema
from beamkeep.testing.past import NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID = NEW
FIRST, SECOND, LAST = DeclarationStatus
STAGE = frozenset({Affordance.TRANSLATABLE, Affordance.HOMEABLE})
SORTED = (Affordance.HOMEABLE, Affordance.TRANSLATABLE)
SETTINGS: JsonSchema = {
    "$schema": DIALECT,
    "type": "object",
    "properties": {"serial_number": {"type": "string"}},
    "additionalProperties": False,
    "unevaluatedProperties": False,
}
CARELESS: JsonSchema = {
    "$schema": DIALECT,
    "type": "object",
    "properties": {"speed_mm": {"type": "number"}},
}
WARNINGS = (
    Advice("$", "close every object level"),
    Advice("$.properties.speed_mm", "keep units out of names"),
    Advice("$.properties.speed_mm", "describe quantity, range and unit of a number"),
)
FORBIDDEN: JsonSchema = {"$schema": DIALECT, "type": "object", "oneOf": []}

defined = FamilyDefined(NOW, ID, name="Linear stage", affordances=SORTED, settings_schema=SETTINGS)
versioned = FamilyVersioned(
    NOW, ID, version_tag="2", affordances=(Affordance.POSABLE,), settings_schema=None
)
deprecated = FamilyDeprecated(NOW, ID)

DEFINE = DefineFamily(name=" Linear stage ", affordances=STAGE, settings_schema=SETTINGS)
VERSION = VersionFamily(
    family_id=ID,
    version_tag=" 2 ",
    affordances=frozenset({Affordance.POSABLE}),
    settings_schema=None,
)
DEPRECATE = DeprecateFamily(family_id=ID)


def given(*history: FamilyEvent) -> Scenario:
    return Scenario(OPERATIONS, history)


def defining(**changes: Any) -> DefineFamily:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionFamily:
    return VERSION.model_copy(update=changes)


THIRTY = """
Rotatable Translatable Homeable Limitable Posable Indexable Capturable Following Leading
Imageable Binnable Capturing
Triggerable Gateable Synchronizable Marking Pulsing
Streamable Bufferable Compressible Recording
Coolable PIDControllable Settable Shutterable Attenuable Bendable
Identifiable Reportable
Consumable
"""


def test_there_are_thirty_affordances():
    assert [str(affordance) for affordance in Affordance] == THIRTY.split()
    assert len(Affordance) == 30


def test_a_family_is_defined_with_its_name_trimmed_and_its_affordances_sorted():
    given().when(DEFINE).then(defined)


def test_a_family_may_have_no_affordance_and_no_schema_or_one_without_constraint():
    schemas: list[JsonSchema | None] = [None, {}]
    for schema in schemas:
        given().when(defining(affordances=frozenset(), settings_schema=schema)).then(
            replace(defined, affordances=(), settings_schema=schema)
        )


def test_a_repeated_affordance_counts_once():
    given().when(defining(affordances=["Homeable", "Homeable", "Translatable"])).then(defined)


def test_a_badly_authored_schema_is_accepted_with_advice():
    given().when(defining(settings_schema=CARELESS)).then(
        replace(defined, settings_schema=CARELESS), *WARNINGS
    )
    given(defined).when(versioning(settings_schema=CARELESS)).then(
        replace(versioned, settings_schema=CARELESS), *WARNINGS
    )


def test_advice_ends_after_the_first_hundred():
    names = [f"gap{n}_mm" for n in range(MOST_WARNINGS + 1)]
    many: JsonSchema = {**SETTINGS, "properties": {name: {} for name in names}}
    advice = [Advice(f"$.properties.{name}", "keep units out of names") for name in names]
    given().when(defining(settings_schema=many)).then(
        replace(defined, settings_schema=many), *advice[:100]
    )


def test_a_schema_outside_the_subset_is_refused_where_and_why():
    refusal = (
        given()
        .when(defining(settings_schema=FORBIDDEN))
        .refused(InvalidFamilySettingsSchemaError, saying="`oneOf` is not allowed")
    )
    assert refusal.facts == {"path": "$", "rule": "oneOf"}
    given(defined).when(versioning(settings_schema=FORBIDDEN)).refused(
        InvalidFamilySettingsSchemaError
    )


def test_a_family_is_versioned_and_its_affordances_and_schema_replaced():
    given(defined).when(VERSION).then(versioned)
    given(defined, versioned).when(versioning(version_tag="3")).then(
        replace(versioned, version_tag="3")
    )


def test_a_version_may_change_a_unit():
    def with_unit(code: str) -> JsonSchema:
        unit: JsonSchema = {"system": "udunits", "code": code}
        gap: JsonSchema = {"type": "number", "description": "Gap", "unit": unit}
        return {**SETTINGS, "properties": {"gap": gap}}

    given(replace(defined, settings_schema=with_unit("mm"))).when(
        versioning(settings_schema=with_unit("um"))
    ).then(replace(versioned, settings_schema=with_unit("um")))


def test_a_new_version_has_a_tag_of_its_own():
    given(defined, versioned).when(versioning(version_tag=" 2 ")).refused(
        InvalidFamilyVersionTagError, saying="The tag 2 is taken; choose another."
    )
    third = replace(versioned, version_tag="3")
    given(defined, versioned, third).when(VERSION).then(versioned)


def test_a_family_is_deprecated():
    given(defined).when(DEPRECATE).then(deprecated)
    given(defined, versioned).when(DEPRECATE).then(deprecated)


def test_a_deprecated_family_does_not_change():
    for command, refusal in (
        (VERSION, FamilyCannotVersionError),
        (DEPRECATE, FamilyCannotDeprecateError),
    ):
        given(defined, deprecated).when(command).refused(
            refusal, saying="The status is Deprecated; it must be Defined or Versioned."
        )


def test_a_family_that_does_not_exist_does_not_change():
    for command in (VERSION, DEPRECATE):
        given().when(command).refused(FamilyNotFoundError)


def test_faults_are_reported_in_order():
    past = given(defined, versioned, deprecated)
    past.when(versioning(settings_schema=FORBIDDEN)).refused(InvalidFamilySettingsSchemaError)
    past.when(VERSION).refused(InvalidFamilyVersionTagError)


def test_a_family_is_what_its_events_say():
    family, name = begin(defined), "Linear stage"
    assert family == Family(ID, name, FIRST, affordances=STAGE, settings_schema=SETTINGS)
    family = evolve(family, versioned)
    posable = frozenset({Affordance.POSABLE})
    assert family == Family(ID, name, SECOND, "2", affordances=posable, settings_schema=None)
    assert evolve(family, deprecated) == replace(family, status=LAST)


def test_a_family_is_found_by_its_status_and_by_each_affordance():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert set(source.view.facets_of(begin(defined))) == {
        f"name={defined.name.lower()}",
        "status=Defined",
        "affordance=Homeable",
        "affordance=Translatable",
    }
    assert set(source.view.filters) == {"status", "affordance"}
    list_filter = filter_of(source.view, ListFamilies(affordance=Affordance.HOMEABLE), NOW)
    assert list_filter.every == ("affordance=Homeable",)


MATRIX = """
            version_family  deprecate_family
Defined     Versioned       Deprecated
Versioned   Versioned       Deprecated
Deprecated  -               -
"""


def test_every_move_from_every_status():
    matrix(
        OPERATIONS,
        DeclarationStatus,
        [Example(VERSION), Example(DEPRECATE)],
        lambda status: replace(begin(defined), status=status),
        lambda family: family.status,
        MATRIX,
    )
