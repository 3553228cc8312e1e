"""Former places: where an asset was before, and until when, according to its events."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.seams.place import FormerPlace
from beamkeep.kernel import Record, replace

from . import asset


class KeptMoves(Record):
    """When an asset last left each of its former parents."""

    id: UUID
    left: Mapping[UUID, datetime]


def begin(event: asset.AssetRegistered) -> KeptMoves:
    return KeptMoves(event.asset_id, {})


def evolve(kept: KeptMoves, event: asset.AssetChanged) -> KeptMoves:
    if not isinstance(event, asset.AssetRelocated):
        return kept
    return replace(kept, left={**kept.left, event.from_parent_id: event.occurred_at})


def rows_of(kept: KeptMoves) -> list[FormerPlace]:
    """Return the rows of the former places."""
    return [FormerPlace(parent_id, kept.id, at) for parent_id, at in kept.left.items()]
