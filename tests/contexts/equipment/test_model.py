"""Model: what a vendor's catalogue says of a device, and which families that makes it."""

from typing import Any
from uuid import UUID

from tests.support.spec import ABSENT, NEW, NOW, Example, Scenario, matrix, misshapen

from beamkeep.contexts.equipment.declaration import DeclarationStatus
from beamkeep.contexts.equipment.family import (
    FamilyDefined,
    FamilyDeprecated,
    FamilyNotFoundError,
    FamilyVersioned,
)
from beamkeep.contexts.equipment.model import (
    OPERATIONS,
    QUESTIONS,
    DefineModel,
    DeprecateModel,
    IdentifierScheme,
    InvalidModelDeclaredFamilyIdsError,
    InvalidModelManufacturerError,
    InvalidModelNameError,
    InvalidModelPartNumberError,
    InvalidModelReasonError,
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

ID = NEW
STAGES, CAMERAS, OLD = UUID(int=10), UUID(int=11), UUID(int=12)
AROUND = (
    FamilyDefined(NOW, STAGES, name="Stages", affordances=(), settings_schema=None),
    FamilyDefined(NOW, CAMERAS, name="Cameras", affordances=(), settings_schema=None),
    FamilyVersioned(NOW, CAMERAS, version_tag="2", affordances=(), settings_schema=None),
    FamilyDefined(NOW, OLD, name="Relays", affordances=(), settings_schema=None),
    FamilyDeprecated(NOW, OLD),
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

DEFINE = DefineModel.model_validate(
    {
        "name": " Stage 200 ",
        "manufacturer": {
            "name": " Acme ",
            "identifier": " 03yrm5c26 ",
            "identifier_scheme": "ROR",
        },
        "part_number": " PS-200 ",
        "declared_family_ids": [CAMERAS, STAGES],
    }
)
VERSION = VersionModel.model_validate(
    {
        "model_id": ID,
        "version_tag": " B ",
        "name": " Stage 201 ",
        "manufacturer": {"name": " Beta "},
        "part_number": " PS-201 ",
        "declared_family_ids": [STAGES],
    }
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
    wrong = (
        Manufacturer("Acme", "03yrm5c26"),
        Manufacturer("Acme", None, IdentifierScheme.ROR),
    )
    for manufacturer in wrong:
        for history, command in (((), defining()), ((defined,), versioning())):
            given(*history).when(command.model_copy(update={"manufacturer": manufacturer})).refused(
                InvalidModelManufacturerError,
                saying="Send both identifier and identifier_scheme, or neither.",
            )


def test_no_text_of_a_model_is_blank():
    blank: list[tuple[dict[str, Any], type[Any]]] = [
        ({"name": " "}, InvalidModelNameError),
        ({"manufacturer": Manufacturer(" ")}, InvalidModelManufacturerError),
        ({"manufacturer": replace(ACME, identifier=" ")}, InvalidModelManufacturerError),
        ({"part_number": " "}, InvalidModelPartNumberError),
    ]
    for changes, refusal in blank:
        given().when(defining(**changes)).refused(
            refusal, saying="Enter at least one visible character."
        )
        given(defined).when(versioning(**changes)).refused(
            refusal, saying="Enter at least one visible character."
        )


def test_a_model_is_of_some_family():
    none: dict[str, Any] = {"declared_family_ids": frozenset()}
    given().when(defining(**none)).refused(InvalidModelDeclaredFamilyIdsError)
    given(defined).when(versioning(**none)).refused(InvalidModelDeclaredFamilyIdsError)


def test_the_families_must_exist():
    absent: dict[str, Any] = {"declared_family_ids": frozenset({STAGES, ABSENT})}
    given().when(defining(**absent)).refused(FamilyNotFoundError)
    given(defined).when(versioning(**absent)).refused(FamilyNotFoundError)


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


def test_a_new_version_has_a_tag_of_its_own():
    given(defined).when(versioning(version_tag=" ")).refused(InvalidModelVersionTagError)
    given(defined, versioned).when(VERSION).refused(
        InvalidModelVersionTagError, saying="The tag B is taken; choose another."
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


def test_a_blank_reason_is_told_before_the_status():
    given(defined, deprecated).when(DeprecateModel(model_id=ID, reason=" ")).refused(
        InvalidModelReasonError
    )


def test_a_model_that_does_not_exist_does_not_change():
    given().when(DEPRECATE).refused(ModelNotFoundError)
    given().when(versioning(declared_family_ids=frozenset({ABSENT}))).refused(ModelNotFoundError)


def test_what_is_wrong_is_told_in_order():
    wrong: dict[str, Any] = {
        "name": " ",
        "manufacturer": Manufacturer("Acme", "03yrm5c26"),
        "part_number": " ",
        "declared_family_ids": frozenset({OLD, ABSENT}),
        "version_tag": " ",
    }
    steps: list[tuple[type[Any], dict[str, Any]]] = [
        (FamilyNotFoundError, {"declared_family_ids": frozenset[UUID]()}),
        (InvalidModelNameError, {"name": "x"}),
        (InvalidModelManufacturerError, {"manufacturer": ACME}),
        (InvalidModelPartNumberError, {"part_number": "x"}),
        (InvalidModelDeclaredFamilyIdsError, {"declared_family_ids": frozenset({OLD})}),
        (InvalidModelVersionTagError, {"version_tag": "x"}),
    ]
    for refusal, mended in steps:
        given(defined, deprecated).when(versioning(**wrong)).refused(refusal)
        if refusal is not InvalidModelVersionTagError:
            without_tag = {name: value for name, value in wrong.items() if name != "version_tag"}
            given().when(defining(**without_tag)).refused(refusal)
        wrong |= mended
    given(defined, deprecated).when(versioning(**wrong)).refused(
        ModelCannotVersionError, saying="The status is Deprecated"
    )


def test_the_shape_of_an_entry():
    DefineModel.model_validate(ENTRY | {"name": "x" * 200, "part_number": "x" * 100})
    for field, wrong in (
        *(("name", name) for name in ("", "x" * 201, None)),
        *(("part_number", number) for number in ("", "x" * 101, None)),
        *(
            ("declared_family_ids", ids)
            for ids in (None, ["x"], [str(UUID(int=n)) for n in range(101)])
        ),
        ("manufacturer", "Acme"),
        ("manufacturer", {}),
        ("manufacturer", {"name": ""}),
        ("manufacturer", {"name": "x" * 201}),
        ("manufacturer", {"name": "x", "identifier": "", "identifier_scheme": "ROR"}),
        ("manufacturer", {"name": "x", "identifier": "x" * 201, "identifier_scheme": "ROR"}),
        ("manufacturer", {"name": "x", "identifier": "x", "identifier_scheme": "LEI"}),
        ("manufacturer", {"name": "x", "country": "DE"}),
    ):
        misshapen(DefineModel, field, **ENTRY | {field: wrong})
        misshapen(VersionModel, field, **ENTRY | {field: wrong, "model_id": ID, "version_tag": "1"})
    for field in ENTRY:
        misshapen(DefineModel, field, **{n: v for n, v in ENTRY.items() if n != field})
    for tag in ("", "x" * 51):
        misshapen(VersionModel, "version_tag", **ENTRY, model_id=ID, version_tag=tag)
    for reason in ("", "x" * 501):
        misshapen(DeprecateModel, "reason", model_id=ID, reason=reason)


def test_the_schemes_are_three():
    assert list(IdentifierScheme) == ["ROR", "GRID", "ISNI"]


def test_a_model_is_what_its_events_say():
    model = begin(defined)
    both = frozenset({STAGES, CAMERAS})
    assert model == Model(
        ID,
        "Stage 200",
        manufacturer=ACME,
        part_number="PS-200",
        declared_family_ids=both,
        status=DeclarationStatus.DEFINED,
        version_tag=None,
    )
    model = evolve(model, versioned)
    assert model == Model(
        ID,
        "Stage 201",
        manufacturer=Manufacturer("Beta"),
        part_number="PS-201",
        declared_family_ids=frozenset({STAGES}),
        status=DeclarationStatus.VERSIONED,
        version_tag="B",
    )
    assert evolve(model, deprecated) == replace(model, status=DeclarationStatus.DEPRECATED)


def test_a_model_is_found_by_status_part_number_and_each_family():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert set(source.view.facets_of(begin(defined))) == {
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
