"""Capability: what a kind of operation provides, whoever performs it."""

import re
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment.family import Affordance, VersionTag, declared, new_tag
from beamkeep.kernel import (
    Advice,
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    SideWrite,
    claim,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, trimmed
from beamkeep.schemas import JsonSchema

from .declaration import DeclarationStatus, lifecycle, milestones

CODES = "capability-code"
CODE = r"beamkeep\.capability(\.[a-z][a-z0-9_]*)+"


class ExecutorShape(StrEnum):
    METHOD = "METHOD"
    PROCEDURE = "PROCEDURE"


# Events are stored for ever: add a field with a default; never rename or drop one.
class CapabilityEvent(Event):
    capability_id: UUID


class CapabilityDefined(CapabilityEvent):
    code: str
    name: str
    description: FreeText | None
    required_affordances: tuple[Affordance, ...]
    executor_shapes: tuple[ExecutorShape, ...]
    parameters_schema: JsonSchema | None


class CapabilityVersioned(CapabilityEvent):
    version_tag: str
    name: str
    description: FreeText | None
    required_affordances: tuple[Affordance, ...]
    executor_shapes: tuple[ExecutorShape, ...]
    parameters_schema: JsonSchema | None


class CapabilityDeprecated(CapabilityEvent):
    replaced_by_capability_id: UUID | None


class CapabilityNotFoundError(NotFound):
    """The capability does not exist."""


class InvalidCapabilityCodeError(Invalid):
    """A code is beamkeep.capability. and lower snake_case words joined by dots."""


class InvalidCapabilityNameError(Invalid):
    """The capability's name is not usable."""


class InvalidCapabilityExecutorShapesError(Invalid):
    """A capability is for methods, for procedures, or for both; name at least one."""


class InvalidCapabilityParametersSchemaError(Invalid):
    """The parameters schema is not one that a capability may declare."""


class InvalidCapabilityVersionTagError(Invalid):
    """The version tag is not usable: a new version has a tag of its own."""


class InvalidCapabilityReplacedByCapabilityIdError(Invalid):
    """A capability does not replace itself; name another, or none."""


class CapabilityCodeAlreadyExistsError(Cannot):
    """A capability has this code already, and a code is never given twice; choose another."""


class CapabilityCannotVersionError(Cannot):
    """The capability cannot be versioned."""


class CapabilityCannotDeprecateError(Cannot):
    """The capability cannot be deprecated."""


STATUS = lifecycle(
    (CapabilityVersioned, CapabilityCannotVersionError),
    (CapabilityDeprecated, CapabilityCannotDeprecateError),
)


class Capability(Record):
    id: UUID
    code: str
    name: str
    description: str | None
    required_affordances: frozenset[Affordance]
    executor_shapes: frozenset[ExecutorShape]
    parameters_schema: JsonSchema | None
    status: DeclarationStatus = DeclarationStatus.DEFINED
    version_tag: str | None = None
    replaced_by_capability_id: UUID | None = None


def begin(event: CapabilityDefined) -> Capability:
    return Capability(
        event.capability_id,
        event.code,
        event.name,
        event.description,
        frozenset(event.required_affordances),
        frozenset(event.executor_shapes),
        event.parameters_schema,
    )


def evolve(capability: Capability, event: CapabilityVersioned | CapabilityDeprecated) -> Capability:
    capability = replace(capability, status=STATUS.after(event))
    match event:
        case CapabilityVersioned():
            return replace(
                capability,
                version_tag=event.version_tag,
                name=event.name,
                description=event.description,
                required_affordances=frozenset(event.required_affordances),
                executor_shapes=frozenset(event.executor_shapes),
                parameters_schema=event.parameters_schema,
            )
        case CapabilityDeprecated():
            replaced_by = event.replaced_by_capability_id
            return replace(capability, replaced_by_capability_id=replaced_by)


def claims_of(capability: Capability) -> tuple[Insert, ...]:
    """The code it has for good."""
    code, loser = capability.code, CapabilityCodeAlreadyExistsError
    return (claim(CODES, code, holder=capability.id, loser=loser),)


type CapabilityCode = Annotated[str, MinLen(1), MaxLen(200)]
type Description = Annotated[str, MaxLen(2000)]


class DeclareCapability(Command):
    name: Name
    required_affordances: frozenset[Affordance]
    """What the devices together must be able to do; an empty list for nothing."""
    executor_shapes: frozenset[ExecutorShape]
    """Whether methods, procedures or both realize it."""
    description: Description | None
    parameters_schema: JsonSchema | None
    """JSON Schema that bounds the parameters; null for none."""


class DefineCapability(DeclareCapability):
    code: CapabilityCode
    """It begins with beamkeep.capability. and is for ever."""
    description: Description | None = None
    parameters_schema: JsonSchema | None = None


class CapabilityCommand(Command):
    capability_id: UUID


class VersionCapability(CapabilityCommand, DeclareCapability):
    """Every field replaces the old one."""

    version_tag: VersionTag


class DeprecateCapability(CapabilityCommand):
    replaced_by_capability_id: UUID | None = None
    """What to use instead."""


async def replacement(
    capability: Capability, command: DeprecateCapability, read: Reader
) -> Capability | None:
    id = command.replaced_by_capability_id
    return await read.one(capabilities, id) if id else None


def define_capability(
    command: DefineCapability, call: Call
) -> list[CapabilityDefined | SideWrite | Advice]:
    """Define what a kind of operation provides."""
    code = command.code
    if not re.fullmatch(CODE, code):
        raise InvalidCapabilityCodeError
    declaration, advice = _declaration(command)
    defined = CapabilityDefined(call.now, call.new_id, code, *declaration)
    return [defined, *claims_of(begin(defined)), *advice]


def version_capability(
    capability: Capability, command: VersionCapability, call: Call
) -> list[CapabilityVersioned | Advice]:
    """Replace everything a capability says, but for its code."""
    declaration, advice = _declaration(command)
    tag = new_tag(command.version_tag, capability.version_tag, InvalidCapabilityVersionTagError)
    STATUS.require(capability.status, CapabilityVersioned)
    return [CapabilityVersioned(call.now, capability.id, tag, *declaration), *advice]


def deprecate_capability(
    capability: Capability, command: DeprecateCapability, given: Capability | None, call: Call
) -> list[CapabilityDeprecated]:
    """Let nothing new realize a capability, and say what to use instead."""
    if given and given.id == capability.id:
        raise InvalidCapabilityReplacedByCapabilityIdError
    STATUS.require(capability.status, CapabilityDeprecated)
    return [CapabilityDeprecated(call.now, capability.id, command.replaced_by_capability_id)]


type Declaration = tuple[
    str, str | None, tuple[Affordance, ...], tuple[ExecutorShape, ...], JsonSchema | None
]


def _declaration(command: DeclareCapability) -> tuple[Declaration, list[Advice]]:
    """What the capability says, once it makes sense, and what its author could do better."""
    name = trimmed(command.name, InvalidCapabilityNameError)
    if not command.executor_shapes:
        raise InvalidCapabilityExecutorShapesError
    schema, advice = declared(command.parameters_schema, InvalidCapabilityParametersSchemaError)
    affordances = tuple(sorted(command.required_affordances))
    description = (command.description or "").strip() or None
    return (name, description, affordances, tuple(sorted(command.executor_shapes)), schema), advice


capabilities = Aggregate("Capability", begin, evolve, CapabilityNotFoundError)

# fmt: off
OPERATIONS = (
    capabilities.creates("POST /capabilities", DefineCapability, define_capability,
        InvalidCapabilityCodeError, InvalidCapabilityNameError,
        InvalidCapabilityExecutorShapesError, InvalidCapabilityParametersSchemaError,
        CapabilityCodeAlreadyExistsError),
    capabilities.changes("POST /capabilities/{capability_id}/version", VersionCapability,
        version_capability, InvalidCapabilityNameError, InvalidCapabilityExecutorShapesError,
        InvalidCapabilityParametersSchemaError, InvalidCapabilityVersionTagError,
        CapabilityCannotVersionError),
    capabilities.changes("POST /capabilities/{capability_id}/deprecate", DeprecateCapability,
        deprecate_capability, InvalidCapabilityReplacedByCapabilityIdError,
        CapabilityCannotDeprecateError, given=replacement),
)
# fmt: on


class ListCapabilities(Listing):
    """List capabilities, by age."""

    status: DeclarationStatus | None = None
    executor_shape: ExecutorShape | None = None
    affordance: Affordance | None = None
    """One that it requires."""
    code: CapabilityCode | None = None


QUESTIONS = reads(
    "/capabilities",
    capabilities,
    ListCapabilities,
    milestones=milestones(STATUS),
    facets={
        "executor_shape": lambda capability: capability.executor_shapes,
        "affordance": lambda capability: capability.required_affordances,
    },
)
