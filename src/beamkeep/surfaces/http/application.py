"""The ASGI application: every request takes the same steps, whatever answers it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack

import structlog
from starlette.routing import Router as LifespanOnly
from starlette.types import Receive, Scope, Send

from beamkeep.kernel import Refusal
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admission
from beamkeep.telemetry import CallRecord, Telemetry

from .edge import Edge
from .limits import BodyIncompleteError, DeadlineExceededError, InternalError
from .mcp import mcp_route
from .pages import metrics_page, pages, probes
from .request import HttpRequest
from .rest import rest_routes
from .routes import (
    CallRoute,
    HttpResponse,
    HttpRoute,
    PublicRoute,
    Router,
    StreamResponse,
    StreamRoute,
)

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class HttpApplication:
    """Answers HTTP requests. Plain ASGI: the objects of a framework cost more than a command."""

    def __init__(
        self,
        edge: Edge,
        routes: Iterable[HttpRoute],
        admission: Admission | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        routes = tuple(routes)
        self._edge, self._admission = edge, admission
        self._telemetry, self._router = telemetry or Telemetry(), Router(routes)
        pages = [route for route in routes if isinstance(route, PublicRoute)]
        self._at_any_host = {page.path.encode() for page in pages if page.any_host}
        self._stopping = asyncio.Event()

    def stop_streams(self) -> None:
        """End every stream, because the service stops."""
        self._stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        match scope["type"]:
            case "http":
                await self._serve(HttpRequest(scope, receive, self._edge.limits), send)
            case "lifespan":
                await LifespanOnly()(scope, receive, send)
            case _:
                await send({"type": "websocket.close"})

    async def _serve(self, request: HttpRequest, send: Send) -> None:
        # 1. The host, except for probes, which often know only an IP address.
        # 2. The route.
        edge = self._edge
        try:
            if request.path not in self._at_any_host:
                edge.require_host(request)
            found = self._router.find(request.method, request.path.decode("latin-1"))
            route, request.values = found
        except Refusal as refusal:
            response = edge.preflight(request, refusal) or edge.refused(refusal)
            await self._send(response, request, send)
            return
        if isinstance(route, CallRoute):
            await self._call(route, request, send)
            return
        try:
            response = await route.answer(request)
        except Exception as error:
            response = edge.refused(self._refusal(error, request, route.path))
        await self._send(response, request, send)

    async def _call(self, route: CallRoute, request: HttpRequest, send: Send) -> None:
        id, surface = request.correlation_id, route.surface
        with self._telemetry.call(route.name, surface, id) as record, ExitStack() as slot:
            try:
                response = await self._answer(route, request, slot, record)
                record.answered(response.status)
            except Exception as error:
                refusal = self._refusal(error, request, route.name)
                record.answered(refusal.status, type(refusal).__name__)
                response = self._edge.refused(refusal, surface)
            # 7. The response. After its head a failure can only cut the connection.
            try:
                await self._send(response, request, send)
            except Exception as error:
                refusal = self._refusal(error, request, route.name)
                record.answered(refusal.status, type(refusal).__name__)

    async def _answer(
        self, route: CallRoute, request: HttpRequest, slot: ExitStack, record: CallRecord
    ) -> HttpResponse | StreamResponse:
        async with asyncio.timeout(self._edge.limits.deadline_seconds) as request.deadline:
            # 3. The caller: origin, sizes, credentials, rate.
            caller = request.caller = await self._edge.identify(request, route)
            # 4. A free slot.
            slot.enter_context(self._edge.slot(caller, route))
            # 5. The grant, where the answer does not look for it itself.
            if isinstance(route, StreamRoute):
                assert self._admission is not None, "streams are authorized"  # noqa: S101
                request.admitted = await self._admission.admit(route.name, caller)
            # 6. The answer.
            if not route.recorded:
                record.discard()
            return await route.answer(request)

    def _refusal(self, error: Exception, request: HttpRequest, name: str) -> Refusal:
        """Return what the caller is told about an error. Log it unless it is a refusal."""
        if isinstance(error, Refusal):
            return error
        expired = request.deadline and request.deadline.expired()
        if expired and request.reading:
            return BodyIncompleteError()
        log.error("call failed", name=name, correlation_id=request.correlation_id, exc_info=error)
        return DeadlineExceededError() if expired else InternalError()

    async def _send(
        self, response: HttpResponse | StreamResponse, request: HttpRequest, send: Send
    ) -> None:
        headers = {**self._edge.headers(request), **response.headers}
        if isinstance(response, HttpResponse) and response.status != 204:
            headers[b"content-length"] = b"%d" % len(response.body)
        start = {"type": "http.response.start", "status": response.status}
        await send(start | {"headers": list(headers.items())})
        if isinstance(response, HttpResponse):
            await send({"type": "http.response.body", "body": response.body})
        else:
            await self._stream(response, request, send)

    async def _stream(self, response: StreamResponse, request: HttpRequest, send: Send) -> None:
        sending = asyncio.create_task(_send_parts(response.parts, send))
        gone = asyncio.create_task(request.disconnected())
        stopping = asyncio.create_task(self._stopping.wait())
        tasks = [sending, gone, stopping]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            connected, complete = not gone.done(), sending.done()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await response.parts.aclose()
        if complete:
            sending.result()
        if connected:
            last = b"" if complete else response.at_shutdown
            await send({"type": "http.response.body", "body": last})


async def _send_parts(parts: AsyncGenerator[bytes], send: Send) -> None:
    # Sending waits while the client does not read, so nothing piles up here.
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})


def application(
    service: Service,
    edge: Edge,
    *,
    ready: Callable[[], Awaitable[str | None]],
    metrics: Callable[[], bytes] | None,
    mcp_origins: Sequence[str] = (),
    telemetry: Telemetry | None = None,
    routes: Sequence[HttpRoute] = (),
) -> HttpApplication:
    """Return everything the service answers over HTTP.

    `ready` says what the service lacks, if anything. Without `metrics` there is no /metrics here.
    """
    telemetry = telemetry or Telemetry()
    all_routes = [
        *probes(ready),
        *pages(service.catalogue, edge),
        *([metrics_page(metrics)] if metrics else []),
        *rest_routes(service),
        mcp_route(service, telemetry, mcp_origins),
        *routes,
    ]
    return HttpApplication(edge, all_routes, service.admission, telemetry)


def metrics_application(edge: Edge, metrics: Callable[[], bytes]) -> HttpApplication:
    """Return an application that serves the metrics and nothing else."""
    return HttpApplication(edge, [metrics_page(metrics)])
