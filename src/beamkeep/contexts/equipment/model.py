"""Model: the vendor's catalogue entry that an asset is an instance of."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed, trimmed_or_none

from .family import Family, FamilyNotFoundError, FamilyStatus, VersionTag, families, new_tag

MOST_FAMILIES = 100


class IdentifierScheme(StrEnum):
    ROR = "ROR"
    GRID = "GRID"
    ISNI = "ISNI"


class ModelStatus(StrEnum):
    DEFINED = "Defined"
    VERSIONED = "Versioned"
    DEPRECATED = "Deprecated"


class Manufacturer(Record):
    """Who makes it, with its identifier in a registry of organisations where it has one."""

    name: Name
    identifier: Annotated[str, MinLen(1), MaxLen(200)] | None = None
    identifier_scheme: IdentifierScheme | None = None


# Events are stored for ever: add a field with a default; never rename or drop one.
class ModelEvent(Event):
    model_id: UUID


class ModelDefined(ModelEvent):
    name: str
    manufacturer: Manufacturer
    part_number: str
    declared_family_ids: tuple[UUID, ...]


class ModelVersioned(ModelEvent):
    version_tag: str
    name: str
    manufacturer: Manufacturer
    part_number: str
    declared_family_ids: tuple[UUID, ...]


class ModelDeprecated(ModelEvent):
    reason: FreeText


type ModelChanged = ModelVersioned | ModelDeprecated


class ModelNotFoundError(NotFound):
    """The model does not exist."""


class InvalidModelNameError(Invalid):
    """The model's name is not usable."""


class InvalidModelManufacturerError(Invalid):
    """A manufacturer has a name, and an identifier together with its scheme or neither."""


class InvalidModelPartNumberError(Invalid):
    """The part number is not usable."""


class InvalidModelDeclaredFamilyIdsError(Invalid):
    """A model is of at least one family; name one."""


class InvalidModelVersionTagError(Invalid):
    """The version tag is not usable: a new version has a tag of its own."""


class InvalidModelReasonError(Invalid):
    """The reason is not usable."""


class ModelCannotDefineError(Cannot):
    """The model cannot be defined."""


class ModelCannotVersionError(Cannot):
    """The model cannot be versioned."""


class ModelCannotDeprecateError(Cannot):
    """The model cannot be deprecated."""


CURRENT = frozenset({ModelStatus.DEFINED, ModelStatus.VERSIONED})

STATUS: Axis[ModelStatus, ModelChanged] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (ModelVersioned, CURRENT, ModelStatus.VERSIONED, ModelCannotVersionError),
    (ModelDeprecated, CURRENT, ModelStatus.DEPRECATED, ModelCannotDeprecateError),
)


class Model(Record):
    id: UUID
    name: str
    manufacturer: Manufacturer
    part_number: str
    declared_family_ids: frozenset[UUID]
    status: ModelStatus = ModelStatus.DEFINED
    version_tag: str | None = None


def begin(event: ModelDefined) -> Model:
    return Model(
        event.model_id,
        event.name,
        event.manufacturer,
        event.part_number,
        frozenset(event.declared_family_ids),
    )


def evolve(model: Model, event: ModelChanged) -> Model:
    match event:
        case ModelVersioned():
            return replace(
                model,
                name=event.name,
                manufacturer=event.manufacturer,
                part_number=event.part_number,
                declared_family_ids=frozenset(event.declared_family_ids),
                status=STATUS.after(event),
                version_tag=event.version_tag,
            )
        case ModelDeprecated():
            return replace(model, status=STATUS.after(event))


type PartNumber = Annotated[str, MinLen(1), MaxLen(100)]


class DefineModel(Command):
    name: Name
    manufacturer: Manufacturer
    part_number: PartNumber
    declared_family_ids: Annotated[frozenset[UUID], MaxLen(MOST_FAMILIES)]
    """The families that every device of this model belongs to, at least one."""


class ModelCommand(Command):
    model_id: UUID


class VersionModel(ModelCommand, DefineModel):
    """Every field replaces the old one."""

    version_tag: VersionTag


class DeprecateModel(ModelCommand):
    reason: Reason


async def declared(command: DefineModel, read: Reader) -> Mapping[UUID, Family]:
    return await read.many(families, sorted(command.declared_family_ids))


async def declared_anew(model: Model, command: VersionModel, read: Reader) -> Mapping[UUID, Family]:
    return await declared(command, read)


def define_model(
    command: DefineModel, given: Mapping[UUID, Family], call: Call
) -> list[ModelDefined]:
    """Define a vendor's catalogue entry."""
    entry = _entry(command)
    _require_not_deprecated(given, ModelCannotDefineError)
    return [ModelDefined(call.now, call.new_id, *entry)]


def version_model(
    model: Model, command: VersionModel, given: Mapping[UUID, Family], call: Call
) -> list[ModelVersioned]:
    """Replace everything a catalogue entry says."""
    entry = _entry(command)
    tag = new_tag(command.version_tag, model.version_tag, InvalidModelVersionTagError)
    STATUS.require(model.status, ModelVersioned)
    _require_not_deprecated(given, ModelCannotVersionError)
    return [ModelVersioned(call.now, model.id, tag, *entry)]


def deprecate_model(model: Model, command: DeprecateModel, call: Call) -> list[ModelDeprecated]:
    """Let a model have no new devices."""
    reason = trimmed(command.reason, InvalidModelReasonError)
    STATUS.require(model.status, ModelDeprecated)
    return [ModelDeprecated(call.now, model.id, reason)]


def _entry(command: DefineModel) -> tuple[str, Manufacturer, str, tuple[UUID, ...]]:
    """What the entry says, once it makes sense."""
    name, maker = trimmed(command.name, InvalidModelNameError), command.manufacturer
    manufacturer = Manufacturer(
        trimmed(maker.name, InvalidModelManufacturerError),
        trimmed_or_none(maker.identifier, InvalidModelManufacturerError),
        maker.identifier_scheme,
    )
    if (maker.identifier is None) != (maker.identifier_scheme is None):
        raise InvalidModelManufacturerError("One of identifier and scheme is missing.")
    part_number = trimmed(command.part_number, InvalidModelPartNumberError)
    if not command.declared_family_ids:
        raise InvalidModelDeclaredFamilyIdsError
    return name, manufacturer, part_number, tuple(sorted(command.declared_family_ids))


def _require_not_deprecated(given: Mapping[UUID, Family], refusal: type[Cannot]) -> None:
    """Refuse a family that takes no new models."""
    for family in given.values():
        if family.status is FamilyStatus.DEPRECATED:
            raise refusal(f"The family {family.name} ({family.id}) is Deprecated; name another.")


models = Aggregate("Model", begin, evolve, ModelNotFoundError)

# fmt: off
OPERATIONS = (
    models.creates("POST /models", DefineModel, define_model, FamilyNotFoundError,
        InvalidModelNameError, InvalidModelManufacturerError, InvalidModelPartNumberError,
        InvalidModelDeclaredFamilyIdsError, ModelCannotDefineError, given=declared),
    models.changes("POST /models/{model_id}/version", VersionModel, version_model,
        FamilyNotFoundError, InvalidModelNameError, InvalidModelManufacturerError,
        InvalidModelPartNumberError, InvalidModelDeclaredFamilyIdsError,
        InvalidModelVersionTagError, ModelCannotVersionError, given=declared_anew),
    models.changes("POST /models/{model_id}/deprecate", DeprecateModel, deprecate_model,
        InvalidModelReasonError, ModelCannotDeprecateError),
)
# fmt: on


class ListModels(Listing):
    """List models, by age."""

    status: ModelStatus | None = None
    family_id: UUID | None = None
    part_number: PartNumber | None = None


QUESTIONS = reads(
    "/models", models, ListModels, facets={"family_id": lambda model: model.declared_family_ids}
)
