"""Method: a technique that realizes a capability, wherever it is practised."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen

from beamkeep.contexts.equipment.family import (
    Family,
    FamilyNotFoundError,
    VersionTag,
    declared,
    families,
    new_tag,
)
from beamkeep.contexts.supply.supply import SupplyKind
from beamkeep.kernel import (
    Advice,
    Aggregate,
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
from beamkeep.kernel.values import Name, trimmed
from beamkeep.schemas import JsonSchema, require_subset

from .capability import Capability, CapabilityNotFoundError, ExecutorShape, capabilities
from .declaration import DeclarationStatus, lifecycle, milestones, require_current

MOST_FAMILIES = 50
MOST_SUPPLIES = 20


# Events are stored for ever: add a field with a default; never rename or drop one.
class MethodEvent(Event):
    method_id: UUID


class MethodDefined(MethodEvent):
    name: str
    capability_id: UUID
    needed_family_ids: tuple[UUID, ...]
    needed_supplies: tuple[str, ...]
    parameters_schema: JsonSchema | None


class MethodVersioned(MethodEvent):
    version_tag: str
    name: str
    needed_family_ids: tuple[UUID, ...]
    needed_supplies: tuple[str, ...]
    parameters_schema: JsonSchema | None


class MethodDeprecated(MethodEvent): ...


class MethodNotFoundError(NotFound):
    """The method does not exist."""


class InvalidMethodNameError(Invalid):
    """The method's name is not usable."""


class InvalidMethodNeededSuppliesError(Invalid):
    """The kinds of supply are not usable: they are up to 20 texts."""


class InvalidMethodParametersSchemaError(Invalid):
    """The parameters schema is not one that a method may declare."""


class InvalidMethodVersionTagError(Invalid):
    """The version tag is not usable: a new version has a tag of its own."""


class MethodCannotVersionError(Cannot):
    """The method cannot be versioned."""


class MethodCannotDeprecateError(Cannot):
    """The method cannot be deprecated."""


class MethodBoundCapabilityDeprecatedError(Cannot):
    """No method may realize a deprecated capability."""


class MethodCapabilityExecutorMismatchError(Cannot):
    """The capability is for procedures only; no method realizes it."""


class MethodFamilyDeprecatedError(Cannot):
    """No method may need a deprecated family of devices."""


class MethodParametersNotSubsetError(Cannot):
    """A method takes no parameters that its capability would not take; narrow its schema."""


STATUS = lifecycle(
    (MethodVersioned, MethodCannotVersionError), (MethodDeprecated, MethodCannotDeprecateError)
)


class Method(Record):
    id: UUID
    name: str
    capability_id: UUID
    needed_family_ids: frozenset[UUID]
    needed_supplies: frozenset[str]
    parameters_schema: JsonSchema | None
    status: DeclarationStatus = DeclarationStatus.DEFINED
    version_tag: str | None = None


def begin(event: MethodDefined) -> Method:
    return Method(
        event.method_id,
        event.name,
        event.capability_id,
        frozenset(event.needed_family_ids),
        frozenset(event.needed_supplies),
        event.parameters_schema,
    )


def evolve(method: Method, event: MethodVersioned | MethodDeprecated) -> Method:
    method = replace(method, status=STATUS.after(event))
    match event:
        case MethodVersioned():
            return replace(
                method,
                version_tag=event.version_tag,
                name=event.name,
                needed_family_ids=frozenset(event.needed_family_ids),
                needed_supplies=frozenset(event.needed_supplies),
                parameters_schema=event.parameters_schema,
            )
        case MethodDeprecated():
            return method


type FamilyIds = Annotated[frozenset[UUID], MaxLen(MOST_FAMILIES)]


class DeclareMethod(Command):
    name: Name
    needed_family_ids: FamilyIds
    """The families that the assets of every plan must cover; an empty list for none."""
    needed_supplies: frozenset[SupplyKind]
    """Kinds of supply that must be available before a run starts; at most 20."""
    parameters_schema: JsonSchema | None
    """JSON Schema of what may differ between experiments; it keeps within the capability's."""


class DefineMethod(DeclareMethod):
    capability_id: UUID
    needed_supplies: frozenset[SupplyKind] = frozenset()
    parameters_schema: JsonSchema | None = None


class MethodCommand(Command):
    method_id: UUID


class VersionMethod(MethodCommand, DeclareMethod):
    """Every field replaces the old one."""

    version_tag: VersionTag


class DeprecateMethod(MethodCommand): ...


class Realized(Record):
    """What a method realizes, and with devices of which families."""

    capability: Capability
    families: Mapping[UUID, Family]


async def realized(command: DefineMethod, read: Reader) -> Realized:
    return await _realized(command.capability_id, command, read)


async def realized_anew(method: Method, command: VersionMethod, read: Reader) -> Realized:
    return await _realized(method.capability_id, command, read)


async def _realized(capability_id: UUID, command: DeclareMethod, read: Reader) -> Realized:
    capability = await read.one(capabilities, capability_id)
    return Realized(capability, await read.many(families, sorted(command.needed_family_ids)))


def define_method(
    command: DefineMethod, given: Realized, call: Call
) -> list[MethodDefined | Advice]:
    """Define a technique that realizes a capability."""
    declaration, advice = _declaration(command)
    _require_realizable(command, given)
    name, needs = declaration[0], declaration[1:]
    return [MethodDefined(call.now, call.new_id, name, command.capability_id, *needs), *advice]


def version_method(
    method: Method, command: VersionMethod, given: Realized, call: Call
) -> list[MethodVersioned | Advice]:
    """Replace everything a method says, but for its capability."""
    declaration, advice = _declaration(command)
    tag = new_tag(command.version_tag, method.version_tag, InvalidMethodVersionTagError)
    STATUS.require(method.status, MethodVersioned)
    _require_realizable(command, given)
    return [MethodVersioned(call.now, method.id, tag, *declaration), *advice]


def deprecate_method(
    method: Method, command: DeprecateMethod, call: Call
) -> list[MethodDeprecated]:
    """Let nothing new practise a method."""
    STATUS.require(method.status, MethodDeprecated)
    return [MethodDeprecated(call.now, method.id)]


type Declaration = tuple[str, tuple[UUID, ...], tuple[str, ...], JsonSchema | None]


def _declaration(command: DeclareMethod) -> tuple[Declaration, list[Advice]]:
    """What the method says, once it makes sense, and what its author could do better."""
    name = trimmed(command.name, InvalidMethodNameError)
    kinds = {trimmed(kind, InvalidMethodNeededSuppliesError) for kind in command.needed_supplies}
    if len(kinds) > MOST_SUPPLIES:
        raise InvalidMethodNeededSuppliesError(f"There are {len(kinds)}.")
    schema, advice = declared(command.parameters_schema, InvalidMethodParametersSchemaError)
    family_ids = tuple(sorted(command.needed_family_ids))
    return (name, family_ids, tuple(sorted(kinds)), schema), advice


def _require_realizable(command: DeclareMethod, given: Realized) -> None:
    """Refuse a method that its capability or a family does not bear."""
    capability = given.capability
    require_current([capability], MethodBoundCapabilityDeprecatedError)
    if ExecutorShape.METHOD not in capability.executor_shapes:
        raise MethodCapabilityExecutorMismatchError(f"It is {capability.code}.")
    require_current(given.families.values(), MethodFamilyDeprecatedError)
    own, bounds = command.parameters_schema, capability.parameters_schema
    require_subset(own, bounds, MethodParametersNotSubsetError)


methods = Aggregate("Method", begin, evolve, MethodNotFoundError)

# fmt: off
OPERATIONS = (
    methods.creates("POST /methods", DefineMethod, define_method, CapabilityNotFoundError,
        FamilyNotFoundError, InvalidMethodNameError, InvalidMethodNeededSuppliesError,
        InvalidMethodParametersSchemaError, MethodBoundCapabilityDeprecatedError,
        MethodCapabilityExecutorMismatchError, MethodFamilyDeprecatedError,
        MethodParametersNotSubsetError, given=realized),
    methods.changes("POST /methods/{method_id}/version", VersionMethod, version_method,
        FamilyNotFoundError, InvalidMethodNameError, InvalidMethodNeededSuppliesError,
        InvalidMethodParametersSchemaError, InvalidMethodVersionTagError, MethodCannotVersionError,
        MethodBoundCapabilityDeprecatedError, MethodCapabilityExecutorMismatchError,
        MethodFamilyDeprecatedError, MethodParametersNotSubsetError, given=realized_anew),
    methods.changes("POST /methods/{method_id}/deprecate", DeprecateMethod, deprecate_method,
        MethodCannotDeprecateError),
)
# fmt: on


class ListMethods(Listing):
    """List methods, by age."""

    status: DeclarationStatus | None = None
    capability_id: UUID | None = None
    family_id: UUID | None = None
    """One that it needs."""


QUESTIONS = reads(
    "/methods",
    methods,
    ListMethods,
    milestones=milestones(STATUS),
    facets={"family_id": lambda method: method.needed_family_ids},
)
