"""Edges of provenance on PostgreSQL."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from beamkeep.contexts.seams.lineage import Walk, WalkedEdge
from beamkeep.kernel import Sight

from .connections import Connections
from .sights import of_teams, sight_values
from .statements import Statement

WALK = Statement("""
SELECT depth, from_id, relation, to_id
  FROM bk.walk_provenance(:starts::uuid[], :upstream::boolean, :relations::text[],
                          :depth::integer, :most::integer)
""")
# What a caller may see of others' objects is decided by who wrote their first events, and by teams.
# The owner is a sub-select and not a join: then it is found by its whole key, whatever the planner
# knew of the log.
OWN = f"""
   AND ((SELECT v.principal_id FROM bk.events v
          WHERE v.stream_type = CASE e.relation WHEN 'pinned' THEN 'Run' ELSE 'Dataset' END
            AND v.stream_id = e.from_id AND v.version = 1 LIMIT 1) = :principal_id::uuid
     OR :teams::boolean AND {of_teams("e.from_id")})"""  # noqa: S608
USES, OWN_USES = (
    Statement(f"""
SELECT 1 AS depth, e.from_id, e.relation, e.to_id FROM bk.provenance_edge e
 WHERE e.to_id = :revision_id AND e.from_id > :after
   AND e.relation IN ('pinned', 'used_calibration'){own}
 ORDER BY e.to_id, e.from_id LIMIT :limit
""")  # noqa: S608
    for own in ("", OWN)
)
LEAST_ID = UUID(int=0)


class PostgresLineage:
    """Walks along the edges that are written with the events."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def walk(self, walk: Walk) -> Sequence[WalkedEdge]:
        """Return the edges that a walk meets, level by level, by one statement."""
        values = {
            "starts": list(walk.start_ids),
            "upstream": walk.upstream,
            "relations": list(walk.relations),
            "depth": walk.depth,
            "most": walk.most,
        }
        rows = await self._connections.read(*WALK.bind(values))
        return [msgspec.convert(dict(row), WalkedEdge) for row in rows]

    async def uses(
        self, revision_id: UUID, after: UUID | None, limit: int, sight: Sight | None
    ) -> Sequence[WalkedEdge]:
        """Return a page of the runs and datasets that use a calibration revision, oldest first."""
        values = {"revision_id": revision_id, "after": after or LEAST_ID, "limit": limit}
        own = sight_values(sight) if sight else {}
        statement = OWN_USES if sight else USES
        rows = await self._connections.read(*statement.bind(values | own))
        return [msgspec.convert(dict(row), WalkedEdge) for row in rows]
