"""Taking turns on a stream that several callers change at once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from beamkeep.runtime.store import MovedError, Stream

REMEMBERED_FOR = 1.0
"""So long after somebody last lost or waited there, a stream is no longer fought over."""
PATIENCE = 5.0
"""Whoever waited so long goes on without a turn, and at worst loses as it would have before."""

type Among = Callable[[str], AbstractAsyncContextManager[bool]]
"""Keeps other processes away from a name meanwhile; tells whether it had to wait for one."""


class StreamQueues:
    """Lets commands on one stream come one after the other, from the first that loses there.

    They are only spared conflicts: an append is held to what was read, with or without a turn.
    """

    def __init__(self, among_processes: Among | None = None) -> None:
        self._among_processes = among_processes
        self._queues: dict[Stream, _Queue] = {}
        """Of streams that are fought over; the one to be forgotten first comes first."""

    def is_contended(self, stream: Stream | None) -> bool:
        """Whether whoever comes now may have to wait."""
        queue = self._queues.get(stream) if stream else None
        return queue is not None and not queue.is_over()

    @asynccontextmanager
    async def take(self, stream: Stream | None) -> AsyncGenerator[None]:
        """Come when it is one's turn: at once, unless the stream is fought over."""
        if stream is None:
            yield
            return
        try:
            if self.is_contended(stream):
                async with self._queued(stream, self._queues[stream]):
                    yield
            else:
                yield
        except MovedError:
            self._remember(stream)
            raise

    @asynccontextmanager
    async def _queued(self, stream: Stream, queue: "_Queue") -> AsyncGenerator[None]:
        queue.callers += 1
        try:
            async with AsyncExitStack() as turn:
                await self._wait(stream, queue, turn)
                yield
        finally:
            queue.callers -= 1
            if queue.callers:
                self._remember(stream)

    async def _wait(self, stream: Stream, queue: "_Queue", turn: AsyncExitStack) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await turn.enter_async_context(queue.lock)
        except TimeoutError:
            return
        # Only the first of the queue waits for other processes: the rest need no connection.
        if self._among_processes:
            name = " ".join(map(str, stream))
            if await turn.enter_async_context(self._among_processes(name)):
                self._remember(stream)

    def _remember(self, stream: Stream) -> None:
        queue = self._queues[stream] = self._queues.pop(stream, None) or _Queue()
        queue.until = _now() + REMEMBERED_FOR
        while (oldest := next(iter(self._queues))) != stream and self._queues[oldest].is_over():
            del self._queues[oldest]


class _Queue:
    def __init__(self) -> None:
        self.lock, self.callers, self.until = asyncio.Lock(), 0, 0.0

    def is_over(self) -> bool:
        """Whether nobody waits, and nobody has for a while."""
        return not self.callers and self.until < _now()


def _now() -> float:
    return asyncio.get_running_loop().time()
