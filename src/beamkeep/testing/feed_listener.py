"""A client that follows the feed over HTTP with little work for each event."""

import asyncio
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from beamkeep.feed.cursors import PLACE, TAG_BYTES
from beamkeep.runtime.store import BEGINNING, Position

PAUSE_SECONDS = 0.1
REQUEST = (
    "GET /events HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n"
    "Authorization: Bearer {token}\r\nLast-Event-ID: {last_id}\r\n\r\n"
)
FINAL = (b'{"reason":"token"}', b'{"reason":"permission"}')
LOST = (OSError, EOFError, TimeoutError)


class FeedListener:
    """Follows events at one of several addresses, and continues by its last cursor."""

    def __init__(
        self,
        urls: Sequence[str],
        token: str,
        last_id: str,
        receive: Callable[[Position, bytes], None],
    ) -> None:
        self._urls, self._token, self._receive = urls, token, receive
        self.last_id, self.reached = last_id, BEGINNING
        self.connected, self.connections = False, 0

    async def run(self) -> None:
        """Follow until cancelled. Raise when the service no longer lets this listener in."""
        turn = 0
        while True:
            with suppress(*LOST):
                await self._follow(self._urls[turn % len(self._urls)])
            turn += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def _follow(self, url: str) -> None:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            asked = REQUEST.format(host=parts.netloc, token=self._token, last_id=self.last_id)
            writer.write(asked.encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                # Other refusals than of too many calls, or of a database that is away, are final.
                assert head.startswith((b"HTTP/1.1 429", b"HTTP/1.1 503")), head.decode()
                return
            self.connections += 1
            self.connected = True
            async for part in _parts(reader):
                for id, kind, data in _sent(part):
                    self._take(id, kind, data)
        finally:
            self.connected = False
            writer.transport.abort()

    def _take(self, id: bytes, kind: bytes, data: bytes) -> None:
        assert kind != b"end" or data not in FINAL, data.decode()
        if id:
            self.last_id, self.reached = id.decode(), position_of(id)
        if kind == b"event":
            self._receive(self.reached, data)


def position_of(cursor: bytes) -> Position:
    """Return the position in a cursor, without checking its tag."""
    return Position._make(PLACE.unpack(urlsafe_b64decode(cursor + b"==")[TAG_BYTES:])[:2])


async def _parts(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the chunks of a body, each of which has whole events."""
    while size := int(await reader.readline() or b"0", 16):
        yield (await reader.readexactly(size + 2))[:-2]


def _sent(part: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield id, kind and data of the server-sent events in a chunk."""
    for block in part.split(b"\n\n"):
        fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if line)
        if b"event" in fields:
            yield fields.get(b"id", b""), fields[b"event"], fields[b"data"]
