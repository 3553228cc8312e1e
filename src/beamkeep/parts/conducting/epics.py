"""Process variables of EPICS control systems, monitored over Channel Access."""

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Callable, Collection
from decimal import Decimal

import aioca
from aioca.types import AugmentedValue

from .channels.values import SEVERITIES
from .signals import SignalReading

ECHO_SECONDS = 5.0
"""The time that libca waits for the reply to an echo; it cannot be configured."""

INSPECTION_SECONDS = 1.0
INVALID = 3
STATUSES = (
    *("NO_ALARM", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM"),
    *("TIMEOUT", "HWLIMIT", "CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM"),
    *("READ_ACCESS", "WRITE_ACCESS"),
)
DISCONNECTED = 192
"""The error code ECA_DISCONN."""


def limit_silence(seconds: float) -> None:
    """Let libca notice a server that is silent for so long; call it before the first channel."""
    if seconds <= ECHO_SECONDS:
        raise ValueError(
            f"silence_seconds is {seconds:g}. Set it to more than {ECHO_SECONDS:g} seconds."
        )
    # After this time without a message libca sends an echo, and then waits for the reply.
    os.environ["EPICS_CA_CONN_TMO"] = str(seconds - ECHO_SECONDS)


class EpicsSignals:
    """Monitors process variables over Channel Access.

    The environment of the site, such as `EPICS_CA_ADDR_LIST`, says where the servers are. libca
    reads it only once, when the first signal is monitored. This includes the connection timeout:
    all instances in a process use the timeout of the instance that was created last before then.
    """

    def __init__(self, connect_timeout: float = 5.0, silence_seconds: float = 15.0) -> None:
        limit_silence(silence_seconds)
        self._connect_timeout = connect_timeout

    async def readings(self, signals: Collection[str]) -> AsyncGenerator[SignalReading]:
        """Yield one reading for every signal first, and then one for every change."""
        clock = asyncio.get_running_loop().time
        arrived = asyncio.Queue[SignalReading]()
        monitors = [_SignalMonitor(signal, arrived.put_nowait) for signal in dict.fromkeys(signals)]
        try:
            for each in monitors:
                each.subscribe(self._connect_timeout)
            inspection = clock() + INSPECTION_SECONDS
            while True:
                try:
                    async with asyncio.timeout_at(inspection):
                        reading = await arrived.get()
                except TimeoutError:
                    for each in monitors:
                        each.restore()
                    inspection = clock() + INSPECTION_SECONDS
                else:
                    yield reading
        finally:
            for each in monitors:
                each.close()


class _SignalMonitor:
    """One signal and its current subscription."""

    def __init__(self, signal: str, on_reading: Callable[[SignalReading], None]) -> None:
        self._signal = signal
        self._on_reading = on_reading
        self._subscription: aioca.Subscription | None = None

    def subscribe(self, connect_timeout: float | None = None) -> None:
        """Subscribe again; the first reading is the current value, or the timeout."""
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
        """Subscribe again if aioca closed the subscription, as it does when reading is denied."""
        if self._subscription and self._subscription.state == aioca.Subscription.CLOSED:
            self._on_reading(SignalReading(self._signal, None, "not readable"))
            self.subscribe()

    def close(self) -> None:
        """Close the subscription."""
        if self._subscription:
            self._subscription.close()
            self._subscription = None

    def _take(self, update: AugmentedValue | aioca.CANothing) -> None:
        self._on_reading(_reading(self._signal, update))
        lost = isinstance(update, aioca.CANothing) and update.errorcode == DISCONNECTED
        if lost and self._subscription:
            # Not now: aioca is iterating over the subscriptions of this channel.
            asyncio.get_running_loop().call_soon(self._renew, self._subscription)

    def _renew(self, lost: aioca.Subscription) -> None:
        # aioca restores a lost subscription itself, but with the old type of the signal, and its
        # first value may arrive before the notice of the loss.
        if self._subscription is lost:
            self.subscribe()


def _reading(signal: str, update: AugmentedValue | aioca.CANothing) -> SignalReading:
    if isinstance(update, aioca.CANothing):
        return SignalReading(signal, None, "not connected")
    if update.severity >= INVALID:
        return SignalReading(signal, None, _alarm(update))
    value = _text(update)
    if value is None:
        return SignalReading(
            signal, None, "not a single value: an array, not a number, or a state without a label"
        )
    return SignalReading(signal, value, _alarm(update) if update.severity else value)


def _text(value: object) -> str | None:
    match value:
        case str():
            # States without a label are all empty texts and cannot be told apart.
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
