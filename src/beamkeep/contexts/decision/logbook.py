"""The logbook of a decision: its narrative, entry by entry, none of them ever changed."""

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


class DecisionLogbookEntry(Record):
    entry_id: UUID
    decision_id: UUID
    author_id: UUID
    text: str
    recorded_at: datetime
    surface_id: UUID | None
    correlation_id: UUID | None


LOGBOOK = Table("decision_logbook_entry", DecisionLogbookEntry, key=("entry_id",))


class InvalidDecisionLogbookTextError(Invalid):
    """The text of the logbook entry is not usable."""


class DecisionLogbookEntryIdTakenError(Cannot):
    """Another logbook entry has this id; leave the id out, or give another one."""


class AppendDecisionLogbookEntry(DecisionCommand):
    text: Annotated[str, MinLen(1), MaxLen(10_000)]
    entry_id: UUID | None = None
    """Given, the entry may be sent again and is kept once."""


class LogbookEntryMade(Created):
    entry_id: UUID


async def same_entry(
    decision: Decision, command: AppendDecisionLogbookEntry, read: Reader
) -> DecisionLogbookEntry | None:
    if command.entry_id is None:
        return None
    rows = await read.rows(LOGBOOK, entry_id=command.entry_id)
    return rows[0] if rows else None


def append_decision_logbook_entry(
    decision: Decision,
    command: AppendDecisionLogbookEntry,
    given: DecisionLogbookEntry | None,
    call: Call,
) -> list[SideWrite | LogbookEntryMade]:
    """Add to the narrative of a decision; a correction is a further entry."""
    text = trimmed(command.text, InvalidDecisionLogbookTextError)
    if given:
        if (given.decision_id, given.text) != (decision.id, text):
            raise DecisionLogbookEntryIdTakenError
        return [LogbookEntryMade(given.entry_id)]
    entry = DecisionLogbookEntry(
        command.entry_id or call.new_id,
        decision.id,
        call.principal_id,
        text,
        call.now,
        call.surface_id,
        call.correlation_id,
    )
    return [LOGBOOK.insert(entry), LogbookEntryMade(entry.entry_id)]


class ListDecisionLogbookEntries(Page):
    """List the logbook of one decision, oldest entry first."""

    author_id: UUID | None = None


# fmt: off
OPERATIONS = (
    decisions.changes("POST /decisions/{decision_id}/logbook/append", AppendDecisionLogbookEntry,
        append_decision_logbook_entry, InvalidDecisionLogbookTextError,
        DecisionLogbookEntryIdTakenError, given=same_entry),
)
# fmt: on

QUESTIONS = (
    entries(
        "GET /decisions/{decision_id}/logbook",
        ListDecisionLogbookEntries,
        decisions,
        LOGBOOK,
        by=("recorded_at", "entry_id"),
    ),
)
