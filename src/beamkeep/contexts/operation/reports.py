"""Reports: how far a conduct is, how it ended, and what a person can do about it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from beamkeep.contexts.recipe.steps import RecipeCheckStep
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.work import WORK_STATES, WorkState
from beamkeep.kernel import Accepted, Page, Query, Record, answers, listed
from beamkeep.schemas import JsonObject

from .activity import ACTIVITIES
from .conduct import CONDUCTS, Conduct, actuation_of, loop_of, walk_of
from .conducted import (
    ActuationKind,
    ConductKind,
    ConductOutcome,
    Failure,
    Phase,
    Stage,
    StepKind,
)
from .history import (
    WalkSoFar,
    closing_attempts,
    is_finished,
    is_making_safe,
    results,
    step_history,
    steps_in,
    target_of,
)
from .procedure import Procedure, ProcedureStatus, procedures
from .stopping import ConductNotFoundError


class ConductStatus(StrEnum):
    QUEUED = "Queued"
    RUNNING = "Running"
    CLOSING = "Closing"
    ENDED = "Ended"


class AcceptedConduct(Accepted):
    conduct_id: UUID
    procedure_id: UUID
    status: ConductStatus = ConductStatus.QUEUED


class GetConduct(Query):
    """Show how far one conduct of a procedure is, or how it ended."""

    procedure_id: UUID
    conduct_id: UUID


class ListConducts(Page):
    """List the conducts of one procedure in the order in which they were requested."""

    procedure_id: UUID
    status: ConductStatus | None = None
    outcome: ConductOutcome | None = None


class CurrentStep(Record):
    """The step that is being executed."""

    phase: Phase
    iteration_index: int | None
    step_index: int
    attempt: int
    step_kind: StepKind
    target: str
    """The address, the action or the job."""
    since: datetime
    until: datetime
    """When the timeout of the step ends it."""


class ConductEntry(Record):
    """One conduct in the list."""

    conduct_id: UUID
    conduct_kind: ConductKind
    requested_by: UUID
    status: ConductStatus
    outcome: ConductOutcome | None
    succeeded: bool | None
    requested_at: datetime
    ended_at: datetime | None


class ConductReport(ConductEntry):
    """How far a conduct is, or how it ended."""

    procedure_id: UUID
    root_kind: ConductKind
    continues_conduct_id: UUID | None
    lease_expired: bool
    """Whether no worker is at work on a conduct that began."""
    cancel_requested: bool
    claim_count: int
    needs: tuple[str, ...] | None
    """The commands by which a person can continue."""
    undecided_step_indexes: tuple[int, ...]
    """The steps that a continuing command must redo or skip."""
    step_count: int
    completed_count: int
    """How many steps are finished in the last pass."""
    iteration_count: int
    max_iterations: int | None
    current: CurrentStep | None
    failure: Failure | None
    closing_failures: tuple[Failure, ...]
    actuation_kind: ActuationKind | None
    captures: JsonObject
    outputs: JsonObject
    started_at: datetime | None


async def conduct_report(query: GetConduct, read: Reader) -> ConductReport:
    procedure, id = await read.one(procedures, query.procedure_id), query.conduct_id
    rows = await read.rows(CONDUCTS, conduct_id=id)
    conduct = next((row for row in rows if row.procedure_id == procedure.id), None)
    if conduct is None:
        raise ConductNotFoundError(f"There is no conduct {id} of this procedure.")
    if conduct.ended_at is not None:
        # It may have ended since the procedure was read.
        procedure = await read.one(procedures, query.procedure_id)
    work, walk = (
        (await work_states([conduct], read)).get(id),
        await walk_of(procedure, conduct, read),
    )
    first, status = conduct.first_iteration_index, conduct_status(procedure, conduct, work)
    began = walk.activities
    if first is not None:
        passes = frozenset({first, first + 1})
        began += await read.rows(ACTIVITIES, procedure_id=procedure.id, iteration_index=passes)
    own = [row.sampled_at for row in began if row.conduct_id == id]
    so_far, loop = step_history(walk, Phase.STEPS), loop_of(conduct)
    captures, outputs = results(walk.steps, so_far)
    is_over, walked = conduct.ended_at is not None, so_far
    step_count = len(walk.steps)
    if is_making_safe(walk):
        walked = closing_attempts(walk)
        step_count = len(walked)
    return ConductReport.of(
        conduct,
        status=status,
        lease_expired=lease_expired(status, work),
        claim_count=work.claim if work and not is_over else conduct.claim_count,
        needs=_needs(procedure, conduct, work),
        step_count=step_count,
        completed_count=conduct.completed_count
        if is_over
        else sum(map(is_finished, walked.values())),
        iteration_count=procedure.iteration_count if loop else 0,
        max_iterations=loop and loop.max_iterations,
        current=None if is_over else _current(walk),
        actuation_kind=conduct.actuation_kind
        if is_over
        else actuation_of(walk.activities, conduct.actuation_kind),
        captures=captures,
        outputs=outputs,
        started_at=min(own, default=None),
    )


async def conduct_entries(query: ListConducts, read: Reader) -> Sequence[ConductEntry]:
    procedure = await read.one(procedures, query.procedure_id)
    rows = await read.rows(CONDUCTS, procedure_id=procedure.id)
    works = await work_states(rows, read)
    found = [
        ConductEntry.of(row, status=conduct_status(procedure, row, works.get(row.conduct_id)))
        for row in sorted(rows, key=lambda row: (row.requested_at, row.conduct_id))
    ]
    return [
        each
        for each in found
        if query.status in {None, each.status} and query.outcome in {None, each.outcome}
    ]


IDLE = frozenset({ConductStatus.QUEUED, ConductStatus.ENDED})


async def work_states(conducts: Iterable[Conduct], read: Reader) -> Mapping[UUID, WorkState]:
    """Return who holds each of these conducts."""
    ids = frozenset(conduct.conduct_id for conduct in conducts)
    return {row.work_id: row for row in await read.rows(WORK_STATES, work_id=ids)}


def lease_expired(status: ConductStatus, work: WorkState | None) -> bool:
    """Return whether no worker is at work on a conduct that began."""
    return status not in IDLE and not (work and work.is_held)


def conduct_status(procedure: Procedure, conduct: Conduct, work: WorkState | None) -> ConductStatus:
    """Return how far a conduct is."""
    if conduct.ended_at is not None:
        return ConductStatus.ENDED
    if procedure.active_conduct and procedure.active_conduct.phase is Phase.CLOSING:
        return ConductStatus.CLOSING
    return ConductStatus.RUNNING if work and work.claim else ConductStatus.QUEUED


def _needs(
    procedure: Procedure, conduct: Conduct, work: WorkState | None
) -> tuple[str, ...] | None:
    last = procedure.last_conduct
    if conduct.ended_at is None:
        return ("cancel_conduct",) if work and work.is_left else None
    is_last = last and last.conduct_id == conduct.conduct_id and not procedure.active_conduct
    if not is_last or procedure.status is not ProcedureStatus.HELD:
        return None
    is_steered = conduct.root_kind is ConductKind.UNTIL_ADVISED
    return ("conduct_until_advised_from" if is_steered else "conduct_from_procedure",)


def _current(walk: WalkSoFar) -> CurrentStep | None:
    """Return the step of the last `Started` row while that row has no outcome."""
    phase = Phase.CLOSING if walk.walk_outcome else Phase.STEPS
    tried = [attempts[-1] for attempts in step_history(walk, phase).values()]
    doubted = [each for each in tried if each.outcome is None and Stage.STARTED in each.rows]
    if not doubted:
        return None
    last = max(doubted, key=lambda each: each.rows[Stage.STARTED].sequence)
    at, row = last.at, last.rows[Stage.STARTED]
    step = steps_in(walk, phase)[at.step_index]
    wait = step.wait if isinstance(step, RecipeCheckStep) else 0.0
    until = row.sampled_at + timedelta(seconds=step.timeout + wait)
    return CurrentStep.of(
        at, step_kind=row.step_kind, target=target_of(step), since=row.sampled_at, until=until
    )


# fmt: off
QUESTIONS = (
    answers("GET /procedures/{procedure_id}/conducts/{conduct_id}", GetConduct, conduct_report,
        ConductReport, ConductNotFoundError, of=procedures, about="procedure_id"),
    listed("GET /procedures/{procedure_id}/conducts", ListConducts, conduct_entries, ConductEntry,
        of=procedures, about="procedure_id"),
)
# fmt: on
