"""Deliveries: in order, at least once, signed, and no receiver delays another."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from standardwebhooks import Webhook
from tests.support.delivering import DeliveryBench, delivery_bench
from tests.support.receiving import Got, answer

from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.contexts.feed.subscription import BOOKMARKS, DELIVERING, SECRETS, DeliveryStatus
from beamkeep.parts.subscriptions import deliveries
from beamkeep.runtime.store import WorkLostError
from beamkeep.testing.service import call, enrol, permit
from beamkeep.testing.waiting import until
from beamkeep.workers.leases import Holding

pytestmark = pytest.mark.anyio
NAMES = [f"Zone {n}" for n in range(8)]


@pytest.fixture
async def bench() -> AsyncGenerator[DeliveryBench]:
    async with delivery_bench() as made:
        yield made


def zones(got: list[Got]) -> list[str]:
    return [each.zone for each in got]


async def test_events_are_delivered_in_order_from_the_registration_on(bench: DeliveryBench):
    await bench.zones("before")
    id, _ = await bench.subscribe("/a")
    await bench.zones(*NAMES)
    async with bench.worker():
        await bench.got("/a", 8)
        await bench.zones("after")
        got = await bench.got("/a", 9)
        rows = await bench.settled(id, 9)
    assert zones(got) == [*NAMES, "after"]
    assert [each.json["type"] for each in got] == ["beamkeep.ZoneDefined"] * 9
    assert {each.headers["content-type"] for each in got} == {"application/cloudevents+json"}
    assert {(row.status, row.attempt, row.http_status) for row in rows} == {("Delivered", 1, 204)}
    assert [str(row.event_id) for row in rows] == [got.headers["webhook-id"] for got in got]


def verified(secret: str, got: Got) -> Any:
    # The bench's clock stands; the library compares the time with its own.
    webhook = Webhook(secret)
    sent_at = datetime.fromtimestamp(int(got.headers["webhook-timestamp"]), UTC)
    signature = next(
        each
        for each in got.headers["webhook-signature"].split(" ")
        if webhook.sign(got.headers["webhook-id"], sent_at, got.body.decode()) == each
    )
    assert signature.startswith("v1,")
    return json.loads(got.body)


async def test_each_message_is_signed_with_the_secret_and_for_a_day_with_the_one_before(
    bench: DeliveryBench,
):
    id, first = await bench.subscribe("/a")
    async with bench.worker():
        await bench.zones("one")
        (one,) = await bench.got("/a", 1)
        second = (await bench.do("rotate_subscription_secret", id))["secret"]
        await bench.zones("two")
        two = (await bench.got("/a", 2))[1]
        await bench.settled(id, 2)
        bench.later = timedelta(hours=25)
        await bench.zones("three")
        three = (await bench.got("/a", 3))[2]
    assert verified(first, one)["data"]["name"] == "one"
    assert len(two.headers["webhook-signature"].split(" ")) == 2
    assert verified(first, two) == verified(second, two)
    assert len(three.headers["webhook-signature"].split(" ")) == 1
    assert verified(second, three)["data"]["name"] == "three"
    with pytest.raises(StopIteration):
        verified(first, three)


async def test_a_receiver_that_fails_holds_its_own_subscription_and_no_other(bench: DeliveryBench):
    failing, _ = await bench.subscribe("/failing")
    await bench.subscribe("/well")
    bench.receiver.answers("/failing", 500, 503)
    await bench.zones(*NAMES)
    async with bench.worker():
        assert zones(await bench.got("/well", 8)) == NAMES
        assert len(bench.receiver.at("/failing")) == 1
        row = await bench.failed(failing, 1)
        assert (row.status, row.error, row.http_status) == ("Sending", "ServerError", 500)
        assert row.due_at == row.at + timedelta(seconds=5)
        bench.later += timedelta(seconds=5)
        row = await bench.failed(failing, 2)
        assert row.due_at == row.at + timedelta(seconds=30)
        bench.later += timedelta(seconds=30)
        got = await bench.got("/failing", 10)
    assert zones(got) == [NAMES[0]] * 2 + NAMES
    assert len({each.headers["webhook-id"] for each in got[:3]}) == 1


async def test_a_receiver_that_is_slow_delays_no_other(bench: DeliveryBench):
    gate = asyncio.Event()

    async def slow(got: Got) -> bytes:
        await gate.wait()
        return answer(204)

    bench.receiver.behaviours["/slow"] = slow
    await bench.subscribe("/slow")
    await bench.subscribe("/well")
    await bench.zones(*NAMES)
    async with bench.worker():
        assert zones(await bench.got("/well", 8)) == NAMES
        assert len(bench.receiver.at("/slow")) == 1
        gate.set()
        assert zones(await bench.got("/slow", 8)) == NAMES


async def test_a_receiver_that_is_down_for_an_hour_gets_everything_in_order(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    await bench.receiver.close()
    await bench.zones(*NAMES)
    async with bench.worker():
        for attempt, delay in enumerate((5, 30, 120, 600, 1800, 1800), 1):
            assert (await bench.failed(id, attempt)).error == "ConnectionFailed"
            if attempt == 6:
                await bench.receiver.serve(bench.receiver.port)
            bench.later += timedelta(seconds=delay)
        assert zones(await bench.got("/a", 8)) == NAMES
        rows = await bench.settled(id, 8)
    assert [row.attempt for row in rows] == [7, 1, 1, 1, 1, 1, 1, 1]


async def test_a_redirect_is_not_followed(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    bench.receiver.answers("/a", 302, 307, location="/elsewhere")
    await bench.zones(*NAMES)
    async with bench.worker():
        for attempt, seconds in enumerate((5, 30), 1):
            assert (await bench.failed(id, attempt)).error == "Redirected"
            bench.later += timedelta(seconds=seconds)
        assert zones(await bench.got("/a", 10))[2:] == NAMES
    assert bench.receiver.at("/elsewhere") == []


async def test_a_receiver_may_ask_for_a_pause_of_an_hour_at_most(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    bench.receiver.answers("/a", 429, 503, retry_after="5000")
    await bench.zones("one")
    async with bench.worker():
        row = await bench.failed(id, 1)
        assert (row.error, row.due_at) == ("Busy", bench.now() + timedelta(hours=1))


async def test_a_refusal_is_a_dead_letter_and_the_next_event_is_delivered(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    bench.receiver.answers("/a", 422, 404)
    await bench.zones("one", "two", "three")
    async with bench.worker():
        one, two, three = await bench.settled(id, 3)
        assert [row.status for row in (one, two, three)] == ["Refused", "Refused", "Delivered"]
        assert (one.http_status, one.error, one.answer) == (422, "Refused", "why")
        await bench.do("skip_delivery", id, event_id=str(two.event_id), reason="moot")
        await bench.do("retry_delivery", id, event_id=str(one.event_id))
        assert zones(await bench.got("/a", 4)) == ["one", "two", "three", "one"]

        async def all_settled() -> bool:
            rows = {row.event_id: row.status for row in await bench.deliveries(id)}
            return rows == {
                one.event_id: DeliveryStatus.DELIVERED,
                two.event_id: DeliveryStatus.SKIPPED,
                three.event_id: DeliveryStatus.DELIVERED,
            }

        await until(all_settled)


async def test_a_receiver_that_is_gone_pauses_its_subscription(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    bench.receiver.answers("/a", 410)
    await bench.zones("one", "two")
    async with bench.worker():
        await until(lambda: _is(bench, id, "Paused"))
        assert await bench.status(id) == ("Paused", "gone")
        assert (await bench.do("get_subscription", id))["status_trigger"] == "Auto"
        await bench.do("resume_subscription", id, **{"from": "where_it_stopped"})
        assert zones(await bench.got("/a", 3)) == ["one", "one", "two"]


async def test_a_day_of_failures_pauses_a_subscription_and_it_may_continue_from_now(
    bench: DeliveryBench,
):
    id, _ = await bench.subscribe("/a")
    bench.receiver.answers("/a", *[403] * 3)
    await bench.zones("one", "two")
    async with bench.worker():
        assert (await bench.failed(id, 1)).error == "CredentialRefused"
        bench.later += timedelta(hours=24)
        await until(lambda: _is(bench, id, "Paused"))
        assert await bench.status(id) == ("Paused", "no delivery for 24 hours")
        bench.receiver.answers("/a")
        await bench.do("resume_subscription", id, **{"from": "now"})
        await bench.zones("three")
        assert zones(await bench.got("/a", 3))[2:] == ["three"]
        one, *_ = await bench.settled(id, 2)
    assert one.status is DeliveryStatus.SKIPPED


async def _is(bench: DeliveryBench, id: Any, status: str) -> bool:
    return (await bench.status(id))[0] == status


async def test_an_owner_is_sent_what_the_owner_may_see(bench: DeliveryBench):
    bob = await enrol(bench.service, "bob", "register_subscription")
    await permit(bench.service, bob, "list_events", "define_zone", scope="Own")
    id, _ = await bench.subscribe("/a", subject="bob")
    await bench.zones("of ada")
    await call(bench.service, "define_zone", {"name": "of bob"}, subject="bob")
    async with bench.worker():
        assert zones(await bench.got("/a", 1)) == ["of bob"]
        await bench.settled(id, 1)
        # Now the events come from memory.
        await bench.zones("of ada again")
        await call(bench.service, "define_zone", {"name": "of bob again"}, subject="bob")
        assert zones(await bench.got("/a", 2)) == ["of bob", "of bob again"]
        await bench.settled(id, 2)
        await call(bench.service, "deactivate_actor", {"actor_id": str(bob)})
        await bench.zones("later")
        await until(lambda: _is(bench, id, "Paused"))
    assert await bench.status(id) == ("Paused", "owner may not see")
    assert len(bench.receiver.got) == 2


async def test_a_worker_that_has_lost_its_subscription_writes_and_sends_nothing(
    bench: DeliveryBench,
):
    gate = asyncio.Event()

    async def slow(got: Got) -> bytes:
        await gate.wait()
        return answer(204)

    bench.receiver.behaviours["/a"] = slow
    id, _ = await bench.subscribe("/a")
    before = await bench.store.rows(BOOKMARKS, {"subscription_id": id})
    await bench.zones("one", "two")
    deliverer, lease = await bench.deliverer(), timedelta(seconds=30)
    (work,) = await MemoryWorkQueue(bench.store).claim(DELIVERING, uuid4(), lease, 1)
    # Nobody tells this worker that it has lost its work.
    walking = asyncio.create_task(deliverer.walk(Holding(work, 0.0, lambda _: True)))
    await bench.got("/a", 1)
    await bench.do("pause_subscription", id, reason="noisy")
    gate.set()
    await until(walking.done, "the worker gives up")
    with pytest.raises(WorkLostError):
        walking.result()
    assert zones(bench.receiver.got) == ["one"]
    assert [row.status for row in await bench.deliveries(id)] == ["Sending"]
    assert await bench.store.rows(BOOKMARKS, {"subscription_id": id}) == before


async def test_a_retired_subscription_sends_nothing_more(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    await bench.subscribe("/b")
    async with bench.worker():
        await bench.zones("one")
        await bench.got("/a", 1)
        await bench.do("retire_subscription", id, reason="closed")
        await bench.zones("two")
        await bench.got("/b", 2)
    assert zones(bench.receiver.at("/a")) == ["one"]
    assert await bench.store.rows(SECRETS, {"subscription_id": id}) == ()


async def test_too_many_deliveries_pause_a_subscription(
    bench: DeliveryBench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deliveries, "MOST_A_SECOND", 1 / 3600)
    id, _ = await bench.subscribe("/a")
    async with bench.worker():
        await bench.zones("one", "two")
        await bench.settled(id, 2)
        bench.later += timedelta(hours=1)
        await bench.zones("three")
        await until(lambda: _is(bench, id, "Paused"))
    assert await bench.status(id) == ("Paused", "too many")


async def test_workers_that_are_cut_off_repeat_only_what_was_under_way(bench: DeliveryBench):
    id, _ = await bench.subscribe("/a")
    await bench.zones(*NAMES)
    for cut in range(1, 5):
        async with bench.worker(drains=False):
            await bench.got("/a", 2 * cut)
    async with bench.worker():
        await bench.settled(id, 8)
    seen = zones(bench.receiver.at("/a"))
    assert list(dict.fromkeys(seen)) == NAMES
    assert seen == sorted(seen, key=NAMES.index)
    repeated = {e.headers["webhook-id"] for e in bench.receiver.at("/a")}
    assert len(repeated) == len(NAMES)


@pytest.mark.parametrize("format", ["Text", "Card"])
async def test_a_chat_room_gets_a_sentence(bench: DeliveryBench, format: str):
    await bench.subscribe("/a", format=format)
    async with bench.worker():
        await bench.zones("one")
        (got,) = await bench.got("/a", 1)
    row = (await bench.store.rows(deliveries.DELIVERIES, {}))[0]
    told, link = "Zone one defined.", f"https://lab.test/zones/{row.stream_id}"
    short = f"[{str(row.event_id)[-8:]}]"
    if format == "Text":
        assert got.json == {"text": f"{told} {link} {short}"}
    else:
        content = got.json["attachments"][0]["content"]
        assert content["body"][0]["text"] == f"{told} {short}"
        assert content["actions"][0]["url"] == link


async def test_a_subscription_to_a_facility_waits_for_the_directory(bench: DeliveryBench):
    await bench.subscribe("/north", types=[], facility_code="synchrotron")
    await bench.subscribe("/every", types=["EnclosureRegistered"])

    async def enclosures(*names: str) -> None:
        for name in names:
            enclosure = {"name": name, "facility_code": "synchrotron"}
            await call(bench.service, "register_enclosure", enclosure)

    await enclosures("A")
    async with bench.worker():
        await bench.zones("elsewhere")
        assert zones(await bench.got("/north", 1)) == ["A"]
        (bench.log.unfollowed, _) = await bench.log.followed()
        await enclosures("B", "C")
        await bench.got("/every", 3)
        assert len(bench.receiver.at("/north")) == 1
        bench.log.unfollowed = None
        got = await bench.got("/north", 3)
    assert zones(got) == [*"ABC"]
    assert [each.json["subject"] for each in got] == [*"ABC"]
