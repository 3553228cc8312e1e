"""Ending: how a conduct ends, and what its end says."""

from collections.abc import Mapping

from . import history
from .advancing import End, EndPass, StatusEvent, Walked
from .conducted import ConductKind, ConductOutcome, Failure, FailureSource, Phase
from .history import Attempts, WalkSoFar, steps_in

LONGEST_TEXT = 500
STATUS_EVENTS: Mapping[ConductOutcome, StatusEvent] = {
    ConductOutcome.COMPLETED: StatusEvent.COMPLETED,
    ConductOutcome.ABORTED: StatusEvent.ABORTED,
    ConductOutcome.HELD: StatusEvent.HELD,
    ConductOutcome.HALTED: StatusEvent.HELD,
    ConductOutcome.CANCELLED: StatusEvent.HELD,
    ConductOutcome.INTERRUPTED: StatusEvent.HELD,
}


def stopped(walk: WalkSoFar) -> End | None:
    """Return the end that somebody asked for; a request goes before what the steps came to."""
    flags = walk.flags
    if flags.aborted:
        return ended(walk, ConductOutcome.CANCELLED)
    if flags.cancel_requested:
        why = lifecycle("ConductCancelled", "The conduct was cancelled.", "cancel_conduct")
        return ended(walk, ConductOutcome.CANCELLED, why)
    if flags.held:
        return ended(walk, ConductOutcome.HELD)
    if flags.parent_run_left and not walk.conduct.abandon:
        why = lifecycle("ParentRunNotRunning", "The parent run is not Running.", "parent_run")
        return ended(walk, ConductOutcome.HELD, why)
    return None


def failed(walk: WalkSoFar, index: int, attempts: Attempts) -> Walked | End:
    """Return how the walk ends after a failed step."""
    failure = unfinished(walk, Phase.STEPS, index, attempts)
    if walk.conduct.root_kind is ConductKind.OR_HOLD:
        return ended(walk, ConductOutcome.HELD, failure)
    return walked(walk, ConductOutcome.ABORTED, failure)


def walked(
    walk: WalkSoFar, outcome: ConductOutcome, failure: Failure | None = None
) -> Walked | End:
    """Return the real end of the steps; the closing steps follow if there are any."""
    return Walked(outcome, failure) if walk.closing_steps else ended(walk, outcome, failure)


def ended(walk: WalkSoFar, outcome: ConductOutcome, failure: Failure | None = None) -> End:
    """Return the last append of the conduct."""
    goal, flags, end_pass = STATUS_EVENTS[outcome], walk.flags, None
    is_there = flags.aborted or (flags.held and goal is StatusEvent.HELD)
    is_there = is_there or history.is_making_safe(walk)
    reason = reason_text(failure) if failure and not is_there else None
    if goal is StatusEvent.ABORTED and walk.passes and not walk.passes[-1].ended:
        end_pass = EndPass(walk.passes[-1].iteration_index, reason=reason)
    so_far = history.step_history(walk, Phase.STEPS)
    closing: history.StepHistory = {}
    if walk.walk_outcome:
        closing = history.closing_attempts(walk)
    if history.is_making_safe(walk):
        so_far, is_closed = closing, all(map(history.is_finished, closing.values()))
    else:
        is_closed = all(own and own[-1].outcome for own in closing.values())
    return End(
        outcome=outcome,
        # A closing step that failed is reported; one that nobody knows to have run is no success.
        succeeded=outcome is ConductOutcome.COMPLETED and is_closed,
        completed_count=sum(map(history.is_finished, so_far.values())),
        failure=failure,
        closing_failures=_closing_failures(walk, closing),
        undecided_step_indexes=history.undecided(walk) if goal is StatusEvent.HELD else (),
        end_pass=end_pass,
        status_event=None if is_there else goal,
        reason=reason,
    )


def _closing_failures(walk: WalkSoFar, closing: history.StepHistory) -> tuple[Failure, ...]:
    return tuple(
        unfinished(walk, Phase.CLOSING, index, own)
        for index, own in closing.items()
        if not history.is_finished(own)
    )


def unfinished(walk: WalkSoFar, phase: Phase, index: int, attempts: Attempts) -> Failure:
    """Return why a step is not finished."""
    error_class, message = "ClosingStepNotRun", "The conduct ended before this step."
    if attempts and (outcome := attempts[-1].outcome):
        error_class = str(outcome.detail.get("error_class"))
        message = str(outcome.detail.get("message", ""))
    elif attempts:
        error_class = "StepOutcomeUnknown"
        message = "The step was started, and its outcome is not known."
    step = steps_in(walk, phase)[index]
    return Failure(
        phase=phase,
        source_kind=FailureSource(history.kind_of(step)),
        error_class=error_class,
        message=message[:LONGEST_TEXT],
        target=history.target_of(step),
        step_index=index,
        iteration_index=history.iteration_index(walk, phase),
    )


def lifecycle(error_class: str, message: str, target: str) -> Failure:
    """Return a failure that no step caused."""
    return Failure(
        phase=Phase.STEPS,
        source_kind=FailureSource.LIFECYCLE,
        error_class=error_class,
        message=message,
        target=target,
    )


def reason_text(failure: Failure) -> str:
    """Return the failure as the reason of an event."""
    place = "" if failure.step_index is None else f"[{failure.step_index}]"
    target = f" {failure.target}" if failure.target else ""
    said = f"{failure.source_kind}{place}{target}: {failure.error_class}: {failure.message}"
    return said[:LONGEST_TEXT]
