"""Loops: passes that converge, and passes that an advisor steers."""

import pytest
from tests.unit.conduct.given import EARLIER, KINDS, THIS, at, known, request, row

from beamkeep.contexts.operation.advancing import BeginPass, End, EndPass
from beamkeep.contexts.operation.conducted import ConductOutcome
from beamkeep.contexts.operation.history import Pass
from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Convergence,
    MeasuredPass,
    NamedAdvisor,
    ObjectiveKind,
    Steering,
    SteeringAdvice,
    SteeringAxis,
    SteeringObjective,
    SteeringSpace,
)
from beamkeep.contexts.recipe.steps import RecipeCaptureStep, WithinTolerance
from beamkeep.kernel import replace
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.loops import AskAdvisor, advisor_failure
from beamkeep.parts.conducting.conduct.walking import Skip, Start, next_action
from beamkeep.schemas import Json

SEEN = RecipeCaptureStep("bl:c", "seen")
CONVERGE = Convergence("seen", WithinTolerance(1.0, 0.1), max_iterations=3)
X = SteeringAxis("x", 0.0, 10.0, initial=5.0)
STEER = Steering(
    advisor=NamedAdvisor("grid_walk"),
    objective=SteeringObjective(ObjectiveKind.SATISFY, "seen", 1.0),
    space=SteeringSpace((X, SteeringAxis("mode", choices=("a", "b")))),
    max_iterations=3,
    time_budget=60.0,
)
HERE = {"x": 1.0, "mode": "b"}
MEASURE = SteeringAdvice(AdviceVerdict.MEASURE, HERE)
STOP = SteeringAdvice(AdviceVerdict.STOP)


def looped(
    loop: Convergence | Steering, *passes: Pass, seen: Json = None, **facts: object
) -> Known:
    """Known of a loop; with a value seen, the open pass is walked."""
    index = passes[-1].iteration_index if passes else None
    found = row("Started", of=index), row("Succeeded", of=index, capture_name="seen", value=seen)
    rows = found if seen is not None else ()
    return known(SEEN, rows=rows, conduct=request(loop=loop), passes=passes, **facts)


def ended(index: int, **told: object) -> Pass:
    return Pass(index, THIS, ended=True, **told)  # pyright: ignore[reportArgumentType]


def outcome_of(facts: Known) -> tuple[ConductOutcome, str | None]:
    action = next_action(facts)
    assert isinstance(action, End)
    return action.outcome, action.failure and action.failure.error_class


def test_a_converging_loop_begins_its_first_pass_without_a_coordinate():
    assert next_action(looped(CONVERGE)) == BeginPass(1)


def test_the_steps_of_a_pass_are_walked_with_rows_of_that_pass():
    earlier = row("Started", of=1), row("Succeeded", of=1, value=1.0)
    facts = looped(CONVERGE, ended(1, converged=False), Pass(2, THIS))
    action = next_action(replace(facts, activities=earlier))
    assert isinstance(action, Start)
    assert action.at == at(of=2)


@pytest.mark.parametrize(("seen", "converged"), [(1.05, True), (2.0, False), ("one", False)])
def test_a_walked_pass_ends_with_its_value(seen: Json, converged: bool):
    action = next_action(looped(CONVERGE, Pass(1, THIS), seen=seen))
    assert action == EndPass(1, converged=converged, value=seen)


def test_a_pass_that_converged_completes():
    facts = looped(CONVERGE, ended(1, converged=False), ended(2, converged=True))
    assert outcome_of(facts) == (ConductOutcome.COMPLETED, None)


def test_the_next_pass_begins_until_the_ceiling():
    missed = [ended(number, converged=False) for number in (1, 2, 3)]
    assert next_action(looped(CONVERGE, *missed[:2])) == BeginPass(3)
    ceiling = ConductOutcome.ABORTED, "IterationCeilingReached"
    assert outcome_of(looped(CONVERGE, *missed)) == ceiling


def test_patience_counts_the_passes_in_a_row():
    patient = replace(CONVERGE, max_consecutive_unconverged_iterations=2, max_iterations=9)
    hit, miss = ended(1, converged=True), ended(2, converged=False)
    assert next_action(looped(patient, hit, miss)) == BeginPass(3)
    cap = ConductOutcome.ABORTED, "ConvergenceIterationCapReached"
    assert outcome_of(looped(patient, hit, miss, ended(3))) == cap
    last = replace(patient, max_iterations=3)
    assert outcome_of(looped(last, hit, miss, ended(3, converged=False))) == cap


def test_a_pass_walked_in_an_earlier_conduct_is_ended_from_its_rows():
    rows = row("Started", of=1, conduct=EARLIER), row("Succeeded", of=1, conduct=EARLIER, value=1)
    facts = looped(CONVERGE, Pass(1, EARLIER))
    assert next_action(replace(facts, activities=rows)) == EndPass(1, converged=True, value=1)


def test_a_skipped_capture_converges_nowhere():
    facts = looped(CONVERGE, Pass(1, EARLIER))
    rows = (row("Skipped", of=1),)
    assert next_action(replace(facts, activities=rows)) == EndPass(1, converged=False)


def test_lists_apply_to_the_open_pass_and_to_no_later_one():
    asked = request(loop=CONVERGE, skip_step_indexes=frozenset({0}))
    continued = replace(looped(CONVERGE, Pass(1, EARLIER)), conduct=asked)
    assert next_action(continued) == Skip(at(of=1))
    own = replace(continued, passes=(ended(1), Pass(2, THIS)))
    assert isinstance(next_action(own), Start)


def test_a_steered_loop_begins_at_the_initial_coordinate():
    assert next_action(looped(STEER)) == BeginPass(1, {"x": 5.0, "mode": "a"})


def test_after_a_walked_pass_the_advisor_gets_the_evidence():
    first = ended(
        1, coordinate=HERE, value=3.0, captures={"seen": 3.0}, took=20.0, advised_stop=False
    )
    action = next_action(looped(STEER, first, Pass(2, THIS, coordinate={"x": 2.0}), seen=4.0))
    assert isinstance(action, AskAdvisor)
    evidence = action.evidence
    assert evidence.passes == (
        MeasuredPass(1, HERE, 3.0, {"seen": 3.0}),
        MeasuredPass(2, {"x": 2.0}, 4.0, {"seen": 4.0}),
    )
    assert (evidence.remaining_iterations, evidence.remaining_time) == (1, 40.0)
    assert (evidence.objective, evidence.space) == (STEER.objective, STEER.space)


@pytest.mark.parametrize(("advice", "stop"), [(MEASURE, False), (STOP, True)])
def test_the_answer_is_stored_with_the_end_of_the_pass(advice: SteeringAdvice, stop: bool):
    action = next_action(looped(STEER, Pass(1, THIS), seen=4.0, answer=advice))
    assert action == EndPass(1, value=4.0, advised_stop=stop, advice=advice)


def test_the_next_pass_begins_at_the_stored_coordinate():
    facts = looped(STEER, ended(1, advised_stop=False, next_coordinate=HERE))
    assert next_action(facts) == BeginPass(2, HERE)


def test_an_advisor_that_says_stop_completes():
    assert outcome_of(looped(STEER, ended(1, advised_stop=True))) == (
        ConductOutcome.COMPLETED,
        None,
    )


SPENT = [
    (ObjectiveKind.SATISFY, 2.0, (ConductOutcome.ABORTED, "SteeringBudgetExhausted")),
    (ObjectiveKind.SATISFY, True, (ConductOutcome.ABORTED, "SteeringBudgetExhausted")),
    (ObjectiveKind.SATISFY, 1, (ConductOutcome.COMPLETED, None)),
    (ObjectiveKind.MINIMIZE, 2.0, (ConductOutcome.COMPLETED, None)),
    (ObjectiveKind.MAXIMIZE, 2.0, (ConductOutcome.COMPLETED, None)),
    (ObjectiveKind.EXPLORE, 2.0, (ConductOutcome.COMPLETED, None)),
]


@pytest.mark.parametrize(("kind", "value", "outcome"), SPENT)
def test_a_spent_budget_completes_unless_the_target_was_missed(
    kind: ObjectiveKind, value: Json, outcome: tuple[ConductOutcome, str | None]
):
    steer = replace(STEER, objective=replace(STEER.objective, kind=kind))
    late = ended(1, advised_stop=False, next_coordinate=HERE, value=value, took=60.0)
    assert outcome_of(looped(steer, late)) == outcome
    three = [ended(n, advised_stop=False, next_coordinate=HERE, value=value) for n in (1, 2, 3)]
    assert outcome_of(looped(steer, *three)) == outcome


def test_an_advisor_that_fails_aborts_with_its_error_class():
    facts = looped(STEER, Pass(1, THIS), seen=4.0)
    failure = advisor_failure(facts, "grid_walk", "AdvisorTimeoutError", "No answer in 60 s.")
    action = next_action(replace(facts, answer=failure))
    assert isinstance(action, End)
    assert (action.outcome, action.failure) == (ConductOutcome.ABORTED, failure)
    assert action.end_pass == EndPass(1, reason=action.reason)
    assert action.reason == "advisor grid_walk: AdvisorTimeoutError: No answer in 60 s."


MALFORMED = [
    SteeringAdvice(AdviceVerdict.MEASURE),
    SteeringAdvice(AdviceVerdict.MEASURE, {"x": 1.0}),
    SteeringAdvice(AdviceVerdict.MEASURE, {**HERE, "y": 1.0}),
    SteeringAdvice(AdviceVerdict.MEASURE, {**HERE, "x": 10.1}),
    SteeringAdvice(AdviceVerdict.MEASURE, {**HERE, "x": float("nan")}),
    SteeringAdvice(AdviceVerdict.MEASURE, {**HERE, "x": True}),
    SteeringAdvice(AdviceVerdict.MEASURE, {**HERE, "x": "1"}),
    SteeringAdvice(AdviceVerdict.MEASURE, {**HERE, "mode": "c"}),
    SteeringAdvice(AdviceVerdict.STOP, rationale="x" * 2001),
    SteeringAdvice(AdviceVerdict.STOP, confidence=1.1),
    SteeringAdvice(AdviceVerdict.STOP, confidence=float("nan")),
]


@pytest.mark.parametrize("advice", MALFORMED)
def test_malformed_advice_aborts(advice: SteeringAdvice):
    facts = looped(STEER, Pass(1, THIS), seen=4.0, answer=advice)
    assert outcome_of(facts) == (ConductOutcome.ABORTED, "AdviceMalformedError")


def test_after_a_pass_that_a_person_ended_the_advisor_is_asked():
    facts = looped(STEER, ended(1, coordinate=HERE))
    assert isinstance(next_action(facts), AskAdvisor)
    assert next_action(replace(facts, answer=MEASURE)) == BeginPass(2, HERE)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_step_can_be_walked_in_a_pass(kind: str):
    facts = known(KINDS[kind], conduct=request(loop=CONVERGE), passes=(Pass(1, THIS),))
    assert isinstance(next_action(facts), Start)
