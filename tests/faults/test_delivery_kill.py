"""Workers that deliver are killed at random; every event arrives, in order."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import httpx2
import pytest

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.server import LocalDeployment, deployment, serving
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.report import rounds
from tests.support.receiving import Got, LocalReceiver, answer

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

QUICKLY = {
    "project_in_serve": "false",
    "conduct_lease_seconds": "3",
    "conduct_renew_seconds": "0.5",
    "conduct_self_fence_seconds": "2",
}


async def test_every_event_is_delivered_in_order_by_workers_that_are_killed(
    report: Report, cluster: Cluster
):
    receiver = LocalReceiver()
    await receiver.serve()

    async def slowly(got: Got) -> bytes:
        # Long enough that a kill meets a delivery under way.
        await asyncio.sleep(0.01)
        return answer(204)

    receiver.behaviours["/a"] = slowly
    hosts = json.dumps([f"127.0.0.1:{receiver.port}"])
    settings = {**QUICKLY, "subscription_hosts": hosts, "subscription_plain_hosts": hosts}
    with deployment(cluster, True, **settings) as made, serving(made):
        figures = await harass(made, receiver, rounds("DELIVERY_KILLS", 8, 3, 100))
    await receiver.close()
    report("deliveries", figures)
    assert figures["out_of_order"] == figures["lost"] == figures["other_repeats"] == 0
    assert figures["delivered"] == figures["written"]
    assert figures["repeated"] <= figures["kills"]


async def harass(
    made: LocalDeployment, receiver: LocalReceiver, faults: Iterable[int]
) -> dict[str, int]:
    """Define zones while a worker is killed again and again; return what came of it."""
    random, written, kills = dice(seed(), "deliveries"), list[str](), 0
    headers = {"authorization": f"Bearer {made.admin}"}
    async with httpx2.AsyncClient(base_url=made.url, headers=headers, timeout=60) as http:
        url = f"http://127.0.0.1:{receiver.port}/a"
        wanted = {"name": "Receiver", "url": url, "types": ["ZoneDefined"]}
        registered = await http.post("/subscriptions", json=wanted)
        assert registered.status_code == 201, registered.text

        async def write(count: int) -> None:
            for _ in range(count):
                name = f"Zone {len(written)}"
                made = await http.post("/zones", json={"name": name})
                assert made.status_code == 201
                written.append(name)

        for _ in faults:
            before, worker = len(receiver.got), made.begin("work")
            try:
                await write(20)
                goal = before + random.randrange(1, 15)
                await until(lambda goal=goal: len(receiver.got) >= goal, "the worker delivers")
            finally:
                worker.kill()
                worker.wait()
            kills += 1
        worker = made.begin("work")
        try:
            await write(5)
            await until(lambda: len({got.zone for got in receiver.got}) == len(written))
        finally:
            worker.terminate()
            assert worker.wait() == 0, made.log.read_text()[-2000:]
    return audit(receiver.got, written, kills)


def audit(got: list[Got], written: list[str], kills: int) -> dict[str, int]:
    """Return how many events were lost, repeated or out of order."""
    zones = [each.zone for each in got]
    ids = {(each.zone, each.headers["webhook-id"]) for each in got}
    places = [written.index(zone) for zone in zones]
    return {
        "kills": kills,
        "written": len(written),
        "delivered": len({*zones}),
        "lost": len({*written} - {*zones}),
        "repeated": sum(times - 1 for times in Counter(zones).values()),
        "other_repeats": len(ids) - len({*zones}),
        "out_of_order": sum(b < a for a, b in pairwise(places)),
    }


def got(zone: int, id: str) -> Got:
    body = json.dumps({"data": {"name": f"Zone {zone}"}}).encode()
    return Got("/a", {"webhook-id": id}, body)


def test_the_audit_finds_what_is_lost_or_out_of_order_or_has_another_id():
    written, sound = ["Zone 0", "Zone 1", "Zone 2"], [got(0, "a"), got(1, "b"), got(2, "c")]
    found = audit([*sound[:1], *sound], written, 1)
    assert (found["lost"], found["repeated"], found["out_of_order"]) == (0, 1, 0)
    assert audit(sound[:2], written, 1)["lost"] == 1
    assert audit([sound[1], sound[0], sound[2]], written, 1)["out_of_order"] == 1
    assert audit([*sound, got(2, "d")], written, 1)["other_repeats"] == 1
