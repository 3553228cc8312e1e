"""An application that listens on a socket, in this process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn

from beamkeep.testing.waiting import until


@asynccontextmanager
async def listening(config: uvicorn.Config) -> AsyncGenerator[int]:
    """Serve an application, and give the port at which it listens."""
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started, "the server has started")
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving
