"""A real NATS server with JetStream on loopback, and what a stream of it holds."""

import asyncio
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from nats.aio.client import Client
from nats.js.api import StorageType, StreamConfig
from nats.js.client import JetStreamContext

from beamkeep.testing.server import free_port

DEADLINE = 60.0
STREAM = "BEAMKEEP"


class StoredMessage(NamedTuple):
    """A message of a stream."""

    subject: str
    headers: Mapping[str, str]
    body: bytes


class NatsServer:
    """One server, which keeps its streams in a directory."""

    def __init__(self, directory: Path, max_payload: int) -> None:
        self._directory, self._port = directory, free_port()
        self.url = f"nats://127.0.0.1:{self._port}"
        self._configuration = directory / "nats.conf"
        self._configuration.write_text(
            f"listen: 127.0.0.1:{self._port}\nmax_payload: {max_payload}\n"
            f'jetstream {{ store_dir: "{directory}" }}\n'
        )
        self.resume()

    def kill(self) -> None:
        """End the server without a chance to close anything."""
        self._process.kill()
        self._process.wait(DEADLINE)

    def resume(self) -> None:
        """Start the server, and return when it accepts connections."""
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["nats-server", "-c", str(self._configuration)], stdout=log, stderr=log
            )
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self._port)):
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError((self._directory / "log").read_text()[-2000:])

    @asynccontextmanager
    async def context(self) -> AsyncGenerator[JetStreamContext]:
        """Provide a connection of the test's own."""
        client = Client()
        await client.connect(self.url, allow_reconnect=False)
        try:
            yield JetStreamContext(client)
        finally:
            await client.close()

    async def create_stream(self, *subjects: str, window_seconds: float = 120) -> None:
        """Create the stream with these subjects, and so long a memory for message ids."""
        made = StreamConfig(
            name=STREAM,
            subjects=list(subjects),
            storage=StorageType.FILE,
            duplicate_window=window_seconds,
        )
        async with self.context() as context:
            await context.add_stream(made)  # pyright: ignore[reportUnknownMemberType]

    async def last_sequence(self) -> int:
        """Return the sequence of the last message."""
        async with self.context() as context:
            return (await context.stream_info(STREAM)).state.last_seq

    async def last_id(self) -> str:
        """Return the message id of the last message."""
        async with self.context() as context:
            message = await context.get_last_msg(STREAM, ">")
        headers = message.headers or {}  # pyright: ignore
        return cast("dict[str, str]", headers)["Nats-Msg-Id"]

    async def messages(self) -> list[StoredMessage]:
        """Return all messages of the stream in order."""
        found: list[StoredMessage] = []
        async with self.context() as context:
            count = (await context.stream_info(STREAM)).state.messages
            follower = await context.subscribe(">", stream=STREAM, ordered_consumer=True)
            async with asyncio.timeout(DEADLINE + count / 100):
                while len(found) < count:
                    message = await follower.next_msg(DEADLINE)
                    headers = message.headers or {}
                    found.append(StoredMessage(message.subject, headers, message.data))
        return found


@contextmanager
def nats_server(max_payload: int = 1024 * 1024) -> Generator[NatsServer]:
    """Run a server until the block ends."""
    with TemporaryDirectory(prefix="nats-") as directory:
        server = NatsServer(Path(directory), max_payload)
        try:
            yield server
        finally:
            server.kill()
