"""The JSON Schema of every event, for anyone."""

import asyncio
from collections.abc import Iterator
from functools import cache, partial

import msgspec

from beamkeep.kernel import Catalogue, NotFound, Route, event_types
from beamkeep.runtime.codec import encode
from beamkeep.surfaces.http.messages import HttpRequest, HttpResponse
from beamkeep.surfaces.http.routes import PublicRoute

PATH = "/events/schemas/{event_type}/{schema_version}"
SCHEMA_JSON = {b"content-type": b"application/schema+json"}
DIALECT = "https://json-schema.org/draft/2020-12/schema"


class EventSchemaNotFoundError(NotFound):
    """There is no event of this type and schema version. Events have the newest version."""


def event_schemas(catalogue: Catalogue, base_url: str) -> dict[tuple[str, str], bytes]:
    """Return the schema of the newest version of every event, by type and version."""
    found: dict[tuple[str, str], bytes] = {}
    for aggregate in catalogue.aggregates.values():
        for event in event_types(aggregate):
            name = event.__name__
            version = 1 + sum(upcast.event_type == name for upcast in aggregate.upcasts)
            address = PATH.format(event_type=name, schema_version=version)
            about = {"$schema": DIALECT, "$id": base_url + address, "title": name}
            found[name, str(version)] = encode(about | msgspec.json.schema(event, schema_hook=_any))
    return found


def event_schema_routes(catalogue: Catalogue, base_url: str) -> Iterator[PublicRoute]:
    """Yield the routes at which the schemas are read."""
    # Few processes are asked for one.
    made = cache(partial(event_schemas, catalogue, base_url))

    async def answer(request: HttpRequest) -> HttpResponse:
        named = request.values["event_type"], request.values["schema_version"]
        schemas = await asyncio.to_thread(made)
        if named not in schemas:
            raise EventSchemaNotFoundError
        return HttpResponse(200, SCHEMA_JSON, schemas[named])

    for method in ("GET", "HEAD"):
        yield PublicRoute("event_schema", Route(method, PATH), answer)


def _any(_: type[object]) -> dict[str, object]:
    """Return the schema of a value that may be any JSON."""
    return {"description": "Any JSON value."}
