"""Answers questions about the directory, as far as the caller may see."""

import re
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from beamkeep.contexts.access import profile
from beamkeep.contexts.access.actor import actors
from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.names import FoundObject, ObjectName, Search, SearchedObjects
from beamkeep.feed.fair_shares import FairShares
from beamkeep.kernel import Catalogue, ObjectScope
from beamkeep.kernel.values import folded
from beamkeep.runtime.session import sight_of

from .entries import MOST_FOLDED, Entry
from .seam import Directory, Match, VisibleKinds

SHORTEST_PART = 3
SEARCHES_OF_ONE = 2
"""How many searches of one principal run at the same time; a search may take a second."""
ID_END = re.compile(r"[0-9a-f-]{6,36}")


class DirectoryReader:
    """Searches and names objects."""

    def __init__(self, directory: Directory, catalogue: Catalogue) -> None:
        self._directory, self._shares = directory, FairShares(SEARCHES_OF_ONE)
        gets = catalogue.gets.items()
        self._paths = {kind: get.route.path.rpartition("/")[0] for kind, get in gets}
        self._kinds = {get.name: kind for kind, get in gets}

    async def search(self, query: Search, read: Reader) -> SearchedObjects:
        """Return the objects that the caller may see, the best matches first."""
        async with self._shares.held(read.principal_id):
            return await self._search(query, read)

    async def _search(self, query: Search, read: Reader) -> SearchedObjects:
        text, visible = folded(query.q)[:MOST_FOLDED], _visible(await self._reach(read), read)
        asked = visible.by_sight(query.kind)
        found, truncated = dict[UUID, Entry](), False
        for match in _matches(text):
            if len(found) < query.limit:
                parts = [
                    await self._directory.find(match, text, kinds, sight)
                    for sight, kinds in asked.items()
                ]
                truncated = truncated or any(part.truncated for part in parts)
                entries = [entry for part in parts for entry in part.entries]
                ranked = sorted(entries, key=lambda entry: _rank(entry, text))
                found |= {entry.id: entry for entry in ranked if entry.id not in found}
        shown = list(found.values())[: query.limit]
        items = tuple(FoundObject.of(self._name(each), id=each.id) for each in shown)
        return SearchedObjects(items, truncated)

    async def named(self, ids: Iterable[UUID], read: Reader) -> Mapping[UUID, ObjectName]:
        """Return the names of those of the objects that the caller may see."""
        wanted, reach = frozenset(ids), await self._reach(read)
        visible = _visible(reach, read)
        entries = await self._directory.entries(sorted(wanted))
        found = {each.id: self._name(each) for each in await self._shown(entries, visible)}
        scope = reach.get(actors.name)
        others = wanted - {entry.id for entry in entries}
        if scope is None or not others:
            return found
        # Names of people are never kept here: they are read from the profiles as they are now.
        known = await read.rows(profile.STANDINGS, principal_id=others)
        seen = await read.visible(actors, (row.principal_id for row in known), scope)
        for id, shown in (await profile.names(sorted(seen), read)).items():
            path = self._paths[actors.name]
            found[id] = ObjectName(actors.name, shown.name, None, link=f"{path}/{id}")
        return found

    async def _shown(self, entries: Sequence[Entry], visible: VisibleKinds) -> list[Entry]:
        """Return the entries that the caller may see."""
        known = [each for each in entries if each.kind in visible.by_kind]
        sights = {each.id: visible.by_kind[each.kind] for each in known}
        seen = {e.id for e in known if (s := sights[e.id]) is None or e.owner_id == s.principal_id}
        others = {id: s for id, s in sights.items() if s and s.teams and id not in seen}
        for sight in {*others.values()}:
            seen |= await self._directory.of_teams(sorted(others), sight.principal_id)
        return [each for each in known if each.id in seen]

    async def _reach(self, read: Reader) -> Mapping[str, ObjectScope]:
        """Return the kinds of objects that the caller may get here, and which objects of them."""
        scopes = await read.scopes(self._kinds)
        return {self._kinds[name]: scope for name, scope in scopes.items()}

    def _name(self, entry: Entry) -> ObjectName:
        link = f"{self._paths[entry.kind]}/{entry.id}"
        return ObjectName(entry.kind, entry.name, entry.status, link=link)


def _visible(reach: Mapping[str, ObjectScope], read: Reader) -> VisibleKinds:
    assert read.principal_id is not None, "it reads for the caller"  # noqa: S101
    me = read.principal_id
    return VisibleKinds({kind: sight_of(me, scope) for kind, scope in reach.items()})


def _matches(text: str) -> Iterable[Match]:
    """Yield the ways in which a text is looked for, the best first."""
    if text:
        yield Match.EXACT
        if ID_END.fullmatch(text) and len(text.replace("-", "")) >= 6:
            yield Match.TAIL
        yield Match.PREFIX
    if len(text) >= SHORTEST_PART:
        yield Match.PART


def _rank(entry: Entry, text: str) -> tuple[bool, int, str, UUID]:
    """Return what orders the matches of one way: a whole keyword, then the shorter name."""
    return text not in entry.words.split("\n"), len(entry.name), entry.folded, entry.id
