"""The routes of the landing pages, open to everybody, within a rate for each address."""

import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.resources import files
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Route
from beamkeep.runtime import Service
from beamkeep.surfaces.http.limits import TokenBuckets
from beamkeep.surfaces.http.messages import Headers, HttpRequest, HttpResponse, address_of
from beamkeep.surfaces.http.routes import PublicRoute, Responder

from .html import LandingPage, html_of, nothing_here
from .pages import asset_page, dataset_page, edition_page

PAGES = "/pages"
RATE, BURST = 5.0, 50.0
"""Pages that one address may read in a second, and at once after a pause."""
POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'self'",
        *(f"{what} 'none'" for what in ("base-uri", "form-action", "frame-ancestors")),
    ]
)
SAFE: Headers = {
    b"content-security-policy": POLICY.encode(),
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"public, max-age=60",
}
HTML: Headers = {**SAFE, b"content-type": b"text/html; charset=utf-8"}
CSS: Headers = {**SAFE, b"content-type": b"text/css; charset=utf-8"}

type PageOf = Callable[[UUID, Reader], Awaitable[LandingPage | None]]


def landing_routes(
    service: Service, clock: Callable[[], float] = time.monotonic
) -> Iterator[PublicRoute]:
    """Yield the routes of the pages of editions, datasets and assets, and of their style."""
    buckets = TokenBuckets(RATE, BURST, clock)
    style = files(__package__).joinpath("files", "page.css").read_bytes()

    async def page_css(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, CSS, style)

    answers: dict[str, Responder] = {f"{PAGES}/page.css": page_css}
    kinds = {"edition": edition_page, "dataset": dataset_page, "asset": asset_page}
    for noun, find in kinds.items():
        answers[f"{PAGES}/{noun}s/{{{noun}_id}}"] = _page(service, f"{noun}_id", find, buckets)
    for path, answer in answers.items():
        for method in ("GET", "HEAD"):
            yield PublicRoute(path, Route(method, path), answer)


def _page(service: Service, field: str, find: PageOf, buckets: TokenBuckets) -> Responder:
    async def answer(request: HttpRequest) -> HttpResponse:
        buckets.take(address_of(request.scope))
        try:
            id = UUID(request.values[field])
        except ValueError:
            return HttpResponse(404, HTML, nothing_here())
        page = await find(id, service.sessions())
        if page is None:
            return HttpResponse(404, HTML, nothing_here())
        cited = page.cite_address
        link = {b"link": f'<{cited}>; rel="cite-as"'.encode()} if cited else {}
        return HttpResponse(200, {**HTML, **link}, html_of(page))

    return answer
