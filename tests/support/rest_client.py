"""The service in memory, reached over HTTP without a network."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.kernel import Catalogue, Event, Operation, SideWrite
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.routes import HttpRoute
from beamkeep.testing.appends import on_record
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import ACCOUNT, CALLERS, call, memory_service
from beamkeep.testing.web import GENEROUS, http_client, rest_application

ALLOWED = "allowed"


class RestClient:
    """Calls by name, as Ada, who may do everything a person may, unless asked otherwise."""

    def __init__(self, http: httpx2.AsyncClient, catalogue: Catalogue, store: MemoryStore) -> None:
        self.http, self.catalogue, self.store = http, catalogue, store

    async def send(
        self,
        name: str,
        arguments: Mapping[str, Any],
        token: str | None = ALLOWED,
        params: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """Make one call, whatever comes of it; `content` replaces the body."""
        row = self.catalogue.named[name]
        rest = {n: v for n, v in arguments.items() if n not in row.route.fields}
        sent = {n.replace("_", "-"): value for n, value in headers.items()}
        if token == ALLOWED:
            token = CALLERS.get(name, "ada")
        if token:
            sent["authorization"] = f"Bearer {token}"
        path = row.route.path.format(**arguments)
        if not isinstance(row, Operation):
            return await self.http.get(path, params={**rest, **(params or {})}, headers=sent)
        if content is not None:
            sent["content-type"] = "application/json"
            return await self.http.post(path, content=content, params=params, headers=sent)
        return await self.http.post(path, json=rest, params=params, headers=sent)

    @property
    def do(self) -> "RestClient":
        """What makes one call that must succeed."""
        return self

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        answer = await self.send(name, arguments, **options)
        assert answer.is_success, (name, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call as the machine account."""
        return await self(name, arguments, token=ACCOUNT)

    async def put(self, part: Event | SideWrite, *, owned: bool = False) -> None:
        """Put the first event of a stream, or a row, on record."""
        await self.store.append(on_record(part))

    async def facility(self, code: str) -> str:
        """Return the id of a facility."""
        found = await self("list_facilities", {"code": code})
        return found["items"][0]["facility_id"]


@asynccontextmanager
async def rest_client(
    limits: Limits = GENEROUS, routes: Sequence[HttpRoute] = ()
) -> AsyncGenerator[RestClient]:
    """A fresh deployment with Ada, who may do everything, and Bob, who may do nothing."""
    service, store = await memory_service()
    bob = {"name": "Bob", "identities": [{"issuer": ISSUER, "subject": "bob"}]}
    await call(service, "register_actor", bob)
    async with http_client(rest_application(service, limits, routes)) as http:
        yield RestClient(http, service.catalogue, store)
