"""Model: what a vendor's catalogue says of a device, and which families that makes it."""

from typing import Any
from uuid import UUID

from beamkeep.contexts.equipment import family
from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.equipment.model import (
    OPERATIONS,
    QUESTIONS,
    DefineModel,
    DeprecateModel,
    IdentifierScheme,
    InvalidModelDeclaredFamilyIdsError,
    InvalidModelManufacturerError,
    InvalidModelVersionTagError,
    Manufacturer,
    Model,
    ModelCannotDefineError,
    ModelCannotDeprecateError,
    ModelCannotVersionError,
    ModelDefined,
    ModelDeprecated,
    ModelNotFoundError,
    ModelVersioned,
    VersionModel,
    begin,
    evolve,
)
from beamkeep.kernel import Event, Many, SideWrite, replace
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

ID = NEW
STAGES, CAMERAS, OLD = UUID(int=10), UUID(int=11), UUID(int=12)
AROUND = (
    family.FamilyDefined(NOW, STAGES, name="Stages", affordances=(), settings_schema=None),
    family.FamilyDefined(NOW, CAMERAS, name="Cameras", affordances=(), settings_schema=None),
    family.FamilyVersioned(NOW, CAMERAS, version_tag="2", affordances=(), settings_schema=None),
    family.FamilyDefined(NOW, OLD, name="Relays", affordances=(), settings_schema=None),
    family.FamilyDeprecated(NOW, OLD),
)
ACME = Manufacturer("Acme", "03yrm5c26", IdentifierScheme.ROR)

defined = ModelDefined(
    NOW,
    ID,
    name="Stage 200",
    manufacturer=ACME,
    part_number="PS-200",
    declared_family_ids=(STAGES, CAMERAS),
)
versioned = ModelVersioned(
    NOW,
    ID,
    version_tag="B",
    name="Stage 201",
    manufacturer=Manufacturer("Beta"),
    part_number="PS-201",
    declared_family_ids=(STAGES,),
)
deprecated = ModelDeprecated(NOW, ID, "no longer made")

DEFINE = DefineModel(
    name="Stage 200",
    manufacturer=Manufacturer(" Acme ", " 03yrm5c26 ", IdentifierScheme.ROR),
    part_number="PS-200",
    declared_family_ids=frozenset({CAMERAS, STAGES}),
)
VERSION = VersionModel(
    model_id=ID,
    version_tag="B",
    name="Stage 201",
    manufacturer=Manufacturer(" Beta "),
    part_number="PS-201",
    declared_family_ids=frozenset({STAGES}),
)
DEPRECATE = DeprecateModel(model_id=ID, reason=" no longer made ")
ENTRY: dict[str, Any] = {
    "name": "Stage",
    "manufacturer": {"name": "Acme"},
    "part_number": "PS",
    "declared_family_ids": [str(STAGES)],
}


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def defining(**changes: Any) -> DefineModel:
    return DEFINE.model_copy(update=changes)


def versioning(**changes: Any) -> VersionModel:
    return VERSION.model_copy(update=changes)


def test_a_model_is_defined_with_its_texts_trimmed_and_its_families_sorted():
    given().when(DEFINE).then(defined)


def test_a_manufacturer_needs_only_a_name():
    given().when(defining(manufacturer=Manufacturer("Acme"))).then(
        replace(defined, manufacturer=Manufacturer("Acme", None, None))
    )
    assert DefineModel.model_validate(ENTRY).manufacturer == Manufacturer("Acme")


def test_a_family_named_twice_counts_once():
    twice = DefineModel.model_validate(ENTRY | {"declared_family_ids": [str(STAGES)] * 2})
    assert twice.declared_family_ids == {STAGES}


def test_an_identifier_comes_with_its_scheme():
    for manufacturer in (
        Manufacturer("Acme", "03yrm5c26"),
        Manufacturer("Acme", None, IdentifierScheme.ROR),
    ):
        given().when(defining(manufacturer=manufacturer)).refused(
            InvalidModelManufacturerError,
            saying="Send both identifier and identifier_scheme, or neither.",
        )


def test_a_deprecated_family_takes_no_new_model():
    old: dict[str, Any] = {"declared_family_ids": frozenset({STAGES, OLD})}
    told = f"Deprecated: Relays ({OLD}). Use a current one instead."
    given().when(defining(**old)).refused(ModelCannotDefineError, saying=told)
    given(defined).when(versioning(**old)).refused(ModelCannotVersionError, saying=told)


def test_a_model_whose_family_was_deprecated_since_can_be_versioned_away_from_it():
    given(replace(defined, declared_family_ids=(OLD,))).when(VERSION).then(versioned)


def test_a_model_is_versioned_and_everything_replaced():
    given(defined).when(VERSION).then(versioned)
    given(defined, versioned).when(versioning(version_tag="C")).then(
        replace(versioned, version_tag="C")
    )


def test_a_model_is_deprecated_for_a_reason():
    given(defined).when(DEPRECATE).then(deprecated)
    given(defined, versioned).when(DEPRECATE).then(deprecated)


def test_a_deprecated_model_does_not_change():
    for command, refusal in (
        (VERSION, ModelCannotVersionError),
        (DEPRECATE, ModelCannotDeprecateError),
    ):
        given(defined, deprecated).when(command).refused(
            refusal, saying="The status is Deprecated; it must be Defined or Versioned."
        )


def test_a_model_that_does_not_exist_does_not_change():
    given().when(DEPRECATE).refused(ModelNotFoundError)
    given().when(versioning(declared_family_ids=frozenset({ABSENT}))).refused(ModelNotFoundError)


def test_faults_are_reported_in_order():
    wrong: dict[str, Any] = {
        "manufacturer": Manufacturer("Acme", "03yrm5c26"),
        "declared_family_ids": frozenset({OLD, ABSENT}),
    }
    steps: list[tuple[type[Any], dict[str, Any]]] = [
        (family.FamilyNotFoundError, {"declared_family_ids": frozenset[UUID]()}),
        (InvalidModelManufacturerError, {"manufacturer": ACME}),
        (InvalidModelDeclaredFamilyIdsError, {"declared_family_ids": frozenset({OLD})}),
    ]
    for refusal, mended in steps:
        given(defined, versioned, deprecated).when(versioning(**wrong)).refused(refusal)
        given().when(defining(**wrong)).refused(refusal)
        wrong |= mended
    given(defined, versioned, deprecated).when(versioning(**wrong)).refused(
        InvalidModelVersionTagError, saying="The tag B is taken; choose another."
    )
    given(defined, deprecated).when(versioning(**wrong)).refused(
        ModelCannotVersionError, saying="The status is Deprecated"
    )


def test_the_shape_of_a_manufacturer():
    for wrong in (
        "Acme",
        {},
        {"name": "x" * 201},
        {"name": "x", "identifier": "x" * 201, "identifier_scheme": "ROR"},
        {"name": "x", "identifier": "x", "identifier_scheme": "LEI"},
        {"name": "x", "country": "DE"},
    ):
        misshapen(DefineModel, "manufacturer", **ENTRY | {"manufacturer": wrong})


def test_the_schemes_are_three():
    assert list(IdentifierScheme) == ["ROR", "GRID", "ISNI"]


def test_a_model_is_what_its_events_say():
    model = begin(defined)
    assert model == Model(
        ID,
        "Stage 200",
        DeclarationStatus.DEFINED,
        manufacturer=ACME,
        part_number="PS-200",
        declared_family_ids=frozenset({STAGES, CAMERAS}),
    )
    model = evolve(model, versioned)
    assert model == Model(
        ID,
        "Stage 201",
        DeclarationStatus.VERSIONED,
        "B",
        manufacturer=Manufacturer("Beta"),
        part_number="PS-201",
        declared_family_ids=frozenset({STAGES}),
    )
    assert evolve(model, deprecated) == replace(model, status=DeclarationStatus.DEPRECATED)


def test_a_model_is_found_by_status_part_number_and_each_family():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert set(source.view.facets_of(begin(defined))) == {
        f"name={defined.name.lower()}",
        "status=Defined",
        "part_number=PS-200",
        f"family_id={STAGES}",
        f"family_id={CAMERAS}",
    }
    assert set(source.view.filters) == {"status", "part_number", "family_id"}


MATRIX = """
            version_model  deprecate_model
Defined     Versioned      Deprecated
Versioned   Versioned      Deprecated
Deprecated  -              -
"""


def test_every_move_from_every_status():
    matrix(
        OPERATIONS,
        DeclarationStatus,
        [Example(VERSION, {}), Example(DEPRECATE)],
        lambda status: replace(begin(defined), status=status),
        lambda model: model.status,
        MATRIX,
    )
