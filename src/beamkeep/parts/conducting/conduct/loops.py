"""Loops: when passes begin and end, and what a loop comes to."""

from beamkeep.contexts.operation.advancing import BeginPass, End, EndPass, Walked
from beamkeep.contexts.operation.conducted import ConductOutcome, Failure, FailureSource, Phase
from beamkeep.contexts.operation.ending import walked
from beamkeep.contexts.operation.history import Pass, results, step_history
from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Convergence,
    Evidence,
    MeasuredPass,
    ObjectiveKind,
    Steering,
    initial_coordinate,
)
from beamkeep.contexts.recipe.criteria import equal, meets
from beamkeep.kernel import Record, replace

from .advising import advice_fault
from .known import Known


class AskAdvisor(Record):
    """Ask the advisor, and extend what is known by the answer."""

    advisor: str
    evidence: Evidence


type LoopAction = BeginPass | EndPass | AskAdvisor | Walked | End


def next_of_loop(known: Known, loop: Convergence | Steering) -> LoopAction:
    """Return what follows when no pass is open, or when every step of the open pass is done."""
    if not known.passes:
        first = initial_coordinate(loop.space) if isinstance(loop, Steering) else None
        return BeginPass(1, first)
    last = known.passes[-1]
    if not last.ended:
        name = loop.objective.capture_name if isinstance(loop, Steering) else loop.capture_name
        captures, _ = results(known.steps, step_history(known, Phase.STEPS))
        last = replace(last, captures=captures, value=captures.get(name))
    if isinstance(loop, Steering):
        return _steer(known, loop, last)
    return _converge(known, loop, last)


def advisor_failure(known: Known, advisor: str, error_class: str, message: str) -> Failure:
    """Return the failure of the advisor after the last pass."""
    failure = _loop_failure(known, error_class, message)
    return replace(failure, source_kind=FailureSource.ADVISOR, target=advisor)


def _converge(known: Known, loop: Convergence, last: Pass) -> LoopAction:
    if not last.ended:
        converged = meets(loop.criterion, last.value)
        return EndPass(last.iteration_index, converged=converged, value=last.value)
    if last.converged:
        return walked(known, ConductOutcome.COMPLETED)
    patience, count = loop.max_consecutive_unconverged_iterations, len(known.passes)
    met = [number for number, each in enumerate(known.passes, 1) if each.converged]
    if patience is not None and count - max(met, default=0) >= patience:
        why = f"{patience} passes in a row did not meet the criterion."
        return _aborted(known, "ConvergenceIterationCapReached", why)
    if count >= loop.max_iterations:
        why = f"{count} passes did not meet the criterion."
        return _aborted(known, "IterationCeilingReached", why)
    return BeginPass(last.iteration_index + 1)


def _steer(known: Known, loop: Steering, last: Pass) -> LoopAction:
    stop, coordinate, passes = last.advised_stop, last.next_coordinate, (*known.passes[:-1], last)
    spent = sum(each.took for each in passes)
    if stop is None:
        # No answer is stored: the pass is not ended yet, or a person ended it.
        if (advice := known.answer) is None:
            return AskAdvisor(loop.advisor.name, _evidence(loop, passes, spent))
        if not isinstance(advice, Failure) and (fault := advice_fault(loop.space, advice)):
            advice = advisor_failure(known, loop.advisor.name, "AdviceMalformedError", fault)
        if isinstance(advice, Failure):
            return walked(known, ConductOutcome.ABORTED, advice)
        stop, coordinate = advice.verdict is AdviceVerdict.STOP, advice.next_coordinate
        if not last.ended:
            index, value = last.iteration_index, last.value
            return EndPass(index, value=value, advised_stop=stop, advice=advice)
    is_late = loop.time_budget is not None and spent >= loop.time_budget
    if not stop and not is_late and len(passes) < loop.max_iterations:
        return BeginPass(last.iteration_index + 1, coordinate)
    goal = loop.objective
    if stop or goal.kind is not ObjectiveKind.SATISFY or equal(goal.target_value, last.value):
        return walked(known, ConductOutcome.COMPLETED)
    why = "The budget is used up, and the last pass missed the target value."
    return _aborted(known, "SteeringBudgetExhausted", why)


def _evidence(loop: Steering, passes: tuple[Pass, ...], spent: float) -> Evidence:
    return Evidence(
        objective=loop.objective,
        space=loop.space,
        options=loop.advisor.options,
        # Written out: a loop may have ten thousand passes, and its advisor sees them all each time.
        passes=tuple(
            MeasuredPass(
                iteration_index=each.iteration_index,
                coordinate=each.coordinate,
                value=each.value,
                captures=each.captures,
            )
            for each in passes
        ),
        remaining_iterations=max(0, loop.max_iterations - len(passes)),
        remaining_time=None if loop.time_budget is None else max(0.0, loop.time_budget - spent),
    )


def _loop_failure(known: Known, error_class: str, message: str) -> Failure:
    return Failure(
        phase=Phase.STEPS,
        source_kind=FailureSource.LOOP,
        error_class=error_class,
        message=message,
        iteration_index=known.passes[-1].iteration_index,
    )


def _aborted(known: Known, error_class: str, message: str) -> Walked | End:
    return walked(known, ConductOutcome.ABORTED, _loop_failure(known, error_class, message))
