"""A real `beamkeep serve` with a token for it, and a client that keeps its connections busy."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from cryptography.hazmat.primitives.asymmetric import rsa

from beamkeep.testing.tokens import claims, jwk, mint

from .rig import ISSUER, SUBJECT, Database

AUDIENCE = "https://beamkeep.test"
STARTING = 120.0


class Server:
    """One process that answers over HTTP."""

    def __init__(self, pid: int, port: int, token: str) -> None:
        self.pid, self.port, self.token = pid, port, token
        self.url = f"http://127.0.0.1:{port}"

    def request(self, method: str, path: str, body: bytes = b"", key: str | None = None) -> bytes:
        """A request as it goes over the wire."""
        head = [
            f"{method} {path} HTTP/1.1",
            f"host: 127.0.0.1:{self.port}",
            f"authorization: Bearer {self.token}",
        ]
        if body:
            head += ["content-type: application/json", f"content-length: {len(body)}"]
        if key:
            head.append(f"idempotency-key: {key}")
        return "\r\n".join([*head, "", ""]).encode() + body


@asynccontextmanager
async def serving(database: Database, project: bool = False) -> AsyncGenerator[Server]:
    """Run `beamkeep serve` with every limit on the pace out of the way."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        key = rsa.generate_private_key(65537, 2048)
        (home / "keys.json").write_text(json.dumps({"keys": [jwk(key, "rsa")]}))
        now = int(time.time())
        about = claims(iss=ISSUER, sub=SUBJECT, aud=AUDIENCE, iat=now - 10, exp=now + 3600)
        port = _free_port()
        provider = {"issuer": ISSUER, "audiences": [AUDIENCE], "jwks_file": f"{home}/keys.json"}
        environment = {
            "DATABASE_URL": database.url(),
            "PROJECTOR_DATABASE_URL": database.url("bk_projector"),
            "IDENTITY_PROVIDERS": json.dumps([{"kind": "jwt", **provider}]),
            "PORT": str(port),
            "METRICS_PORT": str(port),
            "PROJECT_IN_SERVE": str(project).lower(),
            "PER_PRINCIPAL_RATE": "1000000000",
            "PER_PRINCIPAL_BURST": "1000000000",
            "CONCURRENT_PER_PRINCIPAL": "1000",
        }
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "beamkeep", "serve"],
                cwd=home,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
            )
            try:
                server = Server(process.pid, port, mint(key, body=about))
                await _until_ready(server, process, home / "log")
                yield server
            finally:
                process.terminate()
                process.wait(STARTING)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def _until_ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline and process.poll() is None:
        await asyncio.sleep(0.1)
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        except OSError:
            continue
        writer.write(server.request("GET", "/ready"))
        answer = await reader.readline()
        writer.close()
        if b" 200 " in answer:
            return
    raise RuntimeError(f"beamkeep serve did not start:\n{log.read_text()[-2000:]}")


class Requests:
    """A side that sends one request after another on each of its connections."""

    def __init__(self, server: Server, count: int, status: int, next: Callable[[], bytes]) -> None:
        self.pid = server.pid
        self._port, self._count, self._next = server.port, count, next
        self._expected = b"HTTP/1.1 %d " % status
        self._lines: list[_Line] = []

    async def prepare(self) -> None:
        """Open the connections, the first time or where the server closed an idle one."""
        loop = asyncio.get_running_loop()
        self._lines = [line for line in self._lines if line.is_open]
        while len(self._lines) < self._count:
            line = _Line(self._next, self._expected)
            await loop.create_connection(lambda line=line: line, "127.0.0.1", self._port)
            self._lines.append(line)

    async def run(self, seconds: float) -> int:
        """Send until the time is over, and wait for the last answers."""
        # Servers of earlier releases close a connection that was idle while another side worked.
        await self.prepare()
        end = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(line.busy_until(end) for line in self._lines)))


class _Line(asyncio.Protocol):
    """One connection: each answer is checked and brings forth the next request."""

    def __init__(self, next: Callable[[], bytes], expected: bytes) -> None:
        self._next, self._expected = next, expected
        self._end, self._done, self._received = 0.0, 0, b""
        self.is_open = True
        self._finished: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def busy_until(self, end: float) -> asyncio.Future[int]:
        """Send requests until then; the answer is how many were answered."""
        self._end, self._done = end, 0
        self._finished = asyncio.get_running_loop().create_future()
        self._transport.write(self._next())
        return self._finished

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        if not head.startswith(self._expected):
            self._fail(self._received)
            return
        self._received = b""
        self._done += 1
        if time.perf_counter() < self._end:
            self._transport.write(self._next())
        elif self._finished:
            self._finished.set_result(self._done)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._fail(b"the connection was closed")

    def _fail(self, said: bytes) -> None:
        if self._finished and not self._finished.done():
            self._finished.set_exception(RuntimeError(said.decode("latin-1")))


def _length(head: bytes) -> int:
    _, found, rest = head.partition(b"content-length: ")
    return int(rest.partition(b"\r\n")[0]) if found else 0
