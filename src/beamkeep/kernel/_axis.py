"""One axis of state as a table of transitions."""

from collections.abc import Hashable, Set

from ._event import Event
from ._refusal import Cannot


class Axis[L: Hashable, E: Event]:
    """A transition table: each row has an event, its sources, its target and its refusal."""

    def __init__(self, name: str, *moves: tuple[type[E], Set[L], L, type[Cannot]]) -> None:
        self.name = name
        self.moves: dict[type[Event], tuple[Set[L], L, type[Cannot]]] = {
            event: (sources, target, refusal) for event, sources, target, refusal in moves
        }

    def require(self, now: L, event: type[Event], told: type[Cannot] | None = None) -> None:
        """Raise the refusal of the event, or `told`, when it may not happen now."""
        sources, _, usual = self.moves[event]
        if now not in sources:
            refusal = told or usual
            if isinstance(now, bool):
                raise refusal(f"The current state is {'' if now else 'not '}{self.name}.")
            allowed = " or ".join(sorted(str(source) for source in sources))
            raise refusal(f"The {self.name} is {now}; it must be {allowed}.")

    def allow[M: Event](self, now: L, event: M) -> M:
        """Return the event, or raise its refusal when it may not happen now."""
        self.require(now, type(event))
        return event

    def after(self, event: E) -> L:
        """Return the state to which the event leads."""
        return self.moves[type(event)][1]
