"""Policy: principals and the commands they may call on one surface. Policies add up."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.access.actor import Actor, ActorNotFoundError, actors, administrator_lock
from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.protecting import WHOLE
from beamkeep.kernel import (
    EVERY_COMMAND,
    ActorKind,
    Aggregate,
    Allow,
    Blank,
    Call,
    Cannot,
    Command,
    DenialReason,
    Deny,
    DirectoryEntry,
    Event,
    Grant,
    Invalid,
    Listing,
    NotFound,
    ObjectScope,
    Query,
    Record,
    SideWrite,
    answers,
    authorize,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

from .conduit import ConduitNotFoundError, conduits
from .grants import (
    POLICY_GRANTS,
    GrantExceedsOwnError,
    GrantRequiresConfirmedLoginError,
    is_administrator,
    require_confirmed,
    require_held,
    with_implied,
    within_tools,
)
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
    proposable_commands: tuple[str, ...] = ()


class PolicyGrantAdded(PolicyEvent):
    permitted_principal_id: UUID


class PolicyGrantRevoked(PolicyEvent):
    permitted_principal_id: UUID
    reason: FreeText


class PolicyNotFoundError(NotFound): ...


class InvalidPolicyNameError(Blank): ...


class InvalidPolicyPermittedCommandsError(Invalid):
    """Commands must be names of commands and queries of this service, or * alone."""


class InvalidPolicyReasonError(Blank): ...


class PolicyCannotDefineError(Cannot):
    """Policy must name a surface and its conduit, or no surface and the conduit Internal."""


class PolicyCannotAddGrantError(Cannot):
    """Only an active actor that the policy does not permit yet can be added to the policy."""


class PolicyCannotRevokeGrantError(Cannot):
    """Only an actor that the policy permits can be removed from the policy."""


class Policy(Record):
    id: UUID
    name: str
    conduit_id: UUID
    surface_id: UUID | None
    permitted_principal_ids: frozenset[UUID]
    permitted_commands: frozenset[str]
    object_scope: ObjectScope
    proposable_commands: frozenset[str] = frozenset()


def begin(event: PolicyDefined) -> Policy:
    ids, names = frozenset(event.permitted_principal_ids), frozenset(event.permitted_commands)
    return Policy.of(
        event,
        id=event.policy_id,
        permitted_principal_ids=ids,
        permitted_commands=names,
        proposable_commands=frozenset(event.proposable_commands),
    )


def evolve(policy: Policy, event: PolicyGrantAdded | PolicyGrantRevoked) -> Policy:
    one, permitted = {event.permitted_principal_id}, policy.permitted_principal_ids
    changed = permitted | one if isinstance(event, PolicyGrantAdded) else permitted - one
    return replace(policy, permitted_principal_ids=changed)


def grant_to(policy: Policy, principal_id: UUID) -> Grant:
    """Return the row that permits the policy's commands to this principal."""
    return Grant.of(
        policy,
        policy_id=policy.id,
        principal_id=principal_id,
        permitted_commands=with_implied(policy.permitted_commands),
        proposable_commands=tuple(sorted(policy.proposable_commands)),
    )


def grants_of(policy: Policy) -> tuple[Grant, ...]:
    """Return the rows of the policy, one for each principal that it permits."""
    return tuple(grant_to(policy, id) for id in sorted(policy.permitted_principal_ids))


type CommandName = Annotated[str, MinLen(1), MaxLen(100)]


class DefinePolicy(Command):
    name: Annotated[Name, Trimmed(InvalidPolicyNameError)]
    conduit_id: UUID
    surface_id: UUID | None
    """Surface where the calls arrive; null for calls from inside the service."""
    permitted_principal_ids: Annotated[frozenset[UUID], MinLen(1), MaxLen(500)]
    permitted_commands: Annotated[frozenset[CommandName], MaxLen(500)]
    object_scope: ObjectScope
    proposable_commands: Annotated[frozenset[CommandName], MaxLen(500)] = frozenset()
    """Names of the operations that may be proposed, for somebody else to approve; * for all."""


class PolicyGrantCommand(Command):
    policy_id: UUID
    permitted_principal_id: UUID


class AddPolicyGrant(PolicyGrantCommand): ...


class RevokePolicyGrant(PolicyGrantCommand):
    reason: Annotated[Reason, Trimmed(InvalidPolicyReasonError)]


class PolicyReferences(Record):
    """What a new policy refers to, and the grants of the caller."""

    surface: Surface | None
    operation_names: Set[str]
    own: tuple[Grant, ...] | None
    """None while the deployment is prepared, which may define any policy."""
    proposable: Set[str] = frozenset()
    principals: tuple[Actor, ...] = ()
    held: Mapping[UUID, Sequence[Grant]] = {}
    """The grants of everybody who bound a login of a principal that is not confirmed."""


class GrantReferences(Record):
    """The actor of a new grant, and the grants of the caller."""

    actor: Actor
    own: tuple[Grant, ...]
    held: Mapping[UUID, Sequence[Grant]] = {}
    """The grants of everybody who bound a login of the actor that is not confirmed."""


async def own_grants(read: Reader) -> tuple[Grant, ...]:
    """Return the grants of the caller; a revocation before the append makes the append fail."""
    return await _held(await read.rows(POLICY_GRANTS, principal_id=read.principal_id), read)


async def grants_of_binders(of: Iterable[Actor], read: Reader) -> dict[UUID, tuple[Grant, ...]]:
    """Return the grants of everybody who bound a login of these actors that is not confirmed.

    A binder who is not active holds nothing.
    """
    ids = {login.bound_by for actor in of for login in actor.unconfirmed_logins}
    if not ids:
        return {}
    binders = await read.many(actors, ids)
    rows = await read.rows(POLICY_GRANTS, principal_id=ids)
    theirs = {id: [r for r in rows if r.principal_id == id and binders[id].active] for id in ids}
    return {id: await _held(rows, read) for id, rows in theirs.items()}


async def _held(rows: Sequence[Grant], read: Reader) -> tuple[Grant, ...]:
    """Return those of these grants of one principal that the policies confirm."""
    standings = await read.rows(STANDINGS, principal_id={row.principal_id for row in rows})
    for standing in standings:
        if standing.kind is ActorKind.AGENT:
            # What a policy permits beyond its tools an agent must not reach through somebody else.
            rows = [within_tools(row, standing.tools) for row in rows]
    # One grant of an administrator suffices; fewer streams then get in the way of the append.
    sufficient = [row for row in rows if is_administrator([row])][:1] or rows
    found = await read.many(policies, {row.policy_id for row in sufficient})
    return tuple(
        row
        for row in sufficient
        if row.principal_id in found[row.policy_id].permitted_principal_ids
    )


async def policy_references(command: DefinePolicy, read: Reader) -> PolicyReferences:
    await read.one(conduits, command.conduit_id)
    surface = await read.one(surfaces, command.surface_id) if command.surface_id else None
    found = await read.many(actors, command.permitted_principal_ids)
    principals = tuple(found.values())
    return PolicyReferences(
        surface,
        read.operation_names,
        await own_grants(read),
        proposable=read.proposable,
        principals=principals,
        held=await grants_of_binders(principals, read),
    )


async def grant_references(
    policy: Policy, command: AddPolicyGrant, read: Reader
) -> GrantReferences:
    actor = await read.one(actors, command.permitted_principal_id)
    return GrantReferences(actor, await own_grants(read), await grants_of_binders([actor], read))


def define_policy(
    command: DefinePolicy, given: PolicyReferences, call: Call
) -> list[PolicyDefined | SideWrite]:
    """Define a policy that permits principals to call commands and queries on one surface."""
    commands, proposed = command.permitted_commands, command.proposable_commands
    every = frozenset({EVERY_COMMAND})
    if not commands and not proposed:
        raise InvalidPolicyPermittedCommandsError("Name a command to permit or to let be proposed.")
    if commands != every and (unknown := commands - given.operation_names):
        raise InvalidPolicyPermittedCommandsError(f"Unknown: {', '.join(sorted(unknown))}.")
    if proposed != every and (others := proposed - given.proposable):
        detail = f"These cannot be proposed: {', '.join(sorted(others))}."
        raise InvalidPolicyPermittedCommandsError(detail)
    conduit_id = given.surface.conduit_id if given.surface else INTERNAL
    if command.conduit_id != conduit_id:
        raise PolicyCannotDefineError(f"The conduit must be {conduit_id}.")
    if proposed and command.surface_id is None:
        raise PolicyCannotDefineError("Calls from inside the service cannot be proposed.")
    defined = PolicyDefined.of(
        command,
        occurred_at=call.now,
        policy_id=call.new_id,
        permitted_principal_ids=tuple(sorted(command.permitted_principal_ids)),
        permitted_commands=tuple(sorted(commands)),
        proposable_commands=tuple(sorted(proposed)),
    )
    grants = grants_of(begin(defined))
    if given.own is not None:
        require_held(grants[:1], given.own)
    for actor in given.principals:
        require_confirmed(actor, grants[0], given.held)
    return [defined, *map(POLICY_GRANTS.insert, grants)]


def add_grant(
    policy: Policy, command: AddPolicyGrant, given: GrantReferences, call: Call
) -> list[PolicyGrantAdded | SideWrite]:
    """Add a principal to a policy."""
    actor = given.actor
    grant = grant_to(policy, actor.id)
    require_held([grant], given.own)
    if actor.id in policy.permitted_principal_ids:
        raise PolicyCannotAddGrantError(f"The policy already permits actor {actor.id}.")
    if len(policy.permitted_principal_ids) >= MOST_PRINCIPALS:
        full = f"The policy is full with {MOST_PRINCIPALS} actors; define another policy."
        raise PolicyCannotAddGrantError(full)
    if not actor.active:
        raise PolicyCannotAddGrantError(f"Actor {actor.id} is not active.")
    require_confirmed(actor, grant, given.held)
    return [PolicyGrantAdded(call.now, policy.id, actor.id), POLICY_GRANTS.insert(grant)]


def revoke_grant(
    policy: Policy, command: RevokePolicyGrant, given: bool, call: Call
) -> list[PolicyGrantRevoked | SideWrite]:
    """Remove a principal from a policy, with effect from the principal's next call."""
    actor_id = command.permitted_principal_id
    if actor_id not in policy.permitted_principal_ids:
        raise PolicyCannotRevokeGrantError(f"The policy does not permit actor {actor_id}.")
    lock = administrator_lock(actor_id, is_last=given)
    locks = [lock] if makes_administrators(policy) else []
    revoked = PolicyGrantRevoked.of(command, occurred_at=call.now)
    return [revoked, POLICY_GRANTS.delete(policy.id, actor_id), *locks]


def makes_administrators(policy: Policy) -> bool:
    """Return whether the policy permits everything on a seeded surface."""
    return is_administrator(grants_of(policy)[:1])


policies = Aggregate(
    "Policy", begin, evolve=evolve, absent=PolicyNotFoundError, snapshots_from=WHOLE
)

# fmt: off
OPERATIONS = (
    policies.creates("POST /policies", DefinePolicy, define_policy, ConduitNotFoundError,
        SurfaceNotFoundError, ActorNotFoundError, InvalidPolicyPermittedCommandsError,
        PolicyCannotDefineError, GrantExceedsOwnError, GrantRequiresConfirmedLoginError,
        given=policy_references),
    policies.changes("POST /policies/{policy_id}/add-grant", AddPolicyGrant, add_grant,
        ActorNotFoundError, PolicyCannotAddGrantError, GrantExceedsOwnError,
        GrantRequiresConfirmedLoginError, given=grant_references,
        title="Add a grant to a policy"),
)
# fmt: on


class ListPolicies(Listing):
    """List policies, newest first."""

    conduit_id: UUID | None = None
    surface_id: UUID | None = None
    permitted_principal_id: UUID | None = None


class EvaluateAuthorization(Query):
    """Show whether a principal may make or propose a call, and by which policies."""

    principal_id: UUID
    command_name: CommandName
    conduit_id: UUID
    surface_id: UUID | None = None
    """Surface where the call arrives (default: a call from inside the service)."""


class Evaluation(Record):
    decision: str
    """Allow, Propose or Deny."""
    determining_policies: tuple[UUID, ...] = ()
    object_scope: ObjectScope | None = None
    reason_code: DenialReason | None = None


async def evaluation(query: EvaluateAuthorization, read: Reader) -> Evaluation:
    if query.command_name not in read.operation_names:
        raise InvalidPolicyPermittedCommandsError(f"Unknown: {query.command_name}.")
    principal_id, conduit_id = query.principal_id, query.conduit_id
    standings = await read.rows(STANDINGS, principal_id=principal_id)
    grants = await read.rows(POLICY_GRANTS, principal_id=principal_id, conduit_id=conduit_id)
    standing = standings[0] if standings else None
    name, surface_id, proposable = query.command_name, query.surface_id, read.proposable
    # Only what an agent may call depends on how the call arrives.
    by_agent = standing is not None and standing.kind is ActorKind.AGENT
    surface = await read.one(surfaces, surface_id) if by_agent and surface_id else None
    verdict = authorize(
        standing,
        grants,
        name,
        conduit_id,
        surface_id,
        over=surface.kind if surface else None,
        proposable=name in proposable,
    )
    if isinstance(verdict, Deny):
        return Evaluation("Deny", reason_code=verdict.reason_code)
    decision = "Allow" if isinstance(verdict, Allow) else "Propose"
    return Evaluation(decision, verdict.determining_policies, verdict.object_scope)


# fmt: off
QUESTIONS = (
    *reads("/policies", policies, ListPolicies,
        milestones={"updated_at": (PolicyDefined, PolicyGrantAdded, PolicyGrantRevoked)},
        facets={"permitted_principal_id": lambda policy: policy.permitted_principal_ids},
        directory=DirectoryEntry(lambda it: it.name), version=2),
    answers("GET /authorization", EvaluateAuthorization, evaluation, Evaluation,
        InvalidPolicyPermittedCommandsError, SurfaceNotFoundError, of=actors, about="principal_id",
        title="Show whether somebody may run a command", composed_of=("Agent", "Policy")),
)
# fmt: on
