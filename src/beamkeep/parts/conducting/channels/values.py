"""Values on their way to and from a control system, the same for every kind of it."""

import asyncio
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np

from beamkeep.contexts.seams.routes import is_number
from beamkeep.kernel import Record
from beamkeep.parts.conducting.control import (
    ControlNotConnectedError,
    ControlReading,
    ControlValueCoercionError,
    ControlWriteFencedError,
    Quality,
    ValueKind,
)
from beamkeep.schemas import Json
from beamkeep.workers.durable import HANDOVER_SECONDS

SEVERITIES = ("NO_ALARM", "MINOR", "MAJOR", "INVALID")
"""Severities of EPICS, by their number."""

SEVERITY_QUALITIES = (Quality.GOOD, Quality.UNCERTAIN, Quality.BAD, Quality.BAD)
INVALID = 3


class Provenance(Record):
    """What a control system says about a value."""

    quality: Quality
    quality_detail: str
    sampled_at: datetime
    invalid: bool = False


class ChannelType(Record):
    """Which values an address takes."""

    dtype: str
    """As numpy spells it: `f8`, `i4`, `?` for a boolean, `U` for a text."""
    labels: tuple[str, ...] | None = None
    """The states of an enumeration."""
    length: int | None = None
    """The most elements of an array; None if the address takes one value."""


def source_of(severity: int, detail: str, seconds: float) -> Provenance:
    """Return what an EPICS server says about a value; a time of 0 counts as now."""
    known = min(severity, len(SEVERITIES) - 1)
    words = f"{SEVERITIES[known]} {detail}".strip() if known else ""
    return Provenance(SEVERITY_QUALITIES[known], words, at(seconds), invalid=known == INVALID)


def at(seconds: float) -> datetime:
    """Return the time of a source; now if the source does not know it."""
    return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else datetime.now(UTC)


def plain_reading(value: object, source: Provenance) -> ControlReading:
    """Return the reading of a number, a boolean, a text or an array of these."""
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(cast("Any", value))
        items = [_json(each) for each in array.ravel().tolist()]
        return _reading(items, ValueKind.ARRAY, source, tuple(array.shape))
    if (plain := _json(value)) is None and value is not None:
        source = Provenance(Quality.BAD, "not a finite number", source.sampled_at)
    return _reading(plain, ValueKind.SCALAR, source)


def label_reading(index: int, labels: Sequence[str], source: Provenance) -> ControlReading:
    """Return the reading of an enumeration."""
    if 0 <= index < len(labels) and labels[index]:
        return _reading(labels[index], ValueKind.CATEGORICAL, source, index=index)
    source = Provenance(Quality.BAD, f"state {index} has no label", source.sampled_at)
    return _reading(None, ValueKind.CATEGORICAL, source)


def shape_reading(kind: ValueKind, shape: Sequence[int], source: Provenance) -> ControlReading:
    """Return the reading of an image or a table, without its content."""
    return _reading(None, kind, source, tuple(shape))


def fitted(address: str, value: Json, takes: ChannelType) -> Json:
    """Return the value as the address takes it: the label of an enumeration becomes its number.

    Raise ControlValueCoercionError when the value does not fit.
    """
    if takes.length is None:
        return _fitted_item(address, value, takes)
    if not isinstance(value, list) or len(value) > takes.length:
        raise _misfit(address, value, f"a list of at most {takes.length} values")
    return [_fitted_item(address, each, takes) for each in value]


def not_connected(address: str, *, sent: bool = False) -> ControlNotConnectedError:
    """Return the error of an address that cannot be reached, or no longer."""
    return ControlNotConnectedError(f"{address} is not connected.", sent=sent)


def fenced(address: str) -> ControlWriteFencedError:
    """Return the error of a write whose worker lost its claim."""
    return ControlWriteFencedError(f"The claim ended before {address} was written.")


async def handed_over(begun: asyncio.Event, *ends: asyncio.Future[None]) -> None:
    """Wait until a value is on its way, or one of these ends that, or its time is up."""
    waiting = asyncio.ensure_future(begun.wait())
    try:
        await asyncio.wait(
            {waiting, *ends}, timeout=HANDOVER_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        waiting.cancel()


def _fitted_item(address: str, value: Json, takes: ChannelType) -> Json:
    if takes.labels is not None:
        if isinstance(value, str) and value in takes.labels:
            return takes.labels.index(value)
        if type(value) is int and 0 <= value < len(takes.labels):
            return value
        raise _misfit(address, value, f"one of {', '.join(map(repr, takes.labels))}")
    dtype = np.dtype(takes.dtype)
    if dtype.kind == "U":
        # EPICS texts have a fixed number of bytes, and the client library cuts in silence.
        room = takes.dtype[1:]
        if isinstance(value, str) and (not room or len(value.encode()) <= int(room)):
            return value
        raise _misfit(address, value, f"text of at most {room} bytes" if room else "text")
    if dtype.kind == "b":
        if isinstance(value, bool):
            return value
        raise _misfit(address, value, "true or false")
    if dtype.kind == "f":
        if is_number(value) and abs(value) <= float(np.finfo(dtype).max):
            return float(value)
        raise _misfit(address, value, f"a finite number ({dtype.name})")
    limits = np.iinfo(dtype)
    if is_number(value) and value == int(value) and limits.min <= value <= limits.max:
        return int(value)
    raise _misfit(address, value, f"an integer from {limits.min} to {limits.max}")


def _misfit(address: str, value: Json, words: str) -> ControlValueCoercionError:
    return ControlValueCoercionError(f"{address} takes {words}, not {str(value)[:100]!r}.")


def _reading(
    value: Json,
    kind: ValueKind,
    source: Provenance,
    shape: tuple[int, ...] = (),
    index: int | None = None,
) -> ControlReading:
    return ControlReading(
        value=value,
        value_kind=kind,
        quality=source.quality,
        quality_detail=source.quality_detail,
        invalid=source.invalid,
        sampled_at=source.sampled_at,
        shape=shape,
        index=index,
    )


def _json(value: object) -> Json:
    match value:
        case None:
            return None
        case bool() | np.bool_():
            return bool(value)
        case str():
            return str(value)
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None
        case _:
            return str(value)
