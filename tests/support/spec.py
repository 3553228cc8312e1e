"""Given what happened, when a command, then events and rows, or a refusal."""

from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Self, cast
from uuid import UUID

import msgspec
import pytest
from pydantic import ValidationError

from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.installation import Installation
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import (
    ActorKind,
    Advice,
    Aggregate,
    Call,
    Command,
    Delete,
    Event,
    Insert,
    Listing,
    Lock,
    Operation,
    Outcome,
    Record,
    Refusal,
    Replace,
    Reply,
    Rows,
    SideWrite,
    SurfaceKind,
    Table,
    Upsert,
)
from beamkeep.runtime import Service
from tests.support.service import INSTALLATION, ISSUER, call

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = datetime(2030, 1, 2, tzinfo=UTC)
ME = UUID(int=9)
NEW = UUID(int=1)
CALL = Call(ME, ActorKind.HUMAN, NOW, NEW)
ABSENT = UUID(int=404)

REACHED: set[tuple[str, str]] = set()
"""Every operation and refusal that some scenario met, and `then` for a success."""


class Past:
    """What happened before, as a rule may read it: streams folded, rows in place."""

    def __init__(
        self,
        parts: Iterable[Event | SideWrite | Rows],
        installation: Installation = INSTALLATION,
        hidden: Set[UUID] = frozenset(),
    ) -> None:
        self._hidden = hidden
        self.operation_names, self.deployment = CATALOGUE.named.keys(), installation
        self.now, self.principal_id, self.shows_past = NOW, ME, False
        self._streams: dict[tuple[str, UUID], list[Event]] = defaultdict(list)
        self._tables: dict[str, dict[tuple[object, ...], Any]] = defaultdict(dict)
        for part in parts:
            match part:
                case Event():
                    aggregate = CATALOGUE.streams[type(part)]
                    id: UUID = getattr(part, aggregate.id_field)
                    self._streams[aggregate.name, id].append(part)
                case Insert(table, row) | Replace(table, row) | Upsert(table, row):
                    key = tuple(getattr(row, column) for column in table.key)
                    self._tables[table.name][key] = row
                case Delete(table, key):
                    self._tables[table.name].pop(key)
                case Rows(table, rows):
                    for row in rows:
                        self._tables[table.name][getattr(row, table.key[0]),] = row
                case Lock():
                    pass

    def has(self, insert: Insert) -> bool:
        """Whether the key of a row is taken."""
        key = tuple(getattr(insert.row, column) for column in insert.table.key)
        return key in self._tables[insert.table.name]

    def holds_elsewhere(self, bulk: Rows) -> bool:
        """Whether the key of one of these rows is taken by what does not belong with them."""
        key, under, stored = bulk.table.key[0], bulk.under, self._tables[bulk.table.name]
        taken = [(row, stored.get((getattr(row, key),))) for row in bulk.rows]
        return any(other and getattr(row, under) != getattr(other, under) for row, other in taken)

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID, to_show: bool = False) -> S:
        if (of.name, id) not in self._streams or (to_show and id in self._hidden):
            raise of.absent
        first, *rest = self._streams[of.name, id]
        state = of.begin(first)
        for event in rest:
            state = of.evolve(state, event)
        return state

    async def many[S](self, of: Aggregate[S, Any, Any], ids: Iterable[UUID]) -> Mapping[UUID, S]:
        return {id: await self.one(of, id) for id in ids}

    def version(self, of: Aggregate[Any, Any, Any], id: UUID) -> int:
        return len(self._streams[of.name, id])

    async def visible(self, of: Aggregate[Any, Any, Any], ids: Iterable[UUID]) -> Set[UUID]:
        return frozenset(ids) - self._hidden

    async def as_of[S](self, of: Aggregate[S, Any, Any], id: UUID, version: int) -> S:
        return await Past(self._streams[of.name, id][:version]).one(of, id)

    async def matching(
        self, query: Listing, to_show: bool = False, most: int = 10_000
    ) -> tuple[UUID, ...]:
        view = next(view for view in CATALOGUE.views if view.listing is type(query))
        wanted, name = await view.filter_for(query, self), view.aggregate.name
        states = [
            await self.one(view.aggregate, id) for n, id in sorted(self._streams) if n == name
        ]
        return tuple(
            state.id
            for state in states
            if wanted.fits(view.facets_of(state), msgspec.to_builtins(state))
        )[:most]

    async def happened(
        self, types: Sequence[type[Event]], since: datetime, until: datetime, most: int
    ) -> Sequence[Event]:
        events = [event for stream in self._streams.values() for event in stream]
        found = [
            e for e in events if isinstance(e, tuple(types)) and since <= e.occurred_at < until
        ]
        return sorted(found, key=lambda event: event.occurred_at)[:most]

    async def latest(
        self,
        of: Aggregate[Any, Any, Any],
        ids: Iterable[UUID],
        types: Sequence[type[Event]],
        before: datetime,
    ) -> Mapping[UUID, Event]:
        return {
            id: event
            for id in ids
            for event in self._streams[of.name, id]
            if isinstance(event, tuple(types)) and event.occurred_at < before
        }

    async def written[R](
        self,
        of: Table[R],
        about: Aggregate[Any, Any, Any],
        time: str,
        since: datetime,
        until: datetime,
        most: int,
    ) -> Sequence[R]:
        rows = self._tables[of.name].values()
        found = [row for row in rows if since <= getattr(row, time) < until]
        return sorted(found, key=lambda row: getattr(row, time))[:most]

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        return tuple(
            row
            for row in self._tables[of.name].values()
            if all(_equals(getattr(row, column), wanted) for column, wanted in where.items())
        )

    async def above[R](self, of: Table[R], ids: Iterable[UUID]) -> Mapping[UUID, R]:
        rows, found = self._tables[of.name], dict[UUID, R]()
        waiting = [*ids]
        while waiting:
            id = waiting.pop()
            if (id,) in rows and id not in found:
                found[id] = rows[id,]
                waiting.append(getattr(found[id], str(of.parent)))
        return found


class Scenario:
    """One past and one command; `then` and `refused` say what must come of it."""

    def __init__(
        self,
        operations: Sequence[Operation],
        history: Iterable[Event | SideWrite | Rows] = (),
        installation: Installation = INSTALLATION,
    ) -> None:
        self._operations = {operation.command: operation for operation in operations}
        self._past = Past(history, installation)

    def when(self, command: Command, *, given: object = None, call: Call = CALL) -> Self:
        """The command; what its rule is given is read from the past unless it is told here."""
        self._operation = self._operations[type(command)]
        self._command, self._given, self._call = command, given, call
        self._past.principal_id = call.principal_id
        return self

    def then(self, *expected: Event | SideWrite | Rows | Advice | Reply) -> None:
        """These events, rows and warnings, in this order."""
        assert self.decided() == list(expected)

    def decided(self) -> list[Event | SideWrite | Rows | Advice | Reply]:
        """What comes of it, where a sentence speaks of a part only."""
        outcome = self._decide()
        REACHED.add((self._operation.name, "then"))
        return outcome

    def refused(self, refusal: type[Refusal], saying: str = "") -> Refusal:
        """This refusal, which the operation declares or every change has."""
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
        outcome = list(cast("Outcome", operation.rule(*arguments, self._call)))
        for part in outcome:
            if isinstance(part, Insert) and part.loser and past.has(part):
                raise part.loser
            if isinstance(part, Rows) and past.holds_elsewhere(part):
                raise part.taken
        return outcome


def parsed[C: Command](command: C) -> C:
    """The command as it is once its fields are checked: a copy with changes is not yet."""
    fields = {name: getattr(command, name) for name in command.model_fields_set}
    return type(command).model_validate(msgspec.to_builtins(fields, enc_hook=dict))


class Example(Record):
    """A command that a matrix tries from every state, what its rule is given, and who calls."""

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
    """Run every example from every state and compare with a table a reader can check by eye."""
    declared = {operation.command: operation for operation in operations}
    columns = [(declared[type(example.command)], example) for example in examples]
    found = [[operation.name for operation, _ in columns]]
    for value in values:
        cells = [_moved(*column, build_state(value), read_axis) for column in columns]
        found.append([str(value), *cells])
    assert found == [line.split() for line in expected.strip().splitlines()]


def misshapen(command: type[Command], field: str, **arguments: object) -> None:
    """The command cannot even be put into words: one of its fields has the wrong shape."""
    with pytest.raises(ValidationError) as error:
        command(**arguments)
    assert {fault["loc"][0] for fault in error.value.errors()} == {field}


def run_sentences(module: ModuleType) -> None:
    """Run every test of a module that needs nothing but itself, so that `REACHED` is full."""
    for name, test in vars(module).items():
        if name.startswith("test_"):
            test()


async def enrol(
    service: Service, subject: str, *commands: str, scope: str = "All", issuer: str = ISSUER
) -> UUID:
    """Register a person with this login, permitted these commands on the HTTP surface."""
    login = {"issuer": issuer, "subject": subject}
    made = await call(service, "register_actor", {"name": subject, "identities": [login]})
    if commands:
        await permit(service, made.id, *commands, scope=scope)
    return made.id


async def permit(service: Service, principal_id: UUID, *commands: str, scope: str = "All") -> UUID:
    """Define a policy on the HTTP surface for one principal."""
    policy = {
        "name": "Test",
        "conduit_id": str(seeded.ENTRY),
        "surface_id": str(seeded.SURFACES[SurfaceKind.HTTP]),
        "permitted_principal_ids": [str(principal_id)],
        "permitted_commands": list(commands),
        "object_scope": scope,
    }
    made = await call(service, "define_policy", policy)
    return made.id


def _equals(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, set | frozenset) else value == wanted


def _moved[S](
    operation: Operation, example: Example, state: S, read_axis: Callable[[S], object]
) -> str:
    given = [example.given] if operation.given else []
    try:
        decided = operation.rule(state, example.command, *given, example.call)
    except operation.refusals:
        return "-"
    own = operation.aggregate
    for part in cast("Outcome", decided):
        moves = isinstance(part, Event) and CATALOGUE.streams[type(part)] is own
        if moves and getattr(part, own.id_field) == getattr(state, "id"):  # noqa: B009
            state = own.evolve(state, part)
    return str(read_axis(state))


def _result[T](reading: "Coroutine[Any, Any, T] | Any") -> T:
    """What a read of the past finds; the past is all in memory, so it never waits."""
    try:
        reading.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the read waits for something")
