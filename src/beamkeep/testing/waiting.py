"""Waiting for a condition, with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import overload

DEADLINE = 180.0


@overload
async def until[T](found: Callable[[], Awaitable[T | None]], what: str = ...) -> T: ...
@overload
async def until[T](found: Callable[[], T | None], what: str = ...) -> T: ...
async def until(found: Callable[[], object], what: str = "the condition holds") -> object:
    """Return the first answer of `found` that is true; fail when the deadline is over."""
    deadline = time.monotonic() + DEADLINE
    while True:
        answer = found()
        if isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        assert time.monotonic() < deadline, f"in vain: {what}"
        await asyncio.sleep(0.005)
