"""The logbook of a decision: its narrative, entry by entry, none of them ever changed."""

from datetime import datetime
from uuid import UUID

from beamkeep.kernel import Record, Table


class DecisionLogbookEntry(Record):
    entry_id: UUID
    decision_id: UUID
    author_id: UUID
    text: str
    recorded_at: datetime
    surface_id: UUID | None
    correlation_id: UUID | None


LOGBOOK = Table("decision_logbook_entry", DecisionLogbookEntry, key=("entry_id",))
