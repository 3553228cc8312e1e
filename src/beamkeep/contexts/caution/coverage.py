"""Which cautions cover given assets; a caution warns and never refuses work."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from beamkeep.contexts.equipment.place import PLACES
from beamkeep.kernel import Reader

from .caution import IN_EFFECT, Caution, CautionStatus, ListCautions, TargetKind, cautions


async def cautions_covering(asset_ids: Iterable[UUID], read: Reader) -> Sequence[Caution]:
    """Return the cautions in effect that cover these assets, most severe first."""
    named = frozenset(asset_ids)
    list_filter = ListCautions(
        status=CautionStatus.ACTIVE,
        target_kind=TargetKind.ASSET,
        target_id=named | (await read.above(PLACES, named)).keys(),
    )
    # A list lags behind its streams: fold what it finds before it counts.
    found = (await read.many(cautions, await read.matching(list_filter))).values()
    covering = [each for each in found if each.target.id in named or each.propagate_to_children]
    in_effect = [each for each in covering if IN_EFFECT.holds_of(each, read.now)]
    return sorted(in_effect, key=lambda each: (-each.severity.rank, each.id))
