"""Shares of work that nobody may take from the others."""

import asyncio
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager


class FairShares:
    """Slots of which each principal has some; who wants more waits, and no other does."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._of: dict[Hashable, asyncio.Semaphore] = {}
        self._wanted: dict[Hashable, int] = {}

    @asynccontextmanager
    async def held(self, principal: Hashable) -> AsyncGenerator[None]:
        """Hold one slot of a principal, after waiting for it."""
        slots = self._of.setdefault(principal, asyncio.Semaphore(self._slots))
        self._wanted[principal] = self._wanted.get(principal, 0) + 1
        try:
            async with slots:
                yield
        finally:
            self._wanted[principal] -= 1
            if not self._wanted[principal]:
                del self._wanted[principal], self._of[principal]
