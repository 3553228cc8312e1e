"""Surface: where calls arrive, never by the Internal conduit."""

from uuid import UUID

from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.contexts.trust.conduit import ConduitDefined, ConduitNotFoundError
from beamkeep.contexts.trust.surface import (
    OPERATIONS,
    DefineSurface,
    InvalidSurfaceUnitAssetError,
    Surface,
    SurfaceCannotDefineError,
    SurfaceDefined,
    begin,
)
from beamkeep.kernel import SurfaceKind
from beamkeep.testing.past import ABSENT, NEW, NOW
from beamkeep.testing.scenario import Scenario

ENTRY = UUID(int=20)
INTERNAL = UUID("00000000-0000-7000-8000-000000000021")
A, B, BEAMLINE, CAMERA = (UUID(int=number) for number in range(10, 14))
CONDUITS = {ENTRY: "Entry", INTERNAL: "Internal"}

given = Scenario(
    OPERATIONS,
    [
        *(ConduitDefined(NOW, id, name, A, B) for id, name in CONDUITS.items()),
        PLACES.insert(AssetPlace(BEAMLINE, None, "site")),
        PLACES.insert(AssetPlace(CAMERA, BEAMLINE, None)),
    ],
)


def define(conduit: UUID = ENTRY, beamline: UUID | None = None) -> DefineSurface:
    return DefineSurface(
        name="Console",
        kind=SurfaceKind.MCP_STDIO,
        conduit_id=conduit,
        unit_asset_id=beamline,
    )


def test_a_surface_is_defined():
    given.when(define()).then(SurfaceDefined(NOW, NEW, "Console", SurfaceKind.MCP_STDIO, ENTRY))


def test_the_conduit_must_exist():
    given.when(define(conduit=ABSENT)).refused(ConduitNotFoundError)


def test_no_calls_from_outside_arrive_by_the_internal_conduit():
    given.when(define(conduit=INTERNAL)).refused(SurfaceCannotDefineError)


def test_a_surface_may_be_used_at_a_beamline():
    defined = SurfaceDefined(NOW, NEW, "Console", SurfaceKind.MCP_STDIO, ENTRY, BEAMLINE)
    given.when(define(beamline=BEAMLINE)).then(defined)


def test_the_beamline_of_a_surface_is_an_asset_without_a_parent():
    given.when(define(beamline=ABSENT)).refused(InvalidSurfaceUnitAssetError)
    given.when(define(beamline=CAMERA)).refused(InvalidSurfaceUnitAssetError)


def test_the_kinds_are_closed():
    assert [str(kind) for kind in SurfaceKind] == ["HTTP", "MCP_STDIO", "MCP_STREAMABLE_HTTP"]


def test_a_surface_is_what_its_first_event_says():
    assert begin(SurfaceDefined(NOW, NEW, "Console", SurfaceKind.HTTP, ENTRY)) == Surface(
        NEW, "Console", SurfaceKind.HTTP, ENTRY
    )
