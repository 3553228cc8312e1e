"""Reads: what can be asked of the aggregates and of the rows beside them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, cast
from uuid import UUID

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel, ConfigDict

from ._aggregate import Aggregate, Reader, Route, parse_route, snake
from ._event import Event
from ._filter import ListFilter, Period
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
    excluded: Mapping[str, str] = {}
    """Filters that leave out what another filter would find."""
    compared: Mapping[str, tuple[str, str]] = {}
    """Filters that compare with a time of the row: which, and how."""
    expanded: Mapping[str, "FilterExpansion"] = {}
    """Filters that look for more than the value given: the values to look for instead."""
    period: Period | None = None
    version: int = 1
    """Raised when the row, its filters or its times change: the list is then built anew."""

    @property
    def name(self) -> str:
        return self.aggregate.noun

    @cached_property
    def filters(self) -> tuple[str, ...]:
        found = self.listing.model_fields.keys() - Listing.model_fields.keys()
        beside = {*self.excluded, *self.compared, *(ALONG if self.tree else ())}
        return tuple(sorted(found - beside - ({self.period.name} if self.period else set())))

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

    async def filter_for(self, query: Listing, read: Reader) -> ListFilter:
        """What a query's filters look for, as things stand now."""
        wider = {
            name: await widen(value, read)
            for name, widen in self.expanded.items()
            if (value := getattr(query, name)) is not None
        }
        return self.filter_of(query, read.now, wider)

    def filter_of(
        self, query: Listing, now: datetime, wider: Mapping[str, Iterable[object]] | None = None
    ) -> ListFilter:
        """What a query's filters look for, of which some stand for several values."""
        own = type(query).model_fields.keys() - Listing.model_fields.keys()
        given = {n: value for n in sorted(own) if (value := getattr(query, n)) is not None}
        every: list[str] = []
        groups: list[tuple[str, ...]] = []
        for name in given.keys() & self.filters:
            value = frozenset(wider[name]) if wider and name in wider else given[name]
            if isinstance(value, frozenset):
                several = cast("frozenset[object]", value)
                groups.append(tuple(sorted(_facet(name, each) for each in several)))
            else:
                every.append(_facet(name, value))
        left_out = [_facet(of, v) for n, of in self.excluded.items() for v in given.get(n, ())]
        times = ((*how, given[name]) for name, how in self.compared.items() if name in given)
        holds = given.get(self.period.name) if self.period else None
        return ListFilter(
            now,
            tuple(sorted(every)),
            tuple(sorted(groups)),
            tuple(left_out),
            tuple(times),
            (self.period, holds) if self.period and holds is not None else None,
            {name: given[name] for name in ALONG if self.tree and name in given},
        )


def _facet(name: str, value: object) -> str:
    """One searchable property of a row."""
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


type FilterExpansion = Callable[[Any, Reader], Awaitable[Iterable[object]]]
"""The values a filter looks for where one is given."""
type Enricher = Callable[[Sequence[UUID], Reader], Awaitable[Mapping[UUID, Any]]]
"""Today's rows from beside the streams that an answer shows with each object."""


class One(Record):
    """The state of one aggregate."""

    enricher: Enricher | None = None
    period: Period | None = None


class History(Record):
    """The events of one aggregate."""


class Many(Record):
    """The rows of a read model."""

    view: View[Any]
    enricher: Enricher | None = None


class Entries(Record):
    """The rows beside one aggregate, by these columns, or newest first by their key."""

    table: Table[Any]
    by: tuple[str, ...] = ()
    compared: Mapping[str, tuple[str, str]] = {}
    """Filters that compare with a time of the row: which, and how."""
    hidden: Mapping[str, str] = {}
    """Columns that read as null unless the filter named is true."""


class Answer(Record):
    """Whatever this function finds about one aggregate."""

    find: Callable[..., Awaitable[object]]
    shape: type[object]


class Listed(Record):
    """The rows this function finds, page by page; the first field of a row is its name."""

    find: Callable[..., Awaitable[Sequence[Any]]]
    shape: type[object]


type Source = One | History | Many | Entries | Answer | Listed
type ParentLookup = Callable[[UUID, Reader], Awaitable[UUID]]
"""The aggregate that the id of one of its parts belongs to."""


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
    parent_of: ParentLookup | None = None


def reads[S](
    resources: str,
    of: Aggregate[S, Any, Any],
    listing: type[Listing],
    milestones: Mapping[str, tuple[type[Event], ...]] | None = None,
    facets: Mapping[str, Callable[[S], Iterable[object]]] | None = None,
    shown_with: Enricher | None = None,
    listed_with: Enricher | None = None,
    tree: Table[Any] | None = None,
    excluded: Mapping[str, str] | None = None,
    compared: Mapping[str, tuple[str, str]] | None = None,
    expanded: Mapping[str, FilterExpansion] | None = None,
    period: Period | None = None,
    version: int = 1,
) -> tuple[Question, Question, Question]:
    """The three reads every aggregate has: get, history and list."""
    more = excluded or {}, compared or {}, expanded or {}, period, version
    view = View(of, listing, milestones or {}, facets or {}, tree, *more)
    one, get, thing = f"{resources}/{{{of.id_field}}}", f"get_{of.noun}", of.noun.replace("_", " ")
    told = f"List everything that happened to one {thing}, by version."
    name, doc = snake(listing.__name__), listing.__doc__ or ""

    def about_one(name: str, path: str, doc: str, query: type[Query], source: Source) -> Question:
        return Question(name, Route("GET", path), doc, query, of, source, of.id_field)

    return (
        about_one(get, one, f"Show one {thing}.", Get, One(shown_with, period)),
        about_one(f"{get}_history", f"{one}/history", told, Page, History()),
        Question(name, Route("GET", resources), doc, listing, of, Many(view, listed_with), None),
    )


def entries(
    route: str,
    query: type[Page],
    of: Aggregate[Any, Any, Any],
    table: Table[Any],
    by: tuple[str, ...] = (),
    compared: Mapping[str, tuple[str, str]] | None = None,
    hidden: Mapping[str, str] | None = None,
) -> Question:
    """A read of the rows beside one aggregate."""
    source = Entries(table, by, compared or {}, hidden or {})
    return _question(route, query, of, source, of.id_field)


def answers[Q: Query, A](
    route: str,
    query: type[Q],
    find: Callable[[Q, Reader], Awaitable[A]],
    shape: type[A],
    *refusals: type[Refusal],
    of: Aggregate[Any, Any, Any],
    about: str | None,
    parent_of: ParentLookup | None = None,
) -> Question:
    """A read of its own kind about one aggregate."""
    return _question(route, query, of, Answer(find, shape), about, refusals, parent_of)


def listed[Q: Page, A](
    route: str,
    query: type[Q],
    find: Callable[[Q, Reader], Awaitable[Sequence[A]]],
    shape: type[A],
    *refusals: type[Refusal],
    of: Aggregate[Any, Any, Any],
    about: str,
    parent_of: ParentLookup | None = None,
) -> Question:
    """A list of its own kind about one aggregate."""
    return _question(route, query, of, Listed(find, shape), about, refusals, parent_of)


def _question(
    route: str,
    query: type[Query],
    of: Aggregate[Any, Any, Any],
    source: Source,
    about: str | None,
    refusals: tuple[type[Refusal], ...] = (),
    parent_of: ParentLookup | None = None,
) -> Question:
    name, doc = snake(query.__name__), query.__doc__ or ""
    return Question(name, parse_route(route), doc, query, of, source, about, refusals, parent_of)
