"""Activities: what was done during a procedure, as rows next to its stream."""

from collections import Counter
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, MaxLen, MinLen

from beamkeep.kernel import Call, Cannot, Command, Invalid, Lock, Page, Record, Rows, Table, entries
from beamkeep.kernel.values import Timestamp
from beamkeep.schemas import JsonObject, canonical_text

from .conducted import Activity, ActivitySource, Phase, Stage, StepKind
from .procedure import OPEN, STATUS, Procedure, procedures

LONGEST_DETAIL = 64 * 1024
ACTIVITIES = Table("procedure_activity", Activity, key=("activity_id",), numbered="sequence")


class InvalidProcedureActivityError(Invalid):
    """Each activity needs its own activity_id and a detail of at most 64 KiB."""


class ProcedureCannotAppendActivitiesError(Cannot):
    """Activities can be added only while the procedure is Running or Held."""


class ProcedureActivityIdTakenError(Cannot):
    """An activity with this activity_id belongs to another procedure; use a new one."""


class ActivityEntry(Record):
    activity_id: UUID
    """A UUIDv7 chosen by the caller: an activity sent twice is stored once."""
    step_kind: StepKind
    stage: Stage
    detail: JsonObject
    sampled_at: Timestamp
    """When it happened."""


class AppendProcedureActivities(Command):
    procedure_id: UUID
    entries: Annotated[tuple[ActivityEntry, ...], MinLen(1), MaxLen(500)]


def append_activities(
    procedure: Procedure, command: AppendProcedureActivities, call: Call
) -> list[Rows | Lock]:
    """Record what was done by hand; activities that the procedure already has are skipped."""
    ids = [entry.activity_id for entry in command.entries]
    if twice := [id for id, times in Counter(ids).items() if times > 1]:
        detail = f"The batch contains {twice[0]} more than once."
        raise InvalidProcedureActivityError(detail, activity_ids=twice)
    for entry in command.entries:
        if len(canonical_text(entry.detail).encode()) > LONGEST_DETAIL:
            raise InvalidProcedureActivityError(f"The detail of {entry.activity_id} is longer.")
    STATUS.require_in(procedure.status, OPEN, ProcedureCannotAppendActivitiesError)
    rows = [
        Activity.of(
            entry,
            procedure_id=procedure.id,
            source=ActivitySource.MANUAL,
            recorded_at=call.now,
            principal_id=call.principal_id,
            surface_id=call.surface_id,
            correlation_id=call.correlation_id,
        )
        for entry in command.entries
    ]
    taken = ProcedureActivityIdTakenError
    return [activity_lock(procedure.id), ACTIVITIES.append(rows, "procedure_id", taken)]


def activity_lock(procedure_id: UUID) -> Lock:
    """Return the lock under which the activities of a procedure are numbered."""
    return Lock(f"procedure-activity:{procedure_id}")


class ListProcedureActivities(Page):
    """List the activities of one procedure in the order in which they were recorded."""

    conduct_id: UUID | None = None
    phase: Phase | None = None
    iteration_index: Annotated[int, Ge(1)] | None = None
    step_index: Annotated[int, Ge(0)] | None = None
    stage: Stage | None = None
    after_sequence: Annotated[int, Ge(0)] | None = None
    """Only activities that were recorded after the one with this sequence."""


# fmt: off
OPERATIONS = (
    procedures.changes("POST /procedures/{procedure_id}/activities/append",
        AppendProcedureActivities, append_activities, InvalidProcedureActivityError,
        ProcedureCannotAppendActivitiesError, ProcedureActivityIdTakenError,
        title="Record activities of a procedure"),
)
# fmt: on

QUESTIONS = (
    entries(
        "GET /procedures/{procedure_id}/activities",
        ListProcedureActivities,
        procedures,
        ACTIVITIES,
        by=("sequence",),
        compared={"after_sequence": ("sequence", ">")},
    ),
)
