"""The directory in memory: the entries follow from the events whenever they are asked for."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any
from uuid import UUID

from beamkeep.contexts.seams.belonging import OBJECT_TEAMS
from beamkeep.feed.directory.entries import OWN_SITE, Entry, entry_of, facility_code_of
from beamkeep.feed.directory.seam import MOST_CANDIDATES, Candidates, Match, PublishedObject
from beamkeep.feed.lists.rows import RowFold
from beamkeep.kernel import Sight, View
from beamkeep.runtime.codec import Codec

from .store import MemoryStore


class MemoryDirectory:
    """Finds entries by looking at every object."""

    def __init__(
        self,
        store: MemoryStore,
        views: Sequence[View[Any]],
        codec: Codec,
        site: str = OWN_SITE,
    ) -> None:
        self._store, self._site = store, site
        self._folds = {view.aggregate.name: RowFold(view, codec) for view in views}

    async def find(
        self, match: Match, text: str, kinds: frozenset[str], sight: Sight | None = None
    ) -> Candidates:
        """Return the entries of these kinds that a folded text finds so, in sight or of all."""
        shown = (entry for entry in self._entries() if entry.kind in kinds)
        seen = (
            entry
            for entry in shown
            if sight is None or self._store.is_in_sight((entry.kind, entry.id), sight)
        )
        found = [entry for entry in seen if match.finds(entry, text)]
        found.sort(key=lambda entry: (entry.folded, entry.id))
        return Candidates(found[:MOST_CANDIDATES])

    async def of_teams(self, ids: Sequence[UUID], principal_id: UUID) -> Set[UUID]:
        """Return the objects that belong to teams of which a principal is a member now."""
        sight = Sight(principal_id, teams=True)
        return {id for id in ids if self._store.is_of_team(id, sight)}

    async def published(self, ids: Sequence[UUID]) -> Mapping[UUID, PublishedObject]:
        """Return what events say of the objects with these ids."""
        entries = {entry.id: entry for entry in await self.entries(ids)}
        teams = {row.object_id: row for row in await self._store.rows(OBJECT_TEAMS, {})}
        return {
            id: PublishedObject(
                kind=entries[id].kind if id in entries else None,
                name=entries[id].name if id in entries else None,
                facility_code=entries[id].facility_code if id in entries else None,
                team_id=teams[id].team_id if id in teams else None,
                visit_id=teams[id].visit_id if id in teams else None,
            )
            for id in ids
        }

    async def entries(self, ids: Sequence[UUID]) -> Sequence[Entry]:
        """Return the entries of the objects with these ids."""
        found = {entry.id: entry for entry in self._entries(frozenset(ids))}
        known = dict(found)
        while missing := {id for each in known.values() for id in each.within or ()} - known.keys():
            above = {entry.id: entry for entry in self._entries(frozenset(missing))}
            if not above:
                break
            known |= above
        return [
            entry._replace(facility_code=facility_code_of(entry, known, self._site))
            for entry in found.values()
        ]

    def _entries(self, ids: frozenset[UUID] | None = None) -> Iterator[Entry]:
        for (kind, id), stored in self._store.streams.items():
            fold = self._folds.get(kind)
            if fold is None or (ids is not None and id not in ids):
                continue
            row = fold.after(None, [e.recorded for e in stored], stored[0].principal_id)
            if entry := entry_of(fold.view, id, row):
                yield entry
