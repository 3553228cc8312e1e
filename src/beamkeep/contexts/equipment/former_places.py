"""Former places: where an asset was before, and until when, according to its events."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from beamkeep.contexts.seams.place import FormerPlace
from beamkeep.kernel import Record, replace

from . import asset


class AssetMoves(Record):
    """When an asset last left each of its former parents."""

    id: UUID
    left: Mapping[UUID, datetime]


def begin(event: asset.AssetRegistered) -> AssetMoves:
    return AssetMoves(event.asset_id, {})


def evolve(state: AssetMoves, event: asset.AssetChanged) -> AssetMoves:
    if not isinstance(event, asset.AssetRelocated):
        return state
    return replace(state, left={**state.left, event.from_parent_id: event.occurred_at})


def rows_of(state: AssetMoves) -> list[FormerPlace]:
    """Return the rows of the former places."""
    return [FormerPlace(parent_id, state.id, at) for parent_id, at in state.left.items()]
