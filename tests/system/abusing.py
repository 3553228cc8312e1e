"""Requests as bytes on a socket, whatever they say, and how they were answered."""

import json
import socket
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ANSWER_SECONDS = 60.0
STALLED = {"503 StoreUnavailableError", "503 NotFreshYetError", "503 DeadlineExceededError"}
"""What a good request comes to on a machine that stalls; it is made once more."""
CUT = "cut"
"""What comes of a request whose connection ends without an answer."""


class Case(NamedTuple):
    """What is sent, and what must come of it: a status and a code, or several between bars."""

    name: str
    sent: bytes
    expected: str


def get(target: bytes, *lines: bytes, method: bytes = b"GET") -> bytes:
    """A request without a body, by the administrator."""
    head = (b"%b %b HTTP/1.1" % (method, target), b"Host: <host>", b"Authorization: Bearer <ada>")
    return b"\r\n".join((*head, *lines, b"", b""))


def post(body: bytes, *lines: bytes, target: bytes = b"/zones") -> bytes:
    """A request with a body of JSON, by the administrator."""
    length = b"Content-Length: %d" % len(body)
    return get(target, b"Content-Type: application/json", *lines, length, method=b"POST") + body


class Abuser:
    """Sends requests to one service, and keeps count of what came of them."""

    def __init__(self, url: str, words: Mapping[bytes, bytes]) -> None:
        address = urlsplit(url)
        assert address.hostname
        assert address.port
        self._address = address.hostname, address.port
        self._words = {b"<host>": address.netloc.encode(), **words}
        self.statuses: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.told: list[bytes] = []
        self.largest_refusal = 0

    def connect(self, sent: bytes = b"") -> socket.socket:
        """A connection on which this was sent, as much of it as the service took."""
        connection = socket.create_connection(self._address, ANSWER_SECONDS)
        self.say(connection, sent)
        return connection

    def say(self, connection: socket.socket, sent: bytes) -> None:
        """Send as much as the service takes; what it said before it hung up can still be read."""
        for word, meant in self._words.items():
            sent = sent.replace(word, meant)
        with suppress(OSError):
            connection.sendall(sent)

    def send(self, sent: bytes, seconds: float = ANSWER_SECONDS) -> str:
        """What comes of a request: its status and the code of a refusal."""
        with self.connect(sent) as connection:
            return self.answer(connection, sent.partition(b" ")[0].decode("latin-1"), seconds)

    def answer(
        self, connection: socket.socket, method: str = "", seconds: float = ANSWER_SECONDS
    ) -> str:
        """The next answer on a connection."""
        connection.settimeout(seconds)
        answer = HTTPResponse(connection, method=method)
        try:
            answer.begin()
            body = answer.read()
        except (OSError, HTTPException):
            self.statuses[CUT] += 1
            return CUT
        finally:
            answer.close()
        self.told += [str(answer.headers).encode(), body]
        self.statuses[str(answer.status)] += 1
        if answer.status >= 400:
            self.largest_refusal = max(self.largest_refusal, len(body))
        return f"{answer.status} {code_of(answer, body)}".strip()

    def abort(self, sent: bytes, politely: bool) -> None:
        """Send and hang up at once, so that the service finds the connection closed or reset."""
        connection = self.connect(sent)
        if not politely:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        self.statuses["hung up"] += 1

    def expect(self, cases: Iterable[Case]) -> None:
        """Send each, and note what came to another end than it must."""
        for case in cases:
            told = self.send(case.sent)
            if told in STALLED - {case.expected}:
                told = self.send(case.sent)
            if told not in case.expected.split(" | ") or told.startswith("500"):
                self.wrong.append(f"{case.name}: {told}, not {case.expected}")


def code_of(answer: HTTPResponse, body: bytes) -> str:
    """The code of a problem or of a JSON-RPC error; nothing for what is no refusal."""
    kind = answer.headers.get_content_type()
    if not body or kind not in {"application/problem+json", "application/json"}:
        return ""
    said: dict[str, Any] = json.loads(body)
    if kind == "application/json":
        if "error" in said:
            return str(said["error"]["code"])
        result = said.get("result", {})
        return result["structuredContent"]["code"] if result.get("isError") else ""
    whole = said.keys() >= {"type", "title", "detail"} and said["status"] == answer.status
    return said["code"] if whole else "without a whole problem"


def failures(log: str) -> list[str]:
    """The lines that tell of an error nobody foresaw, each of which must be JSON."""
    lines = [line for line in log.splitlines() if not line.startswith("{") or _failed(line)]
    return [line[:2000] for line in lines]


def _failed(line: str) -> bool:
    said = json.loads(line)
    return "exception" in said or said["level"] in {"error", "critical"} or "Traceback" in line


def hits(secrets: Mapping[str, str], texts: Mapping[str, bytes]) -> list[str]:
    """Which secret stands in which text."""
    return [
        f"{name} in {where}"
        for name, secret in secrets.items()
        for where, text in texts.items()
        if secret.encode() in text
    ]
