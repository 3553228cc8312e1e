"""Which clearances say something about given work: it only answers, and refuses nothing."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from beamkeep.kernel import Reader

from .clearance import Clearance, ListClearances, clearances


async def clearances_covering(
    subject_id: UUID | None, asset_ids: Iterable[UUID], read: Reader
) -> Mapping[UUID, Clearance]:
    """Every clearance, whatever its status, bound to one of these; assets with all above them."""
    named = frozenset(id for id in (subject_id, *asset_ids) if id is not None)
    # What a clearance is bound to never changes, so a list that lags finds none too many.
    return await read.many(clearances, await read.matching(ListClearances(binding_id=named)))
