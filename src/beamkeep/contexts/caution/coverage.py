"""Which cautions cover given assets; a caution warns and never refuses work."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from beamkeep.contexts.equipment.place import PLACES
from beamkeep.kernel import Reader

from .caution import IN_EFFECT, Caution, CautionStatus, ListCautions, Target, TargetKind, cautions


async def cautions_covering(
    asset_ids: Iterable[UUID], read: Reader, procedure_id: UUID | None = None
) -> Sequence[Caution]:
    """Return the cautions in effect that cover these assets or a procedure, most severe first."""
    named = frozenset(asset_ids)
    targets = {*named, *await read.above(PLACES, named), *([procedure_id] if procedure_id else [])}
    list_filter = ListCautions(status=CautionStatus.ACTIVE, target_id=frozenset(targets))
    # A list lags behind its streams: fold what it finds before it counts.
    found = (await read.many(cautions, await read.matching(list_filter))).values()
    own = Target(TargetKind.PROCEDURE, procedure_id) if procedure_id else None
    covering = [
        each
        for each in found
        if each.target == own
        or (
            each.target.kind is TargetKind.ASSET
            and (each.target.id in named or each.propagate_to_children)
        )
    ]
    in_effect = [each for each in covering if IN_EFFECT.holds_of(each, read.now)]
    return sorted(in_effect, key=lambda each: (-each.severity.rank, each.id))
