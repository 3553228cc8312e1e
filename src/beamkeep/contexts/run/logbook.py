"""The logbook of a run: its entries, as rows beside its stream."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.kernel import (
    ActorKind,
    Call,
    Cannot,
    Command,
    Created,
    Invalid,
    Page,
    Reader,
    Record,
    SideWrite,
    Table,
    entries,
)
from beamkeep.kernel.values import trimmed

from .run import Run, runs


class RunEntryKind(StrEnum):
    NOTE = "Note"
    DEBRIEF = "Debrief"


class RunLogbookEntry(Record):
    entry_id: UUID
    run_id: UUID
    author_id: UUID
    kind: RunEntryKind
    text: str
    decision_id: UUID | None
    recorded_at: datetime
    surface_id: UUID | None
    correlation_id: UUID | None


RUN_LOGBOOK = Table("run_logbook_entry", RunLogbookEntry, key=("entry_id",))


class InvalidRunLogbookTextError(Invalid):
    """The text of a logbook entry must not be blank."""


class InvalidRunLogbookDecisionIdError(Invalid):
    """A logbook entry of kind Debrief requires a decision_id."""


class RunLogbookAuthorNotAgentError(Cannot):
    """Only an agent can write a logbook entry of kind Debrief; write a Note instead."""


class RunLogbookEntryIdTakenError(Cannot):
    """Another logbook entry has this entry_id; use a new entry_id."""


class AppendRunLogbookEntry(Command):
    run_id: UUID
    text: Annotated[str, MinLen(1), MaxLen(10_000)]
    entry_id: UUID | None = None
    """An id chosen by the caller: an entry sent twice with the same id is stored once."""
    kind: RunEntryKind = RunEntryKind.NOTE
    decision_id: UUID | None = None


class RunLogbookEntryMade(Created):
    entry_id: UUID


async def stored_entry(
    run: Run, command: AppendRunLogbookEntry, read: Reader
) -> RunLogbookEntry | None:
    """Return the stored entry with this id, if any; raise if the decision does not exist."""
    if command.decision_id is not None:
        await read.one(decisions, command.decision_id)
    found = await read.rows(RUN_LOGBOOK, entry_id=command.entry_id) if command.entry_id else ()
    return found[0] if found else None


def append_run_logbook_entry(
    run: Run, command: AppendRunLogbookEntry, given: RunLogbookEntry | None, call: Call
) -> list[SideWrite | RunLogbookEntryMade]:
    """Write an entry in the logbook of a run; to correct an entry, write another one."""
    text = trimmed(command.text, InvalidRunLogbookTextError)
    if command.kind is RunEntryKind.DEBRIEF:
        if command.decision_id is None:
            raise InvalidRunLogbookDecisionIdError
        if call.principal_kind is not ActorKind.AGENT:
            raise RunLogbookAuthorNotAgentError
    id = command.entry_id or call.new_id
    if given is not None:
        if (given.run_id, given.text) != (run.id, text):
            raise RunLogbookEntryIdTakenError
        return [RunLogbookEntryMade(id)]
    entry = RunLogbookEntry(
        id,
        run.id,
        author_id=call.principal_id,
        kind=command.kind,
        text=text,
        decision_id=command.decision_id,
        recorded_at=call.now,
        surface_id=call.surface_id,
        correlation_id=call.correlation_id,
    )
    return [RUN_LOGBOOK.insert(entry), RunLogbookEntryMade(id)]


class ListRunLogbookEntries(Page):
    """List the logbook entries of one run, oldest first."""

    kind: RunEntryKind | None = None
    author_id: UUID | None = None


# fmt: off
OPERATIONS = (
    runs.changes("POST /runs/{run_id}/logbook/append", AppendRunLogbookEntry,
        append_run_logbook_entry, DecisionNotFoundError, InvalidRunLogbookTextError,
        InvalidRunLogbookDecisionIdError, RunLogbookAuthorNotAgentError,
        RunLogbookEntryIdTakenError, given=stored_entry),
)
# fmt: on

QUESTIONS = (
    entries(
        "GET /runs/{run_id}/logbook",
        ListRunLogbookEntries,
        runs,
        RUN_LOGBOOK,
        by=("recorded_at", "entry_id"),
    ),
)
