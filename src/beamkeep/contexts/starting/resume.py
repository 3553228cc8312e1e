"""Resuming a run: the gates of its start are asked again."""

from typing import Annotated

from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.recipe.method import methods
from beamkeep.contexts.run.run import (
    STATUS,
    DecidedRunCommand,
    InvalidRunReasonError,
    Run,
    RunCannotResumeError,
    RunResumed,
    StartAdvisory,
    decided,
    runs,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Call, Cannot
from beamkeep.kernel.values import Reason, Trimmed

from .checks import RunGround, run_ground, surrounding_gates, used_gates


class RunResumeRequiresAcknowledgementError(Cannot):
    """A gate of the start of this run fails now."""


class ResumeRun(DecidedRunCommand):
    acknowledgement: Annotated[Reason, Trimmed(InvalidRunReasonError)] | None = None
    """Why to continue if a start gate fails."""


async def resume_ground(run: Run, command: ResumeRun, read: Reader) -> RunGround:
    await decided(run, command, read)
    method = await read.one(methods, run.method_id)
    return await run_ground(run.asset_ids, method, run.subject_id, read, shows_cautions=False)


def resume_run(run: Run, command: ResumeRun, given: RunGround, call: Call) -> list[RunResumed]:
    """Continue a held run if its gates pass."""
    resumed = STATUS.allow(run.status, RunResumed.of(command, occurred_at=call.now))
    results = {**used_gates(given), **surrounding_gates(given, call.now)}
    failed = {name: result for name, result in results.items() if result.refusal}
    if not failed:
        return [resumed]
    facts = [fact for result in failed.values() for fact in result.facts]
    if command.acknowledgement is None:
        detail = " ".join(str(result.refusal) for result in failed.values())
        ways = [way for result in failed.values() for way in result.cleared_by]
        raise RunResumeRequiresAcknowledgementError(
            f"{detail} Clear this, or resume with an acknowledgement that says why the run"
            " continues.",
            checks=[*failed],
            facts=facts,
            cleared_by=[*dict.fromkeys(ways)],
        )
    return [RunResumed.of(resumed, acknowledged=tuple(map(StartAdvisory.of, facts)))]


# fmt: off
OPERATIONS = (
    runs.changes("POST /runs/{run_id}/resume", ResumeRun, resume_run, DecisionNotFoundError,
        RunCannotResumeError, RunResumeRequiresAcknowledgementError, given=resume_ground),
)
# fmt: on
