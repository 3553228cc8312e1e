"""What is known of steps by their rows: attempts, results, and what may be repeated."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.operation.conducted import (
    OUTCOMES,
    Activity,
    Phase,
    Stage,
    StepAttempt,
    StepKind,
    submission_key,
)
from beamkeep.contexts.operation.routing import step_findings
from beamkeep.contexts.recipe.steps import RecipeStep, reference, references, with_values
from beamkeep.contexts.routes import RouteFinding
from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject

from .known import Known, Pass


class Attempt(Record):
    """The rows of one attempt of a step."""

    at: StepAttempt
    conduct_id: UUID
    """The conduct that began the attempt."""
    rows: Mapping[Stage, Activity]
    outcome: Activity | None
    """None while the attempt is in doubt: it was started, and its outcome is not known."""


type Attempts = Sequence[Attempt]
"""The attempts of one step, the highest last; a step that is untouched has none."""
type StepHistory = Mapping[int, Attempts]


def last_pass(known: Known) -> Pass | None:
    """Return the last pass that was begun; None if the steps are not walked in passes."""
    return known.passes[-1] if known.conduct.loop and known.passes else None


def iteration_index(known: Known, phase: Phase) -> int | None:
    """Return the pass that new rows of this phase belong to."""
    found = last_pass(known)
    return found.iteration_index if found and phase is Phase.STEPS else None


def history(known: Known, phase: Phase) -> StepHistory:
    """Return the attempts of the steps in the last pass, or of the closing steps."""
    current, found = iteration_index(known, phase), dict[StepAttempt, dict[Stage, Activity]]()
    owners = dict[StepAttempt, UUID]()
    for row in known.activities:
        if row.phase is phase and row.iteration_index == current and row.conduct_id:
            index, number = row.step_index or 0, row.attempt or 0
            at = StepAttempt(phase, current, step_index=index, attempt=number)
            found.setdefault(at, {}).setdefault(row.stage, row)
            owners.setdefault(at, row.conduct_id)
    attempts = dict[int, list[Attempt]]()
    for at, rows in sorted(found.items(), key=lambda each: each[0].attempt):
        outcome = next((row for stage, row in rows.items() if stage in OUTCOMES), None)
        attempt = Attempt(at, owners[at], rows=rows, outcome=outcome)
        attempts.setdefault(at.step_index, []).append(attempt)
    return attempts


def is_finished(attempts: Attempts) -> bool:
    """Return whether the highest attempt of a step succeeded or was skipped."""
    outcome = attempts[-1].outcome if attempts else None
    return outcome is not None and outcome.stage is not Stage.FAILED


def boundary(known: Known, so_far: StepHistory) -> int | None:
    """Return the first step that is not done for this conduct; None if all steps are done."""
    indexes = range(len(known.steps))
    return next((i for i in indexes if not _is_done(known, i, so_far.get(i, ()))), None)


def _is_done(known: Known, index: int, attempts: Attempts) -> bool:
    conduct, step = known.conduct, known.steps[index]
    # Setpoints are written again and checks are repeated; other results stand unless redone.
    is_renewed = kind_of(step) is StepKind.CHECK or is_absolute_setpoint(step)
    return is_finished(attempts) and (
        attempts[-1].conduct_id == conduct.conduct_id
        or index < conduct.from_step_index
        or not (is_renewed or index in conduct.redo_step_indexes)
    )


def kind_of(step: RecipeStep) -> StepKind:
    """Return the kind of a step."""
    return StepKind(str(step.__struct_config__.tag))


def is_absolute_setpoint(step: RecipeStep) -> bool:
    """Return whether the step writes a value that can be written again."""
    return kind_of(step) is StepKind.SETPOINT and _is_repeatable(step)


def is_skipped(known: Known, index: int) -> bool:
    """Return whether the caller skips this step; in a pass that the conduct began, none is."""
    current = last_pass(known)
    own_pass = current is not None and current.begun_by == known.conduct.conduct_id
    return index in known.conduct.skip_step_indexes and not own_pass


def is_doubted_twice(known: Known, attempts: Attempts) -> bool:
    """Return whether this conduct left the step in doubt twice: no third attempt unattended."""
    own = (each for each in attempts if each.conduct_id == known.conduct.conduct_id)
    return sum(each.outcome is None for each in own) > 1


def has_job(known: Known, step: RecipeStep, last: Attempt) -> bool:
    """Return whether an attempt in doubt may have a job that can still be found."""
    key = submission_key(last.conduct_id, last.at)
    in_doubt = kind_of(step) is StepKind.COMPUTE and last.outcome is None
    return in_doubt and key not in known.lost_submissions


def may_repeat(step: RecipeStep, last: Attempt) -> bool:
    """Return whether a step that failed or is in doubt can be repeated without being asked to."""
    if last.outcome is None or _is_repeatable(step):
        return _is_repeatable(step)
    never_sent = last.outcome.detail.get("in_doubt") is False
    never_written = kind_of(step) is StepKind.SETPOINT and never_sent
    return never_written or Stage.STARTED not in last.rows


def undecided(known: Known) -> tuple[int, ...]:
    """Return the steps of the open pass that a continuing command must redo or skip."""
    if (current := last_pass(known)) and current.ended:
        return ()
    return tuple(
        index
        for index, attempts in sorted(history(known, Phase.STEPS).items())
        if not is_finished(attempts)
        and not has_job(known, known.steps[index], attempts[-1])
        and not may_repeat(known.steps[index], attempts[-1])
    )


def resolved(known: Known, step: RecipeStep, phase: Phase) -> RecipeStep | RouteFinding:
    """Return the step with its values, or the first reason why it cannot be executed."""
    values = _values(known, phase)
    for place, found in references(step):
        kind = type(found).__name__
        if found.name not in values.get(kind, {}):
            missing = f"{place} refers to {found.name!r}, which has no value in this pass."
            return RouteFinding(f"Unresolved{kind}Error", missing)

    def valued(value: Json) -> Json:
        found = reference(value)
        return value if found is None else values[type(found).__name__][found.name]

    ready = with_values(step, valued)
    return next(step_findings(known.routes, ready, inline=known.inline), ready)


def results(steps: Sequence[RecipeStep], attempts: StepHistory) -> tuple[JsonObject, JsonObject]:
    """Return captured values and addresses of artifacts by name, each of its highest success."""
    captures, outputs = dict[str, Json](), dict[str, Json]()
    for index, step in enumerate(steps):
        capture: str | None = getattr(step, "capture_name", None)
        output: str | None = getattr(step, "output_name", None)
        for attempt in attempts.get(index, ()):
            match (row := attempt.rows.get(Stage.SUCCEEDED)) and row.detail:
                case {"value": value} if capture:
                    captures[capture] = value
                case {"measurements": list(measured)}:
                    values = {str(m["name"]): m["value"] for m in measured if isinstance(m, dict)}
                    captures |= {name: v for name, v in values.items() if name == capture}
                case {"artifact": {"uri": uri}} if output:
                    outputs[output] = uri
                case _:
                    pass
    return captures, outputs


def _values(known: Known, phase: Phase) -> Mapping[str, Mapping[str, Json]]:
    """Return the values of each class of reference; closing steps see those of the last pass."""
    captures, outputs = results(known.steps, history(known, Phase.STEPS))
    if phase is Phase.STEPS:
        coordinate = current.coordinate if (current := last_pass(known)) else None
        return {"CaptureRef": captures, "OutputRef": outputs, "SteeringRef": coordinate or {}}
    closing = results(known.closing_steps, history(known, Phase.CLOSING))
    return {"CaptureRef": captures | closing[0], "OutputRef": outputs | closing[1]}


def _is_repeatable(step: RecipeStep) -> bool:
    # A check or a capture only reads.
    return getattr(step, "repeatable", True)
