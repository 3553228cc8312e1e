"""Reads: what can be asked of the aggregates and of the rows beside them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any
from uuid import UUID

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel, ConfigDict

from ._aggregate import Aggregate, Reader, Route, parse_route, snake
from ._event import Event
from ._record import Record
from ._refusal import Refusal
from ._table import Table
from .values import Timestamp


class Query(BaseModel):
    """A question. It writes nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Get(Query):
    as_of: Annotated[int, Ge(1)] | Timestamp | None = None
    """A version, or a time: the state as it was then."""


class Page(Query):
    cursor: Annotated[str, MaxLen(500)] | None = None
    """`next_cursor` of the page before."""
    limit: Annotated[int, Ge(1), Le(100)] = 50


class Listing(Page):
    """Every further field is a filter: what is listed equals it when it is given."""

    min_token: Annotated[str, MaxLen(64)] | None = None
    """The `Position-Token` of an earlier answer: the list shows at least what was written then."""


ALONG = ("below", "above")
"""The filters of a list whose rows form a tree."""


class View[S](Record, dict=True):
    """One list row per aggregate: its state, its milestones, its owner. A fold, nothing else."""

    aggregate: Aggregate[S, Any, Any]
    listing: type[Listing]
    milestones: Mapping[str, tuple[type[Event], ...]]
    """When the last event of these kinds happened; `created_at` is there in any case."""
    facets: Mapping[str, Callable[[S], Iterable[object]]]
    """The filters that are not simply the state's field of the same name."""
    tree: Table[Any] | None = None
    """The rows by which the filters `below` and `above` find what stands under or over another."""
    version: int = 1
    """Raised when the row changes, so that it is built anew beside the old one."""

    @property
    def name(self) -> str:
        return self.aggregate.noun

    @cached_property
    def filters(self) -> tuple[str, ...]:
        found = self.listing.model_fields.keys() - Listing.model_fields.keys()
        return tuple(sorted(found - set(ALONG) if self.tree else found))

    def facets_of(self, state: S) -> tuple[str, ...]:
        """What a filter can find this row by, each as `name=value`."""
        return tuple(
            _facet(name, value)
            for name in self.filters
            for value in (
                self.facets[name](state) if name in self.facets else (getattr(state, name),)
            )
            if value is not None
        )

    def sought(self, query: Listing) -> tuple[list[str], dict[str, UUID]]:
        """What a query's filters look for: properties of a row, and its place in the tree."""
        names = (*self.filters, *(ALONG if self.tree else ()))
        given = {name: value for name in names if (value := getattr(query, name)) is not None}
        along = {name: given.pop(name) for name in ALONG if self.tree and name in given}
        return [_facet(name, value) for name, value in given.items()], along


def _facet(name: str, value: object) -> str:
    """One searchable property of a row."""
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


type Joined = Callable[[Sequence[UUID], Reader], Awaitable[Mapping[UUID, Any]]]
"""Today's rows from beside the streams that an answer shows with each object."""


class One(Record):
    """The state of one aggregate."""

    joined: Joined | None = None


class History(Record):
    """The events of one aggregate."""


class Many(Record):
    """The rows of a read model."""

    view: View[Any]
    joined: Joined | None = None


class Entries(Record):
    """The rows beside one aggregate, newest first."""

    table: Table[Any]


class Answer(Record):
    """Whatever this function finds about one aggregate."""

    find: Callable[..., Awaitable[object]]
    shape: type[object]


type Source = One | History | Many | Entries | Answer


class Question(Record):
    """One thing the service can be asked. Every surface is a loop over these too."""

    name: str
    route: Route
    doc: str
    query: type[Query]
    aggregate: Aggregate[Any, Any, Any]
    """What it is about: whoever may not see that object is told it does not exist."""
    source: Source
    about: str | None
    """The field that names the object; none when the question is about many."""
    refusals: tuple[type[Refusal], ...] = ()


def reads[S](
    resources: str,
    of: Aggregate[S, Any, Any],
    listing: type[Listing],
    milestones: Mapping[str, tuple[type[Event], ...]] | None = None,
    facets: Mapping[str, Callable[[S], Iterable[object]]] | None = None,
    shown_with: Joined | None = None,
    listed_with: Joined | None = None,
    tree: Table[Any] | None = None,
) -> tuple[Question, Question, Question]:
    """The three reads every aggregate has: get, history and list."""
    view = View(of, listing, milestones or {}, facets or {}, tree)
    one, get, thing = f"{resources}/{{{of.id_field}}}", f"get_{of.noun}", of.noun.replace("_", " ")
    told = f"List everything that happened to one {thing}, by version."
    name, doc = snake(listing.__name__), listing.__doc__ or ""

    def about_one(name: str, path: str, doc: str, query: type[Query], source: Source) -> Question:
        return Question(name, Route("GET", path), doc, query, of, source, of.id_field)

    return (
        about_one(get, one, f"Show one {thing}.", Get, One(shown_with)),
        about_one(f"{get}_history", f"{one}/history", told, Page, History()),
        Question(name, Route("GET", resources), doc, listing, of, Many(view, listed_with), None),
    )


def entries(
    route: str, query: type[Page], of: Aggregate[Any, Any, Any], table: Table[Any]
) -> Question:
    """A read of the rows beside one aggregate."""
    path, name, doc = parse_route(route), snake(query.__name__), query.__doc__ or ""
    return Question(name, path, doc, query, of, Entries(table), of.id_field)


def answers[Q: Query, A](
    route: str,
    query: type[Q],
    find: Callable[[Q, Reader], Awaitable[A]],
    shape: type[A],
    *refusals: type[Refusal],
    of: Aggregate[Any, Any, Any],
    about: str,
) -> Question:
    """A read of its own kind about one aggregate."""
    path, name, doc = parse_route(route), snake(query.__name__), query.__doc__ or ""
    return Question(name, path, doc, query, of, Answer(find, shape), about, refusals)
