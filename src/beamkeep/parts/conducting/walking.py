"""Walking: carries out what the machine says, and writes down what happened."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import UUID

import structlog

from beamkeep.contexts.operation.activity import ACTIVITIES, activity_lock
from beamkeep.contexts.operation.advancing import BeginPass, End, EndPass, Walked
from beamkeep.contexts.operation.conduct import AdvanceProcedureConduct
from beamkeep.contexts.operation.conducted import (
    Activity,
    ActivitySource,
    Failure,
    Phase,
    Stage,
    StepAttempt,
    activity_id,
    submission_key,
)
from beamkeep.contexts.operation.ending import lifecycle
from beamkeep.contexts.operation.history import (
    Pass,
    kind_of,
    results,
    step_history,
    steps_in,
    with_rows,
)
from beamkeep.contexts.operation.loop import SteeringAdvice
from beamkeep.contexts.operation.procedure import PinnedSteps
from beamkeep.contexts.recipe.steps import (
    RecipeActionStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    makes_safe,
)
from beamkeep.contexts.run.run import RunStatus, runs
from beamkeep.contexts.seams.routes import RouteFinding
from beamkeep.contexts.starting.conducting import require_conductable
from beamkeep.kernel import Refusal, replace
from beamkeep.parts.conducting.details import StepFailedError, plain
from beamkeep.runtime import Service
from beamkeep.runtime.admission import CallTarget, UnauthorizedError
from beamkeep.runtime.store import OutcomeUnknownError, StoreUnavailableError, WorkLostError
from beamkeep.schemas import JsonObject
from beamkeep.telemetry import Telemetry
from beamkeep.workers.durable import WorkQueue, WorkStoppedError
from beamkeep.workers.leases import Holding

from .bodies import Advisor, AdvisorError
from .compute.seam import ComputeError
from .conduct.known import Known
from .conduct.loops import AskAdvisor, advisor_failure
from .conduct.walking import Attach, FailStep, Skip, Start, next_action
from .control import ControlWriteFencedError, ControlWriteStoppedError
from .effects import Effects, StepRun
from .facts import ConductFacts, ConductReader

log: structlog.stdlib.BoundLogger = structlog.get_logger()

LATE_START, ADVICE_SECONDS, RETRY_SECONDS = timedelta(seconds=60), 60.0, 0.2
FORBIDS: Mapping[Phase, Sequence[str]] = {
    Phase.STEPS: ("hold", "cancel", "abort"),
    Phase.CLOSING: ("cancel",),
}
"""What forbids the start of a step."""
INTERRUPTS: Mapping[Phase, Sequence[str]] = {
    Phase.STEPS: ("cancel", "abort"),
    Phase.CLOSING: ("cancel",),
}
"""What forbids that a value of a step that has started is handed over; a hold lets it finish."""


def _ordinal(stage: Stage, detail: JsonObject, number: int) -> int:
    """Return what tells apart the rows of one stage in one attempt."""
    match detail:
        case {"write": int(write)} if stage in (Stage.WRITING, Stage.WRITTEN):
            return write
        case _:
            return number if stage is Stage.READING else 0


class Walker:
    """Walks conducts, each on behalf of the caller who asked for it."""

    def __init__(
        self,
        service: Service,
        reader: ConductReader,
        queue: WorkQueue,
        effects: Effects,
        advisors: Mapping[str, Advisor],
        telemetry: Telemetry,
    ) -> None:
        self.service, self.reader, self.queue = service, reader, queue
        self.effects, self.advisors, self.telemetry = effects, advisors, telemetry

    async def walk(self, held: Holding) -> None:
        """Walk a conduct to its end, or until its worker is asked to stop."""
        facts = await self.reader.facts(held.work)
        if facts:
            await ConductWalk(self, held, facts).run()


class ConductWalk:
    """One claim of a conduct: it asks the machine and does what the machine says."""

    def __init__(self, walker: Walker, held: Holding, facts: ConductFacts) -> None:
        self._walker, self._held, self._facts = walker, held, facts
        self._known, self._is_over = facts.known, False

    async def run(self) -> None:
        if self._held.work.claim > 1 or self._held.work.silence > LATE_START:
            await self._gates_pass()
        while not self._is_over and not self._held.is_draining:
            action = next_action(self._known)
            match action:
                case Start() | FailStep() | Attach() | Skip():
                    if await self._may_begin(action):
                        await self._step(action)
                case AskAdvisor():
                    answer = await self._advice(action)
                    self._known = replace(self._known, answer=answer)
                case BeginPass():
                    if await self._gates_pass():
                        await self._advance(action)
                case EndPass() | Walked() | End():
                    await self._advance(action)

    async def _learn(self) -> None:
        """Fold again; what was learnt in this claim is kept."""
        facts = await self._repeated(lambda: self._walker.reader.facts(self._held.work))
        if facts is None:
            self._is_over = True
            return
        before, self._facts = self._known, facts
        self._known = replace(
            facts.known,
            refusal=before.refusal,
            answer=before.answer,
            lost_submissions=before.lost_submissions,
            flags=replace(facts.known.flags, parent_run_left=before.flags.parent_run_left),
        )

    async def _gates_pass(self) -> bool:
        """Ask the start gates again; what they refuse is known from then on."""
        known, procedure = self._known, self._facts.procedure
        is_closing = known.conduct.abandon or known.walk_outcome is not None
        steps = PinnedSteps(procedure.id, known.steps, known.closing_steps)
        try:
            await self._repeated(
                lambda: require_conductable(
                    procedure, steps, self._walker.service.sessions(), is_closing=is_closing
                )
            )
        except WorkLostError:
            raise
        except Refusal as refusal:
            target = str(refusal.facts.get("check", "start gates"))
            self._refuse(refusal, target)
            return False
        return True

    async def _may_begin(self, action: Start | FailStep | Attach | Skip) -> bool:
        """Ask for everything that a step needs; a step that makes safe needs nothing."""
        step = steps_in(self._known, action.at.phase)[action.at.step_index]
        if makes_safe(step):
            return True
        if not await self._is_permitted():
            return False
        moves = isinstance(action, Start) and isinstance(
            step, RecipeSetpointStep | RecipeActionStep
        )
        return not moves or await self._gates_pass()

    async def _is_permitted(self) -> bool:
        """Ask for permission and look at the parent run, in one read."""
        facts, run_id = self._facts, self._facts.procedure.parent_run_id
        stream = (runs.name, run_id) if run_id else None
        admission, name = self._walker.service.admission, facts.requested.command_name
        fold = self._walker.reader.run_fold
        try:
            admitted = await self._repeated(
                lambda: admission.admit(name, facts.caller, CallTarget(stream, fold))
            )
        except UnauthorizedError as refusal:
            self._refuse(refusal, name)
            return False
        if run_id and not self._known.conduct.abandon:
            session = self._walker.service.sessions()
            run = await session.adopt(runs, run_id, admitted.opened.loaded)
            if run.status is not RunStatus.RUNNING and not self._known.flags.parent_run_left:
                flags = replace(self._known.flags, parent_run_left=True)
                self._known = replace(self._known, flags=flags)
                return self._known.walk_outcome is not None
        return True

    def _refuse(self, refusal: Refusal, target: str) -> None:
        failure = lifecycle(type(refusal).__name__, str(refusal)[:500], target)
        self._known = replace(self._known, refusal=failure)

    async def _step(self, action: Start | FailStep | Attach | Skip) -> None:
        match action:
            case FailStep():
                await self._fail(action.at, action)
            case Skip():
                await self._record(action.at, (Stage.SKIPPED, {}))
            case Attach():
                await self._attach(action)
            case Start():
                await self._start(action)

    async def _start(self, action: Start) -> None:
        at, effects = action.at, self._walker.effects
        if unfit := effects.unfit(action.step):
            await self._fail(at, unfit)
            return
        try:
            started = (Stage.STARTED, action.detail)
            await self._record(at, started, unless=FORBIDS[at.phase])
        except WorkStoppedError:
            await self._learn()
            return
        run = self._step_run(at, self._known.conduct.conduct_id)
        await self._finish(at, run, lambda: effects.carry_out(action.step, run))

    async def _fail(self, at: StepAttempt, why: FailStep | RouteFinding) -> None:
        """Record that a step cannot be executed; nothing of it was."""
        failed = StepFailedError(why.error_class, why.message, in_doubt=False)
        await self._record(at, (Stage.FAILED, failed.detail))

    async def _attach(self, action: Attach) -> None:
        """Wait for the job of an earlier attempt; its outcome belongs to that attempt."""
        at, of, effects = action.at, action.conduct_id, self._walker.effects
        step, key = cast("RecipeComputeStep", action.step), submission_key(of, at)
        left = step.timeout - (datetime.now(UTC) - action.started_at).total_seconds()
        run = self._step_run(at, of)
        try:
            job_id = await effects.find(key, action.job_id)
        except ComputeError as error:
            if left > 0 and not self._held.stopping.is_set():
                await asyncio.sleep(RETRY_SECONDS)
                return
            failed = StepFailedError(type(error).__name__, str(error), in_doubt=True)
            await self._record(at, (Stage.FAILED, failed.detail), of=of)
            return
        if job_id is None:
            lost = self._known.lost_submissions | {key}
            self._known = replace(self._known, lost_submissions=lost)
            return
        if action.job_id is None:
            await run.submitted(job_id)
        await self._finish(at, run, lambda: effects.attach(step, job_id, run, left), of)

    async def _finish(
        self,
        at: StepAttempt,
        run: StepRun,
        effect: Callable[[], Awaitable[JsonObject]],
        of: UUID | None = None,
    ) -> None:
        """Carry out an effect and record what came of it."""
        try:
            outcome = Stage.SUCCEEDED, await effect()
        except StepFailedError as failed:
            outcome = Stage.FAILED, failed.detail
        except ControlWriteFencedError:
            raise WorkLostError from None
        except WorkLostError:
            raise
        except Exception as error:
            log.exception("step failed unexpectedly", conduct_id=str(self._held.work.work_id))
            failed = StepFailedError(type(error).__name__, str(error), in_doubt=True)
            outcome = Stage.FAILED, failed.detail
        readings = [(Stage.READING, detail) for detail in run.readings]
        written = [(Stage.WRITTEN, detail) for detail in run.written]
        await self._record(at, *readings, *written, outcome, of=of)

    def _step_run(self, at: StepAttempt, of: UUID) -> StepRun:
        async def submitted(job_id: str) -> None:
            await self._record(at, (Stage.SUBMITTED, {"job_id": job_id}), of=of)

        async def writing(detail: JsonObject) -> None:
            try:
                part = (Stage.WRITING, detail)
                await self._record(at, part, unless=INTERRUPTS[at.phase], of=of)
            except WorkStoppedError as stopped:
                raise ControlWriteStoppedError(str(stopped)) from None

        return StepRun(
            key=submission_key(of, at),
            inline=self._known.inline,
            still_mine=self._held.still_mine,
            handing_over=lambda: self._handing_over(INTERRUPTS[at.phase]),
            stopping=self._held.stopping,
            submitted=submitted,
            readings=[],
            writing=writing,
            written=[],
            claimed=self._facts.claimed,
        )

    @asynccontextmanager
    async def _handing_over(self, unless: Sequence[str]) -> AsyncGenerator[Callable[[], bool]]:
        """Ask the fence for the claim and a stop, and keep both while a value is handed over."""
        queue, fence, still_mine = self._walker.queue, self._held.work.fence, self._held.still_mine
        async with AsyncExitStack() as moment:
            try:
                may_send = await self._repeated(
                    lambda: moment.enter_async_context(queue.handing_over(fence, unless))
                )
            except WorkStoppedError as stopped:
                raise ControlWriteStoppedError(str(stopped)) from None
            yield lambda: still_mine() and may_send()

    async def _record(
        self,
        at: StepAttempt,
        *parts: tuple[Stage, JsonObject],
        unless: Sequence[str] = (),
        of: UUID | None = None,
    ) -> None:
        """Write rows; while the database does not answer, send the same rows again."""
        conduct_id, steps = of or self._known.conduct.conduct_id, steps_in(self._known, at.phase)
        now, requested = datetime.now(UTC), self._facts.requested
        rows = [
            Activity.of(
                requested,
                activity_id=activity_id(conduct_id, at, stage, _ordinal(stage, detail, number)),
                procedure_id=self._facts.procedure.id,
                source=ActivitySource.CONDUCTOR,
                step_kind=kind_of(steps[at.step_index]),
                stage=stage,
                detail=detail,
                sampled_at=now,
                recorded_at=now,
                conduct_id=conduct_id,
                claim=self._held.work.claim,
                phase=at.phase,
                iteration_index=at.iteration_index,
                step_index=at.step_index,
                attempt=at.attempt,
            )
            for number, (stage, detail) in enumerate(parts)
        ]
        fence, lock = self._held.work.fence, activity_lock(self._facts.procedure.id).name
        stored = await self._repeated(
            lambda: self._walker.queue.record(fence, ACTIVITIES, rows, lock=lock, unless=unless)
        )
        for row in stored:
            self._walker.telemetry.count_step(row.step_kind, row.stage)
        self._known = with_rows(self._known, at.phase, at.step_index, stored)

    async def _advice(self, action: AskAdvisor) -> SteeringAdvice | Failure:
        error_class, message = "AdvisorNotAvailableError", f"There is no {action.advisor!r}."
        if advisor := self._walker.advisors.get(action.advisor):
            try:
                async with asyncio.timeout(ADVICE_SECONDS):
                    return await asyncio.to_thread(advisor, action.evidence)
            except TimeoutError:
                error_class, message = "AdvisorTimeoutError", "No answer in time."
            except AdvisorError as error:
                error_class, message = type(error).__name__, plain(str(error))
            except ValueError as error:
                error_class, message = "AdvisorEvidenceRejectedError", plain(str(error))
            except Exception as error:
                log.exception("advisor failed", advisor=action.advisor)
                error_class, message = type(error).__name__, plain(str(error))
        return advisor_failure(self._known, action.advisor, error_class, message[:500])

    async def _advance(self, advance: BeginPass | EndPass | Walked | End) -> None:
        """Append what the machine says; fold again when the procedure has changed meanwhile."""
        work, facts, before = self._held.work, self._facts, self._facts.version
        command = AdvanceProcedureConduct(
            procedure_id=facts.procedure.id,
            conduct_id=work.work_id,
            claim=work.claim,
            owner=work.owner,
            advance=advance,
        )
        sender = self._walker.service.sender
        try:
            done = await self._repeated(
                lambda: sender.send_admitted(command, facts.admitted, facts.requested)
            )
        except WorkLostError:
            raise
        except Refusal as refused:
            await self._learn()
            if not self._is_over and self._facts.version == before:
                raise RuntimeError(f"An advance was refused twice: {refused}") from refused
            return
        self._facts = replace(facts, version=done.version or before)
        self._known = replace(self._apply(advance), answer=None)

    def _apply(self, advance: BeginPass | EndPass | Walked | End) -> Known:
        """Return what is known after an advance was appended."""
        known, now = self._known, datetime.now(UTC)
        match advance:
            case BeginPass(iteration_index=index, coordinate=coordinate):
                self._facts = replace(self._facts, pass_began_at=now)
                begun = Pass(index, known.conduct.conduct_id, coordinate)
                passes = (*known.passes, begun)
                return replace(known, passes=passes, activities=(), folded={})
            case EndPass():
                began_at = self._facts.pass_began_at or now
                captures, _ = results(known.steps, step_history(known, Phase.STEPS))
                ended = replace(
                    known.passes[-1],
                    ended=True,
                    converged=advance.converged,
                    value=advance.value,
                    captures=captures,
                    advised_stop=advance.advised_stop,
                    next_coordinate=advance.advice and advance.advice.next_coordinate,
                    took=(now - began_at).total_seconds(),
                )
                return replace(known, passes=(*known.passes[:-1], ended))
            case Walked(walk_outcome=outcome, failure=failure):
                return replace(known, walk_outcome=outcome, walk_failure=failure)
            case End():
                self._is_over = True
                self._walker.telemetry.count_conduct(advance.outcome)
                return known

    async def _repeated[T](self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return the answer; ask again while the database is away, until the worker is late."""
        while True:
            try:
                return await ask()
            except (StoreUnavailableError, OutcomeUnknownError):
                if not self._held.still_mine():
                    raise WorkLostError from None
            await asyncio.sleep(RETRY_SECONDS)
