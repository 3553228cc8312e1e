"""The catalogue: every declaration of the service, and what must hold of each."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, TypeAliasType, get_args, get_type_hints

from ._aggregate import Advice, Aggregate, Appended, Operation, Reply, pascal
from ._event import Event
from ._table import Rows
from ._view import Many, One, Question, View

ROUTE = re.compile(r"(POST|GET) (/[a-z0-9-]+|/\{[a-z_]+\})+")


class FaultyDeclarationsError(Exception):
    """The service does not start: some of its declarations contradict each other."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("\n".join([self.__doc__ or "", *found]))


class Catalogue:
    """Everything the service can do, checked once when it starts."""

    def __init__(self, operations: Sequence[Operation], questions: Sequence[Question]) -> None:
        if found := list(faults(operations, questions)):
            raise FaultyDeclarationsError(found)
        self.operations = tuple(o for o in operations if not o.route.is_internal)
        """What surfaces offer; operations without a route are found by their command only."""
        self.questions = tuple(questions)
        self.by_command = {operation.command: operation for operation in operations}
        self.permissions = frozenset(row.name for row in (*operations, *questions))
        """Every name that a policy may permit."""

    @cached_property
    def named(self) -> dict[str, Operation | Question]:
        return {row.name: row for row in (*self.operations, *self.questions)}

    @cached_property
    def aggregates(self) -> dict[str, Aggregate[Any, Any, Any]]:
        rows = (*self.by_command.values(), *self.questions)
        return {row.aggregate.name: row.aggregate for row in rows}

    @cached_property
    def views(self) -> tuple[View[Any], ...]:
        return tuple(q.source.view for q in self.questions if isinstance(q.source, Many))

    @cached_property
    def gets(self) -> dict[str, Question]:
        """The read that shows one aggregate, by the aggregate's name."""
        return {q.aggregate.name: q for q in self.questions if isinstance(q.source, One)}

    @cached_property
    def streams(self) -> dict[type[Event], Aggregate[Any, Any, Any]]:
        """Which aggregate an event belongs to."""
        return {
            event: aggregate
            for aggregate in self.aggregates.values()
            for event in event_types(aggregate)
        }


def faults(operations: Sequence[Operation], questions: Sequence[Question]) -> Iterator[str]:
    """Every mistake in the declarations, in words; nothing when they are sound."""
    rows = (*operations, *questions)
    routes = Counter(str(row.route) for row in rows if not row.route.is_internal)
    commands = Counter(operation.command.__name__ for operation in operations)
    for what in (Counter(row.name for row in rows), routes, commands):
        for value, times in what.items():
            if times > 1:
                yield f"{value}: declared {times} times"
    for row in rows:
        if not row.route.is_internal and not ROUTE.fullmatch(str(row.route)):
            yield f"{row.name}: {str(row.route)!r} is not METHOD /kebab-case/{{snake_case}}"
        if not row.doc:
            yield f"{row.name}: there is no docstring to describe it"
        for refusal in row.refusals:
            if not refusal.__name__.endswith("Error"):
                yield f"{row.name}: the refusal {refusal.__name__} does not end in Error"
            if not refusal.__doc__:
                yield f"{row.name}: the refusal {refusal.__name__} has no docstring to say why"
    for operation in operations:
        yield from _faults_of(operation)
    for question in questions:
        if question.about and question.about not in (
            *question.route.fields,
            *question.query.model_fields,
        ):
            yield f"{question.name}: {question.about} is neither in its path nor in its query"
        if isinstance(question.source, Many):
            view = question.source.view
            state = get_type_hints(get_type_hints(view.aggregate.begin)["return"])
            for name in view.filters:
                if name not in state and name not in (*view.facets, *view.expanded):
                    yield f"{question.name}: {name} is neither a field of its state nor a facet"
    for aggregate in {id(r.aggregate): r.aggregate for r in rows}.values():
        yield from _faults_of_events(aggregate)


def _faults_of(operation: Operation) -> Iterator[str]:
    name, command, target = operation.name, operation.command, operation.aggregate.id_field
    for field in operation.route.fields:
        if field not in command.model_fields:
            yield f"{name}: {{{field}}} is no field of {command.__name__}"
    if operation.route.is_internal:
        if operation.genesis == (target in command.model_fields):
            yield f"{name}: a change has the field {target}, a creation has none"
    elif operation.genesis == (target in operation.route.fields):
        yield f"{name}: a creation has no {{{target}}} in its path, a change has one"
    spelled = {command.__name__, command.__name__.replace(operation.aggregate.name, "", 1)}
    if pascal(name) not in spelled:
        yield f"{name}: its command is named {command.__name__}"


def _faults_of_events(aggregate: Aggregate[Any, Any, Any]) -> Iterator[str]:
    for event in event_types(aggregate):
        if aggregate.id_field not in get_type_hints(event):
            yield f"{event.__name__}: it carries no {aggregate.id_field}"
    for upcast in aggregate.upcasts:
        if upcast.event_type not in {event.__name__ for event in event_types(aggregate)}:
            yield f"{aggregate.name}: an upcast names the unknown event {upcast.event_type}"


@cache
def event_types(aggregate: Aggregate[Any, Any, Any]) -> tuple[type[Event], ...]:
    """The event classes an aggregate folds, read from the signatures of `begin` and `evolve`."""
    hints = [get_type_hints(fold)["event"] for fold in (aggregate.begin, aggregate.evolve)]
    return tuple(cls for hint in hints for cls in _members(hint) if issubclass(cls, Event))


def reply_of(operation: Operation) -> type[Reply] | None:
    """What an operation answers beside the usual, read from the signature of its rule."""
    named = {*_members(get_type_hints(operation.rule)["return"])}
    found = [Appended] if Rows in named else [cls for cls in named if issubclass(cls, Reply)]
    return found[0] if found else None


def warns(operation: Operation) -> bool:
    """Whether the answer of an operation may hold warnings."""
    return Advice in _members(get_type_hints(operation.rule)["return"])


def _members(hint: Any) -> Iterator[type[Any]]:
    """The classes that an annotation names."""
    if isinstance(hint, TypeAliasType):
        hint = hint.__value__
    for member in get_args(hint) or (hint,):
        if get_args(member) or isinstance(member, TypeAliasType):
            yield from _members(member)
        elif isinstance(member, type):
            yield member
