"""Principals that call a running service."""

import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.kernel import Event, SideWrite, replace
from beamkeep.testing.appends import on_record
from beamkeep.testing.calling import Calling, SurfaceAnswer
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import DATABASES, Server
from beamkeep.testing.service import CALLERS, let_callers_in, policy

FACILITY = """
SELECT stream_id FROM bk.events
 WHERE event_type = 'FacilityRegistered' AND payload ->> 'code' = '{code}'
"""


class As:
    """One principal on one surface; remembers how far the log has come by what it wrote.

    `others` are the tokens of those who call in its place, by the name of the operation.
    """

    def __init__(
        self, calling: Calling, token: str, others: Mapping[str, str] | None = None
    ) -> None:
        self.calling, self.token, self.position_token = calling, token, "0-0"
        self.others = others or {}

    def caller_of(self, name: str) -> "As":
        """Whoever makes this call."""
        return As(self.calling, self.others.get(name, self.token))

    async def send(self, name: str, arguments: Mapping[str, Any], **options: Any) -> SurfaceAnswer:
        """Make one call, whatever comes of it."""
        token = self.others.get(name, self.token)
        answer = await self.calling.send(token, name, arguments, **options)
        self.position_token = answer.position_token or self.position_token
        return answer

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        """Make one call that must succeed, and give back its body."""
        answer = await self.send(name, arguments, **options)
        assert answer.ok, (self.calling, name, answer)
        return answer.body

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call as the machine account, and give back its body."""
        return await As(self.calling, next(iter(self.others.values())))(name, arguments)

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        """Put the first event of a stream, or a row, on record."""
        record = on_record(part)
        if owned:
            self_id = UUID((await self("get_self", {}))["actor_id"])
            record = replace(record, principal_id=self_id)
        database = DATABASES[str(self.calling.http.base_url).rstrip("/")]
        connections = database.connections()
        try:
            await PostgresEventStore(connections, database.url()).append(record)
        finally:
            await connections.close()

    async def facility(self, code: str) -> str:
        """Return the id of a facility, which the caller may not see."""
        database = DATABASES[str(self.calling.http.base_url).rstrip("/")]
        ((id,),) = database.ask(FACILITY.format(code=code))
        return str(id)

    async def once_fresh(self, name: str, arguments: Mapping[str, Any]) -> SurfaceAnswer:
        """Ask until the list has caught up, as a client does on a machine that is slow."""
        late = time.monotonic() + 60
        while True:
            answer = await self.send(name, arguments)
            if answer.status != 503 or time.monotonic() > late:
                assert answer.ok, (self.calling, name, answer)
                return answer

    async def listed(self, name: str, min_token: str, /, **filters: Any) -> list[dict[str, Any]]:
        """Every row of a list that has come as far as the token, page by page."""
        return [row async for row in self.rows(name, min_token, order="oldest", **filters)]

    async def rows(
        self, name: str, min_token: str, /, **filters: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        """The rows of such a list one by one, by default the newest first."""
        asked: dict[str, Any] = {"limit": 100, "min_token": min_token, **filters}
        while True:
            page = (await self.once_fresh(name, asked)).body
            for row in page["items"]:
                yield row
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]


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
