"""The logbook of a run: its entries, as rows next to its stream."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.decision import logbook
from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    ActorKind,
    Blank,
    Call,
    Cannot,
    Invalid,
    Page,
    SideWrite,
    Table,
    entries,
    replace,
)
from beamkeep.kernel.values import Trimmed

from .run import Run, RunCommand, runs


class RunEntryKind(StrEnum):
    NOTE = "Note"
    DEBRIEF = "Debrief"


class RunLogbookEntry(logbook.LogbookEntry, kw_only=True):
    run_id: UUID
    kind: RunEntryKind
    decision_id: UUID | None


RUN_LOGBOOK = Table("run_logbook_entry", RunLogbookEntry, key=("entry_id",))


class InvalidRunLogbookTextError(Blank): ...


class InvalidRunLogbookDecisionIdError(Invalid):
    """A logbook entry of kind Debrief requires a decision_id."""


class RunLogbookAuthorNotAgentError(Cannot):
    """Only an agent can write a logbook entry of kind Debrief; write a Note instead."""


class RunLogbookEntryIdTakenError(Cannot):
    """Another logbook entry has this entry_id; use a new entry_id."""


class AppendRunLogbookEntry(RunCommand, logbook.LogbookCommand):
    text: Annotated[logbook.LogbookText, Trimmed(InvalidRunLogbookTextError)]
    kind: RunEntryKind = RunEntryKind.NOTE
    decision_id: UUID | None = None


async def sent_before(
    run: Run, command: AppendRunLogbookEntry, read: Reader
) -> logbook.SentBefore[RunLogbookEntry]:
    """Return the stored entry with this id, if any; raise if the decision does not exist."""
    if command.decision_id is not None:
        await read.one(decisions, command.decision_id)
    return await logbook.entry_sent_before(command, RUN_LOGBOOK, read)


def append_run_logbook_entry(
    run: Run,
    command: AppendRunLogbookEntry,
    given: logbook.SentBefore[RunLogbookEntry],
    call: Call,
) -> list[SideWrite | logbook.LogbookEntryMade]:
    """Write an entry in the logbook of a run; to correct an entry, write another one."""
    if command.kind is RunEntryKind.DEBRIEF:
        if command.decision_id is None:
            raise InvalidRunLogbookDecisionIdError
        if call.principal_kind is not ActorKind.AGENT:
            raise RunLogbookAuthorNotAgentError
    before = given.entry
    if before and (before.run_id, before.text) != (run.id, command.text):
        raise RunLogbookEntryIdTakenError
    return logbook.append_once(command, given, RUN_LOGBOOK, call)


class ListRunLogbookEntries(Page):
    """List the logbook entries of one run, oldest first."""

    kind: RunEntryKind | None = None
    author_id: UUID | None = None


# fmt: off
OPERATIONS = (
    runs.changes("POST /runs/{run_id}/logbook/append", AppendRunLogbookEntry,
        append_run_logbook_entry, DecisionNotFoundError, InvalidRunLogbookDecisionIdError,
        RunLogbookAuthorNotAgentError, RunLogbookEntryIdTakenError, given=sent_before,
        title="Write a note in the logbook of a run"),
)
# fmt: on

ROUTE, BY_TIME = "GET /runs/{run_id}/logbook", logbook.BY_TIME
ENTRIES = entries(ROUTE, ListRunLogbookEntries, runs, RUN_LOGBOOK, by=BY_TIME)
QUESTIONS = (replace(ENTRIES, composed_of=("Decision",)),)
