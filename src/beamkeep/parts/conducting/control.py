"""The seam to control systems: to read, write and follow one address."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from beamkeep.kernel import Record
from beamkeep.schemas import Json


class ValueKind(StrEnum):
    SCALAR = "Scalar"
    ARRAY = "Array"
    IMAGE = "Image"
    CATEGORICAL = "Categorical"
    TABULAR = "Tabular"


class Quality(StrEnum):
    GOOD = "Good"
    UNCERTAIN = "Uncertain"
    BAD = "Bad"


class ControlReading(Record):
    """One value of an address, as the control system gives it."""

    value: Json
    """None for an image or a table."""
    value_kind: ValueKind
    quality: Quality
    quality_detail: str
    """The alarm or the state of the source, in its own words."""
    sampled_at: datetime
    """The time of the value, by the clock of the source."""
    shape: tuple[int, ...] = ()
    """The size in each dimension of an array, an image or a table."""
    index: int | None = None
    """The number of the state of an enumeration, whose value is the label."""
    invalid: bool = False
    """Whether the source says that the value means nothing, as in the EPICS severity INVALID."""


class ControlError(Exception):
    """A read or a write that failed."""

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        """Whether the value was handed over, so that it may arrive in spite of the error."""


class ControlNotConnectedError(ControlError):
    """There is no connection, or it was lost during the call."""


class ControlTimeoutError(ControlError):
    """No answer or confirmation came in time."""


class ControlWriteRejectedError(ControlError):
    """The control system refused the value."""


class ControlAccessDeniedError(ControlError):
    """This client may not read or write the address."""


class ControlValueCoercionError(ControlError):
    """The value does not fit the type of the address."""


class ControlWriteFencedError(ControlError):
    """The worker may no longer write; nothing was sent."""


class ControlWriteStoppedError(ControlError):
    """Somebody stopped the step before the value was sent; nothing was sent."""


type HandingOver = Callable[[], AbstractAsyncContextManager[Callable[[], bool]]]
"""Opens the short time in which one value may be handed over, or raises why it may not.

It yields a question that is asked immediately before the value is handed over: whether this time
still lasts. The question may be asked in a thread of the client library.
"""


class ControlSystem(Protocol):
    """One kind of control system."""

    async def read(self, address: str, timeout: float) -> ControlReading:
        """Return the present value of an address."""
        ...

    async def write(
        self, address: str, value: Json, timeout: float, handing_over: HandingOver
    ) -> None:
        """Connect, open `handing_over`, hand over the value, and return when it is confirmed.

        `handing_over` is left as soon as the value is handed over, before it is confirmed.
        Raise a `ControlError`, which says whether the value was sent.
        """
        ...

    def subscribe(self, address: str) -> AsyncGenerator[ControlReading]:
        """Yield the present value, then every change; raise a `ControlError` on disconnect."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
