"""Finding: which objects have a name, and which names have objects."""

from beamkeep.contexts.federation.facility import facilities
from beamkeep.contexts.seams.installation import installation
from beamkeep.contexts.seams.names import (
    FoundObject,
    FoundObjects,
    NameReader,
    ResolveNames,
    Search,
    SearchedObjects,
)
from beamkeep.kernel import Reader, answers


async def search(query: Search, read: Reader) -> SearchedObjects:
    """Return the objects that a text finds."""
    return await _directory(read).search(query, read)


async def resolve_names(query: ResolveNames, read: Reader) -> FoundObjects:
    """Return the objects with these ids."""
    found = await _directory(read).named(query.id, read)
    return FoundObjects(tuple(FoundObject.of(found[id], id=id) for id in sorted(found)))


def _directory(read: Reader) -> NameReader:
    directory = installation(read).directory
    assert directory is not None, "a service has a directory"  # noqa: S101
    return directory


# fmt: off
QUESTIONS = (
    answers("GET /search", Search, search, SearchedObjects, of=facilities, about=None,
        title="Search objects"),
    answers("GET /names", ResolveNames, resolve_names, FoundObjects, of=facilities, about=None,
        title="Resolve names"),
)
# fmt: on
