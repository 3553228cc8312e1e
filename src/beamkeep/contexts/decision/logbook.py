"""Logbook of a decision, and the parts of every logbook: entries that are never changed."""

from datetime import datetime
from typing import Annotated
from uuid import UUID, uuid5

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    WORK,
    Blank,
    Call,
    Cannot,
    Command,
    Created,
    Page,
    Record,
    SideWrite,
    Table,
    Work,
    entries,
)
from beamkeep.kernel.values import Trimmed

from .decision import Decision, DecisionCommand, decisions

BY_TIME = "recorded_at", "entry_id"
MIRRORING = "logbook-mirror"
"""The kind of the durable work by which an entry is copied to an outside logbook."""

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


class MirroredEntry(Record):
    """An entry that an outside logbook has, and under which number."""

    work_id: UUID
    subject_id: UUID
    """The run or the decision to which the entry belongs."""
    entry_id: UUID
    outside_id: str
    mirrored_at: datetime


MIRRORED = Table("logbook_mirror", MirroredEntry, key=("work_id",))


class SentBefore[E: LogbookEntry](Record):
    """What is known before an entry is written."""

    entry: E | None
    """The stored entry with the same id, if there is one."""
    is_mirrored: bool
    """Whether entries are copied to an outside logbook."""


def mirror_work_id(entry_id: UUID, table: str) -> UUID:
    """Return the id of the work by which an entry is copied; two tables may have one entry id."""
    return uuid5(entry_id, f"{MIRRORING}:{table}")


async def entry_sent_before[E: LogbookEntry](
    command: LogbookCommand, logbook: Table[E], read: Reader
) -> SentBefore[E]:
    """Return the stored entry with the id of the command, and whether entries are copied."""
    found = await read.rows(logbook, entry_id=command.entry_id) if command.entry_id else ()
    return SentBefore(found[0] if found else None, read.facts.mirrors_logbooks)


def append_once[E: LogbookEntry](
    command: LogbookCommand, before: SentBefore[E], logbook: Table[E], call: Call
) -> list[SideWrite | LogbookEntryMade]:
    """Return the row of a new entry, unless it was sent before, and the answer."""
    id = command.entry_id or call.new_id
    if before.entry:
        return [LogbookEntryMade(id)]
    origin = {"surface_id": call.surface_id, "correlation_id": call.correlation_id}
    written = {"author_id": call.principal_id, "recorded_at": call.now, **origin}
    entry = logbook.row.of(command, entry_id=id, **written)
    rows: list[SideWrite | LogbookEntryMade] = [logbook.insert(entry)]
    if before.is_mirrored:
        rows.append(WORK.insert(Work(mirror_work_id(id, logbook.name), MIRRORING, id)))
    return [*rows, LogbookEntryMade(id)]


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
    given: SentBefore[DecisionLogbookEntry],
    call: Call,
) -> list[SideWrite | LogbookEntryMade]:
    """Append an entry to the logbook of a decision; a correction is a further entry."""
    before = given.entry
    if before and (before.decision_id, before.text) != (decision.id, command.text):
        raise DecisionLogbookEntryIdTakenError
    return append_once(command, given, LOGBOOK, call)


class ListDecisionLogbookEntries(Page):
    """List the logbook entries of a decision, oldest first."""

    author_id: UUID | None = None


# fmt: off
OPERATIONS = (
    decisions.changes("POST /decisions/{decision_id}/logbook/append", AppendDecisionLogbookEntry,
        append_decision_logbook_entry, DecisionLogbookEntryIdTakenError,
        given=lambda _, command, read: entry_sent_before(command, LOGBOOK, read),
        title="Write a note in the logbook of a decision"),
)
QUESTIONS = (
    entries("GET /decisions/{decision_id}/logbook", ListDecisionLogbookEntries, decisions, LOGBOOK,
        by=BY_TIME),
)
# fmt: on
