"""Policy: one allow-list for one conduit and surface. Policies add up."""

from collections.abc import Set
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.access.actor import (
    ADMINISTRATORS,
    Actor,
    ActorNotFoundError,
    actors,
    last_administrator,
)
from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.kernel import (
    EVERY_COMMAND,
    Aggregate,
    Allow,
    Call,
    Cannot,
    Command,
    DenialReason,
    Event,
    Grant,
    Invalid,
    Listing,
    Lock,
    NotFound,
    ObjectScope,
    Query,
    Reader,
    Record,
    SideWrite,
    answers,
    authorize,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed

from .conduit import ConduitNotFoundError, conduits
from .grants import POLICY_GRANTS, GrantExceedsOwnError, held, is_administrator, require_held
from .seeded import INTERNAL
from .surface import Surface, SurfaceNotFoundError, surfaces

MOST_PRINCIPALS = 5000


# Events are stored for ever: add a field with a default; never rename or drop one.
class PolicyEvent(Event):
    policy_id: UUID


class PolicyDefined(PolicyEvent):
    name: str
    conduit_id: UUID
    surface_id: UUID | None
    permitted_principal_ids: tuple[UUID, ...]
    permitted_commands: tuple[str, ...]
    object_scope: ObjectScope


class PolicyGrantAdded(PolicyEvent):
    permitted_principal_id: UUID


class PolicyGrantRevoked(PolicyEvent):
    permitted_principal_id: UUID
    reason: FreeText


class PolicyNotFoundError(NotFound):
    """The policy does not exist."""


class InvalidPolicyNameError(Invalid):
    """The policy's name is not usable."""


class InvalidPolicyPermittedCommandsError(Invalid):
    """A policy names commands and queries this service knows, or * alone."""


class InvalidPolicyReasonError(Invalid):
    """The reason is not usable."""


class PolicyCannotDefineError(Cannot):
    """The policy's conduit and surface do not belong together."""


class PolicyCannotAddGrantError(Cannot):
    """The principal cannot be added to the policy."""


class PolicyCannotRevokeGrantError(Cannot):
    """The policy does not permit this principal, so there is nothing to revoke."""


class Policy(Record):
    id: UUID
    name: str
    conduit_id: UUID
    surface_id: UUID | None
    permitted_principal_ids: frozenset[UUID]
    permitted_commands: frozenset[str]
    object_scope: ObjectScope


def begin(event: PolicyDefined) -> Policy:
    return Policy(
        event.policy_id,
        event.name,
        event.conduit_id,
        event.surface_id,
        frozenset(event.permitted_principal_ids),
        frozenset(event.permitted_commands),
        event.object_scope,
    )


def evolve(policy: Policy, event: PolicyGrantAdded | PolicyGrantRevoked) -> Policy:
    one, permitted = {event.permitted_principal_id}, policy.permitted_principal_ids
    match event:
        case PolicyGrantAdded():
            return replace(policy, permitted_principal_ids=permitted | one)
        case PolicyGrantRevoked():
            return replace(policy, permitted_principal_ids=permitted - one)


def grant_to(policy: Policy, principal_id: UUID) -> Grant:
    """The row by which the policy is found when this principal calls."""
    return Grant(
        policy.id,
        principal_id,
        policy.conduit_id,
        policy.surface_id,
        tuple(sorted(policy.permitted_commands)),
        policy.object_scope,
    )


def grants_of(policy: Policy) -> tuple[Grant, ...]:
    """The rows by which the policy is found, one for each principal it permits."""
    return tuple(grant_to(policy, id) for id in sorted(policy.permitted_principal_ids))


class DefinePolicy(Command):
    name: Name
    conduit_id: UUID
    surface_id: UUID | None
    """Null permits calls from inside the service only."""
    permitted_principal_ids: Annotated[frozenset[UUID], MinLen(1), MaxLen(500)]
    permitted_commands: Annotated[
        frozenset[Annotated[str, MinLen(1), MaxLen(100)]], MinLen(1), MaxLen(500)
    ]
    object_scope: ObjectScope


class PolicyCommand(Command):
    policy_id: UUID


class AddPolicyGrant(PolicyCommand):
    permitted_principal_id: UUID


class RevokePolicyGrant(PolicyCommand):
    permitted_principal_id: UUID
    reason: Reason


class Referred(Record):
    """What a new policy refers to."""

    surface: Surface | None
    operation_names: Set[str]
    own: tuple[Grant, ...] | None
    """What the caller holds; none where the deployment prepares itself, which may define any."""


class Widening(Record):
    """Who is permitted more, and what the caller holds."""

    actor: Actor
    own: tuple[Grant, ...]


class Narrowing(Record):
    """What a revocation takes away beside the grant."""

    last_administrator: bool


async def referred(command: DefinePolicy, read: Reader) -> Referred:
    await read.one(conduits, command.conduit_id)
    surface = await read.one(surfaces, command.surface_id) if command.surface_id else None
    await read.many(actors, command.permitted_principal_ids)
    return Referred(surface, read.operation_names, await held(read))


async def widening(policy: Policy, command: AddPolicyGrant, read: Reader) -> Widening:
    return Widening(await read.one(actors, command.permitted_principal_id), await held(read))


def define_policy(
    command: DefinePolicy, given: Referred, call: Call
) -> list[PolicyDefined | SideWrite]:
    """Permit some principals some commands and queries on one surface."""
    name = trimmed(command.name, InvalidPolicyNameError)
    commands = command.permitted_commands
    if commands != frozenset({EVERY_COMMAND}) and (unknown := commands - given.operation_names):
        raise InvalidPolicyPermittedCommandsError(f"Not known: {', '.join(sorted(unknown))}.")
    if given.surface is None and command.conduit_id != INTERNAL:
        raise PolicyCannotDefineError("Without a surface the conduit must be Internal.")
    if given.surface is not None and given.surface.conduit_id != command.conduit_id:
        raise PolicyCannotDefineError(f"The surface is on conduit {given.surface.conduit_id}.")
    defined = PolicyDefined(
        call.now,
        call.new_id,
        name,
        command.conduit_id,
        command.surface_id,
        tuple(sorted(command.permitted_principal_ids)),
        tuple(sorted(commands)),
        command.object_scope,
    )
    grants = grants_of(begin(defined))
    if given.own is not None:
        require_held(grants[:1], given.own)
    return [defined, *map(POLICY_GRANTS.insert, grants)]


def add_grant(
    policy: Policy, command: AddPolicyGrant, given: Widening, call: Call
) -> list[PolicyGrantAdded | SideWrite]:
    """Permit one more principal what the policy permits."""
    actor = given.actor
    grant = grant_to(policy, actor.id)
    require_held([grant], given.own)
    if actor.id in policy.permitted_principal_ids:
        raise PolicyCannotAddGrantError("The policy permits it already.")
    if len(policy.permitted_principal_ids) >= MOST_PRINCIPALS:
        raise PolicyCannotAddGrantError(f"The policy is full: it permits {MOST_PRINCIPALS}.")
    if not actor.active:
        raise PolicyCannotAddGrantError("The actor is not active.")
    return [PolicyGrantAdded(call.now, policy.id, actor.id), POLICY_GRANTS.insert(grant)]


def revoke_grant(
    policy: Policy, command: RevokePolicyGrant, given: Narrowing, call: Call
) -> list[PolicyGrantRevoked | SideWrite]:
    """Take from one principal what the policy permits; its next call is denied."""
    reason = trimmed(command.reason, InvalidPolicyReasonError)
    if command.permitted_principal_id not in policy.permitted_principal_ids:
        raise PolicyCannotRevokeGrantError
    if given.last_administrator:
        raise last_administrator(command.permitted_principal_id)
    return [
        PolicyGrantRevoked(call.now, policy.id, command.permitted_principal_id, reason),
        POLICY_GRANTS.delete(policy.id, command.permitted_principal_id),
        *([Lock(ADMINISTRATORS)] if makes_administrators(policy) else []),
    ]


def makes_administrators(policy: Policy) -> bool:
    """Whether it permits everything on a seeded surface."""
    return is_administrator(grants_of(policy)[:1])


policies = Aggregate("Policy", begin, evolve, PolicyNotFoundError)

# fmt: off
OPERATIONS = (
    policies.creates("POST /policies", DefinePolicy, define_policy, ConduitNotFoundError,
        SurfaceNotFoundError, ActorNotFoundError, InvalidPolicyNameError,
        InvalidPolicyPermittedCommandsError, PolicyCannotDefineError, GrantExceedsOwnError,
        given=referred),
    policies.changes("POST /policies/{policy_id}/add-grant", AddPolicyGrant, add_grant,
        ActorNotFoundError, PolicyCannotAddGrantError, GrantExceedsOwnError, given=widening),
)
# fmt: on


class ListPolicies(Listing):
    """List policies, by age."""

    conduit_id: UUID | None = None
    surface_id: UUID | None = None
    permitted_principal_id: UUID | None = None


class EvaluateAuthorization(Query):
    """Say whether a principal may make a call, and by which policies; nothing is recorded."""

    principal_id: UUID
    command_name: Annotated[str, MinLen(1), MaxLen(100)]
    conduit_id: UUID
    surface_id: UUID | None = None
    """Left out for a call from inside the service."""


class Evaluation(Record):
    decision: str
    determining_policies: tuple[UUID, ...] = ()
    object_scope: ObjectScope | None = None
    reason_code: DenialReason | None = None


async def evaluation(query: EvaluateAuthorization, read: Reader) -> Evaluation:
    if query.command_name not in read.operation_names:
        raise InvalidPolicyPermittedCommandsError(f"Not known: {query.command_name}.")
    standings = await read.rows(STANDINGS, principal_id=query.principal_id)
    grants = await read.rows(
        POLICY_GRANTS, principal_id=query.principal_id, conduit_id=query.conduit_id
    )
    verdict = authorize(
        standings[0] if standings else None,
        grants,
        query.command_name,
        query.conduit_id,
        query.surface_id,
    )
    if isinstance(verdict, Allow):
        return Evaluation("Allow", verdict.determining_policies, verdict.object_scope)
    return Evaluation("Deny", reason_code=verdict.reason_code)


QUESTIONS = (
    *reads(
        "/policies",
        policies,
        ListPolicies,
        milestones={"updated_at": (PolicyDefined, PolicyGrantAdded, PolicyGrantRevoked)},
        facets={"permitted_principal_id": lambda policy: policy.permitted_principal_ids},
    ),
    answers(
        "GET /authorization",
        EvaluateAuthorization,
        evaluation,
        Evaluation,
        InvalidPolicyPermittedCommandsError,
        of=actors,
        about="principal_id",
    ),
)
