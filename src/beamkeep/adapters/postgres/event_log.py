"""The log on PostgreSQL: pages of `bk.events` with their envelopes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from msgspec import Raw

from beamkeep.feed.log import Followed, LogPage, LogPlace, LogQuery, place_of
from beamkeep.feed.tail import PARTITIONS, WHOLE_LOG
from beamkeep.kernel import replace
from beamkeep.runtime.store import Envelope, Position

from .connections import Connections
from .sights import of_teams
from .statements import Statement
from .tail import WATERMARK

# One page. `looked` are the events that the indexes find, at most `look_at` of them; `found` are
# those of them that fit. A payload is read only for an event that is found.
PAGE = """
WITH looked AS MATERIALIZED (
  SELECT * FROM (
    SELECT e.transaction_id, e.position, e.event_id, e.stream_type, e.stream_id, e.version,
           e.event_type, e.command_name
      FROM bk.events e
     WHERE e.transaction_id < pg_snapshot_xmin(pg_current_snapshot()){indexed}) AS e
   ORDER BY e.transaction_id {direction}, e.position {direction} LIMIT :look_at),
found AS (
  SELECT e.transaction_id, e.position, e.stream_type, e.stream_id, e.version
    FROM looked e WHERE true{walked}
   ORDER BY e.transaction_id {direction}, e.position {direction} LIMIT :limit),
reached AS (
  SELECT e.transaction_id, e.position, e.event_id, (SELECT count(*) FROM looked) AS looked
    FROM looked e
   ORDER BY e.transaction_id {reverse}, e.position {reverse} LIMIT 1)
SELECT r.transaction_id::text::bigint, r.position, r.event_id, r.looked,
       e.*
  FROM reached r
  LEFT JOIN found f ON true
  LEFT JOIN LATERAL (
    SELECT event_id, stream_type, stream_id, version, transaction_id::text::bigint, position,
           event_type, schema_version, principal_id, command_name, surface_id, correlation_id,
           causation_id, recorded_at, occurred_at, payload::text
      FROM bk.events e
     WHERE e.stream_type = f.stream_type AND e.stream_id = f.stream_id AND e.version = f.version
     LIMIT 1) AS e ON true
 ORDER BY f.transaction_id {direction}, f.position {direction}
"""
INDEXED = {
    "low": "(e.transaction_id, e.position) > (:low_tx::text::xid8, :low_position::bigint)",
    "high": "(e.transaction_id, e.position) < (:high_tx::text::xid8, :high_position::bigint)",
    "principal_id": "e.principal_id = :principal_id",
    "stream_ids": "e.stream_id = ANY(:stream_ids::uuid[])",
    "since": "e.recorded_at >= :since",
    "until": "e.recorded_at < :until",
}
# It makes the planner use the index of the streams instead of that of the order.
FENCE = "\n    OFFSET 0"
WALKED = {
    "types": "e.event_type = ANY(:types::text[])",
    "stream_types": "e.stream_type = ANY(:stream_types::text[])",
    "command_name": "e.command_name = :command_name",
    "facility_code": """(
      SELECT d.facility_code FROM bk.directory d WHERE d.id = e.stream_id) = :facility_code""",
    "owner_id": f"""((
      SELECT o.principal_id FROM bk.events o
       WHERE o.stream_type = e.stream_type AND o.stream_id = e.stream_id AND o.version = 1
       LIMIT 1) = :owner_id
      OR e.stream_id = :owner_id AND e.stream_type = ANY(:self_owned::text[])
      OR :teams::boolean AND {of_teams("e.stream_id", ":owner_id")})""",  # noqa: S608
}

EVENT_ID = """
SELECT event_id FROM bk.events WHERE transaction_id = $1::text::xid8 AND position = $2
"""

HEAD = """
SELECT e.transaction_id::text::bigint, e.position, e.event_id FROM bk.events e
 WHERE e.transaction_id < pg_snapshot_xmin(pg_current_snapshot())
 ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1
"""

# The first event that a live list is still to follow, in any shard; without one, the watermark.
FOLLOWED = f"""
SELECT e.transaction_id::text::bigint, e.position, e.waits FROM ({{shards}}
  UNION ALL SELECT {WATERMARK.format(events="bk.events")}::text::xid8, 0, false) AS e
 ORDER BY e.transaction_id, e.position LIMIT 1
"""  # noqa: S608
FOLLOWED_SHARD = """
  (SELECT e.transaction_id, e.position, true AS waits
     FROM (SELECT b.tx, b.pos FROM bk.bookmarks b
             JOIN bk.projections p ON p.name = b.projection AND p.generation = b.generation
            WHERE b.shard = {shard} AND p.live ORDER BY b.tx, b.pos LIMIT 1) AS b
    CROSS JOIN LATERAL (
      SELECT e.transaction_id, e.position FROM {events} e
       WHERE (e.transaction_id, e.position) > (b.tx, b.pos)
       ORDER BY e.transaction_id, e.position LIMIT 1) AS e)"""

# The time of the first event of a transaction or of the next one that has any.
RECORDED = """
SELECT e.transaction_id::text::bigint, e.recorded_at FROM bk.events e
 WHERE e.transaction_id >= $1::text::xid8 ORDER BY e.transaction_id, e.position LIMIT 1
"""

LATE = timedelta(seconds=60)
"""How long a transaction may take between its id and its events."""
MOST_PLACES = 1_000


class PostgresEventLog:
    """Reads the log, as the role of the service."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._places: dict[datetime, Position] = {}
        """Where times were found. The log only grows, so that a time stays where it is."""

    async def page(self, query: LogQuery) -> LogPage:
        """Return the next events that fit the query."""
        if query.facility_code is not None and query.before is None:
            query = replace(query, before=(await self.followed()).before)
        low, high = await self._bounds(query)
        values = {
            "low": low,
            "low_tx": low and str(low.tx),
            "low_position": low and low.position,
            "high": high,
            "high_tx": high and str(high.tx),
            "high_position": high and high.position,
            "principal_id": query.principal_id,
            "stream_ids": _listed(query.stream_ids),
            "since": query.since,
            "until": query.until,
            "types": _listed(query.types),
            "stream_types": _listed(query.stream_types),
            "command_name": query.command_name,
            "facility_code": query.facility_code,
            "owner_id": query.sight and query.sight.principal_id,
            "teams": query.sight is not None and query.sight.teams,
            "self_owned": _listed(query.self_owned),
            "look_at": query.most,
            "limit": query.limit,
        }
        given = frozenset(name for name, value in values.items() if value is not None)
        statement = _page(given & (INDEXED.keys() | WALKED.keys()), query.newest_first)
        rows = await self._connections.read(*statement.bind(values))
        events = [_event(row[4:]) for row in rows if row[4] is not None]
        if not rows:
            return LogPage(events, None, more=False)
        tx, position, event_id, looked = rows[0][:4]
        reached = LogPlace(Position(tx, position), event_id)
        if len(events) == query.limit:
            last = place_of(events[-1])
            return LogPage(events, last, more=last != reached)
        return LogPage(events, reached, more=looked == query.most)

    async def event_id(self, position: Position) -> UUID | None:
        """Return the id of the event at a position, if there is one."""
        rows = await self._connections.read(EVENT_ID, str(position.tx), position.position)
        return rows[0][0] if rows else None

    async def head(self) -> LogPlace | None:
        """Return the place of the newest event."""
        rows = await self._connections.read(HEAD)
        return LogPlace(Position(*rows[0][:2]), rows[0][2]) if rows else None

    async def followed(self) -> Followed:
        """Return how far the directory has followed, which is written with the lists."""
        ((tx, position, waits),) = await self._connections.read(_followed())
        return Followed(Position(tx, position), waits)

    async def _bounds(self, query: LogQuery) -> tuple[Position | None, Position | None]:
        """Return the positions between which all events of the page are."""
        low = [await self._first_since(query.since - LATE)] if query.since else []
        high = [await self._first_since(query.until + LATE)] if query.until else []
        if query.after is not None:
            (high if query.newest_first else low).append(query.after)
        if query.before is not None:
            high.append(query.before)
        return max(low, default=None), min(high, default=None)

    async def _first_since(self, time: datetime) -> Position:
        """Return a position before the first event that was recorded at a time or later."""
        if time in self._places:
            return self._places[time]
        head = await self.head()
        end = head.position.tx + 1 if head else 0
        low, high = 0, end
        while low < high:
            middle = (low + high) // 2
            rows = await self._connections.read(RECORDED, str(middle))
            if rows and rows[0][1] < time:
                low = rows[0][0] + 1
            else:
                high = middle
        if low < end:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            self._places[time] = Position(low, 0)
        return Position(low, 0)


@cache
def _followed() -> str:
    shards = {WHOLE_LOG: "bk.events"} | {n: f"bk.events_p{n}" for n in range(PARTITIONS)}
    each = (FOLLOWED_SHARD.format(shard=n, events=events) for n, events in shards.items())
    return FOLLOWED.format(shards=" UNION ALL".join(each))


@cache
def _page(given: frozenset[str], newest_first: bool) -> Statement:
    directions = ("DESC", "ASC") if newest_first else ("ASC", "DESC")
    indexed = "".join(f"\n       AND {INDEXED[name]}" for name in INDEXED if name in given)
    walked = "".join(f"\n     AND {WALKED[name]}" for name in WALKED if name in given)
    return Statement(
        PAGE.format(
            indexed=indexed + FENCE * ("stream_ids" in given),
            walked=walked,
            direction=directions[0],
            reverse=directions[1],
        )
    )


def _listed[T](values: frozenset[T] | None) -> list[T] | None:
    return None if values is None else list(values)


def _event(row: Sequence[Any]) -> Envelope:
    *known, payload = row
    return Envelope(*known, payload=Raw(payload))
