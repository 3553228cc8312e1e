"""One axis of state: which event moves it, from where, to where, and what to say otherwise."""

from collections.abc import Hashable, Set

from ._event import Event
from ._refusal import Cannot


class Axis[L: Hashable, E: Event]:
    """A transition table. `require` guards a rule, `after` serves `evolve`; both read one table."""

    def __init__(self, name: str, *moves: tuple[type[E], Set[L], L, type[Cannot]]) -> None:
        self.name = name
        self.moves: dict[type[Event], tuple[Set[L], L, type[Cannot]]] = {
            event: (sources, target, refusal) for event, sources, target, refusal in moves
        }

    def require(self, now: L, event: type[Event], told: type[Cannot] | None = None) -> None:
        """Refuse unless the event may happen now; `told` by another command than the usual one."""
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
        """Where the event leads."""
        return self.moves[type(event)][1]
