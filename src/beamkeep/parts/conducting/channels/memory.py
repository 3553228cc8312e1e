"""A control system in memory, whose values, delays, errors and disconnects are scripted."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from beamkeep.parts.conducting.control import (
    ControlAccessDeniedError,
    ControlError,
    ControlReading,
    ControlTimeoutError,
    HandingOver,
    Quality,
)
from beamkeep.schemas import Json

from .values import (
    ChannelType,
    Provenance,
    fenced,
    fitted,
    label_reading,
    not_connected,
    plain_reading,
)

UNBOUNDED = 1 << 62
"""Arrays in memory may grow."""


class ChannelSimulator:
    """Channels in memory; an address that nobody gave a value has 0.0."""

    def __init__(self, values: Mapping[str, Json] | None = None) -> None:
        self.values = dict[str, Json](values or {})
        self.labels = dict[str, Sequence[str]]()
        """The states of enumerations; their values are numbers."""
        self.alarms = dict[str, tuple[Quality, str]]()
        self.errors = dict[str, ControlError]()
        """What reads and writes of an address raise; a write that was `sent` is carried out."""
        self.read_only = set[str]()
        self.writes = list[tuple[str, Json]]()
        """Every value that was handed over, in order."""
        self._held = set[str]()
        self._clamped = dict[str, Json]()
        self._down = set[str]()
        self._absent = dict[str, asyncio.Event]()
        self._unconfirmed = dict[str, list[asyncio.Future[None]]]()
        self._followers = dict[str, list[asyncio.Queue[ControlReading | ControlError]]]()

    def put(self, address: str, value: Json) -> None:
        """Change a value from the side of the control system."""
        self.values[address] = value
        for updates in self._followers.get(address, ()):
            updates.put_nowait(self._reading(address))

    def set_alarm(self, address: str, quality: Quality, detail: str) -> None:
        """Change the quality of a value."""
        self.alarms[address] = quality, detail
        self.put(address, self.values.get(address, 0.0))

    def clamp(self, address: str, value: Json) -> None:
        """Take this value whatever is written, as a record with limits does."""
        self._clamped[address] = value

    def hold(self, address: str) -> None:
        """Leave writes to an address unconfirmed until `release`."""
        self._held.add(address)

    def release(self, address: str) -> None:
        """Confirm the writes that are held, and hold no more."""
        self._held.discard(address)
        for each in self._unconfirmed.get(address, ()):
            if not each.done():
                each.set_result(None)

    def disconnect(self, address: str) -> None:
        """Lose the connection to an address: end its writes and subscriptions, refuse new ones."""
        self._down.add(address)
        self._cut(address)

    def connect(self, address: str) -> None:
        """Restore the connection to an address."""
        self._down.discard(address)

    def go_away(self, address: str) -> None:
        """Leave writes to an address waiting for their connection until `come_back`."""
        self._absent.setdefault(address, asyncio.Event())

    def come_back(self, address: str) -> None:
        """Let the writes that wait for their connection continue."""
        if found := self._absent.pop(address, None):
            found.set()

    async def read(self, address: str, timeout: float) -> ControlReading:
        if error := self._reach(address):
            raise error
        return self._reading(address)

    async def write(
        self, address: str, value: Json, timeout: float, handing_over: HandingOver
    ) -> None:
        if self._absent.get(address):
            await self._found(address, timeout)
        error = self._reach(address)
        if error and not error.sent:
            raise error
        fit = fitted(address, value, self._type(address, value))
        if address in self.read_only:
            raise ControlAccessDeniedError(f"{address} is read-only.")
        async with handing_over() as may_send:
            if not may_send():
                raise fenced(address)
            self.writes.append((address, value))
            self.put(address, self._clamped.get(address, fit))
        if error:
            raise error
        if address in self._held:
            with self._unconfirmed_write(address) as confirmed:
                try:
                    await asyncio.wait_for(confirmed, timeout)
                except TimeoutError:
                    words = f"{address} did not confirm the write within {timeout:g} s."
                    raise ControlTimeoutError(words, sent=True) from None

    async def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        if error := self._reach(address):
            raise error
        updates = asyncio.Queue[ControlReading | ControlError]()
        updates.put_nowait(self._reading(address))
        followers = self._followers.setdefault(address, [])
        followers.append(updates)
        try:
            while not isinstance(update := await updates.get(), ControlError):
                yield update
            raise update
        finally:
            followers.remove(updates)

    async def close(self) -> None:
        for address in [*self._unconfirmed, *self._followers]:
            self._cut(address)

    def _cut(self, address: str) -> None:
        for each in self._unconfirmed.get(address, ()):
            if not each.done():
                each.set_exception(not_connected(address, sent=True))
        for updates in self._followers.get(address, ()):
            updates.put_nowait(not_connected(address))

    async def _found(self, address: str, timeout: float) -> None:
        try:
            await asyncio.wait_for(self._absent[address].wait(), timeout)
        except TimeoutError:
            raise not_connected(address) from None

    def _reach(self, address: str) -> ControlError | None:
        return not_connected(address) if address in self._down else self.errors.get(address)

    def _type(self, address: str, value: Json) -> ChannelType:
        """A new address takes any value; then the type stays."""
        present = self.values.get(address, value)
        many, item = isinstance(present, list), present
        if isinstance(present, list):
            item = present[0] if present else 0.0
        dtype = "U" if isinstance(item, str) else "?" if isinstance(item, bool) else "f8"
        labels = tuple(self.labels[address]) if address in self.labels else None
        return ChannelType(dtype, labels, UNBOUNDED if many else None)

    def _reading(self, address: str) -> ControlReading:
        value = self.values.get(address, 0.0)
        quality, detail = self.alarms.get(address, (Quality.GOOD, ""))
        source = Provenance(quality, detail, datetime.now(UTC))
        if address in self.labels and isinstance(value, int):
            return label_reading(value, self.labels[address], source)
        return plain_reading(value, source)

    @contextmanager
    def _unconfirmed_write(self, address: str) -> Generator[asyncio.Future[None]]:
        confirmed = asyncio.get_running_loop().create_future()
        waiting = self._unconfirmed.setdefault(address, [])
        waiting.append(confirmed)
        try:
            yield confirmed
        finally:
            waiting.remove(confirmed)
