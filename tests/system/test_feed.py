"""Events of a running service, as a client follows them."""

import json

import httpx2
import pytest
from tests.system.calling import As

from beamkeep.testing.calling import Rest
from beamkeep.testing.server import Server

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


async def test_an_event_is_sent_to_a_listener_and_its_schema_is_where_it_says(server: Server):
    headers = {"authorization": f"Bearer {server.admin}", "accept": "text/event-stream"}
    async with (
        httpx2.AsyncClient(base_url=server.url, timeout=30) as http,
        http.stream("GET", "/events", params={"type": "ZoneDefined"}, headers=headers) as answer,
    ):
        lines = answer.aiter_lines()
        while await anext(lines) != "event: beat":
            pass
        made = await As(Rest(http), server.admin)("define_zone", {"name": "Followed"})
        while await anext(lines) != "event: event":
            pass
        event = json.loads((await anext(lines)).removeprefix("data: "))
        assert event["data"] == event["data"] | {"zone_id": made["zone_id"], "name": "Followed"}
        page = await http.get(
            "/events",
            params={"stream_id": made["zone_id"]},
            headers={"authorization": f"Bearer {server.admin}"},
        )
        # Its name is told as soon as the directory has it.
        (listed,) = page.json()["items"]
        assert {listed["subject"], event["subject"]} <= {made["zone_id"], "Followed"}
        assert listed == event | {"subject": listed["subject"]}
        schema = await http.get(event["dataschema"])
        assert schema.json()["title"] == "ZoneDefined"
        shown = await http.get(event["source"], headers=headers | {"accept": "application/json"})
        assert shown.json()["name"] == "Followed"
