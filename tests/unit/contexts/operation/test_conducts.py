"""Conducts that are stopped: by their worker, or by the command if no worker has them."""

import asyncio
from datetime import timedelta
from functools import reduce
from typing import Any
from uuid import UUID

import pytest
from tests.unit.contexts.operation.conducts import (
    CONDUCT,
    CONDUCT_ROW,
    ID,
    SHUT,
    STEPS,
    conduct_ended,
    conducting,
    did,
    done,
    registered,
    started,
    walked,
    work,
)

from beamkeep.contexts import starting
from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.operation import activity, making_safe, procedure, reports, stopping
from beamkeep.contexts.operation.activity import ActivityEntry, AppendProcedureActivities
from beamkeep.contexts.operation.conduct import CHANNELS, CONDUCTS, Conduct
from beamkeep.contexts.operation.conducted import (
    ActuationKind,
    ConductKind,
    ConductOutcome,
    Failure,
    FailureSource,
    Phase,
    Stage,
    StepKind,
)
from beamkeep.contexts.operation.making_safe import MakeProcedureSafe, ProcedureCannotMakeSafeError
from beamkeep.contexts.operation.procedure import (
    ITERATIONS,
    PROCEDURE_STEPS,
    CompleteProcedure,
    EndProcedureIteration,
    PinnedSteps,
    Procedure,
    ProcedureAborted,
    ProcedureCommand,
    ProcedureCompleted,
    ProcedureConductActiveError,
    ProcedureConductCancelRequested,
    ProcedureConductRequested,
    ProcedureHeld,
    ProcedureIteration,
    ProcedureIterationStarted,
    ResumeProcedure,
    StartProcedureIteration,
    TruncateProcedure,
    begin,
    evolve,
)
from beamkeep.contexts.operation.reports import (
    ConductReport,
    ConductStatus,
    CurrentStep,
    GetConduct,
    ListConducts,
)
from beamkeep.contexts.operation.stopping import (
    AbortProcedure,
    CancelProcedureConduct,
    ConductNotFoundError,
    HoldProcedure,
    ProcedureCannotCancelConductError,
)
from beamkeep.contexts.recipe.steps import Equals
from beamkeep.contexts.seams.work import WORK_STOPS, WorkStop
from beamkeep.contexts.starting.conducting import (
    ConductFromProcedure,
    ConductOrHoldProcedure,
    ConductProcedure,
    ConductProcedureUntilAdvised,
    ConductProcedureUntilAdvisedFrom,
    ConductProcedureUntilConverged,
)
from beamkeep.contexts.starting.procedure import StartProcedure
from beamkeep.kernel import Accepted, Event, Fenced, Refusal, SideWrite, replace
from beamkeep.testing.past import ABSENT, ME, NOW, Past
from beamkeep.testing.scenario import Scenario

OPERATIONS = (
    *procedure.OPERATIONS,
    *stopping.OPERATIONS,
    *making_safe.OPERATIONS,
    *activity.OPERATIONS,
    *starting.OPERATIONS,
)
HOLD = HoldProcedure(procedure_id=ID, reason="no beam")
ABORT = AbortProcedure(procedure_id=ID, reason="smoke")
CANCEL = CancelProcedureConduct(procedure_id=ID, conduct_id=CONDUCT, reason="wrong sample")
held = ProcedureHeld(NOW, ID, "no beam", None)
aborted = ProcedureAborted(NOW, ID, "smoke")
cancelled = ProcedureConductCancelRequested(NOW, ID, CONDUCT, "wrong sample")
CANCELLING = replace(CONDUCT_ROW, cancel_requested=True)
CANCELLED = Failure(
    phase=Phase.STEPS,
    source_kind=FailureSource.LIFECYCLE,
    error_class="ConductCancelled",
    message="The conduct was cancelled.",
    target="cancel_conduct",
)
cancelled_hold = ProcedureHeld(
    NOW, ID, "lifecycle cancel_conduct: ConductCancelled: The conduct was cancelled.", None
)
LOOP = {"kind": "converge", "capture_name": "intensity", "criterion": {"kind": "equals"}}


def given(*history: Event | SideWrite | Any) -> Scenario:
    return Scenario(OPERATIONS, history)


def ending(**changes: Any) -> list[Any]:
    """The end of the conduct with its rows, by a command that met no worker."""
    event = replace(conduct_ended, **changes)
    row = replace(
        CONDUCT_ROW,
        outcome=event.outcome,
        succeeded=event.succeeded,
        completed_count=event.completed_count,
        failure=event.failure,
        closing_failures=event.closing_failures,
        actuation_kind=event.actuation_kind,
        claim_count=event.claim_count,
        undecided_step_indexes=event.undecided_step_indexes,
        ended_at=NOW,
    )
    return [event, CONDUCTS.replace(row), CHANNELS.delete("bl:x")]


def stop(what: str) -> SideWrite:
    return WORK_STOPS.replace(WorkStop(CONDUCT, what))


def nobody(claim: int) -> Fenced:
    return Fenced(CONDUCT, claim, None, ends=True)


def test_a_worker_is_asked_to_hold_to_abort_or_to_cancel():
    active = (*conducting(), work())
    given(*active).when(HOLD).then(held, stop("hold"))
    given(*active).when(ABORT).then(aborted, stop("abort"))
    asked = CONDUCTS.replace(CANCELLING)
    given(*active).when(CANCEL).then(cancelled, asked, stop("cancel"), Accepted())


def test_a_conduct_that_no_worker_has_is_ended_by_the_command():
    for claim in (0, 3):
        free = (*conducting(), work(claim, is_held=False))
        given(*free).when(HOLD).then(held, *ending(claim_count=claim), nobody(claim))
        ended = ending(outcome=ConductOutcome.CANCELLED, claim_count=claim)
        given(*free).when(ABORT).then(aborted, *ended, nobody(claim))


def test_a_conduct_that_no_worker_has_is_cancelled_by_the_command():
    free = (*conducting(), work(3, is_held=False))
    event, row, freed = ending(outcome=ConductOutcome.CANCELLED, failure=CANCELLED, claim_count=3)
    row = CONDUCTS.replace(replace(row.row, cancel_requested=True))
    ended = (event, row, freed, nobody(3), Accepted())
    given(*free).when(CANCEL).then(cancelled, cancelled_hold, *ended)
    given(*free, held).when(CANCEL).then(cancelled, *ended)
    again = (*conducting(CANCELLING), work(3, is_held=False), cancelled)
    given(*again).when(CANCEL).then(cancelled_hold, *ended)


def test_what_was_asked_before_goes_before_a_hold():
    free = (*conducting(CANCELLING), work(2, is_held=False), cancelled)
    outcome = given(*free).when(HOLD).decided()
    assert [type(part).__name__ for part in outcome[:2]] == [
        "ProcedureHeld",
        "ProcedureConductEnded",
    ]
    assert outcome[1] == replace(
        conduct_ended, outcome=ConductOutcome.CANCELLED, failure=CANCELLED, claim_count=2
    )


def test_a_cancelled_conduct_counts_its_steps_and_names_those_in_doubt():
    rows = (*done(0), *done(1), *done(2, value=1.25), did(Stage.STARTED, 3))
    free = (*conducting(), *rows, work(1, is_held=False))
    event = given(*free).when(HOLD).decided()[1]
    assert event == replace(
        conduct_ended,
        completed_count=3,
        actuation_kind=ActuationKind.SIMULATED,
        undecided_step_indexes=(3,),
    )


def test_closing_steps_that_were_not_run_are_listed_when_a_conduct_is_cancelled():
    closing = (*conducting(), walked)
    not_run = Failure(
        phase=Phase.CLOSING,
        source_kind=FailureSource.SETPOINT,
        error_class="ClosingStepNotRun",
        message="The conduct ended before this step.",
        target="bl:shutter",
        step_index=0,
    )
    unknown = replace(
        not_run,
        error_class="StepOutcomeUnknown",
        message="The step was started, and its outcome is not known.",
    )
    begun = did(Stage.STARTED, 0, phase=Phase.CLOSING, actuation_kind="Physical")
    shut = did(Stage.SUCCEEDED, 0, phase=Phase.CLOSING)
    for rows, failures, kind in (
        ((), (not_run,), None),
        ((begun,), (unknown,), ActuationKind.PHYSICAL),
        ((begun, shut), (), ActuationKind.PHYSICAL),
    ):
        outcome = given(*closing, *rows, work(1, is_held=False)).when(CANCEL).decided()
        assert outcome[1] == ProcedureCompleted(NOW, ID)
        assert outcome[2] == replace(
            conduct_ended,
            outcome=ConductOutcome.COMPLETED,
            succeeded=not failures,
            closing_failures=failures,
            actuation_kind=kind,
        )


def test_a_failed_walk_keeps_its_failure_when_its_closing_steps_are_cancelled():
    why = replace(CANCELLED, error_class="CheckFailedError", message="2 is not 1", target="bl:x")
    failed = replace(walked, walk_outcome=ConductOutcome.ABORTED, failure=why)
    closing = (*conducting(replace(CONDUCT_ROW, failure=why)), failed, work(1, is_held=False))
    outcome = given(*closing).when(CANCEL).decided()
    assert outcome[1] == ProcedureAborted(NOW, ID, "lifecycle bl:x: CheckFailedError: 2 is not 1")
    assert isinstance(outcome[2], type(conduct_ended))
    assert (outcome[2].outcome, outcome[2].failure) == (ConductOutcome.ABORTED, why)


def test_only_a_conduct_that_exists_and_has_not_ended_is_cancelled():
    unknown = CANCEL.model_copy(update={"conduct_id": ABSENT})
    given(*conducting(), work()).when(unknown).refused(ConductNotFoundError, saying=str(ABSENT))
    over = (*conducting(), held, conduct_ended)
    refusal = ProcedureCannotCancelConductError
    given(*over).when(CANCEL).refused(refusal, saying="The conduct has ended.")
    twice = (*conducting(CANCELLING), work(), cancelled)
    given(*twice).when(CANCEL).refused(refusal, saying="already cancelling")


COMMANDS: dict[str, ProcedureCommand] = {
    "start": StartProcedure(procedure_id=ID),
    "hold": HOLD,
    "resume": ResumeProcedure(procedure_id=ID),
    "complete": CompleteProcedure(procedure_id=ID),
    "abort": ABORT,
    "truncate": TruncateProcedure(procedure_id=ID, reason="power cut"),
    "begin_pass": StartProcedureIteration(procedure_id=ID, iteration_index=1),
    "end_pass": EndProcedureIteration(procedure_id=ID, iteration_index=1, converged=None),
    "cancel": CANCEL,
    "once": ConductProcedure.model_construct(procedure_id=ID, steps=STEPS),
    "or_hold": ConductOrHoldProcedure.model_construct(procedure_id=ID, steps=STEPS),
    "converge": ConductProcedureUntilConverged.model_construct(
        procedure_id=ID, steps=STEPS, capture_name="intensity", criterion=Equals(1.0)
    ),
    "steer": ConductProcedureUntilAdvised.model_validate(
        {
            "procedure_id": ID,
            "advisor": {"name": "grid_walk"},
            "objective": {"kind": "Explore", "capture_name": "intensity"},
            "space": {"axes": [{"name": "x", "lower": 0, "upper": 1}]},
        }
    ),
    "from": ConductFromProcedure(procedure_id=ID),
    "steer_from": ConductProcedureUntilAdvisedFrom(procedure_id=ID),
}
FROM_HELD = ("resume", "from", "steer_from")
BEGUN = ProcedureIterationStarted(NOW, ID, 1)
OPEN_PASS = ITERATIONS.insert(ProcedureIteration(ID, 1, NOW))
SITUATIONS: dict[str, tuple[Any, ...]] = {
    "idle": (registered, started),
    "Steps": conducting(),
    "Closing": (*conducting(), walked),
    "cancelling": (*conducting(CANCELLING), cancelled),
}
# What a command does to the active conduct: the phase that the conduct is in afterwards, `idle` if
# there is none, `active` if the command is refused because of it, `-` if it is refused otherwise.
WITH_A_WORKER = """
           idle   Steps       Closing     cancelling
start      -      -           -           -
hold       idle   Steps       active      cancelling
resume     idle   active      active      active
complete   idle   active      active      active
abort      idle   Steps       active      cancelling
truncate   idle   active      active      active
begin_pass idle   active      active      active
end_pass   idle   active      active      active
cancel     -      cancelling  cancelling  -
once       -      active      active      active
or_hold    -      active      active      active
converge   -      active      active      active
steer      -      active      active      active
from       -      active      active      active
steer_from -      active      active      active
"""
WITHOUT_A_WORKER = """
           idle   Steps       Closing     cancelling
start      -      -           -           -
hold       idle   idle        active      idle
resume     idle   active      active      active
complete   idle   active      active      active
abort      idle   idle        active      idle
truncate   idle   active      active      active
begin_pass idle   active      active      active
end_pass   idle   active      active      active
cancel     -      idle        idle        idle
once       -      active      active      active
or_hold    -      active      active      active
converge   -      active      active      active
steer      -      active      active      active
from       -      active      active      active
steer_from -      active      active      active
"""


def after(name: str, situation: str, *, is_held: bool) -> str:
    history = [*SITUATIONS[situation], work(is_held=is_held)]
    history += [held] if name in FROM_HELD else []
    history += [BEGUN, OPEN_PASS] if name == "end_pass" else []
    try:
        outcome = given(*history).when(COMMANDS[name]).decided()
    except ProcedureConductActiveError:
        return "active"
    except Refusal:
        return "-"
    first, *rest = [part for part in (*history, *outcome) if isinstance(part, Event)]
    state: Procedure = begin(first)  # pyright: ignore[reportArgumentType]
    for event in rest:
        state = evolve(state, event)  # pyright: ignore[reportArgumentType]
    if state.active_conduct is None:
        return "idle"
    is_cancelling = state.active_conduct.cancel_requested
    return "cancelling" if is_cancelling else state.active_conduct.phase


def meetings(*, is_held: bool) -> list[list[str]]:
    """The table of what every command does in every situation."""
    rows = [
        [name, *(after(name, each, is_held=is_held) for each in SITUATIONS)] for name in COMMANDS
    ]
    return [[*SITUATIONS], *rows]


def test_every_command_meets_every_state_of_a_conduct():
    for is_held, table in ((True, WITH_A_WORKER), (False, WITHOUT_A_WORKER)):
        expected = [line.split() for line in table.strip().splitlines()]
        assert meetings(is_held=is_held) == expected


def test_closing_refuses_a_hold_and_an_abort_and_names_the_way_out():
    closing = (*conducting(), walked, work())
    for command in (HOLD, ABORT):
        given(*closing).when(command).refused(ProcedureConductActiveError, saying="cancel_conduct")


def test_activities_by_hand_are_recorded_during_a_conduct():
    entry = ActivityEntry(UUID(int=70), StepKind.CHECK, Stage.SUCCEEDED, {}, NOW)
    command = AppendProcedureActivities.model_construct(procedure_id=ID, entries=(entry,))
    for situation in ("Steps", "Closing"):
        assert len(given(*SITUATIONS[situation], work()).when(command).decided()) == 2


def report(*history: Any) -> ConductReport:
    query = GetConduct(procedure_id=ID, conduct_id=CONDUCT)
    return asyncio.run(reports.conduct_report(query, Past(history)))


def test_a_conduct_that_waits_for_a_worker_is_queued():
    found = report(*conducting(), work(0, is_held=False))
    assert found == ConductReport.of(
        CONDUCT_ROW,
        status=ConductStatus.QUEUED,
        lease_expired=False,
        needs=None,
        step_count=4,
        iteration_count=0,
        max_iterations=None,
        current=None,
        captures={},
        outputs={},
        started_at=None,
    )


def test_a_conduct_shows_the_step_under_way_and_what_it_captured():
    begun = did(Stage.STARTED, 3, sequence=7)
    found = report(*conducting(), *done(0), *done(1), *done(2, value=1.25), begun, work(2))
    since = NOW + timedelta(seconds=7)
    assert found.current == CurrentStep(
        phase=Phase.STEPS,
        iteration_index=None,
        step_index=3,
        attempt=1,
        step_kind=StepKind.ACTION,
        target="home",
        since=since,
        until=since + timedelta(seconds=600),
    )
    assert (found.status, found.lease_expired, found.claim_count) == ("Running", False, 2)
    assert (found.completed_count, found.captures) == (3, {"intensity": 1.25})
    assert (found.actuation_kind, found.started_at) == (ActuationKind.SIMULATED, NOW)


def test_a_check_that_waits_ends_after_its_wait_and_its_timeout():
    begun = did(Stage.STARTED, 1)
    found = report(*conducting(), *done(0), begun, work()).current
    assert found is not None
    assert found.until - found.since == timedelta(seconds=10)
    closing = did(Stage.STARTED, 0, phase=Phase.CLOSING)
    shown = report(*conducting(), walked, *done(0), closing, work())
    assert (shown.status, shown.current and shown.current.target) == ("Closing", "bl:shutter")


def test_a_conduct_without_a_worker_says_so_and_one_that_is_left_needs_a_person():
    lost = report(*conducting(), work(2, is_held=False))
    assert (lost.status, lost.lease_expired, lost.needs) == ("Running", True, None)
    left = report(*conducting(), work(5, is_held=False, idle_claims=5))
    assert left.needs == ("cancel_conduct",)


def test_a_conduct_that_ended_and_left_the_procedure_held_names_the_way_on():
    for kind, way in (
        (ConductKind.OR_HOLD, "conduct_from_procedure"),
        (ConductKind.UNTIL_ADVISED, "conduct_until_advised_from"),
    ):
        over: Conduct = replace(
            CONDUCT_ROW,
            root_kind=kind,
            outcome=ConductOutcome.HELD,
            succeeded=False,
            completed_count=2,
            claim_count=3,
            undecided_step_indexes=(3,),
            ended_at=NOW,
        )
        found = report(*conducting(over), held, conduct_ended)
        assert (found.status, found.outcome, found.succeeded) == ("Ended", "Held", False)
        assert (found.needs, found.undecided_step_indexes) == ((way,), (3,))
        assert (found.completed_count, found.claim_count) == (2, 3)
        assert report(*conducting(over), conduct_ended).needs is None


def test_a_loop_shows_its_last_pass_and_its_limit():
    loop: Any = {
        **LOOP,
        "criterion": {"kind": "equals", "expected": 1.0},
        "max_iterations": 7,
    }
    row = replace(
        CONDUCT_ROW,
        root_kind=ConductKind.UNTIL_CONVERGED,
        loop=loop,
        first_iteration_index=1,
        actuation_kind=ActuationKind.PHYSICAL,
    )
    second = replace(BEGUN, iteration_index=2)
    first = did(Stage.SUCCEEDED, 2, of=1, sequence=1, value=5.0, actuation_kind="Physical")
    again = did(Stage.SUCCEEDED, 2, of=2, sequence=9, value=6.0, actuation_kind="Simulated")
    found = report(*conducting(row), BEGUN, second, first, again, work())
    assert (found.iteration_count, found.max_iterations) == (2, 7)
    assert (found.captures, found.completed_count) == ({"intensity": 6.0}, 1)
    assert found.started_at == NOW + timedelta(seconds=1)
    assert found.actuation_kind is ActuationKind.HYBRID


def test_a_conduct_of_another_procedure_is_not_shown():
    query = GetConduct(procedure_id=ID, conduct_id=ABSENT)
    with pytest.raises(ConductNotFoundError):
        asyncio.run(reports.conduct_report(query, Past(conducting())))


def test_conducts_are_listed_by_status_and_outcome():
    first, second = UUID(int=950), UUID(int=940)
    over = replace(
        CONDUCT_ROW, conduct_id=first, outcome=ConductOutcome.HELD, succeeded=False, ended_at=NOW
    )
    later = replace(CONDUCT_ROW, requested_at=NOW + timedelta(seconds=1), conduct_id=second)
    past = Past([*conducting(later), CONDUCTS.insert(over)])

    def listed(**filters: Any) -> list[tuple[UUID, str, str | None]]:
        query = ListConducts(procedure_id=ID, **filters)
        found = asyncio.run(reports.conduct_entries(query, past))
        return [(each.conduct_id, each.status, each.outcome) for each in found]

    ended, queued = (first, "Ended", "Held"), (second, "Queued", None)
    assert listed() == [ended, queued]
    assert listed(status="Ended") == listed(outcome="Held") == [ended]
    assert listed(status="Queued") == [queued]
    assert listed(outcome="Completed") == []


MAKE_SAFE = MakeProcedureSafe(procedure_id=ID)
SAFE = replace(SHUT, makes_safe=True)
SAFE_STEPS = PROCEDURE_STEPS.insert(PinnedSteps(ID, STEPS, (SHUT, SAFE)))


def test_a_procedure_is_made_safe_in_every_status_but_defined_and_keeps_its_status():
    for moves in ((started,), (started, held), (started, aborted)):
        asked, row, *_ = given(registered, *moves, SAFE_STEPS).when(MAKE_SAFE).decided()
        assert isinstance(asked, ProcedureConductRequested)
        assert (asked.conduct_kind, asked.root_kind) == (ConductKind.MAKE_SAFE,) * 2
        assert row == CONDUCTS.insert(
            Conduct.of(asked, requested_by=ME, requested_at=NOW, from_step_index=0)
        )
        before = reduce(evolve, moves, begin(registered))
        making = evolve(before, asked)
        assert (making.status, making.last_conduct) == (before.status, before.last_conduct)
        assert making.active_conduct
        assert making.active_conduct.phase is Phase.CLOSING
        after = evolve(making, conduct_ended)
        assert after == replace(making, active_conduct=None)


def test_making_safe_needs_a_start_and_a_step_that_makes_safe_and_no_active_conduct():
    refusal = ProcedureCannotMakeSafeError
    given(registered, SAFE_STEPS).when(MAKE_SAFE).refused(refusal, saying="Defined")
    unmarked = PROCEDURE_STEPS.insert(PinnedSteps(ID, STEPS, (SHUT,)))
    given(registered, started, unmarked).when(MAKE_SAFE).refused(refusal, saying="makes_safe")
    given(registered, started, aborted).when(MAKE_SAFE).refused(refusal, saying="makes_safe")
    given(*conducting()).when(MAKE_SAFE).refused(ProcedureConductActiveError)
    absent = MAKE_SAFE.model_copy(update={"decided_by_decision_id": ABSENT})
    given(registered, started, SAFE_STEPS).when(absent).refused(DecisionNotFoundError)
