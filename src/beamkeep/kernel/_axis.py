"""One axis of state as a table of transitions."""

from collections.abc import Hashable, Set

from ._cannot import Cannot
from ._event import Event


class Axis[L: Hashable, E: Event]:
    """A transition table: each row has an event, its sources, its target and its refusal."""

    def __init__(self, name: str, *moves: tuple[type[E], Set[L], L, type[Cannot]]) -> None:
        self.name = name
        self.moves: dict[type[Event], tuple[Set[L], L, type[Cannot]]] = {}
        for event, sources, target, refusal in moves:
            if event in self.moves:
                raise ValueError(f"the axis {name} has two rows for {event.__name__}")
            self.moves[event] = sources, target, refusal

    def require(self, now: L, event: type[Event], refusal: type[Cannot] | None = None) -> None:
        """Raise the refusal of the event, or this one, when it may not happen now."""
        sources, _, usual = self.moves[event]
        self.require_in(now, sources, refusal or usual)

    def require_in(self, now: L, states: Set[L], refusal: type[Cannot]) -> None:
        """Raise the refusal when the state is none of these."""
        if now not in states:
            must_be = self.words(*states)
            text = f"The {self.name} is {now}; it must be {' or '.join(must_be)}."
            if isinstance(now, bool):
                text = f"The current state is {'' if now else 'not '}{self.name}."
            raise refusal(text, axis=self.name, must_be=must_be)

    @staticmethod
    def words(*states: Hashable) -> list[str]:
        """Return states as the service writes them, in the order of the alphabet."""
        return sorted(str(s).lower() if isinstance(s, bool) else str(s) for s in states)

    def allow[M: Event](self, now: L, event: M) -> M:
        """Return the event, or raise its refusal when it may not happen now."""
        self.require(now, type(event))
        return event

    def after(self, event: E) -> L:
        """Return the state to which the event leads."""
        return self.moves[type(event)][1]
