"""The directory seam: how entries are found."""

from collections.abc import Mapping, Sequence, Set
from enum import Enum, auto
from typing import NamedTuple, Protocol
from uuid import UUID

from beamkeep.kernel import Record, Sight

from .entries import Entry

MOST_CANDIDATES = 500
"""How many entries are ranked at most."""


class Match(Enum):
    """How a text finds an entry."""

    EXACT = auto()
    """It is the name."""
    TAIL = auto()
    """It is the end of the id."""
    PREFIX = auto()
    """The name begins with it."""
    PART = auto()
    """It is a part of the name or of a keyword."""

    def finds(self, entry: Entry, text: str) -> bool:
        """Return whether a folded text finds an entry so."""
        match self:
            case Match.EXACT:
                return entry.folded == text
            case Match.TAIL:
                return entry.id.hex.endswith(text.replace("-", ""))
            case Match.PREFIX:
                return entry.folded.startswith(text)
            case Match.PART:
                return text in entry.words


class Candidates(Record):
    """Entries that a text finds, before they are ranked."""

    entries: Sequence[Entry]
    truncated: bool = False
    """Whether only a part of the directory was read for them."""


class VisibleKinds(Record):
    """The kinds of entries that a caller may see, and whose; None for everybody's."""

    by_kind: Mapping[str, Sight | None]

    def by_sight(self, wanted: Set[str] | None) -> Mapping[Sight | None, frozenset[str]]:
        """Return the kinds, or those of them that are wanted, by whose objects are seen."""
        kinds = self.by_kind.keys() if wanted is None else self.by_kind.keys() & wanted
        sights = {self.by_kind[kind] for kind in kinds}
        return {s: frozenset(k for k in kinds if self.by_kind[k] == s) for s in sights}


class PublishedObject(NamedTuple):
    """What an event says of its object, as it is known now."""

    kind: str | None
    """None while the directory has no entry of it."""
    name: str | None
    facility_code: str | None
    team_id: UUID | None
    visit_id: UUID | None


class Directory(Protocol):
    """Finds entries of the directory."""

    async def find(
        self, match: Match, text: str, kinds: frozenset[str], sight: Sight | None = None
    ) -> Candidates:
        """Return at most 500 entries that a folded text finds so, in sight or of all."""
        ...

    async def of_teams(self, ids: Sequence[UUID], principal_id: UUID) -> Set[UUID]:
        """Return the objects that belong to teams of which a principal is a member now."""
        ...

    async def published(self, ids: Sequence[UUID]) -> Mapping[UUID, PublishedObject]:
        """Return what events say of the objects with these ids."""
        ...

    async def entries(self, ids: Sequence[UUID]) -> Sequence[Entry]:
        """Return the entries of the objects with these ids."""
        ...
