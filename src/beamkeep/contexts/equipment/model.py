"""Model: the vendor's catalogue entry that an asset is an instance of."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    reads,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

from . import declaration
from .family import Family, FamilyNotFoundError, families

MOST_FAMILIES = 100


class IdentifierScheme(StrEnum):
    ROR = "ROR"
    GRID = "GRID"
    ISNI = "ISNI"


class InvalidModelManufacturerError(Invalid):
    """A manufacturer needs a name; its identifier and identifier scheme belong together."""


class Manufacturer(Record):
    """The maker of a model, with its identifier in a registry of organisations if it has one."""

    name: Annotated[Name, Trimmed(InvalidModelManufacturerError)]
    identifier: Annotated[Name, Trimmed(InvalidModelManufacturerError)] | None = None
    identifier_scheme: IdentifierScheme | None = None


# Events are stored for ever: add a field with a default; never rename or drop one.
class ModelEvent(Event):
    model_id: UUID


class ModelContent(ModelEvent):
    name: str
    manufacturer: Manufacturer
    part_number: str
    declared_family_ids: tuple[UUID, ...]


class ModelDefined(ModelContent): ...


class ModelVersioned(ModelContent):
    version_tag: str


class ModelDeprecated(ModelEvent):
    reason: FreeText


class ModelNotFoundError(NotFound): ...


class InvalidModelNameError(Blank): ...


class InvalidModelPartNumberError(Blank): ...


class InvalidModelDeclaredFamilyIdsError(Invalid):
    """A model must declare at least one family."""


class InvalidModelVersionTagError(declaration.InvalidVersionTag): ...


class InvalidModelReasonError(Blank): ...


class ModelCannotDefineError(Cannot):
    """A new model cannot declare a deprecated family."""


class ModelCannotVersionError(Cannot):
    """A model cannot be versioned if the model or a family it declares is deprecated."""


class ModelCannotDeprecateError(declaration.CannotDeprecate): ...


STATUS = declaration.Lifecycle(
    (ModelVersioned, ModelCannotVersionError),
    (ModelDeprecated, ModelCannotDeprecateError),
    InvalidModelVersionTagError,
)


class Model(declaration.Declaration, kw_only=True):
    manufacturer: Manufacturer
    part_number: str
    declared_family_ids: frozenset[UUID]


def begin(event: ModelDefined) -> Model:
    return STATUS.begin(Model, event.model_id, event)


def evolve(model: Model, event: ModelVersioned | ModelDeprecated) -> Model:
    return STATUS.evolve(model, event)


type PartNumber = Annotated[str, MinLen(1), MaxLen(100)]


class DefineModel(Command):
    name: Annotated[Name, Trimmed(InvalidModelNameError)]
    manufacturer: Manufacturer
    part_number: Annotated[PartNumber, Trimmed(InvalidModelPartNumberError)]
    declared_family_ids: Annotated[frozenset[UUID], MaxLen(MOST_FAMILIES)]
    """The families that every device of this model belongs to; at least one."""


class ModelCommand(Command):
    model_id: UUID


class VersionModel(ModelCommand, DefineModel):
    """Every field replaces its previous value."""

    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidModelVersionTagError)]


class DeprecateModel(ModelCommand):
    reason: Annotated[Reason, Trimmed(InvalidModelReasonError)]


async def declared_families(command: DefineModel, read: Reader) -> Mapping[UUID, Family]:
    return await read.many(families, sorted(command.declared_family_ids))


def define_model(
    command: DefineModel, given: Mapping[UUID, Family], call: Call
) -> list[ModelDefined]:
    """Define a vendor's catalogue entry."""
    ids = _family_ids(command)
    declaration.require_current(given.values(), ModelCannotDefineError)
    now, id = call.now, call.new_id
    return [ModelDefined.of(command, occurred_at=now, model_id=id, declared_family_ids=ids)]


def version_model(
    model: Model, command: VersionModel, given: Mapping[UUID, Family], call: Call
) -> list[ModelVersioned]:
    """Replace every field of a catalogue entry."""
    ids = _family_ids(command)
    STATUS.new_tag(model, command.version_tag)
    declaration.require_current(given.values(), ModelCannotVersionError)
    return [ModelVersioned.of(command, occurred_at=call.now, declared_family_ids=ids)]


def deprecate_model(model: Model, command: DeprecateModel, call: Call) -> list[ModelDeprecated]:
    """Deprecate a model, so that no asset can be registered with it."""
    return [STATUS.allow(model.status, ModelDeprecated(call.now, model.id, command.reason))]


def _family_ids(command: DefineModel) -> tuple[UUID, ...]:
    """Return the families in order; raise when they or the manufacturer are incomplete."""
    maker = command.manufacturer
    if (maker.identifier is None) != (maker.identifier_scheme is None):
        detail = "Send both identifier and identifier_scheme, or neither."
        raise InvalidModelManufacturerError(detail)
    if not command.declared_family_ids:
        raise InvalidModelDeclaredFamilyIdsError
    return tuple(sorted(command.declared_family_ids))


models = Aggregate("Model", begin, evolve, absent=ModelNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    models.creates("POST /models", DefineModel, define_model, FamilyNotFoundError,
        InvalidModelDeclaredFamilyIdsError, ModelCannotDefineError, given=declared_families),
    models.changes("POST /models/{model_id}/version", VersionModel, version_model,
        FamilyNotFoundError, InvalidModelDeclaredFamilyIdsError, ModelCannotVersionError,
        given=lambda _, command, read: declared_families(command, read)),
    models.changes("POST /models/{model_id}/deprecate", DeprecateModel, deprecate_model,
        ModelCannotDeprecateError, destructive=True),
)
# fmt: on


class ListModels(Listing):
    """List models, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    family_id: UUID | None = None
    """Only models that declare this family."""
    part_number: PartNumber | None = None


QUESTIONS = reads(
    "/models",
    models,
    ListModels,
    facets={"family_id": lambda it: it.declared_family_ids},
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.status,
        keywords=lambda it: (it.part_number, it.manufacturer.name),
    ),
)
