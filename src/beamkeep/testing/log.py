"""The event log, and the rows that lists must have for it."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.lists.rows import Row, RowFold
from beamkeep.kernel import View
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import Position, StoredEvent, Stream

CODEC = Codec(CATALOGUE.aggregates.values())
LOG = """
SELECT transaction_id::text::bigint, position, stream_type, stream_id, principal_id,
       correlation_id, version, event_type, schema_version, payload::text
  FROM bk.events ORDER BY transaction_id, position
"""

type FoldedRows = dict[UUID, tuple[int, UUID, tuple[str, ...], bytes]]
"""By id: version, owner, facets and the row as JSON."""


class LoggedEvent(NamedTuple):
    """An event as it is in the log."""

    position: Position
    stream: Stream
    principal_id: UUID
    correlation_id: UUID
    recorded: StoredEvent


def folded_rows(log: Sequence[LoggedEvent], view: View[Any]) -> FoldedRows:
    """Return the rows that a list must have."""
    fold, rows = RowFold(view, CODEC), dict[UUID, Row]()
    for event in log:
        kind, id = event.stream
        if kind == view.aggregate.name:
            rows[id] = fold.after(rows.get(id), [event.recorded], event.principal_id)
    return {
        id: (row.version, row.owner_id, tuple(sorted(view.facets_of(row.state))), fold.dump(row))
        for id, row in rows.items()
    }
