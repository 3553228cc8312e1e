"""Calls of a running service by name, on REST and on MCP, with the same arguments and answers.

Both are plain HTTP here, because the MCP client of the SDK would hide a part of the answers.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Operation, SurfaceKind

MCP_REVISION = "2026-07-28"


class SurfaceAnswer(NamedTuple):
    """An answer, with the parts that both surfaces have."""

    status: int
    body: Any
    """None where REST has no body."""
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
        """Return the id of the surface of calls that name none."""
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
        proposal_note: str | None = None,
    ) -> SurfaceAnswer:
        """Make one call and return its answer, which may be a refusal."""


class Rest(Calling):
    """The REST surface."""

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
        proposal_note: str | None = None,
    ) -> SurfaceAnswer:
        row = CATALOGUE.named[name]
        path = row.route.path.format(**arguments)
        rest = {n: v for n, v in arguments.items() if n not in row.route.fields}
        headers = _headers(token, surface_id)
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        if proposal_note is not None:
            headers["Proposal-Note"] = quote(proposal_note)
        if isinstance(row, Operation):
            params = {"dry_run": "true"} if dry_run else None
            answer = await self.http.post(path, json=rest, params=params, headers=headers)
        else:
            answer = await self.http.get(path, params=rest, headers=headers)
        etag = answer.headers.get("etag")
        return SurfaceAnswer(
            status=answer.status_code,
            body=answer.json() if answer.content else None,
            version=int(etag.strip('"')) if etag else None,
            position_token=answer.headers.get("position-token"),
            replayed="idempotency-replayed" in answer.headers,
        )


class Mcp(Calling):
    """The MCP surface, called by its tools."""

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
        proposal_note: str | None = None,
    ) -> SurfaceAnswer:
        options = {
            "idempotency_key": idempotency_key,
            "if_match": if_match,
            "proposal_note": proposal_note,
        }
        given = {**arguments, **{n: v for n, v in options.items() if v is not None}}
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
            return SurfaceAnswer(answer.status_code, answer.json())
        return _tool_answer(answer.json()["result"])


def _tool_answer(result: Mapping[str, Any]) -> SurfaceAnswer:
    body = result["structuredContent"]
    if result.get("isError"):
        return SurfaceAnswer(body["status"], body)
    meta: Mapping[str, Any] = result.get("_meta") or {}
    return SurfaceAnswer(
        status=200,
        body=body or None,
        version=meta.get("version"),
        position_token=meta.get("position_token"),
        replayed=meta.get("replayed", False),
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
