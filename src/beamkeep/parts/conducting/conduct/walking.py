"""Walking: the next action of a conduct, from everything that is known of it."""

from datetime import datetime
from uuid import UUID

import msgspec

from beamkeep.contexts.operation import history
from beamkeep.contexts.operation.advancing import BeginPass, End
from beamkeep.contexts.operation.conducted import ConductOutcome, Failure, Phase, Stage, StepAttempt
from beamkeep.contexts.operation.ending import ended, failed, lifecycle, stopped, unfinished, walked
from beamkeep.contexts.operation.history import Attempts, step_history, steps_in
from beamkeep.contexts.recipe.steps import RecipeStep, makes_safe, references
from beamkeep.contexts.seams.routes import RouteFinding, route_of
from beamkeep.kernel import Record
from beamkeep.schemas import JsonObject

from . import knowledge
from .known import Known
from .loops import LoopAction, next_of_loop


class Start(Record):
    """Write the `Started` row, then execute the step."""

    at: StepAttempt
    step: RecipeStep
    """With values in place of references."""
    detail: JsonObject
    """The detail of the `Started` row."""


class FailStep(Record):
    """Write a `Failed` row that is not in doubt: the step cannot be executed."""

    at: StepAttempt
    error_class: str
    message: str


class Attach(Record):
    """Wait for the job of an earlier attempt; write the outcome for that attempt."""

    at: StepAttempt
    step: RecipeStep
    conduct_id: UUID
    """The conduct that began the attempt; the submission key of the job follows from it."""
    job_id: str | None
    """Of the `Submitted` row; without one, the job is looked up by its submission key."""
    started_at: datetime
    """The timeout of the step counts from here."""


class Skip(Record):
    """Write a `Skipped` row in the name of the caller."""

    at: StepAttempt


type StepAction = Start | FailStep | Attach | Skip
type Action = StepAction | LoopAction


def next_action(known: Known) -> Action:
    """Return what a worker does next; the same knowledge always leads to the same action."""
    if known.walk_outcome is not None:
        return _close(known, known.walk_outcome)
    if asked := stopped(known):
        return asked
    action = _walk(known)
    why = _bar(known, action)
    return ended(known, ConductOutcome.INTERRUPTED, why) if why else action


def _bar(known: Known, action: Action) -> Failure | None:
    """Return why an action may not be carried out in this claim."""
    if known.refusal and isinstance(action, Start | FailStep | BeginPass | Attach | Skip):
        return known.refusal
    # Attaching and skipping have no effect on the equipment, so that they are never too late.
    if known.silence > known.takeover_window and isinstance(action, Start | FailStep | BeginPass):
        why = "Nobody was at work for longer than the takeover window."
        return lifecycle("TakeoverWindowExceeded", why, "takeover_window")
    return None


def _walk(known: Known) -> Action:
    loop, current = known.conduct.loop, history.last_pass(known)
    if known.conduct.abandon:
        why = lifecycle("ConductAbandoned", "The procedure was abandoned.", "abandon")
        return walked(known, ConductOutcome.ABORTED, why)
    if not loop or (current and not current.ended):
        so_far = step_history(known, Phase.STEPS)
        index = history.boundary(known, so_far)
        if index is not None:
            return _step(known, index, so_far.get(index, ()))
    return next_of_loop(known, loop) if loop else walked(known, ConductOutcome.COMPLETED)


def _step(known: Known, index: int, attempts: Attempts) -> Action:
    """Return what is to do about the first step that is not done."""
    if knowledge.is_skipped(known, index):
        return Skip(_next_attempt(known, Phase.STEPS, index, attempts))
    if not attempts or history.is_finished(attempts):
        return _start(known, Phase.STEPS, index, attempts)
    is_own = attempts[-1].conduct_id == known.conduct.conduct_id
    if is_own and attempts[-1].outcome:
        return failed(known, index, attempts)
    may_redo = not is_own and index in known.conduct.redo_step_indexes
    if action := _continued(known, Phase.STEPS, index, attempts, may_redo=may_redo):
        return action
    outcome = ConductOutcome.INTERRUPTED if is_own else ConductOutcome.HALTED
    return ended(known, outcome, unfinished(known, Phase.STEPS, index, attempts))


def _close(known: Known, outcome: ConductOutcome) -> StepAction | End:
    """Return the next closing step, or the end: no failure keeps the next step from running."""
    every = step_history(known, Phase.CLOSING)
    for index, own in history.closing_attempts(known).items():
        so_far, action = every.get(index, ()), None
        if not own:
            action = _start(known, Phase.CLOSING, index, so_far)
        elif own[-1].outcome is None:
            action = _continued(known, Phase.CLOSING, index, so_far)
        if action and known.flags.cancel_requested:
            break
        # Nothing but a person keeps a step from running that makes safe.
        is_free = makes_safe(known.closing_steps[index])
        if action and (is_free or not _bar(known, action)):
            return action
    return ended(known, outcome, known.walk_failure)


def _continued(
    known: Known, phase: Phase, index: int, attempts: Attempts, *, may_redo: bool = False
) -> StepAction | None:
    """Return the way on after a step that failed or is in doubt; None if a person must decide."""
    step, last = steps_in(known, phase)[index], attempts[-1]
    if knowledge.is_doubted_twice(known, attempts):
        return None
    if history.has_job(known, step, last):
        submitted = last.rows.get(Stage.SUBMITTED)
        return Attach(
            at=last.at,
            step=step,
            conduct_id=last.conduct_id,
            job_id=str(submitted.detail.get("job_id")) if submitted else None,
            started_at=next(iter(last.rows.values())).sampled_at,
        )
    may_repeat = history.may_repeat(step, last) or may_redo
    return _start(known, phase, index, attempts) if may_repeat else None


def _start(known: Known, phase: Phase, index: int, attempts: Attempts) -> StepAction:
    """Return the next attempt of a step, with its values or with the reason against it."""
    step = steps_in(known, phase)[index]
    at = _next_attempt(known, phase, index, attempts)
    ready = knowledge.resolved(known, step, phase)
    if isinstance(ready, RouteFinding):
        return FailStep(at, ready.error_class, ready.message)
    detail: JsonObject = msgspec.to_builtins(ready)
    del detail["kind"]
    if sentinels := {place: msgspec.to_builtins(found) for place, found in references(step)}:
        detail["sentinels"] = sentinels
    if route := route_of(known.routes, str(detail.get("address"))):
        detail["actuation_kind"] = "Simulated" if route.simulated else "Physical"
    if attempts:
        detail["repeats_attempt"] = attempts[-1].at.attempt
    return Start(at, ready, detail)


def _next_attempt(known: Known, phase: Phase, index: int, attempts: Attempts) -> StepAttempt:
    number = attempts[-1].at.attempt + 1 if attempts else 1
    iteration = history.iteration_index(known, phase)
    return StepAttempt(phase, iteration, step_index=index, attempt=number)
