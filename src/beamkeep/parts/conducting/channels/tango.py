"""Attributes of Tango devices."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

import tango
from tango import AttrDataFormat, AttrQuality, CmdArgType, DevFailed, DeviceProxy, EventType

from beamkeep.parts.conducting.control import (
    ControlAccessDeniedError,
    ControlError,
    ControlNotConnectedError,
    ControlReading,
    ControlTimeoutError,
    ControlValueCoercionError,
    ControlWriteRejectedError,
    HandingOver,
    Quality,
    ValueKind,
)
from beamkeep.schemas import Json

from .values import (
    ChannelType,
    Provenance,
    at,
    fenced,
    fitted,
    handed_over,
    label_reading,
    not_connected,
    plain_reading,
    shape_reading,
)

POLLING_SECONDS = 1.0
DTYPES = {
    CmdArgType.DevBoolean: "?",
    CmdArgType.DevUChar: "u1",
    CmdArgType.DevShort: "i2",
    CmdArgType.DevUShort: "u2",
    CmdArgType.DevLong: "i4",
    CmdArgType.DevULong: "u4",
    CmdArgType.DevLong64: "i8",
    CmdArgType.DevULong64: "u8",
    CmdArgType.DevFloat: "f4",
    CmdArgType.DevDouble: "f8",
    CmdArgType.DevString: "U",
    CmdArgType.DevEnum: "i2",
}
QUALITIES = {
    AttrQuality.ATTR_VALID: (Quality.GOOD, ""),
    AttrQuality.ATTR_CHANGING: (Quality.UNCERTAIN, "CHANGING"),
    AttrQuality.ATTR_WARNING: (Quality.UNCERTAIN, "WARNING"),
    AttrQuality.ATTR_ALARM: (Quality.BAD, "ALARM"),
    AttrQuality.ATTR_INVALID: (Quality.BAD, "INVALID"),
}
NOT_CONNECTED = {
    *("API_CantConnectToDevice", "API_ServerNotRunning", "API_DeviceNotExported"),
    *("API_AttrNotFound", "API_UnsupportedAttribute", "API_DeviceNotDefined"),
}


class _Attribute:
    """One attribute, its configuration read over a connection of its own.

    Every call makes one: a proxy has one timeout for all its calls, and one that lost its server
    repeats a call on the next connection, a write too, unless it is asked not to.
    """

    def __init__(self, name: str, device: str, seconds: float) -> None:
        self.proxy: Any = DeviceProxy(device)
        self.proxy.set_transparency_reconnection(False)
        self.limit(seconds)
        # Without the configuration, the library asks for it inside of the call.
        self.config: Any = self.proxy.get_attribute_config(name)

    def limit(self, seconds: float) -> None:
        self.proxy.set_timeout_millis(max(int(seconds * 1000), 1))

    def read(self) -> ControlReading:
        self.require_same_states()
        return _reading(self.proxy.read_attribute(self.config.name), self.config)

    def require_same_states(self) -> None:
        """Ask the device whether its states were renamed, which makes the configuration useless."""
        if _labels(self.proxy.get_attribute_config(self.config.name)) != _labels(self.config):
            raise ControlNotConnectedError(f"The states of {self.config.name} have other names.")

    def unfollow(self, following: asyncio.Future[int]) -> None:
        if not following.cancelled() and following.exception() is None:
            _started(lambda: self.proxy.unsubscribe_event(following.result()))


class Tango:
    """Tango attributes; without `nodb_host`, `TANGO_HOST` names the database.

    The calls of the library block, and so each runs in a thread of its own.
    """

    def __init__(
        self,
        *,
        connect_seconds: float = 5.0,
        silence_seconds: float = 15.0,
        nodb_host: str | None = None,
    ) -> None:
        self._connect_seconds, self._silence_seconds = connect_seconds, silence_seconds
        self._nodb_host = nodb_host

    async def read(self, address: str, timeout: float) -> ControlReading:
        deadline = _now() + timeout
        attribute = await self._connect(address, timeout)
        attribute.limit(deadline - _now())
        return await self._call(address, attribute.read)

    async def write(
        self, address: str, value: Json, timeout: float, handing_over: HandingOver
    ) -> None:
        deadline = _now() + timeout
        attribute = await self._connect(address, timeout)
        fit = fitted(address, value, _type(address, attribute.config))
        attribute.limit(deadline - _now())
        sent, begun, loop = False, asyncio.Event(), asyncio.get_running_loop()

        def hand_over() -> None:
            nonlocal sent
            if not may_send():
                raise fenced(address)
            sent = True
            loop.call_soon_threadsafe(begun.set)
            attribute.proxy.write_attribute(attribute.config, fit)

        try:
            async with handing_over() as may_send:
                writing = asyncio.wrap_future(_started(hand_over))
                await handed_over(begun, writing)
            await writing
        except DevFailed as failed:
            raise _error(address, failed, sent=sent) from None

    async def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        attribute = await self._connect(address, self._connect_seconds)
        updates, loop = asyncio.Queue[Any](), asyncio.get_running_loop()

        def take(event: Any) -> None:
            loop.call_soon_threadsafe(updates.put_nowait, event)

        def follow() -> int:
            return attribute.proxy.subscribe_event(
                attribute.config.name, EventType.CHANGE_EVENT, take
            )

        # A server that dies is silent: Tango itself notices it only after 10 to 20 s. A call of a
        # server that does not answer takes two timeouts.
        spare = (self._silence_seconds - POLLING_SECONDS) / 2
        attribute.limit(min(self._connect_seconds, spare))
        following = asyncio.ensure_future(_in_thread(follow))
        try:
            await asyncio.shield(following)
            while True:
                try:
                    async with asyncio.timeout(POLLING_SECONDS):
                        event = await updates.get()
                except TimeoutError:
                    await self._call(address, attribute.require_same_states)
                    continue
                if event.err:
                    raise ControlNotConnectedError(f"{address}: {event.errors[0].desc.strip()}")
                yield _reading(event.attr_value, attribute.config)
        except DevFailed:
            # The device neither pushes nor polls this attribute.
            while True:
                yield await self._call(address, attribute.read)
                await asyncio.sleep(POLLING_SECONDS)
        finally:
            # Not awaited: it takes many seconds when the server does not answer.
            following.add_done_callback(attribute.unfollow)

    async def close(self) -> None:
        """Do nothing: every call has its own connection, and ends with it."""

    async def _connect(self, address: str, timeout: float) -> _Attribute:
        device, _, name = address.rpartition("/")
        if self._nodb_host:
            device = f"tango://{self._nodb_host}/{device}#dbase=no"
        wait = min(timeout, self._connect_seconds)
        try:
            async with asyncio.timeout(wait):
                return await self._call(address, lambda: _Attribute(name, device, wait))
        except (TimeoutError, ControlTimeoutError):
            raise not_connected(address) from None

    async def _call[T](self, address: str, call: Callable[[], T]) -> T:
        try:
            return await _in_thread(call)
        except DevFailed as failed:
            raise _error(address, failed, sent=None) from None


async def _in_thread[T](call: Callable[[], T]) -> T:
    return await asyncio.wrap_future(_started(call))


def _started[T](call: Callable[[], T]) -> Future[T]:
    """A call in its own thread, so that it does not wait for other calls.

    The process ends only when the call has, by its timeout at the latest: a thread that is in the
    library when Python ends aborts the process.
    """
    result = Future[T]()
    result.set_running_or_notify_cancel()

    def run() -> None:
        with tango.EnsureOmniThread():
            try:
                result.set_result(call())
            except BaseException as error:
                result.set_exception(error)

    Thread(target=run, name="tango").start()
    return result


def _type(address: str, config: Any) -> ChannelType:
    dtype = DTYPES.get(CmdArgType(config.data_type))
    if dtype is None or config.data_format == AttrDataFormat.IMAGE:
        raise ControlValueCoercionError(f"{address} has a type that cannot be written.")
    length = config.max_dim_x if config.data_format == AttrDataFormat.SPECTRUM else None
    return ChannelType(dtype, _labels(config), length)


def _labels(config: Any) -> tuple[str, ...] | None:
    return tuple(config.enum_labels) if config.data_type == CmdArgType.DevEnum else None


def _reading(update: Any, config: Any) -> ControlReading:
    quality, detail = QUALITIES[update.quality]
    invalid = update.quality == AttrQuality.ATTR_INVALID
    source = Provenance(quality, detail, at(update.time.totime()), invalid=invalid)
    if update.data_format == AttrDataFormat.IMAGE or update.type == CmdArgType.DevEncoded:
        return shape_reading(ValueKind.IMAGE, (update.dim_y, update.dim_x), source)
    labels, value = _labels(config), update.value
    if update.type == CmdArgType.DevState and value is not None:
        return label_reading(0, [str(value)], source)
    if labels is not None and isinstance(value, int):
        return label_reading(value, labels, source)
    return plain_reading(value, source)


def _error(address: str, failed: DevFailed, *, sent: bool | None) -> ControlError:
    """The error of the seam; `sent` is None for a read."""
    stack: tuple[Any, ...] = failed.args
    # The reason that matters may stand anywhere in the stack.
    reasons = {str(each.reason) for each in stack}
    words = f"{address}: {' '.join(str(stack[0].desc).split())}"
    if "API_DeviceTimedOut" in reasons:
        return ControlTimeoutError(words, sent=bool(sent))
    lost = isinstance(failed, tango.ConnectionFailed | tango.CommunicationFailed)
    if lost or reasons & NOT_CONNECTED:
        return ControlNotConnectedError(words, sent=bool(sent))
    if "API_ReadOnlyMode" in reasons:
        return ControlAccessDeniedError(words)
    return ControlError(words) if sent is None else ControlWriteRejectedError(words)


def _now() -> float:
    return asyncio.get_running_loop().time()
