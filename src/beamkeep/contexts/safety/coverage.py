"""Which clearances cover given work; whether work is refused is decided elsewhere."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader

from .clearance import IN_FORCE, Clearance, ListClearances, clearances

MOST_NAMED = 200


async def clearances_covering(
    subject_id: UUID | None, asset_ids: Iterable[UUID], read: Reader
) -> Mapping[UUID, Clearance]:
    """Return the clearances in force for a subject or assets; if there are none, the others.

    Give the assets with their ancestors.
    """
    named = frozenset(id for id in (subject_id, *asset_ids) if id is not None)
    # Bindings never change, so a list that lags behind finds no clearance too many.
    listed = await read.matching(ListClearances(binding_id=named, in_force=True))
    holding = await read.many(clearances, listed)
    if any(IN_FORCE.holds_of(each, read.now) for each in holding.values()):
        return holding
    every = await read.matching(ListClearances(binding_id=named))
    return await read.many(clearances, every[-MOST_NAMED:])
