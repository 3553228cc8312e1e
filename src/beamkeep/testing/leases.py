"""A lease that a test grants and revokes."""

from collections.abc import Sequence

from beamkeep.feed.tail import WHOLE_LOG


class GrantedLease:
    """A lease on the parts that a test grants; raises an error that the test sets."""

    def __init__(self, *parts: int) -> None:
        self.parts: Sequence[int] = parts or (WHOLE_LOG,)
        self.error: Exception | None = None
        self.closed = False

    async def __call__(self) -> Sequence[int]:
        if self.error:
            raise self.error
        return self.parts

    async def close(self) -> None:
        self.closed = True
