"""Family: a class of devices, what they can do and which settings they have."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from beamkeep.kernel import (
    Advice,
    Aggregate,
    Blank,
    Call,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    reads,
)
from beamkeep.kernel.values import Name, Trimmed
from beamkeep.schemas import JsonSchema

from . import declaration


class Affordance(StrEnum):
    """What a device can do. Values are only added, never removed or renamed."""

    # motion
    ROTATABLE = "Rotatable"
    TRANSLATABLE = "Translatable"
    HOMEABLE = "Homeable"
    LIMITABLE = "Limitable"
    POSABLE = "Posable"
    INDEXABLE = "Indexable"
    CAPTURABLE = "Capturable"
    FOLLOWING = "Following"
    LEADING = "Leading"
    # imaging
    IMAGEABLE = "Imageable"
    BINNABLE = "Binnable"
    CAPTURING = "Capturing"
    # timing
    TRIGGERABLE = "Triggerable"
    GATEABLE = "Gateable"
    SYNCHRONIZABLE = "Synchronizable"
    MARKING = "Marking"
    PULSING = "Pulsing"
    # data
    STREAMABLE = "Streamable"
    BUFFERABLE = "Bufferable"
    COMPRESSIBLE = "Compressible"
    RECORDING = "Recording"
    # optics, environment
    COOLABLE = "Coolable"
    PID_CONTROLLABLE = "PIDControllable"
    SETTABLE = "Settable"
    SHUTTERABLE = "Shutterable"
    ATTENUABLE = "Attenuable"
    BENDABLE = "Bendable"
    # reporting
    IDENTIFIABLE = "Identifiable"
    REPORTABLE = "Reportable"
    # lifecycle
    CONSUMABLE = "Consumable"


# Events are stored for ever: add a field with a default; never rename or drop one.
class FamilyEvent(Event):
    family_id: UUID


class FamilyContent(FamilyEvent):
    affordances: tuple[Affordance, ...]
    settings_schema: JsonSchema | None


class FamilyDefined(FamilyContent):
    name: str


class FamilyVersioned(FamilyContent):
    version_tag: str


class FamilyDeprecated(FamilyEvent): ...


class FamilyNotFoundError(NotFound): ...


class InvalidFamilyNameError(Blank): ...


class InvalidFamilyVersionTagError(declaration.InvalidVersionTag): ...


class InvalidFamilySettingsSchemaError(Invalid):
    """Settings schema must be a JSON Schema of the supported subset."""


class FamilyCannotVersionError(declaration.CannotVersion): ...


class FamilyCannotDeprecateError(declaration.CannotDeprecate): ...


STATUS = declaration.Lifecycle(
    (FamilyVersioned, FamilyCannotVersionError),
    (FamilyDeprecated, FamilyCannotDeprecateError),
    InvalidFamilyVersionTagError,
)


class Family(declaration.Declaration, kw_only=True):
    affordances: frozenset[Affordance]
    settings_schema: JsonSchema | None


def begin(event: FamilyDefined) -> Family:
    return STATUS.begin(Family, event.family_id, event)


def evolve(family: Family, event: FamilyVersioned | FamilyDeprecated) -> Family:
    return STATUS.evolve(family, event)


class DeclareFamily(Command):
    affordances: frozenset[Affordance]
    """What every device of the family can do; send an empty list for nothing."""
    settings_schema: JsonSchema | None
    """JSON Schema of the devices' settings; null if the devices have no settings."""


class DefineFamily(DeclareFamily):
    name: Annotated[Name, Trimmed(InvalidFamilyNameError)]
    settings_schema: JsonSchema | None = None


class FamilyCommand(Command):
    family_id: UUID


class VersionFamily(FamilyCommand, DeclareFamily):
    """Every field replaces its previous value."""

    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidFamilyVersionTagError)]


class DeprecateFamily(FamilyCommand): ...


def define_family(command: DefineFamily, call: Call) -> list[FamilyDefined | Advice]:
    """Define a class of devices."""
    content, advice = _content(command)
    return [FamilyDefined(call.now, call.new_id, *content, name=command.name), *advice]


def version_family(
    family: Family, command: VersionFamily, call: Call
) -> list[FamilyVersioned | Advice]:
    """Replace the affordances and the settings schema of a family."""
    content, advice = _content(command)
    tag = STATUS.new_tag(family, command.version_tag)
    return [FamilyVersioned(call.now, family.id, *content, version_tag=tag), *advice]


def deprecate_family(
    family: Family, command: DeprecateFamily, call: Call
) -> list[FamilyDeprecated]:
    """Deprecate a family, so that no asset and no model can join it."""
    return [STATUS.allow(family.status, FamilyDeprecated(call.now, family.id))]


def _content(
    command: DeclareFamily,
) -> tuple[tuple[tuple[Affordance, ...], JsonSchema | None], list[Advice]]:
    """Return the checked fields of FamilyContent, and the advice on the schema."""
    schema, advice = declaration.declared_schema(
        command.settings_schema, InvalidFamilySettingsSchemaError
    )
    return (tuple(sorted(command.affordances)), schema), advice


families = Aggregate("Family", begin, evolve, absent=FamilyNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    families.creates("POST /families", DefineFamily, define_family,
        InvalidFamilySettingsSchemaError),
    families.changes("POST /families/{family_id}/version", VersionFamily, version_family,
        InvalidFamilySettingsSchemaError, FamilyCannotVersionError),
    families.changes("POST /families/{family_id}/deprecate", DeprecateFamily, deprecate_family,
        FamilyCannotDeprecateError, destructive=True),
)
# fmt: on


class ListFamilies(Listing):
    """List families, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    affordance: Affordance | None = None
    """Only families with this affordance."""


QUESTIONS = reads(
    "/families",
    families,
    ListFamilies,
    facets={"affordance": lambda it: it.affordances},
    directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.status),
)
