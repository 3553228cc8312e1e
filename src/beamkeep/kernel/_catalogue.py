"""The catalogue: every declaration of the service."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources.abc import Traversable
from typing import Any, TypeAliasType, get_args, get_type_hints

from ._aggregate import Advice, AnyAggregate, Appended, Operation, Reply
from ._event import Event
from ._record import Record
from ._table import Insert, Rows, Table
from ._view import Many, One, Question


class Context(Record):
    """One bounded context: what a package adds to the service."""

    operations: tuple[Operation, ...]
    questions: tuple[Question, ...]
    tables: tuple[Table[Any], ...] = ()
    """Its own tables of rows; their names begin with the name of the context."""
    migrations: Traversable | None = None
    """The folder of the SQL files that create its tables."""
    steps: Mapping[type[Record], Callable[[Any], Awaitable[Any]]] = {}
    """What carries out the requests of its rules outside the service."""


class Catalogue:
    """Everything that the service can do."""

    def __init__(
        self,
        operations: Sequence[Operation],
        questions: Sequence[Question],
        never_proposed: Sequence[Operation] = (),
    ) -> None:
        self.operations = tuple(o for o in operations if not o.route.is_internal)
        """What surfaces offer; internal operations are found by their command only."""
        self.questions = tuple(questions)
        self.by_command = {operation.command: operation for operation in operations}
        self.permissions = frozenset(row.name for row in (*operations, *questions))
        """Every name that a policy may permit."""
        self.proposable = frozenset(
            o.name for o in self.operations if o not in never_proposed and _can_be_proposed(o)
        )
        """Every name that a policy may let be proposed."""
        self.named = {row.name: row for row in (*self.operations, *questions)}
        self.aggregates = {row.aggregate.name: row.aggregate for row in (*operations, *questions)}
        self.views = tuple(q.source.view for q in questions if isinstance(q.source, Many))
        self.gets = {q.aggregate.name: q for q in questions if isinstance(q.source, One)}

    @cached_property
    def streams(self) -> dict[type[Event], AnyAggregate]:
        every = self.aggregates.values()
        return {event: aggregate for aggregate in every for event in event_types(aggregate)}


@cache
def event_types(aggregate: AnyAggregate) -> tuple[type[Event], ...]:
    """Return the event types of an aggregate, from the signatures of `begin` and `evolve`."""
    hints = [get_type_hints(fold)["event"] for fold in (aggregate.begin, aggregate.evolve)]
    return tuple(cls for hint in hints for cls in members(hint) if issubclass(cls, Event))


def events_of(operation: Operation) -> tuple[type[Event], ...]:
    """Return the events that an operation may write, from the signature of its rule."""
    return tuple(cls for cls in _outcomes(operation) if issubclass(cls, Event))


def reply_of(operation: Operation) -> type[Reply] | None:
    """Return the type of an operation's reply, from the signature of its rule."""
    named = _outcomes(operation)
    found = [Appended] if Rows in named else [cls for cls in named if issubclass(cls, Reply)]
    return found[0] if found else None


def _can_be_proposed(operation: Operation) -> bool:
    """Return whether somebody else can approve it: it does not append rows in the caller's name."""
    appends = not {Rows, Insert}.isdisjoint(_outcomes(operation))
    return not operation.first_hand and (not appends or bool(events_of(operation)))


def warns(operation: Operation) -> bool:
    """Return whether the answer of an operation may contain warnings."""
    return Advice in _outcomes(operation)


@cache
def _outcomes(operation: Operation) -> tuple[type[Any], ...]:
    return tuple(members(get_type_hints(operation.rule)["return"]))


def members(hint: Any) -> Iterator[type[Any]]:
    """Yield the types that a type hint names, through unions, containers and aliases."""
    if isinstance(hint, TypeAliasType):
        hint = hint.__value__
    for member in get_args(hint) or (hint,):
        if get_args(member) or isinstance(member, TypeAliasType):
            yield from members(member)
        elif isinstance(member, type):
            yield member
