"""Reading for one call."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any
from uuid import UUID

from beamkeep.kernel import Aggregate, Catalogue, Event, Installation, Listing, Table

from .codec import Codec
from .store import EventStore, ReadModel, Recorded, Stream

ALL_MATCHES = 10_000


class Session:
    """Reads for one call, remembering every version read so that the append can hold them to it."""

    def __init__(
        self,
        store: EventStore,
        lists: ReadModel,
        codec: Codec,
        catalogue: Catalogue,
        installation: Installation,
        clock: Callable[[], datetime],
    ) -> None:
        self._store, self._lists, self._codec = store, lists, codec
        self._catalogue, self.installation, self.now = catalogue, installation, clock()
        self.operation_names = catalogue.named.keys()
        self.only: UUID | None = None
        """Whose objects an answer may show; none for everybody's."""
        self.versions: dict[Stream, int] = {}

    def adopt[S](
        self, of: Aggregate[S, Any, Any], id: UUID | None, events: Sequence[Recorded]
    ) -> S:
        """The state these events make, remembered as read; refused if there are none."""
        state = self._codec.fold(of, events)
        if id is None or state is None:
            raise of.absent(f"There is no {of.noun.replace('_', ' ')} {id}.")
        self.versions.setdefault((of.name, id), len(events))  # what was read first counts
        return state

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID, to_show: bool = False) -> S:
        """The state of one aggregate, or the refusal that it does not exist."""
        if to_show and id not in await self.visible(of, [id]):
            return self.adopt(of, id, ())
        return (await self.many(of, [id]))[id]

    async def many[S](self, of: Aggregate[S, Any, Any], ids: Iterable[UUID]) -> Mapping[UUID, S]:
        """The states of several, in one round trip; the first that is absent is refused."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        found = await self._store.load([(of.name, id) for id in wanted])
        return {id: self.adopt(of, id, found.get((of.name, id), ())) for id in wanted}

    async def visible(self, of: Aggregate[Any, Any, Any], ids: Iterable[UUID]) -> Set[UUID]:
        """Those of these ids that the caller may see."""
        wanted = frozenset(ids)
        if self.only is None:
            return wanted
        owners = await self._store.owners([(of.name, id) for id in sorted(wanted)])
        own = {id for (_, id), owner_id in owners.items() if owner_id == self.only}
        return own | (wanted & {self.only} if of.self_owned else frozenset())

    async def as_of[S](self, of: Aggregate[S, Any, Any], id: UUID, version: int) -> S:
        """The state of one aggregate as it was at a version."""
        events = (await self._store.load([(of.name, id)])).get((of.name, id), ())
        now = self.adopt(of, id, events)
        return self._codec.fold(of, events[:version]) or now

    async def matching(
        self, query: Listing, to_show: bool = False, most: int = ALL_MATCHES
    ) -> tuple[UUID, ...]:
        """The ids a list finds; read their streams before deciding anything."""
        view = next(view for view in self._catalogue.views if view.listing is type(query))
        sought = await view.seek(query, self)
        owner_id = self.only if to_show else None
        rows = await self._lists.listing(view, sought, owner_id, None, most)
        return tuple(id for id, _ in rows)

    async def happened(
        self, types: Sequence[type[Event]], since: datetime, until: datetime, most: int
    ) -> Sequence[Event]:
        """The events of these types between two times, oldest first, and no more than so many."""
        names = [type.__name__ for type in types]
        found = await self._store.happened(names, since, until, self.only, most)
        return [event for name, each in found for event in self._codec.decode(name, [each])]

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        """The rows whose columns equal these values, or are among them where a set is given."""
        return await self._store.rows(of, where)

    async def above[R](self, of: Table[R], ids: Iterable[UUID]) -> Mapping[UUID, R]:
        """The rows of a tree with these ids and all those above them, by id."""
        return {getattr(row, of.key[0]): row for row in await self._store.above(of, list(ids))}
