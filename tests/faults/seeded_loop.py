"""An event loop whose dice choose who runs next, and whose time passes only in waiting."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from math import inf
from random import Random
from typing import Any


class StuckError(Exception):
    """Everybody waits for somebody, or time goes on without an end."""


class SeededLoop(asyncio.BaseEventLoop):
    """Runs coroutines with no socket, no thread and no clock: all it does is in its dice."""

    def __init__(self, dice: Random, longest: float) -> None:
        super().__init__()
        self._now, self.longest = 0.0, longest
        # The loop takes what is ready from the left, and asks its selector how long to wait.
        self._ready: deque[asyncio.Handle] = _Shuffled(dice)
        self._selector = self

    def time(self) -> float:
        """The time that was waited so far."""
        return self._now

    def select(self, timeout: float | None) -> list[object]:
        """Let the time pass at once."""
        if timeout is None or self._now > self.longest:
            raise StuckError(f"at {self._now:.3f} s")
        self._now += timeout
        return []

    def _process_events(self, event_list: object) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody waits in another thread."""


class _Shuffled(deque[asyncio.Handle]):
    def __init__(self, dice: Random) -> None:
        super().__init__()
        self._random = dice.random

    def popleft(self) -> asyncio.Handle:
        if (length := len(self)) > 1:
            self.rotate(int(self._random() * length))
        return super().popleft()


def run_seeded[T](main: Coroutine[Any, Any, T], dice: Random, longest: float) -> T:
    """Run a coroutine to its end, and end whatever it has left behind."""
    loop = SeededLoop(dice, longest)
    try:
        return loop.run_until_complete(main)
    finally:
        # What is left behind ends in the loop, however late it has become there.
        loop.longest = inf
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        try:
            if left:
                loop.run_until_complete(asyncio.wait(left))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            main.close()
            loop.close()
