"""The hosts and web origins that the service answers to."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from .messages import Headers, HttpRequest, HttpResponse

REQUEST_HEADERS = (
    b"Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, Proposal-Note,"
    b" X-Correlation-Id, X-Surface-Id"
)
RESPONSE_HEADERS = (
    b"ETag, Idempotency-Replayed, Location, Position-Token, Retry-After, WWW-Authenticate,"
    b" X-Correlation-Id"
)
PREFLIGHT_SECONDS = b"600"


class AllowedNames:
    """Hosts or origins, each with its port, without one, or with `:*` for any port."""

    def __init__(self, names: Iterable[str]) -> None:
        lower = frozenset(name.lower().encode() for name in names)
        any_port = frozenset(name for name in lower if name.endswith(b":*"))
        self._exact = lower - any_port
        self._any_port = frozenset(name.removesuffix(b":*") for name in any_port)

    def __contains__(self, sent: bytes) -> bool:
        sent = sent.lower()
        if sent in self._exact:
            return True
        name, _, port = sent.rpartition(b":")
        return name in self._any_port and port.isdigit()


def hosts_of(base_url: str) -> list[str]:
    """Return the Host headers that name the host of an address, at any port."""
    name = urlsplit(base_url).hostname or ""
    name = f"[{name}]" if ":" in name else name
    return [name, f"{name}:*"] if name else []


class Cors:
    """Lets pages of exactly these origins call the service; without cookies, as it sets none."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origin.encode() for origin in origins)

    def headers(self, request: HttpRequest) -> Headers:
        """Return what the response needs so that a page of an allowed origin can read it."""
        if not self._origins:
            return {}
        origin = request.headers.get(b"origin")
        if origin not in self._origins:
            return {b"vary": b"Origin"}
        return {
            b"vary": b"Origin",
            b"access-control-allow-origin": origin,
            b"access-control-expose-headers": RESPONSE_HEADERS,
        }

    def preflight(self, request: HttpRequest, methods: bytes) -> HttpResponse | None:
        """Return the answer to a preflight request of an allowed origin, or None to any other."""
        asked = request.method, b"access-control-request-method" in request.headers
        if asked != ("OPTIONS", True) or request.headers.get(b"origin") not in self._origins:
            return None
        headers = {
            b"access-control-allow-methods": methods,
            b"access-control-allow-headers": REQUEST_HEADERS,
            b"access-control-max-age": PREFLIGHT_SECONDS,
        }
        return HttpResponse(204, headers, b"")
