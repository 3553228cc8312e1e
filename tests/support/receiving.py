"""A receiver on this machine, which imports nothing of the service and so starts quickly."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple


class Got(NamedTuple):
    """A request that a receiver got."""

    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def zone(self) -> str:
        """The name of the zone that the event defines."""
        return self.json["data"]["name"]


type Behaviour = Callable[[Got], Awaitable[bytes]]


def answer(status: int, body: str = "", **headers: str) -> bytes:
    """Return an answer as it is sent."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class LocalReceiver:
    """A real HTTP server that remembers what it got; it accepts everything unless set otherwise."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.behaviours: dict[str, Behaviour] = {}
        self.fallback: Behaviour | None = None
        """What answers at every other path."""
        self.connections = 0
        self._writers = set[asyncio.StreamWriter]()

    async def serve(self, port: int = 0, context: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", port, ssl=context)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    @property
    def is_busy(self) -> bool:
        """Whether a connection is open."""
        return bool(self._writers)

    def at(self, path: str) -> list[Got]:
        return [got for got in self.got if got.path == path]

    def answers(self, path: str, *statuses: int, **headers: str) -> None:
        """Answer with these statuses in turn, then with 204."""
        left = list(statuses)

        async def behave(got: Got) -> bytes:
            return answer(left.pop(0), "why", **headers) if left else answer(204)

        self.behaviours[path] = behave

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = [line.split(": ", 1) for line in head[1:] if line]
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method, path, _ = head[0].split(" ")
            got = Got(path, headers, body, method)
            self.got.append(got)
            behave = self.behaviours.get(got.path, self.fallback)
            writer.write(await behave(got) if behave else answer(204))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()
