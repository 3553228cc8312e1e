"""Observing: signals of a control system become observations of enclosures and supplies."""

import asyncio
import math
from collections.abc import Iterable
from contextlib import aclosing
from decimal import Decimal
from typing import Annotated, Never, Self
from uuid import UUID

import structlog
from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict, model_validator

from beamkeep.contexts.enclosure.enclosure import ObserveEnclosureStatus, PermitStatus
from beamkeep.contexts.seams.routes import ControlRoute, Substrate, address_findings
from beamkeep.contexts.supply.supply import ObserveSupplyStatus, SupplyStatus
from beamkeep.kernel import Record
from beamkeep.schemas import Json
from beamkeep.workers.reporting import Monitor

from .control import ControlError, ControlReading, ControlSystem, Quality

log: structlog.stdlib.BoundLogger = structlog.get_logger()

RETRY_SECONDS = 0.5
RECONNECT_SECONDS = 1.0
LONGEST_REASON = 500


class SignalReading(Record):
    """The value of one signal as text, or the reason why it has none."""

    value: str | None
    """None when the value is invalid or the signal is not connected."""
    reason: str
    """The reason that is recorded: the value itself, its quality, or the lost connection."""


class NamedSignal(BaseModel):
    """A signal of a control system."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    signal: Annotated[str, MinLen(1), MaxLen(200)]
    """Its address in the control system, as in a route: a process variable of EPICS, or an
    attribute of a Tango device."""
    substrate: Substrate = Substrate.EPICS_CA
    """The control system, as in a route: `epics_ca`, `epics_pva` or `tango`; `in_memory` for
    tests."""

    @property
    def route(self) -> ControlRoute:
        """The route by which the signal is reached."""
        return ControlRoute(self.signal, self.substrate)

    @model_validator(mode="after")
    def address_is_sound(self) -> Self:
        """Raise ValueError when the control system cannot have this address."""
        for finding in address_findings([self.route], self.signal):
            remedy = "Correct `signal`, or name its control system in `substrate`."
            raise ValueError(f"{finding.message} {remedy}")
        return self

    def _reason(self, reading: SignalReading, *, is_expected: bool) -> str:
        has_reason = is_expected or reading.value is None
        reason = (
            reading.reason if has_reason else f"{self.signal}: unexpected value {reading.value}"
        )
        # A command must not fail because of a character that no event can hold.
        return "".join(each if each.isprintable() else "?" for each in reason)[:LONGEST_REASON]


class EnclosureSignal(NamedSignal):
    """A signal of the permit of an enclosure."""

    enclosure_id: UUID
    permitted: frozenset[str]
    """The values that mean `Permitted`."""
    not_permitted: frozenset[str]
    """The values that mean `NotPermitted`; every other one means `Unknown`."""

    def report(self, reading: SignalReading, repeated: bool) -> ObserveEnclosureStatus:
        """Return the command that reports a reading."""
        status = None
        # A value listed as both would be a mistake; it must not open a hutch.
        if reading.value in self.not_permitted:
            status = PermitStatus.NOT_PERMITTED
        elif reading.value in self.permitted:
            status = PermitStatus.PERMITTED
        return ObserveEnclosureStatus(
            enclosure_id=self.enclosure_id,
            permit_status=status or PermitStatus.UNKNOWN,
            reason=self._reason(reading, is_expected=status is not None),
            monitor_ref=self.signal,
        )


class SupplySignal(NamedSignal):
    """A signal of the state of a supply."""

    supply_id: UUID
    recovering: frozenset[str]
    """The values that mean it is there or coming back; every other one means `Unavailable`."""

    def report(self, reading: SignalReading, repeated: bool) -> ObserveSupplyStatus:
        """Return the command that reports a reading."""
        is_recovering = reading.value in self.recovering
        return ObserveSupplyStatus(
            supply_id=self.supply_id,
            status=SupplyStatus.RECOVERING if is_recovering else SupplyStatus.UNAVAILABLE,
            reason=self._reason(reading, is_expected=is_recovering),
            monitor_ref=self.signal,
            # An operator may have marked the supply since; only a change of the signal moves it.
            unchanged=repeated,
        )


def signal_reading(address: str, reading: ControlReading) -> SignalReading:
    """Return a reading as text; an alarm below INVALID does not take the value away."""
    value = None if reading.invalid else _text(reading.value)
    if reading.quality is not Quality.GOOD:
        reason = f"{reading.quality}: {reading.quality_detail}"
    else:
        reason = "not a single value" if value is None else value
    return SignalReading(value, f"{address}: {reason}")


def _text(value: Json) -> str | None:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return value or None
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return f"{Decimal(repr(value)).normalize():f}"
        case _:
            return None


class Observer:
    """Reports every change of signals, each in order."""

    def __init__(
        self,
        monitor: Monitor,
        control: ControlSystem,
        signals: Iterable[EnclosureSignal | SupplySignal],
        *,
        repeat_seconds: float,
    ) -> None:
        self._monitor, self._control, self._repeat_seconds = monitor, control, repeat_seconds
        self._signals: dict[str, list[EnclosureSignal | SupplySignal]] = {}
        for signal in signals:
            self._signals.setdefault(signal.signal, []).append(signal)
        self._last: dict[str, SignalReading] = {}
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Follow the signals until cancelled; when that fails, report all as lost, then raise."""
        # What was read before the lease was lost is out of date.
        self._last.clear()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._repeat())
                for address in self._signals:
                    tasks.create_task(self._follow(address))
        except Exception:
            for address in self._signals:
                try:
                    reason = f"{address}: the observer failed"
                    await self._take(address, SignalReading(None, reason))
                except Exception:
                    log.exception("lost signal not reported", signal=address)
            raise
        finally:
            await self._control.close()

    async def _follow(self, address: str) -> Never:
        while True:
            try:
                async with aclosing(self._control.subscribe(address)) as readings:
                    async for reading in readings:
                        await self._take(address, signal_reading(address, reading))
            except ControlError as error:
                lost = SignalReading(None, str(error))
                # A server that stays away is reported by the repetitions.
                if lost != self._last.get(address):
                    await self._take(address, lost)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _repeat(self) -> Never:
        while True:
            await asyncio.sleep(self._repeat_seconds)
            for address in self._signals:
                async with self._turn:
                    if reading := self._last.get(address):
                        await self._report(address, reading, repeated=True)

    async def _take(self, address: str, reading: SignalReading) -> None:
        # One at a time: an unchanged value must not be reported after a newer one.
        async with self._turn:
            self._last[address] = reading
            await self._report(address, reading)

    async def _report(
        self, address: str, reading: SignalReading, *, repeated: bool = False
    ) -> None:
        for signal in self._signals[address]:
            command = signal.report(reading, repeated)
            while not await self._monitor.report(command):
                await asyncio.sleep(RETRY_SECONDS)
