"""Capability: what a kind of operation provides, whichever method or procedure performs it."""

import re
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.equipment import declaration
from beamkeep.contexts.equipment.family import Affordance
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Advice,
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    SideWrite,
    claim,
    reads,
)
from beamkeep.kernel.values import FreeText, Name, Trimmed
from beamkeep.schemas import JsonSchema

CODES = "capability-code"
CODE = r"beamkeep\.capability(\.[a-z][a-z0-9_]*)+"


class ExecutorShape(StrEnum):
    METHOD = "METHOD"
    PROCEDURE = "PROCEDURE"


# Events are stored for ever: add a field with a default; never rename or drop one.
class CapabilityEvent(Event):
    capability_id: UUID


class CapabilityContent(CapabilityEvent):
    name: str
    description: FreeText | None
    required_affordances: tuple[Affordance, ...]
    executor_shapes: tuple[ExecutorShape, ...]
    parameters_schema: JsonSchema | None


class CapabilityDefined(CapabilityContent):
    code: str


class CapabilityVersioned(CapabilityContent):
    version_tag: str


class CapabilityDeprecated(CapabilityEvent):
    replaced_by_capability_id: UUID | None


class CapabilityNotFoundError(NotFound): ...


class InvalidCapabilityCodeError(Invalid):
    """Capability code must be beamkeep.capability. followed by snake_case words joined by dots."""


class InvalidCapabilityNameError(Blank): ...


class InvalidCapabilityExecutorShapesError(Invalid):
    """Executor shapes must name METHOD, PROCEDURE or both."""


class InvalidCapabilityParametersSchemaError(Invalid):
    """Parameters schema must be a JSON Schema of the supported subset."""


class InvalidCapabilityVersionTagError(declaration.InvalidVersionTag): ...


class InvalidCapabilityReplacedByCapabilityIdError(Invalid):
    """A capability cannot be replaced by itself; name another capability or none."""


class CapabilityCodeAlreadyExistsError(Cannot):
    """A capability with this code exists; choose another code, because codes are never reused."""


class CapabilityCannotVersionError(declaration.CannotVersion): ...


class CapabilityCannotDeprecateError(declaration.CannotDeprecate): ...


STATUS = declaration.Lifecycle(
    (CapabilityVersioned, CapabilityCannotVersionError),
    (CapabilityDeprecated, CapabilityCannotDeprecateError),
    InvalidCapabilityVersionTagError,
)


class Capability(declaration.Declaration, kw_only=True):
    code: str
    description: str | None
    required_affordances: frozenset[Affordance]
    executor_shapes: frozenset[ExecutorShape]
    parameters_schema: JsonSchema | None
    replaced_by_capability_id: UUID | None = None


def begin(event: CapabilityDefined) -> Capability:
    return STATUS.begin(Capability, event.capability_id, event)


def evolve(capability: Capability, event: CapabilityVersioned | CapabilityDeprecated) -> Capability:
    return STATUS.evolve(capability, event)


def claims_of(capability: Capability) -> tuple[Insert, ...]:
    """Return the claim on the capability's code, which is never freed."""
    code, loser = capability.code, CapabilityCodeAlreadyExistsError
    return (claim(CODES, code, holder=capability.id, loser=loser),)


type CapabilityCode = Annotated[str, MinLen(1), MaxLen(200)]
type CapabilityDescription = Annotated[str, MaxLen(2000)]


class DeclareCapability(Command):
    name: Annotated[Name, Trimmed(InvalidCapabilityNameError)]
    required_affordances: frozenset[Affordance]
    """What the devices together must be able to do; send an empty list for nothing."""
    executor_shapes: frozenset[ExecutorShape]
    """Whether methods, procedures or both can realize the capability."""
    description: CapabilityDescription | None
    parameters_schema: JsonSchema | None
    """JSON Schema that bounds the parameters; null for no parameters."""


class DefineCapability(DeclareCapability):
    code: CapabilityCode
    """A code that starts with beamkeep.capability. and cannot be changed later."""
    description: CapabilityDescription | None = None
    parameters_schema: JsonSchema | None = None


class CapabilityCommand(Command):
    capability_id: UUID


class VersionCapability(CapabilityCommand, DeclareCapability):
    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidCapabilityVersionTagError)]


class DeprecateCapability(CapabilityCommand):
    replaced_by_capability_id: UUID | None = None
    """The capability to use instead."""


async def replacement(capability: Capability, command: DeprecateCapability, read: Reader) -> None:
    if id := command.replaced_by_capability_id:
        await read.one(capabilities, id)


def define_capability(
    command: DefineCapability, call: Call
) -> list[CapabilityDefined | SideWrite | Advice]:
    """Define what a kind of operation provides."""
    if not re.fullmatch(CODE, command.code):
        raise InvalidCapabilityCodeError
    content, advice = _content(command)
    id = call.new_id
    defined = CapabilityDefined.of(command, occurred_at=call.now, capability_id=id, **content)
    return [defined, *claims_of(begin(defined)), *advice]


def version_capability(
    capability: Capability, command: VersionCapability, call: Call
) -> list[CapabilityVersioned | Advice]:
    """Replace every field of a capability except its code."""
    content, advice = _content(command)
    tag = STATUS.new_tag(capability, command.version_tag)
    versioned = CapabilityVersioned.of(command, occurred_at=call.now, version_tag=tag, **content)
    return [versioned, *advice]


def deprecate_capability(
    capability: Capability, command: DeprecateCapability, given: None, call: Call
) -> list[CapabilityDeprecated]:
    """Deprecate a capability, so that no method or recipe can newly realize it."""
    if command.replaced_by_capability_id == capability.id:
        raise InvalidCapabilityReplacedByCapabilityIdError
    deprecated = CapabilityDeprecated.of(command, occurred_at=call.now)
    return [STATUS.allow(capability.status, deprecated)]


def _content(command: DeclareCapability) -> tuple[dict[str, object], list[Advice]]:
    """Return the fields that an event stores in another form, and the advice on the schema."""
    if not command.executor_shapes:
        raise InvalidCapabilityExecutorShapesError
    refusal = InvalidCapabilityParametersSchemaError
    _, advice = declaration.declared_schema(command.parameters_schema, refusal)
    content: dict[str, object] = {
        "description": (command.description or "").strip() or None,
        "required_affordances": tuple(sorted(command.required_affordances)),
        "executor_shapes": tuple(sorted(command.executor_shapes)),
    }
    return content, advice


capabilities = Aggregate(
    "Capability", begin, evolve, absent=CapabilityNotFoundError, axes=(STATUS,)
)

# fmt: off
OPERATIONS = (
    capabilities.creates("POST /capabilities", DefineCapability, define_capability,
        InvalidCapabilityCodeError, InvalidCapabilityExecutorShapesError,
        InvalidCapabilityParametersSchemaError, CapabilityCodeAlreadyExistsError),
    capabilities.changes("POST /capabilities/{capability_id}/version", VersionCapability,
        version_capability, InvalidCapabilityExecutorShapesError,
        InvalidCapabilityParametersSchemaError, CapabilityCannotVersionError),
    capabilities.changes("POST /capabilities/{capability_id}/deprecate", DeprecateCapability,
        deprecate_capability, InvalidCapabilityReplacedByCapabilityIdError,
        CapabilityCannotDeprecateError, given=replacement, destructive=True),
)
# fmt: on


class ListCapabilities(Listing):
    """List capabilities, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    executor_shape: ExecutorShape | None = None
    affordance: Affordance | None = None
    """Only capabilities that require this affordance."""
    code: CapabilityCode | None = None


# fmt: off
QUESTIONS = reads("/capabilities", capabilities, ListCapabilities, milestones=STATUS.milestones,
    facets={"executor_shape": lambda capability: capability.executor_shapes,
        "affordance": lambda capability: capability.required_affordances},
    directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.status,
        keywords=lambda it: (it.code,)))
