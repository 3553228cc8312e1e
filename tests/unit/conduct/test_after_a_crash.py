"""After a crash: what is known of a step decides what a worker does about it."""

import re
from datetime import timedelta

import pytest
from tests.unit.conduct.given import EARLIER, KINDS, NOON, THIS, at, known, request, row

from beamkeep.contexts.operation.advancing import End
from beamkeep.contexts.operation.conducted import Activity, ConductOutcome, submission_key
from beamkeep.contexts.operation.ending import lifecycle
from beamkeep.kernel import replace
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.walking import Attach, Skip, Start, next_action

CHECK = KINDS["check"]


def told(facts: Known) -> str:
    """The next action in a few words."""
    action = next_action(facts)
    match action:
        case Start():
            again = action.detail.get("repeats_attempt")
            assert again == (action.at.attempt - 1 or None)
            return f"start {action.at.attempt}"
        case Attach():
            return f"attach {action.at.attempt}"
        case Skip():
            return f"skip {action.at.attempt}"
        case End():
            return action.outcome
        case _:
            return type(action).__name__


# A step in doubt, by its kind: unattended, continued, continued with the step in `redo`.
IN_DOUBT = """
check          start 2      start 2   start 2
capture        start 2      start 2   start 2
setpoint       start 2      start 2   start 2
setpoint once  Interrupted  Halted    start 2
action         start 2      start 2   start 2
action once    Interrupted  Halted    start 2
compute        attach 1     attach 1  attach 1
compute once   attach 1     attach 1  attach 1
"""
# The same when the job is not found or Lost.
LOST = """
compute        start 2      start 2   start 2
compute once   Interrupted  Halted    start 2
"""
# A step that failed in an earlier conduct: in doubt, not in doubt, in `redo`.
FAILED = """
check          start 2      start 2   start 2
capture        start 2      start 2   start 2
setpoint       start 2      start 2   start 2
setpoint once  Halted       start 2   start 2
action         start 2      start 2   start 2
action once    Halted       Halted    start 2
compute        start 2      start 2   start 2
compute once   Halted       Halted    start 2
"""
# A step that an earlier conduct finished: below `from_step_index`, above it, above and in `redo`.
FINISHED = """
check          Completed    start 2    start 2
capture        Completed    Completed  start 2
setpoint       Completed    start 2    start 2
setpoint once  Completed    Completed  start 2
action         Completed    Completed  start 2
action once    Completed    Completed  start 2
compute        Completed    Completed  start 2
compute once   Completed    Completed  start 2
"""


def rows_of(table: str) -> list[list[str]]:
    return [re.split(r"  +", line) for line in table.strip().splitlines()]


def continued(kind: str, *rows: Activity, **asked: object) -> str:
    return told(known(KINDS[kind], rows=rows, conduct=replace(request(), **asked)))


@pytest.mark.parametrize(("kind", "unattended", "asked", "redone"), rows_of(IN_DOUBT))
def test_a_step_in_doubt(kind: str, unattended: str, asked: str, redone: str):
    started = row("Started", conduct=EARLIER)
    assert told(known(KINDS[kind], rows=(row("Started"),))) == unattended
    assert continued(kind, started) == asked
    assert continued(kind, started, redo_step_indexes=frozenset({0})) == redone
    assert continued(kind, started, skip_step_indexes=frozenset({0})) == "skip 2"


@pytest.mark.parametrize(("kind", "unattended", "asked", "redone"), rows_of(LOST))
def test_a_lost_job(kind: str, unattended: str, asked: str, redone: str):
    def lost(conduct: Known) -> str:
        owner = conduct.activities[0].conduct_id or THIS
        keys = frozenset({submission_key(owner, at())})
        return told(replace(conduct, lost_submissions=keys))

    earlier = (row("Started", conduct=EARLIER), row("Submitted", conduct=EARLIER, job_id="7"))
    redo = request(redo_step_indexes=frozenset({0}))
    assert lost(known(KINDS[kind], rows=(row("Started"),))) == unattended
    assert lost(known(KINDS[kind], rows=earlier)) == asked
    assert lost(known(KINDS[kind], rows=earlier, conduct=redo)) == redone


@pytest.mark.parametrize(("kind", "doubted", "certain", "redone"), rows_of(FAILED))
def test_a_step_that_failed_in_an_earlier_conduct(
    kind: str, doubted: str, certain: str, redone: str
):
    started = row("Started", conduct=EARLIER)
    failed = row("Failed", conduct=EARLIER)
    assert continued(kind, started, failed) == doubted
    assert continued(kind, started, row("Failed", conduct=EARLIER, in_doubt=False)) == certain
    assert continued(kind, started, failed, redo_step_indexes=frozenset({0})) == redone
    assert continued(kind, started, failed, skip_step_indexes=frozenset({0})) == "skip 2"


@pytest.mark.parametrize(("kind", "below", "above", "redone"), rows_of(FINISHED))
def test_a_step_that_an_earlier_conduct_finished(kind: str, below: str, above: str, redone: str):
    rows = row("Started", conduct=EARLIER), row("Succeeded", conduct=EARLIER)
    redo = frozenset({0})
    assert continued(kind, *rows, from_step_index=1) == below
    assert continued(kind, *rows, from_step_index=1, redo_step_indexes=redo) == below
    assert continued(kind, *rows, from_step_index=0) == above
    assert continued(kind, *rows, from_step_index=0, redo_step_indexes=redo) == redone


@pytest.mark.parametrize("kind", KINDS)
def test_an_untouched_step_is_started(kind: str):
    assert told(known(KINDS[kind])) == "start 1"


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_finished_by_this_conduct_is_done(kind: str):
    redo = request(redo_step_indexes=frozenset({0}))
    rows = row("Started"), row("Succeeded")
    assert told(known(KINDS[kind], rows=rows, conduct=redo)) == "Completed"
    assert told(known(KINDS[kind], rows=(row("Skipped"),))) == "Completed"


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_failed_in_this_conduct_ends_the_walk(kind: str):
    rows = row("Started"), row("Failed")
    assert told(known(KINDS[kind], rows=rows)) == "Aborted"


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_is_repeated_unattended_a_second_time(kind: str):
    rows = row("Started"), row("Started", attempt=2, repeats_attempt=1)
    assert told(known(KINDS[kind], rows=rows)) == "Interrupted"


def test_a_step_that_an_earlier_conduct_left_in_doubt_is_repeated_unattended_once():
    rows = row("Started", conduct=EARLIER), row("Started", attempt=2)
    assert told(known(CHECK, rows=rows)) == "start 3"
    assert told(known(CHECK, rows=(*rows, row("Started", attempt=3)))) == "Interrupted"


def test_a_redone_step_that_this_conduct_left_in_doubt_waits_for_a_person():
    rows = row("Started", conduct=EARLIER), row("Started", attempt=2)
    redo = request(redo_step_indexes=frozenset({0}))
    assert told(known(KINDS["action once"], rows=rows, conduct=redo)) == "Interrupted"


def test_a_step_that_never_started_had_no_effect():
    failed = row("Failed", conduct=EARLIER, error_class="UnresolvedCaptureRefError", in_doubt=False)
    assert continued("action once", failed) == "start 2"


def test_the_walk_continues_at_the_first_step_that_is_not_finished():
    rows = row("Started"), row("Succeeded"), row("Started", step=1), row("Succeeded", step=1)
    action = next_action(known(CHECK, CHECK, CHECK, rows=rows))
    assert isinstance(action, Start)
    assert action.at == at(2)


def test_a_job_is_attached_to_by_the_id_of_its_row():
    rows = row("Started", conduct=EARLIER), row("Submitted", conduct=EARLIER, job_id="7")
    action = next_action(known(KINDS["compute once"], rows=rows))
    assert isinstance(action, Attach)
    assert (action.at, action.conduct_id, action.job_id) == (at(), EARLIER, "7")
    assert action.started_at == NOON


def test_a_redone_job_is_submitted_again_after_the_earlier_one_has_ended():
    rows = row("Started", conduct=EARLIER), row("Succeeded", conduct=EARLIER)
    assert continued("compute once", *rows, redo_step_indexes=frozenset({0})) == "start 2"


LATE = timedelta(seconds=301)
REFUSED = lifecycle("ProcedureRequiresPermittedEnclosureError", "A is NotPermitted.", "enclosure")


def test_after_too_long_a_silence_no_effect_follows():
    assert told(known(CHECK, silence=timedelta(seconds=300))) == "start 1"
    assert told(known(CHECK, silence=LATE)) == "Interrupted"


def test_without_an_effect_to_come_a_conduct_ends_normally_whatever_the_silence():
    finished, failed = (row("Started"), row("Succeeded")), (row("Started"), row("Failed"))
    assert told(known(CHECK, rows=finished, silence=LATE)) == "Completed"
    assert told(known(CHECK, rows=failed, silence=LATE)) == "Aborted"
    assert told(known(KINDS["compute"], rows=(row("Started"),), silence=LATE)) == "attach 1"


def test_a_refusal_interrupts_before_any_effect():
    assert told(known(CHECK, refusal=REFUSED)) == "Interrupted"
    finished = row("Started"), row("Succeeded")
    assert told(known(CHECK, rows=finished, refusal=REFUSED)) == "Completed"
    action = next_action(known(CHECK, refusal=REFUSED))
    assert isinstance(action, End)
    assert action.failure == REFUSED


def test_steps_that_need_a_decision_are_named():
    rows = (
        row("Started", conduct=EARLIER),
        row("Failed", conduct=EARLIER),
        row("Started", 1, conduct=EARLIER),
    )
    action = next_action(known(KINDS["action once"], CHECK, KINDS["action once"], rows=rows))
    assert isinstance(action, End)
    assert (action.outcome, action.undecided_step_indexes) == (ConductOutcome.HALTED, (0,))
