"""Control times: since when a visit controls its surface, according to its events."""

from uuid import UUID

from beamkeep.kernel import Record, replace

from . import visit
from .surface import SurfaceControl


class KeptControl(Record):
    """The control that a visit has of a surface; none if it has none."""

    id: UUID
    control: SurfaceControl | None = None


def begin(event: visit.VisitRegistered) -> KeptControl:
    return KeptControl(event.visit_id)


def evolve(kept: KeptControl, event: visit.VisitChanged) -> KeptControl:
    match event:
        case visit.VisitSurfaceControlTaken():
            taken = SurfaceControl(event.surface_id, event.visit_id, event.occurred_at)
            return replace(kept, control=taken)
        case visit.VisitSurfaceControlReleased():
            return replace(kept, control=None)
        case _:
            return kept


def rows_of(kept: KeptControl) -> list[SurfaceControl]:
    """Return the row by which the surface is controlled."""
    return [kept.control] if kept.control else []
