"""Effects: what one step does to the control system or the compute system, and what came of it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
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
from beamkeep.contexts.routes import (
    ControlRoute,
    RouteFinding,
    is_number,
    route_of,
    value_findings,
    write_findings,
)
from beamkeep.schemas import Json, JsonObject

from . import compute
from .bodies import ActionCall, ActionCancelledError, RegisteredAction, params_fault
from .compute import ComputeJob, ComputeSystem, JobState
from .control import (
    ControlError,
    ControlReading,
    ControlSystem,
    ControlWriteFencedError,
    ControlWriteRejectedError,
    Quality,
    ValueKind,
)

WRITE_GRACE, ACTION_GRACE = 5.0, 10.0
"""Seconds that a write and the body of an action get to end when the step is cancelled."""
LONGEST_ARRAY, LONGEST_TEXT, LONGEST_MESSAGE = 100, 1000, 500
FIRST_POLL, SLOWEST_POLL = 0.05, 1.0


class StepFailedError(Exception):
    """A step that failed, with what its row says."""

    def __init__(self, error_class: str, message: str, *, in_doubt: bool) -> None:
        super().__init__(message)
        self.detail: JsonObject = {
            "error_class": error_class,
            "message": plain(message)[:LONGEST_MESSAGE],
            "in_doubt": in_doubt,
        }


class StepRun(NamedTuple):
    """One attempt of a step, as its effect sees it."""

    key: UUID
    """The submission key of the attempt."""
    inline: bool
    still_mine: Callable[[], bool]
    """Whether the worker may still act: asked immediately before every effect."""
    stopping: asyncio.Event
    """Set when somebody asked that the step ends now."""
    submitted: Callable[[str], Awaitable[None]]
    """Records the id of the job that the step submitted."""
    readings: list[JsonObject]
    """The details of the `Reading` rows."""


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
        writing = self._control.write(step.address, step.value, step.timeout, run.still_mine)
        try:
            await _unless(run.stopping, writing, in_doubt=True, grace=WRITE_GRACE)
        except ControlError as error:
            raise _failed(error) from error
        if step.verify:
            reading: JsonObject
            try:
                seen = await self._control.read(step.address, step.timeout)
                reading = shown(seen) | {"differs": not equal(step.value, seen.value)}
            except ControlError as error:
                reading = {"error_class": type(error).__name__, "message": plain(str(error))}
            run.readings.append(reading)
        return {}

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
        except (StepFailedError, ControlWriteFencedError):
            raise
        except ActionCancelledError:
            raise _cancelled(in_doubt=True) from None
        except TimeoutError:
            late = f"The action did not end within {step.timeout:g} s."
            raise StepFailedError("ActionTimeoutError", late, in_doubt=True) from None
        except ControlError as error:
            # What the body wrote before is not known here.
            raise StepFailedError(_class_of(error), str(error), in_doubt=True) from error
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise StepFailedError("ActionFailedError", told, in_doubt=True) from error
        kind = joined(kinds)
        return {"result": _jsonable(result)} | ({"actuation_kind": kind} if kind else {})

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
            told = f"The quality is {reading.quality}: {reading.quality_detail}"
            raise StepFailedError("CaptureFailedError", told, in_doubt=False)
        if not _is_scalar(value):
            told = "The value is not a finite number, a boolean or a short text."
            raise StepFailedError("CaptureFailedError", told, in_doubt=False)
        return {"capture_name": step.capture_name, "value": _jsonable(value)}

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
                told = f"Job {job_id} reported no {step.capture_name!r}."
                raise compute.ComputeMeasurementMissingError(told)
            if len(named) > 1 or named[0].quality != Quality.GOOD or not _is_scalar(named[0].value):
                told = f"Job {job_id} reported no single good value of {step.capture_name!r}."
                raise compute.ComputeMeasurementAmbiguousError(told)
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
        self._run, self._kinds = run, kinds

    async def read(self, address: str, timeout: float = 10.0) -> ControlReading:
        """Return the present value of an address."""
        self._kinds.add(actuation_kind(self._routes, address))
        return await self._control.read(address, timeout)

    async def write(self, address: str, value: Json, timeout: float = 30.0) -> None:
        """Write a value that the routes permit to an address that the action declares."""
        if address not in self._writes:
            told = f"The action does not declare that it writes {address!r}."
            raise StepFailedError("ControlAddressNotWritableError", told, in_doubt=True)
        findings = (
            *write_findings(self._routes, address, inline=self._run.inline),
            *value_findings(self._routes, address, value),
        )
        for finding in findings:
            raise StepFailedError(finding.error_class, finding.message, in_doubt=True)
        self._kinds.add(actuation_kind(self._routes, address))
        await self._control.write(address, value, timeout, self._run.still_mine)


def actuation_kind(routes: Sequence[ControlRoute], address: str) -> ActuationKind:
    """Return whether an address is that of a simulation."""
    route = route_of(routes, address)
    return ActuationKind.SIMULATED if route and route.simulated else ActuationKind.PHYSICAL


def shown(reading: ControlReading) -> JsonObject:
    """Return a reading as its row shows it; what is large is left out."""
    detail: JsonObject = msgspec.to_builtins(reading)
    del detail["shape"]
    is_long = isinstance(reading.value, list) and len(reading.value) > LONGEST_ARRAY
    if is_long or reading.value_kind in (ValueKind.IMAGE, ValueKind.TABULAR):
        detail["value"] = {"omitted": True, "shape": [*reading.shape]}
    return {key: _jsonable(each) for key, each in detail.items()}


async def _unless[T](
    stopping: asyncio.Event,
    effect: Coroutine[Any, Any, T] | Awaitable[T],
    *,
    in_doubt: bool,
    grace: float = 0.0,
) -> T:
    """Return what an effect returns; when the step is stopped, grant a time and then cancel it."""
    doing = asyncio.ensure_future(effect)
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


def _cancelled(*, in_doubt: bool) -> StepFailedError:
    return StepFailedError("StepCancelled", "The step was cancelled.", in_doubt=in_doubt)


def _failed(error: ControlError) -> Exception:
    """Return what a failed read or write means for its step."""
    if isinstance(error, ControlWriteFencedError):
        return error
    in_doubt = error.sent and not isinstance(error, ControlWriteRejectedError)
    return StepFailedError(_class_of(error), str(error), in_doubt=in_doubt)


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


def plain(text: str) -> str:
    """Return a text without characters that no row can hold."""
    return text.replace("\x00", "?").encode(errors="replace").decode()


def _jsonable(value: Json) -> Json:
    """Return a value of another system as rows can hold it: without NUL, NaN and infinities."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {plain(key): _jsonable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_jsonable(each) for each in value]
    return None if isinstance(value, float) and not is_number(value) else value
