"""Comparisons of rows that follow from events and envelopes, made by the database itself."""

from collections.abc import AsyncGenerator, Iterable
from typing import Any

import asyncpg

from beamkeep.contexts.seams.lineage import ProvenanceRelation
from beamkeep.kernel import View

from .migrate import migrations

# The functions of the schema, which those who compare rely on.
FUNCTIONS = """
SELECT p.proname::text, p.prosrc FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
 WHERE p.pronamespace = 'bk'::regnamespace AND l.lanname IN ('sql', 'plpgsql')
"""
RELIED_ON = {"login_digests", "profile_hashes", "keep_profile_digest", "refuse_change"}

# Profiles whose last salted hash in the tree is another one.
PROFILES = """
SELECT format('The profile of actor %s is not the one that was written.', h.actor_id)
  FROM bk.profile_hashes() h
  LEFT JOIN LATERAL (
    SELECT d.hash FROM bk.profile_digest d WHERE d.actor_id = h.actor_id
     ORDER BY d.transaction_id DESC LIMIT 1) AS d ON true
 WHERE d.hash IS DISTINCT FROM h.hash
 ORDER BY h.actor_id
"""

# Salted hashes that no event about the profile was written with.
PROFILE_DIGESTS = """
SELECT format('The profile of actor %s was written without an event.', d.actor_id)
  FROM bk.profile_digest d
 WHERE d.transaction_id <> (SELECT rows_since FROM bk.deployment) AND NOT EXISTS (
   SELECT FROM bk.events e
    WHERE e.stream_type = 'Actor' AND e.stream_id = d.actor_id
      AND e.transaction_id = d.transaction_id::text::xid8
      AND e.event_type IN ('ActorRegistered', 'ActorProfileUpdated'))
 ORDER BY d.actor_id
"""

# Principals that count as agents without having been defined as one.
STANDINGS = """
SELECT format('bk.principal_standing has principal %s as an agent, which does not exist.',
              s.principal_id)
  FROM bk.principal_standing s
 WHERE (s.agent_kind IS NOT NULL OR s.agent_barred IS NOT NULL OR s.tools <> '{}')
   AND NOT EXISTS (SELECT FROM bk.events e WHERE e.stream_type = 'Agent'
                      AND e.stream_id = s.principal_id AND e.version = 1)
 ORDER BY s.principal_id
"""

# Checkpoints of trees that do not exist.
CHECKPOINTS = """
SELECT format('bk.witness_checkpoint has a checkpoint of %s-%s, which has not begun.',
              c.tree, c.number)
  FROM bk.witness_checkpoint c LEFT JOIN bk.witness_tree t ON t.tree = c.tree
 WHERE t.tree IS NULL OR c.number < 1 OR c.number > t.number
 ORDER BY c.tree, c.number, c.size
"""

# Edges of acquisitions: one that another corrects has none.
ACQUISITIONS = """
WITH made AS (
  SELECT e.stream_id, (e.payload ->> 'dataset_id')::uuid AS from_id,
         (e.payload ->> 'producing_asset_id')::uuid AS to_id
    FROM bk.events e
   WHERE e.stream_type = 'Acquisition' AND e.version = 1 AND NOT EXISTS (
     SELECT FROM bk.events c WHERE c.stream_type = 'Acquisition' AND c.version = 1
        AND c.payload ->> 'corrects_acquisition_id' = e.stream_id::text))
SELECT format('bk.provenance_edge and the events of Acquisition %s differ.',
              coalesce(m.stream_id, p.source_id))
  FROM made m
  FULL JOIN (SELECT * FROM bk.provenance_edge WHERE relation = 'acquired_by') AS p
    ON (p.source_id, p.from_id, p.to_id) = (m.stream_id, m.from_id, m.to_id)
 WHERE m.stream_id IS NULL OR p.source_id IS NULL
 ORDER BY coalesce(m.stream_id, p.source_id)
"""

RELATIONS = ", ".join(f"'{each}'" for each in ProvenanceRelation)
EDGES = f"""
SELECT format('bk.provenance_edge has a row of a relation that nothing uses: %s from %s to %s.',
              relation, from_id, to_id)
  FROM bk.provenance_edge WHERE relation NOT IN ({RELATIONS}) ORDER BY from_id, to_id
"""  # noqa: S608

# The rows of decisions that agents made, with what others said of them later.
AGENT_DECISIONS = """
WITH made AS (
  SELECT e.stream_id, e.principal_id, e.correlation_id, e.recorded_at
    FROM bk.events e
    JOIN bk.principal_standing s ON s.principal_id = e.principal_id AND s.kind = 'agent'
   WHERE e.stream_type = 'Decision' AND e.version = 1 AND e.command_name = 'register_decision'
     AND (e.payload ->> 'actor_id')::uuid = e.principal_id),
rated AS (
  SELECT l.stream_id, bool_or(l.rating = 'misleading') AS misleading
    FROM (SELECT DISTINCT ON (e.stream_id, e.payload ->> 'actor_id')
                 e.stream_id, e.payload ->> 'rating' AS rating
            FROM bk.events e
           WHERE e.stream_type = 'Decision' AND e.event_type = 'DecisionRated'
           ORDER BY e.stream_id, e.payload ->> 'actor_id', e.version DESC) AS l
   GROUP BY l.stream_id),
overridden AS (
  SELECT DISTINCT (e.payload ->> 'parent_id')::uuid AS id FROM bk.events e
   WHERE e.stream_type = 'Decision' AND e.version = 1
     AND e.payload ->> 'override_kind' IN ('correction', 'invalidation'))
SELECT CASE
       WHEN r.decision_id IS NULL THEN
         format('bk.agent_decision lacks the row of Decision %s.', m.stream_id)
       WHEN m.stream_id IS NULL THEN
         format('bk.agent_decision has a row of Decision %s, which no agent made.', r.decision_id)
       ELSE format('bk.agent_decision has a row that the events of Decision %s do not explain.',
                   r.decision_id) END
  FROM made m FULL JOIN bk.agent_decision r ON r.decision_id = m.stream_id
  LEFT JOIN rated ON rated.stream_id = m.stream_id
  LEFT JOIN overridden o ON o.id = m.stream_id
 WHERE m.stream_id IS NULL OR r.decision_id IS NULL OR r.agent_id <> m.principal_id
    OR r.correlation_id IS DISTINCT FROM m.correlation_id
    OR r.decided_at > m.recorded_at OR r.decided_at < m.recorded_at - interval '10 minutes'
    OR r.rated_misleading <> coalesce(rated.misleading, false)
    OR r.overridden <> (o.id IS NOT NULL)
 ORDER BY coalesce(m.stream_id, r.decision_id)
"""

# Times of reports that are later or earlier than the last event about the permit allows. A report
# that repeats the last one leaves no event.
ENCLOSURES = """
SELECT format('bk.enclosure_freshness has %s as the last report on Enclosure %s, which does not'
              ' fit its events, unless the clock of the database was set back.',
              f.last_reported_at, f.enclosure_id)
  FROM bk.enclosure_freshness f
  LEFT JOIN LATERAL (
    SELECT e.recorded_at, e.payload ->> 'to_permit_status' AS status FROM bk.events e
     WHERE e.stream_type = 'Enclosure' AND e.stream_id = f.enclosure_id
       AND e.event_type = 'EnclosurePermitObserved'
     ORDER BY e.version DESC LIMIT 1) AS e ON true
 WHERE f.last_reported_at > clock_timestamp() + interval '1 minute'
    OR e.status = 'Unknown' AND f.last_reported_at > e.recorded_at + interval '1 minute'
    OR e.status <> 'Unknown' AND f.last_reported_at < e.recorded_at - interval '10 minutes'
 ORDER BY f.enclosure_id
"""
SUPPLIES = """
SELECT format('bk.supply_freshness has %s as the last report on Supply %s, which does not fit its'
              ' events, unless the clock of the database was set back.',
              coalesce(f.last_reported_at::text, 'nothing'), coalesce(f.supply_id, e.stream_id))
  FROM bk.supply_freshness f
  FULL JOIN (
    SELECT DISTINCT ON (e.stream_id) e.stream_id, e.event_type, e.recorded_at,
           e.payload ->> 'monitor_ref' IS NOT NULL AS is_report
      FROM bk.events e WHERE e.stream_type = 'Supply'
     ORDER BY e.stream_id, e.version DESC) AS e ON e.stream_id = f.supply_id
 WHERE f.supply_id IS NOT NULL AND (e.stream_id IS NULL OR e.event_type = 'SupplyDeregistered')
    OR f.supply_id IS NULL AND e.is_report
    OR f.last_reported_at > clock_timestamp() + interval '1 minute'
    OR e.is_report AND f.last_reported_at < e.recorded_at - interval '10 minutes'
 ORDER BY 1
"""

# Deliveries are made with the permissions of the owner, who registered the subscription.
SUBSCRIPTIONS = """
SELECT format('bk.subscription_place has owner %s for Subscription %s, which %s registered.',
              p.owner_id, p.subscription_id, e.principal_id)
  FROM bk.subscription_place p
  JOIN bk.events e ON e.stream_type = 'Subscription' AND e.stream_id = p.subscription_id
   AND e.version = 1
 WHERE p.owner_id <> e.principal_id
 ORDER BY p.subscription_id
"""

# Rows that cannot have expired: young ones, and answers on which a decision was made. A row is
# young if an event before it is. Rows from before they were in the tree have no known age.
EXPIRED = """
WITH young AS MATERIALIZED (
  SELECT (SELECT min(transaction_id)::text::bigint FROM bk.events
           WHERE recorded_at > now() - interval '29 days') AS denial,
         (SELECT min(transaction_id)::text::bigint FROM bk.events
           WHERE recorded_at > now() - interval '6 days') AS evidence,
         (SELECT rows_since FROM bk.deployment) AS since)
SELECT format('bk.expired_rows says that %s %s expired, and it cannot have.', x.table_name, x.key)
  FROM bk.expired_rows x, young y
 WHERE x.table_name NOT IN ('evidence', 'authorization_denials')
    OR x.row_transaction_id > y.since AND x.row_transaction_id >= CASE x.table_name
         WHEN 'evidence' THEN y.evidence ELSE y.denial END
    OR x.table_name = 'evidence' AND (
         EXISTS (SELECT FROM bk.decided_evidence d WHERE d.evidence_id::text = x.key)
         OR EXISTS (SELECT FROM bk.events e
                     WHERE e.transaction_id = x.row_transaction_id::text::xid8
                       AND e.event_type = 'DecisionRegistered'))
 ORDER BY x.table_name, x.key
"""

# Lists that are followed in some shards of the log only.
BOOKMARKS = """
SELECT format('The list %s has no bookmark for a part of the log, which it does not follow. Drop'
              ' the lists as the restore procedure describes; a worker rebuilds them.', p.name)
  FROM bk.projections p
  JOIN bk.bookmarks b ON (b.projection, b.generation) = (p.name, p.generation)
 WHERE p.live
 GROUP BY p.name HAVING NOT bool_or(b.shard = -1) AND count(*) FILTER (WHERE b.shard >= 0) < 16
 ORDER BY p.name
"""
LIVE = "SELECT name, generation FROM bk.projections WHERE live ORDER BY name"

# Rows of a list that lack an event up to the bookmark, and rows of no stream.
LISTED = """
SELECT format('The list {list} has %s rows that do not follow the events up to its bookmark, the'
              ' first of {type} %s. Run `beamkeep rebuild {list}`.', count(*), min(l.id::text))
  FROM (SELECT coalesce(t.id, e.stream_id) AS id
          FROM (SELECT e.stream_id, max(e.version) AS newest, max(e.version) FILTER (WHERE
                       (e.transaction_id, e.position) <= (b.tx, b.pos)) AS reached
                  FROM bk.events e
                  JOIN bk.bookmarks b ON b.projection = '{list}' AND b.generation = {generation}
                   AND (b.shard = -1 OR e.tableoid = format('bk.events_p%s', b.shard)::regclass)
                 WHERE e.stream_type = '{type}' GROUP BY e.stream_id) AS e
          FULL JOIN proj.{list}_v{generation} t ON t.id = e.stream_id
         WHERE e.stream_id IS NULL OR t.id IS NULL AND e.reached IS NOT NULL
            OR t.version < e.reached OR t.version > e.newest) AS l
HAVING count(*) > 0
"""
STATEMENTS = (
    PROFILES,
    PROFILE_DIGESTS,
    STANDINGS,
    CHECKPOINTS,
    ACQUISITIONS,
    EDGES,
    AGENT_DECISIONS,
    ENCLOSURES,
    SUPPLIES,
    SUBSCRIPTIONS,
    EXPIRED,
    BOOKMARKS,
)


async def row_faults(
    connection: asyncpg.Connection, views: Iterable[View[Any]]
) -> AsyncGenerator[str]:
    """Yield a sentence for every row that does not follow from the record."""
    found: dict[str, str] = {row[0]: row[1] for row in await connection.fetch(FUNCTIONS)}
    for name in sorted(found.keys() | RELIED_ON):
        if name not in found or found[name] not in _definition(name):
            yield f"The function bk.{name} is not the one that a migration has made."
    for statement in STATEMENTS:
        for (fault,) in await connection.fetch(statement):
            yield fault
    types = {view.name: view.aggregate.name for view in views}
    for name, generation in await connection.fetch(LIVE):
        if name in types:
            listed = LISTED.format(list=name, type=types[name], generation=generation)
            for (fault,) in await connection.fetch(listed):
                yield fault


def _definition(function: str) -> str:
    """Return the last migration that defines a function."""
    texts = [text for text in migrations().values() if f"FUNCTION bk.{function}(" in text]
    return texts[-1] if texts else ""
