"""Enclosure: what its monitor reports, and that only a monitor does."""

from uuid import UUID

from beamkeep.contexts.access import profile
from beamkeep.contexts.enclosure.enclosure import (
    FRESHNESS,
    OPERATIONS,
    DecommissionEnclosure,
    Enclosure,
    EnclosureAlreadyExistsError,
    EnclosureCannotDecommissionError,
    EnclosureCannotObserveStatusError,
    EnclosureCannotRegisterError,
    EnclosureDecommissioned,
    EnclosureLifecycle,
    EnclosureNotFoundError,
    EnclosurePermitObserved,
    EnclosureRegistered,
    Freshness,
    ObserveEnclosureStatus,
    PermitStatus,
    RegisterEnclosure,
    begin,
    evolve,
)
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.trust.trigger import MonitorTriggerRequiredError, TriggerSource
from beamkeep.kernel import CLAIMS, ActorKind, Claim, Event, Insert, SideWrite, replace
from beamkeep.testing.past import CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, OTHER, SITE = NEW, UUID(int=2), UUID(int=10)
PERMITTED, NOT_PERMITTED, UNKNOWN = PermitStatus
NAME_KEY = '["synchrotron","Hutch 1"]'
OUT_OF_USE = "The lifecycle is Decommissioned; it must be Active."


def claimed(holder: UUID, key: str = NAME_KEY) -> Insert:
    return CLAIMS.insert(Claim("enclosure-name", key, holder), loser=EnclosureAlreadyExistsError)


def observed(before: PermitStatus, after: PermitStatus) -> EnclosurePermitObserved:
    return EnclosurePermitObserved(
        NOW, ID, before, after, TriggerSource.MONITOR, "pss:hutch-1", "searched"
    )


AROUND = (
    FacilityRegistered(NOW, SITE, "synchrotron", "Synchrotron", FacilityKind.SITE, None),
    CLAIMS.insert(Claim("facility-code", '["synchrotron"]', SITE)),
)
registered = EnclosureRegistered(NOW, ID, "Hutch 1", "synchrotron")
permitted = observed(UNKNOWN, PERMITTED)
decommissioned = EnclosureDecommissioned(NOW, ID, "rebuilt")
unheard = FRESHNESS.insert(Freshness(ID, None))
heard = FRESHNESS.replace(Freshness(ID, NOW))

MONITOR = replace(CALL, principal_id=profile.MONITOR, principal_kind=ActorKind.SERVICE_ACCOUNT)
REGISTER = RegisterEnclosure(name=" Hutch 1 ", facility_code="synchrotron")
OBSERVE = ObserveEnclosureStatus(
    enclosure_id=ID, permit_status=PERMITTED, reason=" searched ", monitor_ref=" pss:hutch-1 "
)
DECOMMISSION = DecommissionEnclosure(enclosure_id=ID, reason=" rebuilt ")


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterEnclosure:
    return REGISTER.model_copy(update=changes)


def observing(**changes: object) -> ObserveEnclosureStatus:
    return OBSERVE.model_copy(update=changes)


def test_an_enclosure_is_registered_with_its_name_trimmed_and_nothing_heard_of_it():
    given().when(REGISTER).then(registered, unheard, claimed(ID))


def test_the_facility_of_an_enclosure_must_exist():
    for code in ("neutron-source", "Synchrotron", " synchrotron"):
        given().when(registering(facility_code=code)).refused(FacilityNotFoundError)


def test_a_name_is_given_once_in_a_facility():
    given(claimed(OTHER)).when(REGISTER).refused(EnclosureAlreadyExistsError)


def test_the_same_name_elsewhere_or_spelled_otherwise_is_not_in_the_way():
    for key in ('["hall-2","Hutch 1"]', '["synchrotron","hutch 1"]'):
        given(claimed(OTHER, key)).when(REGISTER).then(registered, unheard, claimed(ID))


def test_faults_of_a_registration_are_reported_in_order():
    closed = FacilityDecommissioned(NOW, SITE, "closed")
    given(closed).when(registering(facility_code="x")).refused(FacilityNotFoundError)
    given(closed, claimed(OTHER)).when(REGISTER).refused(EnclosureCannotRegisterError)


def test_a_monitor_reports_another_status():
    given(registered, unheard).when(OBSERVE, call=MONITOR).then(permitted, heard)


def test_the_same_status_again_only_keeps_the_enclosure_fresh():
    given(registered, permitted).when(OBSERVE, call=replace(MONITOR, now=LATER)).then(
        FRESHNESS.replace(Freshness(ID, LATER))
    )


def test_a_report_of_an_unknown_permit_does_not_keep_the_enclosure_fresh():
    unknown = observing(permit_status=UNKNOWN)
    given(registered).when(unknown, call=MONITOR).then()
    given(registered, permitted).when(unknown, call=MONITOR).then(observed(PERMITTED, UNKNOWN))


def test_nobody_but_a_monitor_reports_anything():
    for kind in (ActorKind.HUMAN, ActorKind.AGENT):
        for status in PermitStatus:
            given(registered).when(
                observing(permit_status=status), call=replace(CALL, principal_kind=kind)
            ).refused(MonitorTriggerRequiredError)


def test_nothing_is_observed_of_an_enclosure_out_of_use_not_even_the_same():
    for status in PermitStatus:
        given(registered, permitted, decommissioned).when(
            observing(permit_status=status), call=MONITOR
        ).refused(EnclosureCannotObserveStatusError, saying=OUT_OF_USE)


def test_faults_of_a_change_are_reported_in_order():
    for command in (OBSERVE, DECOMMISSION):
        given().when(command).refused(EnclosureNotFoundError)
    given(registered, decommissioned).when(OBSERVE).refused(MonitorTriggerRequiredError)
    given(registered, decommissioned).when(DECOMMISSION).refused(
        EnclosureCannotDecommissionError, saying=OUT_OF_USE
    )


def test_an_enclosure_is_decommissioned_and_gives_its_name_back():
    freed = CLAIMS.delete("enclosure-name", NAME_KEY)
    for history in ((), (permitted,)):
        given(registered, *history).when(DECOMMISSION).then(
            decommissioned, FRESHNESS.replace(Freshness(ID, None)), freed
        )


def test_a_freed_name_is_given_again():
    given(claimed(OTHER), CLAIMS.delete("enclosure-name", NAME_KEY)).when(REGISTER).then(
        registered, unheard, claimed(ID)
    )


def test_an_enclosure_is_what_its_first_event_says():
    active = EnclosureLifecycle.ACTIVE
    expected = Enclosure(ID, "Hutch 1", "synchrotron", permit_status=UNKNOWN, lifecycle=active)
    assert begin(registered) == expected


def test_an_enclosure_keeps_what_was_last_observed_also_out_of_use():
    enclosure = evolve(evolve(begin(registered), permitted), decommissioned)
    assert enclosure == replace(
        begin(registered),
        permit_status=PERMITTED,
        lifecycle=EnclosureLifecycle.DECOMMISSIONED,
        last_observed_reason="searched",
        last_monitor_ref="pss:hutch-1",
    )


PERMIT = {
    # from, reported: how it moves
    (UNKNOWN, PERMITTED): "moves",
    (UNKNOWN, NOT_PERMITTED): "moves",
    (UNKNOWN, UNKNOWN): "stays",
    (PERMITTED, PERMITTED): "stays",
    (PERMITTED, NOT_PERMITTED): "moves",
    (PERMITTED, UNKNOWN): "moves",
    (NOT_PERMITTED, PERMITTED): "moves",
    (NOT_PERMITTED, NOT_PERMITTED): "stays",
    (NOT_PERMITTED, UNKNOWN): "moves",
}


def test_every_report_from_every_status():
    assert len(PERMIT) == len(PermitStatus) ** 2
    for (before, after), moves in PERMIT.items():
        history = (registered,) if before is UNKNOWN else (registered, observed(UNKNOWN, before))
        told = (observed(before, after),) if moves == "moves" else ()
        known = (heard,) if after is not UNKNOWN else ()
        given(*history).when(observing(permit_status=after), call=MONITOR).then(*told, *known)


LIFECYCLE = """
                decommission_enclosure
Active          Decommissioned
Decommissioned  -
"""


def test_every_move_from_every_lifecycle():
    matrix(
        OPERATIONS,
        EnclosureLifecycle,
        [Example(DECOMMISSION)],
        lambda lifecycle: replace(begin(registered), lifecycle=lifecycle),
        lambda enclosure: enclosure.lifecycle,
        LIFECYCLE,
    )
