"""Supply: how it fares, and who may say so."""

from datetime import timedelta
from uuid import UUID

from tests.support.service import INSTALLATION
from tests.support.spec import ABSENT, CALL, LATER, NEW, NOW, Example, Scenario, matrix, misshapen

from beamkeep.contexts.equipment.asset import (
    AssetDecommissioned,
    AssetNotFoundError,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.equipment.place import PLACES, AssetPlace
from beamkeep.contexts.federation.facility import (
    FacilityAlreadyExistsError,
    FacilityDecommissioned,
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.supply.supply import (
    OPERATIONS,
    QUESTIONS,
    SUPPLY_FRESHNESS,
    DegradeSupply,
    DeregisterSupply,
    InvalidSupplyKindError,
    InvalidSupplyMonitorRefError,
    InvalidSupplyNameError,
    InvalidSupplyReasonError,
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
    claim_key,
    free,
    replace,
)

ID, ANOTHER, SITE, OTHER_SITE = NEW, UUID(int=5), UUID(int=20), UUID(int=21)
BEAMLINE, STAGE, OTHER_BEAMLINE = UUID(int=30), UUID(int=31), UUID(int=32)
HUMAN = CALL
MONITOR = replace(CALL, principal_kind=ActorKind.SERVICE_ACCOUNT)
AGENT = replace(CALL, principal_kind=ActorKind.AGENT)

UNKNOWN, AVAILABLE, DEGRADED = SupplyStatus.UNKNOWN, SupplyStatus.AVAILABLE, SupplyStatus.DEGRADED
UNAVAILABLE, RECOVERING = SupplyStatus.UNAVAILABLE, SupplyStatus.RECOVERING
OPERATOR = TriggerSource.OPERATOR


def facility(id: UUID, code: str) -> tuple[Event | SideWrite, ...]:
    return (
        FacilityRegistered(NOW, id, code, code, FacilityKind.SITE, None),
        claim("facility-code", code, holder=id, loser=FacilityAlreadyExistsError),
    )


def asset(
    id: UUID, name: str, parent_id: UUID | None = None, facility_code: str | None = None
) -> tuple[Event | SideWrite, ...]:
    tier = AssetTier.DEVICE if parent_id else AssetTier.UNIT
    return (
        AssetRegistered(NOW, id, name, tier, parent_id, facility_code, (), None, None, ()),
        PLACES.insert(AssetPlace(id, parent_id, facility_code)),
    )


AROUND = (
    *facility(SITE, "ring"),
    *facility(OTHER_SITE, "annex"),
    *asset(BEAMLINE, "Beamline", facility_code="ring"),
    *asset(STAGE, "Stage", parent_id=BEAMLINE),
    *asset(OTHER_BEAMLINE, "Other beamline", facility_code="annex"),
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


def registering(**changes: object) -> RegisterSupply:
    return REGISTER.model_copy(update=changes)


def blank[C: SupplyCommand](command: C, *fields: str) -> C:
    return command.model_copy(update=dict.fromkeys(fields or ("reason",), " "))


def caller_of(command: SupplyCommand) -> Call:
    return MONITOR if isinstance(command, ObserveSupplyStatus) else HUMAN


def test_a_supply_of_a_whole_facility_is_registered_with_its_texts_trimmed():
    given().when(REGISTER).then(registered, claimed)


def test_a_supply_of_an_asset_is_registered():
    for asset_id in (BEAMLINE, STAGE):
        given().when(registering(containing_asset_id=asset_id)).then(
            replace(registered, containing_asset_id=asset_id),
            claim(
                "supply",
                *("ring", asset_id, "photon_beam", "Ring beam"),
                holder=ID,
                loser=SupplyAlreadyExistsError,
            ),
        )


def test_the_facility_of_a_supply_must_exist():
    for code in ("nowhere", "Ring", " ring", "ring "):
        given().when(registering(facility_code=code)).refused(FacilityNotFoundError)


def test_the_asset_of_a_supply_must_exist():
    given().when(registering(containing_asset_id=ABSENT)).refused(AssetNotFoundError)


def test_a_facility_out_of_use_gets_no_more_supplies():
    closed = FacilityDecommissioned(NOW, SITE, "closed")
    given(closed).when(REGISTER).refused(
        SupplyCannotRegisterError, saying="Facility ring is Decommissioned; it must be Active."
    )


def test_an_asset_out_of_use_gets_no_more_supplies():
    scrapped = AssetDecommissioned(NOW, STAGE)
    given(scrapped).when(registering(containing_asset_id=STAGE)).refused(
        SupplyCannotRegisterError, saying="Asset 'Stage' is Decommissioned."
    )
    given(scrapped).when(registering(containing_asset_id=BEAMLINE)).then(
        replace(registered, containing_asset_id=BEAMLINE),
        claim(
            "supply",
            *("ring", BEAMLINE, "photon_beam", "Ring beam"),
            holder=ID,
            loser=SupplyAlreadyExistsError,
        ),
    )


def test_the_asset_of_a_supply_stands_in_the_facility_of_the_supply():
    given().when(registering(containing_asset_id=OTHER_BEAMLINE)).refused(
        SupplyCannotRegisterError, saying="'Other beamline' stands in facility annex, not in ring."
    )
    below = asset(ABSENT, "Lens", parent_id=OTHER_BEAMLINE)
    given(*below).when(registering(containing_asset_id=ABSENT)).refused(SupplyCannotRegisterError)


def test_no_two_supplies_have_one_kind_and_name_at_one_place():
    given(claimed).when(REGISTER).refused(SupplyAlreadyExistsError)
    key = claim_key("ring", BEAMLINE, "photon_beam", "Ring beam")
    at_beamline = CLAIMS.insert(Claim("supply", key, ANOTHER))
    given(at_beamline).when(registering(containing_asset_id=BEAMLINE)).refused(
        SupplyAlreadyExistsError
    )


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


def test_a_blank_kind_or_name_is_refused():
    given().when(registering(kind=" ")).refused(InvalidSupplyKindError)
    given().when(registering(name=" ")).refused(InvalidSupplyNameError)


def test_what_is_wrong_with_a_registration_is_told_in_order():
    closed = FacilityDecommissioned(NOW, SITE, "closed")
    wrong: dict[str, object] = {
        "facility_code": "nowhere",
        "containing_asset_id": ABSENT,
        "kind": " ",
        "name": " ",
    }
    rights: list[tuple[dict[str, object], type[Refusal]]] = [
        ({"facility_code": "ring"}, FacilityNotFoundError),
        ({"containing_asset_id": OTHER_BEAMLINE}, AssetNotFoundError),
        ({"kind": "photon_beam"}, InvalidSupplyKindError),
        ({"name": "Ring beam"}, InvalidSupplyNameError),
    ]
    for right, refusal in rights:
        given(closed, claimed).when(registering(**wrong)).refused(refusal)
        wrong |= right
    given(closed).when(registering(**wrong)).refused(SupplyCannotRegisterError, saying="Facility")
    scrapped = AssetDecommissioned(NOW, OTHER_BEAMLINE)
    given(scrapped).when(registering(**wrong)).refused(
        SupplyCannotRegisterError, saying="is Decommissioned"
    )
    given(closed, claimed).when(REGISTER).refused(SupplyCannotRegisterError)


def test_the_shape_of_a_registration_has_bounds():
    good = REGISTER.model_dump()
    RegisterSupply.model_validate(good | {"kind": "x" * 50, "name": "x" * 200})
    for field, longest in (("kind", 50), ("name", 200), ("facility_code", 32)):
        misshapen(RegisterSupply, field, **good | {field: "x" * (longest + 1)})
        misshapen(RegisterSupply, field, **good | {field: ""})
        misshapen(RegisterSupply, field, **{n: v for n, v in good.items() if n != field})
    misshapen(RegisterSupply, "containing_asset_id", **good | {"containing_asset_id": "stage"})
    misshapen(RegisterSupply, "status", **good | {"status": "Available"})


def test_a_supply_is_found_available():
    given(registered).when(FIND).then(available, unfollowed)


def silent(age: timedelta) -> SideWrite:
    return SUPPLY_FRESHNESS.insert(SupplyFreshness(ID, NOW - age, age))


def test_a_supply_whose_observer_is_silent_is_found_available_anew():
    limit, moment = INSTALLATION.stale_after, timedelta(microseconds=1)
    found = replace(available, from_status=AVAILABLE)
    given(registered, available, silent(limit + moment)).when(FIND).then(found, unfollowed)
    given(registered, available, silent(limit)).when(FIND).refused(SupplyCannotMarkAvailableError)


def test_a_supply_is_degraded():
    given(registered, available).when(DEGRADE).then(degraded)


def test_a_supply_is_lost():
    given(registered, available).when(LOSE).then(unavailable)


def test_a_lost_supply_recovers():
    given(registered, available, unavailable).when(RECOVER).then(recovering)


def test_a_recovering_supply_is_restored():
    given(registered, available, unavailable, recovering).when(RESTORE).then(restored, unfollowed)


def test_a_deregistered_supply_frees_its_name():
    given(registered, claimed).when(DEREGISTER).then(
        deregistered, unfollowed, free("supply", "ring", None, "photon_beam", "Ring beam")
    )
    at_stage = replace(registered, containing_asset_id=STAGE)
    given(at_stage).when(DEREGISTER).then(
        deregistered, unfollowed, free("supply", "ring", STAGE, "photon_beam", "Ring beam")
    )


def test_a_name_that_was_freed_is_taken_again():
    place = ("ring", None, "photon_beam", "Ring beam")
    given(registered, claimed, deregistered, free("supply", *place)).when(
        REGISTER, call=replace(CALL, new_id=ANOTHER)
    ).then(
        replace(registered, supply_id=ANOTHER),
        claim("supply", *place, holder=ANOTHER, loser=SupplyAlreadyExistsError),
    )


def test_a_monitor_reports_that_a_supply_is_lost():
    given(registered, available).when(SEE_LOST, call=MONITOR).then(
        SupplyMarkedUnavailable(
            NOW, ID, AVAILABLE, TriggerSource.MONITOR, "SR:DCCT", "current is 0"
        ),
        heard,
    )


def test_a_monitor_reports_that_a_supply_is_coming_back():
    given(registered, available, unavailable).when(SEE_RECOVERING, call=MONITOR).then(
        SupplyMarkedRecovering(
            NOW, ID, UNAVAILABLE, TriggerSource.MONITOR, "SR:DCCT", "current rises"
        ),
        heard,
    )


def test_what_is_known_is_observed_again_and_only_keeps_the_supply_fresh():
    lost = (registered, available, unavailable)
    given(*lost).when(SEE_LOST, call=MONITOR).then(heard)
    given(*lost, recovering).when(SEE_RECOVERING, call=MONITOR).then(heard)


def test_a_supply_that_was_not_lost_is_kept_fresh_by_a_signal_that_says_it_is_there():
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


def test_a_monitor_may_use_the_other_verbs_and_names_no_sensor():
    given(registered, available).when(DEGRADE, call=MONITOR).then(
        replace(degraded, trigger=TriggerSource.MONITOR)
    )
    given(registered, available).when(LOSE, call=MONITOR).then(
        replace(unavailable, trigger=TriggerSource.MONITOR)
    )


def test_what_an_agent_does_is_told_as_automatic():
    given(registered).when(FIND, call=AGENT).then(
        replace(available, trigger=TriggerSource.AUTO), unfollowed
    )


def test_a_move_is_told_with_where_it_came_from_and_when():
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


def test_a_repeated_verb_is_refused():
    lost = (registered, available, unavailable)
    given(registered, available).when(FIND).refused(SupplyCannotMarkAvailableError)
    given(registered, available, degraded).when(DEGRADE).refused(SupplyCannotDegradeError)
    given(*lost).when(LOSE).refused(SupplyCannotMarkUnavailableError)
    given(*lost, recovering).when(RECOVER).refused(SupplyCannotMarkRecoveringError)
    given(*lost, recovering, restored).when(RESTORE).refused(SupplyCannotRestoreError)


def test_a_degraded_supply_has_no_shortcut_up():
    given(registered, available, degraded).when(RESTORE).refused(
        SupplyCannotRestoreError, saying="The status is Degraded; it must be Recovering."
    )


def test_a_blank_reason_is_told_before_the_status():
    for command in VERBS:
        given(registered, deregistered).when(blank(command), call=caller_of(command)).refused(
            InvalidSupplyReasonError
        )


def test_a_blank_sensor_is_told_before_the_status_and_after_the_reason():
    both = blank(SEE_LOST, "reason", "monitor_ref")
    for past in (registered, deregistered), (registered, available, unavailable):
        given(*past).when(both, call=MONITOR).refused(InvalidSupplyReasonError)
        given(*past).when(blank(SEE_LOST, "monitor_ref"), call=MONITOR).refused(
            InvalidSupplyMonitorRefError
        )


def test_who_may_not_is_told_before_the_texts():
    given(registered, deregistered).when(blank(SEE_LOST, "reason", "monitor_ref")).refused(
        MonitorTriggerRequiredError
    )
    for command in (FIND, RESTORE):
        given(registered, deregistered).when(blank(command), call=MONITOR).refused(
            MonitorTriggerNotPermittedError
        )


def test_a_reason_has_1_to_500_characters():
    for command in VERBS:
        good = command.model_dump()
        type(command).model_validate(good | {"reason": "x" * 500})
        misshapen(type(command), "reason", **good | {"reason": "x" * 501})
        misshapen(type(command), "reason", **good | {"reason": ""})
        misshapen(type(command), "trigger", **good | {"trigger": "Monitor"})


def test_a_sensor_has_1_to_200_characters():
    good = SEE_LOST.model_dump()
    ObserveSupplyStatus.model_validate(good | {"monitor_ref": "x" * 200})
    for wrong in ("x" * 201, "", None):
        misshapen(ObserveSupplyStatus, "monitor_ref", **good | {"monitor_ref": wrong})
    misshapen(DegradeSupply, "monitor_ref", supply_id=ID, reason="weak", monitor_ref="SR:DCCT")


def test_no_other_status_is_observed():
    good = SEE_LOST.model_dump()
    for seen in ("Unavailable", "Recovering"):
        command = ObserveSupplyStatus.model_validate(good | {"status": seen})
        assert command.status is SupplyStatus(seen)
    for other in ("Unknown", "Available", "Degraded", "Decommissioned", "unavailable", "Gone"):
        misshapen(ObserveSupplyStatus, "status", **good | {"status": other})


def test_a_supply_is_what_its_first_event_says():
    assert begin(replace(registered, containing_asset_id=STAGE)) == Supply(
        id=ID,
        kind="photon_beam",
        name="Ring beam",
        facility_code="ring",
        containing_asset_id=STAGE,
        status=SupplyStatus.UNKNOWN,
        last_status_reason=None,
        last_trigger=None,
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
            SupplyMarkedAvailable,
            SupplyDegraded,
            SupplyMarkedUnavailable,
            SupplyMarkedRecovering,
            SupplyRestored,
            SupplyDeregistered,
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

STATUS_OBSERVED_BY_NO_MONITOR = """
                observe_supply_status  observe_supply_status
Unknown         -                      -
Available       -                      -
Degraded        -                      -
Unavailable     -                      -
Recovering      -                      -
Decommissioned  -                      -
"""


def test_every_move_from_every_status():
    for call, expected in ((HUMAN, STATUS), (AGENT, STATUS), (MONITOR, STATUS_BY_A_MONITOR)):
        moves = [Example(command, call=call) for command in ASKED]
        matrix(OPERATIONS, SupplyStatus, moves, in_status, lambda it: it.status, expected)


def test_a_finding_in_every_status_while_the_observer_is_silent():
    finding = [Example(FIND, given=True)]
    matrix(OPERATIONS, SupplyStatus, finding, in_status, lambda it: it.status, STATUS_UNCONFIRMED)


def test_every_observation_in_every_status():
    for call, expected in (
        (MONITOR, STATUS_OBSERVED),
        (HUMAN, STATUS_OBSERVED_BY_NO_MONITOR),
        (AGENT, STATUS_OBSERVED_BY_NO_MONITOR),
    ):
        seen = [Example(command, call=call) for command in (SEE_LOST, SEE_RECOVERING)]
        matrix(OPERATIONS, SupplyStatus, seen, in_status, lambda it: it.status, expected)


def test_every_command_is_tried_in_some_matrix():
    tried = {type(command) for command in (*ASKED, SEE_LOST)}
    assert tried == {operation.command for operation in OPERATIONS if not operation.genesis}
