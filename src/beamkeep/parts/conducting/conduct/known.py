"""Everything that a worker knows of a conduct: from its rows, from the streams, from its claim."""

from datetime import timedelta

from beamkeep.contexts.operation.conducted import Failure
from beamkeep.contexts.operation.history import WalkSoFar
from beamkeep.contexts.operation.loop import SteeringAdvice
from beamkeep.contexts.seams.routes import ControlRoute


class Known(WalkSoFar):
    """Everything that decides the next action; `passes` are all passes of the procedure."""

    inline: bool = False
    """The steps came with the request, not from a recipe."""
    routes: tuple[ControlRoute, ...] = ()
    silence: timedelta = timedelta()
    """How long nobody was at work before this claim; at the first claim, the age of the request."""
    takeover_window: timedelta = timedelta(seconds=300)
    refusal: Failure | None = None
    """Why authorization or the start gates refuse in this claim; None if they permit."""
    answer: SteeringAdvice | Failure | None = None
    """What the advisor answered after the last pass; None again once that pass is ended."""
