"""Many events in a short time, written past the service, and whether lists show them."""

import asyncpg
from benchmarks.loading import load_visits

from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.runtime.store import Position
from tests.faults.ground import connected

LOADED_BY = DEVELOPER
"""The correlation of every event written so."""

VISIT_EVENTS, VISITS_AT_ONCE = 20, 500

# Asked of the bookmarks: the service's own look at them is given up where the machine stalls.
WAITING = """
SELECT 1 FROM bk.bookmarks b
  JOIN bk.projections p ON p.name = b.projection AND p.generation = b.generation AND p.live
 WHERE (b.tx, b.pos) < ($1::text::xid8, $2::bigint)
"""


async def load_backlog(url: str, events: int) -> None:
    """Write this many events of visits, some hundred visits in a transaction."""
    visits = events // VISIT_EVENTS
    async with connected(url) as connection:
        for first in range(0, visits, VISITS_AT_ONCE):
            count = min(VISITS_AT_ONCE, visits - first)
            await load_visits(connection, LOADED_BY, first, count, VISIT_EVENTS)


async def last_position(url: str) -> Position:
    """The place of the last event there is."""
    async with connected(url) as connection:
        row = await connection.fetchrow(
            "SELECT transaction_id::text::bigint, position FROM bk.events"
            " ORDER BY transaction_id DESC, position DESC LIMIT 1"
        )
    assert row is not None
    return Position(*row)


async def are_shown(connection: asyncpg.Connection, position: Position) -> bool:
    """Whether every list shows everything up to a position."""
    return not await connection.fetch(WAITING, str(position.tx), position.position)
