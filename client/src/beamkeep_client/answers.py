"""Answers and refusals as Python objects."""

import html
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from .http import ServiceError
from .terminal import field_cell, head, is_empty, table_cell

if TYPE_CHECKING:
    import httpx2

UNBROKEN = 40
"""The most characters of a cell that stays on one line."""


type Time = str
"""A time in UTC, such as 2030-01-31T14:05:00Z."""


class Answer(dict[str, Any]):
    """An answer of the service: a dictionary whose fields are attributes as well."""

    _version: int | None

    def __init__(self, fields: Mapping[str, Any], version: int | None = None) -> None:
        super().__init__(fields)
        self._version = version

    def __getattribute__(self, name: str) -> Any:
        # A field comes before the method of a dictionary that has its name, such as `items`.
        if not name.startswith("_") and name in self:
            return wrapped(self[name])
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if name == "version" and self._version is not None:
            return self._version
        raise AttributeError(f"There is no {name}. There are: {', '.join(self)}.")

    def __dir__(self) -> list[str]:
        return ["to_dict", *(["version"] if self._version is not None else []), *self]

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.to_dict(), self._version)

    def __repr__(self) -> str:
        version = {} if self._version is None else {"version": self._version}
        shown = ", ".join(f"{name}={value!r}" for name, value in {**self, **version}.items())
        return f"{type(self).__name__}({shown})"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as the service sent it."""
        return dict(self)

    def _repr_html_(self) -> str:
        """Return the fields that have a value as a table."""
        known = {name: v for name, v in self.to_dict().items() if not is_empty(v)}
        return _table(("field", "value"), [[n, field_cell(n, v)] for n, v in known.items()])


class Changed(Answer):
    """The answer to a command."""

    version: int
    """The version of the object. A dry run and a proposal have none."""
    events: list[Answer]
    """The events that a dry run would write."""
    proposal_id: str
    """The proposal that was written instead, if the command must be approved first."""


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


@contextmanager
def refusals() -> Generator[None]:
    """Raise what the service refuses as Refused."""
    try:
        yield
    except ServiceError as error:
        raise (Refused(error) if error.code else error) from None


def answered[A: Answer](kind: type[A], response: "httpx2.Response") -> A:
    """Return an answer of this kind; the tag of a command is its version."""
    etag = response.headers.get("etag")
    return kind(response.json() if response.content else {}, int(etag.strip('"')) if etag else None)


def wrapped(value: object) -> Any:
    """Return a value in which objects are answers."""
    if isinstance(value, dict):
        return Answer(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [wrapped(each) for each in cast("list[object]", value)]
    return value


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
