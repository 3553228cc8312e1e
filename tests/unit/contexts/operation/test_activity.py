"""Activities by hand: what was done during a procedure, and when nothing more is recorded."""

from typing import Any
from uuid import UUID

from tests.unit.contexts.operation.procedures import a_procedure

from beamkeep.contexts.operation.activity import (
    ACTIVITIES,
    OPERATIONS,
    ActivityEntry,
    AppendProcedureActivities,
    InvalidProcedureActivityError,
    ProcedureActivityIdTakenError,
    ProcedureCannotAppendActivitiesError,
)
from beamkeep.contexts.operation.conducted import Activity, ActivitySource, Stage, StepKind
from beamkeep.contexts.operation.procedure import (
    ProcedureCompleted,
    ProcedureHeld,
    ProcedureNotFoundError,
    ProcedureStarted,
)
from beamkeep.kernel import Event, Lock, Rows, replace
from beamkeep.testing.past import CALL, NEW, NOW
from beamkeep.testing.scenario import Scenario

ID, FIRST, SECOND, OTHER = NEW, UUID(int=60), UUID(int=61), UUID(int=62)
SURFACE, CORRELATION = UUID(int=70), UUID(int=71)
CALLED = replace(CALL, surface_id=SURFACE, correlation_id=CORRELATION)
LOCK = Lock(f"procedure-activity:{ID}")
registered, started = a_procedure(ID), ProcedureStarted(NOW, ID, ())
held = ProcedureHeld(NOW, ID, "no beam", None)

MOVED = ActivityEntry(FIRST, StepKind.SETPOINT, Stage.SUCCEEDED, {"value": 1.25}, NOW)
SEEN = replace(MOVED, activity_id=SECOND, step_kind=StepKind.CHECK, stage=Stage.FAILED)
moved = Activity.of(
    MOVED,
    procedure_id=ID,
    source=ActivitySource.MANUAL,
    recorded_at=NOW,
    principal_id=CALL.principal_id,
    surface_id=SURFACE,
    correlation_id=CORRELATION,
)
seen = replace(moved, activity_id=SECOND, step_kind=StepKind.CHECK, stage=Stage.FAILED)


def append(*entries: ActivityEntry) -> AppendProcedureActivities:
    return AppendProcedureActivities.model_construct(procedure_id=ID, entries=entries)


def rows(*activities: Activity) -> Rows:
    return ACTIVITIES.append([*activities], "procedure_id", ProcedureActivityIdTakenError)


def given(*history: Event | Any) -> Scenario:
    return Scenario(OPERATIONS, history)


def test_activities_are_recorded_while_the_procedure_is_running_or_held():
    for past in ((registered, started), (registered, started, held)):
        given(*past).when(append(MOVED, SEEN), call=CALLED).then(LOCK, rows(moved, seen))


def test_no_activity_is_recorded_before_the_start_or_after_the_end():
    for past, status in (
        ((registered,), "Defined"),
        ((registered, started, ProcedureCompleted(NOW, ID)), "Completed"),
    ):
        told = f"The status is {status}; it must be Held or Running."
        given(*past).when(append(MOVED)).refused(ProcedureCannotAppendActivitiesError, saying=told)
    given().when(append(MOVED)).refused(ProcedureNotFoundError)


def test_an_id_occurs_once_in_a_batch():
    given(registered, started).when(append(MOVED, MOVED)).refused(
        InvalidProcedureActivityError, saying=str(FIRST)
    )


def test_an_id_of_another_procedure_is_taken():
    elsewhere = rows(replace(moved, procedure_id=OTHER))
    given(registered, started, elsewhere).when(append(MOVED)).refused(ProcedureActivityIdTakenError)


def test_a_detail_has_at_most_64_kib():
    for size, allowed in ((64 * 1024 - 8, True), (64 * 1024 - 7, False)):
        entry = replace(MOVED, detail={"x": "é" * (size // 2) + "x" * (size % 2)})
        scenario = given(registered, started).when(append(entry), call=CALLED)
        if allowed:
            scenario.then(LOCK, rows(replace(moved, detail=entry.detail)))
        else:
            scenario.refused(InvalidProcedureActivityError, saying=str(FIRST))
