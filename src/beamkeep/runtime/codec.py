"""Events to JSON and back, and folded into states."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.kernel import Aggregate, Event, Upcast, event_types

from .store import NewEvent, Recorded, Tailed

type Decode = Callable[[bytes | str], Event]

encode = msgspec.json.Encoder(order="deterministic").encode


class BrokenStreamError(Exception):
    """A stream has a hole, or an event nobody can read: nothing may be decided on it."""


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

    def decode(self, aggregate: str, stored: Sequence[Recorded | Tailed]) -> list[Event]:
        """Events as they were meant, whatever form they were stored in."""
        decoders = self._decode[aggregate]
        try:
            return [decoders[each[1:3]](each[3]) for each in stored]
        except Exception as error:
            unknown = {each[1:3] for each in stored} - decoders.keys()
            if not unknown:
                raise BrokenStreamError(f"{aggregate} has an event of another shape") from error
            name, form = min(unknown)
            found = f"{aggregate} has the unknown event {name} in form {form}"
            raise BrokenStreamError(found) from None

    def fold[S](self, aggregate: Aggregate[S, Any, Any], events: Sequence[Recorded]) -> S | None:
        """The state after these events; none before the first."""
        if not events:
            return None
        versions, expected = [each[0] for each in events], [*range(1, len(events) + 1)]
        if versions != expected:
            lacking = min({*expected} - {*versions})
            raise BrokenStreamError(f"{aggregate.name} lacks version {lacking}")
        first, *others = self.decode(aggregate.name, events)
        return reduce(aggregate.evolve, others, aggregate.begin(first))

    def until(
        self, aggregate: str, events: Sequence[Recorded], as_of: int | datetime | None
    ) -> Sequence[Recorded]:
        """The events there were at a version or a time."""
        if as_of is None:
            return events
        if isinstance(as_of, int):
            return events[:as_of] if as_of <= len(events) else ()
        happened = [event.occurred_at <= as_of for event in self.decode(aggregate, events)]
        return events[: (*happened, False).index(False)]


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
