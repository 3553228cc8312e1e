"""Which cautions cover given assets; a caution warns and never refuses work."""

from collections.abc import Iterable, Sequence, Set
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import PLACES

from .caution import IN_EFFECT, Caution, CautionStatus, ListCautions, TargetKind, cautions


async def cautions_covering(
    asset_ids: Iterable[UUID], read: Reader, procedure_id: UUID | None = None
) -> Sequence[Caution]:
    """Return the cautions in effect that cover these assets or a procedure, most severe first."""
    named = frozenset(asset_ids)
    targets = {*named, *await read.above(PLACES, named), *([procedure_id] if procedure_id else [])}
    list_filter = ListCautions(
        status=frozenset({CautionStatus.ACTIVE}), target_id=frozenset(targets)
    )
    # A list lags behind its streams: fold what it finds before it counts.
    found = (await read.many(cautions, await read.matching(list_filter))).values()
    covering = [each for each in found if _covers(each, named, procedure_id)]
    in_effect = [each for each in covering if IN_EFFECT.holds_of(each, read.now)]
    return sorted(in_effect, key=lambda each: (-each.severity.rank, each.id))


def _covers(caution: Caution, asset_ids: Set[UUID], procedure_id: UUID | None) -> bool:
    """Return whether a caution about one of these things, or above them, covers them."""
    if caution.target.kind is TargetKind.PROCEDURE:
        return caution.target.id == procedure_id
    return caution.target.id in asset_ids or caution.propagate_to_children
