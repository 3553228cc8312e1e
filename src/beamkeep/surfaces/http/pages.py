"""The pages that anyone may read."""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from beamkeep import surfaces
from beamkeep.kernel import Catalogue
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.openapi import document_text

from .edge import METADATA, Edge
from .request import Headers, HttpRequest
from .routes import JSON, HttpResponse, PublicRoute

TEXT: Headers = {b"content-type": b"text/plain; charset=utf-8"}
METRICS: Headers = {b"content-type": b"text/plain; version=0.0.4; charset=utf-8"}
DOCS: Headers = {
    b"content-type": b"text/html; charset=utf-8",
    b"content-security-policy": b"default-src 'self' 'unsafe-inline'",
}


def probes(ready: Callable[[], Awaitable[str | None]]) -> list[PublicRoute]:
    """Return the pages a supervisor asks for, which often knows only an IP address."""

    async def readiness(_: HttpRequest) -> HttpResponse:
        missing = await ready()
        return HttpResponse(503 if missing else 200, TEXT, (missing or "ready").encode())

    alive = _fixed("/health", TEXT, b"alive", any_host=True)
    return [alive, PublicRoute("/ready", readiness, any_host=True)]


def metrics_page(metrics: Callable[[], bytes]) -> PublicRoute:
    """Return the page of metrics."""

    async def exposition(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, METRICS, metrics())

    return PublicRoute("/metrics", exposition)


def pages(catalogue: Catalogue, edge: Edge) -> list[PublicRoute]:
    """Return the documentation, for people and for programs."""
    docs = files(surfaces).joinpath("docs.html").read_bytes()
    return [
        _fixed("/openapi.json", JSON, document_text(catalogue).encode()),
        _fixed("/docs", DOCS, docs),
        _fixed(METADATA, JSON, encode(edge.metadata())),
        _fixed(f"{METADATA}/mcp", JSON, encode(edge.metadata("/mcp"))),
    ]


def _fixed(path: str, headers: Headers, body: bytes, any_host: bool = False) -> PublicRoute:
    async def page(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, headers, body)

    return PublicRoute(path, page, any_host)
