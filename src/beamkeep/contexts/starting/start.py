"""Starting a run: what is read for it, the rule, and what it answers."""

from collections.abc import Collection, Iterable, Mapping
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
from beamkeep.contexts.campaign.campaign import (
    Campaign,
    CampaignNotFoundError,
    CampaignRunAdded,
    CampaignStatus,
    campaigns,
)
from beamkeep.contexts.caution.coverage import cautions_covering
from beamkeep.contexts.decision.decision import DecisionNotFoundError, decisions
from beamkeep.contexts.enclosure.gate import permits
from beamkeep.contexts.equipment.asset import with_all_above
from beamkeep.contexts.recipe.capability import capabilities
from beamkeep.contexts.recipe.plan import PlanNotFoundError, followed, plans
from beamkeep.contexts.recipe.practice import practices
from beamkeep.contexts.run.refused import refused_start
from beamkeep.contexts.run.run import (
    DeclarationVersions,
    InvalidRunParametersError,
    RunAddedToCampaign,
    RunStarted,
    runs,
)
from beamkeep.contexts.safety.clearance import Clearance, clearances
from beamkeep.contexts.safety.coverage import clearances_covering
from beamkeep.contexts.subject.subject import SubjectNotFoundError, subjects
from beamkeep.contexts.supply.gate import coverage
from beamkeep.kernel import Call, Cannot, Command, Invalid, Reader, Record, replace
from beamkeep.kernel.values import Name, trimmed
from beamkeep.schemas import JsonObject

from . import checks
from .acknowledging import acknowledged, acknowledgement, shown
from .advising import advisories, advisory, live_runs_on
from .checks import (
    NOT_SHOWN,
    Surroundings,
    covering_ids,
    effective_parameters,
    require_ready,
)

MOST_PINNED = 64
JOINABLE = frozenset({CampaignStatus.PLANNED, CampaignStatus.ACTIVE, CampaignStatus.HELD})


class InvalidRunNameError(Invalid):
    """The run's name is not usable."""


class InvalidRunPinnedCalibrationIdsError(Invalid):
    """A run pins at most 64 calibration revisions, each of them once."""


class RunCannotJoinCampaignError(Cannot):
    """The campaign has ended; start the run without it, or in another."""


class StartRun(Command):
    name: Name
    plan_id: UUID
    subject_id: UUID | None = None
    raid: Annotated[str, MinLen(1), MaxLen(2048)] | None = None
    """The research activity identifier (ISO 23527) it belongs to; carried, and read by no rule."""
    override_parameters: JsonObject = Field(default_factory=dict)
    """Merged onto the plan's default parameters; null takes one out (RFC 7396)."""
    pinned_calibration_ids: tuple[UUID, ...] = ()
    """Calibration revisions the run rests on."""
    campaign_id: UUID | None = None
    decided_by_decision_id: UUID | None = None
    """The decision this follows, recorded before."""


class Start(Record):
    """What a start is decided on."""

    surroundings: Surroundings
    campaign: Campaign | None
    pinned: Mapping[UUID, Calibration]
    """The calibration of each pinned revision."""


async def surroundings(
    plan_id: UUID, subject_id: UUID | None, read: Reader, to_show: bool = False
) -> Surroundings:
    """Everything the checks look at, folded as it is now, without the names a caller may not see.

    Where it is to be shown, a subject that the caller may not see does not exist.
    """
    plan = await read.one(plans, plan_id)
    practice = await read.one(practices, plan.practice_id)
    method = await followed(plan, read)
    assets = await with_all_above(plan.asset_ids, read)
    subject = await read.one(subjects, subject_id, to_show) if subject_id else None
    if subject and not await read.visible(subjects, [subject.id]):
        subject = replace(subject, name=NOT_SHOWN)
    located = {each.located_in_enclosure_id for each in assets.values()} - {None}
    required = read.installation.require_run_clearance
    capability = await read.one(capabilities, method.method.capability_id)
    versions = DeclarationVersions(
        plan=read.version(plans, plan.id),
        practice=read.version(practices, practice.id),
        method=method.version,
        capability=read.version(capabilities, capability.id),
    )
    return Surroundings(
        plan,
        practice,
        method.method,
        assets,
        subject,
        await _covering(subject_id, assets, read) if required else None,
        await coverage(method.method.needed_supplies, plan.asset_ids, read),
        await permits(sorted(id for id in located if id), read),
        shown(await cautions_covering(plan.asset_ids, read)),
        method,
        versions,
        await live_runs_on(plan.asset_ids, read),
    )


async def calibrations_of(
    revision_ids: Collection[UUID], read: Reader, to_show: bool = False
) -> Mapping[UUID, Calibration]:
    """The calibration of each revision; of more than a run may pin, which is refused, none.

    Where they are to be shown, a revision that the caller may not see does not exist.
    """
    if not revision_ids:
        return {}
    pinned = await calibration_ids(revision_ids, read)
    of = {*pinned.values()}
    if to_show and not of <= await read.visible(calibrations, of):
        raise CalibrationRevisionNotFoundError
    if len(revision_ids) > MOST_PINNED:
        return {}
    found = await read.many(calibrations, sorted(of))
    return {id: found[calibration_id] for id, calibration_id in pinned.items()}


async def _covering(
    subject_id: UUID | None, asset_ids: Iterable[UUID], read: Reader
) -> Mapping[UUID, Clearance]:
    """The clearances that name this work; of another's, not its title."""
    found = await clearances_covering(subject_id, asset_ids, read)
    visible = await read.visible(clearances, found)
    return {
        id: each if id in visible else replace(each, title=NOT_SHOWN) for id, each in found.items()
    }


async def start(command: StartRun, read: Reader) -> Start:
    found = await surroundings(command.plan_id, command.subject_id, read)
    campaign = await read.one(campaigns, command.campaign_id) if command.campaign_id else None
    if command.decided_by_decision_id:
        await read.one(decisions, command.decided_by_decision_id)
    return Start(found, campaign, await calibrations_of(command.pinned_calibration_ids, read))


def start_run(
    command: StartRun, given: Start, call: Call
) -> list[RunStarted | RunAddedToCampaign | CampaignRunAdded]:
    """Start a run of a plan, once everything it needs is there and permits it."""
    around, campaign, pinned = given.surroundings, given.campaign, command.pinned_calibration_ids
    name = trimmed(command.name, InvalidRunNameError)
    if len(pinned) > MOST_PINNED or len({*pinned}) < len(pinned):
        raise InvalidRunPinnedCalibrationIdsError
    try:
        require_ready(around, command.override_parameters, call.now)
        if campaign is not None and campaign.status not in JOINABLE:
            raise RunCannotJoinCampaignError(f"{campaign.name} is {campaign.status}.")
    except Cannot as refusal:
        raise refusal.leaving(refused_start(around.plan.id, refusal, call)) from None
    started = RunStarted(
        call.now,
        call.new_id,
        name,
        around.plan.id,
        around.plan.version_tag,
        around.method.id,
        tuple(sorted(around.plan.asset_ids)),
        command.subject_id,
        command.raid,
        command.override_parameters,
        effective_parameters(around, command.override_parameters),
        tuple(sorted(pinned)),
        tuple(acknowledgement(each) for each in around.cautions),
        command.decided_by_decision_id,
        around.versions,
        tuple(covering_ids(around, call.now)),
        tuple(advisory(each) for each in advisories(around, given.pinned, call.now)),
    )
    if campaign is None:
        return [started]
    return [
        started,
        RunAddedToCampaign(call.now, call.new_id, campaign.id),
        CampaignRunAdded(call.now, campaign.id, call.new_id),
    ]


# fmt: off
OPERATIONS = (
    runs.creates("POST /runs", StartRun, start_run, PlanNotFoundError, SubjectNotFoundError,
        CampaignNotFoundError, DecisionNotFoundError, CalibrationRevisionNotFoundError,
        InvalidRunNameError, InvalidRunPinnedCalibrationIdsError, InvalidRunParametersError,
        checks.RunParameterUnitsChangedError,
        checks.RunBoundPlanDeprecatedError, checks.RunOutsidePlanWindowError,
        checks.RunSubjectNotMountedError, checks.RunAssetDecommissionedError,
        checks.RunFamiliesNotSatisfiedError, checks.RunRequiresActiveClearanceError,
        checks.RunClearanceCoverageMismatchError, checks.RunRequiresAvailableSupplyError,
        checks.RunRequiresPermittedEnclosureError, checks.RunEnclosureCoverageMismatchError,
        RunCannotJoinCampaignError, given=start, answered_with=acknowledged),
)
# fmt: on
