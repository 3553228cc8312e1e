"""Facility: sites, their areas, and the codes they are known by."""

import asyncio
from uuid import UUID

import pytest

from beamkeep.contexts.federation.facility import (
    OPERATIONS,
    DecommissionFacility,
    Facility,
    FacilityAlreadyExistsError,
    FacilityCannotDecommissionError,
    FacilityCannotRegisterError,
    FacilityDecommissioned,
    FacilityDependents,
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
    FacilityStatus,
    InvalidFacilityCodeError,
    InvalidFacilityParentError,
    RegisterFacility,
    begin,
    evolve,
    facility_by_code,
    own_site,
)
from beamkeep.kernel import CLAIMS, Claim, Event, Insert, SideWrite, replace
from beamkeep.testing.past import ABSENT, CALL, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix

PEER, HALL, OTHER_HALL = UUID(int=10), UUID(int=20), UUID(int=21)
SITE, AREA = FacilityKind.SITE, FacilityKind.AREA


def claimed(code: str, holder: UUID = NEW) -> Insert:
    return CLAIMS.insert(
        Claim("facility-code", f'["{code}"]', holder), loser=FacilityAlreadyExistsError
    )


peer = FacilityRegistered(NOW, PEER, "neutron-source", "Neutron source", SITE, None)
hall = FacilityRegistered(NOW, HALL, "hall-2", "Hall 2", AREA, PEER)
closed = FacilityDecommissioned(NOW, PEER, "closed")
hall_closed = FacilityDecommissioned(NOW, HALL, "closed")
own = FacilityRegistered(NOW, NEW, "synchrotron", "synchrotron", SITE, None)

REGISTER = RegisterFacility(code="laser-lab", name=" Laser lab ", kind=SITE)
REGISTER_AREA = RegisterFacility(code="hall-3", name="Hall 3", kind=AREA, parent_id=PEER)
DECOMMISSION = DecommissionFacility(facility_id=PEER, reason=" closed ")


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history)


def registering(**changes: object) -> RegisterFacility:
    return REGISTER.model_copy(update=changes)


def test_a_site_is_registered_with_its_name_trimmed_and_takes_its_code():
    given().when(REGISTER).then(
        FacilityRegistered(NOW, NEW, "laser-lab", "Laser lab", SITE, None), claimed("laser-lab")
    )


def test_an_area_is_registered_as_part_of_a_site():
    given(peer).when(REGISTER_AREA).then(
        FacilityRegistered(NOW, NEW, "hall-3", "Hall 3", AREA, PEER), claimed("hall-3")
    )


def test_what_an_area_is_part_of_must_exist():
    given().when(REGISTER_AREA).refused(FacilityNotFoundError)
    given().when(registering(parent_id=ABSENT)).refused(FacilityNotFoundError)


def test_a_code_is_written_in_few_characters_and_never_corrected():
    for code in ("Laser", "laser lab", " laser", "laser\n", "lasér", "laser_lab", " "):
        given().when(registering(code=code)).refused(InvalidFacilityCodeError)
    for code in ("-", "0", "a" * 32):
        given().when(registering(code=code, name="x")).then(
            FacilityRegistered(NOW, NEW, code, "x", SITE, None), claimed(code)
        )


def test_a_site_is_part_of_nothing_and_an_area_of_something():
    given(peer).when(registering(parent_id=PEER)).refused(InvalidFacilityParentError)
    given().when(registering(kind=AREA)).refused(InvalidFacilityParentError)


def test_an_area_is_part_of_no_area_and_of_no_site_out_of_use():
    for last, parent_id, saying in (
        (hall, HALL, "Facility hall-2 has kind Area and status Active."),
        (closed, PEER, "Facility neutron-source has kind Site and status Decommissioned."),
    ):
        given(peer, last).when(registering(kind=AREA, parent_id=parent_id)).refused(
            FacilityCannotRegisterError, saying
        )


def test_a_code_is_given_once_even_when_its_facility_is_out_of_use():
    for history in ((peer,), (peer, closed)):
        given(*history, claimed("laser-lab", PEER)).when(REGISTER).refused(
            FacilityAlreadyExistsError
        )


def test_faults_of_a_registration_are_reported_in_order():
    wrong = {"code": "Laser", "kind": AREA}
    given().when(registering(**wrong, parent_id=ABSENT)).refused(FacilityNotFoundError)
    given().when(registering(**wrong)).refused(InvalidFacilityCodeError)
    taken = claimed("laser-lab", PEER)
    late = registering(kind=AREA, parent_id=PEER)
    given(peer, closed, taken).when(registering(parent_id=PEER)).refused(InvalidFacilityParentError)
    given(peer, closed, taken).when(late).refused(FacilityCannotRegisterError)
    given(peer, taken).when(late).refused(FacilityAlreadyExistsError)


def test_a_peer_is_decommissioned_and_keeps_its_code():
    given(peer, claimed("neutron-source", PEER)).when(DECOMMISSION).then(closed)


def test_an_area_is_decommissioned():
    given(peer, hall).when(DecommissionFacility(facility_id=HALL, reason="closed")).then(
        hall_closed
    )


def test_the_own_site_is_not_decommissioned():
    given(own).when(DecommissionFacility(facility_id=NEW, reason="closed")).refused(
        FacilityCannotDecommissionError, saying="The own site is synchrotron."
    )


def test_a_site_with_an_active_area_is_not_decommissioned():
    other = replace(hall, facility_id=OTHER_HALL, code="hall-1")
    given(peer, hall, other).when(DECOMMISSION).refused(
        FacilityCannotDecommissionError, saying="First decommission hall-1, hall-2."
    )


def test_areas_of_other_sites_and_areas_out_of_use_are_not_in_the_way():
    elsewhere = replace(hall, facility_id=OTHER_HALL, code="hall-9", parent_id=NEW)
    given(own, elsewhere, peer, hall, hall_closed).when(DECOMMISSION).then(closed)


def test_an_area_that_the_list_still_shows_as_active_is_read_before_it_counts():
    stale = FacilityDependents("synchrotron", [evolve(begin(hall), hall_closed)])
    given(peer).when(DECOMMISSION, given=stale).then(closed)


def test_a_facility_that_exists_is_decommissioned_once():
    given().when(DECOMMISSION).refused(FacilityNotFoundError)
    given(peer, closed).when(DECOMMISSION).refused(
        FacilityCannotDecommissionError, "The status is Decommissioned; it must be Active."
    )


def test_a_facility_is_what_its_first_event_says():
    expected = Facility(HALL, "hall-2", name="Hall 2", kind=AREA, parent_id=PEER)
    assert begin(hall) == replace(expected, status=FacilityStatus.ACTIVE)


STATUS = """
                decommission_facility
Active          Decommissioned
Decommissioned  -
"""


def test_every_move_from_every_status():
    matrix(
        OPERATIONS,
        FacilityStatus,
        [Example(DECOMMISSION, FacilityDependents("synchrotron", []))],
        lambda status: replace(begin(peer), status=status),
        lambda facility: facility.status,
        STATUS,
    )


def test_a_facility_is_found_by_its_code_also_out_of_use():
    past = Past([peer, closed, claimed("neutron-source", PEER)])
    found = asyncio.run(facility_by_code("neutron-source", past))
    assert (found.id, found.status) == (PEER, FacilityStatus.DECOMMISSIONED)


def test_a_code_that_is_unknown_or_ill_formed_names_nothing():
    past = Past([peer, claimed("neutron-source", PEER)])
    for code in ("neutron", "Neutron-Source", " neutron-source", ""):
        with pytest.raises(FacilityNotFoundError):
            asyncio.run(facility_by_code(code, past))


def test_a_deployment_without_its_own_site_begins_with_it():
    assert asyncio.run(own_site(CALL, Past([]))) == [[own, claimed("synchrotron")]]


def test_a_facility_with_the_own_code_is_the_own_site():
    past = Past([replace(own, facility_id=PEER), claimed("synchrotron", PEER)])
    assert asyncio.run(own_site(CALL, past)) == []
