"""The catalogue: every declaration of the service."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, TypeAliasType, get_args, get_type_hints

from ._aggregate import Advice, AnyAggregate, Appended, Operation, Reply
from ._event import Event
from ._table import Insert, Rows
from ._view import Many, One, Question, View


class FaultyDeclarationsError(Exception):
    """Some declarations contradict each other, so the service does not start."""


class Catalogue:
    """Everything that the service can do. Raise FaultyDeclarationsError on a contradiction."""

    def __init__(
        self,
        operations: Sequence[Operation],
        questions: Sequence[Question],
        never_proposed: Sequence[Operation] = (),
    ) -> None:
        if found := list(faults(operations, questions)):
            raise FaultyDeclarationsError("\n".join(["Contradictory declarations:", *found]))
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

    @cached_property
    def named(self) -> dict[str, Operation | Question]:
        return {row.name: row for row in (*self.operations, *self.questions)}

    @cached_property
    def aggregates(self) -> dict[str, AnyAggregate]:
        rows = (*self.by_command.values(), *self.questions)
        return {row.aggregate.name: row.aggregate for row in rows}

    @cached_property
    def views(self) -> tuple[View[Any], ...]:
        return tuple(q.source.view for q in self.questions if isinstance(q.source, Many))

    @cached_property
    def gets(self) -> dict[str, Question]:
        return {q.aggregate.name: q for q in self.questions if isinstance(q.source, One)}

    @cached_property
    def streams(self) -> dict[type[Event], AnyAggregate]:
        every = self.aggregates.values()
        return {event: aggregate for aggregate in every for event in event_types(aggregate)}


def faults(operations: Sequence[Operation], questions: Sequence[Question]) -> Iterator[str]:
    """Yield every contradiction between the declarations, in words."""
    rows = (*operations, *questions)
    routes = [str(row.route) for row in rows if not row.route.is_internal]
    commands = [operation.command.__name__ for operation in operations]
    for value, times in Counter([*(row.name for row in rows), *routes, *commands]).items():
        if times > 1:
            yield f"{value}: declared {times} times"
    composed = {name for question in questions for name in question.composed_of}
    for name in composed - {row.aggregate.name for row in rows}:
        yield f"{name}: a read is composed of it, but there is no such aggregate"
    for aggregate in {id(row.aggregate): row.aggregate for row in rows}.values():
        events = event_types(aggregate)
        for event in events:
            if aggregate.id_field not in get_type_hints(event):
                yield f"{event.__name__}: it carries no {aggregate.id_field}"
        for upcast in aggregate.upcasts:
            if upcast.event_type not in {event.__name__ for event in events}:
                yield f"{aggregate.name}: an upcast names the unknown event {upcast.event_type}"


@cache
def event_types(aggregate: AnyAggregate) -> tuple[type[Event], ...]:
    """Return the event types of an aggregate, from the signatures of `begin` and `evolve`."""
    hints = [get_type_hints(fold)["event"] for fold in (aggregate.begin, aggregate.evolve)]
    return tuple(cls for hint in hints for cls in _members(hint) if issubclass(cls, Event))


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
    return tuple(_members(get_type_hints(operation.rule)["return"]))


def _members(hint: Any) -> Iterator[type[Any]]:
    if isinstance(hint, TypeAliasType):
        hint = hint.__value__
    for member in get_args(hint) or (hint,):
        if get_args(member) or isinstance(member, TypeAliasType):
            yield from _members(member)
        elif isinstance(member, type):
            yield member
