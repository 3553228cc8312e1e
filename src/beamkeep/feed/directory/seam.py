"""The directory seam: how entries are found."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Record

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
    """Which entries a caller may see: all of these kinds, and of those kinds the caller's own."""

    every: frozenset[str]
    own: frozenset[str]
    owner_id: UUID

    def shows(self, entry: Entry) -> bool:
        """Return whether the caller may see an entry."""
        return entry.kind in self.every or (
            entry.kind in self.own and entry.owner_id == self.owner_id
        )


class Directory(Protocol):
    """Finds entries of the directory."""

    async def find(
        self, match: Match, text: str, kinds: frozenset[str], owner_id: UUID | None = None
    ) -> Candidates:
        """Return at most 500 entries that a folded text finds so, of one owner or of all."""
        ...

    async def entries(self, ids: Sequence[UUID]) -> Sequence[Entry]:
        """Return the entries of the objects with these ids."""
        ...
