"""Process variables of EPICS, read and written over Channel Access."""

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

import aioca
from aioca.types import AugmentedValue
from epicscorelibs.ca import cadef, dbr

from beamkeep.parts.conducting.control import (
    ControlAccessDeniedError,
    ControlError,
    ControlReading,
    ControlTimeoutError,
    ControlWriteRejectedError,
    HandingOver,
)
from beamkeep.schemas import Json

from .values import (
    ChannelType,
    fenced,
    fitted,
    label_reading,
    not_connected,
    plain_reading,
    source_of,
)

DTYPES = {
    dbr.DBR_STRING: "U39",
    dbr.DBR_SHORT: "i2",
    dbr.DBR_FLOAT: "f4",
    dbr.DBR_ENUM: "u2",
    dbr.DBR_CHAR: "u1",
    dbr.DBR_LONG: "i4",
    dbr.DBR_DOUBLE: "f8",
}
STATUSES = (
    *("NO_ALARM", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM"),
    *("TIMEOUT", "HWLIMIT", "CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM"),
    *("READ_ACCESS", "WRITE_ACCESS"),
)
DBE_PROPERTY = 8
"""Updates when the states of an enumeration are renamed; aioca has no name for it."""
ECHO_SECONDS = 5.0
"""The time that libca waits for the reply to an echo; it cannot be configured."""
INSPECTION_SECONDS = 1.0
DENIED = (368, 376)
"""The error codes ECA_NORDACCESS and ECA_NOWTACCESS."""


class ChannelAccess:
    """Channel Access; the environment of the site says where the servers are.

    libca reads its environment once in a process, when the first channel is used. This includes the
    silence: all instances in a process use that of the instance that was created last before then.
    """

    def __init__(self, *, connect_seconds: float = 5.0, silence_seconds: float = 15.0) -> None:
        if silence_seconds <= ECHO_SECONDS:
            raise ValueError(
                f"silence_seconds is {silence_seconds:g}. Set it to more than {ECHO_SECONDS:g}."
            )
        # After this time without a message libca sends an echo, and then waits for the reply.
        os.environ["EPICS_CA_CONN_TMO"] = str(silence_seconds - ECHO_SECONDS)
        self._connect_seconds = connect_seconds

    async def read(self, address: str, timeout: float) -> ControlReading:
        deadline = _now() + timeout
        await self._connect(address, timeout)
        with _errors(address):
            # Enumerations as numbers: only these tell apart states whose labels are empty.
            update = await aioca.caget(
                address, format=aioca.FORMAT_TIME, timeout=max(deadline - _now(), 0.001)
            )
            labels = await _labels(address, update.datatype, deadline)
        return _reading(update, labels)

    async def write(
        self, address: str, value: Json, timeout: float, handing_over: HandingOver
    ) -> None:
        deadline = _now() + timeout
        info = await self._connect(address, timeout)
        with _errors(address):
            labels = await _labels(address, info.datatype, deadline)
        length = info.count if info.count > 1 else None
        takes = ChannelType(DTYPES[info.datatype], labels, length)
        fit = fitted(address, value, takes)
        if not info.write:
            raise ControlAccessDeniedError(f"This client may not write {address}.")
        await self._connect(address, max(deadline - _now(), 0.001))
        async with handing_over() as may_send:
            # Nothing is awaited here until the value is with libca: a put on a channel that was
            # lost meanwhile would wait for the next connection and be sent then.
            if not _is_connected(address):
                raise not_connected(address)
            if not may_send():
                raise fenced(address)
            put = aioca.caput(
                address,
                fit if isinstance(fit, list) else [fit],
                datatype=info.datatype,
                wait=True,
                timeout=max(deadline - _now(), 0.001),
            )
            putting = _begun(put)
        try:
            with _errors(address, sent=True):
                await putting
        finally:
            putting.cancel()

    async def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        info = await self._connect(address, self._connect_seconds)
        updates = asyncio.Queue[AugmentedValue | aioca.CANothing]()
        monitor = aioca.camonitor(
            address,
            updates.put_nowait,
            events=aioca.DBE_VALUE | aioca.DBE_ALARM | DBE_PROPERTY,
            format=aioca.FORMAT_TIME,
            all_updates=True,
            notify_disconnect=True,
            connect_timeout=self._connect_seconds,
        )
        try:
            # aioca closes a monitor, without a word to its reader, when reading is denied.
            while monitor.state != aioca.Subscription.CLOSED or not updates.empty():
                try:
                    async with asyncio.timeout(INSPECTION_SECONDS):
                        update = await updates.get()
                except TimeoutError:
                    continue
                if isinstance(update, aioca.CANothing):
                    raise not_connected(address)
                with _errors(address):
                    deadline = _now() + self._connect_seconds
                    labels = await _labels(address, info.datatype, deadline)
                yield _reading(update, labels)
            raise ControlAccessDeniedError(f"This client may no longer read {address}.")
        finally:
            monitor.close()

    async def close(self) -> None:
        """Do nothing: libca keeps its connections for the whole process."""

    async def _connect(self, address: str, timeout: float) -> aioca.CAInfo:
        try:
            info = await aioca.cainfo(address, timeout=min(timeout, self._connect_seconds))
        except aioca.CANothing:
            raise not_connected(address) from None
        if info.state != cadef.cs_conn:
            raise not_connected(address)
        return info


def _begun[T](call: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Return a task that has already run until it waits for something."""
    return asyncio.Task(call, loop=asyncio.get_running_loop(), eager_start=True)


def _is_connected(address: str) -> bool:
    """Return whether a put would be handed over at once."""
    asked = _begun(aioca.cainfo(address, timeout=1.0))
    if not asked.done():
        asked.cancel()
        return False
    return asked.exception() is None and asked.result().state == cadef.cs_conn


async def _labels(address: str, datatype: int, deadline: float) -> tuple[str, ...] | None:
    if datatype != dbr.DBR_ENUM:
        return None
    wait = max(deadline - _now(), 0.001)
    update = await aioca.caget(address, format=aioca.FORMAT_CTRL, timeout=wait)
    # A server that was started again may serve another type.
    return tuple(update.enums) if update.datatype == dbr.DBR_ENUM else None


def _reading(update: AugmentedValue, labels: tuple[str, ...] | None) -> ControlReading:
    status = update.status
    named = STATUSES[status] if 0 <= status < len(STATUSES) else str(status)
    source = source_of(update.severity, f"({named})", update.timestamp)
    if labels is not None and isinstance(update, int):
        return label_reading(int(update), labels, source)
    return plain_reading(update, source)


@contextmanager
def _errors(address: str, *, sent: bool = False) -> Generator[None]:
    """Raise what libca says as errors of the seam; `sent` if a value was handed over."""
    try:
        yield
    except aioca.CANothing as error:
        if error.errorcode == cadef.ECA_TIMEOUT:
            words = f"{address} did not answer in time."
            raise ControlTimeoutError(words, sent=sent) from None
        if error.errorcode == cadef.ECA_DISCONN:
            raise not_connected(address, sent=sent) from None
        raise _refused(address, error, error.errorcode, sent=sent) from None
    except cadef.Disconnected:
        # libca raises these itself, before it hands anything over.
        raise not_connected(address) from None
    except cadef.CAException as error:
        if error.status == cadef.ECA_DISCONN:
            raise not_connected(address) from None
        raise _refused(address, error, error.status, sent=sent) from None


def _refused(address: str, error: Exception, code: int, *, sent: bool) -> ControlError:
    words = f"{address}: {error}."
    if code in DENIED:
        return ControlAccessDeniedError(words)
    return ControlWriteRejectedError(words) if sent else ControlError(words)


def _now() -> float:
    return asyncio.get_running_loop().time()
