"""Waiting for something to become true, and no longer than is reasonable."""

import asyncio
import time
from collections.abc import Awaitable, Callable

DEADLINE = 180.0


async def until[T](found: Callable[[], Awaitable[T | None]], what: str) -> T:
    """What is found, as soon as it is."""
    deadline = time.monotonic() + DEADLINE
    while (answer := await found()) is None:
        assert time.monotonic() < deadline, f"in vain: {what}"
        await asyncio.sleep(0.01)
    return answer
