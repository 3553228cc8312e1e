"""Calls over HTTP to a service in this process: everything but the sockets of the client."""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import httpx2
import structlog
from cryptography.hazmat.primitives.asymmetric import rsa

from beamkeep.adapters.http_server import HttpConnection, HttpServer
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.adapters.tokens.providers import IdentityProviders, JwtProvider
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.tail import shards
from beamkeep.surfaces.http.edge import EdgeOptions
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.pages import application
from beamkeep.telemetry import Telemetry, configure_logging
from beamkeep.testing.tokens import claims, jwk, mint

from .measure import Step
from .rig import ISSUER, PATIENT, SUBJECT, Database
from .serving import AUDIENCE

RESOURCE = "http://127.0.0.1"
BODY = b'{"name":"Experimental hall, north side"}'
UNLIMITED = Limits(per_principal_rate=1e9, per_principal_burst=1e9)


class Client(asyncio.Transport):
    """The connection of a client, without a network."""

    def __init__(self, server: HttpServer, token: str) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self._token, self._answer, self._asked = token, b"", 0
        self._answered: asyncio.Future[bytes] | None = None
        self._connection = HttpConnection(server)
        self._connection.connection_made(self)

    async def ask(self, method: str, path: str, status: int, body: bytes = b"") -> bytes:
        """Send one request, and return the body of the answer."""
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {self._token}"
        if body:
            head += f"\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
            self._asked += 1
            head += f"\r\nidempotency-key: key-{self._asked}"
        self._answered, self._answer = asyncio.get_running_loop().create_future(), b""
        self._connection.data_received(head.encode() + b"\r\n\r\n" + body)
        answered = await self._answered
        assert answered.startswith(b"HTTP/1.1 %d " % status), answered
        return answered.partition(b"\r\n\r\n")[2]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take a part of an answer; the last part completes it."""
        self._answer += bytes(data)
        head, found, body = self._answer.partition(b"\r\n\r\n")
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if found and len(body) == length and self._answered:
            self._answered.set_result(self._answer)

    def is_closing(self) -> bool:
        """Return that the connection is open."""
        return False

    def close(self) -> None:
        """End the connection."""
        self._connection.connection_lost(None)


@asynccontextmanager
async def client(database: Database) -> AsyncGenerator[Client]:
    """A client of the service on one connection to this database, with log lines thrown away."""
    pool = database.pool(1, "bk_projector", **PATIENT)
    await PostgresProjections(pool).arrange(CATALOGUE.views, shards(1))
    seam, telemetry = database.seam(1), Telemetry()
    with tempfile.TemporaryDirectory() as home, Path(os.devnull).open("w") as nowhere:
        key, keys = rsa.generate_private_key(65537, 2048), Path(home) / "keys.json"
        keys.write_text(json.dumps({"keys": [jwk(key, "rsa")]}))
        now = int(time.time())
        about = claims(iss=ISSUER, sub=SUBJECT, aud=AUDIENCE, iat=now - 10, exp=now + 3600)
        provider = JwtProvider(issuer=ISSUER, audiences=(AUDIENCE,), jwks_file=keys)
        with redirect_stderr(nowhere):
            configure_logging(json=True, level="INFO")
        async with httpx2.AsyncClient() as http:
            verifier = IdentityProviders([provider], None, http, time.time, time.monotonic)
            options = EdgeOptions(RESOURCE, verifier, limits=UNLIMITED)
            edge = application(
                seam.service, options, ready=_ready, metrics=None, telemetry=telemetry
            )
            server = HttpServer(
                edge, host="127.0.0.1", port=0, deadline_seconds=30, limit_concurrency=100
            )
            made = Client(server, mint(key, body=about))
            try:
                yield made
            finally:
                made.close()
                for task in [*server.working]:
                    task.cancel()
                structlog.reset_defaults()


async def calls(asked: Client) -> dict[str, Step]:
    """The calls that are counted and profiled: one command, one get and one list."""
    made: dict[str, Any] = json.loads(await asked.ask("POST", "/zones", 201, BODY))
    zone = f"/zones/{made['zone_id']}"
    return {
        "command": lambda: asked.ask("POST", "/zones", 201, BODY),
        "get": lambda: asked.ask("GET", zone, 200),
        "list": lambda: asked.ask("GET", "/visits", 200),
    }


async def _ready() -> str | None:
    return None
