"""The statements that write, list and delete snapshots of streams."""

from collections.abc import Sequence
from typing import Any

from beamkeep.runtime.store import NewSnapshot

from .statements import Statement

# The owner is the principal of the first event: the snapshot replaces that event for readers.
# No role of the service can change a snapshot: an older one is deleted before the insert. Both are
# one statement, in which the number of deleted rows is counted first.
DELETE_OLDER = """
  DELETE FROM bk.snapshots AS s
   USING unnest(:snapshot_folds::uuid[], :snapshot_stream_types::text[],
                :snapshot_stream_ids::uuid[], :snapshot_versions::bigint[])
      AS f (fold, stream_type, stream_id, version)
   WHERE s.fold = f.fold AND s.stream_type = f.stream_type AND s.stream_id = f.stream_id
     AND s.version < f.version AND {condition}
  RETURNING 1"""
INSERT_SNAPSHOTS = """
  INSERT INTO bk.snapshots (fold, stream_type, stream_id, version, owner_id, state)
  SELECT f.fold, f.stream_type, f.stream_id, f.version,
         (SELECT e.principal_id FROM bk.events e
           WHERE e.stream_type = f.stream_type AND e.stream_id = f.stream_id AND e.version = 1
           LIMIT 1), f.state
    FROM unnest(:snapshot_folds::uuid[], :snapshot_stream_types::text[],
                :snapshot_stream_ids::uuid[], :snapshot_versions::bigint[],
                :snapshot_states::text[])
      AS f (fold, stream_type, stream_id, version, state)
   WHERE {condition} AND (SELECT count(*) FROM older_snapshot) >= 0
  ON CONFLICT (fold, stream_type, stream_id) DO NOTHING"""


def snapshot_clauses(condition: str) -> list[str]:
    """Return the clauses that store snapshots if a condition is true."""
    return [
        f"older_snapshot AS ({DELETE_OLDER.format(condition=condition)})",
        f"snapshot AS ({INSERT_SNAPSHOTS.format(condition=condition)})",
    ]


KEEP_SNAPSHOTS = Statement(f"WITH {', '.join(snapshot_clauses('true'))}\nSELECT")

# The folds that have snapshots, by a loose index scan over the primary key, and those of them that
# are no longer in use.
UNUSED_FOLDS = """
WITH RECURSIVE folds AS (
  (SELECT fold FROM bk.snapshots ORDER BY fold LIMIT 1)
  UNION ALL
  SELECT (SELECT s.fold FROM bk.snapshots s WHERE s.fold > f.fold ORDER BY s.fold LIMIT 1)
    FROM folds f WHERE f.fold IS NOT NULL),
unused AS MATERIALIZED (
  SELECT f.fold FROM folds f WHERE f.fold IS NOT NULL AND f.fold <> ALL(:folds::uuid[]))"""

# Streams that have a snapshot of an unused fold and none of a fold in use.
OUTDATED_SNAPSHOTS = Statement(f"""{UNUSED_FOLDS}
SELECT DISTINCT s.stream_type, s.stream_id FROM unused u JOIN bk.snapshots s ON s.fold = u.fold
 WHERE (s.stream_type, s.stream_id) > (:stream_type::text, :stream_id::uuid) AND NOT EXISTS (
   SELECT 1 FROM bk.snapshots t WHERE t.fold = ANY(:folds::uuid[])
      AND t.stream_type = s.stream_type AND t.stream_id = s.stream_id)
 ORDER BY 1, 2 LIMIT :limit
""")  # noqa: S608

# One batch of the old snapshots of unused folds.
DROP_SNAPSHOTS = Statement(f"""{UNUSED_FOLDS},
gone AS (
  DELETE FROM bk.snapshots WHERE ctid = ANY(ARRAY(
    SELECT s.ctid FROM unused u JOIN bk.snapshots s ON s.fold = u.fold
     WHERE s.kept_at < now() - make_interval(days => :days) LIMIT :limit))
  RETURNING 1)
SELECT count(*) FROM gone
""")  # noqa: S608


def snapshot_values(snapshots: Sequence[NewSnapshot]) -> dict[str, Any]:
    """Return the values of `INSERT_SNAPSHOTS`."""
    return {
        "snapshot_folds": [each.fold for each in snapshots],
        "snapshot_stream_types": [each.stream[0] for each in snapshots],
        "snapshot_stream_ids": [each.stream[1] for each in snapshots],
        "snapshot_versions": [each.snapshot.version for each in snapshots],
        "snapshot_states": [each.snapshot.state.decode() for each in snapshots],
    }
