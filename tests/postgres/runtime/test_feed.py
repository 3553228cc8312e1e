"""The log as callers read it, on each of the two stores there are."""

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest
from tests.postgres.runtime.conftest import Hosted
from tests.support.examples.feed import register_subscription

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.contexts.feed.subscription import MOST_OWN, SubscriptionCannotRegisterError
from beamkeep.contexts.seams.log import InvalidFeedCursorError, UnknownEventTypeError
from beamkeep.contexts.seams.witnessed import EventNotFoundError
from beamkeep.feed.cursors import FeedCursors
from beamkeep.feed.log import LogPlace
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.store import Position
from beamkeep.testing.service import call, enrol, permit

pytestmark = pytest.mark.anyio


async def read(hosted: Hosted, subject: str | None = None, **arguments: Any) -> dict[str, Any]:
    answer = await call(hosted.service, "list_events", arguments, subject)
    return json.loads(answer.body)


def told(page: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["data"].get("name")) for event in page["items"]]


async def zones(hosted: Hosted, *names: str, subject: str | None = None) -> list[str]:
    made = [await call(hosted.service, "define_zone", {"name": n}, subject) for n in names]
    return [str(each.id) for each in made]


DEFINED = "beamkeep.ZoneDefined"


@pytest.fixture
async def cursors(hosted: Hosted) -> FeedCursors:
    if isinstance(hosted.store, PostgresEventStore):
        return FeedCursors(await hosted.store.cursor_key())
    return FeedCursors(b"k" * 32)


async def test_pages_continue_by_their_cursor(hosted: Hosted):
    start = (await read(hosted, after="now"))["next_cursor"]
    await zones(hosted, "A", "B", "C")
    first = await read(hosted, after=start, limit=2)
    assert (told(first), first["more"]) == ([(DEFINED, "A"), (DEFINED, "B")], True)
    assert first["next_cursor"] == first["items"][-1]["cursor"]
    second = await read(hosted, after=first["next_cursor"], limit=2)
    assert (told(second), second["more"]) == ([(DEFINED, "C")], False)
    again = await read(hosted, after=second["next_cursor"])
    assert (told(again), again["more"]) == ([], False)
    assert again["next_cursor"] == second["next_cursor"]
    await zones(hosted, "D")
    assert told(await read(hosted, after=again["next_cursor"])) == [(DEFINED, "D")]


async def test_the_newest_events_come_first_when_asked(hosted: Hosted):
    await zones(hosted, "A", "B", "C")
    page = await read(hosted, order="newest", limit=2)
    assert told(page) == [(DEFINED, "C"), (DEFINED, "B")]
    page = await read(hosted, order="newest", limit=1, after=page["next_cursor"])
    assert told(page) == [(DEFINED, "A")]


async def test_filters_are_combined(hosted: Hosted):
    a, b = await zones(hosted, "A", "B")
    page = await read(hosted, stream_id=[a], type=["ZoneDefined"], command_name="define_zone")
    assert told(page) == [(DEFINED, "A")]
    assert told(await read(hosted, stream_id=[a, b], stream_type=["Run"])) == []
    event = page["items"][0]
    since = await read(hosted, stream_type=["Zone"], since=event["recordedtime"])
    assert told(since)[-2:] == [(DEFINED, "A"), (DEFINED, "B")]
    by = {"principal_id": event["principalid"]}
    assert told(await read(hosted, until=event["recordedtime"], stream_id=[a, b], **by)) == []


async def test_the_source_of_an_event_is_where_its_object_is_read(hosted: Hosted):
    (id,) = await zones(hosted, "A")
    (event,) = (await read(hosted, stream_id=[id]))["items"]
    assert event["source"] == f"http://127.0.0.1:8000/zones/{id}"
    assert event["streamid"] == id
    # Without a projector, a directory in the database does not have the object yet.
    assert event["subject"] == (id if isinstance(hosted.store, PostgresEventStore) else "A")


async def test_a_caller_who_may_not_read_the_log_is_refused(hosted: Hosted):
    await enrol(hosted.service, "eve", "list_zones")
    with pytest.raises(UnauthorizedError):
        await read(hosted, "eve")


async def test_a_caller_of_own_objects_sees_the_events_of_these_only(hosted: Hosted):
    eve = await enrol(hosted.service, "eve", "define_zone")
    await permit(hosted.service, eve, "list_events", scope="Own")
    await zones(hosted, "Ada's")
    await zones(hosted, "Eve's", subject="eve")
    page = await read(hosted, "eve")
    # An actor is also its own owner.
    assert told(page) == [("beamkeep.ActorRegistered", None), (DEFINED, "Eve's")]
    assert not page["more"]
    assert told(await read(hosted, "eve", type=["PolicyDefined"])) == []
    await permit(hosted.service, eve, "list_events")
    assert (DEFINED, "Ada's") in told(await read(hosted, "eve"))


async def test_a_caller_of_own_objects_proves_the_events_of_these_only(hosted: Hosted):
    eve = await enrol(hosted.service, "eve", "define_zone", "list_checkpoints")
    await permit(hosted.service, eve, "get_event_proof", scope="Own")
    (hers,) = await zones(hosted, "Eve's", subject="eve")
    (other,) = await zones(hosted, "Ada's")

    async def proof(zone_id: str, version: int = 1) -> dict[str, Any]:
        arguments = {"stream_type": "Zone", "stream_id": zone_id, "version": version}
        return json.loads((await call(hosted.service, "get_event_proof", arguments, "eve")).body)

    assert "Eve's" in (await proof(hers))["leaf"]
    for zone_id, version in ((other, 1), (hers, 2), (str(uuid4()), 1)):
        with pytest.raises(EventNotFoundError):
            await proof(zone_id, version)
    listed = (await call(hosted.service, "list_checkpoints", {"tree": "events"}, "eve")).body
    newest = json.loads(listed)["items"][0]
    assert (await proof(hers))["checkpoint"].startswith(newest["note"].partition("\n\n")[0])


async def test_a_cursor_of_an_event_that_is_not_in_the_log_is_refused(
    hosted: Hosted, cursors: FeedCursors
):
    (id,) = await zones(hosted, "A")
    (event,) = (await read(hosted, stream_id=[id]))["items"]
    assert told(await read(hosted, stream_id=[id], after=event["cursor"])) == []
    named = cursors.read(event["cursor"])
    other = LogPlace(named.position, uuid4())
    nowhere = LogPlace(Position(named.position.tx, 2**40), other.event_id)
    for place in (other, nowhere):
        with pytest.raises(InvalidFeedCursorError):
            await read(hosted, after=cursors.write(place))


async def test_what_is_not_a_cursor_is_refused(hosted: Hosted):
    for text in ("later", "", "0-0", "x" * 80):
        with pytest.raises(MalformedRequestError):
            await read(hosted, after=text)


async def test_the_beginning_is_a_cursor_of_an_empty_page(hosted: Hosted):
    page = await read(hosted, until="2000-01-01T00:00:00Z")
    assert (told(page), page["more"]) == ([], False)
    assert len((await read(hosted, after=page["next_cursor"], limit=5))["items"]) == 5


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": 0},
        {"limit": 501},
        {"type": [f"T{number}" for number in range(51)]},
        {"stream_id": ["zone"]},
        {"order": "sideways"},
        {"since": "yesterday"},
    ],
    ids=str,
)
async def test_a_malformed_question_is_refused(hosted: Hosted, arguments: dict[str, Any]):
    with pytest.raises(MalformedRequestError):
        await read(hosted, **arguments)


@pytest.mark.parametrize(
    "arguments", [{"type": ["ZoneDefined", "ZoneDefine"]}, {"stream_type": ["Zones"]}], ids=str
)
async def test_a_question_for_events_that_cannot_be_is_refused(
    hosted: Hosted, arguments: dict[str, Any]
):
    with pytest.raises(UnknownEventTypeError, match="the nearest name is Zone"):
        await read(hosted, **arguments)


async def test_subscriptions_that_are_registered_at_once_do_not_exceed_their_number(hosted: Hosted):
    arguments = {**await register_subscription(hosted.do), "name": "One of many"}
    for _ in range(MOST_OWN - 1):
        await hosted.do("register_subscription", arguments)
    outcomes: list[Any] = await asyncio.gather(
        *(hosted.do("register_subscription", arguments) for _ in range(3)), return_exceptions=True
    )
    refused = [each for each in outcomes if isinstance(each, SubscriptionCannotRegisterError)]
    assert len(refused) == 2
    (made,) = [each for each in outcomes if each not in refused]
    retire = {"subscription_id": made["subscription_id"], "reason": "not needed"}
    await hosted.do("retire_subscription", retire)
    await hosted.do("register_subscription", arguments)
