"""Reads: what can be asked of the aggregates and of the rows next to them."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NotRequired, TypedDict, Unpack
from uuid import UUID

from ._aggregate import Aggregate, AnyAggregate, AnyReader, Enricher, Route, snake
from ._event import Event
from ._query import Get, Listing, Page, Query, UnnamedListing
from ._record import Record
from ._refusal import Refusal
from ._table import Table
from .values import folded

ALONG = ("below", "above")
"""The filters of a list whose rows form a tree."""


class Period(Record):
    """A property that holds while the status is this one, between two times of the row."""

    name: str
    status: str
    since: str | None
    until: str
    """The fields of the row with these times; a null time is unbounded."""

    def holds_of(self, state: Any, now: datetime) -> bool:
        """Return whether it holds of a state, or of a row that is read like one, at this time."""
        since = getattr(state, self.since) if self.since else None
        until = getattr(state, self.until)
        within = (since is None or since <= now) and (until is None or now < until)
        return state.status == self.status and within


class DirectoryEntry[S](Record):
    """How people find an object: each function returns a part of its entry in the directory."""

    name: Callable[[S], str]
    status: Callable[[S], str | None] = lambda _: None
    keywords: Callable[[S], Iterable[str | None]] = lambda _: ()
    """Further texts that find it, such as codes, serial numbers and ids in other systems."""
    scope: Callable[[S], str | Collection[UUID] | None] = lambda _: None
    """Its facility: the code, or the objects that are in it too; with none, the own Site."""
    version: int = 1
    """Increase it when another part changes; the entries are then rebuilt."""


class View[S](Record, dict=True):
    """A list with one row per aggregate: its state, its milestones and its owner."""

    aggregate: Aggregate[S, Any, Any]
    listing: type[UnnamedListing]
    milestones: Mapping[str, tuple[type[Event], ...]] = {}
    """Times of the last event of these types. Every row also has `created_at`."""
    facets: Mapping[str, Callable[[S], Iterable[object]]] = {}
    """The values of filters that are not a field of the state."""
    tree: Table[Any] | None = None
    """The rows that the filters `below` and `above` follow."""
    excluded: Mapping[str, str] = {}
    """Filters that exclude the values of another filter, by that filter's name."""
    compared: Mapping[str, tuple[str, str]] = {}
    """Filters that compare a time of the row: its field and the comparison."""
    expanded: Mapping[str, "FilterExpansion"] = {}
    """Filters that look for other values than the one given."""
    aliases: Mapping[str, str] = {}
    """Expanded filters that look for values of another filter, by that filter's name."""
    period: Period | None = None
    directory: DirectoryEntry[S] | None = None
    """None for objects that have no name: actors, whose names are in their profiles."""
    version: int = 1
    """Increase it when the row, its filters or its times change; the list is then rebuilt."""

    @property
    def name(self) -> str:
        return self.aggregate.noun

    @cached_property
    def filters(self) -> tuple[str, ...]:
        found = self.listing.model_fields.keys() - Listing.model_fields.keys()
        special = {*self.excluded, *self.compared, *self.aliases, *(ALONG if self.tree else ())}
        return tuple(sorted(found - special - ({self.period.name} if self.period else set())))

    def facets_of(self, state: S) -> tuple[str, ...]:
        """Return the properties that filters compare, each as `name=value`."""
        own = {name: (getattr(state, name),) for name in self.filters if name not in self.facets}
        found = own | {name: values(state) for name, values in self.facets.items()}
        named = (facet("name", folded(self.directory.name(state))),) if self.directory else ()
        return *named, *(facet(n, v) for n in self.filters for v in found[n] if v is not None)


def facet(name: str, value: object) -> str:
    """Return a property that filters compare."""
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


type FilterExpansion = Callable[[Any, AnyReader], Awaitable[Iterable[object]]]
"""Returns the values to look for in place of the one given."""


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
    """The rows of one aggregate, ordered by these columns, or by their key, newest first."""

    table: Table[Any]
    by: tuple[str, ...] = ()
    compared: Mapping[str, tuple[str, str]] = {}
    """Filters that compare a column, and the comparison."""
    hidden: Mapping[str, str] = {}
    """Columns that read as null unless the filter named is true."""


class Answer(Record):
    """What a function finds."""

    find: Callable[..., Awaitable[object]]
    shape: type[object]


class Listed(Record):
    """The rows that a function finds: all, or those after the row whose first field is `cursor`."""

    find: Callable[..., Awaitable[Sequence[Any]]]
    shape: type[object]


type Source = One | History | Many | Entries | Answer | Listed
type ParentLookup = Callable[[UUID, AnyReader], Awaitable[UUID]]
"""Returns the id of the aggregate that has a part of this id."""


class Question(Record):
    """A query that the service can answer. Every surface is a loop over the questions."""

    name: str
    route: Route
    doc: str
    query: type[Query]
    aggregate: AnyAggregate
    """What it is about. To a caller who may not see that object, it is reported as absent."""
    source: Source
    about: str | None
    """The field that names the object; None for a question about many."""
    refusals: tuple[type[Refusal], ...] = ()
    parent_of: ParentLookup | None = None
    title: str | None = None
    composed_of: tuple[str, ...] = ()
    """The other aggregates whose events may change the answer."""


class ViewParts[S](TypedDict, total=False):
    """The fields of a `View` that are declared with the reads of an aggregate."""

    milestones: Mapping[str, tuple[type[Event], ...]]
    facets: Mapping[str, Callable[[S], Iterable[object]]]
    tree: Table[Any] | None
    excluded: Mapping[str, str]
    compared: Mapping[str, tuple[str, str]]
    expanded: Mapping[str, FilterExpansion]
    aliases: Mapping[str, str]
    period: Period | None
    directory: DirectoryEntry[S] | None
    version: int


def reads[S](
    resources: str,
    of: Aggregate[S, Any, Any],
    listing: type[UnnamedListing],
    shown_with: Enricher | None = None,
    listed_with: Enricher | None = None,
    composed_of: tuple[str, ...] = (),
    **parts: Unpack[ViewParts[S]],
) -> tuple[Question, Question, Question]:
    """Return the three reads of every aggregate: get, history and list."""
    view = View(of, listing, **parts)
    one, thing = f"GET {resources}/{{{of.id_field}}}", of.noun.replace("_", " ")
    doc = f"List everything that happened to one {thing}, by version."
    about: dict[str, Any] = {"about": of.id_field}
    history = about | {"name": f"get_{of.noun}_history", "doc": doc}
    rows: dict[str, Any] = {"about": None, "composed_of": composed_of}
    get = rows | about | {"name": f"get_{of.noun}", "doc": f"Show one {thing}."}
    return (
        _question(one, Get, One(shown_with, view.period), of, **get),
        _question(f"{one}/history", Page, History(), of, **history),
        _question(f"GET {resources}", listing, Many(view, listed_with), of, **rows),
    )


def entries(
    route: str,
    query: type[Page],
    of: AnyAggregate,
    table: Table[Any],
    by: tuple[str, ...] = (),
    compared: Mapping[str, tuple[str, str]] = {},
    hidden: Mapping[str, str] = {},
) -> Question:
    """Return a list of the rows of one aggregate."""
    source = Entries(table, by, compared=compared, hidden=hidden)
    return _question(route, query, source, of, about=of.id_field)


class About(TypedDict):
    """What a question that a function answers is about."""

    of: AnyAggregate
    about: str | None
    parent_of: NotRequired[ParentLookup | None]
    title: NotRequired[str | None]
    composed_of: NotRequired[tuple[str, ...]]


def answers[Q: Query, A](
    route: str,
    query: type[Q],
    find: Callable[[Q, AnyReader], Awaitable[A]],
    shape: type[A],
    *refusals: type[Refusal],
    **about: Unpack[About],
) -> Question:
    """Return a question that a function answers."""
    return _question(route, query, Answer(find, shape), refusals=refusals, **about)


def listed[Q: Page, A](
    route: str,
    query: type[Q],
    find: Callable[[Q, AnyReader], Awaitable[Sequence[A]]],
    shape: type[A],
    *refusals: type[Refusal],
    **about: Unpack[About],
) -> Question:
    """Return a list whose rows a function finds."""
    return _question(route, query, Listed(find, shape), refusals=refusals, **about)


def _question(
    route: str, query: type[Query], source: Source, of: AnyAggregate, **declared: Any
) -> Question:
    named: dict[str, Any] = {"name": snake(query.__name__), "doc": query.__doc__ or ""}
    named |= {"route": Route(*route.split(" ", 1)), "aggregate": of}
    return Question(query=query, source=source, **named | declared)
