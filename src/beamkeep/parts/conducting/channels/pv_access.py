"""Process variables of EPICS, read and written over pvAccess."""

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from p4p.client.asyncio import Context, Disconnected, RemoteError

from beamkeep.parts.conducting.control import (
    ControlReading,
    ControlTimeoutError,
    ControlValueCoercionError,
    ControlWriteFencedError,
    ControlWriteRejectedError,
    HandingOver,
    ValueKind,
)
from beamkeep.schemas import Json

from .values import (
    ChannelType,
    Provenance,
    fenced,
    fitted,
    handed_over,
    label_reading,
    not_connected,
    plain_reading,
    shape_reading,
    source_of,
)

DTYPES = {each: each for each in "?bBhHiIfd"} | {"l": "i8", "L": "u8", "s": "U"}
"""numpy's names of the types, by their letters in p4p."""
UNBOUNDED = 1 << 31
ENUMERATION = "enum_t"
IMAGE, TABLE = "epics:nt/NTNDArray", "epics:nt/NTTable"

type Updates = asyncio.Queue[Any]
"""Values and exceptions of a monitor; p4p has no types."""


class PvAccess:
    """pvAccess; the environment of the site says where the servers are."""

    def __init__(self, *, connect_seconds: float = 5.0, silence_seconds: float = 15.0) -> None:
        self._connect_seconds = connect_seconds
        # The client gives up after four thirds of this time.
        settings = {"EPICS_PVA_CONN_TMO": str(silence_seconds * 3 / 4)}
        self._context = Context("pva", conf=settings, useenv=True, nt=False)

    async def read(self, address: str, timeout: float) -> ControlReading:
        async with self._updates(address) as updates:
            return _reading(address, await self._first(address, updates, timeout))

    async def write(
        self, address: str, value: Json, timeout: float, handing_over: HandingOver
    ) -> None:
        deadline = asyncio.get_running_loop().time() + timeout
        # The put itself does not notice that the connection is lost; a monitor does.
        async with self._updates(address) as updates:
            present = await self._first(address, updates, timeout)
            handover, done = _Handover(address, value, present=present), set[asyncio.Future[None]]()
            lost = asyncio.ensure_future(_disconnect(updates))
            put: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            try:
                async with handing_over() as handover.may_send:
                    put = asyncio.ensure_future(
                        self._context.put(address, handover.fill, wait=True, get=False)
                    )
                    await handed_over(handover.filled, put, lost)
                wait = deadline - asyncio.get_running_loop().time()
                done, _ = await asyncio.wait({put, lost}, timeout=wait, return_when=FIRST_COMPLETED)
            finally:
                # A put that is left alone is sent again on the next connection.
                put.cancel()
                lost.cancel()
                result, _ = await asyncio.gather(put, lost, return_exceptions=True)
        match result:
            case None:
                return
            case RemoteError():
                raise ControlWriteRejectedError(f"{address}: {result}.")
            case ControlWriteFencedError() if not handover.sent:
                raise fenced(address)
            case _ if not done:
                words = f"{address} did not confirm the write within {timeout:g} s."
                raise ControlTimeoutError(words, sent=handover.sent)
            case _:
                raise not_connected(address, sent=handover.sent)

    async def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        async with self._updates(address) as updates:
            yield _reading(address, await self._first(address, updates, self._connect_seconds))
            while not isinstance(update := await updates.get(), Exception):
                yield _reading(address, update)
            raise not_connected(address)

    async def close(self) -> None:
        self._context.close()

    @asynccontextmanager
    async def _updates(self, address: str) -> AsyncGenerator[Updates]:
        updates: Updates = asyncio.Queue()

        async def take(update: Any) -> None:
            updates.put_nowait(update)

        monitor = self._context.monitor(address, take, notify_disconnect=True)
        try:
            # Every monitor of p4p begins with this.
            assert isinstance(await updates.get(), Disconnected)  # noqa: S101
            yield updates
        finally:
            monitor.close()
            await monitor.wait_closed()

    async def _first(self, address: str, updates: Updates, timeout: float) -> Any:
        wait = min(timeout, self._connect_seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                update = await updates.get()
                if not isinstance(update, Exception):
                    return update
        raise not_connected(address)


class _Handover:
    """One value on its way: asked for when a server is ready for it, and given once."""

    def __init__(self, address: str, value: Json, present: Any) -> None:
        self.may_send: Callable[[], bool] = lambda: False
        self.filled, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self._field, takes = _type(address, present)
        self._value = fitted(address, value, takes)
        self.sent = False

    def fill(self, message: Any) -> None:
        """Put the value into a message, which the client then sends without waiting.

        The client calls this in its own thread, and once more after a reconnection.
        """
        if self.sent or not self.may_send():
            # The client makes this again from its type, without what it says.
            raise ControlWriteFencedError("")
        message[self._field] = self._value
        self.sent = True
        self._loop.call_soon_threadsafe(self.filled.set)


def _type(address: str, present: Any) -> tuple[str, ChannelType]:
    """The field that a put fills, and what it takes."""
    if "value" in present and not present.getID().startswith((IMAGE, TABLE)):
        code = present.type()["value"]
        if isinstance(code, str) and code.removeprefix("a") in DTYPES:
            length = UNBOUNDED if code.startswith("a") else None
            return "value", ChannelType(DTYPES[code.removeprefix("a")], None, length)
        if getattr(present["value"], "getID", str)() == ENUMERATION:
            return "value.index", ChannelType("i4", tuple(present["value.choices"]))
    raise ControlValueCoercionError(f"{address} is a {present.getID()}, which cannot be written.")


def _reading(address: str, update: Any) -> ControlReading:
    kind, source = update.getID(), _source(update)
    if kind.startswith(IMAGE):
        shape = [int(each["size"]) for each in update["dimension"]]
        return shape_reading(ValueKind.IMAGE, shape[::-1], source)
    if kind.startswith(TABLE):
        columns = [column for _, column in update["value"].items()]
        rows = max((len(column) for column in columns if column is not None), default=0)
        return shape_reading(ValueKind.TABULAR, (rows, len(columns)), source)
    if "value" not in update:
        raise ControlValueCoercionError(f"{address} is a {kind}, which has no value.")
    value = update["value"]
    if getattr(value, "getID", str)() == ENUMERATION:
        return label_reading(int(value["index"]), value["choices"], source)
    return plain_reading(value, source)


def _source(update: Any) -> Provenance:
    severity, detail, seconds = 0, "", 0.0
    if "alarm" in update:
        severity, detail = int(update["alarm.severity"]), str(update["alarm.message"])
    if "timeStamp" in update:
        stamp = update["timeStamp"]
        seconds = stamp["secondsPastEpoch"] + stamp["nanoseconds"] * 1e-9
    return source_of(severity, detail, seconds)


async def _disconnect(updates: Updates) -> None:
    while not isinstance(await updates.get(), Exception):
        pass
