"""The limits on one caller."""

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager

from beamkeep.kernel import Record

from .refusals import TooManyRequestsError

MOST_BUCKETS = 10_000


class Limits(Record):
    """The limits on one caller."""

    body_bytes: int = 1024 * 1024
    """For JSON; a stream has a limit of its own or none."""
    url_bytes: int = 4 * 1024
    header_bytes: int = 16 * 1024
    deadline_seconds: float = 30
    per_principal_rate: float = 50
    per_principal_burst: float = 100
    per_address_rate: float = 5
    """For requests without a valid token."""
    per_address_burst: float = 20
    concurrent_per_principal: int = 8
    streams_per_principal: int = 8
    """Requests whose body or answer is a stream; they do not count as concurrent requests."""
    large_body_bytes: int = 32 * 1024
    """A JSON body of more bytes is large: permission comes before it, and it is parsed apart."""
    large_bodies_per_principal: int = 2
    large_bodies: int = 16
    questions_per_address: int = 8
    """Concurrent questions to identity providers."""


class TokenBuckets:
    """One token bucket per key. The least recently used is dropped first, which fills it."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float]) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, key: Hashable) -> None:
        """Take one token. Raise TooManyRequestsError when none is left."""
        now = self._clock()
        left, since = self._left.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._left[key] = (left - 1 if left >= 1 else left), now
        if len(self._left) > MOST_BUCKETS:
            self._left.popitem(last=False)
        if left < 1:
            raise TooManyRequestsError

    def refund(self, key: Hashable) -> None:
        """Put one token back."""
        if known := self._left.get(key):
            self._left[key] = min(self._burst, known[0] + 1), known[1]


class ConcurrencyLimit:
    """A number of slots per key."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._taken: dict[Hashable, int] = {}

    def taken(self, key: Hashable) -> int:
        """Return the number of slots that are held."""
        return self._taken.get(key, 0)

    def take(self, key: Hashable) -> None:
        """Take one slot. Raise TooManyRequestsError when none is free."""
        taken = self._taken.get(key, 0)
        if taken >= self._slots:
            raise TooManyRequestsError
        self._taken[key] = taken + 1

    def release(self, key: Hashable) -> None:
        """Give one slot back."""
        if left := self._taken[key] - 1:
            self._taken[key] = left
        else:
            del self._taken[key]

    @contextmanager
    def held(self, key: Hashable) -> Generator[None]:
        """Hold one slot. Raise TooManyRequestsError when none is free."""
        self.take(key)
        try:
            yield
        finally:
            self.release(key)


class Slots:
    """The slots that one request holds."""

    def __init__(self) -> None:
        self._held: list[tuple[ConcurrencyLimit, Hashable]] = []

    def hold(self, limit: ConcurrencyLimit, key: Hashable) -> None:
        """Hold one slot more. Raise TooManyRequestsError when none is free."""
        limit.take(key)
        self._held.append((limit, key))

    def release(self) -> None:
        """Give every slot back."""
        while self._held:
            limit, key = self._held.pop()
            limit.release(key)
