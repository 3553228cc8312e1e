"""Finding: which objects have a name, and which names have objects."""

from beamkeep.contexts.federation.facility import facilities
from beamkeep.contexts.seams.installation import Reader, present
from beamkeep.contexts.seams.names import (
    FoundObject,
    FoundObjects,
    ResolveNames,
    Search,
    SearchedObjects,
)
from beamkeep.kernel import answers


async def search(query: Search, read: Reader) -> SearchedObjects:
    """Return the objects that a text finds."""
    return await present(read.readers.directory).search(query, read)


async def resolve_names(query: ResolveNames, read: Reader) -> FoundObjects:
    """Return the objects with these ids."""
    found = await present(read.readers.directory).named(query.id, read)
    return FoundObjects(tuple(FoundObject.of(found[id], id=id) for id in sorted(found)))


# fmt: off
QUESTIONS = (
    answers("GET /search", Search, search, SearchedObjects, of=facilities, about=None,
        title="Search objects"),
    answers("GET /names", ResolveNames, resolve_names, FoundObjects, of=facilities, about=None,
        title="Resolve names"),
)
# fmt: on
