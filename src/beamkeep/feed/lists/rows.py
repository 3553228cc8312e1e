"""A list row: a pure fold of one stream's events."""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple, get_type_hints
from uuid import UUID

import msgspec

from beamkeep.feed.tail import TailEvent
from beamkeep.kernel import Event, View
from beamkeep.runtime.codec import Codec, encode, shown
from beamkeep.runtime.store import StoredEvent

from .marks import marks_of, times_of


class Row(NamedTuple):
    """One aggregate as its list shows it, at one version."""

    version: int
    owner_id: UUID
    state: Any
    milestones: dict[str, datetime | None]


class RowFold:
    """Folds the events of one view's streams into rows, and rows into JSON and back."""

    def __init__(self, view: View[Any], codec: Codec) -> None:
        self.view, self._codec = view, codec
        self._aggregate = view.aggregate
        self._state_type: type[Any] = get_type_hints(view.aggregate.begin)["return"]
        self._times = times_of(view)
        self._ahead: dict[str, datetime | None] = dict.fromkeys(view.milestones)
        self._reached: dict[type[Event], list[str]] = {}
        for name, events in view.milestones.items():
            for event in events:
                self._reached.setdefault(event, []).append(name)

    def after(self, row: Row | None, events: Sequence[StoredEvent | TailEvent], by: UUID) -> Row:
        """Return the row after these events; `by` is the principal of the first."""
        others = happened = self._codec.decode(self._aggregate.name, events)
        if row is None:
            first, *others = happened
            state, times = self._aggregate.begin(first), {"created_at": first.occurred_at}
            row = Row(0, by, state, milestones=times | self._ahead)
        milestones, reached = row.milestones, self._reached
        for event in happened:
            if names := reached.get(type(event)):
                milestones = milestones | dict.fromkeys(names, event.occurred_at)
        state = reduce(self._aggregate.evolve, others, row.state)
        return Row(row.version + len(events), row.owner_id, state, milestones=milestones)

    def facets(self, row: Row) -> list[str]:
        """Return the properties that filters compare."""
        # Sorted: a set remembers how it was built, and rebuilt rows must equal the old ones.
        return sorted(self.view.facets_of(row.state))

    def marks(self, id: UUID, row: Row, facets: Sequence[str]) -> set[str]:
        """Return everything by which the row can be found."""
        state, milestones = row.state, row.milestones
        times = {
            name: milestones[name] if name in milestones else getattr(state, name)
            for name in self._times
        }
        return marks_of(self.view, id, row.owner_id, facets, state, times)

    def dump(self, row: Row) -> bytes:
        """Return the row as a list answers it."""
        return encode(shown(self._aggregate, row.state, row.owner_id) | row.milestones)

    def load(self, version: int, row: bytes) -> Row:
        """Return a row from its dump."""
        fields: dict[str, Any] = msgspec.json.decode(row)
        fields["id"] = fields[self._aggregate.id_field]
        times = {name: fields[name] for name in ("created_at", *self._ahead)}
        milestones = msgspec.convert(times, dict[str, datetime | None])
        state = msgspec.convert(fields, self._state_type)
        return Row(version, UUID(fields["owner_id"]), state, milestones=milestones)
