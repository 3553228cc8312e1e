"""Logbook of a decision: entries that are appended and never changed."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.kernel import (
    Call,
    Cannot,
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

from .decision import Decision, DecisionCommand, decisions


class LogbookEntry(Record):
    """An entry of any logbook."""

    entry_id: UUID
    text: str
    author_id: UUID
    recorded_at: datetime
    surface_id: UUID | None
    correlation_id: UUID | None


class DecisionLogbookEntry(LogbookEntry, kw_only=True):
    decision_id: UUID


LOGBOOK = Table("decision_logbook_entry", DecisionLogbookEntry, key=("entry_id",))


class InvalidDecisionLogbookTextError(Invalid):
    """Text of a logbook entry must not be blank."""


class DecisionLogbookEntryIdTakenError(Cannot):
    """Id of a logbook entry must be unique; leave it out, or use another id."""


type LogbookText = Annotated[str, MinLen(1), MaxLen(10_000)]


class AppendDecisionLogbookEntry(DecisionCommand):
    text: LogbookText
    entry_id: UUID | None = None
    """Id that makes the request repeatable: the entry is stored once (default: a new id)."""


class LogbookEntryMade(Created):
    entry_id: UUID


async def entry_with_id[E: LogbookEntry](
    entry_id: UUID | None, of: Table[E], read: Reader
) -> E | None:
    """Return the stored entry with this id, if there is one."""
    found = await read.rows(of, entry_id=entry_id) if entry_id else ()
    return found[0] if found else None


async def stored_entry(
    decision: Decision, command: AppendDecisionLogbookEntry, read: Reader
) -> DecisionLogbookEntry | None:
    return await entry_with_id(command.entry_id, LOGBOOK, read)


def append_decision_logbook_entry(
    decision: Decision,
    command: AppendDecisionLogbookEntry,
    given: DecisionLogbookEntry | None,
    call: Call,
) -> list[SideWrite | LogbookEntryMade]:
    """Append an entry to the logbook of a decision; a correction is a further entry."""
    text = trimmed(command.text, InvalidDecisionLogbookTextError)
    if given:
        if (given.decision_id, given.text) != (decision.id, text):
            raise DecisionLogbookEntryIdTakenError
        return [LogbookEntryMade(given.entry_id)]
    entry = DecisionLogbookEntry(
        command.entry_id or call.new_id,
        text,
        decision_id=decision.id,
        author_id=call.principal_id,
        recorded_at=call.now,
        surface_id=call.surface_id,
        correlation_id=call.correlation_id,
    )
    return [LOGBOOK.insert(entry), LogbookEntryMade(entry.entry_id)]


class ListDecisionLogbookEntries(Page):
    """List the logbook entries of a decision, oldest first."""

    author_id: UUID | None = None


# fmt: off
OPERATIONS = (
    decisions.changes("POST /decisions/{decision_id}/logbook/append", AppendDecisionLogbookEntry,
        append_decision_logbook_entry, InvalidDecisionLogbookTextError,
        DecisionLogbookEntryIdTakenError, given=stored_entry),
)
QUESTIONS = (
    entries("GET /decisions/{decision_id}/logbook", ListDecisionLogbookEntries, decisions, LOGBOOK,
        by=("recorded_at", "entry_id")),
)
# fmt: on
