"""Where a call arrives: the surface, and the conduit it opens into."""

from collections.abc import Mapping
from uuid import UUID

from beamkeep.kernel import AnyAggregate, Invalid, Record, SurfaceKind

from .codec import Codec
from .store import EventStore, LoadedStream


class InvalidSurfaceIdError(Invalid):
    """No surface of this transport has the id in X-Surface-Id.

    Leave out X-Surface-Id, or send the id of a surface of this transport.
    """


class EntryPoint(Record):
    """The surface at which a call arrives, and the conduit of that surface."""

    conduit_id: UUID
    surface_id: UUID | None
    kind: SurfaceKind | None = None


class EntryPoints:
    """Finds the entry point of a call. Surfaces never change, so each is read once."""

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        surfaces: AnyAggregate,
        seeded: Mapping[SurfaceKind, UUID],
        internal_conduit_id: UUID,
    ) -> None:
        self._store, self._codec, self._surfaces = store, codec, surfaces
        self._seeded, self._internal = seeded, EntryPoint(internal_conduit_id, None)
        self._known: dict[UUID, EntryPoint] = {}

    async def find(self, transport: SurfaceKind | None, selected: str | None) -> EntryPoint | None:
        """Return the entry point, or None when the call selects no surface of its transport."""
        if transport is None:
            return self._internal
        try:
            id = UUID(selected) if selected is not None else self._seeded[transport]
        except ValueError:
            return None
        place = await self.at(id)
        return place if place and place.kind is transport else None

    async def at(self, id: UUID | None) -> EntryPoint | None:
        """Return the entry point with this surface, or None when there is none."""
        if id is None:
            return self._internal
        return self._known.get(id) or await self._read(id)

    async def _read(self, id: UUID) -> EntryPoint | None:
        stream = self._surfaces.name, id
        loaded = (await self._store.load([stream])).get(stream, LoadedStream())
        surface = self._codec.fold(self._surfaces, loaded.events)
        if surface is None:
            return None
        return self._known.setdefault(id, EntryPoint(surface.conduit_id, id, surface.kind))
