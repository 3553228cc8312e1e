"""A bounded cache of token verifications."""

from collections import OrderedDict

from beamkeep.kernel import Record
from beamkeep.runtime.tokens import VerifiedPrincipal

MAX_CACHED_TOKENS = 10_000


class VerifiedToken(Record):
    """A verified principal, and how long the verification may be cached."""

    principal: VerifiedPrincipal
    cached_until: float
    """In seconds of the monotonic clock: setting the wall clock back does not prolong it."""


class TokenCache[Result]:
    """The most recently used results by token digest, each with its expiry."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, tuple[float, Result]] = OrderedDict()

    def get(self, digest: bytes, now: float) -> Result | None:
        """Return the result for a digest, or None when there is none or it has expired."""
        entry = self._entries.get(digest)
        if entry is None:
            return None
        if entry[0] <= now:
            del self._entries[digest]
            return None
        self._entries.move_to_end(digest)
        return entry[1]

    def put(self, digest: bytes, result: Result, until: float) -> None:
        """Store a result, and drop the least recently used one when the cache is full."""
        self._entries[digest] = (until, result)
        self._entries.move_to_end(digest)
        if len(self._entries) > MAX_CACHED_TOKENS:
            self._entries.popitem(last=False)
