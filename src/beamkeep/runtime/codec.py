"""Events to JSON and back, and folded into states."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.kernel import Aggregate, Event, Upcast, event_types

from .store import NewEvent, Recorded, Tailed

type Decode = Callable[[bytes | str], Event]

encode = msgspec.json.Encoder(order="deterministic").encode


class BrokenStreamError(Exception):
    """A stream has a hole or an unknown event: nothing may be decided on it."""


class Codec:
    """Reads and writes the events of every aggregate."""

    def __init__(self, aggregates: Iterable[Aggregate[Any, Any, Any]]) -> None:
        self._decode: dict[str, dict[tuple[str, int], Decode]] = {}
        self._stream: dict[type[Event], tuple[str, str, int]] = {}
        for aggregate in aggregates:
            decoders = self._decode[aggregate.name] = {}
            for event in event_types(aggregate):
                steps = [u for u in aggregate.upcasts if u.event_type == event.__name__]
                current = len(steps) + 1
                self._stream[event] = aggregate.name, aggregate.id_field, current
                decoders[event.__name__, current] = msgspec.json.Decoder(event).decode
                for version in range(1, current):
                    decoders[event.__name__, version] = _upcasting(event, steps[version - 1 :])

    def stream(self, event: Event) -> tuple[str, UUID]:
        """The stream an event belongs to."""
        name, id_field, _ = self._stream[type(event)]
        return name, getattr(event, id_field)

    def encode(self, event: Event, version: int, event_id: UUID) -> NewEvent:
        """An event as it will be stored."""
        kind = type(event)
        schema_version = self._stream[kind][2]
        return NewEvent(
            self.stream(event), version, event_id, kind.__name__, schema_version, encode(event)
        )

    def decode(self, aggregate: str, stored: Recorded | Tailed) -> Event:
        """An event as it was meant, whatever form it was stored in."""
        decode = self._decode[aggregate].get((stored.event_type, stored.schema_version))
        if decode is None:
            unknown = f"{stored.event_type} in form {stored.schema_version}"
            raise BrokenStreamError(f"{aggregate} has the unknown event {unknown}")
        return decode(stored.payload)

    def fold[S](self, aggregate: Aggregate[S, Any, Any], events: Sequence[Recorded]) -> S | None:
        """The state after these events; none before the first."""
        decoders, evolve = self._decode[aggregate.name], aggregate.evolve
        state: S | None = None
        for expected, recorded in enumerate(events, 1):
            version, event_type, schema_version, payload = recorded
            if version != expected:
                raise BrokenStreamError(f"{aggregate.name} lacks version {expected}")
            decode = decoders.get((event_type, schema_version))
            event = decode(payload) if decode else self.decode(aggregate.name, recorded)
            state = aggregate.begin(event) if state is None else evolve(state, event)
        return state

    def until(
        self, aggregate: str, events: Sequence[Recorded], as_of: int | datetime | None
    ) -> Sequence[Recorded]:
        """The events there were at a version or a time."""
        if as_of is None:
            return events
        if isinstance(as_of, int):
            return events[:as_of] if as_of <= len(events) else ()
        return list(takewhile(lambda r: self.decode(aggregate, r).occurred_at <= as_of, events))


def _upcasting(event: type[Event], steps: Sequence[Upcast]) -> Decode:
    def decode(payload: bytes | str) -> Event:
        fields: dict[str, object] = msgspec.json.decode(payload)
        for step in steps:
            fields = step.change(fields)
        return msgspec.convert(fields, event)

    return decode


def shown[S](aggregate: Aggregate[S, Any, Any], state: S, owner_id: UUID | None) -> dict[str, Any]:
    """A state as the outside sees it."""
    fields: dict[str, Any] = msgspec.to_builtins(state, order="deterministic")
    return {aggregate.id_field: fields.pop("id"), **fields, "owner_id": str(owner_id)}
