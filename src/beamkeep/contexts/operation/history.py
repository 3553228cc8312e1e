"""History: what is known of the steps of a conduct by their rows, and what may be repeated."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from beamkeep.contexts.recipe.steps import (
    RecipeActionStep,
    RecipeComputeStep,
    RecipeStep,
    makes_safe,
)
from beamkeep.kernel import Record, replace
from beamkeep.schemas import Json, JsonObject

from .conducted import (
    OUTCOMES,
    Activity,
    ConductKind,
    ConductOutcome,
    Failure,
    Phase,
    Stage,
    StepAttempt,
    StepKind,
    submission_key,
)
from .loop import Convergence, Coordinate, Steering


class RequestedConduct(Record):
    """What was asked for; a continuing conduct keeps the root kind and the loop of the first."""

    conduct_id: UUID
    root_kind: ConductKind
    from_step_index: int = 0
    redo_step_indexes: frozenset[int] = frozenset()
    skip_step_indexes: frozenset[int] = frozenset()
    abandon: bool = False
    loop: Convergence | Steering | None = None


class Pass(Record):
    """One pass of a loop, from its two events."""

    iteration_index: int
    begun_by: UUID | None = None
    """The conduct that began the pass; None if a person did."""
    coordinate: Coordinate | None = None
    ended: bool = False
    converged: bool | None = None
    value: Json = None
    captures: JsonObject = msgspec.field(default_factory=dict[str, Json])
    """Of an ended pass, for the advisor."""
    advised_stop: bool | None = None
    next_coordinate: Coordinate | None = None
    took: float = 0.0
    """Seconds between the two events, without the time held."""


class Flags(Record):
    """What somebody asked for since the request, folded from the streams."""

    aborted: bool = False
    cancel_requested: bool = False
    held: bool = False
    parent_run_left: bool = False
    """The procedure has a parent run, and that run is not Running."""


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


class WalkSoFar(Record):
    """A conduct, its steps, and what is known of them by rows and streams."""

    conduct: RequestedConduct
    steps: tuple[RecipeStep, ...]
    closing_steps: tuple[RecipeStep, ...] = ()
    flags: Flags = Flags()
    walk_outcome: ConductOutcome | None = None
    """Set once `ProcedureConductWalked` is written: from then on the closing steps are walked."""
    walk_failure: Failure | None = None
    passes: tuple[Pass, ...] = ()
    """The passes of the procedure, in order: at least the last one."""
    activities: tuple[Activity, ...] = ()
    """In order of sequence: at least the conductor's rows of the last pass and of `Closing`."""
    lost_submissions: frozenset[UUID] = frozenset()
    """Submission keys of jobs that this claim did not find, or found Lost."""
    folded: Mapping[Phase, StepHistory] = msgspec.field(default_factory=dict[Phase, StepHistory])
    """What follows from the activities, as far as `with_rows` has kept it up to date."""


def steps_in(walk: WalkSoFar, phase: Phase) -> tuple[RecipeStep, ...]:
    """Return the steps that are walked in a phase."""
    return walk.steps if phase is Phase.STEPS else walk.closing_steps


def last_pass(walk: WalkSoFar) -> Pass | None:
    """Return the last pass that was begun; None if the steps are not walked in passes."""
    return walk.passes[-1] if walk.conduct.loop and walk.passes else None


def iteration_index(walk: WalkSoFar, phase: Phase) -> int | None:
    """Return the pass that new rows of this phase belong to."""
    found = last_pass(walk)
    return found.iteration_index if found and phase is Phase.STEPS else None


def step_history(walk: WalkSoFar, phase: Phase) -> StepHistory:
    """Return the attempts of the steps in the last pass, or of the closing steps."""
    if (known := walk.folded.get(phase)) is not None:
        return known
    current, of_step = iteration_index(walk, phase), dict[int, list[Activity]]()
    for row in walk.activities:
        if row.phase is phase and row.iteration_index == current and row.conduct_id:
            of_step.setdefault(row.step_index or 0, []).append(row)
    return {index: _attempts(rows) for index, rows in of_step.items()}


def with_rows[W: WalkSoFar](walk: W, phase: Phase, index: int, rows: Sequence[Activity]) -> W:
    """Return a walk with further rows of one step; only this step is folded again."""
    before = step_history(walk, phase)
    own = [row for attempt in before.get(index, ()) for row in attempt.rows.values()]
    after = {**before, index: _attempts([*own, *rows])}
    folded = {**walk.folded, phase: after}
    return replace(walk, activities=(*walk.activities, *rows), folded=folded)


def _attempts(rows: Sequence[Activity]) -> Attempts:
    """Return the attempts of one step in one pass, from its rows in order of sequence."""
    found = dict[int, dict[Stage, Activity]]()
    for row in rows:
        found.setdefault(row.attempt or 0, {}).setdefault(row.stage, row)
    return [_attempt(found[number]) for number in sorted(found)]


def _attempt(rows: Mapping[Stage, Activity]) -> Attempt:
    first = next(iter(rows.values()))
    assert first.phase, "it is a row of a conduct"  # noqa: S101
    assert first.conduct_id, "it is a row of a conduct"  # noqa: S101
    at = StepAttempt(
        first.phase,
        first.iteration_index,
        step_index=first.step_index or 0,
        attempt=first.attempt or 0,
    )
    outcome = next((row for stage, row in rows.items() if stage in OUTCOMES), None)
    return Attempt(at, first.conduct_id, rows=rows, outcome=outcome)


def is_making_safe(walk: WalkSoFar) -> bool:
    """Return whether a conduct walks only the closing steps that make safe."""
    return walk.conduct.root_kind is ConductKind.MAKE_SAFE


def closing_attempts(walk: WalkSoFar) -> StepHistory:
    """Return this conduct's own attempts of every closing step that it walks."""
    so_far, own_id = step_history(walk, Phase.CLOSING), walk.conduct.conduct_id
    return {
        index: [each for each in so_far.get(index, ()) if each.conduct_id == own_id]
        for index, step in enumerate(walk.closing_steps)
        if makes_safe(step) or not is_making_safe(walk)
    }


def is_finished(attempts: Attempts) -> bool:
    """Return whether the highest attempt of a step succeeded or was skipped."""
    outcome = attempts[-1].outcome if attempts else None
    return outcome is not None and outcome.stage is not Stage.FAILED


def boundary(walk: WalkSoFar, so_far: StepHistory) -> int | None:
    """Return the first step that is not done for this conduct; None if all steps are done."""
    indexes = range(len(walk.steps))
    return next((i for i in indexes if not _is_done(walk, i, so_far.get(i, ()))), None)


def _is_done(walk: WalkSoFar, index: int, attempts: Attempts) -> bool:
    conduct, step = walk.conduct, walk.steps[index]
    if not is_finished(attempts):
        return False
    if attempts[-1].conduct_id == conduct.conduct_id or index < conduct.from_step_index:
        return True
    # Setpoints are written again and checks are repeated; other results stand unless redone.
    is_renewed = kind_of(step) is StepKind.CHECK or is_absolute_setpoint(step)
    return not (is_renewed or index in conduct.redo_step_indexes)


def kind_of(step: RecipeStep) -> StepKind:
    """Return the kind of a step."""
    return StepKind(str(step.__struct_config__.tag))


def target_of(step: RecipeStep) -> str:
    """Return the address, the action or the job of a step."""
    match step:
        case RecipeActionStep():
            return step.name
        case RecipeComputeStep():
            return step.job
        case _:
            return step.address


def is_absolute_setpoint(step: RecipeStep) -> bool:
    """Return whether the step writes a value that can be written again."""
    return kind_of(step) is StepKind.SETPOINT and _is_repeatable(step)


def has_job(walk: WalkSoFar, step: RecipeStep, last: Attempt) -> bool:
    """Return whether an attempt in doubt may have a job that can still be found."""
    key = submission_key(last.conduct_id, last.at)
    in_doubt = kind_of(step) is StepKind.COMPUTE and last.outcome is None
    return in_doubt and key not in walk.lost_submissions


def may_repeat(step: RecipeStep, last: Attempt) -> bool:
    """Return whether a step that failed or is in doubt can be repeated without being asked to."""
    if last.outcome is None or _is_repeatable(step):
        return _is_repeatable(step)
    never_sent = last.outcome.detail.get("in_doubt") is False
    never_written = kind_of(step) is StepKind.SETPOINT and never_sent
    return never_written or Stage.STARTED not in last.rows


def undecided(walk: WalkSoFar) -> tuple[int, ...]:
    """Return the steps of the open pass that a continuing command must redo or skip."""
    if (current := last_pass(walk)) and current.ended:
        return ()
    return tuple(
        index
        for index, attempts in sorted(step_history(walk, Phase.STEPS).items())
        if not is_finished(attempts)
        and not has_job(walk, walk.steps[index], attempts[-1])
        and not may_repeat(walk.steps[index], attempts[-1])
    )


def results(steps: Sequence[RecipeStep], attempts: StepHistory) -> tuple[JsonObject, JsonObject]:
    """Return captured values and addresses of artifacts by name, each of its highest success."""
    captures, outputs = dict[str, Json](), dict[str, Json]()
    for index, step in enumerate(steps):
        capture: str | None = getattr(step, "capture_name", None)
        output: str | None = getattr(step, "output_name", None)
        if not capture and not output:
            continue
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


def _is_repeatable(step: RecipeStep) -> bool:
    # A check or a capture only reads.
    return getattr(step, "repeatable", True)
