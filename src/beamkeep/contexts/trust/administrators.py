"""Administrators: who they are, and the commands that may remove one."""

from collections.abc import Callable
from uuid import UUID

from beamkeep.contexts.access import actor
from beamkeep.contexts.access.actor import (
    Actor,
    ActorDetails,
    NewLogins,
    RegisterActor,
    actor_details,
    actors,
    login_pair,
)
from beamkeep.contexts.access.profile import DEVELOPER, IDENTITIES, STANDINGS
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import ActorKind, Record, SurfaceKind, replace

from . import policy
from .grants import POLICY_GRANTS, GrantExceedsOwnError, is_administrator, require_held
from .policy import Policy, makes_administrators, own_grants, policies
from .seeded import SURFACES


class AdministratorAccess(Record):
    """A policy and a login that together make an active person an administrator."""

    actor_id: UUID
    policy_id: UUID
    login: tuple[str, str] | None
    """None for Developer, who needs no login where the deployment is open for development."""


async def administrators(read: Reader) -> list[AdministratorAccess]:
    """Return every administrator who can log in, once for each policy and each login.

    People log in on the HTTP surface; a permission on another one lets nobody in who is locked out.
    """
    here, surface_id = read.facts, SURFACES[SurfaceKind.HTTP]
    grants = await read.rows(POLICY_GRANTS, surface_id=surface_id, unrestricted=True)
    ids = {grant.principal_id for grant in grants}
    standings = await read.rows(STANDINGS, principal_id=ids)
    people = {s.principal_id for s in standings if s.kind is ActorKind.HUMAN and s.barred is None}
    rows = await read.rows(IDENTITIES, actor_id=ids, issuer=here.issuers)
    logins: list[tuple[UUID, tuple[str, str] | None]]
    logins = [(row.actor_id, (row.issuer, row.subject)) for row in rows]
    if here.open_for_development:
        logins.append((DEVELOPER, None))
    return [
        AdministratorAccess(actor_id, grant.policy_id, login)
        for actor_id, login in logins
        for grant in grants
        if grant.principal_id == actor_id and actor_id in people
    ]


async def none_stays(lost: Callable[[AdministratorAccess], bool], read: Reader) -> bool:
    """Return whether there are administrators now and there are none without the lost access.

    The streams of one administrator who stays are read. The append checks their versions, so that
    it fails when this administrator is removed at the same time.
    """
    found = await administrators(read)
    for access in found:
        if lost(access):
            continue
        # The rows are read again after the streams: their versions then belong to these rows.
        await read.one(actors, access.actor_id)
        await read.one(policies, access.policy_id)
        if access in await administrators(read):
            return False
    return bool(found)


type ActorRemoval = actor.DeactivateActor | actor.ForgetActor | actor.UnbindActorIdentity


async def actor_removal(removed: Actor, command: ActorRemoval, read: Reader) -> ActorDetails:
    """Return the details of an actor that loses a login, or all access."""
    # A deactivation needs no personal data.
    unneeded = isinstance(command, actor.DeactivateActor)
    details = ActorDetails() if unneeded else await actor_details(removed, command, read)
    if isinstance(command, actor.UnbindActorIdentity) and removed.id != read.principal_id:
        details = replace(details, permitted_everything=await permitted_everything(read))
    login = login_pair(command) if isinstance(command, actor.UnbindActorIdentity) else None

    def lost(access: AdministratorAccess) -> bool:
        return access.actor_id == removed.id and login in (None, access.login)

    # An actor who is not an administrator now is checked too: a grant may be added meanwhile.
    possible = removed.active and removed.kind is ActorKind.HUMAN
    return replace(details, last_administrator=possible and await none_stays(lost, read))


async def last_administrator_revoked(
    changed: Policy, command: policy.RevokePolicyGrant, read: Reader
) -> bool:
    revoked = changed.id, command.permitted_principal_id

    def lost(access: AdministratorAccess) -> bool:
        return (access.policy_id, access.actor_id) == revoked

    return makes_administrators(changed) and await none_stays(lost, read)


async def login_target(
    target: Actor, command: actor.BindActorIdentity, read: Reader
) -> ActorDetails:
    """Return the details of an actor; raise when the actor holds more than the caller."""
    details = await actor_details(target, command, read)
    if target.id == read.principal_id:
        return details
    own = await own_grants(read)
    require_held(await read.rows(POLICY_GRANTS, principal_id=target.id), own)
    return replace(details, permitted_everything=is_administrator(own))


async def confirmed_target(
    target: Actor, command: actor.ConfirmActorIdentity, read: Reader
) -> ActorDetails:
    """Return the details of an actor whose login is confirmed."""
    details = await actor_details(target, command, read)
    return replace(details, permitted_everything=await permitted_everything(read))


async def new_logins(command: RegisterActor, read: Reader) -> NewLogins:
    """Return what the logins of a new actor need."""
    key = read.facts.login_key
    # Without logins nobody can call as the actor, no matter who registers it.
    everything = bool(command.identities) and await permitted_everything(read)
    return NewLogins(key, permitted_everything=everything)


async def permitted_everything(read: Reader) -> bool:
    """Return whether the caller is permitted everything on a seeded surface."""
    return is_administrator(await own_grants(read))


# fmt: off
OPERATIONS = (
    actors.creates("POST /actors", RegisterActor, actor.register_actor,
        actor.InvalidActorIdentityError, actor.ActorIdentityAlreadyBoundError, given=new_logins),
    actors.changes("POST /actors/{actor_id}/deactivate", actor.DeactivateActor,
        actor.deactivate_actor, actor.ActorCannotDeactivateError, actor.LastAdministratorError,
        given=actor_removal, destructive=True),
    actors.changes("POST /actors/{actor_id}/forget", actor.ForgetActor, actor.forget_actor,
        actor.ActorCannotForgetError, actor.LastAdministratorError, given=actor_removal,
        destructive=True, title="Erase the profile of an actor"),
    actors.changes("POST /actors/{actor_id}/identities/bind", actor.BindActorIdentity,
        actor.bind_actor_identity, actor.ActorCannotBindIdentityError,
        actor.ActorIdentityAlreadyBoundError, actor.AdministratorRequiredError,
        GrantExceedsOwnError, given=login_target),
    actors.changes("POST /actors/{actor_id}/identities/confirm", actor.ConfirmActorIdentity,
        actor.confirm_actor_identity, actor.ActorCannotConfirmIdentityError,
        actor.AdministratorRequiredError, given=confirmed_target),
    actors.changes("POST /actors/{actor_id}/identities/unbind", actor.UnbindActorIdentity,
        actor.unbind_actor_identity, actor.ActorCannotUnbindIdentityError,
        actor.AdministratorRequiredError, actor.LastAdministratorError, given=actor_removal,
        destructive=True),
    policies.changes("POST /policies/{policy_id}/revoke-grant", policy.RevokePolicyGrant,
        policy.revoke_grant, policy.PolicyCannotRevokeGrantError, actor.LastAdministratorError,
        given=last_administrator_revoked, destructive=True, title="Revoke a grant of a policy"),
)
# fmt: on
