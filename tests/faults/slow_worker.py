"""`beamkeep work`, but with time to be interrupted between reading a page and applying it."""

import asyncio
from collections.abc import Mapping, Sequence

from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.deployment.verbs import main
from beamkeep.runtime.store import Position
from beamkeep.workers.projector import Follower, RowChange

applied = PostgresProjections.apply


async def apply_later(
    self: PostgresProjections,
    followers: Sequence[Follower],
    reached: Position,
    changes: Mapping[tuple[str, int], Sequence[RowChange]],
) -> bool:
    """Apply a page a little after it was read."""
    await asyncio.sleep(0.03)
    return await applied(self, followers, reached, changes)


def run() -> None:
    """Work slowly."""
    PostgresProjections.apply = apply_later
    main()


if __name__ == "__main__":
    run()
