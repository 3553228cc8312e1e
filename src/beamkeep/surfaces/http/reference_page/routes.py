"""The routes of the page, of the files that it loads, and of its search."""

from collections.abc import Iterator
from importlib.resources import files
from urllib.parse import parse_qs

from beamkeep.kernel import Catalogue, Route
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.http.documents import PublicDocument
from beamkeep.surfaces.http.messages import JSON, Headers, HttpRequest, HttpResponse
from beamkeep.surfaces.http.routes import PublicRoute, Responder
from beamkeep.surfaces.tools.finding import operation_index

PAGE, INDEX = "/docs", "index.html"
POLICY = "; ".join(
    [
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        *(f"{what} 'none'" for what in ("base-uri", "form-action", "frame-ancestors")),
        "require-trusted-types-for 'script'",
    ]
)
"""Nothing but the files of this package is loaded, and nothing but this service is called."""
KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
MOST_CHARACTERS, MOST_FOUND = 80, 25
"""Limits of a search: anyone can search, so it must cost little."""


def reference_page_routes(catalogue: Catalogue) -> Iterator[PublicRoute]:
    """Yield the routes of the page; anyone may read them, as the document they show."""
    answers = {f"{PAGE}/search": _search(catalogue)}
    for file in files(__package__).joinpath("files").iterdir():
        path = PAGE if file.name == INDEX else f"{PAGE}/{file.name}"
        answers[path] = _file(file.name, file.read_bytes())
    for path, answer in answers.items():
        for method in ("GET", "HEAD"):
            yield PublicRoute(path, Route(method, path), answer)


def _file(name: str, body: bytes) -> Responder:
    headers: Headers = {
        b"content-type": KINDS[name.rpartition(".")[2]].encode(),
        b"content-security-policy": POLICY.encode(),
        b"referrer-policy": b"no-referrer",
        b"cross-origin-opener-policy": b"same-origin",
    }

    return PublicDocument(headers, lambda: body)


def _search(catalogue: Catalogue) -> Responder:
    """Return the names of the operations that fit words best, by the search that agents use."""

    async def answer(request: HttpRequest) -> HttpResponse:
        asked = parse_qs(request.scope["query_string"].decode("latin-1")).get("words", [""])
        index = operation_index(catalogue)
        names = index.find(asked[0][:MOST_CHARACTERS], catalogue.named, MOST_FOUND)
        return HttpResponse(200, JSON, encode({"operations": names}))

    return answer
