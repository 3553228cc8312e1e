"""HTTP requests and responses."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from starlette.types import Receive, Scope
from uuid_utils.compat import uuid7

from beamkeep.contexts.seams.addresses import network_of
from beamkeep.kernel import Refusal
from beamkeep.runtime.admission import Admitted, Caller

from . import refusals
from .deadlines import Deadline
from .limits import Limits, Slots

type Headers = Mapping[bytes, bytes]

JSON: Headers = {b"content-type": b"application/json"}


class HttpRequest:
    """One request, with everything the edge has found out about it."""

    values: Mapping[str, str]
    """The values of the placeholders in the path."""
    caller: Caller
    admitted: Admitted
    """The grant of a caller of a stream."""
    parsing: Executor | None = None
    """What parses large bodies, outside the event loop."""

    def __init__(self, scope: Scope, receive: Receive, limits: Limits) -> None:
        self.scope, self.receive, self._limits = scope, receive, limits
        self.method: str = scope["method"]
        # As sent, not as decoded: an escaped slash stays within its segment, and a proxy's rule
        # for /mcp does not miss /%6dcp.
        self.path: bytes = scope.get("raw_path") or scope["path"].encode()
        self.headers = combined(scope["headers"])
        sent = self.headers.get(b"x-correlation-id")
        self.correlation_id: UUID = (sent and _uuid(sent)) or uuid7()
        length = self.headers.get(b"content-length", b"0")
        # A body in chunks may have any length.
        self.is_large = b"transfer-encoding" in self.headers or (
            length.isdigit() and int(length) > limits.large_body_bytes
        )
        self.slots = Slots()
        """The slots of the caller, held until the answer is complete."""
        self.deadline: Deadline | None = None
        self.reading = self.was_read = False
        self.late_refusal: Refusal | None = None
        """The refusal of a token that is found after the MCP server took the message."""

    def text(self, name: bytes) -> str | None:
        """Return a header as text."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def require_short(self) -> None:
        """Raise a refusal when the URL or the headers are too large."""
        most = self._limits
        if len(self.path) + len(self.scope["query_string"]) > most.url_bytes:
            raise refusals.UrlTooLongError(f"The limit is {most.url_bytes} bytes.")
        if len(b"".join(chain.from_iterable(self.scope["headers"]))) > most.header_bytes:
            raise refusals.HeadersTooLargeError(f"The limit is {most.header_bytes} bytes.")

    async def json(self) -> bytes:
        """Return the whole JSON body. Raise a refusal when it is too large, late or not JSON."""
        if self.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise refusals.UnsupportedMediaTypeError
        # Not by `stream`: an asynchronous generator costs more than the rest of this.
        limit = self._limits.body_bytes
        self._begin_reading(limit)
        body = await self._part(limit, limit)
        if self.reading:
            parts, left = [body], limit - len(body)
            while self.reading:
                parts.append(await self._part(limit, left))
                left -= len(parts[-1])
            # Joined once: a body of many small parts is copied once, not once for each part.
            body = b"".join(parts)
        media_type = self.headers.get(b"content-type", b"").partition(b";")[0]
        if body and media_type.strip().lower() != b"application/json":
            raise refusals.UnsupportedMediaTypeError
        return body

    async def parsed[T](self, parse: Callable[[], T]) -> T:
        """Return what is parsed from the body; a large one does not keep other calls waiting."""
        if not self.is_large:
            return parse()
        return await asyncio.get_running_loop().run_in_executor(self.parsing, parse)

    async def stream(
        self, limit: int | None = None, restart_deadline: bool = True
    ) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives, up to `limit` bytes. Read it all before answering."""
        left = most = math.inf if limit is None else limit
        self._begin_reading(most)
        while self.reading:
            part = await self._part(most, left)
            left -= len(part)
            if restart_deadline and self.deadline:
                self.deadline.restart()
            yield part

    def _begin_reading(self, limit: float) -> None:
        announced = self.headers.get(b"content-length", b"")
        if announced.isdigit() and int(announced) > limit:
            raise refusals.BodyTooLargeError(f"The limit is {limit} bytes.")
        self.reading = self.was_read = True

    async def _part(self, limit: float, left: float) -> bytes:
        """Return the next part of the body. Refuse a part longer than what is left of the limit."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise refusals.BodyIncompleteError
        part: bytes = message.get("body", b"")
        self.reading = message.get("more_body", False)
        if len(part) > left:
            raise refusals.BodyTooLargeError(f"The limit is {limit} bytes.")
        return part

    async def disconnected(self) -> None:
        """Return when the client has closed the connection."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


class HttpResponse(NamedTuple):
    """A response whose body is known; the edge adds the headers that every response has."""

    status: int
    headers: Headers
    body: bytes


class StreamResponse(NamedTuple):
    """A response whose parts are sent until the client disconnects or the service stops."""

    status: int
    headers: Headers
    parts: AsyncGenerator[bytes]
    at_shutdown: bytes = b""
    """The last part when the service stops."""


def combined(headers: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name; the values of a repeated header are joined by commas."""
    found = dict(headers)
    if len(found) < len(headers):
        values: dict[bytes, list[bytes]] = {name: [] for name in found}
        for name, value in headers:
            values[name].append(value)
        found = {name: b", ".join(several) for name, several in values.items()}
    return found


def address_of(scope: Scope) -> str:
    """Return the client's address, or its network if a host can use any address of it."""
    return network_of((scope.get("client") or ("",))[0])


def _uuid(text: bytes) -> UUID | None:
    try:
        return UUID(text.decode("latin-1"))
    except ValueError:
        return None
