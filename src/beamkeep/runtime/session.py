"""Reading for one call."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from beamkeep.kernel import Aggregate, Listing, Table, View, facet

from .codec import Codec
from .store import EventStore, ReadModel, Recorded, Stream

ALL_MATCHES = 10_000


class Session:
    """Reads for one call, remembering every version read so that the append can hold them to it."""

    def __init__(
        self, store: EventStore, lists: ReadModel, codec: Codec, operation_names: frozenset[str]
    ) -> None:
        self._store, self._lists, self._codec = store, lists, codec
        self.operation_names = operation_names
        self.versions: dict[Stream, int] = {}

    def adopt[S](
        self, of: Aggregate[S, Any, Any], id: UUID | None, events: Sequence[Recorded]
    ) -> S:
        """The state these events make, remembered as read; refused if there are none."""
        state = self._codec.fold(of, events)
        if id is None or state is None:
            raise of.absent(f"There is no {of.noun.replace('_', ' ')} {id}.")
        self.versions[of.name, id] = len(events)
        return state

    async def one[S](self, of: Aggregate[S, Any, Any], id: UUID) -> S:
        """The state of one aggregate, or the refusal that it does not exist."""
        return (await self.many(of, [id]))[id]

    async def many[S](self, of: Aggregate[S, Any, Any], ids: Iterable[UUID]) -> Mapping[UUID, S]:
        """The states of several, in one round trip; the first that is absent is refused."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        found = await self._store.load([(of.name, id) for id in wanted])
        return {id: self.adopt(of, id, found.get((of.name, id), ())) for id in wanted}

    async def matching(self, of: View[Any], query: Listing) -> tuple[UUID, ...]:
        """The ids a read model finds; read their streams before deciding anything."""
        rows = await self._lists.listing(of, facets(of, query), None, None, ALL_MATCHES)
        return tuple(id for id, _ in rows)

    async def rows[R](self, of: Table[R], **where: object) -> tuple[R, ...]:
        """The rows whose columns equal these values, or are among them where a set is given."""
        return await self._store.rows(of, where)


def facets(view: View[Any], query: Listing) -> list[str]:
    """What a query's filters look for."""
    given = [(name, getattr(query, name)) for name in view.filters]
    return [facet(name, value) for name, value in given if value is not None]
