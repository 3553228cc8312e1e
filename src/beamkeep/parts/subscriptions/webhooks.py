"""Sends webhooks: to checked addresses only, signed as Standard Webhooks say."""

import asyncio
import hmac
import socket
import ssl
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import cast

import httpcore2

from beamkeep.contexts.seams.receivers import Receiver, ReceiverHosts

from .deliveries import Answered, UnreachableError, WebhookMessage
from .sealing import PREFIX

TIMEOUT, MOST_READ, MOST_SHOWN = 10.0, 64 * 1024, 500
FORBIDDEN = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"),
            # Protocols, documentation and measurement: no receiver of a facility has these.
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24"),
            # Clouds tell the credentials of a machine at these.
            *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32"),
            *("::1/128", "::/128", "fe80::/10", "fec0::/10", "ff00::/8"),
            *("100::/64", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32"),
            *("3fff::/20", "5f00::/16"),
        ),
    )
)
NAT64 = ip_network("64:ff9b::/96")
LOCAL_NAT64 = ip_network("64:ff9b:1::/48")
ISATAP = {0x00005EFE, 0x02005EFE}
"""The third quarter of an IPv6 address whose last one is an IPv4 address."""

type Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class ForbiddenAddressError(Exception):
    """The name of a receiver has an address to which nothing may be sent."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_forbidden(address: str) -> bool:
    """Return whether an address is of this machine, of its link, or of nobody in particular."""
    ip = ip_address(address.partition("%")[0])
    if any(ip in network for network in FORBIDDEN):
        return True
    return isinstance(ip, IPv6Address) and any(is_forbidden(str(it)) for it in _embedded(ip))


def _embedded(ip: IPv6Address) -> Iterable[IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address stands for, in any form."""
    if each := ip.ipv4_mapped or ip.sixtofour:
        yield each
    yield from ip.teredo or ()
    bits, is_isatap = int(ip), int(ip) >> 32 & 0xFFFFFFFF in ISATAP
    if ip in NAT64 or ip in LOCAL_NAT64 or is_isatap or bits < 2**32:
        yield IPv4Address(bits & 0xFFFFFFFF)


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves a name once, checks every address, and connects to one that was checked."""

    def __init__(self, receiver: Receiver, resolve: Resolve) -> None:
        self._receiver, self._resolve = receiver, resolve
        self._network = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())
        self._stream: httpcore2.AsyncNetworkStream | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Return a connection to the receiver. Raise ForbiddenAddressError for a wrong address."""
        addresses = await self._resolve(self._receiver.host.strip("[]"), port)
        if not self._receiver.is_plain and any(map(is_forbidden, addresses)):
            raise ForbiddenAddressError
        *others, last = addresses
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return await self._connect(address, port)
        return await self._connect(last, port)

    async def _connect(self, address: str, port: int) -> httpcore2.AsyncNetworkStream:
        self._stream = await self._network.connect_tcp(address, port)
        return self._stream

    async def aclose(self) -> None:
        """Close the connection, which the pool leaves open if a TLS handshake is cancelled."""
        if self._stream:
            await self._stream.aclose()


class HttpWebhooks:
    """Posts messages; it follows no redirect and uses no proxy."""

    def __init__(
        self,
        hosts: ReceiverHosts,
        clock: Callable[[], datetime],
        resolve: Resolve = resolve,
        timeout: float = TIMEOUT,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._hosts, self._clock, self._resolve, self._timeout = hosts, clock, resolve, timeout
        self._context = context or ssl.create_default_context()

    async def post(self, url: str, message: WebhookMessage) -> Answered:
        """Return what the receiver answered. Raise UnreachableError when it did not answer."""
        try:
            # The list of hosts may have become shorter since the subscription was registered.
            receiver = self._hosts.receiver(url)
            async with asyncio.timeout(self._timeout):
                return await self._post(receiver, message)
        except ForbiddenAddressError:
            raise UnreachableError("AddressForbidden") from None
        except socket.gaierror:
            raise UnreachableError("NameNotResolved") from None
        except (TimeoutError, httpcore2.TimeoutException):
            raise UnreachableError("Timeout") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError):
            raise UnreachableError("ConnectionFailed") from None
        except ValueError:
            raise UnreachableError("HostNotAllowed") from None

    async def _post(self, receiver: Receiver, message: WebhookMessage) -> Answered:
        address = httpcore2.URL(
            scheme=receiver.scheme.encode(),
            host=receiver.host.encode(),
            port=receiver.port,
            target=receiver.target.encode(),
        )
        backend = CheckedBackend(receiver, self._resolve)
        # A pool of its own: a kept connection would be used without looking at its address again.
        async with (
            aclosing(backend),
            httpcore2.AsyncConnectionPool(self._context, network_backend=backend) as pool,
            pool.stream("POST", address, headers=_headers(message), content=message.body) as answer,
        ):
            text = b""
            async for part in answer.aiter_stream():
                text += part
                if len(text) >= MOST_READ:
                    break
        after = dict(answer.headers).get(b"retry-after", b"").decode("latin-1")
        shown = text[: 4 * MOST_SHOWN].decode(errors="replace").replace("\0", "")[:MOST_SHOWN]
        return Answered(answer.status, self._seconds(after), shown)

    def _seconds(self, retry_after: str) -> float | None:
        """Return how many seconds a receiver asks to wait, given as a number or a date."""
        if retry_after.isascii() and retry_after.isdigit():
            return float(retry_after[:9])
        try:
            return (parsedate_to_datetime(retry_after) - self._clock()).total_seconds()
        except (ValueError, TypeError):
            return None


def signatures(message: WebhookMessage) -> str:
    """Return the signatures of a message, one for each secret."""
    signed = b"%b.%d.%b" % (str(message.id).encode(), message.sent_at.timestamp(), message.body)
    keys = [b64decode(secret.removeprefix(PREFIX)) for secret in message.secrets]
    found = [b64encode(hmac.digest(key, signed, sha256)).decode() for key in keys]
    return " ".join(f"v1,{each}" for each in found)


def _headers(message: WebhookMessage) -> list[tuple[str, str]]:
    return [
        ("Content-Type", message.content_type),
        ("User-Agent", "Beamkeep"),
        ("Webhook-Id", str(message.id)),
        ("Webhook-Timestamp", str(int(message.sent_at.timestamp()))),
        ("Webhook-Signature", signatures(message)),
    ]
