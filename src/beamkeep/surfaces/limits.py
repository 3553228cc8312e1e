"""How much one caller may ask of REST and `/mcp`, and what it is told beyond that."""

from collections import OrderedDict
from collections.abc import Callable, Hashable

from beamkeep.kernel import Record, Refusal

MOST_BUCKETS = 10_000


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
