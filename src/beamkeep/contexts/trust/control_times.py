"""Control times: since when a visit controls its surface, according to its events."""

from uuid import UUID

from beamkeep.kernel import Record, replace

from . import visit
from .surface import SurfaceControl


class ControlState(Record):
    """The control that a visit has of a surface; none if it has none."""

    id: UUID
    control: SurfaceControl | None = None


def begin(event: visit.VisitRegistered) -> ControlState:
    return ControlState(event.visit_id)


def evolve(state: ControlState, event: visit.VisitChanged) -> ControlState:
    match event:
        case visit.VisitSurfaceControlTaken():
            taken = SurfaceControl(event.surface_id, event.visit_id, event.occurred_at)
            return replace(state, control=taken)
        case visit.VisitSurfaceControlReleased():
            return replace(state, control=None)
        case _:
            return state


def rows_of(state: ControlState) -> list[SurfaceControl]:
    """Return the row by which the surface is controlled."""
    return [state.control] if state.control else []
