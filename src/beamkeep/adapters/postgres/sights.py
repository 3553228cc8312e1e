"""Whose objects a call reaches, as conditions of SQL."""

from uuid import UUID

from beamkeep.kernel import Sight

CURRENT = (
    "(m.since_at IS NULL OR m.since_at <= now()) AND (m.until_at IS NULL OR now() < m.until_at)"
)
"""Whether a membership `m` counts now. The rows are read with what is shown: a removal binds."""


def of_teams(object_id: str, principal_id: str = ":principal_id::uuid") -> str:
    """Return the condition that an object belongs to a team of which a principal is a member."""
    # Two keys, one after the other: as a join, a plan for any values may read a whole table.
    return f"""(SELECT {CURRENT} FROM bk.team_member m
       WHERE m.principal_id = {principal_id} AND m.team_id = (
         SELECT o.team_id FROM bk.object_team o WHERE o.object_id = {object_id}))"""  # noqa: S608


def sight_values(sight: Sight | None) -> dict[str, UUID | bool | None]:
    """Return the values of the parameters `principal_id` and `teams`."""
    return {"principal_id": sight and sight.principal_id, "teams": bool(sight and sight.teams)}
