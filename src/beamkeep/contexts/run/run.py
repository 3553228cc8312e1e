"""Run: one execution of a plan, with the parameters it ran with and how it ended."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import Gt, MaxLen
from pydantic import AllowInfNan, Strict

from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.recipe.method import Method, methods
from beamkeep.contexts.recipe.plan import carried_parameters
from beamkeep.contexts.seams.belonging import OfTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import ProvenanceEdge, ProvenanceRelation, edges_from
from beamkeep.contexts.seams.observed import ChannelName
from beamkeep.contexts.seams.place import with_all_below
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    Reply,
    Sources,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Reason, Timestamp, Trimmed
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
    """A caution that was shown to the caller who started the run."""

    caution_id: UUID
    target: CautionTarget
    category: str
    severity: str


class DeclarationVersions(Record):
    """The stream version of each declaration at the start of a run."""

    plan: int
    practice: int
    method: int
    capability: int


class StartAdvisory(Record):
    """A warning given at the start of a run, without the name of the object, which others wrote."""

    kind: str
    id: UUID
    state: str
    until: datetime | None = None
    valid_from: datetime | None = None
    in_force: bool | None = None


class InvalidRunProgressError(Invalid):
    """The progress of a run needs the name of a channel, which must not be blank."""


class RunProgress(Record):
    """The channel that counts what a run has done, and its value when the run is complete."""

    channel_name: Annotated[ChannelName, Trimmed(InvalidRunProgressError)]
    of: Annotated[  # pyright: ignore[reportIncompatibleMethodOverride]  # the word of the body
        float, Strict(), AllowInfNan(False), Gt(0)
    ]


# Events are stored for ever: add a field with a default; never rename or drop one.
class RunEvent(Event):
    run_id: UUID


class RunStarted(RunEvent):
    name: FreeText
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
    external_refs: Mapping[str, str] = {}
    progress: RunProgress | None = None
    campaign_id: UUID | None = None
    """The campaign that the run joins with its start; the membership is an event of its own."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


class RunHeld(RunEvent):
    reason: FreeText | None
    decided_by_decision_id: UUID | None


class RunResumed(RunEvent):
    decided_by_decision_id: UUID | None
    acknowledgement: FreeText | None = None
    """Why the run continues although gates of its start fail."""
    acknowledged: tuple[StartAdvisory, ...] = ()
    """The facts of these gates."""


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
    """Added to a campaign."""

    campaign_id: UUID


class RunRemovedFromCampaign(RunEvent):
    """Removed from its campaign."""

    campaign_id: UUID
    reason: FreeText


class DecisionDebriefRequested(RunEvent):
    """Debrief requested."""

    # An agent has reserved the debrief of the run; other agents of its kind skip the run.

    debriefer_agent_id: UUID
    debriefer_kind: str
    terminal_event_id: UUID


type RunMoved = RunHeld | RunResumed | RunCompleted | RunStopped | RunAborted | RunTruncated
type RunChanged = (
    RunMoved | RunAdjusted | RunAddedToCampaign | RunRemovedFromCampaign | DecisionDebriefRequested
)


class RunNotFoundError(NotFound): ...


class InvalidRunReasonError(Blank): ...


class InvalidRunInterruptedAtError(Invalid):
    """The time of interruption must not be in the future; leave it out if it is unknown."""


class InvalidRunParametersPatchError(Invalid):
    """The parameters patch is too large or changes no parameter."""


class InvalidRunParametersError(Invalid):
    """The parameters do not match the parameters schema of the method."""


class RunCannotHoldError(Cannot):
    """Only a Running run can be held."""


class RunCannotResumeError(Cannot):
    """Only a Held run can be resumed."""


class RunCannotCompleteError(Cannot):
    """Only a Running run can be completed; resume a Held run first."""


class RunCannotStopError(Cannot):
    """A run that has ended cannot be stopped."""


class RunCannotAbortError(Cannot):
    """A run that has ended cannot be aborted."""


class RunCannotTruncateError(Cannot):
    """A run that has ended cannot be truncated."""


class RunCannotAdjustError(Cannot):
    """The parameters of a run that has ended cannot be adjusted."""


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
    """The clearances in force at the start, if the deployment requires one."""
    advisories: tuple[StartAdvisory, ...] = ()
    ended_at: datetime | None = None
    external_refs: Mapping[str, str] = {}
    progress: RunProgress | None = None
    """How far a run has come is the last value of this channel, of the value it ends with."""
    team_id: UUID | None = None
    visit_id: UUID | None = None


def begin(event: RunStarted) -> Run:
    # Only events of the membership say in which campaign a run is.
    return Run.of(event, id=event.run_id, created_at=event.occurred_at, campaign_id=None)


def evolve(run: Run, event: RunChanged) -> Run:
    match event:
        case RunAdjusted():
            count, effective = run.adjustment_count + 1, event.effective_parameters
            return replace(run, adjustment_count=count, effective_parameters=effective)
        case RunAddedToCampaign():
            return replace(run, campaign_id=event.campaign_id)
        case RunRemovedFromCampaign():
            return replace(run, campaign_id=None)
        case DecisionDebriefRequested():
            return run
        case _:
            reason = None if isinstance(event, RunResumed | RunCompleted) else event.reason
            died_at = event.interrupted_at if isinstance(event, RunTruncated) else None
            ended_at = event.occurred_at if isinstance(event, ENDS) else None
            moved = replace(run, status=STATUS.after(event), last_status_reason=reason)
            return replace(moved, ended_at=ended_at, interrupted_at=died_at)


def edges_of(run: Run) -> tuple[ProvenanceEdge, ...]:
    """Return which calibration revisions a run uses."""
    return edges_from(run.id, ProvenanceRelation.PINNED, *run.pinned_calibration_ids)


class RunCommand(Command):
    run_id: UUID


class DecidedRunCommand(RunCommand):
    decided_by_decision_id: UUID | None = None
    """The recorded decision that led to this command."""


class HoldRun(DecidedRunCommand):
    reason: Annotated[Reason, Trimmed(InvalidRunReasonError)] | None = None


class CompleteRun(RunCommand): ...


class RunCommandWithReason(DecidedRunCommand):
    reason: Annotated[Reason, Trimmed(InvalidRunReasonError)]


class StopRun(RunCommandWithReason): ...


class AbortRun(RunCommandWithReason): ...


class TruncateRun(RunCommandWithReason):
    interrupted_at: Timestamp | None = None
    """When the run died, if known."""


class AdjustRun(RunCommandWithReason):
    parameters_patch: JsonObject
    """Merged into the current parameters (RFC 7396); null removes a parameter."""


async def decided(run: Run, command: DecidedRunCommand, read: Reader) -> None:
    """Raise when the named decision does not exist; its content is not checked."""
    if command.decided_by_decision_id is not None:
        await read.one(decisions, command.decided_by_decision_id)


async def its_method(run: Run, command: AdjustRun, read: Reader) -> Method:
    """Return the method as it was at the start of the run, or as it is now for old runs."""
    await decided(run, command, read)
    if run.declaration_versions is None:
        return await read.one(methods, run.method_id)
    return await read.as_of(methods, run.method_id, run.declaration_versions.method)


def hold_run(run: Run, command: HoldRun, given: None, call: Call) -> list[RunHeld]:
    """Hold a run until someone resumes it."""
    return [STATUS.allow(run.status, RunHeld.of(command, occurred_at=call.now))]


def complete_run(run: Run, command: CompleteRun, call: Call) -> list[RunCompleted]:
    """Complete a run whose work is done."""
    return [STATUS.allow(run.status, RunCompleted(call.now, run.id))]


def stop_run(run: Run, command: StopRun, given: None, call: Call) -> list[RunStopped]:
    """Stop a run early on purpose; its data are valid."""
    return [STATUS.allow(run.status, RunStopped.of(command, occurred_at=call.now))]


def abort_run(run: Run, command: AbortRun, given: None, call: Call) -> list[RunAborted]:
    """Abort a run because something is wrong."""
    return [STATUS.allow(run.status, RunAborted.of(command, occurred_at=call.now))]


def truncate_run(run: Run, command: TruncateRun, given: None, call: Call) -> list[RunTruncated]:
    """Close a run that died unnoticed, for example in a power cut."""
    at = command.interrupted_at
    if at is not None and at > call.now:
        detail = f"interrupted_at is {at}; the current time is {call.now}."
        raise InvalidRunInterruptedAtError(detail)
    return [STATUS.allow(run.status, RunTruncated.of(command, occurred_at=call.now))]


class RunAdjustment(Reply):
    effective_parameters: JsonObject


def adjust_run(
    run: Run, command: AdjustRun, given: Method, call: Call
) -> list[RunAdjusted | RunAdjustment]:
    """Change the parameters of a run from now on."""
    patch = require_bounded(command.parameters_patch, InvalidRunParametersPatchError)
    merged = merge_patch(run.effective_parameters, patch)
    # Not by `==`, for which `true` is 1.
    if canonical_text(merged) == canonical_text(run.effective_parameters):
        raise InvalidRunParametersPatchError("Give at least one parameter a new value.")
    effective = carried_parameters(merged, given, InvalidRunParametersError)
    require_open(run, RunCannotAdjustError)
    new = {"parameters_patch": patch, "effective_parameters": effective}
    return [RunAdjusted.of(command, occurred_at=call.now, **new), RunAdjustment(effective)]


def require_open(run: Run, refusal: type[Cannot]) -> None:
    """Raise the refusal when a run has ended."""
    STATUS.require_in(run.status, OPEN, refusal)


runs = Aggregate(
    "Run",
    begin,
    evolve=evolve,
    absent=RunNotFoundError,
    axes=(STATUS,),
    team=lambda event: Sources(about=(event.subject_id, event.campaign_id)),
)

# fmt: off
OPERATIONS = (
    runs.changes("POST /runs/{run_id}/hold", HoldRun, hold_run, DecisionNotFoundError,
        RunCannotHoldError, given=decided),
    runs.changes("POST /runs/{run_id}/complete", CompleteRun, complete_run,
        RunCannotCompleteError, destructive=True),
    runs.changes("POST /runs/{run_id}/stop", StopRun, stop_run, DecisionNotFoundError,
        RunCannotStopError, given=decided, destructive=True),
    runs.changes("POST /runs/{run_id}/abort", AbortRun, abort_run, DecisionNotFoundError,
        RunCannotAbortError, given=decided, destructive=True),
    runs.changes("POST /runs/{run_id}/truncate", TruncateRun, truncate_run,
        DecisionNotFoundError, InvalidRunInterruptedAtError, RunCannotTruncateError,
        given=decided, destructive=True),
    runs.changes("POST /runs/{run_id}/adjust", AdjustRun, adjust_run, DecisionNotFoundError,
        InvalidRunParametersPatchError, InvalidRunParametersError, RunCannotAdjustError,
        given=its_method),
)
# fmt: on


class ListRuns(OfTeam, Listing):
    """List runs, newest first."""

    status: frozenset[RunStatus] | None = None
    plan_id: UUID | None = None
    subject_id: UUID | None = None
    campaign_id: UUID | None = None
    asset_id: frozenset[UUID] | None = None
    """Runs that use one of these assets."""
    under_asset_id: UUID | None = None
    """Runs that use this asset or an asset below it."""
    pinned_calibration_id: UUID | None = None
    """Runs that pin this calibration revision."""
    external_ref: Annotated[str, MaxLen(251)] | None = None
    """The run with this reference in another system, as `scheme:value`."""
    started_from: Timestamp | None = None
    started_to: Timestamp | None = None


FACETS: Mapping[str, Callable[[Run], Iterable[object]]] = {
    "asset_id": lambda run: run.asset_ids,
    "pinned_calibration_id": lambda run: run.pinned_calibration_ids,
    "external_ref": lambda run: (
        f"{scheme}:{value}" for scheme, value in run.external_refs.items()
    ),
}
PERIOD = {"started_from": ("created_at", ">="), "started_to": ("created_at", "<")}
QUESTIONS = reads(
    "/runs",
    runs,
    ListRuns,
    facets=FACETS,
    compared=PERIOD,
    expanded={"under_asset_id": with_all_below},
    aliases={"under_asset_id": "asset_id"},
    version=5,
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.status,
        keywords=lambda it: (it.raid, *it.external_refs.values()),
        scope=lambda it: it.asset_ids or None,
        version=3,
    ),
)
