"""Waiting for a condition, with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable

DEADLINE = 180.0


async def until[T](found: Callable[[], Awaitable[T | None]], what: str) -> T:
    """Return what `found` finds; fail when the deadline is over."""
    deadline = time.monotonic() + DEADLINE
    while (answer := await found()) is None:
        assert time.monotonic() < deadline, f"in vain: {what}"
        await asyncio.sleep(0.01)
    return answer
