"""Ending: how a conduct ends, and what its end says."""

from collections.abc import Mapping, Sequence

import msgspec

from beamkeep.contexts.operation.advancing import End, EndPass, StatusEvent, Walked
from beamkeep.contexts.operation.conducted import (
    ConductKind,
    ConductOutcome,
    Failure,
    FailureSource,
    Phase,
    StepKind,
)
from beamkeep.schemas import JsonObject

from . import knowledge
from .knowledge import Attempt, Knowledge
from .known import Known, steps_of

LONGEST_TEXT = 500
STATUS_EVENTS: Mapping[ConductOutcome, StatusEvent] = {
    ConductOutcome.COMPLETED: StatusEvent.COMPLETED,
    ConductOutcome.ABORTED: StatusEvent.ABORTED,
    ConductOutcome.HELD: StatusEvent.HELD,
    ConductOutcome.HALTED: StatusEvent.HELD,
    ConductOutcome.CANCELLED: StatusEvent.HELD,
    ConductOutcome.INTERRUPTED: StatusEvent.HELD,
}
IN_DOUBT = "StepOutcomeUnknown", "The step was started, and its outcome is not known."
NOT_RUN = "ClosingStepNotRun", "The conduct ended before this step."


def stopped(known: Known) -> End | None:
    """Return the end that somebody asked for; a request goes before what the steps came to."""
    flags = known.flags
    if flags.aborted:
        return ended(known, ConductOutcome.CANCELLED)
    if flags.cancel_requested:
        why = lifecycle("ConductCancelled", "The conduct was cancelled.", "cancel_conduct")
        return ended(known, ConductOutcome.CANCELLED, why)
    if flags.held:
        return ended(known, ConductOutcome.HELD)
    if flags.parent_run_left and not known.conduct.abandon:
        why = lifecycle("ParentRunNotRunning", "The parent run is not Running.", "parent_run")
        return ended(known, ConductOutcome.HELD, why)
    return None


def failed(known: Known, index: int, attempts: Sequence[Attempt]) -> Walked | End:
    """Return how the walk ends after a failed step."""
    failure, step = _failure_of(known, Phase.STEPS, index, attempts), known.steps[index]
    only_read = knowledge.kind_of(step) in (StepKind.CHECK, StepKind.CAPTURE)
    is_recoverable = only_read or knowledge.is_absolute_setpoint(step)
    if known.conduct.root_kind is ConductKind.OR_HOLD and is_recoverable:
        return ended(known, ConductOutcome.HELD, failure)
    return walked(known, ConductOutcome.ABORTED, failure)


def walked(known: Known, outcome: ConductOutcome, failure: Failure | None = None) -> Walked | End:
    """Return the real end of the steps; the closing steps follow if there are any."""
    return Walked(outcome, failure) if known.closing_steps else ended(known, outcome, failure)


def ended(known: Known, outcome: ConductOutcome, failure: Failure | None = None) -> End:
    """Return the last append of the conduct."""
    goal, flags = STATUS_EVENTS[outcome], known.flags
    is_there = flags.aborted or (flags.held and goal is StatusEvent.HELD)
    reason = reason_text(failure) if failure and not is_there else None
    end_pass = None
    if goal is StatusEvent.ABORTED and known.passes and not known.passes[-1].ended:
        end_pass = EndPass(known.passes[-1].iteration_index, reason=reason)
    return End(
        outcome=outcome,
        succeeded=outcome is ConductOutcome.COMPLETED,
        completed_count=knowledge.finished_count(known),
        failure=failure,
        closing_failures=_closing_failures(known) if known.walk_outcome else (),
        undecided_step_indexes=knowledge.undecided(known) if goal is StatusEvent.HELD else (),
        end_pass=end_pass,
        status_event=None if is_there else goal,
        reason=reason,
    )


def lifecycle(error_class: str, message: str, target: str) -> Failure:
    """Return a failure that no step caused."""
    return Failure(Phase.STEPS, FailureSource.LIFECYCLE, error_class, message, target=target)


def step_failure(known: Known, phase: Phase, index: int, said: tuple[str, str]) -> Failure:
    """Return the failure of a step: its error class and message."""
    parts: JsonObject = msgspec.to_builtins(steps_of(known, phase)[index])
    return Failure(
        phase=phase,
        source_kind=FailureSource(parts["kind"]),
        error_class=said[0],
        message=said[1][:LONGEST_TEXT],
        target=str(parts.get("address") or parts.get("name") or parts.get("job")),
        step_index=index,
        iteration_index=knowledge.iteration_index(known, phase),
    )


def reason_text(failure: Failure) -> str:
    """Return the failure as the reason of an event."""
    place = "" if failure.step_index is None else f"[{failure.step_index}]"
    target = f" {failure.target}" if failure.target else ""
    said = f"{failure.source_kind}{place}{target}: {failure.error_class}: {failure.message}"
    return said[:LONGEST_TEXT]


def _closing_failures(known: Known) -> tuple[Failure, ...]:
    attempts = knowledge.history(known, Phase.CLOSING)
    return tuple(
        _failure_of(known, Phase.CLOSING, index, attempts.get(index, ()))
        for index in range(len(known.closing_steps))
        if knowledge.knowledge(attempts.get(index, ())) is not Knowledge.FINISHED
    )


def _failure_of(known: Known, phase: Phase, index: int, attempts: Sequence[Attempt]) -> Failure:
    """Return why a step is not finished."""
    said = IN_DOUBT if attempts else NOT_RUN
    if attempts and (outcome := attempts[-1].outcome):
        said = str(outcome.detail.get("error_class")), str(outcome.detail.get("message", ""))
    return step_failure(known, phase, index, said)
