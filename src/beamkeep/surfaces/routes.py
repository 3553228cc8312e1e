"""From a method and a path to the operation or question that answers there."""

from collections.abc import Sequence
from urllib.parse import unquote

from beamkeep.kernel import Catalogue, Operation, Question, Refusal

type Row = Operation | Question


class RouteNotFoundError(Refusal):
    """There is nothing at this address. What there is stands in /openapi.json."""

    status = 404


class MethodNotAllowedError(Refusal):
    """This address does not take this method."""

    status = 405


class Routes:
    """Every method and path, as a tree by segment; a literal wins over a placeholder."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._root = _Level()
        for row in (*catalogue.operations, *catalogue.questions):
            level = self._root
            for segment in row.route.path.split("/")[1:]:
                if segment.startswith("{"):
                    level.any = level.any or _Level()
                    level = level.any
                else:
                    level = level.literal.setdefault(segment, _Level())
            level.rows[row.route.method] = row, row.route.fields

    def find(self, method: str, path: str) -> tuple[Row, dict[str, str]]:
        """What answers here, with the values its path holds."""
        segments = path.split("/")
        if "%" in path:
            segments = [unquote(segment) for segment in segments]
        values: list[str] = []
        level = _descend(self._root, segments, 1, values)
        if level is None:
            raise RouteNotFoundError
        if method not in level.rows:
            raise MethodNotAllowedError(allow=sorted(level.rows))
        row, fields = level.rows[method]
        return row, dict(zip(fields, reversed(values), strict=True))


class _Level:
    __slots__ = ("any", "literal", "rows")

    def __init__(self) -> None:
        self.literal: dict[str, _Level] = {}
        self.any: _Level | None = None
        self.rows: dict[str, tuple[Row, tuple[str, ...]]] = {}


def _descend(
    level: _Level, segments: Sequence[str], depth: int, values: list[str]
) -> _Level | None:
    """The last level of a path; what placeholders stand for is added on the way back."""
    if depth == len(segments):
        return level if level.rows else None
    segment = segments[depth]
    nearer = level.literal.get(segment)
    if nearer and (found := _descend(nearer, segments, depth + 1, values)):
        return found
    if segment and level.any and (found := _descend(level.any, segments, depth + 1, values)):
        values.append(segment)
        return found
    return None
