"""Effects: what one step does to the control system or the compute system, and what came of it."""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from beamkeep.contexts.operation.conducted import ActuationKind, joined
from beamkeep.contexts.recipe.criteria import equal, meets
from beamkeep.contexts.recipe.steps import (
    Criterion,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    RecipeStep,
    WithinTolerance,
)
from beamkeep.contexts.seams.routes import (
    ControlRoute,
    RouteFinding,
    is_number,
    route_of,
    value_findings,
    write_findings,
)
from beamkeep.kernel import replace
from beamkeep.runtime.store import WorkLostError
from beamkeep.schemas import Json, JsonObject

from .bodies import ActionCall, ActionCancelledError, RegisteredAction, params_fault
from .compute import seam as compute
from .compute.seam import ComputeJob, ComputeSystem, JobState
from .control import (
    ControlError,
    ControlReading,
    ControlSystem,
    ControlTimeoutError,
    ControlWriteFencedError,
    ControlWriteRejectedError,
    ControlWriteStoppedError,
    HandingOver,
    Quality,
    ValueKind,
)
from .details import (
    LONGEST_ARRAY,
    LONGEST_TEXT,
    StepFailedError,
    plain,
    result_of,
    storable,
    without_excess,
)

WRITE_GRACE, ACTION_GRACE = 5.0, 10.0
"""Seconds that a write that was sent and the body of an action get when the step is cancelled."""
SINGLE_PRECISION = 1e-6
"""How far a number may be from itself after it was stored in 32 bits."""
FIRST_POLL, SLOWEST_POLL = 0.05, 1.0


class StepRun(NamedTuple):
    """One attempt of a step, as its effect sees it."""

    key: UUID
    """The submission key of the attempt."""
    inline: bool
    still_mine: Callable[[], bool]
    """Whether the worker may still act: asked immediately before an action or a job begins."""
    handing_over: HandingOver
    """Opens the moment in which a value may be handed over; nothing that was stopped passes."""
    stopping: asyncio.Event
    """Set when somebody asked that the step ends now."""
    submitted: Callable[[str], Awaitable[None]]
    """Records the id of the job that the step submitted."""
    readings: list[JsonObject]
    """The details of the `Reading` rows."""
    writing: Callable[[JsonObject], Awaitable[None]]
    """Records what the body of an action is about to write, or raises that it was stopped."""
    written: list[JsonObject]
    """The details of the `Written` rows."""
    claimed: frozenset[str] | None = None
    """The addresses that the conduct has for itself; None if it needs none."""


class Effects:
    """Carries out steps through the systems that the deployment has."""

    def __init__(
        self,
        control: ControlSystem,
        computing: ComputeSystem | None,
        actions: Mapping[str, RegisteredAction],
        routes: Sequence[ControlRoute],
    ) -> None:
        self._control, self._computing = control, computing
        self._actions, self._routes = actions, routes

    def unfit(self, step: RecipeStep) -> RouteFinding | None:
        """Return why a step cannot be executed by this program, if so."""
        if isinstance(step, RecipeActionStep):
            if (action := self._actions.get(step.name)) is None:
                return RouteFinding("ActionNotRegisteredError", f"There is no {step.name!r}.")
            fault = params_fault(action.entry, step.params)
            return RouteFinding("ActionParamsInvalidError", fault) if fault else None
        if isinstance(step, RecipeComputeStep) and self._computing is None:
            return RouteFinding("ComputeNotAvailableError", "No compute system is configured.")
        return None

    async def carry_out(self, step: RecipeStep, run: StepRun) -> JsonObject:
        """Execute a step and return the detail of its `Succeeded` row, or raise StepFailedError."""
        match step:
            case RecipeSetpointStep():
                return await self._write(step, run)
            case RecipeActionStep():
                return await self._act(step, run)
            case RecipeCheckStep():
                return await _unless(run.stopping, self._check(step, run), in_doubt=False)
            case RecipeCaptureStep():
                return await _unless(run.stopping, self._capture(step, run), in_doubt=False)
            case RecipeComputeStep():
                return await self._submit(step, run)

    async def _write(self, step: RecipeSetpointStep, run: StepRun) -> JsonObject:
        try:
            await _written(self._control, step.address, step.value, step.timeout, run)
        except ControlError as error:
            raise _failed(error) from error
        if step.verify:
            await self._verify(step, run)
        return {}

    async def _verify(self, step: RecipeSetpointStep, run: StepRun) -> None:
        """Raise unless the address reads back as the value that was written."""
        wrong = "SetpointNotVerifiedError"
        try:
            seen = await self._control.read(step.address, step.timeout)
        except ControlError as error:
            detail = plain(str(error))
            run.readings.append({"error_class": _class_of(error), "message": detail})
            unread = f"The value was written and could not be read back: {detail}"
            raise StepFailedError(wrong, unread, in_doubt=True) from error
        differs = not _reads_back(step.value, seen)
        run.readings.append(shown(seen) | {"differs": differs})
        if differs:
            detail = f"{step.address} was written {step.value} and reads {seen.value}."
            raise StepFailedError(wrong, detail, in_doubt=True)

    async def _act(self, step: RecipeActionStep, run: StepRun) -> JsonObject:
        action, kinds = self._actions[step.name], set[ActuationKind]()
        control = _ActionControl(self._control, self._routes, action=action, run=run, kinds=kinds)

        def report(reading: ControlReading) -> None:
            run.readings.append(shown(reading))

        call = ActionCall(
            params=step.params,
            control=control,
            report=report,
            cancelled=run.stopping,
            key=run.key,
        )
        if not run.still_mine():
            raise ControlWriteFencedError("The action was not started.")
        try:
            async with asyncio.timeout(step.timeout):
                body = action.body(call)
                result = await _unless(run.stopping, body, in_doubt=True, grace=ACTION_GRACE)
        except (StepFailedError, ControlWriteFencedError, WorkLostError):
            raise
        except (ActionCancelledError, ControlWriteStoppedError):
            raise _cancelled(in_doubt=True) from None
        except TimeoutError:
            late = f"The action did not end within {step.timeout:g} s."
            raise StepFailedError("ActionTimeoutError", late, in_doubt=True) from None
        except ControlError as error:
            # What the body wrote before is not known here.
            raise StepFailedError(_class_of(error), str(error), in_doubt=True) from error
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            raise StepFailedError("ActionFailedError", detail, in_doubt=True) from error
        finally:
            control.end()
        kind = joined(kinds)
        return result_of(result) | ({"actuation_kind": kind} if kind else {})

    async def _check(self, step: RecipeCheckStep, run: StepRun) -> JsonObject:
        first, last, evaluated, is_met = None, None, 0, False
        try:
            async with asyncio.timeout(step.wait or None), aclosing(self._seen(step)) as updates:
                async for reading in updates:
                    first, last, evaluated = first or reading, reading, evaluated + 1
                    is_met = reading.quality is Quality.GOOD and meets(
                        step.criterion, reading.value
                    )
                    if is_met:
                        break
        except TimeoutError:
            pass
        except ControlError as error:
            raise _failed(error) from error
        finally:
            seen = [each for each in (first, last if last is not first else None) if each]
            run.readings.extend(shown(each) | {"evaluated": evaluated} for each in seen)
        if last is None:
            raise StepFailedError(
                "ControlTimeoutError", f"No reading within {step.wait:g} s.", in_doubt=False
            )
        if not is_met:
            missed = _missed(step.criterion, last)
            raise StepFailedError("CheckFailedError", missed, in_doubt=False)
        return {}

    async def _seen(self, step: RecipeCheckStep) -> AsyncGenerator[ControlReading]:
        if not step.wait:
            yield await self._control.read(step.address, step.timeout)
            return
        async with aclosing(self._control.subscribe(step.address)) as updates:
            async for reading in updates:
                yield reading

    async def _capture(self, step: RecipeCaptureStep, run: StepRun) -> JsonObject:
        try:
            reading = await self._control.read(step.address, step.timeout)
        except ControlError as error:
            raise _failed(error) from error
        run.readings.append(shown(reading))
        value = reading.value
        if reading.quality is not Quality.GOOD:
            detail = f"The quality is {reading.quality}: {reading.quality_detail}"
            raise StepFailedError("CaptureFailedError", detail, in_doubt=False)
        if not _is_scalar(value):
            detail = "The value is not a finite number, a boolean or a short text."
            raise StepFailedError("CaptureFailedError", detail, in_doubt=False)
        return {"capture_name": step.capture_name, "value": storable(value)}

    async def _submit(self, step: RecipeComputeStep, run: StepRun) -> JsonObject:
        job = ComputeJob(
            job=step.job,
            parameters=step.parameters,
            input_uris=tuple(map(str, step.input_uris)),
            output_uri=step.output_uri,
            submission_key=run.key,
        )
        if not run.still_mine():
            raise ControlWriteFencedError("The job was not submitted.")
        try:
            job_id = await self._system.submit(job)
        except compute.ComputeError as error:
            refused = isinstance(error, compute.ComputeSubmitRejectedError)
            raise StepFailedError(_class_of(error), str(error), in_doubt=not refused) from error
        await run.submitted(job_id)
        return await self.attach(step, job_id, run, step.timeout)

    async def find(self, submission_key: UUID, job_id: str | None) -> str | None:
        """Return the job of an earlier attempt; None if it does not exist or is lost."""
        found = job_id or await self._system.find(submission_key)
        is_lost = found is None or await self._system.poll(found) is JobState.LOST
        return None if is_lost else found

    async def attach(
        self, step: RecipeComputeStep, job_id: str, run: StepRun, timeout: float
    ) -> JsonObject:
        """Wait for a job and return the detail of the `Succeeded` row."""
        try:
            waiting = self._until_done(step, job_id, timeout)
            return await _unless(run.stopping, waiting, in_doubt=True)
        except StepFailedError as failed:
            if failed.detail["error_class"] in {"StepCancelled", "ComputeTimeoutError"}:
                with suppress(compute.ComputeError):
                    await self._system.cancel(job_id)
            raise
        except compute.ComputeError as error:
            ended = not isinstance(error, compute.ComputeNotAvailableError)
            raise StepFailedError(_class_of(error), str(error), in_doubt=not ended) from error

    @property
    def _system(self) -> ComputeSystem:
        if self._computing is None:
            raise compute.ComputeNotAvailableError("No compute system is configured.")
        return self._computing

    async def _until_done(self, step: RecipeComputeStep, job_id: str, timeout: float) -> JsonObject:
        pause, state = FIRST_POLL, JobState.PENDING
        try:
            async with asyncio.timeout(max(timeout, 0)):
                while state in (JobState.PENDING, JobState.RUNNING):
                    with suppress(compute.ComputeNotAvailableError):
                        state = await self._system.poll(job_id)
                    if state in (JobState.PENDING, JobState.RUNNING):
                        await asyncio.sleep(pause)
                        pause = min(pause * 2, SLOWEST_POLL)
        except TimeoutError:
            late = f"Job {job_id} did not end within {step.timeout:g} s."
            raise StepFailedError("ComputeTimeoutError", late, in_doubt=True) from None
        if state is not JobState.SUCCEEDED:
            raise compute.ComputeJobFailedError(f"Job {job_id} is {state}.")
        kind = ActuationKind.SIMULATED if self._system.simulated else ActuationKind.PHYSICAL
        done: JsonObject = {"actuation_kind": kind}
        if step.output_name:
            artifact = await self._system.fetch_artifact(job_id)
            done["artifact"] = msgspec.to_builtins(artifact)
        if step.capture_name:
            found = await self._system.fetch_measurements(job_id)
            named = [each for each in found if each.name == step.capture_name]
            if not named:
                detail = f"Job {job_id} reported no {step.capture_name!r}."
                raise compute.ComputeMeasurementMissingError(detail)
            if len(named) > 1 or named[0].quality != Quality.GOOD or not _is_scalar(named[0].value):
                detail = f"Job {job_id} reported no single good value of {step.capture_name!r}."
                raise compute.ComputeMeasurementAmbiguousError(detail)
            done["measurements"] = msgspec.to_builtins(named)
        return done


class _ActionControl:
    """The control system for the body of one action: its own writes, by their routes."""

    def __init__(
        self,
        control: ControlSystem,
        routes: Sequence[ControlRoute],
        action: RegisteredAction,
        run: StepRun,
        kinds: set[ActuationKind],
    ) -> None:
        self._control, self._routes, self._writes = control, routes, action.entry.writes
        self._run, self._kinds, self._is_over = run, kinds, False
        self._unknown = dict[int, JsonObject]()
        """The writes that were begun and have no outcome yet, by their number."""
        self._count = 0

    async def read(self, address: str, timeout: float = 10.0) -> ControlReading:
        """Return the present value of an address."""
        self._require_time()
        self._kinds.add(actuation_kind(self._routes, address))
        return await self._control.read(address, timeout)

    async def write(self, address: str, value: Json, timeout: float = 30.0) -> None:
        """Write a value that the routes permit to an address that the action declares."""
        self._require_time()
        value = storable(value)
        self._require_open(address, value)
        kind, number = actuation_kind(self._routes, address), self._count
        self._kinds.add(kind)
        self._count += 1
        write: JsonObject = {"write": number, "address": address}
        shown_value = without_excess({"value": value})
        await self._run.writing({**write, **shown_value, "actuation_kind": kind})
        self._unknown[number] = write
        run = self._run._replace(handing_over=self._handing_over)
        outcome: JsonObject = {"outcome": "Unknown"}
        try:
            await _written(self._control, address, value, timeout, run)
            outcome = {"outcome": "Confirmed"}
        except (ControlError, StepFailedError) as error:
            failed = _failed(error) if isinstance(error, ControlError) else error
            if isinstance(failed, StepFailedError):
                is_unknown = failed.detail["in_doubt"]
                outcome = {**failed.detail, "outcome": "Unknown" if is_unknown else "Failed"}
            raise
        finally:
            if self._unknown.pop(number, None):
                self._run.written.append({**write, **outcome})

    def end(self) -> None:
        """End with the step: nothing is read or written any more, whatever the body does then."""
        self._is_over = True
        while self._unknown:
            _, write = self._unknown.popitem()
            self._run.written.append({**write, "outcome": "Unknown"})

    @asynccontextmanager
    async def _handing_over(self) -> AsyncGenerator[Callable[[], bool]]:
        self._require_time()
        async with self._run.handing_over() as may_send:
            yield lambda: not self._is_over and may_send()

    def _require_time(self) -> None:
        if self._is_over:
            raise ControlWriteStoppedError("The step of this action is over.")

    def _require_open(self, address: str, value: Json) -> None:
        """Raise when the action, the routes or the claims of the conduct do not permit a write."""
        claimed = self._run.claimed
        findings = [
            *write_findings(self._routes, address, inline=self._run.inline),
            *value_findings(self._routes, address, value),
        ]
        if address not in self._writes:
            text = f"The action does not declare that it writes {address!r}."
            findings.insert(0, RouteFinding("ControlAddressNotWritableError", text))
        if claimed is not None and address not in claimed:
            text = f"The conduct was requested without {address!r}, so that it has no claim on it."
            findings.append(RouteFinding("ControlAddressNotClaimedError", text))
        for finding in findings:
            raise StepFailedError(finding.error_class, finding.message, in_doubt=True)


def actuation_kind(routes: Sequence[ControlRoute], address: str) -> ActuationKind:
    """Return whether an address is that of a simulation."""
    route = route_of(routes, address)
    return ActuationKind.SIMULATED if route and route.simulated else ActuationKind.PHYSICAL


def shown(reading: ControlReading) -> JsonObject:
    """Return a reading as its row shows it; what is large is left out."""
    detail: JsonObject = msgspec.to_builtins(replace(reading, value=None))
    del detail["shape"], detail["index"]
    detail["value"] = value = storable(reading.value)
    is_long = isinstance(value, list) and len(value) > LONGEST_ARRAY
    if is_long or reading.value_kind in (ValueKind.IMAGE, ValueKind.TABULAR):
        detail["value"] = {"omitted": True, "shape": [*reading.shape]}
    detail["quality_detail"] = plain(reading.quality_detail)[:LONGEST_TEXT]
    return without_excess(detail)


class _HandOver:
    """The way of one value to the control system, and whether the value has taken it."""

    def __init__(self, handing_over: HandingOver) -> None:
        self._handing_over, self.sent, self.is_late = handing_over, False, False

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Callable[[], bool]]:
        async with self._handing_over() as may_send:

            def passes() -> bool:
                # Asked immediately before the value is handed over, and once.
                self.sent = may_send()
                self.is_late = not self.sent
                return self.sent

            yield passes


async def _written(
    control: ControlSystem, address: str, value: Json, timeout: float, run: StepRun
) -> None:
    """Write a value. A stop ends the wait for a connection; a value that was sent gets a time."""
    deadline = _now() + timeout
    while True:
        left = max(deadline - _now(), 0.001)
        way = _HandOver(run.handing_over)
        writing = asyncio.ensure_future(control.write(address, value, left, way.open))
        writing.add_done_callback(_forgotten)
        stop = asyncio.create_task(run.stopping.wait())
        try:
            await asyncio.wait([writing, stop], return_when=asyncio.FIRST_COMPLETED)
            if not writing.done() and way.sent:
                await asyncio.wait([writing], timeout=WRITE_GRACE)
        finally:
            stop.cancel()
            is_over = writing.done()
            if not is_over:
                writing.cancel()
                await asyncio.wait([writing], timeout=ACTION_GRACE)
        if not is_over:
            raise _cancelled(in_doubt=way.sent)
        try:
            return writing.result()
        except ControlWriteFencedError:
            # Its moment was over before the client library was ready: ask for another one.
            if not way.is_late or not run.still_mine():
                raise
            if _now() > deadline:
                late = f"The client of {address} was not ready within {timeout:g} s."
                raise ControlTimeoutError(late) from None


async def _unless[T](
    stopping: asyncio.Event,
    effect: Coroutine[Any, Any, T] | Awaitable[T],
    *,
    in_doubt: bool,
    grace: float = 0.0,
) -> T:
    """Return what an effect returns; when the step is stopped, grant a time and then cancel it."""
    doing = asyncio.ensure_future(effect)
    doing.add_done_callback(_forgotten)
    stop = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait([doing, stop], return_when=asyncio.FIRST_COMPLETED)
        if not doing.done() and grace:
            await asyncio.wait([doing], timeout=grace)
        if not doing.done():
            raise _cancelled(in_doubt=in_doubt)
        return doing.result()
    finally:
        stop.cancel()
        if not doing.done():
            doing.cancel()
            await asyncio.wait([doing], timeout=ACTION_GRACE)


def _forgotten(effect: asyncio.Future[Any]) -> None:
    """Take what an effect raised; after its step is over, nobody waits for it any more."""
    if not effect.cancelled():
        effect.exception()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _cancelled(*, in_doubt: bool) -> StepFailedError:
    return StepFailedError("StepCancelled", "The step was cancelled.", in_doubt=in_doubt)


def _failed(error: ControlError) -> Exception:
    """Return what a failed read or write means for its step."""
    if isinstance(error, ControlWriteFencedError):
        return error
    if isinstance(error, ControlWriteStoppedError):
        return _cancelled(in_doubt=False)
    in_doubt = error.sent and not isinstance(error, ControlWriteRejectedError)
    return StepFailedError(_class_of(error), str(error), in_doubt=in_doubt)


def _reads_back(value: Json, seen: ControlReading) -> bool:
    """Return whether a reading is the value that was written, as far as its type can hold it."""
    if seen.index is not None and isinstance(value, int) and not isinstance(value, bool):
        return value == seen.index
    if isinstance(value, list) and isinstance(seen.value, list):
        pairs = zip(value, seen.value, strict=False)
        return len(value) == len(seen.value) and all(_is_same(*pair) for pair in pairs)
    return _is_same(value, seen.value)


def _is_same(value: Json, seen: Json) -> bool:
    if is_number(value) and is_number(seen):
        return math.isclose(value, seen, rel_tol=SINGLE_PRECISION)
    return equal(value, seen)


def _missed(criterion: Criterion, last: ControlReading) -> str:
    if last.quality is not Quality.GOOD:
        return f"{last.value} has the quality {last.quality}: {last.quality_detail}"
    if isinstance(criterion, WithinTolerance):
        return f"{last.value} is not within {criterion.tolerance:g} of {criterion.expected}"
    return f"{last.value} does not equal {criterion.expected}"


def _is_scalar(value: Json) -> bool:
    is_short = isinstance(value, str) and len(value) <= LONGEST_TEXT
    return isinstance(value, bool) or is_number(value) or is_short


def _class_of(error: Exception) -> str:
    return type(error).__name__
