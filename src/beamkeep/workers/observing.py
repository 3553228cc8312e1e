"""Observing: signals of a control system become observations of enclosures and supplies."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Annotated, Never
from uuid import UUID

import structlog
from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict

from beamkeep.kernel import Record

from .reporting import Monitor
from .signals import SignalReading, SignalSource

log: structlog.stdlib.BoundLogger = structlog.get_logger()

RETRY_SECONDS = 0.5
LONGEST_REASON = 500


class SignalMapping(Record):
    """Which status of one object the values of one signal mean, and how it is reported."""

    signal: str
    operation: str
    target: Mapping[str, str]
    """The argument that names the object."""
    status_field: str
    """The argument that takes the status."""
    statuses: Mapping[str, str]
    """The status each value of the signal means."""
    lost: str
    """The status when the signal has no value, or an unexpected one."""
    when_repeated: Mapping[str, object] = {}
    """Arguments that are added when an unchanged value is reported again."""


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

    def mapping(self) -> SignalMapping:
        """Return what is reported for each value."""
        statuses = dict.fromkeys(self.not_permitted, "NotPermitted")
        return SignalMapping(
            signal=self.signal,
            operation="observe_enclosure_status",
            target={"enclosure_id": str(self.enclosure_id)},
            status_field="permit_status",
            # A value listed as both would be a mistake; it must not open a hutch.
            statuses=dict.fromkeys(self.permitted, "Permitted") | statuses,
            lost="Unknown",
        )


class SupplySignal(NamedSignal):
    """A signal of the state of a supply."""

    supply_id: UUID
    recovering: frozenset[str]
    """The values that mean it is there or coming back; every other one means `Unavailable`."""

    def mapping(self) -> SignalMapping:
        """Return what is reported for each value."""
        return SignalMapping(
            signal=self.signal,
            operation="observe_supply_status",
            target={"supply_id": str(self.supply_id)},
            status_field="status",
            statuses=dict.fromkeys(self.recovering, "Recovering"),
            lost="Unavailable",
            # An operator may have marked the supply since; only a change of the signal moves it.
            when_repeated={"unchanged": True},
        )


class Observer:
    """Reports every change of a control system's signals, in order."""

    def __init__(
        self,
        monitor: Monitor,
        source: SignalSource,
        mappings: Iterable[SignalMapping],
        *,
        repeat_seconds: float,
    ) -> None:
        self._monitor, self._source, self._repeat_seconds = monitor, source, repeat_seconds
        self._mappings: dict[str, list[SignalMapping]] = {}
        for mapping in mappings:
            self._mappings.setdefault(mapping.signal, []).append(mapping)
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
            for signal in self._mappings:
                try:
                    await self._take(SignalReading(signal, None, "the observer failed"))
                except Exception:
                    log.exception("lost signal not reported", signal=signal)
            raise

    async def _follow(self) -> None:
        async with aclosing(self._source.readings(self._mappings.keys())) as readings:
            async for reading in readings:
                await self._take(reading)
        raise RuntimeError("the readings ended")

    async def _repeat(self) -> Never:
        while True:
            await asyncio.sleep(self._repeat_seconds)
            for signal in self._mappings:
                async with self._turn:
                    if reading := self._last.get(signal):
                        await self._report(reading, repeated=True)

    async def _take(self, reading: SignalReading) -> None:
        # One at a time: an unchanged value must not be reported after a newer one.
        async with self._turn:
            self._last[reading.signal] = reading
            await self._report(reading)

    async def _report(self, reading: SignalReading, repeated: bool = False) -> None:
        for mapping in self._mappings[reading.signal]:
            value = reading.value
            status = mapping.lost if value is None else mapping.statuses.get(value)
            reason = reading.reason if status else f"unexpected value {value}"
            arguments = {
                **mapping.target,
                mapping.status_field: status or mapping.lost,
                "reason": f"{reading.signal}: {reason}"[:LONGEST_REASON],
                "monitor_ref": reading.signal,
                **(mapping.when_repeated if repeated else {}),
            }
            while not await self._monitor.report(mapping.operation, arguments):
                await asyncio.sleep(RETRY_SECONDS)
