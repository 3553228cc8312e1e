"""How objects of every kind are searched by name, and named by id."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Protocol
from uuid import UUID

from annotated_types import Ge, Le, MaxLen, MinLen

from beamkeep.kernel import AnyReader, Query, Record

MOST_KINDS, MOST_IDS = 50, 50


class ObjectName(Record):
    """An object as a person recognises it."""

    kind: str
    """The type of its stream, such as `Run`."""
    name: str
    status: str | None
    link: str
    """The path at which the object is read."""


class FoundObject(ObjectName):
    id: UUID


class FoundObjects(Record):
    items: tuple[FoundObject, ...]


class SearchedObjects(FoundObjects):
    truncated: bool
    """Whether only a part of the directory was read. Search a longer text."""


class Search(Query):
    """Search objects by name or keyword, best matches first."""

    q: Annotated[str, MinLen(1), MaxLen(200)]
    """The name, its beginning, a part of 3 or more characters, or the last 6 or more digits of the
    id."""
    kind: Annotated[frozenset[Annotated[str, MaxLen(100)]] | None, MaxLen(MOST_KINDS)] = None
    """Only these kinds, such as `Run`."""
    limit: Annotated[int, Ge(1), Le(50)] = 20


class ResolveNames(Query):
    """Name the objects with these ids, as far as you may see them."""

    id: Annotated[frozenset[UUID], MinLen(1), MaxLen(MOST_IDS)]


class NameReader(Protocol):
    """Searches and names objects for one question."""

    async def search(self, query: Search, read: AnyReader) -> SearchedObjects:
        """Return the objects that the caller may see, the best matches first."""
        ...

    async def named(self, ids: Iterable[UUID], read: AnyReader) -> Mapping[UUID, ObjectName]:
        """Return the names of those of the objects that the caller may see."""
        ...
