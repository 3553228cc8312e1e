"""An application that listens on a socket, in this process."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from starlette.types import ASGIApp

from beamkeep.adapters.http_server import HttpServer


def listening(application: ASGIApp, **options: Any) -> AbstractAsyncContextManager[int]:
    """Serve an application, and give the port at which it listens."""
    given: dict[str, Any] = {"deadline_seconds": 30, "limit_concurrency": 1000}
    return HttpServer(application, host="127.0.0.1", port=0, **(given | options)).listening()
