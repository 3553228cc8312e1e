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
from .signals import Reading, SignalSource

log: structlog.stdlib.BoundLogger = structlog.get_logger()

RESTART_SECONDS, RETRY_SECONDS = 2.0, 0.5
LONGEST_REASON = 500


class Observed(Record):
    """What one signal says of one thing."""

    signal: str
    operation: str
    of: Mapping[str, str]
    """The argument that names the thing."""
    field: str
    """The argument that takes the status."""
    statuses: Mapping[str, str]
    """The status each value of the signal means."""
    lost: str
    """The status when the signal says nothing, or nothing that is known."""
    again: Mapping[str, object] = {}
    """The arguments that are added when the same is said again."""


class NamedSignal(BaseModel):
    """A signal of the control system."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    signal: Annotated[str, MinLen(1), MaxLen(200)]
    """Its name in the control system; for EPICS, the process variable."""


class EnclosureSignal(NamedSignal):
    """A signal that says whether an enclosure is permitted."""

    enclosure_id: UUID
    permitted: frozenset[str]
    """The values that mean `Permitted`."""
    not_permitted: frozenset[str]
    """The values that mean `NotPermitted`; every other one means `Unknown`."""

    def observed(self) -> Observed:
        """What is reported for each value."""
        statuses = dict.fromkeys(self.not_permitted, "NotPermitted")
        return Observed(
            self.signal,
            "observe_enclosure_status",
            {"enclosure_id": str(self.enclosure_id)},
            "permit_status",
            # A value listed as both would be a mistake; it must not open a hutch.
            dict.fromkeys(self.permitted, "Permitted") | statuses,
            "Unknown",
        )


class SupplySignal(NamedSignal):
    """A signal that says whether a supply is there."""

    supply_id: UUID
    recovering: frozenset[str]
    """The values that mean it is there or coming back; every other one means `Unavailable`."""

    def observed(self) -> Observed:
        """What is reported for each value."""
        return Observed(
            self.signal,
            "observe_supply_status",
            {"supply_id": str(self.supply_id)},
            "status",
            dict.fromkeys(self.recovering, "Recovering"),
            "Unavailable",
            # A person may have found out better since; only a change of the signal moves it.
            again={"unchanged": True},
        )


class Observer:
    """Reports what a control system says of its signals: every change, in order."""

    def __init__(
        self,
        monitor: Monitor,
        source: SignalSource,
        observed: Iterable[Observed],
        repeat_seconds: float,
    ) -> None:
        self._monitor, self._source, self._repeat_seconds = monitor, source, repeat_seconds
        self._observed: dict[str, list[Observed]] = {}
        for each in observed:
            self._observed.setdefault(each.signal, []).append(each)
        self._last: dict[str, Reading] = {}
        self._turn = asyncio.Lock()

    async def run(self) -> Never:
        """Follow the signals until cancelled; when following fails, say so of all and try again."""
        while True:
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._follow())
                    tasks.create_task(self._repeat())
            except* Exception as failed:
                log.error("observing failed", exc_info=failed)
            for signal in self._observed:
                try:
                    await self._take(Reading(signal, None, "the observer failed"))
                except Exception:
                    log.exception("a failure could not be told", signal=signal)
            await asyncio.sleep(RESTART_SECONDS)

    async def _follow(self) -> None:
        async with aclosing(self._source.readings(self._observed.keys())) as readings:
            async for reading in readings:
                await self._take(reading)
        raise RuntimeError("the readings ended")

    async def _repeat(self) -> Never:
        while True:
            await asyncio.sleep(self._repeat_seconds)
            for signal in self._observed:
                async with self._turn:
                    if reading := self._last.get(signal):
                        await self._report(reading, again=True)

    async def _take(self, reading: Reading) -> None:
        # One at a time: what is said again must not overtake what has changed since.
        async with self._turn:
            self._last[reading.signal] = reading
            await self._report(reading)

    async def _report(self, reading: Reading, again: bool = False) -> None:
        for each in self._observed[reading.signal]:
            status = each.lost if reading.value is None else each.statuses.get(reading.value)
            known = reading.reason if status else f"unexpected value {reading.value}"
            arguments = {
                **each.of,
                each.field: status or each.lost,
                "reason": f"{reading.signal}: {known}"[:LONGEST_REASON],
                "monitor_ref": reading.signal,
                **(each.again if again else {}),
            }
            while not await self._monitor.report(each.operation, arguments):
                await asyncio.sleep(RETRY_SECONDS)
