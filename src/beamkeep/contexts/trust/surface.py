"""Surface: a place where calls arrive, for instance one console of a beamline."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.kernel import (
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    Record,
    SurfaceKind,
    Table,
    reads,
    unchanging,
)
from beamkeep.kernel.values import Name, Trimmed

from .conduit import ConduitNotFoundError, conduits
from .seeded import INTERNAL


# Events are stored for ever: add a field with a default; never rename or drop one.
class SurfaceDefined(Event):
    surface_id: UUID
    name: str
    kind: SurfaceKind
    conduit_id: UUID
    unit_asset_id: UUID | None = None


class SurfaceNotFoundError(NotFound): ...


class InvalidSurfaceNameError(Blank): ...


class SurfaceCannotDefineError(Cannot):
    """A surface must be on another conduit than Internal, which is for calls inside the service."""


class InvalidSurfaceUnitAssetError(Invalid):
    """Beamline of a surface must be an asset that has no parent."""


class Surface(Record):
    id: UUID
    name: str
    kind: SurfaceKind
    conduit_id: UUID
    unit_asset_id: UUID | None = None
    """The beamline at which the surface is used."""


def begin(event: SurfaceDefined) -> Surface:
    return Surface.of(event, id=event.surface_id)


class DefineSurface(Command):
    name: Annotated[Name, Trimmed(InvalidSurfaceNameError)]
    kind: SurfaceKind
    conduit_id: UUID
    unit_asset_id: UUID | None = None
    """The beamline at which the surface is used: an asset without a parent."""


async def place_of_beamline(command: DefineSurface, read: Reader) -> AssetPlace | None:
    await read.one(conduits, command.conduit_id)
    id = command.unit_asset_id
    rows = await read.rows(PLACES, asset_id={id}) if id else ()
    return next(iter(rows), None)


def define_surface(
    command: DefineSurface, given: AssetPlace | None, call: Call
) -> list[SurfaceDefined]:
    """Define a surface on a conduit."""
    if command.conduit_id == INTERNAL:
        raise SurfaceCannotDefineError
    if command.unit_asset_id and (given is None or given.parent_id):
        detail = f"Asset {command.unit_asset_id} does not exist or has a parent."
        raise InvalidSurfaceUnitAssetError(detail)
    return [SurfaceDefined.of(command, occurred_at=call.now, surface_id=call.new_id)]


surfaces = Aggregate("Surface", begin, unchanging, absent=SurfaceNotFoundError)

# fmt: off
OPERATIONS = (
    surfaces.creates("POST /surfaces", DefineSurface, define_surface, ConduitNotFoundError,
        SurfaceCannotDefineError, InvalidSurfaceUnitAssetError, given=place_of_beamline),
)
# fmt: on


class SurfaceControl(Record):
    """The visit that controls a surface."""

    surface_id: UUID
    visit_id: UUID
    since_at: datetime


SURFACE_CONTROL = Table("surface_control", SurfaceControl, key=("surface_id",))


class ShownControl(Record):
    controlling_visit_id: UUID | None
    controlled_since: datetime | None


async def control(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownControl]:
    """Return the visit that controls each surface now."""
    rows = await read.rows(SURFACE_CONTROL, surface_id=ids)
    controlled = {row.surface_id: ShownControl(row.visit_id, row.since_at) for row in rows}
    return dict.fromkeys(ids, ShownControl(None, None)) | controlled


class ListSurfaces(Listing):
    """List surfaces, newest first."""

    kind: SurfaceKind | None = None
    conduit_id: UUID | None = None
    unit_asset_id: UUID | None = None
    """Only surfaces that are used at this beamline."""


QUESTIONS = reads(
    "/surfaces",
    surfaces,
    ListSurfaces,
    shown_with=control,
    listed_with=control,
    composed_of=("Visit",),
    version=2,
    directory=DirectoryEntry(
        lambda it: it.name,
        scope=lambda it: (it.unit_asset_id,) if it.unit_asset_id else None,
        version=2,
    ),
)
