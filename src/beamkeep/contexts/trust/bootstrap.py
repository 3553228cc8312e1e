"""What a fresh deployment begins with: its own actors, its topology, its first administrator."""

from collections.abc import Callable, Iterator
from uuid import UUID

from beamkeep.contexts.access.actor import Login, RegisterActor, register_actor
from beamkeep.contexts.access.profile import DEVELOPER, IDENTITIES, MONITOR, STANDINGS, SYSTEM
from beamkeep.kernel import (
    EVERY_COMMAND,
    ActorKind,
    Call,
    ObjectScope,
    Outcome,
    Reader,
    Record,
    SurfaceKind,
)

from . import seeded
from .administrators import administrators
from .conduit import DefineConduit, define_conduit
from .policy import DefinePolicy, Referred, define_policy
from .surface import DefineSurface, Surface, define_surface
from .zone import DefineZone, define_zone

type CallFor = Callable[[UUID | None], Call]
"""A call by System that takes this id, or a fresh one."""

MONITORED = frozenset({"observe_enclosure_status", "observe_supply_status"})


class AdministratorUnusableError(Exception):
    """The login in the BOOTSTRAP_ADMIN settings belongs to an actor that may not administrate."""


class Administrator(Record):
    """The person a deployment's settings name as its first administrator."""

    issuer: str
    subject: str
    name: str


def foundations(call: CallFor) -> Iterator[tuple[str, Outcome]]:
    """The actors and the topology of every deployment, each with the key it is remembered by."""
    for id, name in ((SYSTEM, "System"), (MONITOR, "Monitor")):
        command = RegisterActor(name=name, kind="service_account")
        yield f"actor-{name}", register_actor(command, b"", call(id))
    for id, name in (
        (seeded.CLIENTS, "Clients"),
        (seeded.SERVICE, "Service"),
        (seeded.WORKERS, "Workers"),
    ):
        yield f"zone-{name}", define_zone(DefineZone(name=name), call(id))
    for id, name, source in (
        (seeded.ENTRY, "Entry", seeded.CLIENTS),
        (seeded.INTERNAL, "Internal", seeded.WORKERS),
    ):
        conduit = DefineConduit(name=name, source_zone_id=source, target_zone_id=seeded.SERVICE)
        yield f"conduit-{name}", define_conduit(conduit, None, call(id))
    for (kind, id), name in zip(
        seeded.SURFACES.items(), ("HTTP", "MCP stdio", "MCP streamable HTTP"), strict=True
    ):
        surface = DefineSurface(name=name, kind=kind, conduit_id=seeded.ENTRY)
        yield f"surface-{kind}", define_surface(surface, None, call(id))
    monitors = DefinePolicy(
        name="Monitors",
        conduit_id=seeded.INTERNAL,
        surface_id=None,
        permitted_principal_ids=frozenset({MONITOR}),
        permitted_commands=MONITORED,
        object_scope=ObjectScope.ALL,
    )
    yield (
        "policy-Monitors",
        define_policy(monitors, Referred(None, MONITORED, None), call(seeded.MONITORS)),
    )


def developer(call: CallFor) -> Iterator[tuple[str, Outcome]]:
    """The actor and the policies of a service that runs open, for development only."""
    yield "actor-Developer", register_actor(RegisterActor(name="Developer"), b"", call(DEVELOPER))
    for kind, outcome in _everything("Development", DEVELOPER, call):
        yield f"policy-Development-{kind}", outcome


async def administrator(person: Administrator, call: CallFor, read: Reader) -> list[Outcome]:
    """The first administrator, if there is none who can log in."""
    if {id for id, _ in (await administrators(read)).made_by()} - {DEVELOPER}:
        return []
    bound = await read.rows(IDENTITIES, issuer=person.issuer, subject=person.subject)
    if bound:
        actor_id, registration = bound[0].actor_id, []
        (standing,) = await read.rows(STANDINGS, principal_id=actor_id)
        if standing.barred or standing.kind is not ActorKind.HUMAN:
            raise AdministratorUnusableError(AdministratorUnusableError.__doc__)
    else:
        new = call(None)
        login = Login(issuer=person.issuer, subject=person.subject)
        command = RegisterActor(name=person.name, identities=(login,))
        actor_id, registration = (
            new.new_id,
            [register_actor(command, read.installation.login_key, new)],
        )
    return [*registration, *(o for _, o in _everything("Administrators", actor_id, call))]


def _everything(
    name: str, principal_id: UUID, call: CallFor
) -> Iterator[tuple[SurfaceKind, Outcome]]:
    """A policy on each seeded surface that permits one principal everything."""
    for kind, surface_id in seeded.SURFACES.items():
        command = DefinePolicy(
            name=name,
            conduit_id=seeded.ENTRY,
            surface_id=surface_id,
            permitted_principal_ids=frozenset({principal_id}),
            permitted_commands=frozenset({EVERY_COMMAND}),
            object_scope=ObjectScope.ALL,
        )
        surface = Surface(surface_id, name, kind, seeded.ENTRY)
        yield kind, define_policy(command, Referred(surface, frozenset(), None), call(None))
