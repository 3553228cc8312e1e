"""Run: one execution of a plan, with the parameters it ran with and how it ended."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.recipe.method import Method, methods
from beamkeep.contexts.recipe.plan import carried_parameters
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    Reply,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Reason, Timestamp, trimmed, trimmed_or_none
from beamkeep.schemas import JsonObject, canonical_text, merge_patch
from beamkeep.schemas.bounds import require_bounded


class RunStatus(StrEnum):
    RUNNING = "Running"
    HELD = "Held"
    COMPLETED = "Completed"
    ABORTED = "Aborted"
    STOPPED = "Stopped"
    TRUNCATED = "Truncated"


class CautionTarget(Record):
    kind: str
    id: UUID


class AcknowledgedCaution(Record):
    """A caution that was shown to whoever started the run."""

    caution_id: UUID
    target: CautionTarget
    category: str
    severity: str


class DeclarationVersions(Record):
    """The version of the stream of each declaration that a run was started under."""

    plan: int
    practice: int
    method: int
    capability: int


class StartAdvisory(Record):
    """Something that was told at the start of a run and refused nothing."""

    kind: str
    id: UUID
    state: str
    until: datetime | None = None
    valid_from: datetime | None = None
    in_force: bool | None = None


# Events are stored for ever: add a field with a default; never rename or drop one.
class RunEvent(Event):
    run_id: UUID


class RunStarted(RunEvent):
    name: str
    plan_id: UUID
    plan_version_tag: str | None
    method_id: UUID
    asset_ids: tuple[UUID, ...]
    subject_id: UUID | None
    raid: str | None
    override_parameters: JsonObject
    effective_parameters: JsonObject
    pinned_calibration_ids: tuple[UUID, ...]
    acknowledged_cautions: tuple[AcknowledgedCaution, ...]
    decided_by_decision_id: UUID | None
    declaration_versions: DeclarationVersions | None = None
    clearance_ids: tuple[UUID, ...] = ()
    advisories: tuple[StartAdvisory, ...] = ()


class RunHeld(RunEvent):
    reason: FreeText | None
    decided_by_decision_id: UUID | None


class RunResumed(RunEvent):
    decided_by_decision_id: UUID | None


class RunCompleted(RunEvent): ...


class RunStopped(RunEvent):
    reason: FreeText
    decided_by_decision_id: UUID | None


class RunAborted(RunEvent):
    reason: FreeText
    decided_by_decision_id: UUID | None


class RunTruncated(RunEvent):
    reason: FreeText
    interrupted_at: datetime | None
    decided_by_decision_id: UUID | None


class RunAdjusted(RunEvent):
    parameters_patch: JsonObject
    effective_parameters: JsonObject
    reason: FreeText
    decided_by_decision_id: UUID | None


class RunAddedToCampaign(RunEvent):
    campaign_id: UUID


class RunRemovedFromCampaign(RunEvent):
    campaign_id: UUID
    reason: FreeText


class DecisionDebriefRequested(RunEvent):
    """An agent has taken it upon itself to debrief the run; others of its kind leave it alone."""

    debriefer_agent_id: UUID
    debriefer_kind: str
    terminal_event_id: UUID


type RunMoved = RunHeld | RunResumed | RunCompleted | RunStopped | RunAborted | RunTruncated
type RunChanged = (
    RunMoved | RunAdjusted | RunAddedToCampaign | RunRemovedFromCampaign | DecisionDebriefRequested
)


class RunNotFoundError(NotFound):
    """The run does not exist."""


class InvalidRunReasonError(Invalid):
    """The reason is not usable."""


class InvalidRunInterruptedAtError(Invalid):
    """The run cannot have been interrupted in the future; give the time it died at, or none."""


class InvalidRunParametersPatchError(Invalid):
    """The change of parameters is too large or changes nothing; name one that differs."""


class InvalidRunParametersError(Invalid):
    """The run's parameters do not fit what its method declares."""


class RunCannotHoldError(Cannot):
    """The run cannot be held: only one that is running can."""


class RunCannotResumeError(Cannot):
    """The run cannot be resumed: only one that is held can."""


class RunCannotCompleteError(Cannot):
    """The run cannot be completed: resume it first if it is held; one that has ended stays so."""


class RunCannotStopError(Cannot):
    """The run cannot be stopped: it has ended."""


class RunCannotAbortError(Cannot):
    """The run cannot be aborted: it has ended."""


class RunCannotTruncateError(Cannot):
    """The run cannot be truncated: it has ended."""


class RunCannotAdjustError(Cannot):
    """The run's parameters cannot be adjusted: it has ended."""


R = RunStatus
OPEN = frozenset({R.RUNNING, R.HELD})

STATUS: Axis[RunStatus, RunMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (RunHeld, {R.RUNNING}, R.HELD, RunCannotHoldError),
    (RunResumed, {R.HELD}, R.RUNNING, RunCannotResumeError),
    (RunCompleted, {R.RUNNING}, R.COMPLETED, RunCannotCompleteError),
    (RunStopped, OPEN, R.STOPPED, RunCannotStopError),
    (RunAborted, OPEN, R.ABORTED, RunCannotAbortError),
    (RunTruncated, OPEN, R.TRUNCATED, RunCannotTruncateError),
)
ENDS = RunCompleted, RunStopped, RunAborted, RunTruncated


class Run(Record):
    id: UUID
    name: str
    plan_id: UUID
    method_id: UUID
    asset_ids: tuple[UUID, ...]
    subject_id: UUID | None
    raid: str | None
    override_parameters: JsonObject
    effective_parameters: JsonObject
    pinned_calibration_ids: tuple[UUID, ...]
    acknowledged_cautions: tuple[AcknowledgedCaution, ...]
    created_at: datetime
    campaign_id: UUID | None = None
    status: RunStatus = RunStatus.RUNNING
    adjustment_count: int = 0
    last_status_reason: str | None = None
    interrupted_at: datetime | None = None
    declaration_versions: DeclarationVersions | None = None
    clearance_ids: tuple[UUID, ...] = ()
    """The clearances in force that covered its start, where one is required."""
    advisories: tuple[StartAdvisory, ...] = ()
    ended_at: datetime | None = None


def begin(event: RunStarted) -> Run:
    return Run(
        event.run_id,
        event.name,
        event.plan_id,
        event.method_id,
        event.asset_ids,
        event.subject_id,
        event.raid,
        event.override_parameters,
        event.effective_parameters,
        event.pinned_calibration_ids,
        event.acknowledged_cautions,
        event.occurred_at,
        declaration_versions=event.declaration_versions,
        clearance_ids=event.clearance_ids,
        advisories=event.advisories,
    )


def evolve(run: Run, event: RunChanged) -> Run:
    match event:
        case RunAdjusted():
            count = run.adjustment_count + 1
            effective = event.effective_parameters
            return replace(run, effective_parameters=effective, adjustment_count=count)
        case RunAddedToCampaign():
            return replace(run, campaign_id=event.campaign_id)
        case RunRemovedFromCampaign():
            return replace(run, campaign_id=None)
        case DecisionDebriefRequested():
            return run
        case RunTruncated():
            run = replace(run, interrupted_at=event.interrupted_at)
        case _:
            pass
    reason = None if isinstance(event, RunResumed | RunCompleted) else event.reason
    ended_at = event.occurred_at if isinstance(event, ENDS) else None
    status = STATUS.after(event)
    return replace(run, status=status, last_status_reason=reason, ended_at=ended_at)


class RunCommand(Command):
    run_id: UUID


class DecidedRunCommand(RunCommand):
    decided_by_decision_id: UUID | None = None
    """The decision this follows, recorded before."""


class HoldRun(DecidedRunCommand):
    reason: Reason | None = None


class ResumeRun(DecidedRunCommand): ...


class CompleteRun(RunCommand): ...


class StopRun(DecidedRunCommand):
    reason: Reason


class AbortRun(DecidedRunCommand):
    reason: Reason


class TruncateRun(DecidedRunCommand):
    reason: Reason
    interrupted_at: Timestamp | None = None
    """When it died, as far as that is known."""


class AdjustRun(DecidedRunCommand):
    parameters_patch: JsonObject
    """Merged onto the parameters that govern the run now; null takes one out (RFC 7396)."""
    reason: Reason


async def decided(run: Run, command: DecidedRunCommand, read: Reader) -> None:
    """The decision named must be on record; what it says is not looked at."""
    if command.decided_by_decision_id is not None:
        await read.one(decisions, command.decided_by_decision_id)


async def its_method(run: Run, command: AdjustRun, read: Reader) -> Method:
    """The method as the run was started under it; as it is now for runs that do not know."""
    await decided(run, command, read)
    if run.declaration_versions is None:
        return await read.one(methods, run.method_id)
    return await read.as_of(methods, run.method_id, run.declaration_versions.method)


def hold_run(run: Run, command: HoldRun, given: None, call: Call) -> list[RunHeld]:
    """Hold a run; it goes on only when somebody resumes it."""
    reason = trimmed_or_none(command.reason, InvalidRunReasonError)
    STATUS.require(run.status, RunHeld)
    return [RunHeld(call.now, run.id, reason, command.decided_by_decision_id)]


def resume_run(run: Run, command: ResumeRun, given: None, call: Call) -> list[RunResumed]:
    """Let a held run go on."""
    STATUS.require(run.status, RunResumed)
    return [RunResumed(call.now, run.id, command.decided_by_decision_id)]


def complete_run(run: Run, command: CompleteRun, call: Call) -> list[RunCompleted]:
    """Say that the work of a run was done."""
    STATUS.require(run.status, RunCompleted)
    return [RunCompleted(call.now, run.id)]


def stop_run(run: Run, command: StopRun, given: None, call: Call) -> list[RunStopped]:
    """End a run early, on purpose; what was taken is valid."""
    reason = trimmed(command.reason, InvalidRunReasonError)
    STATUS.require(run.status, RunStopped)
    return [RunStopped(call.now, run.id, reason, command.decided_by_decision_id)]


def abort_run(run: Run, command: AbortRun, given: None, call: Call) -> list[RunAborted]:
    """End a run because something is wrong."""
    reason = trimmed(command.reason, InvalidRunReasonError)
    STATUS.require(run.status, RunAborted)
    return [RunAborted(call.now, run.id, reason, command.decided_by_decision_id)]


def truncate_run(run: Run, command: TruncateRun, given: None, call: Call) -> list[RunTruncated]:
    """Close a run that had died unnoticed."""
    reason = trimmed(command.reason, InvalidRunReasonError)
    if command.interrupted_at is not None and command.interrupted_at > call.now:
        raise InvalidRunInterruptedAtError
    STATUS.require(run.status, RunTruncated)
    at, why = command.interrupted_at, command.decided_by_decision_id
    return [RunTruncated(call.now, run.id, reason, at, why)]


class Adjusted(Reply):
    effective_parameters: JsonObject


def adjust_run(
    run: Run, command: AdjustRun, given: Method, call: Call
) -> list[RunAdjusted | Adjusted]:
    """Change the parameters that govern a run from now on."""
    patch = require_bounded(command.parameters_patch, InvalidRunParametersPatchError)
    merged = merge_patch(run.effective_parameters, patch)
    # Not by `==`, for which `true` is 1.
    if canonical_text(merged) == canonical_text(run.effective_parameters):
        raise InvalidRunParametersPatchError
    reason = trimmed(command.reason, InvalidRunReasonError)
    effective = carried_parameters(merged, given, InvalidRunParametersError)
    if run.status not in OPEN:
        raise RunCannotAdjustError(f"It is {run.status}.")
    why = command.decided_by_decision_id
    return [
        RunAdjusted(call.now, run.id, patch, effective, reason, why),
        Adjusted(effective),
    ]


runs = Aggregate("Run", begin, evolve, RunNotFoundError)

# fmt: off
OPERATIONS = (
    runs.changes("POST /runs/{run_id}/hold", HoldRun, hold_run, DecisionNotFoundError,
        InvalidRunReasonError, RunCannotHoldError, given=decided),
    runs.changes("POST /runs/{run_id}/resume", ResumeRun, resume_run, DecisionNotFoundError,
        RunCannotResumeError, given=decided),
    runs.changes("POST /runs/{run_id}/complete", CompleteRun, complete_run,
        RunCannotCompleteError),
    runs.changes("POST /runs/{run_id}/stop", StopRun, stop_run, DecisionNotFoundError,
        InvalidRunReasonError, RunCannotStopError, given=decided),
    runs.changes("POST /runs/{run_id}/abort", AbortRun, abort_run, DecisionNotFoundError,
        InvalidRunReasonError, RunCannotAbortError, given=decided),
    runs.changes("POST /runs/{run_id}/truncate", TruncateRun, truncate_run,
        DecisionNotFoundError, InvalidRunReasonError, InvalidRunInterruptedAtError,
        RunCannotTruncateError, given=decided),
    runs.changes("POST /runs/{run_id}/adjust", AdjustRun, adjust_run, DecisionNotFoundError,
        InvalidRunParametersPatchError, InvalidRunReasonError, InvalidRunParametersError,
        RunCannotAdjustError, given=its_method),
)
# fmt: on


class ListRuns(Listing):
    """List runs, by age."""

    status: frozenset[RunStatus] | None = None
    plan_id: UUID | None = None
    subject_id: UUID | None = None
    campaign_id: UUID | None = None
    asset_id: frozenset[UUID] | None = None
    """Those that work on one of these."""
    pinned_calibration_id: UUID | None = None
    """A calibration revision the run was started with."""
    started_from: Timestamp | None = None
    started_to: Timestamp | None = None


QUESTIONS = reads(
    "/runs",
    runs,
    ListRuns,
    facets={
        "asset_id": lambda run: run.asset_ids,
        "pinned_calibration_id": lambda run: run.pinned_calibration_ids,
    },
    compared={"started_from": ("created_at", ">="), "started_to": ("created_at", "<")},
    version=2,
)
