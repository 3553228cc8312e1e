"""Actions and advisors: bodies that a deployment registers for its conducts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol
from uuid import UUID

from beamkeep.contexts.operation.loop import Evidence, SteeringAdvice
from beamkeep.contexts.seams.installation import ActionEntry
from beamkeep.kernel import Record
from beamkeep.schemas import Json, JsonObject
from beamkeep.schemas.bounds import path_text
from beamkeep.schemas.validating import violation

from .control import ControlReading


class ActionControl(Protocol):
    """The control system as an action sees it: writes go only where the action declares them."""

    async def read(self, address: str, timeout: float = 10.0) -> ControlReading:
        """Return the present value of an address."""
        ...

    async def write(self, address: str, value: Json, timeout: float = 30.0) -> None:
        """Write a value and return when the control system confirms it."""
        ...


class ActionCall(NamedTuple):
    """What the body of an action works with."""

    params: JsonObject
    control: ActionControl
    report: Callable[[ControlReading], None]
    """Records a reading with the step."""
    cancelled: asyncio.Event
    """Set when the step is to end; the body then has 10 s to clean up."""
    key: UUID
    """The same for the same attempt of the step, so that a body can recognize a repetition."""


class RegisteredAction(Record):
    """An action of the deployment."""

    entry: ActionEntry
    body: Callable[[ActionCall], Awaitable[JsonObject | None]]


def params_fault(entry: ActionEntry, params: JsonObject) -> str:
    """Return why an action does not take these params; an empty text if it does."""
    if not (found := violation(params, entry.params_schema)):
        return ""
    path, _, why = found
    return f"Params of {entry.name!r} at {path_text(path)}: {why}."


class ActionCancelledError(Exception):
    """Raised by the body of an action that ended early because the step was cancelled."""


class AdvisorError(Exception):
    """An advisor that cannot answer."""


class AdvisorNotAvailableError(AdvisorError):
    """The advisor does not answer."""


class AdvisorTimeoutError(AdvisorError):
    """The advisor did not answer in time."""


class AdvisorEvidenceRejectedError(AdvisorError):
    """The advisor cannot use this evidence or these options."""


type Advisor = Callable[[Evidence], SteeringAdvice]
"""Answers what to measure next; it runs in a thread of its own and sees no channel."""
