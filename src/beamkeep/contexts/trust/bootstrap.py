"""Bootstrap: the actors, surfaces and first administrator of a new deployment."""

from collections.abc import Callable, Iterator
from uuid import UUID

from beamkeep.contexts.access.actor import (
    ActorIdentityConfirmed,
    ActorIdentityUnbound,
    BoundLogin,
    Login,
    NewLogins,
    RegisterActor,
    actors,
    login_pair,
    register_actor,
)
from beamkeep.contexts.access.profile import (
    DEVELOPER,
    IDENTITIES,
    MONITOR,
    STANDINGS,
    SYSTEM,
    digest_of,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    EVERY_COMMAND,
    ActorKind,
    Call,
    Event,
    ObjectScope,
    Outcome,
    Record,
    SideWrite,
    SurfaceKind,
)

from . import seeded
from .administrators import administrators
from .conduit import DefineConduit, define_conduit
from .policy import DefinePolicy, PolicyReferences, define_policy
from .surface import DefineSurface, Surface, define_surface
from .zone import DefineZone, define_zone

type CallFor = Callable[[UUID | None], Call]
"""Returns a call by System with this id, or with a new one, for what the call creates."""

MONITORED = frozenset({"observe_enclosure_status", "observe_supply_status"})
PAUSING = frozenset({"pause_subscription"})
CHECKING = frozenset({"record_attestation", "end_distribution_check"})
SETTLING = frozenset({"settle_dataset_external_id", "settle_edition_external_id"})


class AdministratorUnusableError(Exception):
    """The login in the BOOTSTRAP_ADMIN settings must belong to an active person, or to nobody."""


class Administrator(Record):
    """The first administrator, as the settings name the person."""

    issuer: str
    subject: str
    name: str


def foundations(call: CallFor) -> Iterator[tuple[str, Outcome]]:
    """Return what every deployment has, each with the key that records its creation."""
    for id, name in ((SYSTEM, "System"), (MONITOR, "Monitor")):
        command = RegisterActor(name=name, kind="service_account")
        yield f"actor-{name}", register_actor(command, NewLogins(), call(id))
    zones = (seeded.CLIENTS, "Clients"), (seeded.SERVICE, "Service"), (seeded.WORKERS, "Workers")
    for id, name in zones:
        yield f"zone-{name}", define_zone(DefineZone(name=name), call(id))
    entry, internal = (seeded.ENTRY, seeded.CLIENTS), (seeded.INTERNAL, seeded.WORKERS)
    for name, (id, source) in (("Entry", entry), ("Internal", internal)):
        conduit = DefineConduit(name=name, source_zone_id=source, target_zone_id=seeded.SERVICE)
        yield f"conduit-{name}", define_conduit(conduit, None, call(id))
    names = "HTTP", "MCP stdio", "MCP streamable HTTP"
    for (kind, id), name in zip(seeded.SURFACES.items(), names, strict=True):
        surface = DefineSurface(name=name, kind=kind, conduit_id=seeded.ENTRY)
        yield f"surface-{kind}", define_surface(surface, None, call(id))
    yield "policy-Monitors", _policy("Monitors", MONITOR, MONITORED, None, call(seeded.MONITORS))
    deliveries = _policy("Deliveries", SYSTEM, PAUSING, None, call(seeded.DELIVERIES))
    yield "policy-Deliveries", deliveries
    yield "policy-Checks", _policy("Checks", SYSTEM, CHECKING, None, call(seeded.CHECKS))
    minting = _policy("Minting", SYSTEM, SETTLING, None, call(seeded.MINTING))
    yield "policy-Minting", minting


def developer(call: CallFor) -> Iterator[tuple[str, Outcome]]:
    """Return the actor and the policies of a deployment that is open for development."""
    person = register_actor(RegisterActor(name="Developer"), NewLogins(), call(DEVELOPER))
    yield "actor-Developer", person
    for kind, outcome in _everything("Development", DEVELOPER, call):
        yield f"policy-Development-{kind}", outcome


async def administrator(person: Administrator, call: CallFor, read: Reader) -> list[Outcome]:
    """Return the first administrator; nothing when there is one who can log in."""
    if {access.actor_id for access in await administrators(read)} - {DEVELOPER}:
        return []
    login = Login(issuer=person.issuer, subject=person.subject)
    issuer, subject = login_pair(login)
    bound = await read.rows(IDENTITIES, issuer=issuer, subject=subject)
    if bound:
        actor_id = bound[0].actor_id
        (standing,) = await read.rows(STANDINGS, principal_id=actor_id)
        if standing.barred or standing.kind is not ActorKind.HUMAN:
            raise AdministratorUnusableError(AdministratorUnusableError.__doc__)
        settled = await _settled_logins(actor_id, (issuer, subject), call, read)
        registration = [settled] if settled else []
    else:
        command, new = RegisterActor(name=person.name, identities=(login,)), call(None)
        given = NewLogins(read.facts.login_key, permitted_everything=True)
        registration = [register_actor(command, given, new)]
        actor_id = new.new_id
    return [*registration, *(o for _, o in _everything("Administrators", actor_id, call))]


async def _settled_logins(
    actor_id: UUID, named: tuple[str, str], call: CallFor, read: Reader
) -> Outcome:
    """Return what confirms the login that the settings name and unbinds others to be confirmed.

    Otherwise the actor who bound one of the others would be an administrator too.
    """
    actor, now = await read.one(actors, actor_id), call(None).now
    key, settled = read.facts.login_key, list[Event | SideWrite]()
    for row in await read.rows(IDENTITIES, actor_id=actor_id):
        pair = row.issuer, row.subject
        login = BoundLogin(row.issuer, digest_of(key, actor_id, *pair))
        if login not in map(BoundLogin.of, actor.unconfirmed_logins):
            continue
        if pair == named:
            settled += [ActorIdentityConfirmed.of(login, occurred_at=now, actor_id=actor_id)]
        else:
            unbound = ActorIdentityUnbound.of(login, occurred_at=now, actor_id=actor_id)
            settled += [unbound, IDENTITIES.delete(*pair)]
    return settled


def internal_policy(name: str, principal_id: UUID, commands: frozenset[str], call: Call) -> Outcome:
    """Return a policy that permits one principal these commands from inside the service."""
    return _policy(name, principal_id, commands, None, call)


def _everything(
    name: str, principal_id: UUID, call: CallFor
) -> Iterator[tuple[SurfaceKind, Outcome]]:
    """Return a policy on each seeded surface that permits one principal everything."""
    for kind, id in seeded.SURFACES.items():
        surface = Surface(id, name, kind=kind, conduit_id=seeded.ENTRY)
        yield kind, _policy(name, principal_id, frozenset({EVERY_COMMAND}), surface, call(None))


def _policy(
    name: str, principal_id: UUID, commands: frozenset[str], surface: Surface | None, call: Call
) -> Outcome:
    """Return a policy that permits one principal these commands, with scope All."""
    command = DefinePolicy(
        name=name,
        conduit_id=surface.conduit_id if surface else seeded.INTERNAL,
        surface_id=surface.id if surface else None,
        permitted_principal_ids=frozenset({principal_id}),
        permitted_commands=commands,
        object_scope=ObjectScope.ALL,
    )
    return define_policy(command, PolicyReferences(surface, commands, own=None), call)
