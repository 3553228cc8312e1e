"""A lease that the test grants and takes away."""

from collections.abc import Sequence

from beamkeep.runtime.tail import WHOLE_LOG


class GrantedLease:
    """Holds the parts the test grants; raises the error it is given instead."""

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
