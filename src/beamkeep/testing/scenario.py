"""Given what happened, when a command, then events and rows, or a refusal."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from inspect import iscoroutinefunction, signature
from types import ModuleType
from typing import Any, Self, cast
from uuid import UUID

import msgspec
import pytest
from pydantic import ValidationError

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.kernel import (
    Advice,
    ApprovedCommand,
    Call,
    Command,
    Event,
    Fenced,
    Insert,
    Operation,
    Outcome,
    Outside,
    Record,
    Refusal,
    Reply,
    Rows,
    SideWrite,
)
from beamkeep.runtime.remedies import moves_of

from .installation import FACTS, READERS
from .past import CALL, Past

REACHED: set[tuple[str, str]] = set()
"""Every operation and refusal that some scenario met, and `then` for a success."""
RUN: set[Callable[..., object]] = set()
"""Every test of a scenario that has run in this process."""


class Scenario:
    """One past and one command; `then` and `refused` assert the result."""

    def __init__(
        self,
        operations: Sequence[Operation],
        history: Iterable[Event | SideWrite | Rows] = (),
        facts: Facts = FACTS,
        readers: Readers = READERS,
    ) -> None:
        self._operations = {operation.command: operation for operation in operations}
        self._past = Past(history, facts, readers)

    def when(
        self,
        command: Command,
        *,
        given: object = None,
        call: Call = CALL,
        outside: Callable[[Any], object] | None = None,
    ) -> Self:
        """Set the command; the input of its rule is read from the past unless it is given here.

        `outside` takes the step outside the service, or carries out the command that is approved,
        if the rule needs one.
        """
        self._operation, self._outside = self._operations[type(command)], outside
        self._command, self._given, self._call = command, given, call
        self._past.principal_id = call.principal_id
        return self

    def then(self, *expected: Event | SideWrite | Rows | Fenced | Advice | Reply) -> None:
        """Assert that the command leads to these events, rows and warnings, in this order."""
        assert self.decided() == list(expected)

    def decided(self) -> list[Event | SideWrite | Rows | Fenced | Advice | Reply]:
        """Return everything that the command leads to."""
        outcome = self._decide()
        REACHED.add((self._operation.name, "then"))
        return outcome

    def refused(self, refusal: type[Refusal], saying: str = "") -> Refusal:
        """Assert that the command is refused with this class, and return the refusal."""
        operation = self._operation
        implied = () if operation.genesis else (operation.aggregate.absent,)
        assert refusal in (*operation.refusals, *implied), (
            f"{operation.name} does not declare {refusal.__name__}"
        )
        with pytest.raises(Refusal) as refused:
            self._decide()
        assert type(refused.value) is refusal
        assert saying in str(refused.value)
        REACHED.add((operation.name, refusal.__name__))
        return refused.value

    def _decide(self) -> list[Any]:
        operation, past = self._operation, self._past
        command = parsed(self._command)
        arguments: list[Any] = [command]
        if not operation.genesis:
            id: UUID = getattr(command, operation.aggregate.id_field)
            arguments.insert(0, _result(past.one(operation.aggregate, id)))
        if operation.given and self._given is None:
            arguments.append(_result(operation.given(*arguments, past)))
        elif operation.given:
            arguments.append(self._given)
        decided = operation.rule(*arguments, self._call)
        if isinstance(decided, Outside):
            assert self._outside, f"{operation.name} takes a step outside the service"
            decided = decided.then(self._outside(decided.request))
        if isinstance(decided, ApprovedCommand):
            assert self._outside, f"{operation.name} carries out a command"
            decided = decided.then(*cast("Any", self._outside(decided)))
        outcome = list(decided)
        for part in outcome:
            if isinstance(part, Insert) and part.loser and past.has(part):
                raise part.loser
            if isinstance(part, Rows) and past.holds_elsewhere(part):
                raise part.taken
        return outcome


def parsed[C: Command](command: C) -> C:
    """Return the command with its fields validated, which a copy with changes is not."""
    fields = {name: getattr(command, name) for name in command.model_fields_set}
    return type(command).model_validate(msgspec.to_builtins(fields, enc_hook=dict), by_name=True)


class Example(Record):
    """A command that a matrix tries from every state, with the input of its rule and the call."""

    command: Command
    given: object = None
    call: Call = CALL


def matrix[S](
    operations: Sequence[Operation],
    values: Iterable[object],
    examples: Sequence[Example],
    build_state: Callable[[Any], S],
    read_axis: Callable[[S], object],
    expected: str,
) -> None:
    """Run every example from every state and compare the result with a hand-written table."""
    declared = {operation.command: operation for operation in operations}
    columns = [(declared[type(example.command)], example) for example in examples]
    found = [[operation.name for operation, _ in columns]]
    for value in values:
        cells = [_moved(*column, build_state(value), read_axis) for column in columns]
        found.append([str(value), *cells])
    assert found == [line.split() for line in expected.strip().splitlines()]


def misshapen(command: type[Command], field: str, **arguments: object) -> None:
    """Assert that a command with these arguments is refused because of this field alone."""
    with pytest.raises(ValidationError) as error:
        command(**arguments)
    assert {fault["loc"][0] for fault in error.value.errors()} == {field}


def run_sentences(module: ModuleType) -> None:
    """Run every test of a module that takes no fixture, waits for nothing and has not run yet.

    `REACHED` is complete then.
    """
    for name, test in vars(module).items():
        if not name.startswith("test_") or test in RUN or iscoroutinefunction(test):
            continue
        if not signature(test).parameters:
            RUN.add(test)
            test()


def _refusals_of_moves(operation: Operation) -> set[type[Refusal]]:
    """Return the refusals that the axes declare for the moves of an operation."""
    axes = operation.aggregate.axes
    return {move.axis.moves[move.event][2] for move in moves_of(operation, axes)}


def _moved[S](
    operation: Operation, example: Example, state: S, read_axis: Callable[[S], object]
) -> str:
    given = [example.given] if operation.given else []
    try:
        decided = operation.rule(state, example.command, *given, example.call)
    except operation.refusals as refusal:
        if type(refusal) in _refusals_of_moves(operation):
            REACHED.add((operation.name, type(refusal).__name__))
        return "-"
    REACHED.add((operation.name, "then"))
    if isinstance(decided, ApprovedCommand):
        decided = decided.then((), 204, None)
    own = operation.aggregate
    for part in cast("Outcome", decided):
        moves = isinstance(part, Event) and CATALOGUE.streams[type(part)] is own
        if moves and getattr(part, own.id_field) == getattr(state, "id"):  # noqa: B009
            state = own.evolve(state, part)
    return str(read_axis(state))


def _result[T](reading: "Coroutine[Any, Any, T] | Any") -> T:
    """Return the result of a read of the past, which is in memory and never waits."""
    try:
        reading.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the read waits for something")
