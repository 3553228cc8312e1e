"""A TCP proxy that loses a connection on cue."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal, Self

CHUNK = 65536

type Step = Literal["nothing", "sending", "answering"]


class Proxy:
    """Stands between a client and a server on this machine."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.away = False
        """Whether it turns every new connection away."""
        self.cuts = 0
        self._marker: bytes | None = None
        self._after: Step = "nothing"
        self._links: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def before(cls, server_port: int) -> AsyncGenerator[Self]:
        """A proxy before this server's port."""
        proxy = cls(server_port)
        server = await asyncio.start_server(proxy._accept, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        try:
            yield proxy
        finally:
            server.close()
            for link in [*proxy._links]:
                link.cancel()
            await asyncio.gather(*proxy._links, return_exceptions=True)
            await server.wait_closed()

    def cut_at(self, marker: bytes, after: Step) -> None:
        """Lose the connection that sends these bytes, after so much of it was passed on."""
        self._marker, self._after = marker, after

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        try:
            if not self.away:
                await self._link(reader, writer)
        finally:
            self._links.discard(link)
            await _close(writer)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
        lost = asyncio.Event()
        ways = [
            asyncio.create_task(self._send(reader, back, lost)),
            asyncio.create_task(self._answer(there, writer, lost)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _close(back)

    async def _send(
        self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        while chunk := await reader.read(CHUNK):
            if self._marker and self._marker in chunk:
                self._marker = None
                self.cuts += 1
                if self._after == "nothing":
                    return
                lost.set()
            back.write(chunk)
            await back.drain()
            if lost.is_set() and self._after == "sending":
                return

    async def _answer(
        self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        while (chunk := await there.read(CHUNK)) and not lost.is_set():
            writer.write(chunk)
            await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()
