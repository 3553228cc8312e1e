"""What must hold in every history of the simulation, judged without the machine."""

from collections import defaultdict
from collections.abc import Iterator

from tests.unit.conduct.simulation import WINDOW, Conducted, World

from beamkeep.contexts.operation.conducted import (
    Activity,
    ConductKind,
    ConductOutcome,
    Phase,
    Stage,
)
from beamkeep.contexts.recipe.steps import RecipeSetpointStep

REAL_ENDS = {ConductOutcome.COMPLETED, ConductOutcome.ABORTED}
UNKNOWN = {"ClosingStepNotRun", "StepOutcomeUnknown"}
STATUS_AFTER = {
    ConductOutcome.COMPLETED: "Completed",
    ConductOutcome.ABORTED: "Aborted",
    ConductOutcome.HELD: "Held",
    ConductOutcome.HALTED: "Held",
    ConductOutcome.INTERRUPTED: "Held",
}


def audit(world: World) -> list[str]:
    """Return everything that is wrong with a history."""
    return [
        *world.broken,
        *_effects_follow_rows(world),
        *_repetitions_are_permitted(world),
        *_stops_are_final(world),
        *_silence_is_respected(world),
        *_conducts_end_as_the_table_says(world),
        *_closing_steps_follow_real_ends(world),
    ]


def _started(world: World) -> Iterator[tuple[Activity, int]]:
    for key, row in world.rows.items():
        if row.stage is Stage.STARTED:
            yield row, world.row_ticks[key]


def _effects_follow_rows(world: World) -> Iterator[str]:
    started = {
        (row.phase, row.iteration_index, row.step_index, row.attempt): (row, tick)
        for row, tick in _started(world)
    }
    seen = set[object]()
    for effect in world.effects:
        at = effect.at
        key = at.phase, at.iteration_index, at.step_index, at.attempt
        row, tick = started.get(key, (None, 0))
        if row is None or tick > effect.tick or row.claim != effect.claim:
            yield f"effect without a Started row: {key}"
        if key in seen:
            yield f"one attempt had two effects: {key}"
        if not effect.is_claimed:
            yield f"effect of a worker that lost its claim: {key}"
        seen.add(key)


def _repetitions_are_permitted(world: World) -> Iterator[str]:
    requests = {each.request.conduct_id: each.request for each in world.conducts}
    attempts = defaultdict[object, dict[int, dict[Stage, Activity]]](dict)
    for row in world.rows.values():
        of_step = attempts[row.phase, row.iteration_index, row.step_index]
        of_step.setdefault(row.attempt or 0, {})[row.stage] = row
    for key, of_step in attempts.items():
        unattended = defaultdict[object, int](int)
        for number, rows in sorted(of_step.items()):
            row = rows.get(Stage.STARTED)
            if row is None:
                continue
            assert row.conduct_id
            unattended[row.conduct_id] += 1
            if unattended[row.conduct_id] > 2:
                yield f"repeated unattended more than once: {key}"
            if number == 1:
                continue
            if row.detail.get("repeats_attempt") != number - 1:
                yield f"repeated without repeats_attempt: {key}"
            index = row.step_index or 0
            steps = world.steps if row.phase is Phase.STEPS else world.closing_steps
            step, before = steps[index], of_step[number - 1]
            is_redone = index in requests[row.conduct_id].redo_step_indexes
            is_redone = is_redone and unattended[row.conduct_id] == 1
            if (
                not getattr(step, "repeatable", True)
                and not is_redone
                and _may_have_acted(before, isinstance(step, RecipeSetpointStep))
            ):
                yield f"repeated although it is not repeatable: {key}"
            if Stage.FAILED in before and before[Stage.FAILED].conduct_id == row.conduct_id:
                yield f"retried a failed step in one walk: {key}"


def _may_have_acted(rows: dict[Stage, Activity], is_setpoint: bool) -> bool:
    failed = rows.get(Stage.FAILED)
    not_sent = failed is not None and is_setpoint and failed.detail["in_doubt"] is False
    return Stage.STARTED in rows and not not_sent


def _stops_are_final(world: World) -> Iterator[str]:
    for stopped, verb, conduct_id, phase in world.stops:
        for row, tick in _started(world):
            if row.conduct_id == conduct_id and tick > stopped:
                yield f"started after {verb} in {phase}: {row.phase}[{row.step_index}]"


def _silence_is_respected(world: World) -> Iterator[str]:
    for row, _ in _started(world):
        assert row.conduct_id
        if world.silences[row.conduct_id, row.claim or 0] > WINDOW:
            yield f"started after too long a silence: {row.phase}[{row.step_index}]"


def _conducts_end_as_the_table_says(world: World) -> Iterator[str]:
    for each in world.conducts:
        end, known = each.end, each.facts
        if end is None or known is None:
            yield "a conduct did not end"
            continue
        verbs = {
            verb
            for _, verb, conduct_id, phase in world.stops
            if conduct_id == each.request.conduct_id and phase is Phase.STEPS
        }
        expected = _expected(world, each, verbs)
        if end.outcome not in expected:
            yield f"ended {end.outcome}, not {sorted(expected)}; asked for {sorted(verbs)}"
        after = STATUS_AFTER.get(end.outcome, "Aborted" if "abort" in verbs else "Held")
        if each.status != after:
            yield f"ended {end.outcome} with the procedure {each.status}"
        is_closed = not UNKNOWN & {failure.error_class for failure in end.closing_failures}
        if end.succeeded is not (end.outcome is ConductOutcome.COMPLETED and is_closed):
            yield f"succeeded is {end.succeeded} for {end.outcome}"
        if end.outcome is ConductOutcome.ABORTED and end.failure is None:
            yield "aborted without a failure"
        index = end.failure.step_index if end.failure else None
        if end.outcome is ConductOutcome.HALTED and index not in end.undecided_step_indexes:
            yield f"halted at {index}, and {end.undecided_step_indexes} need a decision"
        is_barred = known.refusal is not None or known.silence > known.takeover_window
        if end.outcome is ConductOutcome.INTERRUPTED and index is None and not is_barred:
            yield "interrupted without a reason"
        finished = [index for index in range(len(world.steps)) if _finished(world, each, index)]
        if end.outcome is ConductOutcome.COMPLETED and len(finished) != len(world.steps):
            yield "completed with a step that is not finished"
        if end.completed_count != len(finished):
            yield f"completed_count is {end.completed_count}, not {len(finished)}"
        is_open = bool(world.passes) and not world.passes[-1].ended
        if end.outcome in REAL_ENDS and is_open and each is world.conducts[-1]:
            yield "a real end left a pass open"


def _expected(world: World, each: Conducted, verbs: set[str]) -> set[ConductOutcome]:
    """Return the outcomes that the first rows of the table allow, by what was asked."""
    if {"abort", "cancel"} & verbs:
        return {ConductOutcome.CANCELLED}
    if "hold" in verbs:
        return {ConductOutcome.HELD}
    if each.walked:
        return {each.walked.walk_outcome}
    assert each.facts
    if each.facts.flags.parent_run_left and not each.request.abandon:
        return {ConductOutcome.HELD}
    if each.request.abandon:
        return {ConductOutcome.ABORTED}
    # A later conduct may attach to a job of this one and write its outcome: look at the end.
    failed = [
        row
        for row in each.facts.activities
        if (row.conduct_id, row.phase) == (each.request.conduct_id, Phase.STEPS)
        and row.stage is Stage.FAILED
    ]
    if failed:
        holds = each.request.root_kind is ConductKind.OR_HOLD
        return {ConductOutcome.HELD if holds else ConductOutcome.ABORTED}
    going_on = {ConductOutcome.COMPLETED, ConductOutcome.INTERRUPTED}
    if each.request.loop:
        going_on.add(ConductOutcome.ABORTED)
    return going_on | ({ConductOutcome.HALTED} if each is not world.conducts[0] else set())


def _finished(world: World, each: Conducted, index: int) -> bool:
    assert each.facts
    known = each.facts
    of_pass = known.passes[-1].iteration_index if known.passes else None
    place = Phase.STEPS, of_pass, index
    rows = [
        row for row in known.activities if (row.phase, row.iteration_index, row.step_index) == place
    ]
    last = max((row.attempt or 0 for row in rows), default=0)
    stages = {row.stage for row in rows if row.attempt == last}
    return bool(stages & {Stage.SUCCEEDED, Stage.SKIPPED})


def _closing_steps_follow_real_ends(world: World) -> Iterator[str]:
    for each in world.conducts:
        if each.end is None:
            continue
        rows = [
            row
            for row in world.rows.values()
            if row.phase is Phase.CLOSING and row.conduct_id == each.request.conduct_id
        ]
        if rows and each.end.outcome not in REAL_ENDS:
            yield f"closing steps walked, and the conduct ended {each.end.outcome}"
        if each.end.outcome in REAL_ENDS and world.closing_steps and not each.walked:
            yield f"ended {each.end.outcome} without its closing steps"
        if not each.walked:
            continue
        succeeded = {row.step_index for row in rows if row.stage is Stage.SUCCEEDED}
        listed = {failure.step_index for failure in each.end.closing_failures}
        if succeeded & listed or succeeded | listed != {*range(len(world.closing_steps))}:
            yield f"closing steps {succeeded} succeeded, and {listed} are listed"
        left = {
            f.step_index for f in each.end.closing_failures if f.error_class == "ClosingStepNotRun"
        }
        if left & {row.step_index for row in rows}:
            yield "a closing step that ran is listed as not run"
        assert each.facts
        known = each.facts
        is_stopped = known.flags.cancel_requested or known.refusal
        if left and not is_stopped and known.silence <= known.takeover_window:
            yield f"closing steps {left} were not run without a reason"
