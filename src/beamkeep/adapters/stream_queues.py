"""Queues for commands on streams that several callers change at once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from types import TracebackType

from beamkeep.runtime.store import MovedError, Stream

CONTENTION_SECONDS = 1.0
"""A stream is contended for so long after a command last lost or waited there."""
WAIT_TIMEOUT = 5.0
"""A command that has waited so long continues without a turn, and may lose a conflict."""

type ProcessLock = Callable[[str], AbstractAsyncContextManager[bool]]
"""Locks a name against other processes, and yields whether it had to wait for one of them."""


class StreamQueues:
    """Lets commands on one stream run one after another, as soon as one of them lost a conflict.

    The queue only avoids conflicts: an append checks what it has read, with or without a turn.
    """

    def __init__(self, process_lock: ProcessLock | None = None) -> None:
        self._process_lock = process_lock
        self._queues: dict[Stream, _Queue] = {}
        """The contended streams; the one whose contention ends first comes first."""

    def is_contended(self, stream: Stream | None) -> bool:
        """Whether a command on this stream may have to wait."""
        queue = self._queues.get(stream) if stream else None
        return queue is not None and not queue.is_over()

    def take(self, stream: Stream | None) -> AbstractAsyncContextManager[None]:
        """Wait for the turn on a contended stream; do not wait on any other stream."""
        if stream is None:
            return nullcontext()
        if self.is_contended(stream):
            return self._queued(stream, self._queues[stream])
        return _Unqueued(self, stream)

    @asynccontextmanager
    async def _queued(self, stream: Stream, queue: "_Queue") -> AsyncGenerator[None]:
        queue.callers += 1
        try:
            async with AsyncExitStack() as turn:
                await self._wait(stream, queue, turn)
                yield
        except MovedError:
            self.remember(stream)
            raise
        finally:
            queue.callers -= 1
            if queue.callers:
                self.remember(stream)

    async def _wait(self, stream: Stream, queue: "_Queue", turn: AsyncExitStack) -> None:
        try:
            async with asyncio.timeout(WAIT_TIMEOUT):
                await turn.enter_async_context(queue.lock)
        except TimeoutError:
            return
        # Only the first in the queue waits for other processes, so one connection is enough.
        if self._process_lock:
            name = " ".join(map(str, stream))
            if await turn.enter_async_context(self._process_lock(name)):
                self.remember(stream)

    def remember(self, stream: Stream) -> None:
        """Note that a command lost a conflict on a stream, or waits there."""
        queue = self._queues[stream] = self._queues.pop(stream, None) or _Queue()
        queue.until = _now() + CONTENTION_SECONDS
        while (oldest := next(iter(self._queues))) != stream and self._queues[oldest].is_over():
            del self._queues[oldest]


class _Unqueued:
    """A command that does not wait; others wait if it loses a conflict."""

    def __init__(self, queues: StreamQueues, stream: Stream) -> None:
        self._queues, self._stream = queues, stream

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, MovedError):
            self._queues.remember(self._stream)


class _Queue:
    def __init__(self) -> None:
        self.lock, self.callers, self.until = asyncio.Lock(), 0, 0.0

    def is_over(self) -> bool:
        """Whether no command waits, and none has waited or lost recently."""
        return not self.callers and self.until < _now()


def _now() -> float:
    return asyncio.get_running_loop().time()
