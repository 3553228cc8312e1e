"""Run: how it goes, how it ends, and what governs it."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.unit.contexts.starting.fair import FAIR, Part, asset

from beamkeep.contexts.decision.decision import DecisionNotFoundError, DecisionRegistered
from beamkeep.contexts.recipe.method import MethodDefined, MethodDeprecated, MethodVersioned
from beamkeep.contexts.recipe.method import begin as method_of
from beamkeep.contexts.run import run
from beamkeep.contexts.run.run import (
    QUESTIONS,
    AbortRun,
    AcknowledgedCaution,
    AdjustRun,
    CautionTarget,
    CompleteRun,
    DecidedRunCommand,
    DecisionDebriefRequested,
    DeclarationVersions,
    HoldRun,
    InvalidRunInterruptedAtError,
    InvalidRunParametersError,
    InvalidRunParametersPatchError,
    Run,
    RunAborted,
    RunAddedToCampaign,
    RunAdjusted,
    RunAdjustment,
    RunCannotAbortError,
    RunCannotAdjustError,
    RunCannotCompleteError,
    RunCannotHoldError,
    RunCannotResumeError,
    RunCannotStopError,
    RunCannotTruncateError,
    RunCommand,
    RunCompleted,
    RunHeld,
    RunMoved,
    RunNotFoundError,
    RunRemovedFromCampaign,
    RunResumed,
    RunStarted,
    RunStatus,
    RunStopped,
    RunTruncated,
    StartAdvisory,
    StopRun,
    TruncateRun,
    begin,
    evolve,
)
from beamkeep.contexts.starting import resume
from beamkeep.contexts.starting.checks import RunGround
from beamkeep.contexts.starting.gates import Preconditions
from beamkeep.contexts.starting.resume import ResumeRun
from beamkeep.contexts.subject.subject import SubjectMounted, SubjectRegistered
from beamkeep.contexts.supply.gate import Coverage
from beamkeep.kernel import Event, Many, Refusal, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix

ID, PLAN, METHOD, STAGE, CAMERA = NEW, UUID(int=20), UUID(int=21), UUID(int=30), UUID(int=31)
SUBJECT, DECISION, CAMPAIGN, CAUTION = UUID(int=40), UUID(int=41), UUID(int=42), UUID(int=43)
REVISION, OTHER_CAMPAIGN = UUID(int=44), UUID(int=45)

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "energy": {"type": "number", "maximum": 35},
        "exposure": {"type": "number"},
        "detector": {"type": "object", "properties": {"gain": {"type": "integer"}}},
    },
    "additionalProperties": False,
}
NARROWER: dict[str, Any] = {**SCHEMA, "properties": {"energy": {"type": "number", "maximum": 25}}}
method = MethodDefined(
    NOW,
    METHOD,
    name="Fly scan",
    capability_id=UUID(int=22),
    needed_family_ids=(),
    needed_supplies=(),
    parameters_schema=SCHEMA,
)
method_narrowed = MethodVersioned.of(method, version_tag="2", parameters_schema=NARROWER)
method_without_schema = replace(method_narrowed, parameters_schema=None)
decision = DecisionRegistered(
    *(NOW, DECISION, UUID(int=9), "RunHold", "Hold", None, None, None, None),
    *(None, None, (), None, ()),
)

AROUND: tuple[Part, ...] = (
    *FAIR["site"],
    *asset(STAGE, "Stage", None),
    *asset(CAMERA, "Camera", None),
    SubjectRegistered(NOW, SUBJECT, "Fossil 7"),
    SubjectMounted(NOW, SUBJECT, STAGE, "Next in line"),
)

shown = AcknowledgedCaution(CAUTION, CautionTarget("Asset", STAGE), "Operational", "Warning")
OVERRIDE: JsonObject = {"exposure": 0.2}
BEFORE: JsonObject = {"energy": 25, "exposure": 0.2}
AFTER: JsonObject = {"energy": 26, "exposure": 0.2}
started = RunStarted(
    *(NOW, ID, "Night 1", PLAN, "2", METHOD, (STAGE, CAMERA), SUBJECT, "10.25.10/raid"),
    *(OVERRIDE, BEFORE, (REVISION,), (shown,), DECISION),
)
held = RunHeld(NOW, ID, "beam lost", None)
resumed = RunResumed(NOW, ID, None)
completed = RunCompleted(NOW, ID)
stopped = RunStopped(NOW, ID, "enough", None)
aborted = RunAborted(NOW, ID, "smoke", None)
truncated = RunTruncated(NOW, ID, "power cut", None, None)
adjusted = RunAdjusted(NOW, ID, {"energy": 26}, AFTER, "peak moved", None)
added = RunAddedToCampaign(NOW, ID, CAMPAIGN)
removed = RunRemovedFromCampaign(NOW, ID, CAMPAIGN, "by mistake")
debriefed = DecisionDebriefRequested(NOW, ID, UUID(int=50), "RunDebriefer", UUID(int=51))

HOLD = HoldRun(run_id=ID, reason=" beam lost ")
RESUME = ResumeRun(run_id=ID)
COMPLETE = CompleteRun(run_id=ID)
STOP = StopRun(run_id=ID, reason=" enough ")
ABORT = AbortRun(run_id=ID, reason=" smoke ")
TRUNCATE = TruncateRun(run_id=ID, reason=" power cut ")
ADJUST = AdjustRun(run_id=ID, parameters_patch={"energy": 26}, reason=" peak moved ")
DECIDED: tuple[DecidedRunCommand, ...] = (HOLD, RESUME, STOP, ABORT, TRUNCATE, ADJUST)
EVERY: tuple[RunCommand, ...] = (*DECIDED, COMPLETE)
ENDS: tuple[Event, ...] = (completed, stopped, aborted, truncated)
OPERATIONS = (*run.OPERATIONS, *resume.OPERATIONS)


def given(*history: Event) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, method, decision, *history))


def adjusting(patch: dict[str, Any]) -> AdjustRun:
    return ADJUST.model_copy(update={"parameters_patch": patch})


def with_parameters(patch: dict[str, Any], effective: dict[str, Any]) -> tuple[Any, ...]:
    told = replace(adjusted, parameters_patch=patch, effective_parameters=effective)
    return told, RunAdjustment(effective)


def past_before(command: RunCommand) -> tuple[Event, ...]:
    """A past from which the command goes through."""
    return (started, held) if command is RESUME else (started,)


def test_a_run_may_be_held_without_a_reason():
    given(started).when(HoldRun(run_id=ID)).then(replace(held, reason=None))


def test_a_run_is_held_and_resumed_any_number_of_times():
    given(started).when(HOLD).then(held)
    given(started, held).when(RESUME).then(resumed)
    given(started, held, resumed).when(HOLD).then(held)
    given(started, held, resumed, held).when(RESUME).then(resumed)


def test_a_running_run_is_completed():
    given(started).when(COMPLETE).then(completed)
    given(started, held, resumed).when(COMPLETE).then(completed)


def test_a_run_is_left_early_while_it_runs_and_while_it_is_held():
    for past in (started,), (started, held):
        given(*past).when(STOP).then(stopped)
        given(*past).when(ABORT).then(aborted)
        given(*past).when(TRUNCATE).then(truncated)


def test_a_run_that_died_is_closed_with_the_time_it_died_at():
    moment = timedelta(microseconds=1)
    for at in (NOW - moment, NOW):
        died = TRUNCATE.model_copy(update={"interrupted_at": at})
        given(started).when(died).then(replace(truncated, interrupted_at=at))


def test_a_run_has_not_died_in_the_future():
    moment = timedelta(microseconds=1)
    for past in (started,), (started, completed):
        given(*past).when(TRUNCATE.model_copy(update={"interrupted_at": NOW + moment})).refused(
            InvalidRunInterruptedAtError
        )


def test_a_command_names_the_decision_it_follows():
    events = (held, resumed, stopped, aborted, truncated, adjusted)
    for command, event in zip(DECIDED, events, strict=True):
        told = replace(event, decided_by_decision_id=DECISION)
        reply = [RunAdjustment(adjusted.effective_parameters)] if command is ADJUST else []
        given(*past_before(command)).when(
            command.model_copy(update={"decided_by_decision_id": DECISION})
        ).then(told, *reply)


def test_a_decision_that_is_not_on_record_is_reported_before_everything_else():
    for command in DECIDED:
        wrong = {"decided_by_decision_id": ABSENT}
        given(started, completed).when(command.model_copy(update=wrong)).refused(
            DecisionNotFoundError
        )


def test_a_move_is_recorded_with_its_time():
    later = replace(CALL, now=LATER)
    for command, event in (
        (HOLD, held),
        (COMPLETE, completed),
        (STOP, stopped),
        (ABORT, aborted),
        (TRUNCATE, truncated),
    ):
        given(started).when(command, call=later).then(replace(event, occurred_at=LATER))
    given(started, held).when(RESUME, call=later).then(replace(resumed, occurred_at=LATER))


def test_the_parameters_of_a_run_are_adjusted_and_the_whole_is_answered():
    for past in (started,), (started, held):
        given(*past).when(ADJUST).then(adjusted, RunAdjustment(AFTER))


def test_an_adjustment_follows_on_from_the_one_before():
    slower = {"exposure": 0.4}
    given(started, adjusted).when(adjusting(slower)).then(
        *with_parameters(slower, {"energy": 26, "exposure": 0.4})
    )


def test_a_null_takes_a_parameter_away():
    given(started).when(adjusting({"exposure": None})).then(
        *with_parameters({"exposure": None}, {"energy": 25})
    )


def test_an_object_among_the_parameters_is_merged():
    gained = replace(adjusted, effective_parameters={"energy": 25, "detector": {"gain": 1}})
    given(started, gained).when(adjusting({"detector": {"gain": 2}})).then(
        *with_parameters({"detector": {"gain": 2}}, {"energy": 25, "detector": {"gain": 2}})
    )


def test_an_adjustment_that_changes_nothing_is_refused():
    for patch in ({}, {"energy": 25}, {"energy": 25.0, "exposure": 0.2}, {"detector": None}):
        given(started).when(adjusting(patch)).refused(InvalidRunParametersPatchError)


def test_a_number_becomes_a_truth_value_by_an_adjustment_and_not_another_form_of_itself():
    anything = replace(method_narrowed, parameters_schema={})
    one = replace(started, effective_parameters={"gain": 1})
    given(anything, one).when(adjusting({"gain": True})).then(
        *with_parameters({"gain": True}, {"gain": True})
    )
    given(anything, one).when(adjusting({"gain": 1.0})).refused(InvalidRunParametersPatchError)


def test_a_change_of_parameters_is_bounded_itself_and_not_only_what_comes_of_it():
    deep: dict[str, Any] = {"energy": 26}
    for _ in range(8):
        deep = {"detector": deep}
    long = {f"{n:0>100}": None for n in range(650)}
    for patch, saying in ((long | {"energy": 26}, "65,536 bytes"), (deep, "8 levels deep")):
        given(started, completed).when(adjusting(patch)).refused(
            InvalidRunParametersPatchError, saying=saying
        )


def test_adjusted_parameters_follow_the_schema_of_the_method():
    found = (
        given(started)
        .when(adjusting({"energy": 36}))
        .refused(InvalidRunParametersError, saying="At $.energy")
    )
    assert found.facts == {"path": "$.energy", "rule": "maximum"}
    given(started).when(adjusting({"gap": 12})).refused(InvalidRunParametersError)


def test_a_run_that_does_not_know_its_method_then_follows_the_schema_as_it_is_now():
    given(method_narrowed, started).when(adjusting({"energy": 26})).refused(
        InvalidRunParametersError
    )
    given(method_narrowed, started).when(adjusting({"energy": 24})).refused(
        InvalidRunParametersError, saying="exposure"
    )


def test_a_run_is_adjusted_under_the_schema_it_was_started_with():
    under_first = replace(started, declaration_versions=DeclarationVersions(4, 3, 1, 2))
    for since in ((method_narrowed,), (method_without_schema,), (MethodDeprecated(NOW, METHOD),)):
        given(*since, under_first).when(ADJUST).then(adjusted, RunAdjustment(AFTER))
    under_second = replace(started, declaration_versions=DeclarationVersions(4, 3, 2, 2))
    given(method_narrowed, replace(method_narrowed, parameters_schema=SCHEMA), under_second).when(
        ADJUST
    ).refused(InvalidRunParametersError)


def test_no_parameters_without_a_schema():
    given(method_without_schema, started).when(ADJUST).refused(
        InvalidRunParametersError, saying="declare one on method Fly scan first"
    )


def test_all_parameters_may_be_taken_away_where_no_schema_is_left():
    nothing: dict[str, Any] = {"energy": None, "exposure": None}
    given(method_without_schema, started).when(adjusting(nothing)).then(
        *with_parameters(nothing, {})
    )


def test_a_run_of_a_deprecated_method_may_still_be_adjusted():
    given(MethodDeprecated(NOW, METHOD), started).when(ADJUST).then(
        adjusted, RunAdjustment(adjusted.effective_parameters)
    )


def test_faults_of_an_adjustment_are_reported_in_order():
    wrong: dict[str, Any] = {"decided_by_decision_id": ABSENT, "parameters_patch": {}}
    steps: list[tuple[type[Refusal], dict[str, Any]]] = [
        (DecisionNotFoundError, {"decided_by_decision_id": DECISION}),
        (InvalidRunParametersPatchError, {"parameters_patch": {"energy": 36}}),
        (InvalidRunParametersError, {"parameters_patch": {"energy": 26}}),
    ]
    for refusal, mended in steps:
        given(started, completed).when(ADJUST.model_copy(update=wrong)).refused(refusal)
        wrong |= mended
    given(started, completed).when(ADJUST.model_copy(update=wrong)).refused(RunCannotAdjustError)


def test_a_run_that_has_ended_stays_so():
    moves: list[tuple[RunCommand, type[Refusal]]] = [
        (HOLD, RunCannotHoldError),
        (RESUME, RunCannotResumeError),
        (COMPLETE, RunCannotCompleteError),
        (STOP, RunCannotStopError),
        (ABORT, RunCannotAbortError),
        (TRUNCATE, RunCannotTruncateError),
        (ADJUST, RunCannotAdjustError),
    ]
    for end in ENDS:
        for command, refusal in moves:
            given(started, end).when(command).refused(refusal, saying="it must be ")


def test_a_run_that_does_not_exist_does_not_move():
    for command in EVERY:
        given().when(command).refused(RunNotFoundError)


def test_a_run_continues_in_any_campaign_and_with_any_debrief():
    given(started, added, removed, debriefed).when(HOLD).then(held)


def test_a_run_is_what_its_first_event_says():
    assert begin(started) == Run(
        *(ID, "Night 1", PLAN, METHOD, (STAGE, CAMERA), SUBJECT, "10.25.10/raid"),
        *(OVERRIDE, BEFORE, (REVISION,), (shown,), NOW, None, RunStatus.RUNNING),
    )
    known: dict[str, object] = {
        "declaration_versions": DeclarationVersions(plan=4, practice=3, method=2, capability=1),
        "clearance_ids": (CAMPAIGN,),
        "advisories": (StartAdvisory("Asset", STAGE, "Degraded"),),
    }
    assert begin(replace(started, **known)) == replace(begin(started), **known)


def test_a_run_keeps_why_it_moved_last_and_when_it_ended():
    first = begin(started)
    moves: list[tuple[RunMoved, RunStatus, str | None, datetime | None]] = [
        (held, RunStatus.HELD, "beam lost", None),
        (replace(held, reason=None), RunStatus.HELD, None, None),
        (replace(completed, occurred_at=LATER), RunStatus.COMPLETED, None, LATER),
        (replace(stopped, occurred_at=LATER), RunStatus.STOPPED, "enough", LATER),
        (replace(aborted, occurred_at=LATER), RunStatus.ABORTED, "smoke", LATER),
        (replace(truncated, occurred_at=LATER), RunStatus.TRUNCATED, "power cut", LATER),
    ]
    for event, status, reason, ended_at in moves:
        assert evolve(first, event) == replace(
            first, status=status, last_status_reason=reason, ended_at=ended_at
        )


def test_a_run_that_continues_or_is_complete_has_no_reason_any_more():
    after = evolve(begin(started), held)
    assert evolve(after, resumed) == begin(started)
    assert evolve(after, completed).last_status_reason is None


def test_a_truncated_run_keeps_the_time_it_died_at():
    died = evolve(begin(started), replace(truncated, interrupted_at=NOW))
    assert died.interrupted_at == NOW


def test_an_adjustment_is_counted_and_leaves_what_was_overridden_at_the_start():
    first = begin(started)
    once = evolve(first, adjusted)
    assert once == replace(first, effective_parameters=AFTER, adjustment_count=1)
    assert evolve(once, adjusted).adjustment_count == 2


def test_a_run_is_in_one_campaign_at_a_time_whatever_its_status():
    for past in (begin(started), evolve(begin(started), completed)):
        inside = evolve(past, added)
        assert inside == replace(past, campaign_id=CAMPAIGN)
        assert evolve(inside, removed) == past
        moved = evolve(evolve(inside, removed), replace(added, campaign_id=OTHER_CAMPAIGN))
        assert moved.campaign_id == OTHER_CAMPAIGN


def test_only_the_event_of_the_membership_puts_a_run_in_a_campaign():
    assert begin(replace(started, campaign_id=CAMPAIGN)) == begin(started)


def test_a_request_for_a_debrief_changes_nothing():
    ended = evolve(evolve(begin(started), added), stopped)
    assert evolve(ended, debriefed) == ended


def test_a_list_is_narrowed_by_what_is_asked_for():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert source.view.compared == {
        "started_from": ("created_at", ">="),
        "started_to": ("created_at", "<"),
    }
    assert source.view.filters == (
        *("asset_id", "campaign_id", "external_ref", "pinned_calibration_id"),
        *("plan_id", "status", "subject_id", "team_id", "visit_id"),
    )
    assert source.view.aliases == {"under_asset_id": "asset_id"}


def test_a_run_is_found_by_each_of_its_assets_and_calibrations():
    source = QUESTIONS[2].source
    assert isinstance(source, Many)
    assert set(source.view.facets_of(evolve(begin(started), added))) == {
        f"name={started.name.lower()}",
        f"asset_id={STAGE}",
        f"asset_id={CAMERA}",
        f"pinned_calibration_id={REVISION}",
        f"plan_id={PLAN}",
        f"subject_id={SUBJECT}",
        f"campaign_id={CAMPAIGN}",
        "status=Running",
    }


def in_status(status: RunStatus) -> Run:
    return replace(begin(started), status=status)


STATUS = """
           hold_run  resume_run  complete_run  stop_run  abort_run  truncate_run  adjust_run
Running    Held      -           Completed     Stopped   Aborted    Truncated     Running
Held       -         Running     -             Stopped   Aborted    Truncated     Held
Completed  -         -           -             -         -          -             -
Aborted    -         -           -             -         -          -             -
Stopped    -         -           -             -         -          -             -
Truncated  -         -           -             -         -          -             -
"""

ASKED = (
    Example(HOLD),
    Example(RESUME, RunGround(Preconditions((), {}, Coverage({}), {}, ()), None, None)),
    *(Example(command) for command in (COMPLETE, STOP, ABORT, TRUNCATE)),
    Example(ADJUST, method_of(method)),
)


def test_every_command_in_every_status():
    matrix(OPERATIONS, RunStatus, ASKED, in_status, lambda run: run.status, STATUS)


def test_every_command_is_tried_in_the_matrix():
    tried = {type(example.command) for example in ASKED}
    assert tried == {operation.command for operation in OPERATIONS}
