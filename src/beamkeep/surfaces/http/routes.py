"""The kinds of routes that the edge serves, and which of them answers a method and a path."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from urllib.parse import unquote

from beamkeep.kernel import Record, Refusal, Route, SurfaceKind

from .messages import HttpRequest, HttpResponse, StreamResponse
from .origins import AllowedNames


class RouteNotFoundError(Refusal, status=404):
    """There is nothing at this address. /openapi.json lists every address."""


class MethodNotAllowedError(Refusal, status=405):
    """This address does not accept this method."""

    def __init__(self, allow: Sequence[str]) -> None:
        super().__init__(f"It accepts {' and '.join(allow)}.", allow=allow)
        self.allow = ", ".join(allow).encode()


class HttpRoute(Record):
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


class StreamRoute(HttpRoute):
    """A call whose body or answer is a stream of any length; the edge authorizes it by its name."""


class PublicRoute(HttpRoute):
    """A page that anyone may read, without a token."""

    recorded: bool = False


class _Node:
    __slots__ = ("literals", "placeholder", "routes")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.placeholder: _Node | None = None
        self.routes: dict[str, HttpRoute] = {}


class Router:
    """A tree of path segments; a literal segment wins over a placeholder."""

    def __init__(self, routes: Iterable[HttpRoute]) -> None:
        self._root = _Node()
        for route in routes:
            node = self._root
            for segment in route.route.path.split("/")[1:]:
                if segment.startswith("{"):
                    node.placeholder = node = node.placeholder or _Node()
                else:
                    node = node.literals.setdefault(segment, _Node())
            if route.route.method in node.routes:
                raise ValueError(f"two routes for {route.route}")
            node.routes[route.route.method] = route

    def find(self, method: str, path: bytes) -> tuple[HttpRoute, dict[str, str]]:
        """Return the route and the values in the path. Raise a refusal when there is none."""
        node: _Node | None = self._root
        values: list[str] = []
        for segment in path.decode("latin-1").split("/")[1:]:
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
        route = node.routes[method]
        return route, dict(zip(route.route.fields, values, strict=True))
