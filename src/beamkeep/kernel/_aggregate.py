"""Aggregates and the operations declared on them."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, Never, Protocol, TypedDict, Unpack
from uuid import UUID

from pydantic import BaseModel

from ._authorization import ActorKind, ObjectScope, Sight, SurfaceKind
from ._axis import Axis
from ._event import Event, Upcast
from ._query import DECLARED, UnnamedListing
from ._record import Record
from ._refusal import NotFound, Refusal
from ._table import Fenced, Rows, SideWrite, Table
from .values import declared_refusals


class Command(BaseModel):
    """A request to change something. It is parsed and checked once, at the surface."""

    model_config = DECLARED


class Call(Record):
    """Who calls, when, and the id that a new aggregate may take."""

    principal_id: UUID
    principal_kind: ActorKind
    now: datetime
    new_id: UUID
    surface_id: UUID | None = None
    correlation_id: UUID | None = None
    agent_kind: str | None = None
    surface_kind: SurfaceKind | None = None
    delegated: bool = False
    """Whether the token was issued to somebody who acts for the principal (RFC 8693)."""


INTERNAL = "INTERNAL"
"""The route of an operation that only the service's own workers send."""


class Route(Record, dict=True):
    """A method and a path with placeholders in braces, or `INTERNAL` alone."""

    method: str
    path: str = ""

    @property
    def is_internal(self) -> bool:
        return self.method == INTERNAL

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Operation(Record):
    """A command that the service can carry out. Every surface is a loop over the operations."""

    name: str
    """Tool name, CLI verb, permission and metric label: the name of the rule."""
    route: Route
    doc: str
    command: type[Command]
    refusals: tuple[type[Refusal], ...]
    aggregate: "AnyAggregate"
    given: Callable[..., Awaitable[object]] | None
    """The loader: returns what the rule needs in addition to the state and the command."""
    rule: "Callable[..., Decided]"
    genesis: bool
    """Whether it begins a stream."""
    answered_with: "Enricher | None" = None
    """Returns what is added to each answer. It is read again for a repeated call."""
    destructive: bool = False
    """Whether it ends or discards something for good, or removes access."""
    first_hand: bool = False
    """Whether it records what the caller decided, saw or vouches for, and cannot be proposed."""
    title: str | None = None
    """What a button says, where the words of the name do not say it well."""


class OperationParts(TypedDict, total=False):
    """The fields of an `Operation` that are declared with its rule."""

    answered_with: "Enricher | None"
    destructive: bool
    first_hand: bool
    title: str | None


class Advice(Record):
    """A warning in an answer: the path of the field, and the rule for authors it breaks."""

    path: str
    rule: str


class Reply(Record):
    """Fields of the answer that a rule decides; the call then answers 200."""

    shown_once: ClassVar[tuple[str, ...]] = ()  # null in the answer that a repeated call gets


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
"""What a rule returns: events of one or more streams, rows to write with them, the answer."""


class Outside[X](Record):
    """A step outside the service that a rule needs once every check has passed.

    The runtime carries out the request with nothing held, decides again from the start as of the
    same time, and then passes the result to `then`. The step may run more than once, so it must be
    safe to repeat.
    """

    request: Record
    then: Callable[[X], Outcome]


class WrittenStream(Record):
    """A stream and its version after an append."""

    stream_type: str
    stream_id: UUID
    version: int


class ApprovedCommand(Record):
    """A command that somebody proposed, which the approver carries out in the same append."""

    command_name: str
    arguments: Mapping[str, Any]
    proposed_by: UUID
    required_version: int | None
    basis: str | None
    """The basis that the approver saw, if the approver requires it."""
    lapsed: type[Refusal]
    """The refusal if the command cannot be proposed so any more."""
    then: "Callable[[Sequence[WrittenStream], int, Mapping[str, Any] | None], Outcome]"
    """Return the outcome of the approval, from what the command writes and answers."""


class Preview(Record):
    """What an approval would do now, or why it would be refused."""

    basis: str | None
    """The digest of the versions of everything that the decision rests on."""
    events: Sequence[Mapping[str, Any]] | None = None
    beside: Mapping[str, Any] | None = None
    """What the answer of the command would show in addition to the reply."""
    refusal: Mapping[str, Any] | None = None


type Decided = Outcome | Outside[Any] | ApprovedCommand


class Sources(Record):
    """The objects from which it follows to which team a new object belongs."""

    part_of: tuple[UUID | None, ...] = ()
    """It belongs to whom these belong, even if that is nobody."""
    about: tuple[UUID | None, ...] = ()
    """It belongs to whom these belong, if that is somebody."""
    several: bool = False
    """Whether these may be of several teams; it then belongs to none."""
    is_found: bool = False
    """Whether the team that its first event names was found by the service, not given."""


def unchanging[S](state: S, event: Never) -> S:
    """The `evolve` of an aggregate that has only its first event."""
    return state


class Aggregate[S, G: Event, E: Event](Record, dict=True):
    """A consistency boundary: its state is `begin` of the first event, `evolve` of the rest."""

    name: str
    begin: Callable[[G], S]
    evolve: Callable[[S, E], S]
    absent: type[NotFound]
    """The refusal of a call that names an aggregate that does not exist."""
    self_owned: bool = False
    """Whether the principal with the aggregate's id owns it too."""
    upcasts: tuple[Upcast, ...] = ()
    axes: tuple[Axis[Any, Any], ...] = ()
    """The axes of the state. Each axis has the name of a field of the state."""
    id_name: str | None = None
    """The name of its id, if it shares the id of another aggregate."""
    snapshots_from: int = 0
    """The length below which a stream is folded from its first event, without a snapshot."""
    team: Callable[[G], Sources] | None = None
    """From what the team of an object follows, by its first event; None for what is shared."""

    @cached_property
    def noun(self) -> str:
        return snake(self.name)

    @cached_property
    def id_field(self) -> str:
        """The name of its id everywhere outside its own state."""
        return self.id_name or f"{self.noun}_id"

    def creates[C: Command, X](
        self,
        route: str,
        command: type[C],
        rule: Callable[[C, Call], Decided] | Callable[[C, X, Call], Decided],
        *refusals: type[Refusal],
        given: "Callable[[C, AnyReader], Awaitable[X]] | None" = None,
        **parts: Unpack[OperationParts],
    ) -> Operation:
        """Declare a rule that begins a stream."""
        return self._operation(route, command, rule, refusals, given=given, genesis=True, **parts)

    def changes[C: Command, X](
        self,
        route: str,
        command: type[C],
        rule: Callable[[S, C, Call], Decided] | Callable[[S, C, X, Call], Decided],
        *refusals: type[Refusal],
        given: "Callable[[S, C, AnyReader], Awaitable[X]] | None" = None,
        **parts: Unpack[OperationParts],
    ) -> Operation:
        """Declare a rule that adds to a stream. An absent stream is refused before it runs."""
        return self._operation(route, command, rule, refusals, given=given, genesis=False, **parts)

    def _operation(
        self,
        route: str,
        command: type[Command],
        rule: Callable[..., Decided],
        refusals: tuple[type[Refusal], ...],
        **more: Any,
    ) -> Operation:
        return Operation(
            name=rule.__name__,
            route=Route(*route.split(" ", 1)),
            doc=rule.__doc__ or "",
            command=command,
            refusals=(*declared_refusals(command), *refusals),
            aggregate=self,
            rule=rule,
            **more,
        )


type AnyAggregate = Aggregate[Any, Any, Any]


class CallReader[Facts, Readers](Protocol):
    """Reads for one call. The append fails if anything read here has changed by then."""

    now: datetime
    shows_past: bool
    """Whether an earlier state is shown, with which nothing of today may be shown."""
    principal_id: UUID | None
    sight: Sight | None
    """Whose objects an answer may show; None for everybody's."""
    surface_id: UUID | None
    controlling: Sequence[UUID] | None
    """The visit that controls the surface of the call, if any; None if that was not looked up."""
    token_ends_at: datetime | None
    operation_names: Set[str]
    proposable: Set[str]
    """The operations that can be proposed."""
    facts: Facts
    readers: Readers
    seen: list[tuple[str, UUID, int]]
    """Versions of objects that an answer shows without reading the objects."""

    @property
    def only(self) -> UUID | None:
        """The principal, if not everybody's objects may be shown."""
        ...

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID, to_show: bool = False) -> S:
        """Return a state. With `to_show`, refuse one that the caller may not see as absent."""
        ...

    async def many[S](
        self, of: Aggregate[S, Any, Any], ids: Iterable[UUID], to_show: bool = False
    ) -> Mapping[UUID, S]:
        """Return several states in one round trip. Raise the refusal of the first absent one."""
        ...

    async def as_of[S](self, of: Aggregate[S, Any, Any], id: UUID, version: int) -> S: ...

    async def past[S](
        self, of: Aggregate[S, Any, Any], ids: Iterable[UUID], time: datetime
    ) -> Mapping[UUID, S]:
        """Return several states as they were at a time, without those that began later."""
        ...

    def version(self, of: AnyAggregate, id: UUID) -> int: ...

    async def visible(
        self, of: AnyAggregate, ids: Iterable[UUID], scope: ObjectScope | None = None
    ) -> Set[UUID]:
        """Return those of these ids that the caller may see (default: by this call's scope)."""
        ...

    async def scopes(self, calls: Iterable[str]) -> Mapping[str, ObjectScope]:
        """Return the scope of each of these calls that the caller may make here."""
        ...

    async def proposes(self) -> Set[str]:
        """Return the operations that the caller may propose here, but not make."""
        ...

    async def preview(self, proposal_id: UUID) -> Preview:
        """Return what an approval by the caller would do now; nothing is recorded."""
        ...

    async def matching(
        self, query: UnnamedListing, to_show: bool = False, most: int = ..., newest: bool = False
    ) -> tuple[UUID, ...]:
        """Return the ids that a list finds, oldest first. Read their streams before deciding."""
        ...

    async def happened(
        self, types: Sequence[type[Event]], since: datetime, until: datetime, most: int
    ) -> Sequence[Event]:
        """Return at most `most` events of these types between two times, oldest first."""
        ...

    async def latest(
        self, of: AnyAggregate, ids: Iterable[UUID], types: Sequence[type[Event]], before: datetime
    ) -> Mapping[UUID, Event]:
        """Return the last event of these types that each of the streams had before a time."""
        ...

    async def written[R](
        self,
        of: Table[R],
        about: AnyAggregate,
        time: str,
        since: datetime,
        until: datetime,
        most: int,
    ) -> Sequence[R]:
        """Return at most `most` rows between two times that the caller may see, oldest first."""
        ...

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        """Return the rows whose columns equal these values, or are in them where one is a set."""
        ...

    async def last[R](self, of: Table[R], by: str, **ids: Iterable[UUID]) -> tuple[R, ...]:
        """Return, for each of these ids in one column, the row with the greatest value in `by`."""
        ...

    async def above[R](self, of: Table[R], ids: Iterable[UUID]) -> Mapping[UUID, R]:
        """Return the rows of a tree with these ids and all rows above them, by id."""
        ...


type AnyReader = CallReader[Any, Any]
type Enricher = Callable[[Sequence[UUID], AnyReader], Awaitable[Mapping[UUID, Any]]]
"""Returns what an answer shows with each object, by id."""


def snake(name: str) -> str:
    """Return `ListAssets` as `list_assets`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
