"""From a method and a path to the operation or question that answers there."""

from urllib.parse import unquote

from beamkeep.kernel import Catalogue, Operation, Question, Refusal

type Row = Operation | Question


class RouteNotFoundError(Refusal, status=404):
    """There is nothing at this address. What there is stands in /openapi.json."""


class MethodNotAllowedError(Refusal, status=405):
    """This address does not take this method."""


class _Level:
    __slots__ = ("any", "literal", "rows")

    def __init__(self) -> None:
        self.literal: dict[str, _Level] = {}
        self.any: _Level | None = None
        self.rows: dict[str, tuple[Row, tuple[str, ...]]] = {}


class Routes:
    """Every method and path, as a tree by segment; a literal wins over a placeholder."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._root = _Level()
        for row in (*catalogue.operations, *catalogue.questions):
            level = self._root
            for segment in row.route.path.split("/")[1:]:
                if segment.startswith("{"):
                    level.any = level = level.any or _Level()
                else:
                    level = level.literal.setdefault(segment, _Level())
            level.rows[row.route.method] = row, row.route.fields

    def find(self, method: str, path: str) -> tuple[Row, dict[str, str]]:
        """What answers here, with the values its path holds."""
        level: _Level | None = self._root
        values: list[str] = []
        for segment in path.split("/")[1:]:
            literal = level.literal.get(segment)
            if literal is None:
                level = level.any if segment else None
                values.append(unquote(segment))
            else:
                level = literal
            if level is None:
                raise RouteNotFoundError
        if not level.rows:
            raise RouteNotFoundError
        if method not in level.rows:
            raise MethodNotAllowedError(allow=sorted(level.rows))
        row, fields = level.rows[method]
        return row, dict(zip(fields, values, strict=True))
