"""Family: a class of devices, what they can do and which settings they have."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.kernel import (
    Advice,
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, trimmed
from beamkeep.schemas import JsonSchema, declare, lint_schema

MOST_WARNINGS = 100


class Affordance(StrEnum):
    """What a device can do. Values are only ever added, never removed or renamed."""

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


class FamilyStatus(StrEnum):
    DEFINED = "Defined"
    VERSIONED = "Versioned"
    DEPRECATED = "Deprecated"


# Events are stored for ever: add a field with a default; never rename or drop one.
class FamilyEvent(Event):
    family_id: UUID


class FamilyDefined(FamilyEvent):
    name: str
    affordances: tuple[Affordance, ...]
    settings_schema: JsonSchema | None


class FamilyVersioned(FamilyEvent):
    version_tag: str
    affordances: tuple[Affordance, ...]
    settings_schema: JsonSchema | None


class FamilyDeprecated(FamilyEvent): ...


type FamilyChanged = FamilyVersioned | FamilyDeprecated


class FamilyNotFoundError(NotFound):
    """The family does not exist."""


class InvalidFamilyNameError(Invalid):
    """The family's name is not usable."""


class InvalidFamilyVersionTagError(Invalid):
    """The version tag is not usable: a new version has a tag of its own."""


class InvalidFamilySettingsSchemaError(Invalid):
    """The settings schema is not one that a family may declare."""


class FamilyCannotVersionError(Cannot):
    """The family cannot be versioned."""


class FamilyCannotDeprecateError(Cannot):
    """The family cannot be deprecated."""


CURRENT = frozenset({FamilyStatus.DEFINED, FamilyStatus.VERSIONED})

STATUS: Axis[FamilyStatus, FamilyChanged] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (FamilyVersioned, CURRENT, FamilyStatus.VERSIONED, FamilyCannotVersionError),
    (FamilyDeprecated, CURRENT, FamilyStatus.DEPRECATED, FamilyCannotDeprecateError),
)


class Family(Record):
    id: UUID
    name: str
    affordances: frozenset[Affordance]
    settings_schema: JsonSchema | None
    status: FamilyStatus = FamilyStatus.DEFINED
    version_tag: str | None = None


def begin(event: FamilyDefined) -> Family:
    return Family(event.family_id, event.name, frozenset(event.affordances), event.settings_schema)


def evolve(family: Family, event: FamilyChanged) -> Family:
    match event:
        case FamilyVersioned():
            return replace(
                family,
                affordances=frozenset(event.affordances),
                settings_schema=event.settings_schema,
                status=STATUS.after(event),
                version_tag=event.version_tag,
            )
        case FamilyDeprecated():
            return replace(family, status=STATUS.after(event))


type VersionTag = Annotated[str, MinLen(1), MaxLen(50)]


class DefineFamily(Command):
    name: Name
    affordances: frozenset[Affordance]
    """What every device of the family can do; an empty list for nothing."""
    settings_schema: JsonSchema | None = None
    """JSON Schema of the settings of its devices; null for devices without settings."""


class FamilyCommand(Command):
    family_id: UUID


class VersionFamily(FamilyCommand):
    version_tag: VersionTag
    affordances: frozenset[Affordance]
    """All of them: they replace the old ones."""
    settings_schema: JsonSchema | None
    """The whole schema: it replaces the old one; null takes it away."""


class DeprecateFamily(FamilyCommand): ...


def define_family(command: DefineFamily, call: Call) -> list[FamilyDefined | Advice]:
    """Define a class of devices."""
    name = trimmed(command.name, InvalidFamilyNameError)
    schema, advice = declared(command.settings_schema, InvalidFamilySettingsSchemaError)
    affordances = tuple(sorted(command.affordances))
    return [FamilyDefined(call.now, call.new_id, name, affordances, schema), *advice]


def version_family(
    family: Family, command: VersionFamily, call: Call
) -> list[FamilyVersioned | Advice]:
    """Replace what the devices of a family can do and which settings they have."""
    tag = new_tag(command.version_tag, family.version_tag, InvalidFamilyVersionTagError)
    schema, advice = declared(command.settings_schema, InvalidFamilySettingsSchemaError)
    STATUS.require(family.status, FamilyVersioned)
    affordances = tuple(sorted(command.affordances))
    return [FamilyVersioned(call.now, family.id, tag, affordances, schema), *advice]


def deprecate_family(
    family: Family, command: DeprecateFamily, call: Call
) -> list[FamilyDeprecated]:
    """Let a family have no new devices and no new models."""
    STATUS.require(family.status, FamilyDeprecated)
    return [FamilyDeprecated(call.now, family.id)]


def new_tag(text: str, current: str | None, refusal: type[Invalid]) -> str:
    """The tag of a new version, which the current one may not have."""
    if (tag := trimmed(text, refusal)) == current:
        raise refusal(f"{tag} is the current one.")
    return tag


def declared(
    schema: JsonSchema | None, refusal: type[Invalid]
) -> tuple[JsonSchema | None, list[Advice]]:
    """The schema, once it is allowed, and what its author is advised to do better."""
    allowed = declare(schema, refusal)
    return allowed, lint_schema(allowed or {})[:MOST_WARNINGS]


families = Aggregate("Family", begin, evolve, FamilyNotFoundError)

# fmt: off
OPERATIONS = (
    families.creates("POST /families", DefineFamily, define_family, InvalidFamilyNameError,
        InvalidFamilySettingsSchemaError),
    families.changes("POST /families/{family_id}/version", VersionFamily, version_family,
        InvalidFamilyVersionTagError, InvalidFamilySettingsSchemaError, FamilyCannotVersionError),
    families.changes("POST /families/{family_id}/deprecate", DeprecateFamily, deprecate_family,
        FamilyCannotDeprecateError),
)
# fmt: on


class ListFamilies(Listing):
    """List families, by age."""

    status: FamilyStatus | None = None
    affordance: Affordance | None = None


QUESTIONS = reads(
    "/families",
    families,
    ListFamilies,
    facets={"affordance": lambda family: family.affordances},
)
