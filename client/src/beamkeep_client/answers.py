"""Answers and refusals as Python objects."""

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from .http import ServiceError
from .terminal import field_cell, head, is_empty, table_cell

UNBROKEN = 40
"""The most characters of a cell that stays on one line."""


class Answer:
    """An answer of the service; its fields are attributes."""

    def __init__(self, fields: Mapping[str, Any], version: int | None = None) -> None:
        self._fields, self._version = fields, version

    def __getattr__(self, name: str) -> Any:
        if name in self._fields:
            return wrapped(self._fields[name])
        if name == "version" and self._version is not None:
            return self._version
        raise AttributeError(f"There is no {name}. There are: {', '.join(self._fields)}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(str(self._fields))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"Answer({shown})"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as the service sent it."""
        return dict(self._fields)

    def _repr_html_(self) -> str:
        """Return the fields that have a value as a table."""
        known = {name: v for name, v in self._fields.items() if not is_empty(v)}
        return _table(("field", "value"), [[n, field_cell(n, v)] for n, v in known.items()])


class Refused(ServiceError):
    """A call that the service refused: `code`, `detail`, `facts` and `cleared_by` say why."""

    def __init__(self, error: ServiceError) -> None:
        super().__init__(**vars(error))

    @property
    def facts(self) -> list[Any]:
        """What the service found when it refused."""
        return [wrapped(each) for each in self.problem.get("facts") or ()]

    @property
    def cleared_by(self) -> list[str]:
        """The operations that could clear the refusal."""
        return list(self.problem.get("cleared_by") or ())


def answer_of(body: Mapping[str, Any], etag: str | None = None) -> Answer:
    """Return an answer; the tag of a command is its version."""
    return Answer(body, int(etag.strip('"')) if etag else None)


def wrapped(value: object) -> Any:
    """Return a value in which objects are answers."""
    if isinstance(value, dict):
        return Answer(cast("dict[str, Any]", value))
    return [wrapped(each) for each in cast("list[object]", value)] if _is_list(value) else value


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def table_of(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]
) -> str:
    """Return the rows of a list as a table for a notebook, as a terminal shows them."""
    own, heads = columns[0], [head(name, is_own=name == columns[0]) for name in columns]
    cells = [
        [table_cell(row.get(name), name, names if name != own else {}) for name in columns]
        for row in rows
    ]
    return _table(heads, cells) if rows else "<p>None.</p>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose texts are left-aligned; its colours are those of the notebook."""
    top = "".join(_tag("th", each) for each in heads)
    lines = ["".join(_tag("td", each) for each in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _tag(tag: str, text: str) -> str:
    # A notebook aligns right, and would break an id or a state after its sign.
    unbroken = "; white-space: nowrap" if len(text) <= UNBROKEN else ""
    return f'<{tag} style="text-align: left{unbroken}">{html.escape(text)}</{tag}>'
