"""The kinds of routes that the edge serves, and which of them answers a method and a path."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from beamkeep.kernel import Record, Refusal, Route, SurfaceKind

from .origins import AllowedNames
from .request import Headers, HttpRequest

JSON: Headers = {b"content-type": b"application/json"}


class RouteNotFoundError(Refusal, status=404):
    """There is nothing at this address. /openapi.json lists every address."""


class MethodNotAllowedError(Refusal, status=405):
    """This address does not accept this method."""

    def __init__(self, allow: Sequence[str]) -> None:
        super().__init__(f"It accepts {' and '.join(allow)}.", allow=allow)
        self.allow = ", ".join(allow).encode()


class HttpResponse(NamedTuple):
    """A response whose body is known; the edge adds the headers that every response has."""

    status: int
    headers: Headers
    body: bytes


class StreamResponse(NamedTuple):
    """A response whose body is sent part by part, as fast as the client reads it.

    The generator is closed when the client disconnects and when the service stops.
    """

    status: int
    headers: Headers
    parts: AsyncGenerator[bytes]
    at_shutdown: bytes = b""
    """The last part when the service stops."""


class PublicRoute(Record):
    """A page that anyone may read, without a token."""

    path: str
    answer: Callable[[HttpRequest], Awaitable[HttpResponse]]
    any_host: bool = False
    """Whether it is served whatever the Host header says."""


class CallRoute(Record):
    """A call with a JSON body and a JSON answer; the service behind it authorizes the caller."""

    name: str
    """The metric label, and the name in the log."""
    route: Route
    answer: Callable[[HttpRequest], Awaitable[HttpResponse | StreamResponse]]
    surface: SurfaceKind = SurfaceKind.HTTP
    origins: AllowedNames | None = None
    """The origins whose pages may call it, where that is restricted."""
    recorded: bool = True
    """Whether the edge records the answer; each tool of MCP records its own calls."""


class StreamRoute(CallRoute):
    """A call whose body or answer is a stream of any length; the edge authorizes it by its name."""


type HttpRoute = PublicRoute | CallRoute


class _Node:
    __slots__ = ("literals", "placeholder", "routes")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.placeholder: _Node | None = None
        self.routes: dict[str, tuple[HttpRoute, tuple[str, ...]]] = {}


class Router:
    """A tree of path segments; a literal segment wins over a placeholder."""

    def __init__(self, routes: Iterable[HttpRoute]) -> None:
        self._root = _Node()
        for route in routes:
            if isinstance(route, PublicRoute):
                for method in ("GET", "HEAD"):
                    self._add(Route(method, route.path), route)
            else:
                self._add(route.route, route)

    def _add(self, at: Route, route: HttpRoute) -> None:
        node = self._root
        for segment in at.path.split("/")[1:]:
            if segment.startswith("{"):
                node.placeholder = node = node.placeholder or _Node()
            else:
                node = node.literals.setdefault(segment, _Node())
        if at.method in node.routes:
            raise ValueError(f"two routes for {at}")
        node.routes[at.method] = route, at.fields

    def find(self, method: str, path: str) -> tuple[HttpRoute, dict[str, str]]:
        """Return the route and the values in the path. Raise a refusal when there is none."""
        node: _Node | None = self._root
        values: list[str] = []
        for segment in path.split("/")[1:]:
            literal = node.literals.get(segment)
            if literal is None:
                node = node.placeholder if segment else None
                values.append(unquote(segment))
            else:
                node = literal
            if node is None:
                raise RouteNotFoundError
        if not node.routes:
            raise RouteNotFoundError
        if method not in node.routes:
            raise MethodNotAllowedError(sorted(node.routes))
        route, fields = node.routes[method]
        return route, dict(zip(fields, values, strict=True))
