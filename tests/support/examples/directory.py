"""Examples of finding objects by name, names by id, and oneself."""

from typing import Any

from beamkeep.contexts.trust import seeded
from beamkeep.testing.examples import CallExample, Do

# Of objects that every deployment has: of others, the directory may not know yet.


async def search(do: Do) -> dict[str, Any]:
    zone = await do("get_zone", {"zone_id": str(seeded.CLIENTS)})
    return {"q": zone["name"], "kind": ["Zone"], "limit": 5}


async def resolve_names(do: Do) -> dict[str, Any]:
    zone = await do("get_zone", {"zone_id": str(seeded.SERVICE)})
    return {"id": [zone["zone_id"]]}


async def get_self(do: Do) -> dict[str, Any]:
    return {}


EXAMPLES: dict[str, CallExample] = {
    "search": search,
    "resolve_names": resolve_names,
    "get_self": get_self,
}
