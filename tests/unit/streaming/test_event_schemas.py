"""The schemas of events are read without a token, and every event on record fits its schema."""

import json

import httpx2
import pytest
from jsonschema_rs import Draft202012Validator
from tests.corpus import FOLDER, read

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import event_types
from beamkeep.runtime.codec import Codec, encode
from beamkeep.surfaces.http.event_schemas import event_schema_routes, event_schemas
from beamkeep.testing.service import memory_service
from beamkeep.testing.web import http_client, rest_application

pytestmark = pytest.mark.anyio

URL = "https://lab.test"
CODEC = Codec(CATALOGUE.aggregates.values())
SCHEMAS = {named: json.loads(text) for named, text in event_schemas(CATALOGUE, URL).items()}


async def get(path: str) -> httpx2.Response:
    service, _ = await memory_service()
    app = rest_application(service, routes=[*event_schema_routes(CATALOGUE, URL)])
    async with http_client(app) as http:
        return await http.get(path)


def test_every_event_type_has_a_schema():
    aggregates = CATALOGUE.aggregates.values()
    every = {event.__name__ for aggregate in aggregates for event in event_types(aggregate)}
    assert {name for name, _ in SCHEMAS} == every


@pytest.mark.parametrize("name", CATALOGUE.aggregates)
def test_every_event_on_record_fits_its_schema(name: str):
    streams = read(FOLDER, CATALOGUE.aggregates[name])
    newest = dict(SCHEMAS.keys())
    assert streams
    for line in (line for stream in streams for line in stream):
        form, payload = newest[line.event], bytes(line.payload)
        if str(line.form) != form:
            payload = encode(CODEC.decode(name, [line.recorded])[0])
        assert Draft202012Validator(SCHEMAS[line.event, form]).is_valid(json.loads(payload))


def test_a_schema_refuses_another_event():
    held = Draft202012Validator(SCHEMAS["RunHeld", "1"])
    assert not held.is_valid({"occurred_at": "2030-01-01T00:00:00Z", "reason": 7})


async def test_a_schema_is_read_without_a_token():
    answer = await get("/events/schemas/RunHeld/1")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.json() == SCHEMAS["RunHeld", "1"]
    assert answer.json()["$id"] == f"{URL}/events/schemas/RunHeld/1"


@pytest.mark.parametrize("path", ["RunHeld/2", "RunHeld/01", "RunDropped/1"])
async def test_an_unknown_schema_is_not_found(path: str):
    answer = await get(f"/events/schemas/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "EventSchemaNotFoundError")
