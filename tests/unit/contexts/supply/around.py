"""Facilities and assets that supplies serve."""

from uuid import UUID

from beamkeep.contexts.equipment.asset import AssetRegistered, AssetTier
from beamkeep.contexts.federation.facility import (
    FacilityAlreadyExistsError,
    FacilityKind,
    FacilityRegistered,
)
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.kernel import Event, SideWrite, claim
from beamkeep.testing.past import NOW


def facility(id: UUID, code: str, parent_id: UUID | None = None) -> tuple[Event | SideWrite, ...]:
    kind = FacilityKind.AREA if parent_id else FacilityKind.SITE
    return (
        FacilityRegistered(NOW, id, code, code, kind, parent_id),
        claim("facility-code", code, holder=id, loser=FacilityAlreadyExistsError),
    )


def asset(
    id: UUID, parent_id: UUID | None = None, facility_code: str | None = None, name: str = "Asset"
) -> tuple[Event | SideWrite, ...]:
    tier = AssetTier.DEVICE if parent_id else AssetTier.UNIT
    return (
        AssetRegistered(NOW, id, name, tier, parent_id, facility_code, (), None, None, ()),
        PLACES.insert(AssetPlace(id, parent_id, facility_code)),
    )
