"""Observing: signals of a control system become observations of enclosures and supplies."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from typing import Annotated, Never
from uuid import UUID

import structlog
from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict

from beamkeep.contexts.enclosure.enclosure import ObserveEnclosureStatus, PermitStatus
from beamkeep.contexts.supply.supply import ObserveSupplyStatus, SupplyStatus
from beamkeep.workers.reporting import Monitor

from .signals import SignalReading, SignalSource

log: structlog.stdlib.BoundLogger = structlog.get_logger()

RETRY_SECONDS = 0.5
LONGEST_REASON = 500


class NamedSignal(BaseModel):
    """A signal of the control system."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    signal: Annotated[str, MinLen(1), MaxLen(200)]
    """Its name in the control system; for EPICS, the process variable."""


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
            reason=_reason(reading, is_expected=status is not None),
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
            reason=_reason(reading, is_expected=is_recovering),
            monitor_ref=self.signal,
            # An operator may have marked the supply since; only a change of the signal moves it.
            unchanged=repeated,
        )


def _reason(reading: SignalReading, is_expected: bool) -> str:
    has_reason = is_expected or reading.value is None
    reason = reading.reason if has_reason else f"unexpected value {reading.value}"
    # A command must not fail because of a character that no event can hold.
    printable = "".join(each if each.isprintable() else "?" for each in reason)
    return f"{reading.signal}: {printable}"[:LONGEST_REASON]


class Observer:
    """Reports every change of a control system's signals, in order."""

    def __init__(
        self,
        monitor: Monitor,
        source: SignalSource,
        signals: Iterable[EnclosureSignal | SupplySignal],
        *,
        repeat_seconds: float,
    ) -> None:
        self._monitor, self._source, self._repeat_seconds = monitor, source, repeat_seconds
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
                tasks.create_task(self._follow())
                tasks.create_task(self._repeat())
        except Exception:
            for signal in self._signals:
                try:
                    await self._take(SignalReading(signal, None, "the observer failed"))
                except Exception:
                    log.exception("lost signal not reported", signal=signal)
            raise

    async def _follow(self) -> None:
        async with aclosing(self._source.readings(self._signals.keys())) as readings:
            async for reading in readings:
                await self._take(reading)
        raise RuntimeError("the readings ended")

    async def _repeat(self) -> Never:
        while True:
            await asyncio.sleep(self._repeat_seconds)
            for signal in self._signals:
                async with self._turn:
                    if reading := self._last.get(signal):
                        await self._report(reading, repeated=True)

    async def _take(self, reading: SignalReading) -> None:
        # One at a time: an unchanged value must not be reported after a newer one.
        async with self._turn:
            self._last[reading.signal] = reading
            await self._report(reading)

    async def _report(self, reading: SignalReading, repeated: bool = False) -> None:
        for signal in self._signals[reading.signal]:
            command = signal.report(reading, repeated)
            while not await self._monitor.report(command):
                await asyncio.sleep(RETRY_SECONDS)
