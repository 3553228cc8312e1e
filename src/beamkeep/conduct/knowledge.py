"""What is known of a step, by its rows: finished, failed, in doubt or untouched."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from uuid import UUID

from beamkeep.contexts.operation.conducted import Activity, Phase, Stage, StepKind
from beamkeep.contexts.recipe.steps import RecipeStep
from beamkeep.kernel import Record

from .known import OUTCOMES, Known, Pass, StepAttempt, submission_key


class Knowledge(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    IN_DOUBT = "in doubt"
    UNTOUCHED = "untouched"


KNOWLEDGE = {
    Stage.SUCCEEDED: Knowledge.FINISHED,
    Stage.SKIPPED: Knowledge.FINISHED,
    Stage.FAILED: Knowledge.FAILED,
}


class Remedy(StrEnum):
    """What can be done about a step that failed or is in doubt."""

    REPEAT = "repeat"
    ATTACH = "attach to the job"
    ASK = "ask a person"


class Attempt(Record):
    """The rows of one attempt."""

    at: StepAttempt
    conduct_id: UUID | None
    """The conduct that began the attempt."""
    rows: Mapping[Stage, Activity]
    outcome: Activity | None


type History = Mapping[int, Sequence[Attempt]]
"""The attempts of every step that has rows, the first attempt first."""


def last_pass(known: Known) -> Pass | None:
    """Return the last pass that was begun; None if the steps are not walked in passes."""
    return known.passes[-1] if known.conduct.loop and known.passes else None


def iteration_index(known: Known, phase: Phase) -> int | None:
    """Return the pass that new rows of this phase belong to."""
    found = last_pass(known)
    return found.iteration_index if found and phase is Phase.STEPS else None


def history(known: Known, phase: Phase) -> History:
    """Return the attempts of the steps in the last pass, or of the closing steps."""
    current, found = iteration_index(known, phase), dict[int, dict[int, dict[Stage, Activity]]]()
    for row in known.activities:
        if row.phase is phase and row.iteration_index == current:
            attempts = found.setdefault(row.step_index or 0, {})
            attempts.setdefault(row.attempt or 0, {}).setdefault(row.stage, row)
    return {
        index: [
            Attempt(
                at=StepAttempt(phase, current, step_index=index, attempt=number),
                conduct_id=next(iter(rows.values())).conduct_id,
                rows=rows,
                outcome=next((row for stage, row in rows.items() if stage in OUTCOMES), None),
            )
            for number, rows in sorted(attempts.items())
        ]
        for index, attempts in found.items()
    }


def knowledge(attempts: Sequence[Attempt]) -> Knowledge:
    """Return what is known of a step, by its highest attempt."""
    if not attempts:
        return Knowledge.UNTOUCHED
    outcome = attempts[-1].outcome
    return KNOWLEDGE[outcome.stage] if outcome else Knowledge.IN_DOUBT


def finished_count(known: Known) -> int:
    """Return how many steps are finished in the last pass."""
    attempts = history(known, Phase.STEPS).values()
    return sum(knowledge(each) is Knowledge.FINISHED for each in attempts)


def kind_of(step: RecipeStep) -> StepKind:
    """Return the kind of a step."""
    return StepKind(str(step.__struct_config__.tag))


def is_repeatable(step: RecipeStep) -> bool:
    """Return whether a second execution does no harm; a reading never does."""
    return getattr(step, "repeatable", True)


def is_absolute_setpoint(step: RecipeStep) -> bool:
    """Return whether the step writes a value that can be written again."""
    return kind_of(step) is StepKind.SETPOINT and is_repeatable(step)


def boundary(known: Known, so_far: History) -> int | None:
    """Return the first step that is not done for this conduct; None if all steps are done."""
    indexes = range(len(known.steps))
    return next((i for i in indexes if not _is_done(known, i, so_far.get(i, ()))), None)


def _is_done(known: Known, index: int, attempts: Sequence[Attempt]) -> bool:
    conduct, step = known.conduct, known.steps[index]
    # Setpoints are written again and checks are repeated; other results stand unless redone.
    is_renewed = kind_of(step) is StepKind.CHECK or is_absolute_setpoint(step)
    return knowledge(attempts) is Knowledge.FINISHED and (
        attempts[-1].conduct_id == conduct.conduct_id
        or index < conduct.from_step_index
        or not (is_renewed or index in conduct.redo_step_indexes)
    )


def is_skipped(known: Known, index: int) -> bool:
    """Return whether the caller skips this step; in a pass that the conduct began, none is."""
    found = last_pass(known)
    own_pass = found is not None and found.begun_by == known.conduct.conduct_id
    return index in known.conduct.skip_step_indexes and not own_pass


def remedy(known: Known, step: RecipeStep, attempts: Sequence[Attempt]) -> Remedy:
    """Return what this conduct can do about a step that failed or is in doubt."""
    own = [each for each in attempts if each.conduct_id == known.conduct.conduct_id]
    if sum(each.outcome is None for each in own) > 1:
        # In doubt for the second time in one conduct: nothing is repeated unattended again.
        return Remedy.ASK
    found, last = _usual_remedy(known, step, attempts[-1]), attempts[-1]
    is_redone = not own and last.at.step_index in known.conduct.redo_step_indexes
    return Remedy.REPEAT if found is Remedy.ASK and is_redone else found


def _usual_remedy(known: Known, step: RecipeStep, last: Attempt) -> Remedy:
    is_compute = kind_of(step) is StepKind.COMPUTE
    if is_compute and last.outcome is None and job_key(last) not in known.lost_submissions:
        return Remedy.ATTACH
    return Remedy.REPEAT if is_repeatable(step) or _had_no_effect(step, last) else Remedy.ASK


def job_key(attempt: Attempt) -> UUID | None:
    """Return the submission key of the job that an attempt submitted."""
    return attempt.conduct_id and submission_key(attempt.conduct_id, attempt.at)


def undecided(known: Known) -> tuple[int, ...]:
    """Return the steps of the open pass that a continuing command must redo or skip."""
    if (current := last_pass(known)) and current.ended:
        return ()
    return tuple(
        index
        for index, attempts in sorted(history(known, Phase.STEPS).items())
        if knowledge(attempts) in (Knowledge.FAILED, Knowledge.IN_DOUBT)
        and _usual_remedy(known, known.steps[index], attempts[-1]) is Remedy.ASK
    )


def _had_no_effect(step: RecipeStep, last: Attempt) -> bool:
    if last.outcome is None:
        return False
    not_sent = last.outcome.detail.get("in_doubt") is False
    return Stage.STARTED not in last.rows or (kind_of(step) is StepKind.SETPOINT and not_sent)
