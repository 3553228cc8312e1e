"""The web console: its files under /console/, and what it needs to know before the login."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit

from beamkeep.kernel import Record, Refusal, Route
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.http.documents import accepts_gzip
from beamkeep.surfaces.http.messages import JSON, Headers, HttpRequest, HttpResponse
from beamkeep.surfaces.http.refusals import RouteNotFoundError
from beamkeep.surfaces.http.routes import PublicRoute, Responder

CONSOLE, INDEX, ASSETS, COMPRESSED = "/console/", "index.html", "assets/", ".gz"
KINDS = {
    "css": b"text/css; charset=utf-8",
    "html": b"text/html; charset=utf-8",
    "ico": b"image/x-icon",
    "js": b"text/javascript; charset=utf-8",
    "json": b"application/json",
    "png": b"image/png",
    "svg": b"image/svg+xml",
    "txt": b"text/plain; charset=utf-8",
    "webmanifest": b"application/manifest+json",
    "woff2": b"font/woff2",
}
FOREVER = b"public, max-age=31536000, immutable"


class ConsoleNotBuiltError(Refusal, status=404):
    """This service was installed without its console. Install it from a wheel, which contains it.

    In a checkout, build the console with `npm ci` and `npm run build` in the folder `console`.
    """


class ConsoleSettings(Record):
    """What the console reads without a token, so that people can log in."""

    issuer: str | None
    """The identity provider of people; null if people need no login."""
    client_id: str | None
    scope: str
    resource: str
    """The OAuth resource for which the console asks for a token."""
    development: bool
    """Whether calls need no token."""
    version: str
    facility_name: str
    timezone: str
    """The IANA name of the time zone in which people of the facility read times."""


def console_routes(
    settings: ConsoleSettings, build: Traversable | None = None
) -> Iterator[PublicRoute]:
    """Yield the routes of the console, whose files are in `build` (default: in this package)."""
    found = dict(_files(build or files(__name__).joinpath("built")))
    answers = {f"{CONSOLE}settings.json": _settings(settings)}
    bare, every = CONSOLE.removesuffix("/"), (CONSOLE, f"{CONSOLE}*")
    if INDEX in found:
        answers |= dict.fromkeys(every, _file(found, _protected(settings)))
        answers |= {"/": _moved, bare: _moved}
    else:
        answers |= dict.fromkeys((bare, *every), _not_built)
    for path, answer in answers.items():
        for method in ("GET", "HEAD"):
            yield PublicRoute(path, Route(method, path), answer)


def _files(folder: Traversable, under: str = "") -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_dir():
            yield from _files(each, f"{under}{each.name}/")
        else:
            yield under + each.name, each.read_bytes()


def _protected(settings: ConsoleSettings) -> Headers:
    """Return headers by which a page loads only its own files, and calls only whom it must."""
    issuer = urlsplit(settings.issuer or "")
    calls = ["'self'", *([f"{issuer.scheme}://{issuer.netloc}"] if issuer.netloc else [])]
    policy = [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        f"connect-src {' '.join(calls)}",
        "manifest-src 'self'",
        *(f"{what} 'none'" for what in ("base-uri", "form-action", "frame-ancestors")),
        "require-trusted-types-for 'script'",
    ]
    return {
        b"content-security-policy": "; ".join(policy).encode(),
        b"referrer-policy": b"no-referrer",
        b"cross-origin-opener-policy": b"same-origin",
    }


def _file(found: Mapping[str, bytes], protected: Headers) -> Responder:
    """Return what answers with the file at a path, or with the page that shows this path."""

    async def answer(request: HttpRequest) -> HttpResponse:
        name = request.path.decode("latin-1").removeprefix(CONSOLE)
        # A page of an older version would take the page for the script that it asks for.
        if name not in found and name.startswith(ASSETS):
            raise RouteNotFoundError
        name = name if name in found else INDEX
        headers = {
            **protected,
            b"content-type": KINDS.get(name.rpartition(".")[2], b"application/octet-stream"),
            b"cache-control": FOREVER if name.startswith(ASSETS) else b"no-cache",
        }
        if name + COMPRESSED in found:
            headers[b"vary"] = b"accept-encoding"
            if accepts_gzip(request):
                headers[b"content-encoding"] = b"gzip"
                name += COMPRESSED
        return HttpResponse(200, headers, found[name])

    return answer


def _settings(settings: ConsoleSettings) -> Responder:
    body = encode(settings)

    async def answer(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, JSON, body)

    return answer


async def _moved(_: HttpRequest) -> HttpResponse:
    return HttpResponse(307, {b"location": CONSOLE.encode()}, b"")


async def _not_built(_: HttpRequest) -> HttpResponse:
    raise ConsoleNotBuiltError
