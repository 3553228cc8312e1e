"""NATS JetStream as the message bus of the relay."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import DiscardPolicy, StorageType, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import NotFoundError

from beamkeep.kernel import Record

from .relay import (
    BusConflictError,
    BusMessage,
    BusUnavailableError,
    LastMessage,
    StreamRefusedError,
)

SUBJECTS = "beamkeep.>"
CURSOR, BREAK = "Beamkeep-Cursor", "Beamkeep-Break"
WRONG_LAST_SEQUENCE = 10071
TIMEOUT_SECONDS = 10


class StreamLimits(Record):
    """With what a stream is created."""

    replicas: int = 1
    max_age_seconds: float = 0
    """0 for no limit."""
    max_bytes: int = -1
    """-1 for no limit."""


class _Fault(Record):
    err_code: int = 0
    description: str = ""


class _Answer(Record):
    """An acknowledgement of a message, or why it was refused."""

    seq: int = 0
    error: _Fault | None = None


class JetStreamBus:
    """One stream of a NATS server or cluster."""

    def __init__(self, url: str, stream: str, limits: StreamLimits) -> None:
        self._url, self._stream, self._limits = url, stream, limits

    @asynccontextmanager
    async def session(self) -> AsyncGenerator["JetStreamSession"]:
        """Connect, and create the stream if it is absent."""
        async with self._connected() as (client, closed):
            with available():
                await self._require_stream(JetStreamContext(client, timeout=TIMEOUT_SECONDS))
            yield JetStreamSession(client, self._stream, closed)

    async def try_connection(self) -> None:
        """Connect once and ask for the account. Raise BusUnavailableError without an answer."""
        async with self._connected() as (client, _):
            with available():
                await JetStreamContext(client, timeout=TIMEOUT_SECONDS).account_info()

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[tuple[Client, asyncio.Event]]:
        client, closed = Client(), asyncio.Event()

        async def close() -> None:
            closed.set()

        async def ignore(error: Exception) -> None:
            """Log nothing: every error also ends the session."""

        with available():
            # A client that reconnects would publish again what it does not know to be published.
            await client.connect(
                self._url,
                name="beamkeep relay",
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=TIMEOUT_SECONDS,
                closed_cb=close,
                error_cb=ignore,
            )
        try:
            yield client, closed
        finally:
            await client.close()

    async def _require_stream(self, context: JetStreamContext) -> None:
        try:
            found = (await context.stream_info(self._stream)).config
        except NotFoundError:
            limits = self._limits
            await context.add_stream(  # pyright: ignore[reportUnknownMemberType]
                StreamConfig(
                    name=self._stream,
                    subjects=[SUBJECTS],
                    storage=StorageType.FILE,
                    discard=DiscardPolicy.OLD,
                    num_replicas=limits.replicas,
                    max_age=limits.max_age_seconds,
                    max_bytes=limits.max_bytes,
                )
            )
            return
        if found.subjects != [SUBJECTS]:
            raise StreamRefusedError(
                f"The stream {self._stream} has the subjects {found.subjects}, and not"
                f" {SUBJECTS}. Set NATS_STREAM to the name of another stream."
            )


class JetStreamSession:
    """A connection, which is not made again once it is lost."""

    def __init__(self, client: Client, stream: str, closed: asyncio.Event) -> None:
        self._client, self._closed, self.max_payload = client, closed, client.max_payload
        self._context, self._stream = JetStreamContext(client, timeout=TIMEOUT_SECONDS), stream

    async def last(self) -> LastMessage:
        """Return the end of the stream."""
        with available():
            # In this order: where another relay publishes meanwhile, the sequence is too old and
            # the next message is refused. In the other order a message would be there twice.
            state = (await self._context.stream_info(self._stream)).state
            if not state.messages:
                return LastMessage(state.last_seq, None)
            message = await self._context.get_last_msg(self._stream, SUBJECTS)
        found = message.headers or {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return LastMessage(state.last_seq, cast("dict[str, str]", found).get(CURSOR, ""))

    async def publish(self, messages: Sequence[BusMessage], after: int) -> None:
        """Publish messages after a sequence. Raise BusConflictError when it is not the last."""
        # The client's own asynchronous publishing loses answers that are refusals.
        answers = [asyncio.get_running_loop().create_future() for _ in messages]

        async def receive(answer: Msg) -> None:
            number = int(answer.subject.rpartition(".")[2])
            if not answers[number].done():
                answers[number].set_result(answer.data)

        inbox = self._client.new_inbox()
        with available():
            replies = await self._client.subscribe(  # pyright: ignore[reportUnknownMemberType]
                f"{inbox}.*", cb=receive
            )
            for number, message in enumerate(messages):
                await self._client.publish(
                    message.subject,
                    message.body,
                    reply=f"{inbox}.{number}",
                    headers=headers_of(message, after + number),
                )
            await self._all_of(answers)
            await replies.unsubscribe()
        for number, answer in enumerate(answers):
            _require_published(answer.result(), after + number + 1)

    async def _all_of(self, answers: Sequence[asyncio.Future[bytes]]) -> None:
        """Wait for all answers. Raise BusUnavailableError when the connection is lost before."""
        closed = asyncio.ensure_future(self._closed.wait())
        complete = asyncio.ensure_future(asyncio.wait(answers))
        try:
            await asyncio.wait(
                [complete, closed], timeout=TIMEOUT_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            if not complete.done():
                raise BusUnavailableError("It does not acknowledge messages.")
        finally:
            closed.cancel()
            complete.cancel()


def headers_of(message: BusMessage, after: int) -> dict[str, str]:
    """Return the headers of a message, which is accepted only after this sequence."""
    headers = {
        "Nats-Msg-Id": str(message.event_id),
        "Nats-Expected-Last-Sequence": str(after),
        CURSOR: message.cursor,
    }
    return headers | {BREAK: "true"} if message.follows_break else headers


def _require_published(answer: bytes, sequence: int) -> None:
    # Nobody answers with an empty message, if the stream is not there.
    found = msgspec.json.decode(answer or b"{}", type=_Answer)
    if found.error and found.error.err_code != WRONG_LAST_SEQUENCE:
        raise BusUnavailableError(found.error.description)
    # The server may also know the id of an event that the stream has elsewhere.
    if found.seq != sequence:
        raise BusConflictError if answer else BusUnavailableError


@contextmanager
def available() -> Generator[None]:
    """Raise BusUnavailableError for every error of the connection."""
    try:
        yield
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise BusUnavailableError(str(error) or type(error).__name__) from None
