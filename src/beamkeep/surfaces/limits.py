"""How much one caller may ask of REST and `/mcp`, and what it is told beyond that."""

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address

from starlette.types import Receive, Scope

from beamkeep.kernel import Record, Refusal

from .head import head_of

MOST_BUCKETS = 10_000
READING = "beamkeep.reading"


class BodyIncompleteError(Refusal, status=408):
    """The body did not arrive in time."""


class BodyTooLargeError(Refusal, status=413):
    """The body is larger than this service reads."""


class UrlTooLongError(Refusal, status=414):
    """The address is longer than this service reads."""


class UnsupportedMediaTypeError(Refusal, status=415):
    """A body is sent as application/json, in UTF-8 and not compressed."""


class TooManyRequestsError(Refusal, status=429, retry_after=1):
    """Too many calls at once, or too fast. Wait and repeat."""


class HeadersTooLargeError(Refusal, status=431):
    """The headers are larger than this service reads."""


class InternalError(Refusal, status=500):
    """Something went wrong inside the service; the log holds it under the correlation id."""


class DeadlineExceededError(Refusal, status=503, retry_after=1):
    """The service ran out of time, and whether it wrote is not known.

    Repeat the request with the same idempotency key, or read the object before trying again.
    """


class Limits(Record):
    """How much one caller may ask for."""

    body_bytes: int = 1024 * 1024
    url_bytes: int = 4 * 1024
    header_bytes: int = 16 * 1024
    deadline_seconds: float = 30
    per_principal_rate: float = 50
    per_principal_burst: float = 100
    per_address_rate: float = 5
    """For calls without a good token."""
    per_address_burst: float = 20
    concurrent_per_principal: int = 8
    questions_per_address: int = 8
    """Questions to identity providers that one address may have under way."""


class Buckets:
    """A token bucket per key. The one unused longest is forgotten first, which fills it."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, key: Hashable) -> None:
        """Take one token, or refuse."""
        now = self._clock()
        left, since = self._left.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._left[key] = (left - 1 if left >= 1 else left), now
        if len(self._left) > MOST_BUCKETS:
            self._left.popitem(last=False)
        if left < 1:
            raise TooManyRequestsError

    def refund(self, key: Hashable) -> None:
        """Give back a token that was taken."""
        if known := self._left.get(key):
            self._left[key] = min(self._burst, known[0] + 1), known[1]


class Concurrent:
    """So many at once for each key, and no more."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[Hashable, int] = {}

    @contextmanager
    def held(self, key: Hashable) -> Generator[None]:
        """Hold one of the places of a key, or refuse."""
        taken = self._taken.get(key, 0)
        if taken >= self._most:
            raise TooManyRequestsError
        self._taken[key] = taken + 1
        try:
            yield
        finally:
            self._taken[key] -= 1
            if not self._taken[key]:
                del self._taken[key]


class Toll:
    """What one call is charged at its address until its token is known to be good."""

    def __init__(self, scope: Scope, buckets: Buckets, questions: Concurrent) -> None:
        self._scope, self._buckets, self._questions = scope, buckets, questions
        self._paid_by: str | None = None

    @contextmanager
    def asking(self) -> Generator[None]:
        """Charge the address before an identity provider is asked, and hold one of its places."""
        self.charge()
        with self._questions.held(address_of(self._scope)):
            yield

    def charge(self) -> None:
        """Charge the address, once."""
        if self._paid_by is None:
            address = address_of(self._scope)
            self._buckets.take(address)
            self._paid_by = address

    def refund(self) -> None:
        """Give back what was charged."""
        if self._paid_by is not None:
            self._buckets.refund(self._paid_by)
            self._paid_by = None


def address_of(scope: Scope) -> str:
    """The address a call comes from; of IPv6 the network, within which a host picks any."""
    host: str = (scope.get("client") or ("",))[0]
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((address.packed[:8] + bytes(8), 64)))
    return host


async def read_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """The whole body, never more of it than the limit."""
    head = head_of(scope)
    if head.get(b"content-encoding", b"identity").lower() != b"identity":
        raise UnsupportedMediaTypeError
    declared = head.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limits.body_bytes:
        raise BodyTooLargeError
    parts: list[bytes] = []
    size = 0
    scope[READING] = True
    while scope[READING]:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BodyIncompleteError
        parts.append(message.get("body", b""))
        size, scope[READING] = size + len(parts[-1]), message.get("more_body", False)
        if size > limits.body_bytes:
            raise BodyTooLargeError
    media_type = head.get(b"content-type", b"").partition(b";")[0]
    if size and media_type.strip().lower() != b"application/json":
        raise UnsupportedMediaTypeError
    return parts[0] if len(parts) == 1 else b"".join(parts)


def overdue(scope: Scope) -> Refusal:
    """What is told when the time is over: while the body is awaited, nothing has begun."""
    return BodyIncompleteError() if scope.get(READING) else DeadlineExceededError()
