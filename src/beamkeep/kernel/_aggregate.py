"""Aggregates and the operations declared on them."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never, Protocol, overload
from uuid import UUID

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict

from ._authorization import ActorKind
from ._event import Event, Upcast
from ._record import Record
from ._refusal import NotFound, Refusal
from ._table import Rows, SideWrite, Table
from ._work import Fenced
from .values import declared_refusals

if TYPE_CHECKING:
    from ._view import Enricher, Listing


class Command(BaseModel):
    """What a caller asks for. Parsed and checked once, at the surface."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Call(Record):
    """Who asks, when, and the fresh id a creation may take."""

    principal_id: UUID
    principal_kind: ActorKind
    now: datetime
    new_id: UUID
    surface_id: UUID | None = None
    correlation_id: UUID | None = None


INTERNAL = "INTERNAL"
"""The route of an operation that only the service's own workers send."""


class Route(Record, dict=True):
    """A method and a path with placeholders in braces, or `INTERNAL`."""

    method: str
    path: str

    @property
    def is_internal(self) -> bool:
        """Whether no surface offers this operation, so that only the service's workers send it."""
        return self.method == INTERNAL

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Operation(Record):
    """One thing the service can be asked to do. Every surface is a loop over these."""

    name: str
    """Tool name, CLI verb, permission and metric label: the name of the rule."""
    route: Route
    doc: str
    command: type[Command]
    refusals: tuple[type[Refusal], ...]
    aggregate: "Aggregate[Any, Any, Any]"
    given: "Callable[..., Awaitable[object]] | None"
    rule: "Callable[..., Outcome | Outside[Any]]"
    genesis: bool
    answered_with: "Enricher | None" = None
    """Reads what an answer shows beside, each time it is given: none of it is kept with a key."""
    destructive: bool = False
    """Whether it ends or discards something for good, or takes away somebody's access.

    Nothing declares idempotence: every operation is idempotent by its key.
    """


class Advice(Record):
    """What a rule lets pass and its answer warns of: where, and which rule for authors."""

    path: str
    rule: str


class Reply(Record):
    """Fields of the answer that a rule decides; the call then answers 200."""


class Created(Reply):
    """Fields of the answer of a change that makes something new; the call then answers 201."""


class Accepted(Reply):
    """Fields of the answer where a worker does the work later; the call then answers 202."""


class Appended(Reply):
    """The answer to rows appended in bulk."""

    appended_count: int
    duplicate_count: int


class Identified(Record):
    """An event whose id the rule chooses: a stream takes each event id once."""

    event: Event
    event_id: UUID


type Outcome = Sequence[Event | Identified | SideWrite | Rows | Fenced | Advice | Reply]
"""What a rule decides: events, of one stream or several, rows written with them, the answer."""


class Outside[X](Record):
    """A step outside the service that a rule needs once every check has passed.

    The runtime carries out the request with nothing held, decides again from the start, and then
    passes the result to `then`. The step may run more than once, so it must be safe to repeat.
    """

    request: Record
    then: Callable[[X], Outcome]


def unchanging[S](state: S, event: Never) -> S:
    """The `evolve` of an aggregate that has only its first event."""
    return state


class Aggregate[S, G: Event, E: Event](Record, dict=True):
    """A consistency boundary: its state is `begin` of the first event, `evolve` of the rest."""

    name: str
    begin: Callable[[G], S]
    evolve: Callable[[S, E], S]
    absent: type[NotFound]
    """The refusal of a call that names one that does not exist."""
    self_owned: bool = False
    """Whether one is also owned by the principal that has its id."""
    upcasts: tuple[Upcast, ...] = ()

    @cached_property
    def noun(self) -> str:
        return snake(self.name)

    @cached_property
    def id_field(self) -> str:
        """The name its id goes by everywhere outside its own state."""
        return f"{self.noun}_id"

    @overload
    def creates[C: Command](
        self,
        route: str,
        command: type[C],
        rule: Callable[[C, Call], Outcome | Outside[Any]],
        *refusals: type[Refusal],
    ) -> Operation: ...
    @overload
    def creates[C: Command, X](
        self,
        route: str,
        command: type[C],
        rule: Callable[[C, X, Call], Outcome | Outside[Any]],
        *refusals: type[Refusal],
        given: "Callable[[C, Reader], Awaitable[X]]",
        answered_with: "Enricher | None" = None,
    ) -> Operation: ...
    def creates(
        self,
        route: str,
        command: type[Command],
        rule: Callable[..., Outcome | Outside[Any]],
        *refusals: type[Refusal],
        given: Callable[..., Awaitable[object]] | None = None,
        answered_with: "Enricher | None" = None,
    ) -> Operation:
        """Declare a rule that begins a stream."""
        return self._declares(route, command, rule, refusals, given, True, answered_with)

    @overload
    def changes[C: Command](
        self,
        route: str,
        command: type[C],
        rule: Callable[[S, C, Call], Outcome | Outside[Any]],
        *refusals: type[Refusal],
        destructive: bool = False,
    ) -> Operation: ...
    @overload
    def changes[C: Command, X](
        self,
        route: str,
        command: type[C],
        rule: Callable[[S, C, X, Call], Outcome | Outside[Any]],
        *refusals: type[Refusal],
        given: "Callable[[S, C, Reader], Awaitable[X]]",
        destructive: bool = False,
    ) -> Operation: ...
    def changes(
        self,
        route: str,
        command: type[Command],
        rule: Callable[..., Outcome | Outside[Any]],
        *refusals: type[Refusal],
        given: Callable[..., Awaitable[object]] | None = None,
        destructive: bool = False,
    ) -> Operation:
        """Declare a rule that adds to a stream. An absent stream is refused before it runs."""
        declared = self._declares(route, command, rule, refusals, given, False)
        return replace(declared, destructive=destructive)

    def _declares(
        self,
        route: str,
        command: type[Command],
        rule: Callable[..., Outcome | Outside[Any]],
        refusals: tuple[type[Refusal], ...],
        given: Callable[..., Awaitable[object]] | None,
        genesis: bool,
        answered_with: "Enricher | None" = None,
    ) -> Operation:
        return Operation(
            name=rule.__name__,
            route=parse_route(route),
            doc=rule.__doc__ or "",
            command=command,
            refusals=(*declared_refusals(command), *refusals),
            aggregate=self,
            given=given,
            rule=rule,
            genesis=genesis,
            answered_with=answered_with,
        )


class Reader(Protocol):
    """Reads for one call, remembering every version it read so that the append can hold it."""

    shows_past: bool

    @property
    def operation_names(self) -> Set[str]:
        """Every command and query the running service knows."""
        ...

    @property
    def deployment(self) -> object:
        """What is known of the deployment; only the contexts know its type."""
        ...

    @property
    def now(self) -> datetime: ...

    @property
    def principal_id(self) -> UUID | None: ...

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID, to_show: bool = False) -> S:
        """The state of one aggregate, or the refusal that it does not exist.

        Where it is to be shown, one that the caller may not see does not exist.
        """
        ...

    async def many[S](self, of: Aggregate[S, Any, Any], ids: Iterable[UUID]) -> Mapping[UUID, S]:
        """The states of several, in one round trip; the first that is absent is refused."""
        ...

    def version(self, of: Aggregate[Any, Any, Any], id: UUID) -> int:
        """The version at which this call has read one aggregate."""
        ...

    async def visible(self, of: Aggregate[Any, Any, Any], ids: Iterable[UUID]) -> Set[UUID]:
        """Those of these ids that the caller may see."""
        ...

    async def as_of[S](self, of: Aggregate[S, Any, Any], id: UUID, version: int) -> S:
        """The state of one aggregate as it was at a version."""
        ...

    async def matching(
        self, query: "Listing", to_show: bool = False, most: int = ...
    ) -> tuple[UUID, ...]:
        """The ids a list finds, oldest first; read their streams before deciding anything.

        Where they are to be shown, only those that the caller may see.
        """
        ...

    async def happened(
        self, types: Sequence[type[Event]], since: datetime, until: datetime, most: int
    ) -> Sequence[Event]:
        """The events of these types between two times, oldest first, and no more than so many."""
        ...

    async def latest(
        self,
        of: Aggregate[Any, Any, Any],
        ids: Iterable[UUID],
        types: Sequence[type[Event]],
        before: datetime,
    ) -> Mapping[UUID, Event]:
        """The last event of these types that each of the streams had before a time."""
        ...

    async def written[R](
        self,
        of: Table[R],
        about: Aggregate[Any, Any, Any],
        time: str,
        since: datetime,
        until: datetime,
        most: int,
    ) -> Sequence[R]:
        """The rows beside these aggregates whose time is between two, oldest first.

        Only those beside what the caller may see, and no more than so many.
        """
        ...

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        """The rows whose columns equal these values, or are among them where a set is given."""
        ...

    async def above[R](self, of: Table[R], ids: Iterable[UUID]) -> Mapping[UUID, R]:
        """The rows of a tree with these ids and all those above them, by id."""
        ...


def parse_route(text: str) -> Route:
    """`POST /zones` as a route."""
    method, _, path = text.partition(" ")
    return Route(method, path)


def snake(name: str) -> str:
    """`ListAssets` as `list_assets`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def pascal(name: str) -> str:
    """`list_assets` as `ListAssets`."""
    return "".join(word.capitalize() for word in name.split("_"))
