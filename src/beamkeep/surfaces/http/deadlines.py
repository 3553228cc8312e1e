"""The time limit of requests."""

import asyncio
from types import TracebackType
from typing import Self


class Deadlines:
    """Time limits of one length. One timer watches the request that began first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: dict[Deadline, None] = {}
        """The requests under way; the one whose time ends first comes first."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def limit(self) -> "Deadline":
        """Return a context manager that raises TimeoutError when its block takes too long."""
        return Deadline(self)

    def begin(self, deadline: "Deadline") -> float:
        """Watch a request from now on, and return when its time ends."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._seconds
        self._running.pop(deadline, None)
        self._running[deadline] = None
        if self._timer is None or self._loop is not loop:
            self._loop, self._timer = loop, loop.call_at(ends_at, self._look)
        return ends_at

    def end(self, deadline: "Deadline") -> None:
        """Do not watch a request any longer."""
        # The timer stays: to set one for each request would take longer than the other steps.
        self._running.pop(deadline, None)

    def _look(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        for deadline in [*self._running]:
            if deadline.when() > loop.time():
                self._timer = loop.call_at(deadline.when(), self._look)
                return
            del self._running[deadline]
            deadline.expire()


class Deadline:
    """The time limit of one request."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines, self._is_expired = deadlines, False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task, "requests are answered by tasks"  # noqa: S101
        self._task, self._cancelling = task, task.cancelling()
        self.restart()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._deadlines.end(self)
        if self._is_expired:
            # A task that something else cancelled too stays cancelled.
            is_ours = self._task.uncancel() <= self._cancelling
            if is_ours and isinstance(error, asyncio.CancelledError):
                raise TimeoutError from error

    def when(self) -> float:
        """Return when the time ends, by the clock of the event loop."""
        return self._ends_at

    def restart(self) -> None:
        """Let the time begin again, unless it is over."""
        if not self._is_expired:
            self._ends_at = self._deadlines.begin(self)

    def expire(self) -> None:
        """Cancel what takes too long."""
        self._is_expired = True
        self._task.cancel()

    def expired(self) -> bool:
        """Return whether the time is over."""
        return self._is_expired
