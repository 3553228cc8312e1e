"""What the conductor appends: passes, the result of the steps, and the end of the conduct."""

from typing import Any
from uuid import UUID

from tests.unit.contexts.operation.conducts import (
    CONDUCT,
    CONDUCT_ROW,
    ID,
    OWNER,
    conduct_ended,
    conducting,
    did,
    done,
    registered,
    started,
    walked,
)

from beamkeep.contexts.operation.advancing import BeginPass, End, EndPass, StatusEvent, Walked
from beamkeep.contexts.operation.conduct import (
    CHANNELS,
    CONDUCTS,
    OPERATIONS,
    AdvanceProcedureConduct,
    ProcedureCannotAdvanceConductError,
    ProcedureConductNotActiveError,
)
from beamkeep.contexts.operation.conducted import (
    ActuationKind,
    ConductKind,
    ConductOutcome,
    Failure,
    FailureSource,
    Phase,
    Stage,
)
from beamkeep.contexts.operation.loop import AdviceVerdict, SteeringAdvice
from beamkeep.contexts.operation.procedure import (
    ITERATIONS,
    ProcedureAborted,
    ProcedureCompleted,
    ProcedureConductCancelRequested,
    ProcedureHeld,
    ProcedureIteration,
    ProcedureIterationEnded,
    ProcedureIterationStarted,
)
from beamkeep.kernel import Event, Fenced, SideWrite, replace
from beamkeep.testing.past import NOW
from beamkeep.testing.scenario import Scenario

Outcome = ConductOutcome
CLAIM = 3
FENCE, LAST = Fenced(CONDUCT, CLAIM, OWNER), Fenced(CONDUCT, CLAIM, OWNER, ends=True)
FAILED = Failure(
    phase=Phase.STEPS,
    source_kind=FailureSource.CHECK,
    error_class="CheckFailedError",
    message="2 is not 1",
    target="bl:x.RBV",
    step_index=1,
)
REASON = "check[1] bl:x.RBV: CheckFailedError: 2 is not 1"
held = ProcedureHeld(NOW, ID, "no beam", None)
aborted = ProcedureAborted(NOW, ID, "smoke")
cancelled = ProcedureConductCancelRequested(NOW, ID, CONDUCT, "wrong sample")
begun = ProcedureIterationStarted(NOW, ID, 1)
ended_pass = ProcedureIterationEnded(NOW, ID, 1, converged=True, reason=None, value=1.0)
OPEN_PASS = ProcedureIteration(ID, 1, NOW)
ADVICE = SteeringAdvice(AdviceVerdict.MEASURE, {"x": 2.0}, "further")
BEGIN, END_PASS, WALKED = (
    BeginPass(1),
    EndPass(1, converged=True, value=1.0),
    Walked(Outcome.COMPLETED),
)


def given(*history: Event | SideWrite | Any) -> Scenario:
    return Scenario(OPERATIONS, history)


def advance(
    what: BeginPass | EndPass | Walked | End, conduct_id: UUID = CONDUCT
) -> AdvanceProcedureConduct:
    return AdvanceProcedureConduct(
        procedure_id=ID, conduct_id=conduct_id, claim=CLAIM, owner=OWNER, advance=what
    )


def end(outcome: ConductOutcome, status: StatusEvent | None = None, **more: Any) -> End:
    return End(
        outcome=outcome,
        succeeded=outcome is Outcome.COMPLETED,
        completed_count=2,
        status_event=status,
        **more,
    )


def last(of: End, **changes: Any) -> list[Any]:
    """The end of the conduct with its rows and its fence."""
    event = replace(
        conduct_ended,
        outcome=of.outcome,
        succeeded=of.succeeded,
        completed_count=of.completed_count,
        failure=of.failure,
        closing_failures=of.closing_failures,
        undecided_step_indexes=of.undecided_step_indexes,
        claim_count=CLAIM,
        **changes,
    )
    row = replace(
        CONDUCT_ROW,
        outcome=of.outcome,
        succeeded=of.succeeded,
        completed_count=of.completed_count,
        failure=of.failure,
        closing_failures=of.closing_failures,
        actuation_kind=event.actuation_kind,
        claim_count=CLAIM,
        undecided_step_indexes=of.undecided_step_indexes,
        ended_at=NOW,
    )
    return [event, CONDUCTS.replace(row), CHANNELS.delete("bl:x"), LAST]


def test_a_pass_begins_at_its_coordinate():
    at = replace(begun, coordinate={"x": 2.0})
    row = ITERATIONS.insert(replace(OPEN_PASS, coordinate={"x": 2.0}))
    given(*conducting()).when(advance(BeginPass(1, {"x": 2.0}))).then(at, row, FENCE)
    given(*conducting()).when(advance(BEGIN)).then(begun, ITERATIONS.insert(OPEN_PASS), FENCE)


def test_a_pass_ends_with_its_value_and_its_advice():
    history = (*conducting(), begun, ITERATIONS.insert(OPEN_PASS))
    row = ITERATIONS.replace(replace(OPEN_PASS, ended_at=NOW, converged=True, value=1.0))
    conduct = CONDUCTS.replace(CONDUCT_ROW)
    given(*history).when(advance(END_PASS)).then(ended_pass, row, conduct, FENCE)
    stored = {
        "verdict": "Measure",
        "next_coordinate": {"x": 2.0},
        "rationale": "further",
        "confidence": None,
        "confidence_source": None,
        "alternatives": (),
        "model_ref": None,
    }
    advised = EndPass(1, value=1.0, advised_stop=False, advice=ADVICE)
    event = given(*history).when(advance(advised)).decided()[0]
    told = {"converged": None, "advised_stop": False, "advice": stored}
    assert event == replace(ended_pass, **told)


def test_the_limit_of_the_procedure_does_not_bind_the_conductor():
    first, *rest = conducting()
    limited = replace(registered, max_consecutive_unconverged_iterations=1)
    assert first == registered
    missed = replace(ended_pass, converged=False)
    second = given(limited, *rest, begun, missed).when(advance(BeginPass(2))).decided()
    assert second[0] == replace(begun, iteration_index=2)


def test_the_result_of_the_steps_is_fixed_before_the_closing_steps():
    given(*conducting()).when(advance(WALKED)).then(walked, CONDUCTS.replace(CONDUCT_ROW), FENCE)
    failed = replace(walked, walk_outcome=Outcome.ABORTED, failure=FAILED)
    row = CONDUCTS.replace(replace(CONDUCT_ROW, failure=FAILED))
    given(*conducting()).when(advance(Walked(Outcome.ABORTED, FAILED))).then(failed, row, FENCE)


def test_no_pass_and_no_result_is_appended_after_somebody_asked_to_stop():
    history = (*conducting(), begun, ITERATIONS.insert(OPEN_PASS))
    refusal = ProcedureCannotAdvanceConductError
    for flag, status in ((held, "Held"), (aborted, "Aborted"), (cancelled, "Running")):
        given(*conducting(), flag).when(advance(BEGIN)).refused(refusal, saying=status)
        given(*conducting(), flag).when(advance(WALKED)).refused(refusal, saying=status)
        given(*history, flag).when(advance(END_PASS)).refused(refusal, saying=status)


def test_an_advance_follows_from_the_procedure_as_it_is():
    opened = (*conducting(), begun, ITERATIONS.insert(OPEN_PASS))
    for history, what in (
        (opened, BEGIN),
        (conducting(), BeginPass(2)),
        (conducting(), END_PASS),
        (opened, EndPass(2)),
        ((*conducting(), walked), BEGIN),
        ((*conducting(), walked), WALKED),
        ((*opened, walked), END_PASS),
    ):
        given(*history).when(advance(what)).refused(ProcedureCannotAdvanceConductError)


def test_only_the_active_conduct_advances():
    other = advance(BEGIN, UUID(int=903))
    given(*conducting()).when(other).refused(ProcedureConductNotActiveError, saying=str(CONDUCT))
    for idle in ((registered, started), (*conducting(), held, conduct_ended)):
        refusal = ProcedureConductNotActiveError
        given(*idle).when(advance(BEGIN)).refused(refusal, saying="No conduct is active.")


def test_every_way_in_which_a_conduct_ends():
    done_all = end(Outcome.COMPLETED, StatusEvent.COMPLETED)
    failed = end(Outcome.ABORTED, StatusEvent.ABORTED, failure=FAILED, reason=REASON)
    recoverable = end(Outcome.HELD, StatusEvent.HELD, failure=FAILED, reason=REASON)
    halted = replace(recoverable, outcome=Outcome.HALTED, undecided_step_indexes=(3,))
    interrupted = replace(recoverable, outcome=Outcome.INTERRUPTED)
    on_hold = ProcedureHeld(NOW, ID, REASON, None)
    cancel = replace(recoverable, outcome=Outcome.CANCELLED)
    for flags, ended, events in (
        ((aborted,), end(Outcome.CANCELLED), []),
        ((aborted, cancelled), end(Outcome.CANCELLED), []),
        ((cancelled,), cancel, [on_hold]),
        ((cancelled, held), end(Outcome.CANCELLED), []),
        ((held,), end(Outcome.HELD), []),
        ((), recoverable, [on_hold]),
        ((), interrupted, [on_hold]),
        ((), halted, [on_hold]),
        ((), failed, [ProcedureAborted(NOW, ID, REASON)]),
        ((), done_all, [ProcedureCompleted(NOW, ID)]),
        ((walked,), done_all, [ProcedureCompleted(NOW, ID)]),
        ((walked, cancelled), done_all, [ProcedureCompleted(NOW, ID)]),
        (
            (replace(walked, walk_outcome=Outcome.ABORTED),),
            replace(failed, closing_failures=(replace(FAILED, phase=Phase.CLOSING),)),
            [ProcedureAborted(NOW, ID, REASON)],
        ),
    ):
        given(*conducting(), *flags).when(advance(ended)).then(*events, *last(ended))


def test_an_end_that_somebody_has_overtaken_is_decided_again():
    done_all = end(Outcome.COMPLETED, StatusEvent.COMPLETED)
    interrupted = end(Outcome.INTERRUPTED, StatusEvent.HELD)
    for flags, ended in (
        ((held,), done_all),
        ((held,), interrupted),
        ((cancelled,), done_all),
        ((cancelled,), end(Outcome.HELD)),
        ((cancelled, held), end(Outcome.HELD)),
        ((aborted,), done_all),
        ((aborted,), end(Outcome.HELD)),
        ((), end(Outcome.CANCELLED)),
        ((walked,), end(Outcome.CANCELLED)),
        ((walked,), end(Outcome.ABORTED, StatusEvent.ABORTED)),
    ):
        refusal = ProcedureCannotAdvanceConductError
        given(*conducting(), *flags).when(advance(ended)).refused(refusal)


def test_an_open_pass_ends_with_a_procedure_that_is_aborted():
    history = (*conducting(), begun, ITERATIONS.insert(OPEN_PASS))
    failed = end(Outcome.ABORTED, StatusEvent.ABORTED, failure=FAILED, reason=REASON)
    failed = replace(failed, end_pass=EndPass(1, reason=REASON))
    event = replace(ended_pass, converged=None, value=None, reason=REASON)
    row = replace(OPEN_PASS, ended_at=NOW, reason=REASON)
    told = (event, ITERATIONS.replace(row), ProcedureAborted(NOW, ID, REASON))
    given(*history).when(advance(failed)).then(*told, *last(failed))


def test_the_end_says_what_all_conducts_of_the_procedure_touched():
    ended = end(Outcome.HELD, StatusEvent.HELD, failure=FAILED, reason=REASON)
    physical = did(Stage.SUCCEEDED, 3, conduct=UUID(int=904), actuation_kind="Physical")
    for rows, kind in (
        ((), None),
        (done(0), ActuationKind.SIMULATED),
        ((physical,), ActuationKind.PHYSICAL),
        ((*done(0), physical), ActuationKind.HYBRID),
    ):
        outcome = given(*conducting(), *rows).when(advance(ended)).decided()
        assert outcome[1:] == last(ended, actuation_kind=kind)


def test_a_loop_remembers_what_its_earlier_passes_touched():
    """The rows of thousands of passes are not read again at the end."""
    looping = replace(CONDUCT_ROW, loop={"kind": "converge"}, actuation_kind=ActuationKind.PHYSICAL)
    touched = did(Stage.SUCCEEDED, 2, of=1, actuation_kind="Simulated")
    elsewhere = did(Stage.SUCCEEDED, 2, of=7, actuation_kind="Simulated")
    for row, kind in ((touched, ActuationKind.HYBRID), (elsewhere, ActuationKind.PHYSICAL)):
        history = (*conducting(looping), begun, ITERATIONS.insert(OPEN_PASS), row)
        outcome = given(*history).when(advance(END_PASS)).decided()
        assert CONDUCTS.replace(replace(looping, actuation_kind=kind)) in outcome


def test_a_conduct_that_is_held_can_be_of_any_kind():
    row = replace(CONDUCT_ROW, root_kind=ConductKind.OR_HOLD)
    ended = end(Outcome.HELD)
    outcome = given(*conducting(row), held).when(advance(ended)).decided()
    assert outcome[0] == last(ended)[0]
