"""Which connections an HTTP server keeps open when there are too many."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Protocol

from beamkeep.contexts.seams.addresses import network_of


class Shared(Protocol):
    """A connection, as its server's shares see it."""

    address: str
    has_answered: bool
    is_unread: bool

    def give_way(self) -> None:
        """Close the connection, because there are too many."""
        ...


class TrustedProxies:
    """The proxies that are believed about where a request comes from."""

    def __init__(self, networks: Sequence[str]) -> None:
        self._networks = [ip_network(network) for network in networks]

    def __contains__(self, host: str) -> bool:
        try:
            return any(ip_address(host) in network for network in self._networks)
        except ValueError:
            return False

    def client_of(self, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """Return who called the first of the trusted proxies that a request came through."""
        values = b",".join([value for name, value in headers if name == b"x-forwarded-for"])
        hosts = [host.strip() for host in values.decode("latin-1").split(",") if host.strip()]
        # A caller may put something before what the proxies add.
        return next((host for host in reversed(hosts) if host not in self), next(iter(hosts), None))


class ConnectionShares:
    """The open connections of a server, and which of them gives way to a new one.

    A connection gives way only while it waits for its client. Those that have had no answer yet
    come first, then those that wait longest, of the address that has the most of them.
    """

    def __init__(self, most: int, of_address: int, proxies: TrustedProxies) -> None:
        self._most, self._of_address, self._proxies = most, of_address, proxies
        self._open: dict[str, set[Shared]] = {}
        self._waiting: dict[str, dict[Shared, None]] = {}
        self._count = 0

    def admits(self, connection: Shared, host: str) -> bool:
        """Return whether a new connection may stay. Close another one for it if necessary."""
        address = connection.address = "" if host in self._proxies else network_of(host)
        waiting = self._waiting.get(address, {})
        if address and len(self._open.get(address, ())) >= self._of_address:
            crowd = waiting
        elif self._count >= self._most:
            crowd = max(self._waiting.values(), key=len, default=waiting)
        else:
            crowd = None
        if crowd is not None and not self._makes_room(crowd):
            return False
        self._open.setdefault(address, set()).add(connection)
        self._count += 1
        return True

    def waits(self, connection: Shared) -> None:
        """Note that a connection waits for its client from now on."""
        address = connection.address
        if connection in self._open.get(address, ()):
            self._waiting.setdefault(address, {})[connection] = None

    def answers(self, connection: Shared) -> None:
        """Note that a connection does not wait for its client any more."""
        waiting = self._waiting.get(connection.address, {})
        waiting.pop(connection, None)
        if not waiting:
            self._waiting.pop(connection.address, None)

    def forget(self, connection: Shared) -> None:
        """Note that a connection is closed."""
        self.answers(connection)
        opened = self._open.get(connection.address, set())
        if connection in opened:
            opened.remove(connection)
            self._count -= 1
        if not opened:
            self._open.pop(connection.address, None)

    def _makes_room(self, crowd: Mapping[Shared, None]) -> bool:
        unused = (each for each in crowd if each.is_unread or not each.has_answered)
        leaving = next(unused, next(iter(crowd), None))
        if leaving is None:
            return False
        self.forget(leaving)
        leaving.give_way()
        return True
