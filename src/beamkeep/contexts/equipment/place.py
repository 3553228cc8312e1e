"""Place: where each asset stands in the one tree that all assets form."""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Reader, Record, Table

ASSET_TREE = "asset-tree"
"""The lock under which the tree changes its shape: two moves at once could close a circle."""


class Place(Record):
    """What an asset stands under; only a root stands at a facility."""

    asset_id: UUID
    parent_id: UUID | None
    facility_code: str | None


PLACES = Table("asset_place", Place, key=("asset_id",), parent="parent_id")


class DamagedTreeError(Exception):
    """Assets stand above one another in a circle: nothing may be decided on them."""


class Standing(Protocol):
    @property
    def parent_id(self) -> UUID | None: ...


def upwards[T: Standing](start: UUID, known: Mapping[UUID, T]) -> list[T]:
    """One and all above it, the topmost last, as far up as they are known."""
    met: dict[UUID, T] = {}
    id: UUID | None = start
    while id is not None and id in known:
        if id in met:
            raise DamagedTreeError(f"asset {id} is above itself")
        met[id] = known[id]
        id = met[id].parent_id
    return list(met.values())


class FacilityScope(Record):
    facility_scope: str | None


async def facility_scopes(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, FacilityScope]:
    """The code of the facility that the root above each asset stands at."""
    places = await read.above(PLACES, ids)
    return {id: FacilityScope(upwards(id, places)[-1].facility_code) for id in ids}
