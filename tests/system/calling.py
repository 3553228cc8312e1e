"""Calls of a running service by name, on REST and on MCP, so that a test can make the same on both.

Both are plain HTTP here: what the SDK's client would hide is part of what is compared.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import httpx2
from tests.support.appends import append, at
from tests.support.examples import CALLERS, let_callers_in
from tests.support.server import DATABASES, ISSUER, Server

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Event, Operation, SurfaceKind

MCP_REVISION = "2026-07-28"


class Answer(NamedTuple):
    """What was answered, as far as both surfaces say it."""

    status: int
    body: Any
    """Nothing where REST has no body."""
    version: int | None = None
    position_token: str | None = None
    replayed: bool = False

    @property
    def ok(self) -> bool:
        return self.status < 300


class Calling(ABC):
    """One surface of a running service."""

    kind: SurfaceKind

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    def __repr__(self) -> str:
        return self.kind.name

    @property
    def surface_id(self) -> str:
        """The surface that calls arrive at when they name none."""
        return str(seeded.SURFACES[self.kind])

    @abstractmethod
    async def send(
        self,
        token: str | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        if_match: int | None = None,
        dry_run: bool = False,
        surface_id: str | None = None,
    ) -> Answer:
        """Make one call, whatever comes of it."""


class Rest(Calling):
    """The service as REST clients see it."""

    kind = SurfaceKind.HTTP

    async def send(
        self,
        token: str | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        if_match: int | None = None,
        dry_run: bool = False,
        surface_id: str | None = None,
    ) -> Answer:
        row = CATALOGUE.named[name]
        path = row.route.path.format(**arguments)
        rest = {n: v for n, v in arguments.items() if n not in row.route.fields}
        headers = _headers(token, surface_id)
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        if isinstance(row, Operation):
            params = {"dry_run": "true"} if dry_run else None
            answer = await self.http.post(path, json=rest, params=params, headers=headers)
        else:
            answer = await self.http.get(path, params=rest, headers=headers)
        etag = answer.headers.get("etag")
        return Answer(
            answer.status_code,
            answer.json() if answer.content else None,
            int(etag.strip('"')) if etag else None,
            answer.headers.get("position-token"),
            "idempotency-replayed" in answer.headers,
        )


class Mcp(Calling):
    """The service as MCP clients see it, by the answers of its tools."""

    kind = SurfaceKind.MCP_STREAMABLE_HTTP

    async def send(
        self,
        token: str | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        if_match: int | None = None,
        dry_run: bool = False,
        surface_id: str | None = None,
    ) -> Answer:
        beside = {"idempotency_key": idempotency_key, "if_match": if_match}
        given = {**arguments, **{n: v for n, v in beside.items() if v is not None}}
        if dry_run:
            given["dry_run"] = True
        answer = await self.http.post(
            "/mcp",
            json=_message("tools/call", name=name, arguments=given),
            headers={
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": MCP_REVISION,
                "Mcp-Method": "tools/call",
                "Mcp-Name": name,
                **_headers(token, surface_id),
            },
        )
        if not answer.is_success:
            return Answer(answer.status_code, answer.json())
        return _told(answer.json()["result"])


def _told(result: Mapping[str, Any]) -> Answer:
    body = result["structuredContent"]
    if result.get("isError"):
        return Answer(body["status"], body)
    meta: Mapping[str, Any] = result.get("_meta") or {}
    return Answer(
        200,
        body or None,
        meta.get("version"),
        meta.get("position_token"),
        meta.get("replayed", False),
    )


def _message(method: str, **params: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def _headers(token: str | None, surface_id: str | None) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return headers | ({"X-Surface-Id": surface_id} if surface_id else {})


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

    async def send(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Answer:
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

    async def put(self, event: Event) -> None:
        """Put the first event of a stream on record."""
        database = DATABASES[str(self.calling.http.base_url).rstrip("/")]
        connections = database.connections()
        try:
            await PostgresEventStore(connections, database.url()).append(append(at(1, event)))
        finally:
            await connections.close()

    async def _once_fresh(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Ask until the list has caught up, as a client does on a machine that is slow."""
        late = time.monotonic() + 60
        while True:
            answer = await self.send(name, arguments)
            if answer.status != 503 or time.monotonic() > late:
                assert answer.ok, (self.calling, name, answer)
                return answer.body

    async def listed(self, name: str, min_token: str, **filters: Any) -> list[dict[str, Any]]:
        """Every row of a list that has come as far as the token, page by page."""
        rows: list[dict[str, Any]] = []
        asked: dict[str, Any] = {"limit": 100, "min_token": min_token, **filters}
        while True:
            page = await self._once_fresh(name, asked)
            rows += page["items"]
            if page["next_cursor"] is None:
                return rows
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
    made = await admin(
        "define_policy",
        {
            "name": f"{scope} for one",
            "conduit_id": str(seeded.ENTRY),
            "surface_id": surface_id,
            "permitted_principal_ids": [str(principal.id)],
            "permitted_commands": commands,
            "object_scope": scope,
        },
    )
    return made["policy_id"]
