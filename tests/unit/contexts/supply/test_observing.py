"""What a monitor observes, through the whole service."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests.support.examples.supply import a_lost_supply, a_supply, monitored

from beamkeep.runtime import Service
from beamkeep.testing.service import ACCOUNT, call, memory_service

pytestmark = pytest.mark.anyio

SEEN = {"status": "Unavailable", "reason": "Current is 0", "monitor_ref": "SR:DCCT"}


@pytest.fixture
async def service() -> Service:
    service, _ = await memory_service()
    return service


class Doing:
    """Makes calls that must succeed."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        answer = await call(self._service, name, arguments, **options)
        return json.loads(answer.body or b"null")

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await self(name, arguments, subject=ACCOUNT)


def doing(service: Service) -> Any:
    return Doing(service)


async def events_of(service: Service, supply_id: str) -> list[tuple[str, Any]]:
    history = await doing(service)("get_supply_history", {"supply_id": supply_id})
    return [(item["event_type"], item["payload"]) for item in history["items"]]


async def test_what_is_known_already_is_answered_and_nothing_is_written(service: Service):
    supply_id = await monitored(doing(service), await a_lost_supply(doing(service)))
    before = await events_of(service, supply_id)
    answer = await call(service, "observe_supply_status", {"supply_id": supply_id, **SEEN})
    assert (answer.status, answer.body, answer.version) == (204, b"", 3)
    assert await events_of(service, supply_id) == before
    rehearsed = await call(
        service, "observe_supply_status", {"supply_id": supply_id, **SEEN}, dry_run=True
    )
    assert json.loads(rehearsed.body) == {"events": []}


async def test_an_observation_is_stored_as_the_operators_verb_with_who_saw_it(service: Service):
    supply_id = await monitored(doing(service), await a_supply(doing(service)))
    seen = {"supply_id": supply_id, **SEEN}
    assert (await call(service, "observe_supply_status", seen)).status == 204
    (_, _, (event_type, payload)) = await events_of(service, supply_id)
    assert event_type == "SupplyMarkedUnavailable"
    assert payload.pop("occurred_at")
    assert payload == {
        "supply_id": supply_id,
        "from_status": "Unknown",
        "trigger": "Monitor",
        "monitor_ref": "SR:DCCT",
        "reason": "Current is 0",
    }


async def test_a_list_shows_why_and_when_the_status_last_changed(service: Service):
    do = doing(service)
    fresh, seen = await a_supply(do), await monitored(do, await a_supply(do))
    await do("observe_supply_status", {"supply_id": seen, **SEEN})
    rows = {row["supply_id"]: row for row in (await do("list_supplies", {}))["items"]}
    assert (rows[seen]["last_status_reason"], rows[seen]["last_trigger"]) == (
        "Current is 0",
        "Monitor",
    )
    assert rows[seen]["last_status_changed_at"] > rows[seen]["created_at"]
    assert [rows[fresh][f"last_{what}"] for what in ("status_reason", "trigger")] == [None, None]
    assert rows[fresh]["last_status_changed_at"] is None


async def test_all_statuses_are_listed_unless_one_is_asked_for(service: Service):
    do = doing(service)
    gone, there = await a_supply(do), await a_lost_supply(do)
    await do("deregister_supply", {"supply_id": gone, "reason": "Typed twice"})
    listed = [row["supply_id"] for row in (await do("list_supplies", {}))["items"]]
    assert {gone, there} <= {*listed}
    lost = (await do("list_supplies", {"status": "Unavailable"}))["items"]
    assert [row["supply_id"] for row in lost] == [there]
