"""Handover: what one shift leaves to the next."""

import json
import re
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.run import a_held_run

from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionRetired,
    CautionSeverity,
    RetireReason,
    Target,
    TargetKind,
)
from beamkeep.contexts.data.distribution import (
    AccessProtocol,
    DistributionMarkedStale,
    DistributionRegistered,
)
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.contexts.decision.decision import DecisionRegistered
from beamkeep.contexts.enclosure.enclosure import (
    EnclosurePermitObserved,
    EnclosureRegistered,
    PermitStatus,
)
from beamkeep.contexts.equipment.asset import (
    AssetFaulted,
    AssetMaintenanceEntered,
    AssetRegistered,
    AssetTier,
)
from beamkeep.contexts.federation.facility import (
    FacilityKind,
    FacilityNotFoundError,
    FacilityRegistered,
)
from beamkeep.contexts.proposal.proposal import ProposalRegistered, ProposalWithdrawn
from beamkeep.contexts.recipe.plan import PlanDefined, Window
from beamkeep.contexts.run.logbook import RUN_LOGBOOK, RunEntryKind, RunLogbookEntry
from beamkeep.contexts.run.refused import REFUSED_STARTS, RefusedStart
from beamkeep.contexts.run.run import RunAdjusted, RunCompleted, RunHeld, RunResumed, RunStarted
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceExpired,
    ClearanceRegistered,
    ClearanceReviewStarted,
    ClearanceSubmitted,
)
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.contexts.shift.handover import (
    GetShiftHandover,
    InvalidShiftPeriodError,
    ShiftHandover,
    handover,
)
from beamkeep.contexts.supply.supply import SupplyMarkedUnavailable, SupplyRegistered, SupplyStatus
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.contexts.trust.visit import (
    VisitArrived,
    VisitRegistered,
    VisitStarted,
    VisitSurfaceControlTaken,
    VisitType,
)
from beamkeep.kernel import CLAIMS, Claim, Event, SideWrite, claim_key, replace
from beamkeep.schemas import Json
from beamkeep.testing.past import NOW, Past
from beamkeep.testing.service import AdminClient, call, enrol, memory_service

pytestmark = pytest.mark.anyio

SITE, AREA, OTHER_SITE = UUID(int=1), UUID(int=2), UUID(int=3)
STAGE, OTHER_STAGE, RUN, OTHER_RUN = UUID(int=11), UUID(int=12), UUID(int=21), UUID(int=22)
CAUTION, SUPPLY, CLEARANCE, LATE = UUID(int=31), UUID(int=41), UUID(int=51), UUID(int=52)
LAPSED, ENDED, VISIT, AUTHOR = UUID(int=53), UUID(int=54), UUID(int=61), UUID(int=9)
HUTCH, OTHER_HUTCH, PLAN, OTHER_PLAN = (UUID(int=number) for number in range(71, 75))
OWN, NONE, DECISION, COPY = UUID(int=4), UUID(int=99), UUID(int=81), UUID(int=82)
OPEN_PROPOSAL, BRIEF_PROPOSAL, WITHDRAWN_PROPOSAL = (UUID(int=number) for number in (83, 84, 85))


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def started(run_id: UUID, asset_id: UUID, hours: float) -> RunStarted:
    plan, method, none = UUID(int=91), UUID(int=92), dict[str, Json]()
    what = (plan, None, method, (asset_id,), None, None, none, none, (), (), None)
    return RunStarted(at(hours), run_id, f"Run {run_id.int}", *what)


def clearance(id: UUID, until: float) -> list[Event]:
    bound = (AssetBinding(STAGE),)
    form = ("radiation", "area", f"Form {id.int}", bound, (), None, None, at(until), None)
    return [
        ClearanceRegistered(at(-40), id, *form),
        ClearanceSubmitted(at(-39), id),
        ClearanceReviewStarted(at(-38), id),
        ClearanceApproved(at(-37), id, None, at(until)),
        ClearanceActivated(at(-36), id),
    ]


def permit(hours: float, before: PermitStatus, after: PermitStatus) -> EnclosurePermitObserved:
    told = (before, after, TriggerSource.MONITOR, "HUTCH:PSS", "the search button")
    return EnclosurePermitObserved(at(hours), HUTCH, *told)


def note(run_id: UUID, hours: float, text: str) -> SideWrite:
    id = UUID(int=1000 + int(hours * 10))
    what, kind = (id, text, AUTHOR, at(hours), None, None), RunEntryKind.NOTE
    return RUN_LOGBOOK.insert(RunLogbookEntry(*what, run_id=run_id, kind=kind, decision_id=None))


def refused(plan_id: UUID, hours: float, code: str) -> SideWrite:
    when = at(hours)
    return REFUSED_STARTS.insert(RefusedStart(plan_id, AUTHOR, code, when, when, None, None))


def plan(id: UUID, name: str, asset_id: UUID) -> PlanDefined:
    return PlanDefined(
        at(-97),
        id,
        name=name,
        practice_id=NONE,
        method_id=NONE,
        asset_ids=(asset_id,),
        window=Window(),
        default_parameters={},
    )


def proposed(id: UUID, hours: float, expires: float) -> ProposalRegistered:
    return ProposalRegistered(
        at(hours),
        id,
        command_name=f"hold_run {id.int}",
        arguments={},
        digest="",
        target=None,
        required_version=None,
        basis="",
        would_write=(),
        note="Ask Grace",
        proposed_by=AUTHOR,
        decision_id=None,
        decision_by_proposer=None,
        expires_at=at(expires),
    )


COPIED = DistributionRegistered(
    at(-3),
    COPY,
    dataset_id=NONE,
    supply_id=None,
    uri="file:///data/a.h5",
    checksum=Checksum(ChecksumAlgorithm.SHA256, "0" * 64),
    byte_size=1,
    encoding=Encoding("application/x-hdf5"),
    access_protocol=AccessProtocol.POSIX,
    of_parts=False,
)
PAST: list[Event | SideWrite] = [
    FacilityRegistered(at(-99), OWN, OWN_SITE, "Own", FacilityKind.SITE, None),
    CLAIMS.insert(Claim("facility-code", claim_key(OWN_SITE), OWN)),
    FacilityRegistered(at(-99), SITE, "site", "Site", FacilityKind.SITE, None),
    FacilityRegistered(at(-99), AREA, "area", "Area", FacilityKind.AREA, SITE),
    FacilityRegistered(at(-99), OTHER_SITE, "other", "Other", FacilityKind.SITE, None),
    CLAIMS.insert(Claim("facility-code", claim_key("site"), SITE)),
    CLAIMS.insert(Claim("facility-code", claim_key("other"), OTHER_SITE)),
    AssetRegistered(at(-98), STAGE, "Stage", AssetTier.UNIT, None, "area", (), None, None, ()),
    AssetRegistered(at(-98), OTHER_STAGE, "Far", AssetTier.UNIT, None, "other", (), None, None, ()),
    PLACES.insert(AssetPlace(STAGE, None, "area")),
    PLACES.insert(AssetPlace(OTHER_STAGE, None, "other")),
    plan(PLAN, "Monday", STAGE),
    plan(OTHER_PLAN, "Far off", OTHER_STAGE),
    EnclosureRegistered(at(-96), HUTCH, "Hutch", "area"),
    permit(-95, PermitStatus.UNKNOWN, PermitStatus.PERMITTED),
    permit(5, PermitStatus.PERMITTED, PermitStatus.NOT_PERMITTED),
    permit(12, PermitStatus.NOT_PERMITTED, PermitStatus.PERMITTED),
    EnclosureRegistered(at(-96), OTHER_HUTCH, "Far hutch", "other"),
    started(RUN, STAGE, -1),
    RunHeld(at(1), RUN, "beam lost", None),
    RunAdjusted(at(1.5), RUN, {"energy": 26}, {"energy": 26}, "a sharper edge", None),
    RunResumed(at(2), RUN, None),
    RunCompleted(at(3), RUN),
    started(OTHER_RUN, OTHER_STAGE, 4),
    AssetFaulted(at(0.5), STAGE, "it stalls"),
    AssetMaintenanceEntered(at(9), STAGE),
    CautionRegistered(
        *(at(2.5), CAUTION, Target(TargetKind.ASSET, STAGE), CautionCategory.WEAR),
        *(CautionSeverity.WARNING, "Ask Grace", "Wait", (), None, False, AUTHOR, None, None),
    ),
    CautionRetired(at(7), CAUTION, RetireReason.RESOLVED),
    SupplyRegistered(at(-90), SUPPLY, "photon_beam", "Ring", "site", None),
    SupplyMarkedUnavailable(
        at(1), SUPPLY, SupplyStatus.UNKNOWN, TriggerSource.OPERATOR, None, "dump"
    ),
    *clearance(CLEARANCE, until=20),
    *clearance(LATE, until=40),
    *clearance(LAPSED, until=6),
    *clearance(ENDED, until=7),
    ClearanceExpired(at(5), ENDED, "no longer needed"),
    VisitRegistered(
        *(at(-50), VISIT, NONE, NONE, VisitType.USER, at(0), at(99), None, {"btr": "7"})
    ),
    VisitArrived(at(0.2), VISIT),
    VisitStarted(at(0.4), VISIT),
    VisitSurfaceControlTaken(at(0.6), VISIT, NONE),
    note(RUN, 3.5, "Ask Grace: " + "x" * 600),
    note(OTHER_RUN, 4.5, "It hums"),
    note(RUN, 8, "After the shift"),
    DecisionRegistered(
        *(at(1.2), DECISION, AUTHOR, "RunHold", "Hold", None, None, None, "Beam " + "x" * 600),
        *(None, None, (), None, ()),
    ),
    proposed(OPEN_PROPOSAL, 2, expires=30),
    proposed(BRIEF_PROPOSAL, 2, expires=7),
    proposed(WITHDRAWN_PROPOSAL, 2, expires=30),
    ProposalWithdrawn(at(4), WITHDRAWN_PROPOSAL),
    COPIED,
    DistributionMarkedStale(at(6), COPY, TriggerSource.OPERATOR, "overwritten", None),
    refused(PLAN, 2, "RunRequiresPermittedEnclosureError"),
    refused(OTHER_PLAN, 3, "RunRequiresAvailableSupplyError"),
]


async def told(code: str | None = None, hours: float = 8, since: float = 0) -> ShiftHandover:
    period = {"from": at(since), "to": at(since + hours), "facility_code": code}
    past = Past(PAST)
    past.now = at(48)
    return await handover(GetShiftHandover.model_validate(period), past)


async def test_a_shift_tells_what_started_and_what_ended_in_it():
    assert [(line.what, line.name) for line in (await told()).runs] == [
        ("RunCompleted", "Run 21"),
        ("RunStarted", "Run 22"),
    ]


async def test_a_shift_tells_what_was_held_and_why():
    lines = (await told()).holds
    assert [(line.what, line.why, line.link) for line in lines] == [
        ("RunHeld", "beam lost", f"/runs/{RUN}"),
        ("RunResumed", None, f"/runs/{RUN}"),
    ]


async def test_a_shift_tells_of_faults_supplies_and_cautions():
    found = await told()
    assert [(line.what, line.why) for line in found.equipment] == [("AssetFaulted", "it stalls")]
    assert [(line.what, line.name) for line in found.supplies] == [
        ("SupplyMarkedUnavailable", "Ring")
    ]
    assert [(line.what, line.why) for line in found.cautions] == [
        ("CautionRegistered", None),
        ("CautionRetired", "Resolved"),
    ]


async def test_neither_the_text_of_a_caution_nor_an_actor_is_shown():
    found = await told()
    assert "Grace" not in repr(found.cautions)
    assert str(AUTHOR) not in repr(found)


async def test_a_shift_tells_which_runs_were_adjusted_and_why():
    assert [(line.what, line.name, line.why) for line in (await told()).adjustments] == [
        ("RunAdjusted", "Run 21", "a sharper edge")
    ]


async def test_a_shift_tells_to_what_a_permit_changed():
    lines = (await told()).permits
    assert [(line.name, line.state, line.why) for line in lines] == [
        ("Hutch", "NotPermitted", "the search button")
    ]


async def test_a_shift_tells_which_clearances_moved_and_which_ran_out():
    lines = (await told()).clearances
    assert [(line.what, line.id, line.at, line.why) for line in lines] == [
        ("ClearanceExpired", ENDED, at(5), "no longer needed"),
        ("lapsed", LAPSED, at(6), None),
    ]


async def test_a_clearance_that_ends_with_the_shift_has_not_run_out_in_it():
    assert [line.id for line in (await told(hours=6)).expiring] == [LAPSED, CLEARANCE]
    assert (await told(since=6)).clearances[0].id == LAPSED


async def test_a_shift_tells_of_visits_and_of_who_took_control():
    assert [(line.what, line.name) for line in (await told()).visits] == [
        ("VisitArrived", "user visit, btr 7"),
        ("VisitStarted", "user visit, btr 7"),
        ("VisitSurfaceControlTaken", "user visit, btr 7"),
    ]


async def test_a_shift_tells_which_starts_were_refused_and_by_which_error():
    lines = (await told()).refused
    assert [(line.what, line.name, line.why, line.link) for line in lines] == [
        ("refused", "Monday", "RunRequiresPermittedEnclosureError", f"/plans/{PLAN}"),
        ("refused", "Far off", "RunRequiresAvailableSupplyError", f"/plans/{OTHER_PLAN}"),
    ]


async def test_a_shift_tells_what_was_written_into_the_logbooks_and_how_it_begins():
    lines = (await told()).notes
    assert [(line.what, line.name, line.link) for line in lines] == [
        ("Note", "Run 21", f"/runs/{RUN}/logbook"),
        ("Note", "Run 22", f"/runs/{OTHER_RUN}/logbook"),
    ]
    assert [len(line.why or "") for line in lines] == [500, 7]


async def test_a_shift_tells_what_was_decided_and_proposed():
    lines = (await told()).decisions
    assert [(line.at, line.what, line.name) for line in lines] == [
        (at(1.2), "DecisionRegistered", "RunHold: Hold"),
        *((at(2), "ProposalRegistered", f"hold_run {number}") for number in (83, 84, 85)),
        (at(4), "ProposalWithdrawn", "hold_run 85"),
    ]
    assert (len(lines[0].why or ""), lines[0].link) == (500, f"/decisions/{DECISION}")


async def test_a_shift_tells_which_copies_failed_a_check():
    (line,) = (await told()).data
    assert (line.what, line.name, line.why) == (
        *("DistributionMarkedStale", "file:///data/a.h5", "overwritten"),
    )


async def test_proposals_are_open_until_they_are_closed_or_expire():
    for hours, expected in ((3, {83, 84, 85}), (5, {83, 84}), (8, {83}), (31, set[int]())):
        lines = (await told(hours=hours)).open or ()
        found = {line.id.int for line in lines if line.kind == "Proposal"}
        assert (hours, found) == (hours, expected)


# Which things are open at which hour, and how.
OPEN = """
hour  Run 21   Run 22   Stage                Hutch         Far hutch  Ring         user visit, btr 7
0.1   Running  -        -                    -             Unknown    Unknown      -
0.9   Running  -        Faulted              -             Unknown    Unknown      InProgress
1.5   Held     -        Faulted              -             Unknown    Unavailable  InProgress
8     -        Running  Faulted              NotPermitted  Unknown    Unavailable  InProgress
13    -        Running  Faulted/Maintenance  -             Unknown    Unavailable  InProgress
"""


async def test_a_shift_tells_what_was_open_at_its_end_however_much_later_it_is_asked():
    head, *lines = OPEN.strip().splitlines()
    names = re.split(" {2,}", head)[1:]
    for line in lines:
        hours, *states = line.split()
        found = (await told(hours=float(hours))).open or ()
        open_then = [[str(each.state) for each in found if each.name == name] for name in names]
        assert ["/".join(each) or "-" for each in open_then] == states, line
        assert {each.name for each in found if each.kind != "Proposal"} <= {*names}


async def test_an_open_item_is_dated_by_the_event_that_opened_it():
    found = {line.name: line for line in (await told()).open or ()}
    stage, hutch, run = found["Stage"], found["Hutch"], found["Run 22"]
    assert (stage.what, stage.at, stage.why) == ("AssetFaulted", at(0.5), "it stalls")
    assert (hutch.what, hutch.at) == ("EnclosurePermitObserved", at(5))
    assert (run.what, run.at, run.link) == ("RunStarted", at(4), f"/runs/{OTHER_RUN}")


async def test_what_was_open_long_ago_is_left_out_rather_than_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("beamkeep.contexts.shift.handover.MOST_EVENTS", 5)
    assert (await told(since=-94, hours=1)).open is None


async def test_a_shift_tells_which_clearances_run_out_within_a_day_of_it():
    found = await told()
    assert [(line.id, line.at) for line in found.expiring] == [(CLEARANCE, at(20))]
    assert (await told(since=20)).expiring[0].id == LATE


async def test_what_happened_at_the_end_belongs_to_the_next_shift():
    assert [line.what for line in (await told(hours=1)).holds] == []
    assert [line.what for line in (await told(since=1, hours=1)).holds] == ["RunHeld"]


# Which objects each section tells of, by facility.
SECTIONS: dict[str, tuple[set[UUID], set[UUID]]] = {
    "runs": ({RUN}, {OTHER_RUN}),
    "holds": ({RUN}, set()),
    "equipment": ({STAGE}, set()),
    "cautions": ({CAUTION}, set()),
    "supplies": ({SUPPLY}, set()),
    "expiring": ({CLEARANCE}, set()),
    "adjustments": ({RUN}, set()),
    "refused": ({PLAN}, {OTHER_PLAN}),
    "permits": ({HUTCH}, set()),
    "clearances": ({ENDED, LAPSED}, set()),
    "visits": (set(), set()),
    "notes": ({RUN}, {OTHER_RUN}),
    "data": (set(), set()),
    "decisions": (set(), set()),
    "open": ({HUTCH, SUPPLY, STAGE}, {OTHER_HUTCH, OTHER_RUN}),
}


async def test_a_site_is_shown_its_areas_and_nothing_else():
    site, other = await told("site"), await told("other")
    for section, expected in SECTIONS.items():
        found = [{line.id for line in getattr(each, section)} for each in (site, other)]
        assert (section, *found) == (section, *expected)


async def test_visits_belong_to_the_site_of_the_deployment():
    assert [line.id for line in (await told(OWN_SITE)).visits] == [VISIT] * 3
    assert (await told("site")).visits == ()


@pytest.mark.parametrize("hours", [0, -1, 7 * 24 + 1])
async def test_a_shift_has_a_length(hours: float):
    with pytest.raises(InvalidShiftPeriodError):
        await told(hours=hours)


async def test_an_unknown_facility_is_reported_before_a_bad_length():
    with pytest.raises(FacilityNotFoundError):
        await told("nowhere", hours=-1)


async def test_more_than_can_be_shown_is_refused_and_not_cut(monkeypatch: pytest.MonkeyPatch):
    shown = await told()
    events = [
        *(*shown.runs, *shown.holds, *shown.equipment, *shown.cautions, *shown.supplies),
        *(*shown.adjustments, *shown.refused, *shown.permits, *shown.visits, *shown.notes),
        *(*shown.data, *shown.decisions),
        *(line for line in shown.clearances if line.what != "lapsed"),
    ]
    monkeypatch.setattr("beamkeep.contexts.shift.handover.MOST_EVENTS", len(events))
    assert await told() == shown
    monkeypatch.setattr("beamkeep.contexts.shift.handover.MOST_EVENTS", len(events) - 1)
    with pytest.raises(InvalidShiftPeriodError):
        await told()


async def test_a_caller_who_sees_only_their_own_is_shown_only_their_own():
    service, store = await memory_service()
    do = AdminClient(service, store)
    run_id = await a_held_run(do)
    await do("append_run_logbook_entry", {"run_id": run_id, "text": "It hums"})
    run = await do("get_run", {"run_id": run_id})
    refused = RefusedStart(UUID(run["plan_id"]), AUTHOR, "SomeError", NOW, NOW, None, None)
    await enrol(service, "grace", "get_shift_handover", scope="Own")
    now = store.streams["Run", UUID(run_id)][0].occurred_at
    await store.record_refusal(REFUSED_STARTS.insert(replace(refused, refused_at=now)))
    asked = {
        "from": (now - timedelta(hours=1)).isoformat(),
        "to": (now + timedelta(hours=1)).isoformat(),
    }
    everything = json.loads((await call(service, "get_shift_handover", asked)).body)
    own = json.loads((await call(service, "get_shift_handover", asked, subject="grace")).body)
    for section in ("holds", "notes", "open"):
        assert run_id in {line["id"] for line in everything[section]}
    assert [line["id"] for line in everything["refused"]] == [run["plan_id"]]
    assert [name for name, lines in own.items() if isinstance(lines, list) and lines] == []
