"""Administrators: who they are, and the commands that could take the last one away."""

from collections.abc import Callable
from uuid import UUID

from beamkeep.contexts.access.actor import (
    Actor,
    ActorCannotBindIdentityError,
    ActorCannotDeactivateError,
    ActorCannotForgetError,
    ActorCannotUnbindIdentityError,
    ActorIdentityAlreadyBoundError,
    BindActorIdentity,
    DeactivateActor,
    ForgetActor,
    InvalidActorIdentityError,
    Known,
    LastAdministratorError,
    UnbindActorIdentity,
    actors,
    bind_actor_identity,
    deactivate_actor,
    forget_actor,
    known,
    trimmed_login,
    unbind_actor_identity,
)
from beamkeep.contexts.access.profile import DEVELOPER, IDENTITIES, STANDINGS, Identity
from beamkeep.kernel import ActorKind, Grant, Reader, Record, replace

from .grants import POLICY_GRANTS, GrantExceedsOwnError, held, require_held
from .policy import (
    InvalidPolicyReasonError,
    Narrowing,
    Policy,
    PolicyCannotRevokeGrantError,
    RevokePolicyGrant,
    makes_administrators,
    policies,
    revoke_grant,
)
from .seeded import SURFACES


class Administrators(Record):
    """Whoever holds everything on a seeded surface, and what else makes them administrators."""

    grants: tuple[Grant, ...]
    active: frozenset[UUID]
    """Those of them who are people and not deactivated."""
    logins: tuple[Identity, ...]
    """Their logins at configured identity providers."""
    without_login: frozenset[UUID] = frozenset()
    """Who acts without a login: Developer, where the deployment is open for development."""

    def made_by(self) -> frozenset[tuple[UUID, UUID]]:
        """Every administrator who can log in, with each policy that makes them one."""
        able = self.active & (self.without_login | {login.actor_id for login in self.logins})
        pairs = ((grant.principal_id, grant.policy_id) for grant in self.grants)
        return frozenset(pair for pair in pairs if pair[0] in able)


type Removal = Callable[[Administrators], Administrators]


async def administrators(read: Reader) -> Administrators:
    """The administrators of the deployment, by what is kept beside the streams."""
    surface_ids, here = {*SURFACES.values()}, read.installation
    grants = await read.rows(POLICY_GRANTS, surface_id=surface_ids, unrestricted=True)
    ids = {grant.principal_id for grant in grants}
    standings = await read.rows(STANDINGS, principal_id=ids)
    people = {s.principal_id for s in standings if s.kind is ActorKind.HUMAN and s.barred is None}
    logins = await read.rows(IDENTITIES, actor_id=ids, issuer=here.issuers)
    developer = frozenset({DEVELOPER}) if here.open_for_development else frozenset[UUID]()
    return Administrators(grants, frozenset(people), logins, developer)


async def last_goes(removal: Removal, read: Reader) -> bool:
    """Whether a removal leaves no administrator; one who stays is held to stay."""
    found = await administrators(read)
    if not found.made_by():
        return False
    for actor_id, policy_id in sorted(removal(found).made_by()):
        # The streams first, then the rows again: whoever is there then has not moved since.
        await read.one(actors, actor_id)
        await read.one(policies, policy_id)
        if (actor_id, policy_id) in removal(await administrators(read)).made_by():
            return False
    return True


async def deactivating(actor: Actor, command: DeactivateActor, read: Reader) -> Known:
    return Known(None, frozenset(), b"", await _last(actor, _inactive(actor), read))


async def forgetting(actor: Actor, command: ForgetActor, read: Reader) -> Known:
    found = await known(actor, command, read)
    return replace(found, last_administrator=await _last(actor, _inactive(actor), read))


async def unbinding(actor: Actor, command: UnbindActorIdentity, read: Reader) -> Known:
    found, pair = await known(actor, command, read), trimmed_login(command)

    def removal(found: Administrators) -> Administrators:
        logins = tuple(i for i in found.logins if (i.issuer, i.subject) != pair)
        return replace(found, logins=logins)

    return replace(found, last_administrator=await _last(actor, removal, read))


def _inactive(actor: Actor) -> Removal:
    return lambda found: replace(found, active=found.active - {actor.id})


async def _last(actor: Actor, removal: Removal, read: Reader) -> bool:
    able = actor.active and actor.kind is ActorKind.HUMAN
    return able and await last_goes(removal, read)


async def narrowing(policy: Policy, command: RevokePolicyGrant, read: Reader) -> Narrowing:
    revoked = policy.id, command.permitted_principal_id

    def removal(found: Administrators) -> Administrators:
        grants = tuple(g for g in found.grants if (g.policy_id, g.principal_id) != revoked)
        return replace(found, grants=grants)

    return Narrowing(makes_administrators(policy) and await last_goes(removal, read))


async def binding(actor: Actor, command: BindActorIdentity, read: Reader) -> Known:
    """Refuse to let a login act as an actor that holds more than the caller."""
    if actor.id != read.principal_id:
        theirs = await read.rows(POLICY_GRANTS, principal_id=actor.id)
        require_held(theirs, await held(read))
    return await known(actor, command, read)


# fmt: off
OPERATIONS = (
    actors.changes("POST /actors/{actor_id}/deactivate", DeactivateActor, deactivate_actor,
        ActorCannotDeactivateError, LastAdministratorError, given=deactivating),
    actors.changes("POST /actors/{actor_id}/forget", ForgetActor, forget_actor,
        ActorCannotForgetError, LastAdministratorError, given=forgetting),
    actors.changes("POST /actors/{actor_id}/identities/bind", BindActorIdentity,
        bind_actor_identity, InvalidActorIdentityError, ActorCannotBindIdentityError,
        ActorIdentityAlreadyBoundError, GrantExceedsOwnError, given=binding),
    actors.changes("POST /actors/{actor_id}/identities/unbind", UnbindActorIdentity,
        unbind_actor_identity, InvalidActorIdentityError, ActorCannotUnbindIdentityError,
        LastAdministratorError, given=unbinding),
    policies.changes("POST /policies/{policy_id}/revoke-grant", RevokePolicyGrant, revoke_grant,
        InvalidPolicyReasonError, PolicyCannotRevokeGrantError, LastAdministratorError,
        given=narrowing),
)
# fmt: on
