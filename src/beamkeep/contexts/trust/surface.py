"""Surface: a place where calls arrive, for instance one console of a beamline."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from beamkeep.kernel import (
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    SurfaceKind,
    Table,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Name, trimmed

from .conduit import ConduitNotFoundError, conduits
from .seeded import INTERNAL


# Events are stored for ever: add a field with a default; never rename or drop one.
class SurfaceDefined(Event):
    surface_id: UUID
    name: str
    kind: SurfaceKind
    conduit_id: UUID


class SurfaceNotFoundError(NotFound):
    """The surface does not exist."""


class InvalidSurfaceNameError(Invalid):
    """The surface's name is not usable."""


class SurfaceCannotDefineError(Cannot):
    """Calls from outside do not arrive by the Internal conduit; name another one."""


class Surface(Record):
    id: UUID
    name: str
    kind: SurfaceKind
    conduit_id: UUID


def begin(event: SurfaceDefined) -> Surface:
    return Surface(event.surface_id, event.name, event.kind, event.conduit_id)


class DefineSurface(Command):
    name: Name
    kind: SurfaceKind
    conduit_id: UUID


async def its_conduit(command: DefineSurface, read: Reader) -> None:
    await read.one(conduits, command.conduit_id)


def define_surface(command: DefineSurface, given: None, call: Call) -> list[SurfaceDefined]:
    """Define a surface on a conduit."""
    name = trimmed(command.name, InvalidSurfaceNameError)
    if command.conduit_id == INTERNAL:
        raise SurfaceCannotDefineError
    return [SurfaceDefined(call.now, call.new_id, name, command.kind, command.conduit_id)]


surfaces = Aggregate("Surface", begin, unchanging, SurfaceNotFoundError)

# fmt: off
OPERATIONS = (
    surfaces.creates("POST /surfaces", DefineSurface, define_surface, ConduitNotFoundError,
        InvalidSurfaceNameError, SurfaceCannotDefineError, given=its_conduit),
)
# fmt: on


class SurfaceControl(Record):
    """Which visit drives a surface."""

    surface_id: UUID
    visit_id: UUID
    since_at: datetime


SURFACE_CONTROL = Table("surface_control", SurfaceControl, key=("surface_id",))


class ShownControl(Record):
    controlling_visit_id: UUID | None
    controlled_since: datetime | None


async def control(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownControl]:
    """Who drives each surface today."""
    found = {row.surface_id: row for row in await read.rows(SURFACE_CONTROL, surface_id=ids)}
    return {
        id: ShownControl(row.visit_id, row.since_at)
        if (row := found.get(id))
        else ShownControl(None, None)
        for id in ids
    }


class ListSurfaces(Listing):
    """List surfaces, by age."""

    kind: SurfaceKind | None = None
    conduit_id: UUID | None = None


QUESTIONS = reads("/surfaces", surfaces, ListSurfaces, shown_with=control, listed_with=control)
