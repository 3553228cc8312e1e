"""The logbook of a run: what was written down about it, as rows beside its stream."""

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
    """The text of the entry is not usable."""


class InvalidRunLogbookDecisionIdError(Invalid):
    """A debrief names the decision it comes from."""


class RunLogbookAuthorNotAgentError(Cannot):
    """A debrief is written by an agent; write a note instead."""


class RunLogbookEntryIdTakenError(Cannot):
    """An entry with this id says something else, or stands in another logbook."""


class AppendRunLogbookEntry(Command):
    run_id: UUID
    text: Annotated[str, MinLen(1), MaxLen(10_000)]
    entry_id: UUID | None = None
    """Given by the producer, so that the same entry sent again is stored once."""
    kind: RunEntryKind = RunEntryKind.NOTE
    decision_id: UUID | None = None


class EntryMade(Created):
    entry_id: UUID


async def stored_entry(
    run: Run, command: AppendRunLogbookEntry, read: Reader
) -> RunLogbookEntry | None:
    """The entry that has the id already; the decision named must exist."""
    if command.decision_id is not None:
        await read.one(decisions, command.decision_id)
    found = await read.rows(RUN_LOGBOOK, entry_id=command.entry_id) if command.entry_id else ()
    return found[0] if found else None


def append_run_logbook_entry(
    run: Run, command: AppendRunLogbookEntry, given: RunLogbookEntry | None, call: Call
) -> list[SideWrite | EntryMade]:
    """Write something down about a run; an entry is never changed, a correction is another one."""
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
        return [EntryMade(id)]
    who, where = call.principal_id, (call.surface_id, call.correlation_id)
    why, when = command.decision_id, call.now
    entry = RunLogbookEntry(id, run.id, who, command.kind, text, why, when, *where)
    return [RUN_LOGBOOK.insert(entry), EntryMade(id)]


class ListRunLogbookEntries(Page):
    """List what was written down about one run, oldest first."""

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
