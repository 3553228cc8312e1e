"""What is wrong with the declarations of contexts: each fault is a sentence that names its row."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from inspect import cleandoc, get_annotations, iscoroutinefunction, signature
from itertools import chain
from sys import modules
from types import CodeType, FunctionType
from typing import get_args, get_type_hints

from msgspec.structs import fields
from pydantic import PydanticUndefinedAnnotation, PydanticUserError

from beamkeep.kernel import (
    Answer,
    AnyAggregate,
    Call,
    Cannot,
    Context,
    Entries,
    Event,
    Listed,
    Listing,
    Many,
    One,
    Operation,
    Question,
    Record,
    Refusal,
    Table,
    View,
    event_types,
    events_of,
    members,
)

KERNEL = Refusal.__module__.rpartition(".")[0]

type DeclaredRow = Operation | Question

ROUTE = re.compile(r"(/[a-z0-9-]+|/\{[a-z_]+\})+")
SENTENCE = re.compile(r"[A-Z`].*[.:…]", re.DOTALL)
MIGRATION = re.compile(r"\d{4}_[a-z0-9_]+\.sql")


class FaultyDeclarationsError(Exception):
    """Some declarations are wrong, so the service does not start."""

    def __init__(self, found: Iterable[str]) -> None:
        super().__init__("\n".join(["Wrong declarations:", *found]))


def faults(known: Mapping[str, Context], added: Mapping[str, Context]) -> Iterator[str]:
    """Yield everything that is wrong with contexts that are added to those that are known."""
    for name, context in added.items():
        yield from _of_context(name, context, known)
    every, rows = _rows([*known.values(), *added.values()]), _rows(added.values())
    yield from _declared_twice(every)
    unreadable = [fault for each in _aggregates(rows) for fault in _unreadable(each)]
    yield from unreadable
    # Without the types of its folds, nothing can be said about the rows of an aggregate.
    if unreadable:
        return
    aggregates = _aggregates(every)
    folded = {event for each in aggregates for event in event_types(each)} if rows else ()
    for aggregate in _aggregates(rows):
        yield from _of_aggregate(aggregate, every)
    for row in rows:
        yield from _of_row(row)
        if isinstance(row, Operation):
            yield from _of_operation(row, folded)
        else:
            yield from _of_question(row, {each.name for each in aggregates})


def _rows(contexts: Iterable[Context]) -> list[DeclaredRow]:
    return [row for each in contexts for row in (*each.operations, *each.questions)]


def _aggregates(rows: Iterable[DeclaredRow]) -> list[AnyAggregate]:
    return [*{id(row.aggregate): row.aggregate for row in rows}.values()]


def _of_context(name: str, context: Context, known: Mapping[str, Context]) -> Iterator[str]:
    if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in known:
        yield f"{name}: a context of a site needs a name of its own, such as loan_desk."
    for table in context.tables:
        if not table.name.startswith(f"{name}_"):
            yield f"{table.name}: a table of the context {name} begins with {name}_."
        yield from _of_table(table)
    files = [each.name for each in context.migrations.iterdir()] if context.migrations else []
    if context.tables and not files:
        yield f"{name}: it has tables, and no migration that creates them."
    for file in sorted(files):
        if file.endswith(".sql") and not MIGRATION.fullmatch(file):
            yield f"{name}: the migration {file} is not named like 0001_tools.sql."


def _declared_twice(rows: Sequence[DeclaredRow]) -> Iterator[str]:
    refusals = {refusal for row in rows for refusal in (*row.refusals, row.aggregate.absent)}
    found = Counter(
        [
            *(row.name for row in rows),
            *(re.sub("{[^}]*}", "{}", str(row.route)) for row in rows if not row.route.is_internal),
            *(row.command.__name__ for row in rows if isinstance(row, Operation)),
            *(aggregate.name for aggregate in _aggregates(rows)),
            *(refusal.__name__ for refusal in refusals),
        ]
    )
    for value, times in found.items():
        if times > 1:
            yield f"{value}: declared {times} times."


# --- aggregates ---


def _unreadable(of: AnyAggregate) -> Iterator[str]:
    """Yield why the events and the state of an aggregate cannot be read from its folds."""
    for fold, takes in (of.begin, 1), (of.evolve, 2):
        name = f"{of.name}: {fold.__name__}"
        if (hints := _hints(fold)) is None:
            yield f"{name} has an annotation that cannot be read."
        elif len(signature(fold).parameters) != takes:
            yield f"{name} takes {len(signature(fold).parameters)} arguments instead of {takes}."
        elif not hints.keys() >= {"event", "return"}:
            yield f"{name} must annotate its argument `event` and what it returns."
        elif fold is of.begin:
            state = hints["return"]
            if not isinstance(state, type) or not issubclass(state, Record):
                yield f"{name} must return a Record."
            elif "id" not in _fields_of(state):
                yield f"{name} returns {state.__name__}, which has no field id."


def _of_aggregate(of: AnyAggregate, rows: Iterable[DeclaredRow]) -> Iterator[str]:
    events, state = event_types(of), _state_of(of)
    for event in events:
        if of.id_field not in get_type_hints(event):
            yield f"{event.__name__}: it carries no {of.id_field}."
    for upcast in of.upcasts:
        if upcast.event_type not in {event.__name__ for event in events}:
            yield f"{of.name}: an upcast names the unknown event {upcast.event_type}."
    for name, many in Counter(each.event_type for each in of.upcasts).items():
        if {u.from_version for u in of.upcasts if u.event_type == name} != {*range(1, many + 1)}:
            yield f"{of.name}: the upcasts of {name} do not lead from each form to the next."
    sources = [row.source for row in rows if isinstance(row, Question) and row.aggregate is of]
    if not any(isinstance(each, One) for each in sources):
        yield f"{of.name}: it has no reads. Declare them with reads(...) in QUESTIONS."
    for axis in of.axes:
        if axis.name not in _fields_of(state):
            yield f"{of.name}: the axis {axis.name} is no field of {state.__name__}."
            continue
        kind = get_type_hints(state)[axis.name]
        states = {*kind} if isinstance(kind, type) and issubclass(kind, Enum) else None
        for event, (froms, to, refusal) in axis.moves.items():
            row = f"{of.name}: the row of {event.__name__} in the axis {axis.name}"
            if event not in events:
                yield f"{row} has an event that the aggregate does not fold."
            if wrong := [
                each for each in (*froms, to) if states is not None and each not in states
            ]:
                yield f"{row} names {', '.join(map(repr, wrong))}, which is no state."
            if Cannot not in refusal.__mro__:
                yield f"{row} refuses with {refusal.__name__}, which is not a Cannot."
        for event in _events_annotated(of, axis):
            if not any(issubclass(each, event) for each in axis.moves):
                yield f"{of.name}: the axis {axis.name} has no row for {event.__name__}."


def _events_annotated(of: AnyAggregate, axis: object) -> Iterator[type[Event]]:
    """Yield the events that the annotation of an axis names: `Axis[ToolStatus, ToolMoved]`."""
    module = modules[of.begin.__module__]
    for name, hint in get_annotations(module).items():
        if getattr(module, name, None) is axis and (named := get_args(hint)):
            yield from (each for each in members(named[1]) if issubclass(each, Event))


# --- rows ---


def _of_row(row: DeclaredRow) -> Iterator[str]:
    model = row.command if isinstance(row, Operation) else row.query
    method = "POST" if isinstance(row, Operation) else "GET"
    if not row.route.is_internal:
        if row.route.method != method or not ROUTE.fullmatch(row.route.path):
            yield f"{row.name}: the route {row.route} is not {method} and a path in kebab-case."
        about = {row.about} if isinstance(row, Question) else set[str]()
        for field in row.route.fields:
            if field not in model.model_fields.keys() | about:
                yield f"{row.name}: its path names {field}, which is no field of {model.__name__}."
    try:
        model.model_rebuild()
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        why = str(error).partition("\n")[0]
        yield f"{row.name}: a value of {model.__name__} cannot be checked: {why}"
    if not row.doc:
        yield f"{row.name}: it has no docstring."
    elif not SENTENCE.fullmatch(cleandoc(row.doc)):
        yield f"{row.name}: its docstring is not a sentence."
    for refusal in row.refusals:
        if not refusal.__name__.endswith("Error"):
            yield f"{row.name}: the name of the refusal {refusal.__name__} does not end in Error."
        elif not refusal.__doc__:
            yield f"{row.name}: the refusal {refusal.__name__} has no docstring."


def _of_operation(row: Operation, folded: Iterable[type[Event]]) -> Iterator[str]:
    yield from _of_command(row)
    state = () if row.genesis else (_state_of(row.aggregate).__name__,)
    takes = [*state, row.command.__name__]
    given, wanted = len(signature(row.rule).parameters), len(takes) + 1 + bool(row.given)
    if given == wanted + 1 and not row.given:
        yield f"{row.name}: its rule takes what a loader returns. Declare the loader with given=."
    elif given == wanted - 1 and row.given:
        yield f"{row.name}: it has a loader, whose result its rule does not take."
    elif given != wanted:
        yield f"{row.name}: its rule takes {given} arguments instead of {wanted}."
    elif (hints := _hints(row.rule)) is None:
        yield f"{row.name}: its rule has an annotation that cannot be read."
    elif "return" not in hints:
        yield f"{row.name}: its rule does not annotate what it returns."
    else:
        yield from _of_types(row, [*hints.values()])
        for event in events_of(row):
            if event not in folded:
                yield f"{row.name}: it returns {event.__name__}, which no aggregate folds."
        if (
            row.genesis
            and events_of(row)
            and not {*events_of(row)} & {*_members_of(row.aggregate.begin)}
        ):
            yield f"{row.name}: it creates {row.aggregate.name}, and returns no first event of it."
    if row.given:
        yield from _of_function(f"{row.name}: its loader", row.given, len(takes) + 1)
    yield from _undeclared(row)


def _undeclared(row: Operation) -> Iterator[str]:
    """Yield the refusals that a rule names, or that an axis has for its events, undeclared."""
    declared, named = {*row.refusals, row.aggregate.absent}, _refusals_named(row.rule)
    for refusal in sorted(named - declared, key=lambda each: each.__name__):
        yield f"{row.name}: its rule raises {refusal.__name__}, which it does not declare."
    # A rule may give another refusal than the axis has.
    if any(issubclass(each, Cannot) for each in named & declared):
        return
    moves = [each.moves for each in row.aggregate.axes]
    rows = {event: each[event][2] for event in _events_of(row) for each in moves if event in each}
    if declared.isdisjoint(rows.values()):
        for event, refusal in rows.items():
            refused = f"{refusal.__name__}, with which an axis refuses {event.__name__}"
            yield f"{row.name}: it does not declare {refused}."


def _of_command(row: Operation) -> Iterator[str]:
    name, id_field = row.command.__name__, row.aggregate.id_field
    words = "".join(word.capitalize() for word in row.name.split("_"))
    if words not in {name, name.replace(row.aggregate.name, "", 1)}:
        yield f"{row.name}: its command is {name}, which is not named like its rule."
    names = row.command.model_fields if row.route.is_internal else row.route.fields
    if row.genesis and id_field in names:
        yield f"{row.name}: it creates {row.aggregate.name}, so its path cannot name {id_field}."
    elif not row.genesis and id_field not in names:
        yield f"{row.name}: it changes {row.aggregate.name}, and its path does not name {id_field}."


def _of_types(row: Operation, hints: Sequence[object]) -> Iterator[str]:
    """Yield where the types that a rule takes are not those that it is given."""
    loaded = (_hints(row.given) or {}).get("return") if row.given else None
    state = () if row.genesis else (_state_of(row.aggregate),)
    wanted = (*state, row.command, *((loaded,) if row.given else ()), Call)
    for given, takes in zip(wanted, hints, strict=False):
        if isinstance(given, type) and isinstance(takes, type) and not issubclass(given, takes):
            yield f"{row.name}: its rule takes {takes.__name__} instead of {given.__name__}."


def _of_question(row: Question, names: Iterable[str]) -> Iterator[str]:
    if row.about not in {None, *row.route.fields, *row.query.model_fields}:
        yield f"{row.name}: it is about {row.about}, which is in neither its path nor its query."
    for name in row.composed_of:
        if name not in names:
            yield f"{row.name}: it is composed of {name}, which is no aggregate."
    match row.source:
        case Many(view):
            yield from _of_view(row.name, view)
        case Answer(find) | Listed(find):
            yield from _of_function(f"{row.name}: its function", find, 2)
        case Entries(table, by):
            yield from _of_table(table)
            for column in {*by, row.aggregate.id_field} - {*_fields_of(table.row)}:
                yield f"{row.name}: the table {table.name} has no column {column}."
        case _:
            pass


def _of_view(name: str, view: View[Record]) -> Iterator[str]:
    state, listing = _fields_of(_state_of(view.aggregate)), view.listing.model_fields
    for each in view.filters:
        if each not in {*state, *view.facets, *view.expanded}:
            yield f"{name}: the filter {each} is neither a field of the state nor a facet."
    for each in {*view.facets, *view.expanded, *view.excluded, *view.compared, *view.aliases}:
        if each not in listing:
            yield f"{name}: {each} is no filter of {view.listing.__name__}."
    for each, (field, _) in view.compared.items():
        if field not in {*state, *view.milestones, "created_at"}:
            yield f"{name}: the filter {each} compares {field}, which rows do not have."
    for time, events in view.milestones.items():
        for event in {*events} - {*event_types(view.aggregate)}:
            yield f"{name}: the time {time} is of {event.__name__}, which is no event of it."
    if issubclass(view.listing, Listing) and view.directory is None:
        yield f"{name}: its rows have no name. Declare directory=, or use an UnnamedListing."


def _of_table(table: Table[Record]) -> Iterator[str]:
    for column in table.key:
        if column not in _fields_of(table.row):
            yield f"{table.name}: the key column {column} is no field of {table.row.__name__}."


def _of_function(who: str, function: Callable[..., object], takes: int) -> Iterator[str]:
    if (given := len(signature(function).parameters)) != takes:
        yield f"{who} takes {given} arguments instead of {takes}."
    # A lambda returns what another function awaits.
    is_plain = isinstance(function, FunctionType) and function.__name__ != "<lambda>"
    if is_plain and not iscoroutinefunction(function):
        yield f"{who} is not an async function."


# --- reading code ---


@cache
def _hints(function: Callable[..., object]) -> dict[str, object] | None:
    try:
        return dict(get_type_hints(function))
    except (NameError, TypeError, AttributeError):
        return None


def _state_of(of: AnyAggregate) -> type[Record]:
    return get_type_hints(of.begin)["return"]


def _events_of(row: Operation) -> tuple[type[Event], ...]:
    return events_of(row) if "return" in (_hints(row.rule) or {}) and not row.genesis else ()


def _members_of(fold: Callable[..., object]) -> Iterator[type[object]]:
    return members(get_type_hints(fold)["event"])


def _fields_of(record: type[Record]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record))


def _refusals_named(rule: Callable[..., object]) -> set[type[Refusal]]:
    """Return the refusals that the code of a rule names, without those that it only catches."""
    if not isinstance(rule, FunctionType):
        return set()
    named = (rule.__globals__.get(name) for name in _names(rule.__code__))
    found = {each for each in named if isinstance(each, type) and issubclass(each, Refusal)}
    return {each for each in found if not each.__module__.startswith(KERNEL)}


def _names(code: CodeType) -> Iterator[str]:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return chain(code.co_names, *(_names(each) for each in inner))
