"""Notices that the log has grown or rows were added, which each process sends to all processes."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

import asyncpg
import msgspec

from beamkeep.feed.hints import PAUSE_SECONDS, HintsByObject, RowHint, gather
from beamkeep.runtime.codec import encode

from .lease import KEEPALIVE

CHANNEL, ROWS_CHANNEL = "bk_log", "bk_rows"
TIMEOUT, LONGEST_WAIT, SHORTEST_PAUSE = 10.0, 0.25, 0.01
MOST_BYTES = 7_000
"""Of the 8,000 bytes that PostgreSQL sends with one notice."""


class PostgresLogNotices:
    """Sends and receives notices on one connection; a notice that is lost is not repeated.

    A notice is sent after the commit: within it, notices would make all appends wait in a row.
    """

    def __init__(self, url: str) -> None:
        self._url, self._due = url, asyncio.Event()
        self._connection: asyncpg.Connection | None = None
        self._rows: HintsByObject = {}
        self._rows_at = 0.0
        self.on_notice: list[Callable[[], None]] = []
        self.on_rows: list[Callable[[Sequence[RowHint]], None]] = []

    def appended(self, hints: Iterable[RowHint] = ()) -> None:
        """Let the next turn send a notice, and these hints some time later."""
        gather(self._rows, hints)
        self._due.set()

    async def turn(self) -> float:
        """Wait a while for a notice to be due, and send it."""
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._url, timeout=TIMEOUT, command_timeout=TIMEOUT, server_settings=KEEPALIVE
            )
            if self.on_notice:
                await self._connection.add_listener(CHANNEL, self._received)
            if self.on_rows:
                await self._connection.add_listener(ROWS_CHANNEL, self._received_rows)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                await self._due.wait()
            self._due.clear()
            await self._connection.execute(f"NOTIFY {CHANNEL}")
            await self._send_rows(self._connection)
            return SHORTEST_PAUSE
        await self._send_rows(self._connection)
        return 0

    async def close(self) -> None:
        """Close the connection."""
        if self._connection:
            with suppress(TimeoutError):
                await self._connection.close()
            self._connection = None

    async def _send_rows(self, connection: asyncpg.Connection) -> None:
        now = asyncio.get_running_loop().time()
        if not self._rows or now < self._rows_at:
            return
        hints, self._rows, self._rows_at = self._rows, {}, now + PAUSE_SECONDS
        for payload in _payloads(hints.values()):
            await connection.execute("SELECT pg_notify($1, $2)", ROWS_CHANNEL, payload)

    def _received(self, *_: object) -> None:
        for notified in self.on_notice:
            notified()

    def _received_rows(self, *notice: object) -> None:
        # Anyone who may connect to the database can send a notice of any text.
        with suppress(msgspec.MsgspecError):
            hints = msgspec.json.decode(str(notice[-1]), type=list[RowHint])
            for notified in self.on_rows:
                notified(hints)


def _payloads(hints: Iterable[RowHint]) -> Iterator[str]:
    """Yield hints as texts, each short enough for one notice."""
    texts: list[str] = []
    for hint in hints:
        text = encode(hint).decode()
        if sum(map(len, texts)) + len(texts) + len(text) > MOST_BYTES:
            yield f"[{','.join(texts)}]"
            texts.clear()
        texts.append(text)
    yield f"[{','.join(texts)}]"
