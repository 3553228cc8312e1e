"""Place: the position of each asset in the tree of assets."""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import AnyReader, Record, Table

ASSET_TREE = "asset-tree"
"""The lock of the tree: two moves at the same time could make a cycle."""


class AssetPlace(Record):
    """The parent of an asset; only a root has a facility instead."""

    asset_id: UUID
    parent_id: UUID | None
    facility_code: str | None


PLACES = Table("asset_place", AssetPlace, key=("asset_id",), parent="parent_id")


class FormerPlace(Record):
    """An asset was below this parent, and left it for the last time at this time."""

    parent_id: UUID
    asset_id: UUID
    left_at: datetime


FORMER_PLACES = Table("asset_former_place", FormerPlace, key=("parent_id", "asset_id"))


class DamagedTreeError(Exception):
    """The tree of assets has a cycle, so no rule can be decided on these assets."""


class TreeNode(Protocol):
    @property
    def parent_id(self) -> UUID | None: ...


def upwards[T: TreeNode](start: UUID, known: Mapping[UUID, T]) -> list[T]:
    """Return one node and all known nodes above it, the topmost last."""
    met: dict[UUID, T] = {}
    id: UUID | None = start
    while id is not None and id in known:
        if id in met:
            raise DamagedTreeError(f"asset {id} is above itself")
        met[id] = known[id]
        id = met[id].parent_id
    return list(met.values())


async def with_all_below(asset_id: UUID, read: AnyReader) -> Set[UUID]:
    """Return the ids of an asset and of all assets below it."""
    level = found = frozenset({asset_id})
    while level:
        rows = await read.rows(PLACES, parent_id=level)
        level = frozenset(row.asset_id for row in rows) - found
        found |= level
    return found


class FacilityScope(Record):
    facility_scope: str | None


async def facility_scopes(ids: Sequence[UUID], read: AnyReader) -> Mapping[UUID, FacilityScope]:
    """Return the facility code of the root above each asset."""
    places = await read.above(PLACES, ids)
    return {id: FacilityScope(upwards(id, places)[-1].facility_code) for id in ids}
