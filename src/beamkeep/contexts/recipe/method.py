"""Method: a technique that realizes a capability, at any site."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen

from beamkeep.contexts.equipment import declaration
from beamkeep.contexts.equipment.family import Family, FamilyNotFoundError, families
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.supply.supply import SupplyKind
from beamkeep.kernel import (
    Advice,
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
    reads,
)
from beamkeep.kernel.values import Name, Trimmed
from beamkeep.schemas import JsonSchema, require_subset

from .capability import Capability, CapabilityNotFoundError, ExecutorShape, capabilities

MOST_FAMILIES = 50
MOST_SUPPLIES = 20


# Events are stored for ever: add a field with a default; never rename or drop one.
class MethodEvent(Event):
    method_id: UUID


class MethodContent(MethodEvent):
    name: str
    needed_family_ids: tuple[UUID, ...]
    needed_supplies: tuple[str, ...]
    parameters_schema: JsonSchema | None


class MethodDefined(MethodContent):
    capability_id: UUID


class MethodVersioned(MethodContent):
    version_tag: str


class MethodDeprecated(MethodEvent): ...


class MethodNotFoundError(NotFound): ...


class InvalidMethodNameError(Blank): ...


class InvalidMethodNeededSuppliesError(Invalid):
    """Needed supplies must be at most 20 kinds of supply, none of them blank."""


class InvalidMethodParametersSchemaError(Invalid):
    """Parameters schema must be a JSON Schema of the supported subset."""


class InvalidMethodVersionTagError(declaration.InvalidVersionTag): ...


class MethodCannotVersionError(declaration.CannotVersion): ...


class MethodCannotDeprecateError(declaration.CannotDeprecate): ...


class MethodBoundCapabilityDeprecatedError(Cannot):
    """A method cannot realize a deprecated capability."""


class MethodCapabilityExecutorMismatchError(Cannot):
    """A method can only realize a capability that has the executor shape METHOD."""


class MethodFamilyDeprecatedError(Cannot):
    """A method cannot need a deprecated family."""


class MethodParametersNotSubsetError(Cannot):
    """The method's parameters schema must not allow more than the capability's schema."""


STATUS = declaration.Lifecycle(
    (MethodVersioned, MethodCannotVersionError),
    (MethodDeprecated, MethodCannotDeprecateError),
    InvalidMethodVersionTagError,
)


class Method(declaration.Declaration, kw_only=True):
    capability_id: UUID
    needed_family_ids: frozenset[UUID]
    needed_supplies: frozenset[str]
    parameters_schema: JsonSchema | None


def begin(event: MethodDefined) -> Method:
    return STATUS.begin(Method, event.method_id, event)


def evolve(method: Method, event: MethodVersioned | MethodDeprecated) -> Method:
    return STATUS.evolve(method, event)


type FamilyIds = Annotated[frozenset[UUID], MaxLen(MOST_FAMILIES)]
Supplies = frozenset[Annotated[SupplyKind, Trimmed(InvalidMethodNeededSuppliesError)]]


class DeclareMethod(Command):
    name: Annotated[Name, Trimmed(InvalidMethodNameError)]
    needed_family_ids: FamilyIds
    """The families that the assets of every plan must cover; send an empty list for none."""
    needed_supplies: Supplies
    """The kinds of supply that must be available before a run starts; at most 20."""
    parameters_schema: JsonSchema | None
    """JSON Schema of the parameters of an experiment; a subset of the capability's schema."""


class DefineMethod(DeclareMethod):
    capability_id: UUID
    needed_supplies: Supplies = frozenset()
    parameters_schema: JsonSchema | None = None


class MethodCommand(Command):
    method_id: UUID


class VersionMethod(MethodCommand, DeclareMethod):
    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidMethodVersionTagError)]


class DeprecateMethod(MethodCommand): ...


type MethodReferences = tuple[Capability, Mapping[UUID, Family]]
"""The capability that a method realizes, and the families that it needs."""


async def references(capability_id: UUID, command: DeclareMethod, read: Reader) -> MethodReferences:
    capability = await read.one(capabilities, capability_id)
    return capability, await read.many(families, sorted(command.needed_family_ids))


def define_method(
    command: DefineMethod, given: MethodReferences, call: Call
) -> list[MethodDefined | Advice]:
    """Define a technique that realizes a capability."""
    content, advice = _content(command)
    _require_realizable(command, given)
    defined = MethodDefined.of(command, occurred_at=call.now, method_id=call.new_id, **content)
    return [defined, *advice]


def version_method(
    method: Method, command: VersionMethod, given: MethodReferences, call: Call
) -> list[MethodVersioned | Advice]:
    """Replace every field of a method except its capability."""
    content, advice = _content(command)
    tag = STATUS.new_tag(method, command.version_tag)
    _require_realizable(command, given)
    versioned = MethodVersioned.of(command, occurred_at=call.now, version_tag=tag, **content)
    return [versioned, *advice]


def deprecate_method(
    method: Method, command: DeprecateMethod, call: Call
) -> list[MethodDeprecated]:
    """Deprecate a method, so that no practice can newly use it."""
    return [STATUS.allow(method.status, MethodDeprecated(call.now, method.id))]


def _content(command: DeclareMethod) -> tuple[dict[str, object], list[Advice]]:
    """Return the fields that an event stores in another form, and the advice on the schema."""
    ids, kinds = sorted(command.needed_family_ids), sorted(command.needed_supplies)
    if len(kinds) > MOST_SUPPLIES:
        raise InvalidMethodNeededSuppliesError(f"There are {len(kinds)} kinds.")
    refusal = InvalidMethodParametersSchemaError
    _, advice = declaration.declared_schema(command.parameters_schema, refusal)
    return {"needed_family_ids": tuple(ids), "needed_supplies": tuple(kinds)}, advice


def _require_realizable(command: DeclareMethod, given: MethodReferences) -> None:
    """Refuse a method that does not fit its capability or needs a deprecated family."""
    capability, needed = given
    declaration.require_current([capability], MethodBoundCapabilityDeprecatedError)
    if ExecutorShape.METHOD not in capability.executor_shapes:
        raise MethodCapabilityExecutorMismatchError(f"{capability.code} has only PROCEDURE.")
    declaration.require_current(needed.values(), MethodFamilyDeprecatedError)
    own, bounds = command.parameters_schema, capability.parameters_schema
    require_subset(own, bounds, MethodParametersNotSubsetError)


methods = Aggregate("Method", begin, evolve, absent=MethodNotFoundError, axes=(STATUS,))

# fmt: off
NOT_REALIZABLE = (MethodBoundCapabilityDeprecatedError, MethodCapabilityExecutorMismatchError,
    MethodFamilyDeprecatedError, MethodParametersNotSubsetError)
OPERATIONS = (
    methods.creates("POST /methods", DefineMethod, define_method, CapabilityNotFoundError,
        FamilyNotFoundError, InvalidMethodParametersSchemaError, *NOT_REALIZABLE,
        given=lambda command, read: references(command.capability_id, command, read)),
    methods.changes("POST /methods/{method_id}/version", VersionMethod, version_method,
        FamilyNotFoundError, InvalidMethodParametersSchemaError, MethodCannotVersionError,
        *NOT_REALIZABLE,
        given=lambda method, command, read: references(method.capability_id, command, read)),
    methods.changes("POST /methods/{method_id}/deprecate", DeprecateMethod, deprecate_method,
        MethodCannotDeprecateError, destructive=True),
)
# fmt: on


class ListMethods(Listing):
    """List methods, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    capability_id: UUID | None = None
    family_id: UUID | None = None
    """Only methods that need this family."""


# fmt: off
QUESTIONS = reads("/methods", methods, ListMethods, milestones=STATUS.milestones,
    facets={"family_id": lambda method: method.needed_family_ids},
    directory=DirectoryEntry(lambda it: it.name, status=lambda it: it.status))
