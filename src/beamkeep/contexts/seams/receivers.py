"""Receivers of subscriptions: which addresses are allowed, and how their secrets are kept."""

import re
from typing import Protocol
from urllib.parse import urlsplit
from uuid import UUID

from beamkeep.kernel import Record

HOST = r"[a-z0-9_.-]+|\[[0-9a-f:.]+\]"
ENTRY = rf"(\*\.)?({HOST})(?::([0-9]{{1,5}}))?"
"""An allowed host: `host`, `host:port`, or `*.suffix` for every host below a domain."""
PORTS = {"https": 443, "http": 80}
VISIBLE = re.compile(r"[!-~]+")


class Receiver(Record):
    """An address to send to, in the parts by which a connection is made."""

    scheme: str
    host: str
    port: int
    target: str
    is_plain: bool = False
    """Whether the deployment names the host as one without encryption, wherever it is."""

    @property
    def shown(self) -> str:
        """The host, with its port where that is not the usual one."""
        return self.host if self.port == PORTS[self.scheme] else f"{self.host}:{self.port}"


class ReceiverHosts(Record):
    """The hosts that the deployment lets subscriptions send to."""

    allowed: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()

    def receiver(self, url: str) -> Receiver:
        """Return the parts of an address. Raise ValueError in words when it is not allowed."""
        parts = urlsplit(url) if VISIBLE.fullmatch(url) and "\\" not in url else None
        if parts is None or parts.scheme not in PORTS or "@" in parts.netloc or "#" in url:
            raise ValueError("Give an https address without spaces, user part and fragment.")
        named = re.fullmatch(rf"({HOST})(?::([0-9]{{1,5}}))?", parts.netloc.lower())
        if named is None:
            raise ValueError("Its host is not a host name or an IP address.")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        port = int(named[2] or PORTS[parts.scheme])
        found = Receiver(parts.scheme, named[1], port=port, target=target)
        if not any(_fits(entry, found) for entry in self.allowed):
            raise ValueError(f"SUBSCRIPTION_HOSTS of the deployment does not name {found.shown}.")
        is_plain = any(_fits(entry, found) for entry in self.plain)
        if found.scheme == "http" and not is_plain:
            raise ValueError(f"Use https: SUBSCRIPTION_PLAIN_HOSTS does not name {found.shown}.")
        return Receiver(
            found.scheme, found.host, port=found.port, target=found.target, is_plain=is_plain
        )


class NewSecret(Record):
    """A signing secret in the form that is shown once."""

    secret_id: UUID
    text: str


class SecretKeeper(Protocol):
    """Makes signing secrets, and encrypts what belongs to one subscription."""

    def new(self) -> NewSecret:
        """Return a new random secret."""
        ...

    def seal(self, text: str, subscription_id: UUID) -> str:
        """Return a text in encrypted form."""
        ...

    def open(self, sealed: str, subscription_id: UUID) -> str:
        """Return a sealed text. Raise ValueError when another key or subscription sealed it."""
        ...


def _fits(entry: str, receiver: Receiver) -> bool:
    known = re.fullmatch(ENTRY, entry.lower())
    if known is None:
        return False
    below, name, port = known.groups()
    same = receiver.host.endswith(f".{name}") if below else receiver.host == name
    return same and receiver.port == int(port or PORTS[receiver.scheme])
