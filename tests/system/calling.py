"""Principals that call a running service."""

from typing import NamedTuple
from uuid import UUID

from beamkeep.testing.installation import ISSUER
from beamkeep.testing.principals import As
from beamkeep.testing.server import Server
from beamkeep.testing.service import CALLERS, let_callers_in, policy


async def callers(server: Server, admin: As) -> dict[str, str]:
    """The tokens of those who call where it cannot be a person; let in if they are not yet."""
    tokens = {name: server.token(subject) for name, subject in CALLERS.items()}
    known = [await admin.calling.send(token, "list_zones", {}) for token in tokens.values()]
    if not all(answer.ok for answer in known):
        await let_callers_in(admin, ISSUER)
    return tokens


class Principal(NamedTuple):
    """Somebody with a login, who may do nothing until a policy says so."""

    id: UUID
    token: str


async def registered(server: Server, admin: As, subject: str) -> Principal:
    """Register a person with a login."""
    login = {"issuer": ISSUER, "subject": subject}
    made = await admin("register_actor", {"name": subject, "identities": [login]})
    return Principal(UUID(made["actor_id"]), server.token(subject))


async def permit(
    admin: As, principal: Principal, commands: list[str], scope: str, surface_id: str
) -> str:
    """Permit one principal some calls on one of the seeded surfaces; the policy's id."""
    allowed = policy(f"{scope} for one", surface_id, principal.id, *commands, scope=scope)
    return (await admin("define_policy", allowed))["policy_id"]
