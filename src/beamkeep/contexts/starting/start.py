"""Starting a run: the command, its rule and its answer."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import Field

from beamkeep.contexts.calibration.calibration import (
    Calibration,
    CalibrationRevisionNotFoundError,
    calibration_ids,
    calibrations,
)
from beamkeep.contexts.campaign import campaign as joining
from beamkeep.contexts.campaign.campaign import Campaign, CampaignNotFoundError, campaigns
from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.recipe.plan import PlanNotFoundError
from beamkeep.contexts.run import run
from beamkeep.contexts.run.refused import refused_start
from beamkeep.contexts.run.run import InvalidRunParametersError, runs
from beamkeep.contexts.safety.clearance import IN_FORCE
from beamkeep.contexts.seams.belonging import GivenTeam
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.lineage import inserted
from beamkeep.contexts.seams.outside import outside_references
from beamkeep.contexts.subject.subject import SubjectNotFoundError
from beamkeep.contexts.trust.belonging import OF_TEAM
from beamkeep.kernel import Blank, Call, Cannot, Insert, Invalid, Record
from beamkeep.kernel.values import Name, References, Trimmed
from beamkeep.schemas import JsonObject

from . import checks
from .acknowledging import ShownCaution, acknowledgement, shown_again
from .advising import advised, run_advisories
from .checks import RunPreconditions, effective_parameters, run_checks, run_preconditions
from .gates import StartFact, require_passed

MOST_PINNED = 64


class InvalidRunNameError(Blank): ...


class InvalidRunExternalRefsError(Invalid):
    """Each outside reference must have a scheme, and a value without the scheme as prefix."""


class InvalidRunPinnedCalibrationIdsError(Invalid):
    """A run can pin at most 64 calibration revisions, each of them once."""


class RunCannotJoinCampaignError(Cannot):
    """A run cannot join a campaign that has ended."""


class StartRun(GivenTeam):
    name: Annotated[Name, Trimmed(InvalidRunNameError)]
    plan_id: UUID
    subject_id: UUID | None = None
    raid: Annotated[str, MinLen(1), MaxLen(2048)] | None = None
    """The research activity identifier (ISO 23527); it is stored and not interpreted."""
    override_parameters: JsonObject = Field(default_factory=dict)
    """Merged into the default parameters of the plan (RFC 7396); null removes a parameter."""
    pinned_calibration_ids: tuple[UUID, ...] = ()
    """The calibration revisions that the run uses."""
    campaign_id: UUID | None = None
    decided_by_decision_id: UUID | None = None
    """The recorded decision that led to this command."""
    external_refs: References = Field(default_factory=dict)
    """References to the run in other systems, by scheme, for example bluesky; at most 20."""
    progress: run.RunProgress | None = None
    """The channel that counts what the run has done, and its value when the run is complete."""


class RunStart(Record):
    """Everything that `start_run` decides on."""

    preconditions: RunPreconditions
    campaign: Campaign | None
    pinned: Mapping[UUID, Calibration]
    """The calibration of each pinned revision."""


async def pinned_calibrations(
    revision_ids: Collection[UUID], read: Reader, to_show: bool = False
) -> Mapping[UUID, Calibration]:
    """Return the calibration of each revision, or nothing if there are more than a run can pin.

    With `to_show`, raise when the caller may not see one of them.
    """
    if not revision_ids:
        return {}
    pinned = await calibration_ids(revision_ids, read)
    ids = {*pinned.values()}
    if to_show and not ids <= await read.visible(calibrations, ids):
        raise CalibrationRevisionNotFoundError
    if len(revision_ids) > MOST_PINNED:
        return {}
    found = await read.many(calibrations, sorted(ids))
    return {id: found[calibration_id] for id, calibration_id in pinned.items()}


async def run_start(command: StartRun, read: Reader) -> RunStart:
    found = await run_preconditions(command.plan_id, command.subject_id, read)
    id = command.campaign_id
    campaign = await read.one(campaigns, id, to_show=True) if id else None
    if command.decided_by_decision_id:
        await read.one(decisions, command.decided_by_decision_id)
    pinned = await pinned_calibrations(command.pinned_calibration_ids, read)
    return RunStart(found, campaign, pinned)


def start_run(
    command: StartRun, given: RunStart, call: Call
) -> list[run.RunStarted | run.RunAddedToCampaign | joining.CampaignRunAdded | Insert]:
    """Start a run of a plan, if every start check passes."""
    found, campaign, pinned = given.preconditions, given.campaign, command.pinned_calibration_ids
    if len(pinned) > MOST_PINNED:
        raise InvalidRunPinnedCalibrationIdsError(f"There are {len(pinned)} ids.")
    if len({*pinned}) < len(pinned):
        raise InvalidRunPinnedCalibrationIdsError("An id occurs more than once.")
    try:
        require_passed(run_checks(found, command.override_parameters, call.now))
        if campaign is not None and campaign.status not in joining.OPEN:
            detail = f"Campaign '{campaign.name}' is {campaign.status}."
            remedy = "Start the run without a campaign, or in another one."
            raise RunCannotJoinCampaignError(f"{detail} {remedy}")
    except Cannot as refusal:
        raise refusal.leaving(refused_start(found.plan.id, refusal, call)) from None
    clearances = (found.clearances or {}).values()
    in_force = (each.id for each in clearances if IN_FORCE.holds_of(each, call.now))
    started = run.RunStarted.of(
        command,
        occurred_at=call.now,
        run_id=call.new_id,
        plan_version_tag=found.plan.version_tag,
        method_id=found.method.id,
        asset_ids=tuple(sorted(found.plan.asset_ids)),
        effective_parameters=effective_parameters(found, command.override_parameters),
        pinned_calibration_ids=tuple(sorted(pinned)),
        acknowledged_cautions=tuple(map(acknowledgement, found.work.cautions)),
        declaration_versions=found.versions,
        clearance_ids=tuple(sorted(in_force)),
        advisories=tuple(map(run.StartAdvisory.of, run_advisories(found, given.pinned, call.now))),
        external_refs=outside_references(command.external_refs, InvalidRunExternalRefsError),
    )
    edges = inserted(run.edges_of(run.begin(started)))
    if campaign is None:
        return [started, *edges]
    added = joining.CampaignRunAdded(call.now, campaign.id, call.new_id)
    return [started, run.RunAddedToCampaign(call.now, call.new_id, campaign.id), added, *edges]


class RunStartAnswer(Record):
    acknowledged_cautions: tuple[ShownCaution, ...]
    advisories: tuple[StartFact, ...]
    """What did not refuse the start and is worth knowing."""


async def run_start_answers(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, RunStartAnswer]:
    """Return what was shown at the start of each run."""
    answers: dict[UUID, RunStartAnswer] = {}
    for id, started in (await read.many(runs, ids)).items():
        shown = await shown_again(started.acknowledged_cautions, read)
        facts = await advised(started.advisories, started.asset_ids, read)
        answers[id] = RunStartAnswer(shown, facts)
    return answers


# fmt: off
OPERATIONS = (
    runs.creates("POST /runs", StartRun, start_run, PlanNotFoundError, SubjectNotFoundError,
        CampaignNotFoundError, DecisionNotFoundError, CalibrationRevisionNotFoundError,
        InvalidRunPinnedCalibrationIdsError, InvalidRunParametersError,
        InvalidRunExternalRefsError,
        checks.RunParameterUnitsChangedError,
        checks.RunBoundPlanDeprecatedError, checks.RunOutsidePlanWindowError,
        checks.RunSubjectNotMountedError, checks.RunAssetDecommissionedError,
        checks.RunFamiliesNotSatisfiedError, checks.RunRequiresActiveClearanceError,
        checks.RunClearanceCoverageMismatchError, checks.RunRequiresAvailableSupplyError,
        checks.RunRequiresPermittedEnclosureError, checks.RunEnclosureCoverageMismatchError,
        RunCannotJoinCampaignError, *OF_TEAM, given=run_start,
        answered_with=run_start_answers),
)
# fmt: on
