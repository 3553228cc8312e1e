"""Everything that is served over HTTP, and the pages of it that anyone may read."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from beamkeep.kernel import Catalogue, Route, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.codec import encode
from beamkeep.telemetry import Telemetry

from .documents import PublicDocument
from .edge import METADATA, Edge, EdgeOptions
from .messages import JSON, Headers, HttpRequest, HttpResponse, StreamResponse
from .origins import AllowedNames
from .rest import rest_routes
from .routes import HttpRoute, PublicRoute, Responder

TEXT: Headers = {b"content-type": b"text/plain; charset=utf-8"}
METRICS: Headers = {b"content-type": b"text/plain; version=0.0.4; charset=utf-8"}


def application(
    service: Service,
    options: EdgeOptions,
    *,
    ready: Callable[[], Awaitable[str | None]],
    metrics: Callable[[], bytes] | None,
    remark: Callable[[], str | None] = lambda: None,
    mcp_origins: Sequence[str] = (),
    telemetry: Telemetry | None = None,
    routes: Sequence[HttpRoute] = (),
) -> Edge:
    """Return all of HTTP. `ready` says what is missing, `remark` another fault; `routes` win."""
    telemetry = telemetry or Telemetry()

    async def readiness(_: HttpRequest) -> HttpResponse:
        missing = await ready()
        text = "\n".join(filter(None, [missing or "ready", remark()]))
        return HttpResponse(503 if missing else 200, TEXT, text.encode())

    pages = {
        "/health": _fixed(TEXT, b"alive"),
        "/ready": readiness,
        "/openapi.json": PublicDocument(JSON, lambda: _document(service.catalogue)),
        METADATA: _metadata(options, ""),
        f"{METADATA}/mcp": _metadata(options, "/mcp"),
    }
    winning = {each.route for each in routes}
    all_routes = [
        *_public(pages),
        *(_metrics(metrics) if metrics else ()),
        *(each for each in rest_routes(service) if each.route not in winning),
        _mcp_route(service, telemetry, mcp_origins),
        *routes,
    ]
    return Edge(options, all_routes, service.admission, telemetry=telemetry)


def _document(catalogue: Catalogue) -> bytes:
    # What makes it takes long to import as well, and few processes are asked for it.
    from beamkeep.surfaces.http.openapi import document_text  # noqa: PLC0415

    return document_text(catalogue).encode()


def _mcp_route(service: Service, telemetry: Telemetry, origins: Sequence[str]) -> HttpRoute:
    """Return the route of every tool; `origins` are those of web pages that may call it."""
    made: list[Responder] = []

    def make() -> None:
        # The SDK takes long to import, and a process that no agent calls does not need it.
        from .mcp import mcp_responder  # noqa: PLC0415

        made.append(mcp_responder(service, telemetry))

    async def answer(request: HttpRequest) -> HttpResponse | StreamResponse:
        if not made:
            await asyncio.to_thread(make)
        return await made[0](request)

    route = Route("POST", "/mcp")
    kind, allowed = SurfaceKind.MCP_STREAMABLE_HTTP, AllowedNames(origins)
    return HttpRoute("mcp", route, answer, surface=kind, origins=allowed, recorded=False)


def metrics_application(options: EdgeOptions, metrics: Callable[[], bytes]) -> Edge:
    """Return an application that serves the metrics and nothing else."""
    return Edge(options, _metrics(metrics))


def _metrics(metrics: Callable[[], bytes]) -> Iterator[PublicRoute]:
    async def exposition(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, METRICS, metrics())

    return _public({"/metrics": exposition})


def _metadata(options: EdgeOptions, path: str) -> Responder:
    """Return the metadata of a protected resource (RFC 9728)."""
    metadata = {
        "resource": options.resource_url + path,
        "authorization_servers": options.authorization_servers,
        "bearer_methods_supported": ["header"],
        **({"beamkeep_client_id": cli} if (cli := options.cli_client_id) else {}),
    }
    return _fixed(JSON, encode(metadata))


def _fixed(headers: Headers, body: bytes) -> Responder:
    async def answer(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, headers, body)

    return answer


def _public(pages: Mapping[str, Responder]) -> Iterator[PublicRoute]:
    for path, answer in pages.items():
        for method in ("GET", "HEAD"):
            yield PublicRoute(path, Route(method, path), answer)
