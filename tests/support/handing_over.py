"""The moment in which a value may be handed over, for tests of control systems without a fence."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from beamkeep.parts.conducting.control import HandingOver


def open_while(may_send: Callable[[], bool]) -> HandingOver:
    """Return a moment that lasts as long as the question says."""

    @asynccontextmanager
    async def moment() -> AsyncGenerator[Callable[[], bool]]:
        yield may_send

    return moment


always_open = open_while(lambda: True)
