"""The kinds of routes that the edge serves, and which of them answers a method and a path."""

import re
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import unquote

from beamkeep.kernel import Record, Route, SurfaceKind

from .messages import HttpRequest, HttpResponse, StreamResponse
from .origins import AllowedNames
from .refusals import MethodNotAllowedError, RouteNotFoundError

type Responder = Callable[[HttpRequest], Awaitable[HttpResponse | StreamResponse]]


class HttpRoute(Record):
    """A call with a JSON body and a JSON answer; the service behind it authorizes the caller."""

    name: str
    """The metric label, and the name in the log."""
    route: Route
    answer: Responder
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


IS_ID = re.compile(r"[0-9a-fA-F-]{36}")
"""No segment of a route looks so, and it has no character that is escaped."""
ANYTHING = "*"
"""The last segment of a route that answers for every path below it that no other route names."""


class _Node(dict[str | None, "_Node"]):
    """The segments that may follow, with None for a placeholder, and the routes that end here."""

    def __init__(self) -> None:
        super().__init__()
        self.routes: dict[str, HttpRoute] = {}


class Router:
    """A tree of path segments; a literal segment wins over a placeholder."""

    def __init__(self, routes: Iterable[HttpRoute]) -> None:
        self._root, self._literal = _Node(), dict[tuple[str, bytes], HttpRoute]()
        self._of_one = dict[tuple[str | bytes, ...], HttpRoute]()
        """The routes of one object, such as `/zones/{zone_id}` and `/zones/{zone_id}/rename`.

        By the method and the path without the id.
        """
        for route in routes:
            node = self._root
            path = route.route.path.split("/", 3)
            if len(route.route.fields) == 1 and len(path) > 2 and path[2].startswith("{"):
                others = [part.encode() for part in (path[1], *path[3:])]
                self._of_one[route.route.method, *others] = route
            if not route.route.fields and not route.route.path.endswith(ANYTHING):
                self._literal[route.route.method, route.route.path.encode()] = route
            for segment in route.route.path.split("/")[1:]:
                node = node.setdefault(None if segment.startswith("{") else segment, _Node())
            if node.routes.setdefault(route.route.method, route) is not route:
                raise ValueError(f"two routes for {route.route}")

    def find(self, method: str, path: bytes) -> tuple[HttpRoute, dict[str, str]]:
        """Return the route and the values in the path. Raise a refusal when there is none."""
        if literal := self._literal.get((method, path)):
            return literal, {}
        # Most other calls are about one object.
        parts = path.split(b"/", 3)
        if len(parts) > 2 and (route := self._of_one.get((method, parts[1], *parts[3:]))):
            id = parts[2].decode("latin-1")
            if IS_ID.fullmatch(id):
                return route, {route.route.fields[0]: id}
        node, values, below = self._root, list[str](), _Node()
        for segment in path.decode("latin-1").split("/")[1:]:
            below = node.get(ANYTHING, below)
            following = node.get(segment)
            if following is None:
                values.append(unquote(segment))
                following = node.get(None) if segment else None
            if following is None:
                node = below
                break
            node = following
        node = node if node.routes else below
        if not node.routes:
            raise RouteNotFoundError
        if method not in node.routes:
            raise MethodNotAllowedError(sorted(node.routes))
        route = node.routes[method]
        fields = route.route.fields
        return route, dict(zip(fields, values[: len(fields)], strict=True))
