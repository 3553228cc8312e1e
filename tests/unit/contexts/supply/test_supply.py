"""Supply: how it fares, and who may say so."""

import re
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from tests.unit.contexts.supply.around import asset, facility

from beamkeep.contexts.access import profile
from beamkeep.contexts.equipment.asset import AssetDecommissioned, AssetNotFoundError
from beamkeep.contexts.federation.facility import FacilityDecommissioned, FacilityNotFoundError
from beamkeep.contexts.supply.supply import (
    KINDS,
    OPERATIONS,
    QUESTIONS,
    SUPPLY_FRESHNESS,
    BindSupplyMonitor,
    DegradeSupply,
    DeregisterSupply,
    MarkSupplyAvailable,
    MarkSupplyRecovering,
    MarkSupplyUnavailable,
    ObserveSupplyStatus,
    RegisterSupply,
    RestoreSupply,
    Supply,
    SupplyAlreadyExistsError,
    SupplyCannotDegradeError,
    SupplyCannotDeregisterError,
    SupplyCannotMarkAvailableError,
    SupplyCannotMarkRecoveringError,
    SupplyCannotMarkUnavailableError,
    SupplyCannotObserveStatusError,
    SupplyCannotRegisterError,
    SupplyCannotRestoreError,
    SupplyCommand,
    SupplyDegraded,
    SupplyDeregistered,
    SupplyFreshness,
    SupplyMarkedAvailable,
    SupplyMarkedRecovering,
    SupplyMarkedUnavailable,
    SupplyMoved,
    SupplyNotFoundError,
    SupplyRegistered,
    SupplyRestored,
    SupplyStatus,
    UnbindSupplyMonitor,
    begin,
    evolve,
)
from beamkeep.contexts.trust.trigger import (
    MonitorTriggerNotPermittedError,
    MonitorTriggerRequiredError,
    TriggerSource,
)
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Call,
    Claim,
    Event,
    Many,
    Refusal,
    SideWrite,
    claim,
    free,
    replace,
)
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, ANOTHER, SITE, OTHER_SITE = NEW, UUID(int=5), UUID(int=20), UUID(int=21)
BEAMLINE, STAGE, OTHER_BEAMLINE = UUID(int=30), UUID(int=31), UUID(int=32)
HUMAN = CALL
MONITOR = replace(CALL, principal_id=profile.MONITOR, principal_kind=ActorKind.SERVICE_ACCOUNT)
AGENT = replace(CALL, principal_kind=ActorKind.AGENT)

UNKNOWN, AVAILABLE, DEGRADED = SupplyStatus.UNKNOWN, SupplyStatus.AVAILABLE, SupplyStatus.DEGRADED
UNAVAILABLE, RECOVERING = SupplyStatus.UNAVAILABLE, SupplyStatus.RECOVERING
OPERATOR = TriggerSource.OPERATOR


AROUND = (
    *facility(SITE, "ring"),
    *facility(OTHER_SITE, "annex"),
    *asset(BEAMLINE, facility_code="ring"),
    *asset(STAGE, BEAMLINE, name="Stage"),
    *asset(OTHER_BEAMLINE, facility_code="annex", name="Other beamline"),
)
registered = SupplyRegistered(NOW, ID, "photon_beam", "Ring beam", "ring", None)
claimed = CLAIMS.insert(
    Claim("supply", '["ring",null,"photon_beam","Ring beam"]', ID), SupplyAlreadyExistsError
)
available = SupplyMarkedAvailable(NOW, ID, UNKNOWN, OPERATOR, None, "checked")
degraded = SupplyDegraded(NOW, ID, AVAILABLE, OPERATOR, None, "weak")
unavailable = SupplyMarkedUnavailable(NOW, ID, AVAILABLE, OPERATOR, None, "beam dump")
recovering = SupplyMarkedRecovering(NOW, ID, UNAVAILABLE, OPERATOR, None, "refilling")
restored = SupplyRestored(NOW, ID, RECOVERING, OPERATOR, None, "200 mA")
deregistered = SupplyDeregistered(NOW, ID, UNKNOWN, OPERATOR, None, "typed twice")

heard = SUPPLY_FRESHNESS.upsert(SupplyFreshness(ID, NOW))
unfollowed = SUPPLY_FRESHNESS.delete(ID)

REGISTER = RegisterSupply(kind=" photon_beam ", name=" Ring beam ", facility_code="ring")
FIND = MarkSupplyAvailable(supply_id=ID, reason=" checked ")
DEGRADE = DegradeSupply(supply_id=ID, reason=" weak ")
LOSE = MarkSupplyUnavailable(supply_id=ID, reason=" beam dump ")
RECOVER = MarkSupplyRecovering(supply_id=ID, reason=" refilling ")
RESTORE = RestoreSupply(supply_id=ID, reason=" 200 mA ")
SEE_LOST = ObserveSupplyStatus(
    supply_id=ID, status=UNAVAILABLE, reason=" current is 0 ", monitor_ref=" SR:DCCT "
)
SEE_RECOVERING = SEE_LOST.model_copy(update={"status": RECOVERING, "reason": " current rises "})
DEREGISTER = DeregisterSupply(supply_id=ID, reason=" typed twice ")
VERBS: tuple[SupplyCommand, ...] = (FIND, DEGRADE, LOSE, RECOVER, RESTORE, SEE_LOST, DEREGISTER)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def name_at(asset_id: UUID | None, holder: UUID = ID) -> SideWrite:
    place = ("ring", asset_id, "photon_beam", "Ring beam")
    return claim("supply", *place, holder=holder, loser=SupplyAlreadyExistsError)


def registering(**changes: object) -> RegisterSupply:
    return REGISTER.model_copy(update=changes)


def caller_of(command: SupplyCommand) -> Call:
    return MONITOR if isinstance(command, ObserveSupplyStatus) else HUMAN


def test_a_supply_of_a_whole_facility_is_registered_with_its_texts_trimmed():
    given().when(REGISTER).then(registered, claimed)


def test_a_supply_of_an_asset_is_registered():
    for asset_id in (BEAMLINE, STAGE):
        given().when(registering(containing_asset_id=asset_id)).then(
            replace(registered, containing_asset_id=asset_id), name_at(asset_id)
        )


def test_the_facility_of_a_supply_must_exist():
    for code in ("nowhere", "Ring", " ring", "ring "):
        given().when(registering(facility_code=code)).refused(FacilityNotFoundError)


def test_an_asset_out_of_use_gets_no_more_supplies():
    scrapped = AssetDecommissioned(NOW, STAGE)
    given(scrapped).when(registering(containing_asset_id=STAGE)).refused(
        SupplyCannotRegisterError, saying="Asset 'Stage' is Decommissioned."
    )
    given(scrapped).when(registering(containing_asset_id=BEAMLINE)).then(
        replace(registered, containing_asset_id=BEAMLINE), name_at(BEAMLINE)
    )


def test_the_asset_of_a_supply_stands_in_the_facility_of_the_supply():
    given().when(registering(containing_asset_id=OTHER_BEAMLINE)).refused(
        SupplyCannotRegisterError, saying="'Other beamline' stands in facility annex, not in ring."
    )
    below = asset(ABSENT, OTHER_BEAMLINE)
    given(*below).when(registering(containing_asset_id=ABSENT)).refused(SupplyCannotRegisterError)


def test_no_two_supplies_have_one_kind_and_name_at_one_place():
    for asset_id in (None, BEAMLINE):
        taken = given(name_at(asset_id, ANOTHER))
        taken.when(registering(containing_asset_id=asset_id)).refused(SupplyAlreadyExistsError)


def test_another_kind_name_or_place_is_another_supply():
    several: list[tuple[str, object, tuple[object, ...]]] = [
        ("kind", "Photon_beam", ("ring", None, "Photon_beam", "Ring beam")),
        ("name", "ring beam", ("ring", None, "photon_beam", "ring beam")),
        ("facility_code", "annex", ("annex", None, "photon_beam", "Ring beam")),
        ("containing_asset_id", STAGE, ("ring", STAGE, "photon_beam", "Ring beam")),
    ]
    for field, value, key in several:
        given(claimed).when(registering(**{field: value})).then(
            replace(registered, **{field: value}),
            claim("supply", *key, holder=ID, loser=SupplyAlreadyExistsError),
        )


def test_faults_of_a_registration_are_reported_in_order():
    closed = FacilityDecommissioned(NOW, SITE, "closed")
    scrapped = AssetDecommissioned(NOW, OTHER_BEAMLINE)
    nowhere = registering(facility_code="nowhere", containing_asset_id=ABSENT)
    unknown = registering(containing_asset_id=ABSENT)
    elsewhere = registering(containing_asset_id=OTHER_BEAMLINE)
    given(closed, claimed).when(nowhere).refused(FacilityNotFoundError)
    given(closed, claimed).when(unknown).refused(AssetNotFoundError)
    given(closed, claimed, scrapped).when(elsewhere).refused(
        SupplyCannotRegisterError, saying="Facility ring is Decommissioned; it must be Active."
    )
    given(scrapped).when(elsewhere).refused(SupplyCannotRegisterError, saying="is Decommissioned")
    given(closed, claimed).when(REGISTER).refused(SupplyCannotRegisterError)


def silent(age: timedelta) -> SideWrite:
    return SUPPLY_FRESHNESS.insert(SupplyFreshness(ID, NOW - age, age))


def test_a_supply_whose_observer_is_silent_is_found_available_again():
    limit, moment = FACTS.stale_after, timedelta(microseconds=1)
    found = replace(available, from_status=AVAILABLE)
    given(registered, available, silent(limit + moment)).when(FIND).then(found, unfollowed)
    given(registered, available, silent(limit)).when(FIND).refused(SupplyCannotMarkAvailableError)


def test_a_status_is_changed_with_its_reason():
    lost = (available, unavailable)
    moves: list[tuple[tuple[Event, ...], SupplyCommand, tuple[Event | SideWrite, ...]]] = [
        ((), FIND, (available, unfollowed)),
        ((available,), DEGRADE, (degraded,)),
        ((available,), LOSE, (unavailable,)),
        (lost, RECOVER, (recovering,)),
        ((*lost, recovering), RESTORE, (restored, unfollowed)),
    ]
    for past, command, outcome in moves:
        given(registered, *past).when(command).then(*outcome)


def test_a_deregistered_supply_frees_its_name():
    for asset_id in (None, STAGE):
        freed = free("supply", "ring", asset_id, "photon_beam", "Ring beam")
        given(replace(registered, containing_asset_id=asset_id)).when(DEREGISTER).then(
            deregistered, unfollowed, freed
        )


def test_a_name_that_was_freed_is_taken_again():
    place = ("ring", None, "photon_beam", "Ring beam")
    given(registered, claimed, deregistered, free("supply", *place)).when(
        REGISTER, call=replace(CALL, new_id=ANOTHER)
    ).then(replace(registered, supply_id=ANOTHER), name_at(None, ANOTHER))


def test_a_monitor_reports_that_a_supply_is_lost_and_that_it_is_coming_back():
    seen = {"trigger": TriggerSource.MONITOR, "monitor_ref": "SR:DCCT"}
    given(registered, available).when(SEE_LOST, call=MONITOR).then(
        replace(unavailable, **seen, reason="current is 0"), heard
    )
    given(registered, available, unavailable).when(SEE_RECOVERING, call=MONITOR).then(
        replace(recovering, **seen, reason="current rises"), heard
    )


def test_what_is_known_is_observed_again_and_only_keeps_the_supply_fresh():
    lost = (registered, available, unavailable)
    given(*lost).when(SEE_LOST, call=MONITOR).then(heard)
    given(*lost, recovering).when(SEE_RECOVERING, call=MONITOR).then(heard)


def test_a_supply_that_was_not_lost_stays_fresh_by_a_signal_that_says_it_is_there():
    for history in ((), (available,), (available, degraded)):
        given(registered, *history).when(SEE_RECOVERING, call=MONITOR).then(heard)


def test_what_a_person_found_stands_while_the_signal_does_not_change():
    lost = (registered, available, unavailable)
    for command in (SEE_LOST, SEE_RECOVERING):
        again = command.model_copy(update={"unchanged": True})
        for history in (lost, (*lost, recovering), (*lost, recovering, restored)):
            given(*history).when(again, call=MONITOR).then(heard)


def test_nothing_is_observed_of_a_deregistered_supply():
    again = SEE_LOST.model_copy(update={"unchanged": True})
    for command in (SEE_LOST, SEE_RECOVERING, again):
        given(registered, deregistered).when(command, call=MONITOR).refused(
            SupplyCannotObserveStatusError, saying="The status is Decommissioned"
        )


def test_nobody_but_a_monitor_observes():
    for call in (HUMAN, AGENT):
        for command in (SEE_LOST, SEE_RECOVERING):
            given(registered, available, unavailable).when(command, call=call).refused(
                MonitorTriggerRequiredError
            )


def test_no_monitor_declares_a_supply_available():
    lost = (registered, available, unavailable)
    given(registered).when(FIND, call=MONITOR).refused(MonitorTriggerNotPermittedError)
    given(*lost, recovering).when(RESTORE, call=MONITOR).refused(MonitorTriggerNotPermittedError)


def test_an_event_says_who_set_it_off_and_names_a_sensor_only_when_it_was_observed():
    for call, source in ((MONITOR, TriggerSource.MONITOR), (AGENT, TriggerSource.AUTO)):
        for command, event in ((DEGRADE, degraded), (LOSE, unavailable)):
            told = replace(event, trigger=source)
            given(registered, available).when(command, call=call).then(told)


def test_a_move_is_recorded_with_where_it_came_from_and_when():
    given(registered, available, degraded).when(LOSE, call=replace(CALL, now=LATER)).then(
        replace(unavailable, occurred_at=LATER, from_status=DEGRADED)
    )


def test_a_supply_that_does_not_exist_does_not_move():
    for command in VERBS:
        given().when(command, call=caller_of(command)).refused(SupplyNotFoundError)


def test_a_deregistered_supply_does_not_move():
    moves: list[tuple[SupplyCommand, type[Refusal]]] = [
        (FIND, SupplyCannotMarkAvailableError),
        (DEGRADE, SupplyCannotDegradeError),
        (LOSE, SupplyCannotMarkUnavailableError),
        (RECOVER, SupplyCannotMarkRecoveringError),
        (RESTORE, SupplyCannotRestoreError),
        (DEREGISTER, SupplyCannotDeregisterError),
    ]
    for command, refusal in moves:
        given(registered, deregistered).when(command).refused(
            refusal, saying="The status is Decommissioned; it must be "
        )


def test_a_degraded_supply_has_no_shortcut_up():
    given(registered, available, degraded).when(RESTORE).refused(
        SupplyCannotRestoreError, saying="The status is Degraded; it must be Recovering."
    )


def test_a_missing_permission_is_reported_before_the_status():
    given(registered, deregistered).when(SEE_LOST).refused(MonitorTriggerRequiredError)
    for command in (FIND, RESTORE):
        given(registered, deregistered).when(command, call=MONITOR).refused(
            MonitorTriggerNotPermittedError
        )


def test_a_supply_is_what_its_first_event_says():
    assert begin(replace(registered, containing_asset_id=STAGE)) == Supply(
        ID,
        "photon_beam",
        name="Ring beam",
        facility_code="ring",
        containing_asset_id=STAGE,
        status=SupplyStatus.UNKNOWN,
    )


def test_a_supply_keeps_why_it_moved_last_and_what_set_it_off():
    first = begin(registered)
    moves: list[tuple[SupplyMoved, SupplyStatus]] = [
        (available, AVAILABLE),
        (degraded, DEGRADED),
        (unavailable, UNAVAILABLE),
        (replace(recovering, trigger=TriggerSource.MONITOR), RECOVERING),
        (restored, AVAILABLE),
        (deregistered, SupplyStatus.DECOMMISSIONED),
    ]
    for event, status in moves:
        assert evolve(first, event) == replace(
            first, status=status, last_status_reason=event.reason, last_trigger=event.trigger
        )


def test_a_list_shows_when_the_status_last_changed():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert {name: set(events) for name, events in source.view.milestones.items()} == {
        "last_status_changed_at": {
            *(SupplyMarkedAvailable, SupplyMarkedUnavailable, SupplyMarkedRecovering),
            *(SupplyDegraded, SupplyRestored, SupplyDeregistered),
        }
    }
    assert source.view.filters == ("containing_asset_id", "facility_code", "kind", "status")


def in_status(status: SupplyStatus) -> Supply:
    return replace(begin(registered), status=status)


ASKED = (FIND, DEGRADE, LOSE, RECOVER, RESTORE, DEREGISTER)

STATUS = """
                mark_supply_available  degrade_supply  mark_supply_unavailable  mark_supply_recovering  restore_supply  deregister_supply
Unknown         Available              Degraded        Unavailable              -                       -               Decommissioned
Available       -                      Degraded        Unavailable              -                       -               Decommissioned
Degraded        -                      -               Unavailable              -                       -               Decommissioned
Unavailable     -                      -               -                        Recovering              -               Decommissioned
Recovering      -                      Degraded        Unavailable              -                       Available       Decommissioned
Decommissioned  -                      -               -                        -                       -               -
"""  # noqa: E501

STATUS_BY_A_MONITOR = """
                mark_supply_available  degrade_supply  mark_supply_unavailable  mark_supply_recovering  restore_supply  deregister_supply
Unknown         -                      Degraded        Unavailable              -                       -               Decommissioned
Available       -                      Degraded        Unavailable              -                       -               Decommissioned
Degraded        -                      -               Unavailable              -                       -               Decommissioned
Unavailable     -                      -               -                        Recovering              -               Decommissioned
Recovering      -                      Degraded        Unavailable              -                       -               Decommissioned
Decommissioned  -                      -               -                        -                       -               -
"""  # noqa: E501

# The first column observes Unavailable, the second Recovering.
STATUS_OBSERVED = """
                observe_supply_status  observe_supply_status
Unknown         Unavailable            Unknown
Available       Unavailable            Available
Degraded        Unavailable            Degraded
Unavailable     Unavailable            Recovering
Recovering      Unavailable            Recovering
Decommissioned  -                      -
"""

# Where an observer is silent, its supply counts as Unknown if it was Available.
STATUS_UNCONFIRMED = """
                mark_supply_available
Unknown         Available
Available       Available
Degraded        -
Unavailable     -
Recovering      -
Decommissioned  -
"""


def test_every_move_from_every_status():
    for call, expected in ((HUMAN, STATUS), (AGENT, STATUS), (MONITOR, STATUS_BY_A_MONITOR)):
        moves = [Example(command, call=call) for command in ASKED]
        matrix(OPERATIONS, SupplyStatus, moves, in_status, lambda it: it.status, expected)


def test_a_finding_in_every_status_while_the_observer_is_silent():
    finding = [Example(FIND, given=True)]
    matrix(OPERATIONS, SupplyStatus, finding, in_status, lambda it: it.status, STATUS_UNCONFIRMED)


def test_every_observation_in_every_status():
    seen = [Example(command, call=MONITOR) for command in (SEE_LOST, SEE_RECOVERING)]
    matrix(OPERATIONS, SupplyStatus, seen, in_status, lambda it: it.status, STATUS_OBSERVED)


def test_every_command_is_tried_in_some_matrix():
    # Who reports leaves the status as it is.
    tried = {type(command) for command in (*ASKED, SEE_LOST)} | {
        *(BindSupplyMonitor, UnbindSupplyMonitor)
    }
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}


def test_forms_and_completion_offer_the_starter_words_of_the_specification():
    text = (Path(__file__).parents[4] / "docs/domain/specification.md").read_text()
    (listed,) = re.findall(r"starter vocabulary: ([^.]*)\.", text)
    assert list(KINDS) == re.findall("`([A-Za-z_]+)`", listed)
