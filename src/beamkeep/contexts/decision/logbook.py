"""Logbook of a decision, and the parts of every logbook: entries that are never changed."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.kernel import (
    Blank,
    Call,
    Cannot,
    Command,
    Created,
    Page,
    Reader,
    Record,
    SideWrite,
    Table,
    entries,
)
from beamkeep.kernel.values import Trimmed

from .decision import Decision, DecisionCommand, decisions

BY_TIME = "recorded_at", "entry_id"

type LogbookText = Annotated[str, MinLen(1), MaxLen(10_000)]


class LogbookEntry(Record):
    """An entry of any logbook."""

    entry_id: UUID
    text: str
    author_id: UUID
    recorded_at: datetime
    surface_id: UUID | None
    correlation_id: UUID | None


class LogbookCommand(Command):
    entry_id: UUID | None = None
    """Id that makes the request repeatable: the entry is stored once (default: a new id)."""


class LogbookEntryMade(Created):
    entry_id: UUID


async def entry_sent_before[E: LogbookEntry](
    command: LogbookCommand, logbook: Table[E], read: Reader
) -> E | None:
    """Return the stored entry with the id of the command, if there is one."""
    found = await read.rows(logbook, entry_id=command.entry_id) if command.entry_id else ()
    return found[0] if found else None


def append_once[E: LogbookEntry](
    command: LogbookCommand, before: E | None, logbook: Table[E], call: Call
) -> list[SideWrite | LogbookEntryMade]:
    """Return the row of a new entry, unless it was sent before, and the answer."""
    id = command.entry_id or call.new_id
    if before:
        return [LogbookEntryMade(id)]
    origin = {"surface_id": call.surface_id, "correlation_id": call.correlation_id}
    written = {"author_id": call.principal_id, "recorded_at": call.now, **origin}
    entry = logbook.row.of(command, entry_id=id, **written)
    return [logbook.insert(entry), LogbookEntryMade(id)]


class DecisionLogbookEntry(LogbookEntry, kw_only=True):
    decision_id: UUID


LOGBOOK = Table("decision_logbook_entry", DecisionLogbookEntry, key=("entry_id",))


class InvalidDecisionLogbookTextError(Blank): ...


class DecisionLogbookEntryIdTakenError(Cannot):
    """Id of a logbook entry must be unique; leave it out, or use another id."""


class AppendDecisionLogbookEntry(DecisionCommand, LogbookCommand):
    text: Annotated[LogbookText, Trimmed(InvalidDecisionLogbookTextError)]


def append_decision_logbook_entry(
    decision: Decision,
    command: AppendDecisionLogbookEntry,
    given: DecisionLogbookEntry | None,
    call: Call,
) -> list[SideWrite | LogbookEntryMade]:
    """Append an entry to the logbook of a decision; a correction is a further entry."""
    if given and (given.decision_id, given.text) != (decision.id, command.text):
        raise DecisionLogbookEntryIdTakenError
    return append_once(command, given, LOGBOOK, call)


class ListDecisionLogbookEntries(Page):
    """List the logbook entries of a decision, oldest first."""

    author_id: UUID | None = None


# fmt: off
OPERATIONS = (
    decisions.changes("POST /decisions/{decision_id}/logbook/append", AppendDecisionLogbookEntry,
        append_decision_logbook_entry, DecisionLogbookEntryIdTakenError,
        given=lambda _, command, read: entry_sent_before(command, LOGBOOK, read)),
)
QUESTIONS = (
    entries("GET /decisions/{decision_id}/logbook", ListDecisionLogbookEntries, decisions, LOGBOOK,
        by=BY_TIME),
)
# fmt: on
