"""Events to JSON and back, and folded into states."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import itemgetter
from typing import Any, get_type_hints
from uuid import UUID

import msgspec

from beamkeep.kernel import Aggregate, AnyAggregate, Event, Upcast, event_types

from .folds import fingerprint
from .store import EventRow, NewEvent, Snapshot, StoredEvent

VERSION = itemgetter(0)

type Decode = Callable[[bytes | str], Event]

encode = msgspec.json.Encoder(order="deterministic").encode


class BrokenStreamError(Exception):
    """A stream lacks a version or has an unreadable event, so nothing can be decided on it."""


class Codec:
    """Reads and writes the events of every aggregate."""

    def __init__(self, aggregates: Iterable[AnyAggregate]) -> None:
        self._decode: dict[str, dict[tuple[str, int], Decode]] = {}
        self._stream: dict[type[Event], tuple[str, str, int]] = {}
        self._state: dict[str, Callable[[bytes], Any]] = {}
        self.folds: dict[str, UUID] = {}
        """By aggregate name, the fingerprint of the code that folds its events."""
        self.aggregates: dict[str, AnyAggregate] = {}
        for aggregate in aggregates:
            self.aggregates[aggregate.name] = aggregate
            self.folds[aggregate.name] = fingerprint(aggregate)
            state_type = get_type_hints(aggregate.begin)["return"]
            self._state[aggregate.name] = msgspec.json.Decoder(state_type).decode
            decoders = self._decode[aggregate.name] = {}
            for event in event_types(aggregate):
                steps = [u for u in aggregate.upcasts if u.event_type == event.__name__]
                current = len(steps) + 1
                self._stream[event] = aggregate.name, aggregate.id_field, current
                decoders[event.__name__, current] = msgspec.json.Decoder(event).decode
                for version in range(1, current):
                    decoders[event.__name__, version] = _upcasting(event, steps[version - 1 :])

    def stream(self, event: Event) -> tuple[str, UUID]:
        """Return the stream of an event."""
        name, id_field, _ = self._stream[type(event)]
        return name, getattr(event, id_field)

    def encode(
        self, event: Event, version: int, event_id: UUID, command_name: str | None = None
    ) -> NewEvent:
        """Return an event as it will be stored."""
        kind = type(event)
        return NewEvent(
            stream=self.stream(event),
            version=version,
            event_id=event_id,
            event_type=kind.__name__,
            schema_version=self._stream[kind][2],
            payload=encode(event),
            command_name=command_name,
        )

    def decode(self, aggregate: str, stored: Sequence[EventRow]) -> list[Event]:
        """Return events in their current form, whatever form was stored."""
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

    def fold[S](
        self,
        aggregate: Aggregate[S, Any, Any],
        events: Sequence[StoredEvent],
        state: S | None = None,
        version: int = 0,
    ) -> S | None:
        """Return the state after these events, which follow a state at a version; None of none."""
        if not events:
            return state
        first = version + 1
        versions, expected = [*map(VERSION, events)], [*range(first, first + len(events))]
        if versions != expected:
            lacking = min({*expected} - {*versions})
            raise BrokenStreamError(f"{aggregate.name} lacks version {lacking}")
        happened = self.decode(aggregate.name, events)
        if state is None:
            state = aggregate.begin(happened.pop(0))
        return reduce(aggregate.evolve, happened, state)

    def snapshot(self, state: object, version: int) -> Snapshot:
        """Return a state at a version as it is stored."""
        return Snapshot(version, encode(msgspec.to_builtins(state, order="deterministic")))

    def restore[S](self, aggregate: Aggregate[S, Any, Any], snapshot: Snapshot) -> S:
        """Return the state that a snapshot keeps."""
        try:
            return self._state[aggregate.name](snapshot.state)
        except msgspec.DecodeError as error:
            found = f"{aggregate.name} has a snapshot of another shape; delete it"
            raise BrokenStreamError(found) from error

    def until(
        self, aggregate: str, events: Sequence[StoredEvent], as_of: int | datetime
    ) -> Sequence[StoredEvent]:
        """Return those of some successive events that there were at a version or a time."""
        if isinstance(as_of, int):
            return [each for each in events if each[0] <= as_of]
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
    """Return a state as answers show it."""
    fields: dict[str, Any] = msgspec.to_builtins(state, order="deterministic")
    return {aggregate.id_field: fields.pop("id"), **fields, "owner_id": str(owner_id)}
