"""Requests over some connections: as fast as they are answered, or each when it is due."""

import asyncio
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import count
from typing import NamedTuple, Protocol, TextIO
from uuid import UUID, uuid4

from .mix import Asked, Mix

ANSWERED_WITHIN, PATIENCE, PAUSE = 40.0, 120.0, 0.25
AGAIN = ("no answer", "503", "409 in flight")
LOST = (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError)


class Answer(NamedTuple):
    """What came back, as far as it is looked at."""

    status: str
    """The status code; or that no answer came, or that the same request is still under way."""
    version: str = ""
    body: bytes = b""

    @property
    def good(self) -> bool:
        return self.status.startswith("2")


class Feed(Protocol):
    """Says when the next request is due, and waits until it is."""

    async def next(self) -> float | None:
        """The moment, or nothing when there are no more."""
        ...


class AsFast:
    """The next request is due as soon as somebody can send it."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    async def next(self) -> float | None:
        """Now, until the time is over."""
        now = time.monotonic()
        return now if now < self._end else None


class AtRate:
    """Requests are due one after another, whether or not those before were answered."""

    def __init__(self, rate: float, seconds: float) -> None:
        self.start = time.monotonic()
        self._due = (self.start + n / rate for n in range(int(rate * seconds)))

    async def next(self) -> float | None:
        """The next moment of the schedule, at once if it is past."""
        due = next(self._due, None)
        if due is not None:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        return due


class Tally:
    """What came of requests, by the second they were due in; failures by the second they came."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.latencies: dict[int, dict[str, array[float]]] = defaultdict(
            lambda: defaultdict(lambda: array("f"))
        )
        self.failures: dict[int, Counter[str]] = defaultdict(Counter)
        self.answered: Counter[int] = Counter()
        self.given_up = 0

    def answer(self, kind: str, due: float) -> None:
        """Count an answer; late is late from when it was due."""
        now = time.monotonic()
        self.latencies[int(due - self.start)][kind].append(now - due)
        self.answered[int(now - self.start)] += 1

    def failure(self, status: str) -> None:
        """Count what was no good answer."""
        self.failures[int(time.monotonic() - self.start)][status] += 1


class Lanes:
    """Sends what the mix draws, each on a connection that is free, until it is answered."""

    def __init__(
        self, port: int, token: Callable[[], str], mix: Mix, history: TextIO, lanes: int
    ) -> None:
        self._port, self._token, self._mix, self._history = port, token, mix, history
        self._lanes, self._numbers = lanes, count(1)

    async def run(self, feed: Feed, tally: Tally) -> None:
        """Send until the feed ends, and wait for the last answers."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._lanes):
                tasks.create_task(self._lane(feed, tally))

    async def _lane(self, feed: Feed, tally: Tally) -> None:
        line = Line(self._port)
        try:
            while (due := await feed.next()) is not None:
                await self._carry_out(self._mix.next(), due, line, tally)
        finally:
            line.close()

    async def _carry_out(self, asked: Asked, due: float, line: "Line", tally: Tally) -> None:
        number, reached = next(self._numbers), True
        while True:
            if not await line.ready():
                # However often it is tried, a request finds the service away once.
                if reached:
                    tally.failure("unreachable")
                reached = False
            else:
                correlation_id = uuid4()
                answer = await line.exchange(self._request(asked, number, correlation_id))
                if asked.kind == "command":
                    self._note(number, correlation_id, answer)
                if answer.good:
                    tally.answer(asked.kind, due)
                    self._mix.learn(asked, answer.body)
                    return
                tally.failure(answer.status)
                if answer.status not in AGAIN:
                    return
            if time.monotonic() > due + PATIENCE:
                tally.given_up += 1
                return
            await asyncio.sleep(PAUSE)

    def _request(self, asked: Asked, number: int, correlation_id: UUID) -> bytes:
        head = [
            f"{asked.method} {asked.path} HTTP/1.1",
            f"host: 127.0.0.1:{self._port}",
            f"authorization: Bearer {self._token()}",
            f"x-correlation-id: {correlation_id}",
        ]
        if asked.kind == "command":
            head.append(f"idempotency-key: request-{number}")
        if asked.body:
            head += ["content-type: application/json", f"content-length: {len(asked.body)}"]
        return "\r\n".join([*head, "", ""]).encode() + asked.body

    def _note(self, number: int, correlation_id: UUID, answer: Answer) -> None:
        """One line of the history: what a client was answered at one attempt."""
        shown = answer.status.removesuffix(" in flight").replace("no answer", "0")
        version = answer.version or "\\N"
        self._history.write(f"{number}\t{correlation_id}\t{shown}\t{version}\n")


class Line:
    """One connection, opened again when it was lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ready(self) -> bool:
        """Open the connection if it is not; false where nobody listens."""
        if self._open and self._open[0].at_eof():
            self.close()
        if self._open is None:
            try:
                self._open = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError:
                return False
        return True

    async def exchange(self, request: bytes) -> Answer:
        """Send one request and read its answer, on a connection that is ready."""
        assert self._open
        reader, writer = self._open
        try:
            async with asyncio.timeout(ANSWERED_WITHIN):
                writer.write(request)
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                fields = dict(line.split(": ", 1) for line in head[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
        except LOST:
            self.close()
            return Answer("no answer")
        if fields.get("connection") == "close":
            self.close()
        status = head[0].split()[1]
        if status == "409" and b"IdempotencyInFlightError" in body:
            status = "409 in flight"
        return Answer(status, fields.get("etag", "").strip('"'), body)

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._open:
            self._open[1].transport.abort()
        self._open = None
