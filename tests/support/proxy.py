"""A TCP proxy that loses, delays, swallows and refuses on cue."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Literal, Self

CHUNK = 65536

type Step = Literal["nothing", "sending", "answering"]
"""How much is passed on of what a cut loses: nothing, what was sent, what was sent and answered."""


class Link:
    """One connection that goes through the proxy."""

    def __init__(self, silent: bool) -> None:
        self.lost = False
        self.silent = silent
        self.counted = False


class Proxy:
    """Stands between a client and a server on this machine."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.away = False
        """Whether it turns every new connection away."""
        self.latency = 0.0
        """How long everything takes on its way to the server."""
        self.cuts = 0
        self.counting: bytes | None = None
        """What a connection has sent that is counted."""
        self._marker: bytes | None = None
        self._leaves = False
        self._after: Step | Literal["silence"] = "nothing"
        self._links: dict[asyncio.Task[None], Link] = {}
        self._speaking = asyncio.Event()
        self._speaking.set()

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
            proxy.cut()
            await asyncio.gather(*proxy._links, return_exceptions=True)
            await server.wait_closed()

    @property
    def counted(self) -> int:
        """Return how many connections there are that have sent what is counted."""
        return sum(link.counted for link in self._links.values())

    def cut_at(self, marker: bytes, after: Step, leave: bool = False) -> None:
        """Lose the connection that sends these bytes, after so much of it was passed on.

        With `leave`, lose the others too, and turn new ones away from then on.
        """
        self._marker, self._after, self._leaves = marker, after, leave

    def cut(self) -> None:
        """Lose every connection there is."""
        for task in [*self._links]:
            task.cancel()

    def fall_silent_at(self, marker: bytes) -> None:
        """Fall silent as soon as these bytes are sent."""
        self._marker, self._after = marker, "silence"

    def fall_silent(self) -> None:
        """Swallow whatever comes, and let neither side know that the other cannot be reached."""
        self._speaking.clear()
        for link in self._links.values():
            link.silent = True

    def speak(self) -> None:
        """Let new connections through; those that were silent stay so until the client ends them.

        Only now can the server learn that a client has ended one.
        """
        self._speaking.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        link = self._links[task] = Link(silent=not self._speaking.is_set())
        try:
            if link.silent:
                while await reader.read(CHUNK):
                    pass
            elif not self.away:
                await self._connect(link, reader, writer)
        finally:
            del self._links[task]
            await _close(writer)

    async def _connect(
        self, link: Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
        except ConnectionRefusedError:
            return
        ways = [
            asyncio.create_task(self._send(link, reader, back)),
            asyncio.create_task(self._answer(link, there, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _close(back)

    async def _send(
        self, link: Link, reader: asyncio.StreamReader, back: asyncio.StreamWriter
    ) -> None:
        while chunk := await reader.read(CHUNK):
            link.counted |= self.counting is not None and self.counting in chunk
            if self.latency:
                await asyncio.sleep(self.latency)
            if not link.silent and self._marker and self._marker in chunk:
                self._marker = None
                if self._leaves:
                    self._leave(link)
                self.cuts += self._after != "silence"
                match self._after:
                    case "nothing":
                        return
                    case "silence":
                        self.fall_silent()
                    case "sending" | "answering":
                        link.lost = True
            if link.silent:
                continue
            back.write(chunk)
            await back.drain()
            if link.lost and self._after == "sending":
                return
        if link.silent:
            await self._speaking.wait()

    def _leave(self, last: Link) -> None:
        self.away = True
        for task, link in self._links.items():
            if link is not last:
                task.cancel()

    async def _answer(
        self, link: Link, there: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while (chunk := await there.read(CHUNK)) and not link.lost:
            if not link.silent:
                writer.write(chunk)
                await writer.drain()
        if link.silent:
            await asyncio.Event().wait()


async def _close(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.close()
        await writer.wait_closed()
