"""The generic tests of a context: what must hold of each of its operations and questions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import httpx2

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Context, Many, Operation, Question, Record
from beamkeep.runtime.codec import Codec, shown
from beamkeep.runtime.store import StoredEvent

from .calling import Mcp, Rest
from .examples import CallExample, Do
from .principals import As
from .properties import (
    CallRow,
    a_caller_without_permission_is_refused,
    a_change_of_another_version_is_refused,
    a_dry_run_answers_the_same_events,
    a_key_used_for_something_else_is_refused,
    a_request_of_the_wrong_shape_is_refused,
    a_success_has_the_same_shape,
    an_absent_object_is_not_found,
    refers,
)
from .service import CALLERS, AdminClient, enrol, memory_service
from .web import http_client, rest_application

OWNER, OTHER, NOBODY = "ada", "bob", "stranger"


class MemoryStage:
    """A service in memory: an administrator, a person who sees only its own, and a stranger."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        store: MemoryStore,
        do: Do,
        examples: Mapping[str, CallExample],
    ) -> None:
        self.rest, self.mcp = As(Rest(http), OWNER, CALLERS), As(Mcp(http), OWNER, CALLERS)
        self.nobody = As(Rest(http), NOBODY), As(Mcp(http), NOBODY)
        self.other = As(Rest(http), OTHER)
        self.store, self.do, self._examples = store, do, examples
        self.outside: Sequence[str] = ()

    async def example(self, row: CallRow, fresh: bool = False) -> dict[str, Any]:
        """Return arguments that would succeed."""
        return await self._examples[row.name](self.do)

    def written(self) -> str:
        """Return the token of what was written last."""
        return str(self.store.position)

    def events(self) -> int:
        """Return the number of events in the log."""
        return len(self.store.log)


async def a_repeated_call_changes_nothing(row: CallRow, stage: MemoryStage) -> None:
    """Require the first answer for a repeated idempotency key, and no further event."""
    arguments, key = await stage.example(row), {"idempotency_key": "the-same"}
    first = await stage.rest.send(row.name, arguments, **key)
    assert first.ok, first
    written = stage.events()
    again = await stage.rest.send(row.name, arguments, **key)
    assert (again.body, again.version, again.replayed) == (first.body, first.version, True)
    assert stage.events() == written


async def a_dry_run_writes_nothing(row: CallRow, stage: MemoryStage) -> None:
    """Require that the log is as long after a dry run as before it."""
    arguments = await stage.example(row)
    written = stage.events()
    answer = await stage.rest.send(row.name, arguments, dry_run=True)
    assert answer.ok, answer
    assert stage.events() == written


async def an_object_of_another_is_not_found(row: CallRow, stage: MemoryStage) -> None:
    """Require for an object of another principal what an absent object gets: 404."""
    answer = await stage.other.send(row.name, await stage.example(row))
    assert (answer.status, answer.body["code"]) == (404, row.aggregate.absent.__name__)


async def a_list_leaves_out_what_is_anothers(row: CallRow, stage: MemoryStage) -> None:
    """Require that a list shows an object to its owner, and not to another principal."""
    makes = (o for o in CATALOGUE.operations if o.aggregate is row.aggregate and o.genesis)
    for operation in makes:
        await stage.do(operation.name, await stage.example(operation))
    asked = {"min_token": stage.written()}
    mine, theirs = [await each.send(row.name, asked) for each in (stage.rest, stage.other)]
    assert mine.body["items"]
    assert theirs.body["items"] == []


async def its_stream_is_read_as_it_was_written(row: CallRow, stage: MemoryStage) -> None:
    """Require that the stored events fold to the state that `get` shows, and are stored alike."""
    done = await stage.rest.send(row.name, await stage.example(row))
    assert done.ok, done
    codec, of = Codec(CATALOGUE.aggregates.values()), row.aggregate
    streams = {id: found for (kind, id), found in stage.store.streams.items() if kind == of.name}
    assert streams
    for id, envelopes in streams.items():
        stored: list[StoredEvent] = [each.recorded for each in envelopes]
        for each, event in zip(stored, codec.decode(of.name, stored), strict=True):
            again = codec.encode(event, each.version, envelopes[0].event_id)
            assert again.payload == each.payload
        got = await stage.rest(f"get_{of.noun}", {of.id_field: str(id)})
        state = shown(of, codec.fold(of, stored), envelopes[0].principal_id)
        assert state.items() <= got.items()


def _is_command(row: CallRow) -> bool:
    return isinstance(row, Operation)


def _is_change(row: CallRow) -> bool:
    return isinstance(row, Operation) and not row.genesis


def _is_about_one(row: CallRow) -> bool:
    return _is_change(row) or (isinstance(row, Question) and row.about is not None)


def _is_list(row: CallRow) -> bool:
    return isinstance(row, Question) and isinstance(row.source, Many)


def _every(_: CallRow) -> bool:
    return True


def _refers(row: CallRow) -> bool:
    return refers(row) is not None


type Requirement = Callable[[CallRow, MemoryStage], Awaitable[None]]
REQUIREMENTS: Mapping[Requirement, Callable[[CallRow], bool]] = {
    a_caller_without_permission_is_refused: _every,
    a_request_of_the_wrong_shape_is_refused: _every,
    a_success_has_the_same_shape: _every,
    an_absent_object_is_not_found: _refers,
    an_object_of_another_is_not_found: _is_about_one,
    a_list_leaves_out_what_is_anothers: _is_list,
    a_change_of_another_version_is_refused: _is_change,
    a_key_used_for_something_else_is_refused: _is_command,
    a_repeated_call_changes_nothing: _is_command,
    a_dry_run_answers_the_same_events: _is_command,
    a_dry_run_writes_nothing: _is_command,
    its_stream_is_read_as_it_was_written: _is_command,
}
"""What must hold, and for which rows."""


class SuiteCase(Record):
    """One requirement for one operation or question."""

    requirement: Requirement
    row: CallRow
    examples: Mapping[str, CallExample]

    def __str__(self) -> str:
        return f"{self.row.name}: {cast('Any', self.requirement).__name__}"

    def run(self) -> None:
        """Try the case on a fresh service in memory."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        service, store = await memory_service()
        names = [row.name for row in service.catalogue.named.values()]
        await enrol(service, OTHER, *names, scope="Own")
        await enrol(service, NOBODY)
        async with http_client(rest_application(service)) as http:
            stage = MemoryStage(http, store, do=AdminClient(service, store), examples=self.examples)
            await self.requirement(self.row, stage)


def cases(context: Context, examples: Mapping[str, CallExample]) -> list[SuiteCase]:
    """Return every case of a context. Raise ValueError for a row without an example."""
    every: list[CallRow] = [*context.operations, *context.questions]
    rows = [row for row in every if not row.route.is_internal]
    if missing := sorted({row.name for row in rows} - examples.keys()):
        raise ValueError(f"These have no example: {', '.join(missing)}.")
    return [
        SuiteCase(requirement, row, examples)
        for requirement, concerns in REQUIREMENTS.items()
        for row in rows
        if concerns(row)
    ]
