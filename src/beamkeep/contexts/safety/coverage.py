"""Which clearances say something about given work: it only answers, and refuses nothing."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from beamkeep.kernel import Reader

from .clearance import IN_FORCE, Clearance, ListClearances, clearances

MOST_TOLD = 200


async def clearances_covering(
    subject_id: UUID | None, asset_ids: Iterable[UUID], read: Reader
) -> Mapping[UUID, Clearance]:
    """The clearances in force that are bound to one of these; if there is none, the others.

    Assets are given with all above them.
    """
    named = frozenset(id for id in (subject_id, *asset_ids) if id is not None)
    # What a clearance is bound to never changes, so a list that lags finds none too many.
    listed = await read.matching(ListClearances(binding_id=named, in_force=True))
    holding = await read.many(clearances, listed)
    if any(IN_FORCE.holds_of(each, read.now) for each in holding.values()):
        return holding
    every = await read.matching(ListClearances(binding_id=named))
    return await read.many(clearances, every[-MOST_TOLD:])
