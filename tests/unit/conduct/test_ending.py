"""How a conduct ends: by what somebody asked for, and by what the steps came to."""

from datetime import timedelta

import pytest
from tests.unit.conduct.given import KINDS, known, request, row

from beamkeep.contexts.operation.advancing import End, EndPass, StatusEvent, Walked
from beamkeep.contexts.operation.conducted import (
    ConductKind,
    ConductOutcome,
    Failure,
    FailureSource,
    Phase,
)
from beamkeep.contexts.operation.ending import lifecycle, reason_text
from beamkeep.contexts.operation.history import Flags, Pass
from beamkeep.contexts.operation.loop import Convergence
from beamkeep.contexts.recipe.steps import Equals, RecipeStep
from beamkeep.kernel import replace
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.walking import Start, next_action

CHECK, CLOSING = KINDS["check"], (KINDS["setpoint"], KINDS["action once"], KINDS["check"])
DONE, FAILED = (row("Started"), row("Succeeded")), (row("Started"), row("Failed"))
NOTHING = ()


def end_of(facts: Known) -> End:
    action = next_action(facts)
    assert isinstance(action, End)
    return action


# What was asked: the outcome, and the status event if the status is not there yet.
ASKED = [
    (Flags(aborted=True), ConductOutcome.CANCELLED, None),
    (Flags(aborted=True, cancel_requested=True), ConductOutcome.CANCELLED, None),
    (Flags(cancel_requested=True), ConductOutcome.CANCELLED, StatusEvent.HELD),
    (Flags(cancel_requested=True, held=True), ConductOutcome.CANCELLED, None),
    (Flags(held=True), ConductOutcome.HELD, None),
    (Flags(held=True, parent_run_left=True), ConductOutcome.HELD, None),
    (Flags(parent_run_left=True), ConductOutcome.HELD, StatusEvent.HELD),
]


@pytest.mark.parametrize(("flags", "outcome", "event"), ASKED)
@pytest.mark.parametrize("rows", [NOTHING, DONE, FAILED, (row("Started"),)])
@pytest.mark.parametrize("closing_steps", [(), CLOSING])
def test_a_request_goes_before_what_the_steps_came_to(
    flags: Flags,
    outcome: ConductOutcome,
    event: StatusEvent | None,
    rows: tuple[()],
    closing_steps: tuple[RecipeStep, ...],
):
    end = end_of(known(CHECK, rows=rows, flags=flags, closing_steps=closing_steps))
    assert (end.outcome, end.status_event, end.succeeded) == (outcome, event, False)
    assert end.closing_failures == ()
    assert (end.reason is None) is (event is None)


def test_an_abandoned_procedure_does_not_look_at_its_parent_run():
    flags = Flags(parent_run_left=True)
    action = next_action(known(CHECK, conduct=request(abandon=True), flags=flags))
    assert isinstance(action, End)
    assert action.outcome is ConductOutcome.ABORTED
    assert action.failure
    assert action.failure.error_class == "ConductAbandoned"


def test_an_abandoned_procedure_walks_its_closing_steps():
    facts = known(CHECK, conduct=request(abandon=True), closing_steps=CLOSING)
    action = next_action(facts)
    assert isinstance(action, Walked)
    assert action.walk_outcome is ConductOutcome.ABORTED
    held = replace(facts, flags=Flags(held=True))
    assert end_of(held).outcome is ConductOutcome.HELD


# A failed step, by its kind: the outcome under `Once` and under `OrHold`.
FAILURES = [
    ("check", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("capture", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("setpoint", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("setpoint once", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("action", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("action once", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("compute", ConductOutcome.ABORTED, ConductOutcome.HELD),
    ("compute once", ConductOutcome.ABORTED, ConductOutcome.HELD),
]


@pytest.mark.parametrize(("kind", "once", "or_hold"), FAILURES)
def test_a_failed_step_aborts_or_holds(kind: str, once: ConductOutcome, or_hold: ConductOutcome):
    holdable = request(ConductKind.OR_HOLD)
    assert end_of(known(KINDS[kind], rows=FAILED)).outcome is once
    assert end_of(known(KINDS[kind], rows=FAILED, conduct=holdable)).outcome is or_hold


def test_a_recoverable_failure_closes_nothing():
    facts = known(CHECK, rows=FAILED, conduct=request(ConductKind.OR_HOLD), closing_steps=CLOSING)
    end = end_of(facts)
    assert (end.outcome, end.status_event) == (ConductOutcome.HELD, StatusEvent.HELD)
    assert end.reason == "check[0] bl:k: ControlTimeoutError: late"


def test_an_end_names_the_failure_and_counts_the_steps():
    rows = *DONE, row("Started", 1), row("Failed", 1, message="x" * 900)
    end = end_of(known(CHECK, KINDS["action once"], CHECK, rows=rows))
    assert (end.outcome, end.completed_count) == (ConductOutcome.ABORTED, 1)
    assert end.failure == Failure(
        phase=Phase.STEPS,
        source_kind=FailureSource.ACTION,
        error_class="ControlTimeoutError",
        message="x" * 500,
        target="home",
        step_index=1,
    )
    assert end.reason is not None
    assert end.reason.startswith("action[1] home: ControlTimeoutError: xxx")
    assert len(end.reason) == 500
    assert end.undecided_step_indexes == ()


def test_a_reason_without_a_step_names_its_target():
    assert reason_text(lifecycle("A", "B.", "gate")) == "lifecycle gate: A: B."


def test_all_steps_finished_completes():
    end = end_of(known(CHECK, rows=DONE))
    assert (end.outcome, end.status_event) == (ConductOutcome.COMPLETED, StatusEvent.COMPLETED)
    assert (end.succeeded, end.failure, end.reason) == (True, None, None)
    assert next_action(known(CHECK, rows=DONE, closing_steps=CLOSING)) == Walked(
        ConductOutcome.COMPLETED
    )


def test_the_open_pass_ends_when_the_procedure_is_aborted_and_only_then():
    loop = Convergence("seen", Equals(1.0))
    passes = (Pass(1, request().conduct_id),)
    rows = row("Started", of=1), row("Failed", of=1)
    facts = known(CHECK, rows=rows, passes=passes, conduct=request(loop=loop))
    aborted = end_of(facts)
    assert aborted.end_pass == EndPass(1, reason=aborted.reason)
    assert aborted.failure
    assert aborted.failure.iteration_index == 1
    for flags in (Flags(aborted=True), Flags(cancel_requested=True), Flags(held=True)):
        assert end_of(replace(facts, flags=flags)).end_pass is None


# Closing steps.
def closing(*rows: tuple[str, int, int], **facts: object) -> Known:
    """Known of a conduct that walks its closing steps."""
    found = [row(stage, step, attempt, phase=Phase.CLOSING) for stage, step, attempt in rows]
    walked = known(CHECK, closing_steps=CLOSING, rows=(*DONE, *found))
    return replace(walked, **({"walk_outcome": ConductOutcome.COMPLETED} | facts))


def start_of(facts: Known) -> tuple[int, int]:
    action = next_action(facts)
    assert isinstance(action, Start)
    assert action.at.phase is Phase.CLOSING
    return action.at.step_index, action.at.attempt


def listed(facts: Known) -> list[tuple[int | None, str]]:
    end = end_of(facts)
    assert end.outcome is facts.walk_outcome
    assert {each.phase for each in end.closing_failures} <= {Phase.CLOSING}
    return [(each.step_index, each.error_class) for each in end.closing_failures]


def test_closing_steps_are_walked_in_order_and_a_failure_stops_none():
    assert start_of(closing()) == (0, 1)
    assert start_of(closing(("Started", 0, 1), ("Failed", 0, 1))) == (1, 1)
    done = ("Failed", 0, 1), ("Succeeded", 1, 1), ("Succeeded", 2, 1)
    assert listed(closing(*done)) == [(0, "ControlTimeoutError")]


@pytest.mark.parametrize("outcome", [ConductOutcome.COMPLETED, ConductOutcome.ABORTED])
def test_no_closing_failure_changes_the_outcome(outcome: ConductOutcome):
    why = lifecycle("ConductAbandoned", "Gone.", "abandon")
    failed = ("Failed", 0, 1), ("Failed", 1, 1), ("Failed", 2, 1)
    end = end_of(closing(*failed, walk_outcome=outcome, walk_failure=why))
    assert (end.outcome, end.failure) == (outcome, why)
    assert end.succeeded is (outcome is ConductOutcome.COMPLETED)
    assert len(end.closing_failures) == 3


def test_a_closing_step_in_doubt_is_repeated_once_if_it_is_repeatable():
    assert start_of(closing(("Started", 0, 1))) == (0, 2)
    twice = ("Started", 0, 1), ("Started", 0, 2)
    assert start_of(closing(*twice)) == (1, 1)
    assert start_of(closing(("Succeeded", 0, 1), ("Started", 1, 1))) == (2, 1)
    every = *twice, ("Started", 1, 1), ("Succeeded", 2, 1)
    assert listed(closing(*every)) == [(0, "StepOutcomeUnknown"), (1, "StepOutcomeUnknown")]


REFUSAL = lifecycle("ProcedureRequiresPermittedEnclosureError", "Closed.", "enclosure")


@pytest.mark.parametrize(
    "why",
    [
        {"flags": Flags(cancel_requested=True)},
        {"silence": timedelta(seconds=301)},
        {"refusal": REFUSAL},
    ],
)
def test_closing_steps_that_were_not_run_are_listed(why: dict[str, object]):
    facts = closing(("Succeeded", 0, 1), ("Failed", 1, 1), **why)
    assert listed(facts) == [(1, "ControlTimeoutError"), (2, "ClosingStepNotRun")]


@pytest.mark.parametrize("flags", [Flags(held=True), Flags(parent_run_left=True)])
def test_neither_a_hold_nor_the_parent_run_ends_the_closing_walk(flags: Flags):
    assert start_of(closing(flags=flags)) == (0, 1)


def test_a_pass_that_a_person_opened_does_not_concern_a_conduct_without_a_loop():
    completed = end_of(known(CHECK, rows=DONE, passes=(Pass(1),)))
    assert (completed.outcome, completed.completed_count) == (ConductOutcome.COMPLETED, 1)
    aborted = end_of(known(CHECK, rows=FAILED, passes=(Pass(1),)))
    assert aborted.end_pass == EndPass(1, reason=aborted.reason)
    assert end_of(known(CHECK, rows=FAILED, passes=(Pass(1, ended=True),))).end_pass is None
