"""Starting a run: everything that must be so, the order in which it is asked, and what follows."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.unit.contexts.operation.conducts import requested
from tests.unit.contexts.operation.procedures import PROCEDURE, a_procedure
from tests.unit.contexts.starting.fair import (
    BEAM,
    BEAMLINE,
    CALIBRATION,
    CAMERA,
    CAMERAS,
    CAMPAIGN,
    DECISION,
    DUST,
    FAIR,
    HALL,
    HELIUM,
    HUM,
    HUTCH,
    IN_EV,
    LEAK,
    METHOD,
    OTHER_BEAM,
    OTHER_PAPER,
    OTHER_REVISION,
    PAPER,
    PLAN,
    PRACTICE,
    REQUIRING,
    REVISION,
    SCHEMA,
    SHED,
    STAGE,
    STAGES,
    START,
    SUBJECT,
    Part,
    caution,
    clearance,
    followed,
    heard,
    kept,
    moved,
    observed,
    past,
    revision,
    supply,
)

from beamkeep.contexts.calibration.calibration import (
    CalibrationDefined,
    CalibrationNotFoundError,
    CalibrationRevisionNotFoundError,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.campaign import campaign
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.caution.caution import CautionRetired, CautionSeverity, RetireReason
from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.enclosure.enclosure import FRESHNESS, Freshness, PermitStatus
from beamkeep.contexts.equipment import asset
from beamkeep.contexts.operation.procedure import ProcedureCompleted, ProcedureStarted
from beamkeep.contexts.recipe.method import MethodDeprecated, MethodVersioned
from beamkeep.contexts.recipe.plan import (
    PlanDefaultParametersUpdated,
    PlanDeprecated,
    PlanNotFoundError,
    PlanVersioned,
    Window,
)
from beamkeep.contexts.recipe.practice import PracticeDeprecated, PracticeVersioned
from beamkeep.contexts.run.run import (
    DeclarationVersions,
    InvalidRunParametersError,
    RunAddedToCampaign,
    RunCompleted,
    RunHeld,
    RunProgress,
    RunStarted,
    StartAdvisory,
)
from beamkeep.contexts.safety.clearance import (
    AssetBinding,
    ClearanceActivated,
    ClearanceApproved,
    ClearanceChanged,
    ClearanceExpired,
    ClearanceRejected,
    ClearanceReviewStarted,
    ClearanceSubmitted,
    ClearanceSuperseded,
    SubjectBinding,
)
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.contexts.starting.checks import (
    RunAssetDecommissionedError,
    RunBoundPlanDeprecatedError,
    RunClearanceCoverageMismatchError,
    RunEnclosureCoverageMismatchError,
    RunFamiliesNotSatisfiedError,
    RunOutsidePlanWindowError,
    RunParameterUnitsChangedError,
    RunRequiresActiveClearanceError,
    RunRequiresAvailableSupplyError,
    RunRequiresPermittedEnclosureError,
    RunSubjectNotMountedError,
)
from beamkeep.contexts.starting.gates import StartFact
from beamkeep.contexts.starting.start import (
    OPERATIONS,
    InvalidRunExternalRefsError,
    InvalidRunPinnedCalibrationIdsError,
    RunCannotJoinCampaignError,
    StartRun,
)
from beamkeep.contexts.subject import subject
from beamkeep.contexts.supply.supply import (
    SupplyDegraded,
    SupplyDeregistered,
    SupplyMarkedAvailable,
    SupplyMarkedRecovering,
    SupplyMarkedUnavailable,
)
from beamkeep.kernel import Event, Operation, Record, Refusal, SideWrite, replace
from beamkeep.schemas import JsonObject, UnitChange
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Scenario

EARLIER, MOMENT = NOW - timedelta(days=1), timedelta(microseconds=1)
CAUTION, WARNING, NOTICE = CautionSeverity.CAUTION, CautionSeverity.WARNING, CautionSeverity.NOTICE

NONE: JsonObject = {}
DEFAULTS: JsonObject = {"energy": 25, "exposure": 0.1, "gap": 12}
OVERRIDE: JsonObject = {"exposure": 0.2, "gap": None}
EFFECTIVE: JsonObject = {"energy": 25, "exposure": 0.2}

started = RunStarted(
    *(NOW, NEW, "Night 1", PLAN, None, METHOD, (STAGE, CAMERA), SUBJECT, "10.12345/abc"),
    *(OVERRIDE, EFFECTIVE, (REVISION, OTHER_REVISION)),
    *((kept(LEAK, BEAMLINE, WARNING), kept(DUST, STAGE, CAUTION)), DECISION),
    *(DeclarationVersions(plan=1, practice=1, method=1, capability=1), (PAPER,), ()),
    campaign_id=CAMPAIGN,
)
alone = replace(started, campaign_id=None)
joined = RunAddedToCampaign(NOW, NEW, CAMPAIGN), campaign.CampaignRunAdded(NOW, CAMPAIGN, NEW)


def pins(*revision_ids: UUID) -> list[SideWrite]:
    """The edges from a run to the revisions that it uses."""
    relation = ProvenanceRelation.PINNED
    return [EDGES.insert(ProvenanceEdge(NEW, relation, id, NEW)) for id in revision_ids]


PINS = pins(REVISION, OTHER_REVISION)
membership = (*joined, *PINS)


def given(*more: Part, without: Sequence[str] = ()) -> Scenario:
    return Scenario(OPERATIONS, past(*more, without=without), REQUIRING)


def starting(**changes: Any) -> StartRun:
    return START.model_copy(update=changes)


def starts(*more: Part, without: Sequence[str] = (), **noted: object) -> None:
    """The run starts all the same, and notes what is different."""
    given(*more, without=without).when(START).then(replace(started, **noted), *membership)


def under(plan: int = 1, practice: int = 1, method: int = 1) -> DeclarationVersions:
    return DeclarationVersions(plan=plan, practice=practice, method=method, capability=1)


PLAIN = starting(override_parameters={}, campaign_id=None)


def plainly(effective: JsonObject, versions: DeclarationVersions, **noted: object) -> RunStarted:
    """The run that starts with the defaults of its plan, outside a campaign."""
    plain = replace(alone, override_parameters={}, effective_parameters=effective)
    return replace(plain, declaration_versions=versions, **noted)


class Wrong(Record):
    """One thing that is wrong, in the past or in the command, and what a start is told then."""

    refusal: type[Refusal]
    past: tuple[Part, ...] = ()
    change: Mapping[str, Any] = {}
    facts: tuple[StartFact, ...] = ()
    cleared_by: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def when(self, *more: Part) -> Refusal:
        """What a start is refused with."""
        scenario = given(*more, *self.past, without=self.without)
        return scenario.when(starting(**self.change)).refused(self.refusal)


def versioned_plan(window: Window) -> PlanVersioned:
    changes: dict[str, Any] = {"window": window, "default_parameters": {"energy": 25}}
    return PlanVersioned.of(
        FAIR["plan"][0], version_tag="2", name="Tuesday", method_version=None, **changes
    )


def needing(*kinds: str, schema: dict[str, Any] | None = SCHEMA) -> MethodVersioned:
    return MethodVersioned.of(
        FAIR["method"][0], version_tag="2", needed_supplies=kinds, parameters_schema=schema
    )


BOTH_ASSETS = (
    StartFact("Asset", STAGE, "Stage", "Commissioned"),
    StartFact("Asset", CAMERA, "Camera", "Commissioned"),
)
lost_beam = moved(SupplyMarkedUnavailable)
LONG_AGO, LIMIT = timedelta(days=3), REQUIRING.stale_after
STALE = "Unknown (stale: last report 3 days ago)"
no_permit = PermitStatus.NOT_PERMITTED

# One thing wrong with each check, in their order.
FAILING: dict[str, Wrong] = {
    "parameters": Wrong(
        InvalidRunParametersError,
        (
            PlanDefaultParametersUpdated(
                NOW, PLAN, default_parameters={"energy": 36}, method_version=1
            ),
        ),
        facts=(StartFact("Method", METHOD, "Fly scan", "Defined"),),
        cleared_by=("update_plan_default_parameters", "version_plan"),
    ),
    "units": Wrong(
        RunParameterUnitsChangedError,
        (needing("photon_beam", schema=IN_EV),),
        facts=(
            StartFact(
                *("Parameter", PLAN, "$.energy"),
                "25 was written in keV (udunits); the unit is now eV (udunits)",
            ),
        ),
        cleared_by=("update_plan_default_parameters", "version_plan"),
    ),
    "plan": Wrong(
        RunBoundPlanDeprecatedError,
        (PlanDeprecated(NOW, PLAN),),
        facts=(StartFact("Plan", PLAN, "Monday", "Deprecated"),),
    ),
    "window": Wrong(
        RunOutsidePlanWindowError,
        (versioned_plan(Window(EARLIER, NOW)),),
        facts=(StartFact("Plan", PLAN, "Tuesday", "Versioned", NOW),),
    ),
    "subject": Wrong(
        RunSubjectNotMountedError,
        (subject.SubjectDismounted(NOW, SUBJECT, STAGE, "Turned over"),),
        facts=(StartFact("Subject", SUBJECT, "Fossil 7", "Received"),),
        cleared_by=("mount_subject",),
    ),
    "assets": Wrong(
        RunAssetDecommissionedError,
        (asset.AssetDecommissioned(NOW, CAMERA),),
        facts=(BOTH_ASSETS[0], StartFact("Asset", CAMERA, "Camera", "Decommissioned")),
        cleared_by=("version_plan",),
    ),
    "families": Wrong(
        RunFamiliesNotSatisfiedError,
        (asset.AssetFamilyRemoved(NOW, STAGE, STAGES),),
        facts=BOTH_ASSETS,
        cleared_by=("add_asset_family", "version_plan"),
    ),
    "clearance": Wrong(
        RunClearanceCoverageMismatchError,
        (ClearanceExpired(NOW, PAPER, "Sent back"),),
        facts=(StartFact("Clearance", PAPER, "Salts", "Expired", LATER, None, False),),
        cleared_by=("register_clearance",),
    ),
    "supply": Wrong(
        RunRequiresAvailableSupplyError,
        (lost_beam,),
        facts=(StartFact("Supply", BEAM, "Ring beam", "Unavailable"),),
        cleared_by=("mark_supply_recovering", "restore_supply"),
    ),
    "enclosure": Wrong(
        RunEnclosureCoverageMismatchError,
        (observed(HUTCH, no_permit),),
        facts=(
            StartFact("Enclosure", HALL, "Hall", "Permitted, Active"),
            StartFact("Enclosure", HUTCH, "Hutch", "NotPermitted, Active"),
        ),
    ),
}
# What each check is refused with otherwise.
FAILING_OTHERWISE: list[tuple[str, Wrong]] = [
    (
        "clearance",
        Wrong(
            RunRequiresActiveClearanceError,
            cleared_by=("register_clearance",),
            without=("clearance",),
        ),
    ),
    (
        "supply",
        Wrong(
            RunRequiresAvailableSupplyError, cleared_by=("register_supply",), without=("supply",)
        ),
    ),
    (
        "enclosure",
        Wrong(
            RunRequiresPermittedEnclosureError,
            (observed(HALL, PermitStatus.UNKNOWN), observed(HUTCH, no_permit)),
            facts=(
                StartFact("Enclosure", HALL, "Hall", "Unknown, Active"),
                StartFact("Enclosure", HUTCH, "Hutch", "NotPermitted, Active"),
            ),
        ),
    ),
    (
        "enclosure",
        Wrong(
            RunEnclosureCoverageMismatchError,
            (heard(HUTCH, LONG_AGO),),
            facts=(
                StartFact("Enclosure", HALL, "Hall", "Permitted, Active"),
                StartFact("Enclosure", HUTCH, "Hutch", f"{STALE}, Active"),
            ),
            cleared_by=("observe_enclosure_status",),
        ),
    ),
    (
        "supply",
        Wrong(
            RunRequiresAvailableSupplyError,
            (followed(BEAM, LONG_AGO),),
            facts=(StartFact("Supply", BEAM, "Ring beam", STALE),),
            cleared_by=("mark_supply_available", "observe_supply_status"),
        ),
    ),
]
# Everything that can be wrong, in the order in which a start is told.
IN_ORDER = (
    Wrong(PlanNotFoundError, change={"plan_id": ABSENT}),
    Wrong(subject.SubjectNotFoundError, change={"subject_id": ABSENT}),
    Wrong(campaign.CampaignNotFoundError, change={"campaign_id": ABSENT}),
    Wrong(DecisionNotFoundError, change={"decided_by_decision_id": ABSENT}),
    Wrong(
        CalibrationRevisionNotFoundError,
        change={"pinned_calibration_ids": (REVISION, REVISION, ABSENT)},
    ),
    Wrong(
        InvalidRunPinnedCalibrationIdsError, change={"pinned_calibration_ids": (REVISION, REVISION)}
    ),
    *FAILING.values(),
    Wrong(RunCannotJoinCampaignError, (campaign.CampaignClosed(NOW, CAMPAIGN),)),
)


class Told(Record):
    """What every refused check tells a program."""

    check: str
    facts: tuple[StartFact, ...]
    cleared_by: tuple[str, ...]


def told(refusal: Refusal) -> Told:
    return msgspec.convert(refusal.facts, Told)


def test_a_run_starts_when_everything_it_needs_is_there_and_permits_it():
    starts()


def test_a_run_needs_no_more_than_a_name_and_a_plan():
    bare = StartRun(name="Dark field", plan_id=PLAN)
    given().when(bare).then(
        RunStarted(
            *(NOW, NEW, "Dark field", PLAN, None, METHOD, (STAGE, CAMERA), None, None),
            *(NONE, DEFAULTS, (), started.acknowledged_cautions, None, under(), (PAPER,)),
        )
    )


def test_each_thing_that_is_wrong_is_refused_by_itself():
    for wrong in IN_ORDER:
        wrong.when()


def test_of_two_faults_the_earlier_is_reported():
    for earlier, later in combinations(IN_ORDER, 2):
        both = replace(earlier, change={**later.change, **earlier.change})
        both.when(*later.past)


def test_a_refusal_names_the_check_the_facts_and_the_way_out():
    for name, wrong in (*FAILING.items(), *FAILING_OTHERWISE):
        assert told(wrong.when()) == Told(name, wrong.facts, wrong.cleared_by)


def test_every_way_out_is_a_command():
    ways = {way for each in FAILING.values() for way in each.cleared_by}
    ways |= {way for _, each in FAILING_OTHERWISE for way in each.cleared_by}
    ways |= {way for _, steps in (*CLEARANCES, *SUPPLIES) for way in steps}
    assert {way for way in ways if not isinstance(CATALOGUE.named.get(way), Operation)} == set()


def test_a_run_keeps_what_it_is_called_elsewhere():
    refs = {" bluesky ": " 2d1a95e3 "}
    ready = given()
    ready.when(starting(external_refs=refs)).then(
        replace(started, external_refs={"bluesky": "2d1a95e3"}), *membership
    )
    for wrong in ({"bluesky": " "}, {"bluesky": "bluesky:2d"}, {str(n): "x" for n in range(21)}):
        ready.when(starting(external_refs=wrong)).refused(InvalidRunExternalRefsError)


def test_a_run_keeps_which_channel_counts_its_progress():
    told = {"channel_name": " frames ", "of": 1800.0}
    counted = RunProgress("frames", 1800.0)
    given().when(starting(progress=told)).then(replace(started, progress=counted), *membership)


def test_a_run_pins_at_most_64_revisions():
    ids = tuple(UUID(int=n) for n in range(1000, 1065))
    known = [part for id in ids for part in revision(id)]
    refused = InvalidRunPinnedCalibrationIdsError
    given(*known).when(starting(pinned_calibration_ids=ids)).refused(refused)
    most = replace(started, pinned_calibration_ids=ids[:64])
    given(*known).when(starting(pinned_calibration_ids=ids[:64])).then(
        most, *joined, *pins(*ids[:64])
    )


def test_of_more_revisions_than_a_run_pins_no_calibration_is_read():
    ids = tuple(UUID(int=n) for n in range(1000, 1065))
    claims = [part for id in ids for part in revision(id) if not isinstance(part, Event)]
    unread = given(*claims, without=["calibration"])
    unread.when(starting(pinned_calibration_ids=ids)).refused(InvalidRunPinnedCalibrationIdsError)
    unread.when(starting(pinned_calibration_ids=(*ids, ABSENT))).refused(
        CalibrationRevisionNotFoundError
    )
    with pytest.raises(CalibrationNotFoundError):
        unread.when(starting(pinned_calibration_ids=ids[:64])).then()


def test_the_override_is_bounded_itself_and_not_only_what_comes_of_it():
    deep: dict[str, Any] = {"gap": None}
    for _ in range(8):
        deep = {"gap": deep}
    long = {f"{n:0>100}": None for n in range(650)}
    for override, saying in ((long, "65,536 bytes"), (deep, "8 levels deep")):
        scenario = given(PlanDeprecated(NOW, PLAN)).when(starting(override_parameters=override))
        refusal = scenario.refused(InvalidRunParametersError, saying)
        assert told(refusal).check == "parameters"
        assert told(refusal).cleared_by == ("start_run",)


def test_the_override_is_merged_onto_the_defaults_and_checked_as_a_whole():
    too_high = given().when(starting(override_parameters={"energy": 36}))
    refusal = too_high.refused(InvalidRunParametersError, saying="At $.energy")
    assert refusal.facts["path"] == "$.energy"
    assert refusal.facts["cleared_by"] == ["start_run"]


def test_the_parameters_follow_the_schema_as_it_is_now():
    stricter = SCHEMA | {"properties": {"energy": {"type": "number"}}}
    later = needing("photon_beam", schema=stricter)
    given(later).when(START).refused(InvalidRunParametersError, saying="exposure")


IN_EV_NOW = needing("photon_beam", schema=IN_EV)


def test_a_number_is_not_read_in_another_unit_than_it_was_written_in():
    refusal = (
        given(IN_EV_NOW)
        .when(START)
        .refused(
            RunParameterUnitsChangedError,
            saying="$.energy: 25 was written in keV (udunits); the unit is now eV (udunits).",
        )
    )
    change = UnitChange("$.energy", 25, "keV (udunits)", "eV (udunits)")
    assert refusal.facts["parameters"] == [change]


def test_an_override_in_the_new_unit_does_not_speak_for_the_plan():
    given(IN_EV_NOW).when(starting(override_parameters={"energy": 30})).refused(
        RunParameterUnitsChangedError
    )


def test_rewritten_defaults_are_in_the_unit_of_their_method():
    energy = 25.0
    for again in (
        PlanDefaultParametersUpdated(
            NOW, PLAN, default_parameters={"energy": energy}, method_version=2
        ),
        replace(versioned_plan(Window(NOW, LATER)), method_version=2),
    ):
        tag = "2" if isinstance(again, PlanVersioned) else None
        given(IN_EV_NOW, again).when(PLAIN).then(
            plainly({"energy": energy}, under(plan=2, method=2), plan_version_tag=tag), *PINS
        )


def test_a_parameter_without_a_default_may_change_its_unit():
    without = PlanDefaultParametersUpdated(
        NOW, PLAN, default_parameters={"exposure": 0.1}, method_version=1
    )
    given(without, IN_EV_NOW).when(PLAIN).then(
        plainly({"exposure": 0.1}, under(plan=2, method=2)), *PINS
    )


def test_a_plan_that_does_not_know_when_it_was_written_counts_as_the_methods_first_version():
    old = PlanDefaultParametersUpdated(NOW, PLAN, {"energy": 25})
    given(old, IN_EV_NOW).when(START).refused(RunParameterUnitsChangedError)
    given(old).when(PLAIN).then(plainly({"energy": 25}, under(plan=2)), *PINS)


def test_a_run_keeps_the_clearances_that_covered_it_and_no_others():
    also = clearance(OTHER_PAPER, "Lasers", AssetBinding(STAGE))
    starts(also, ClearanceActivated(NOW, OTHER_PAPER), clearance_ids=(PAPER, OTHER_PAPER))
    ahead = replace(also, valid_from=LATER, valid_until=None)
    starts(ahead, ClearanceActivated(NOW, OTHER_PAPER))


other_run = RunStarted(
    *(NOW, UUID(int=90), "Night 0", PLAN, None, METHOD, (CAMERA, SHED), None, None),
    *(NONE, NONE, (), (), None),
)
OTHER = other_run.run_id


def test_another_live_run_on_an_asset_of_the_plan_is_noted():
    starts(other_run, advisories=(StartAdvisory("Run", OTHER, "Running"),))
    held = RunHeld(NOW, OTHER, None, None)
    starts(other_run, held, advisories=(StartAdvisory("Run", OTHER, "Held"),))


def test_a_run_that_has_ended_or_works_elsewhere_is_not_noted():
    starts(other_run, RunCompleted(NOW, OTHER))
    starts(replace(other_run, asset_ids=(SHED,)))


on_camera = replace(a_procedure(), target_asset_ids=(CAMERA,))
at_work = ProcedureStarted(NOW, PROCEDURE, ())


def test_an_open_procedure_about_an_asset_of_the_plan_is_noted():
    noted = (StartAdvisory("Procedure", PROCEDURE, "Running"),)
    starts(on_camera, at_work, advisories=noted)
    starts(replace(on_camera, target_asset_ids=(SHED,)), at_work)
    starts(on_camera)
    starts(on_camera, at_work, ProcedureCompleted(NOW, PROCEDURE))


def test_an_open_procedure_whose_conduct_moves_an_asset_of_the_plan_is_noted():
    moving = replace(requested, procedure_id=PROCEDURE, moved_asset_ids=(STAGE,))
    noted = (StartAdvisory("Procedure", PROCEDURE, "Running"),)
    starts(a_procedure(), at_work, moving, advisories=noted)
    starts(a_procedure(), at_work, replace(moving, moved_asset_ids=(SHED,)))


def test_of_very_many_live_runs_the_first_are_noted():
    many = [replace(other_run, run_id=UUID(int=n)) for n in range(3000, 3021)]
    noted = tuple(StartAdvisory("Run", UUID(int=n), "Running") for n in range(3000, 3020))
    starts(*many, advisories=noted)


def test_a_subject_mounted_outside_the_plan_is_noted():
    elsewhere = (
        subject.SubjectRegistered(NOW, SUBJECT, "Fossil 7"),
        subject.SubjectMounted(NOW, SUBJECT, SHED, "x"),
    )
    state = f"Mounted on asset {SHED}, which is not in the plan"
    noted = StartAdvisory("Subject", SUBJECT, state)
    starts(*elsewhere, without=["subject"], advisories=(noted,))


def test_a_pinned_revision_that_is_superseded_or_of_another_asset_is_noted():
    third = UUID(int=76)
    superseded = StartAdvisory("CalibrationRevision", REVISION, f"Superseded by {third}")
    starts(*revision(third, supersedes=REVISION), advisories=(superseded,))
    _, *revisions = FAIR["calibration"]
    of_shed = CalibrationDefined(NOW, CALIBRATION, SHED, Quantity.ROTATION_CENTER, {}, None)
    state = f"Calibrates asset {SHED}, which is not in the plan"
    both = tuple(
        StartAdvisory("CalibrationRevision", id, state) for id in (REVISION, OTHER_REVISION)
    )
    starts(of_shed, *revisions, without=["calibration"], advisories=both)


def test_a_versioned_plan_is_noted_with_its_tag():
    again = versioned_plan(Window())
    noted = (StartAdvisory("Clearance", PAPER, "Active", LATER, None, True),)
    given(again).when(PLAIN).then(
        plainly({"energy": 25}, under(plan=2), plan_version_tag="2", advisories=noted), *PINS
    )


def test_a_window_holds_its_start_and_not_its_end():
    for now in (NOW - MOMENT, LATER):
        given().when(START, call=replace(CALL, now=now)).refused(
            RunOutsidePlanWindowError,
            saying=f"window: {NOW}; end of the window: {LATER}; current time: {now}.",
        )
    last = LATER - MOMENT
    given().when(starting(campaign_id=None), call=replace(CALL, now=last)).then(
        replace(alone, occurred_at=last), *PINS
    )


def test_an_open_side_of_the_window_is_shown_as_none():
    for window, saying in (
        (Window(LATER), f"Start of the window: {LATER}; end of the window: none;"),
        (Window(None, NOW), f"Start of the window: none; end of the window: {NOW};"),
    ):
        given(versioned_plan(window)).when(START).refused(RunOutsidePlanWindowError, saying)


def test_what_the_plan_follows_may_be_deprecated():
    starts(
        MethodDeprecated(NOW, METHOD),
        PracticeDeprecated(NOW, PRACTICE),
        declaration_versions=under(practice=2, method=2),
    )


SUBJECTS: tuple[tuple[subject.SubjectMoved, str, tuple[str, ...]], ...] = (
    (subject.SubjectDismounted(NOW, SUBJECT, STAGE, "Turned"), "Received", ("mount_subject",)),
    (subject.SubjectRemoved(NOW, SUBJECT, STAGE), "Removed", ()),
    (subject.SubjectReturned(NOW, SUBJECT), "Returned", ()),
    (subject.SubjectStored(NOW, SUBJECT), "Stored", ()),
    (subject.SubjectDiscarded(NOW, SUBJECT, "Broken"), "Discarded", ()),
)


def test_a_subject_that_is_not_on_its_asset_is_refused_with_its_status():
    for event, status, ways in SUBJECTS:
        refusal = given(event).when(START).refused(RunSubjectNotMountedError, f"is {status}; ")
        assert told(refusal) == Told(
            "subject", (StartFact("Subject", SUBJECT, "Fossil 7", status),), ways
        )


def test_neither_maintenance_nor_a_fault_refuses_a_start():
    starts(
        asset.AssetActivated(NOW, STAGE),
        asset.AssetMaintenanceEntered(NOW, STAGE),
        asset.AssetFaulted(NOW, CAMERA, "Blind"),
        advisories=(
            StartAdvisory("Asset", STAGE, "Maintenance"),
            StartAdvisory("Asset", CAMERA, "Faulted"),
        ),
    )


def test_a_refused_asset_is_named():
    FAILING["assets"].when()
    given(asset.AssetDecommissioned(NOW, STAGE), asset.AssetDecommissioned(NOW, CAMERA)).when(
        START
    ).refused(
        RunAssetDecommissionedError,
        saying=f"Asset 'Stage' ({STAGE}) is Decommissioned; Asset 'Camera' ({CAMERA}) is ",
    )


def test_families_of_the_method_and_of_the_practice_are_covered_as_both_are_now():
    lens, mirror = UUID(int=26), UUID(int=27)
    needs_lens = replace(needing("photon_beam"), needed_family_ids=(STAGES, lens))
    needs_mirror = PracticeVersioned.of(
        FAIR["practice"][0], version_tag="2", family_ids=(CAMERAS, mirror)
    )
    for event, lacking in ((needs_lens, lens), (needs_mirror, mirror)):
        scenario = given(event).when(START)
        refusal = scenario.refused(RunFamiliesNotSatisfiedError, f"Missing families: {lacking}.")
        assert refusal.facts["family_ids"] == [lacking]


def test_no_clearance_is_asked_for_where_none_is_required():
    for more, without in (((), ("clearance",)), (FAILING["clearance"].past, ())):
        scenario = Scenario(OPERATIONS, past(*more, without=without))
        scenario.when(START).then(replace(started, clearance_ids=()), *membership)


CLEARANCES: tuple[tuple[tuple[ClearanceChanged, ...], tuple[str, ...]], ...] = (
    ((), ("submit_clearance",)),
    ((ClearanceSubmitted(NOW, PAPER),), ("start_clearance_review",)),
    ((ClearanceReviewStarted(NOW, PAPER),), ("append_clearance_review_step", "approve_clearance")),
    ((ClearanceApproved(NOW, PAPER, None, None),), ("activate_clearance",)),
    ((ClearanceRejected(NOW, PAPER, "No shielding"),), ("register_clearance",)),
    ((ClearanceExpired(NOW, PAPER, "Over"),), ("register_clearance",)),
    ((ClearanceSuperseded(NOW, PAPER, OTHER_PAPER),), ("register_clearance",)),
    # Active, but for another time.
    (
        (ClearanceApproved(NOW, PAPER, LATER, None), ClearanceActivated(NOW, PAPER)),
        ("amend_clearance",),
    ),
    (
        (ClearanceApproved(NOW, PAPER, None, NOW), ClearanceActivated(NOW, PAPER)),
        ("amend_clearance",),
    ),
)
on_beamline = clearance(PAPER, "Salts", AssetBinding(BEAMLINE))


def test_the_way_to_a_clearance_in_force_begins_where_it_stands():
    for events, ways in CLEARANCES:
        scenario = given(on_beamline, *events, without=["clearance"]).when(START)
        refusal = scenario.refused(RunClearanceCoverageMismatchError, f"'Salts' ({PAPER}) is ")
        assert told(refusal).cleared_by == ways


def test_the_remedies_of_several_clearances_are_named_together():
    other = clearance(OTHER_PAPER, "Lasers", SubjectBinding(SUBJECT), valid_until=None)
    submitted = ClearanceSubmitted(NOW, PAPER)
    scenario = given(on_beamline, submitted, other, without=["clearance"]).when(START)
    assert told(scenario.refused(RunClearanceCoverageMismatchError)) == Told(
        "clearance",
        (
            StartFact("Clearance", PAPER, "Salts", "Submitted", LATER, None, False),
            StartFact("Clearance", OTHER_PAPER, "Lasers", "Defined", None, None, False),
        ),
        ("submit_clearance", "start_clearance_review"),
    )


SUPPLIES: tuple[tuple[tuple[Part, ...], tuple[str, ...]], ...] = (
    ((), ("mark_supply_available",)),
    (
        (moved(SupplyDegraded),),
        ("mark_supply_unavailable", "mark_supply_recovering", "restore_supply"),
    ),
    ((lost_beam,), ("mark_supply_recovering", "restore_supply")),
    ((moved(SupplyMarkedRecovering),), ("restore_supply",)),
    # As if there were none.
    ((moved(SupplyDeregistered),), ("register_supply",)),
)


def test_the_way_to_an_available_supply_begins_where_it_stands():
    for events, ways in SUPPLIES:
        scenario = given(supply(BEAM, "Ring beam"), *events, without=["supply"]).when(START)
        assert told(scenario.refused(RunRequiresAvailableSupplyError)).cleared_by == ways


def test_every_kind_that_is_not_covered_is_named():
    helium, found = supply(HELIUM, "Bottles", "helium"), moved(SupplyMarkedAvailable, HELIUM)
    needs = needing("helium", "photon_beam", "vacuum", "water")
    refusal = (
        given(needs, helium, found, lost_beam)
        .when(START)
        .refused(
            RunRequiresAvailableSupplyError,
            saying=f"photon_beam: Supply 'Ring beam' ({BEAM}) is Unavailable. Mark it recovering,"
            " then restore it. vacuum: No supply of this kind serves these assets. Register one."
            " water: ",
        )
    )
    assert refusal.facts["kinds"] == ["photon_beam", "vacuum", "water"]
    assert told(refusal) == Told(
        "supply",
        (
            StartFact("Supply", HELIUM, "Bottles", "Available"),
            StartFact("Supply", BEAM, "Ring beam", "Unavailable"),
        ),
        ("mark_supply_recovering", "restore_supply", "register_supply"),
    )


def test_the_remedies_of_several_supplies_are_named_once_each():
    second = supply(OTHER_BEAM, "Lamp"), moved(SupplyMarkedRecovering, OTHER_BEAM)
    refusal = given(lost_beam, *second).when(START).refused(RunRequiresAvailableSupplyError)
    assert told(refusal).cleared_by == ("mark_supply_recovering", "restore_supply")


def test_a_permit_counts_as_long_as_its_last_report_is_not_stale():
    starts(heard(HUTCH, LIMIT))
    given(heard(HUTCH, LIMIT + MOMENT)).when(START).refused(RunEnclosureCoverageMismatchError)
    given(heard(HALL, LONG_AGO), heard(HUTCH, LONG_AGO)).when(START).refused(
        RunRequiresPermittedEnclosureError,
        saying=f"Enclosure 'Hutch' ({HUTCH}) is {STALE}, Active. The interlock of each enclosure"
        " must report Permitted. A stale permit counts again after the next report of its monitor.",
    )


def test_a_permit_stamped_before_the_clock_was_put_back_does_not_count():
    given(heard(HUTCH, -LONG_AGO)).when(START).refused(RunEnclosureCoverageMismatchError)


def test_a_permit_of_which_no_report_is_known_does_not_count():
    for row in (FRESHNESS.delete(HUTCH), FRESHNESS.replace(Freshness(HUTCH, None))):
        given(row).when(START).refused(
            RunEnclosureCoverageMismatchError, saying="is Unknown (never reported), Active."
        )


def test_an_observed_supply_counts_as_long_as_its_last_report_is_not_stale():
    starts(followed(BEAM, LIMIT))
    given(followed(BEAM, LIMIT + MOMENT)).when(START).refused(
        RunRequiresAvailableSupplyError,
        saying=f"'Ring beam' ({BEAM}) is Unknown (stale: last report 60 seconds ago). Mark it"
        " available, or let its observer report again.",
    )


def test_a_lost_supply_whose_observer_is_silent_comes_back_as_any_lost_one():
    refused = given(lost_beam, followed(BEAM, LONG_AGO)).when(START)
    assert told(refused.refused(RunRequiresAvailableSupplyError)) == Told(
        "supply", FAILING["supply"].facts, FAILING["supply"].cleared_by
    )


def test_an_enclosure_around_what_the_assets_stand_on_counts():
    given(observed(HALL, no_permit)).when(START).refused(
        RunEnclosureCoverageMismatchError, saying=f"'Hall' ({HALL}) is NotPermitted, Active."
    )


def test_a_campaign_that_is_not_over_is_joined():
    for event in (
        campaign.CampaignStarted(NOW, CAMPAIGN),
        campaign.CampaignHeld(NOW, CAMPAIGN, "No beam"),
    ):
        starts(event)


def test_a_campaign_that_is_over_is_not_joined():
    for event, status in (
        (campaign.CampaignClosed(NOW, CAMPAIGN), "Closed"),
        (campaign.CampaignAbandoned(NOW, CAMPAIGN, "No sample"), "Abandoned"),
    ):
        given(event).when(START).refused(RunCannotJoinCampaignError, f"'Ageing' is {status}.")


def test_a_run_outside_a_campaign_joins_none():
    given(campaign.CampaignClosed(NOW, CAMPAIGN)).when(starting(campaign_id=None)).then(
        alone, *PINS
    )


def test_only_cautions_in_effect_and_grave_enough_remain():
    expired = replace(caution(UUID(int=83), STAGE, WARNING), expires_at=NOW)
    starts(
        caution(HUM, STAGE, NOTICE),
        caution(UUID(int=84), BEAMLINE, WARNING),
        caution(UUID(int=85), SHED, WARNING, below=True),
        expired,
        caution(UUID(int=86), CAMERA, WARNING),
        CautionRetired(NOW, UUID(int=86), RetireReason.RESOLVED),
    )


def test_no_caution_refuses_a_start():
    given(without=["cautions"]).when(START).then(
        replace(started, acknowledged_cautions=()), *membership
    )


def test_of_more_than_200_cautions_the_gravest_remain():
    many = [caution(UUID(int=n), STAGE, CAUTION) for n in range(2000, 2199)]
    one_more = caution(UUID(int=2199), STAGE, CAUTION)
    expected = (
        kept(LEAK, BEAMLINE, WARNING),
        *(kept(each.caution_id, STAGE, CAUTION) for each in many),
    )
    above = FAIR["cautions"][1:]
    given(*above, *many, one_more, without=["cautions"]).when(START).then(
        replace(started, acknowledged_cautions=expected), *membership
    )
