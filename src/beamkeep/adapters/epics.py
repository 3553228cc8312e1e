"""Process variables of EPICS control systems, followed over Channel Access."""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Callable, Collection
from decimal import Decimal

import aioca
from aioca.types import AugmentedValue

from beamkeep.workers.signals import Reading

ECHO_SECONDS = 5.0
"""How long libca waits for a silent server to answer its echo; nothing configures it."""

INSPECTION_SECONDS = 1.0
INVALID = 3
SEVERITIES = ("NO_ALARM", "MINOR", "MAJOR", "INVALID")
STATUSES = (
    *("NO_ALARM", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM"),
    *("TIMEOUT", "HWLIMIT", "CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM"),
    *("READ_ACCESS", "WRITE_ACCESS"),
)
DISCONNECTED = 192
"""The error code ECA_DISCONN."""


class EpicsSignals:
    """Follows process variables over Channel Access.

    Where to look for them is the site's environment, `EPICS_CA_ADDR_LIST` and its companions.
    libca reads it once, when the first signal is followed, and so does it read how long a server
    may be silent: one process has one silence, that of the source made last before then.
    """

    def __init__(self, connect_timeout: float = 5.0, silence_seconds: float = 15.0) -> None:
        if silence_seconds <= ECHO_SECONDS:
            raise ValueError(f"silence is noticed after more than {ECHO_SECONDS:g} seconds")
        self._connect_timeout = connect_timeout
        # After this long without a word libca sends an echo, and only then waits for the answer.
        os.environ["EPICS_CA_CONN_TMO"] = str(silence_seconds - ECHO_SECONDS)

    async def readings(self, signals: Collection[str]) -> AsyncGenerator[Reading]:
        """One reading for every signal at first, then one for every change, until closed."""
        clock = asyncio.get_running_loop().time
        arrived = asyncio.Queue[Reading]()
        followed = [_Followed(signal, arrived.put_nowait) for signal in dict.fromkeys(signals)]
        try:
            for each in followed:
                each.subscribe(self._connect_timeout)
            inspection = clock() + INSPECTION_SECONDS
            while True:
                try:
                    async with asyncio.timeout_at(inspection):
                        reading = await arrived.get()
                except TimeoutError:
                    for each in followed:
                        each.restore()
                    inspection = clock() + INSPECTION_SECONDS
                else:
                    yield reading
        finally:
            for each in followed:
                each.close()


class _Followed:
    """One signal, and the subscription that follows it now."""

    def __init__(self, signal: str, tell: Callable[[Reading], None]) -> None:
        self._signal = signal
        self._tell = tell
        self._subscription: aioca.Subscription | None = None

    def subscribe(self, connect_timeout: float | None = None) -> None:
        """Follow the signal anew: first as it is now, or as missing once the timeout is over."""
        self.close()
        self._subscription = aioca.camonitor(
            self._signal,
            self._take,
            events=aioca.DBE_VALUE | aioca.DBE_ALARM,
            datatype=aioca.DBR_ENUM_STR,
            format=aioca.FORMAT_TIME,
            all_updates=True,
            notify_disconnect=True,
            connect_timeout=connect_timeout,
        )

    def restore(self) -> None:
        """Follow again if aioca gave up, as it does without a word to us when reading is denied."""
        if self._subscription and self._subscription.state == aioca.Subscription.CLOSED:
            self._tell(Reading(self._signal, None, "not readable"))
            self.subscribe()

    def close(self) -> None:
        """Follow the signal no longer."""
        if self._subscription:
            self._subscription.close()
            self._subscription = None

    def _take(self, update: AugmentedValue | aioca.CANothing) -> None:
        self._tell(_reading(self._signal, update))
        lost = isinstance(update, aioca.CANothing) and update.errorcode == DISCONNECTED
        if lost and self._subscription:
            # Later: aioca is on its way through the subscriptions of this channel.
            asyncio.get_running_loop().call_soon(self._renew, self._subscription)

    def _renew(self, lost: aioca.Subscription) -> None:
        # A lost subscription comes back by itself, but with the type the signal had before, and
        # its first value may even overtake the word that it was lost.
        if self._subscription is lost:
            self.subscribe()


def _reading(signal: str, update: AugmentedValue | aioca.CANothing) -> Reading:
    if isinstance(update, aioca.CANothing):
        return Reading(signal, None, "not connected")
    if update.severity >= INVALID:
        return Reading(signal, None, _alarm(update))
    value = _text(update)
    if value is None:
        return Reading(signal, None, "not one value: an array, no number, or no label")
    return Reading(signal, value, _alarm(update) if update.severity else value)


def _text(value: object) -> str | None:
    match value:
        case str():
            # A state without a label reads as nothing, and so do all the others without one.
            return str(value) or None
        case int():
            return str(int(value))
        case float() if math.isfinite(value):
            return f"{Decimal(repr(float(value))).normalize():f}"
        case _:
            return None


def _alarm(update: AugmentedValue) -> str:
    severity, status = min(update.severity, INVALID), update.status
    named = STATUSES[status] if 0 <= status < len(STATUSES) else str(status)
    return f"alarm {SEVERITIES[severity]} ({named})"
