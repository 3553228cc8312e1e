"""Where a call arrives: the surface, and the conduit it opens into."""

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import UUID

from beamkeep.kernel import Aggregate, Invalid, Record, SurfaceKind

from .codec import Codec
from .store import EventStore, LoadedStream


class InvalidSurfaceIdError(Invalid):
    """The surface named does not exist, or calls of this kind do not arrive there.

    Leave out X-Surface-Id, or name a surface of this transport.
    """


class EntryPoint(Record):
    conduit_id: UUID
    surface_id: UUID | None


class SurfaceState(Protocol):
    """The fields of a surface that a place needs; they never change."""

    @property
    def kind(self) -> SurfaceKind: ...
    @property
    def conduit_id(self) -> UUID: ...


class EntryPoints:
    """Finds the place of a call. Surfaces never change, so each is read once."""

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        surfaces: Aggregate[Any, Any, Any],
        seeded: Mapping[SurfaceKind, UUID],
        internal_conduit_id: UUID,
    ) -> None:
        self._store, self._codec, self._surfaces = store, codec, surfaces
        self._seeded, self._internal = seeded, EntryPoint(internal_conduit_id, None)
        self._known: dict[UUID, SurfaceState] = {}

    async def find(self, transport: SurfaceKind | None, selected: str | None) -> EntryPoint | None:
        """Return the place of a call, or None when it names a surface of another kind."""
        if transport is None:
            return self._internal
        try:
            id = UUID(selected) if selected is not None else self._seeded[transport]
        except ValueError:
            return None
        surface = self._known.get(id) or await self._read(id)
        if surface is None or surface.kind is not transport:
            return None
        return EntryPoint(surface.conduit_id, id)

    async def _read(self, id: UUID) -> SurfaceState | None:
        stream = self._surfaces.name, id
        loaded = (await self._store.load([stream])).get(stream, LoadedStream())
        surface: SurfaceState | None = self._codec.fold(self._surfaces, loaded.events)
        if surface is not None:
            self._known[id] = surface
        return surface
