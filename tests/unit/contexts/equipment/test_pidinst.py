"""The record of an asset for publication: every key, and what it rests on."""

from collections.abc import Sequence, Set
from datetime import date
from typing import Any
from uuid import UUID

import pytest

from beamkeep.contexts.equipment.asset import (
    AlternateIdentifier,
    AlternateIdentifierKind,
    AssetDecommissioned,
    AssetExternalIdAssigned,
    AssetRegistered,
    AssetSettingsUpdated,
    AssetTier,
    ExternalIdNamespace,
)
from beamkeep.contexts.equipment.family import FamilyDefined
from beamkeep.contexts.equipment.model import IdentifierScheme, Manufacturer, ModelDefined
from beamkeep.contexts.equipment.pidinst import (
    AssetPidinstIncompleteError,
    GetAssetPidinst,
    Pidinst,
    PidinstAlternateIdentifier,
    PidinstDate,
    PidinstIdentifier,
    PidinstOwner,
    PidinstRelatedIdentifier,
    PidinstTerm,
    pidinst,
)
from beamkeep.contexts.federation.facility import FacilityKind, FacilityRegistered
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.kernel import Cannot, Event, SideWrite, claim
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import LATER, NEW, NOW, Past

ID, ROOT, CHILD, LATER_CHILD, PLAIN_CHILD = NEW, *(UUID(int=n) for n in range(2, 6))
SITE, CAMERA, STAGE, PIXEL = (UUID(int=n) for n in (20, 30, 31, 40))
KIND = AlternateIdentifierKind
DOI, HANDLE = ExternalIdNamespace.DOI, ExternalIdNamespace.HANDLE


def asset(
    id: UUID,
    parent_id: UUID | None,
    *identifiers: AlternateIdentifier,
    model_id: UUID | None = PIXEL,
    family_ids: Sequence[UUID] = (),
) -> tuple[Event | SideWrite, ...]:
    tier, code, kinds = AssetTier.DEVICE, None if parent_id else "site", tuple(family_ids)
    made = AssetRegistered(
        NOW, id, "Camera", tier, parent_id, code, kinds, model_id, None, identifiers
    )
    return made, PLACES.insert(AssetPlace(id, parent_id, code))


FACILITY = (
    FacilityRegistered(NOW, SITE, "site", "Synchrotron", FacilityKind.SITE, None),
    claim("facility-code", "site", holder=SITE, loser=Cannot),
)
ACME = Manufacturer("Acme", "https://ror.org/03yrm5c26", IdentifierScheme.ROR)
AROUND = (
    *FACILITY,
    FamilyDefined(NOW, CAMERA, affordances=(), settings_schema=None, name="Camera"),
    FamilyDefined(NOW, STAGE, affordances=(), settings_schema=None, name="A stage"),
    ModelDefined(NOW, PIXEL, "Pixel", ACME, "P-1", (CAMERA, STAGE)),
    *asset(ROOT, None),
)


def published(id: UUID, namespace: ExternalIdNamespace, value: str) -> AssetExternalIdAssigned:
    return AssetExternalIdAssigned(NOW, id, namespace, value)


def record_of(*history: Event | SideWrite, hidden: Set[UUID] = frozenset()) -> Pidinst:
    reading: Any = pidinst(GetAssetPidinst(asset_id=ID), Past(history, hidden=hidden))
    try:
        reading.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the read waits for something")


def test_a_bare_asset_is_described_by_what_there_is():
    assert record_of(*AROUND, *asset(ID, ROOT)) == Pidinst(
        identifier=PidinstIdentifier(f"urn:uuid:{ID}", "URN"),
        schema_version="1.0",
        landing_page=f"https://lab.test/assets/{ID}",
        name="Camera",
        owners=(PidinstOwner("Synchrotron"),),
        manufacturers=(PidinstTerm("Acme", "https://ror.org/03yrm5c26", "ROR"),),
        model=PidinstTerm("Pixel", "P-1", "PartNumber"),
        instrument_types=(),
        dates=(PidinstDate(date(2030, 1, 1), "Commissioned"),),
        related_identifiers=(),
        alternate_identifiers=(),
    )


def test_a_published_asset_is_named_by_its_identifier():
    for namespace, type in ((DOI, "DOI"), (HANDLE, "Handle")):
        record = record_of(*AROUND, *asset(ID, ROOT), published(ID, namespace, "10.1/2"))
        assert record.identifier == PidinstIdentifier("10.1/2", type)


def test_families_are_instrument_types_by_name():
    record = record_of(*AROUND, *asset(ID, ROOT, family_ids=(CAMERA, STAGE)))
    assert record.instrument_types == (
        PidinstTerm("A stage", f"urn:uuid:{STAGE}", "URN"),
        PidinstTerm("Camera", f"urn:uuid:{CAMERA}", "URN"),
    )


def test_another_ones_families_parent_and_parts_are_left_out():
    history = (
        *AROUND,
        *asset(ID, ROOT, family_ids=(CAMERA, STAGE)),
        *asset(CHILD, ID),
        *asset(LATER_CHILD, ID),
        *(published(each, DOI, f"10.1/{each.int}") for each in (ROOT, CHILD, LATER_CHILD)),
    )
    whole, part = record_of(*history), record_of(*history, hidden={ROOT, CHILD, STAGE})
    assert {each.value for each in whole.related_identifiers} == {"10.1/2", "10.1/3", "10.1/4"}
    assert [each.value for each in part.related_identifiers] == ["10.1/4"]
    assert [each.name for each in part.instrument_types] == ["Camera"]
    assert part.owners == whole.owners


def test_a_retired_asset_has_both_dates():
    record = record_of(*AROUND, *asset(ID, ROOT), AssetDecommissioned(LATER, ID))
    assert record.dates == (
        PidinstDate(date(2030, 1, 1), "Commissioned"),
        PidinstDate(date(2030, 1, 2), "DeCommissioned"),
    )


def test_the_parent_and_the_parts_that_are_published_are_related():
    record = record_of(
        *AROUND,
        *asset(ID, ROOT),
        *asset(CHILD, ID),
        *asset(LATER_CHILD, ID),
        *asset(PLAIN_CHILD, ID),
        published(ROOT, DOI, "10.1/root"),
        published(CHILD, HANDLE, "2/part"),
        published(LATER_CHILD, DOI, "10.1/part"),
    )
    assert record.related_identifiers == (
        PidinstRelatedIdentifier("10.1/root", "DOI", "IsComponentOf"),
        PidinstRelatedIdentifier("10.1/part", "DOI", "HasComponent"),
        PidinstRelatedIdentifier("2/part", "Handle", "HasComponent"),
    )


def test_alternate_identifiers_are_sorted_by_type_and_value():
    names = [
        AlternateIdentifier(KIND.EPICS_PV, "B"),
        AlternateIdentifier(KIND.TANGO_ATTRIBUTE, "A"),
        AlternateIdentifier(KIND.CONTROLSYS_PV, "C"),
        AlternateIdentifier(KIND.OTHER, "D"),
        AlternateIdentifier(KIND.INVENTORY_NUMBER, "Z"),
    ]
    settings: JsonObject = {"serial_number": "S1", "gain": 2}
    record = record_of(*AROUND, *asset(ID, ROOT, *names), AssetSettingsUpdated(NOW, ID, settings))
    assert record.alternate_identifiers == (
        PidinstAlternateIdentifier("Z", "InventoryNumber", None),
        PidinstAlternateIdentifier("A", "Other", "TANGO_ATTRIBUTE"),
        PidinstAlternateIdentifier("B", "Other", "EPICS_PV"),
        PidinstAlternateIdentifier("C", "Other", "CONTROLSYS_PV"),
        PidinstAlternateIdentifier("D", "Other", "Other"),
        PidinstAlternateIdentifier("S1", "SerialNumber", None),
    )


def test_an_asset_without_a_model_to_be_seen_or_an_owner_is_not_described_and_both_are_named():
    unowned = [part for part in AROUND if part not in FACILITY]
    without_model = asset(ID, ROOT, model_id=None)
    for history, hidden, missing in (
        ((*AROUND, *without_model), set[UUID](), ("model",)),
        ((*AROUND, *asset(ID, ROOT)), {PIXEL}, ("model",)),
        ((*unowned, *asset(ID, ROOT)), set[UUID](), ("facility",)),
        ((*unowned, *without_model), set[UUID](), ("model", "facility")),
    ):
        told = f"Missing: {', '.join(missing)}."
        with pytest.raises(AssetPidinstIncompleteError, match=told) as refused:
            record_of(*history, hidden=hidden)
        assert (refused.value.status, refused.value.facts) == (409, {"missing": missing})
