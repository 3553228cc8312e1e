"""What a refusal tells about its object: its state, the states it must have, and the way there."""

from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Any, cast
from uuid import UUID

from beamkeep.kernel import AnyAggregate, Axis, Cannot, Event, Operation, Record, events_of


class Move(Record):
    """One row of an axis, with the operation that makes it happen."""

    operation: str
    axis: Axis[Any, Any]
    event: type[Event]
    sources: Set[Hashable]
    target: Hashable

    @property
    def is_terminal(self) -> bool:
        """Whether nothing leads out of the target."""
        moves = self.axis.moves.values()
        return all(target == self.target for sources, target, _ in moves if self.target in sources)


def moves_of(operation: Operation, axes: Iterable[Axis[Any, Any]]) -> Sequence[Move]:
    """Return the moves on these axes that an operation may make."""
    written = {*events_of(operation)}
    return [
        Move(operation.name, axis, event=event, sources=sources, target=target)
        for axis in axes
        if not written.isdisjoint(axis.moves)
        for event, (sources, target, _) in axis.moves.items()
        if event in written
    ]


class ObjectState(Record):
    """An object behind a refusal, and its state on one axis."""

    kind: str
    id: UUID
    state: str


class Remedies:
    """Explains refusals by the axes of the objects that were refused something."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._moves: dict[int, list[Move]] = {}
        axes = {id(axis): axis for each in operations for axis in each.aggregate.axes}.values()
        # An operation that writes one event is a surer way than one that chooses among several.
        for operation in sorted(operations, key=lambda each: len(events_of(each))):
            for move in moves_of(operation, axes):
                self._moves.setdefault(id(move.axis), []).append(move)

    def explain(self, refusal: Cannot, of: AnyAggregate, id: UUID, state: object) -> None:
        """Add to a refusal what it is about, unless it tells that itself."""
        if "facts" in refusal.facts:
            return
        named = [axis for axis in of.axes if axis.name == refusal.facts.get("axis")]
        # Whether something holds, a bool, is no word for the state of an object.
        now = [(axis, getattr(state, axis.name)) for axis in named or of.axes]
        words = [axis.words(value)[0] for axis, value in now if not isinstance(value, bool)]
        facts = [ObjectState(of.name, id, state=word) for word in words]
        must_be = cast("Sequence[str]", refusal.facts.get("must_be", ()))
        way = self.way(named[0], getattr(state, named[0].name), must_be) if named else []
        refusal.facts |= {"facts": facts, "must_be": must_be, "cleared_by": way}

    def way(self, axis: Axis[Any, Any], now: Hashable, must_be: Sequence[str]) -> list[str]:
        """Return the fewest operations that lead from a state to one of others; none if none do."""
        ways: dict[Hashable, list[str]] = {now: []}
        for state in (reached := [now]):
            if axis.words(state)[0] in must_be:
                return ways[state]
            for move in self._moves.get(id(axis), ()):
                if state in move.sources and move.target not in ways:
                    ways[move.target] = [*ways[state], move.operation]
                    reached.append(move.target)
        return []
