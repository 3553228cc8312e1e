"""Events as they happen, over HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import httpx2
import pytest
from tests.support.examples.agent import MODEL

from beamkeep.adapters.http_server import HttpServer
from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.log import ListEvents
from beamkeep.feed import hints
from beamkeep.feed.follower import LogFollower
from beamkeep.feed.hints import RowHint, RowHints
from beamkeep.feed.reading import log_reader
from beamkeep.runtime import Service
from beamkeep.surfaces.http import listening
from beamkeep.surfaces.http.listening import EventStreams, Listener, StreamTimes, ended
from beamkeep.testing.appends import CODEC
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import by, call, enrol, memory_service, permit
from beamkeep.testing.static_verifier import StaticVerifier
from beamkeep.testing.waiting import until
from beamkeep.testing.web import rest_application

pytestmark = pytest.mark.anyio

URL = "https://lab.test"
STREAM = {"accept": "text/event-stream"}
ADA, BOB = {"authorization": "Bearer ada"}, {"authorization": "Bearer bob"}
NEVER_READ = (
    b"GET /events HTTP/1.1\r\nhost: 127.0.0.1:80\r\naccept: text/event-stream\r\n"
    b"authorization: Bearer ada\r\n\r\n"
)
PATIENCE = 30.0
OFTEN = StreamTimes(beat=0.02, admission=3600, gather=0)
SELDOM = StreamTimes(beat=3600, admission=3600, gather=0)


class Sent(NamedTuple):
    """One server-sent event."""

    kind: str
    id: str | None
    data: dict[str, Any]

    @property
    def name(self) -> str:
        return self.data["data"]["name"]


class Listening(NamedTuple):
    """A service with a follower, and a client of it."""

    service: Service
    store: MemoryStore
    log: MemoryEventLog
    streams: EventStreams
    http: httpx2.AsyncClient

    async def zones(self, *names: str, subject: str = "ada") -> None:
        for name in names:
            await call(self.service, "define_zone", {"name": name}, subject)
        self.streams.follower.wake.set()

    @asynccontextmanager
    async def follow(
        self, headers: dict[str, str] = ADA, **params: Any
    ) -> AsyncGenerator[AsyncIterator[Sent]]:
        headers = STREAM | headers
        async with self.http.stream("GET", "/events", params=params, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            yield events(answer)


async def events(answer: httpx2.Response) -> AsyncIterator[Sent]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield Sent(fields["event"], fields.get("id"), json.loads(fields["data"]))
            fields = {}


async def following(stream: AsyncIterator[Sent], kind: str = "event") -> Sent:
    """The next event of a kind."""
    async with asyncio.timeout(PATIENCE):
        while (sent := await anext(stream)).kind != kind:
            pass
    return sent


@asynccontextmanager
async def served(
    times: StreamTimes = SELDOM,
    most: int = 500,
    ring: int = 100,
    verified: str = "ada bob",
    deadline: int = 5,
) -> AsyncGenerator[Listening]:
    service, store = await memory_service()
    directory = MemoryDirectory(store, CATALOGUE.views, CODEC)
    log = MemoryEventLog(store, directory)
    reader = log_reader(
        log, CATALOGUE, CODEC, cursor_key=b"k" * 32, base_url=URL, directory=directory
    )
    follower = LogFollower(reader.log, reader.events, most_events=ring)
    await follower.begin()
    streams = EventStreams(
        service=service,
        store=store,
        reader=reader,
        follower=follower,
        verifier=StaticVerifier(*verified.split()),
        clock=lambda: datetime.now(UTC),
        most=most,
        times=times,
    )
    app = rest_application(service, routes=[streams.route()])
    server = HttpServer(
        app, host="127.0.0.1", port=0, deadline_seconds=deadline, limit_concurrency=1000
    )
    turning = asyncio.create_task(turns(follower))
    try:
        async with (
            httpx2.AsyncClient(headers=ADA, timeout=PATIENCE) as http,
            server.listening(app.stop_streams) as port,
        ):
            http.base_url = httpx2.URL(f"http://127.0.0.1:{port}")
            yield Listening(service, store, log, streams=streams, http=http)
    finally:
        turning.cancel()
        await asyncio.wait([turning])


async def turns(follower: LogFollower) -> None:
    while True:
        await follower.turn()


async def test_a_page_is_answered_unless_a_stream_is_asked_for():
    async with served() as at:
        page = await at.http.get("/events", params={"limit": 2})
        assert len(page.json()["items"]) == 2


async def test_a_stream_begins_with_a_beat_and_continues_with_what_happens():
    async with served() as at, at.follow() as stream:
        beat = await following(stream, "beat")
        assert beat.data.keys() == {"now", "head"}
        assert beat.id == beat.data["head"]
        await at.zones("A", "B")
        first, second = [await following(stream) for _ in range(2)]
        assert (first.name, second.name) == ("A", "B")
        assert first.id == first.data["cursor"]
        assert first.data["type"] == "beamkeep.ZoneDefined"


async def test_a_stream_asks_not_to_be_buffered():
    async with served() as at, at.http.stream("GET", "/events", headers=STREAM) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-store, no-transform"
        assert answer.headers["x-accel-buffering"] == "no"
        assert await anext(answer.aiter_lines()) == "retry: 2000"


async def test_a_listener_continues_from_its_cursor_in_memory_and_further_back():
    async with served(ring=3) as at:
        async with at.follow() as stream:
            start = (await following(stream, "beat")).id
        assert start
        await at.zones(*"ABCDEFGH")
        await until(lambda: at.streams.follower.total_events == 8)
        async with at.follow(after=start) as stream:
            assert [(await following(stream)).name for _ in range(8)] == [*"ABCDEFGH"]
            await at.zones("I")
            last = await following(stream)
            assert last.name == "I"
        await at.zones("J")
        # The header wins, because a browser cannot change the address of a stream.
        async with at.follow(ADA | {"last-event-id": str(last.id)}, after=start) as stream:
            assert (await following(stream)).name == "J"


async def test_a_filter_holds_in_memory_and_further_back():
    async with served(ring=2) as at:
        cursor = (await at.http.get("/events?after=now")).json()["next_cursor"]
        await at.zones(*"ABCD")
        await until(lambda: at.streams.follower.total_events == 4)
        bob = await enrol(at.service, "bob", "define_zone")
        await at.zones("Bob's", subject="bob")
        async with at.follow(after=cursor, principal_id=str(bob), type="ZoneDefined") as stream:
            assert (await following(stream)).name == "Bob's"
            await at.zones("Ada's")
            await at.zones("Bob's second", subject="bob")
            assert (await following(stream)).name == "Bob's second"


async def enclosures(at: Listening, *names: str, code: str = "synchrotron") -> None:
    for name in names:
        enclosure = {"name": name, "facility_code": code}
        await call(at.service, "register_enclosure", enclosure)
    at.streams.follower.wake.set()


async def an_area(at: Listening, code: str) -> None:
    found = await call(at.service, "list_facilities", {})
    site = json.loads(found.body)["items"][0]["facility_id"]
    area = {"code": code, "name": code, "kind": "Area", "parent_id": site}
    await call(at.service, "register_facility", area)


@pytest.mark.parametrize("ring", [100, 2], ids=["in memory", "further back"])
async def test_a_listener_of_a_facility_gets_what_happens_there(ring: int):
    async with served(ring=ring) as at:
        await an_area(at, "north")
        cursor = (await at.http.get("/events?after=now")).json()["next_cursor"]
        await enclosures(at, *"ABC")
        await enclosures(at, *"DEF", code="north")
        await until(lambda: at.streams.follower.total_events == 7)
        async with at.follow(after=cursor, facility_code="north") as stream:
            sent = [await following(stream) for _ in range(3)]
            assert [each.name for each in sent] == [*"DEF"]
            assert [each.data["subject"] for each in sent] == [*"DEF"]
            await enclosures(at, "G")
            await enclosures(at, "H", code="north")
            assert (await following(stream)).name == "H"


@pytest.mark.parametrize("ring", [100, 2], ids=["in memory", "further back"])
async def test_only_a_listener_of_a_facility_waits_for_the_directory(ring: int):
    async with served(ring=ring) as at:
        await an_area(at, "north")
        cursor = (await at.http.get("/events?after=now")).json()["next_cursor"]
        (at.log.unfollowed, _) = await at.log.followed()
        await enclosures(at, *"ABC", code="north")
        await until(lambda: at.streams.follower.total_events == 4)
        async with (
            at.follow(after=cursor, facility_code="north") as waiting,
            at.follow(after=cursor) as other,
        ):
            assert [(await following(other)).name for _ in range(3)] == [*"ABC"]
            first = asyncio.create_task(following(waiting))
            await enclosures(at, "D", code="north")
            assert (await following(other)).name == "D"
            assert not first.done()
            at.log.unfollowed = None
            assert (await first).name == "A"
            assert [(await following(waiting)).name for _ in range(3)] == [*"BCD"]


async def test_a_listener_of_own_objects_gets_only_their_events():
    async with served() as at:
        bob = await enrol(at.service, "bob", "define_zone")
        await permit(at.service, bob, "list_events", scope="Own")
        async with at.follow(BOB, type="ZoneDefined") as stream:
            await at.zones("Ada's")
            await at.zones("Bob's", subject="bob")
            assert (await following(stream)).name == "Bob's"


def hint(id: UUID, count: int = 1) -> RowHint:
    return RowHint("run_observation", "Zone", id, count=count, last_at=datetime.now(UTC))


async def test_rows_of_an_object_are_hinted_at_without_a_cursor():
    async with served() as at, at.follow() as stream:
        await following(stream, "beat")
        told = hint(UUID(int=1), 3)
        at.streams.follower.rows.heard([told])
        sent = await following(stream, "rows")
        assert sent.id is None
        assert sent.data == {
            "table": "run_observation",
            "stream_type": "Zone",
            "stream_id": str(UUID(int=1)),
            "count": 3,
            "last_at": told.last_at.isoformat().replace("+00:00", "Z"),
        }


async def test_hints_are_given_for_own_objects_that_were_asked_for():
    async with served() as at:
        bob = await enrol(at.service, "bob", "define_zone")
        await permit(at.service, bob, "list_events", scope="Own")
        ours, his = [
            (await call(at.service, "define_zone", {"name": name}, name)).id
            for name in ("ada", "bob")
        ]
        # The streams begin behind these zones, however slow the follower is.
        await at.streams.follower.read()
        async with (
            at.follow(BOB) as own,
            at.follow(stream_id=str(his)) as one,
            at.follow(type="RunHeld") as events_only,
        ):
            for stream in (own, one, events_only):
                await following(stream, "beat")
            at.streams.follower.rows.heard([hint(ours), hint(his)])
            assert (await following(own, "rows")).data["stream_id"] == str(his)
            assert (await following(one, "rows")).data["stream_id"] == str(his)
            at.streams.follower.rows.heard([hint(ours)])
            await at.zones("C", subject="bob")
            assert (await anext(own)).kind == "event", "and no further hint"


async def test_an_object_is_hinted_at_twice_a_second_at_most(monkeypatch: pytest.MonkeyPatch):
    assert hints.PAUSE_SECONDS == 0.5
    monkeypatch.setattr(hints, "PAUSE_SECONDS", 0.05)
    woken: list[int] = []
    rows = RowHints(lambda: woken.append(rows.number))
    one, other = UUID(int=1), UUID(int=2)
    for _ in range(5):
        rows.heard([hint(one)])
    rows.heard([hint(other)])
    assert [each.count for each in rows.after(0).hints] == [1, 1]
    await until(lambda: rows.number == 3)
    assert [each.key[1] for each in rows.after(2).hints] == [one]
    assert rows.after(2).hints[0].count == 4
    assert woken == [1, 2, 3]
    assert rows.after(3).hints == []


async def test_a_beat_carries_the_cursor_past_events_that_do_not_fit():
    async with served(OFTEN) as at, at.follow(stream_type="Run") as stream:
        first = await following(stream, "beat")
        await at.zones("A")
        async with asyncio.timeout(PATIENCE):
            while (beat := await following(stream, "beat")).id == first.id:
                pass
        assert beat.id == beat.data["head"]


async def an_agent(at: Listening) -> UUID:
    """Define an agent that logs in as bob and may follow the feed."""
    about = {"kind": "Scheduler", "name": "Night", "version": "1", "model_ref": MODEL}
    agent_id = (await call(at.service, "define_agent", about)).id
    await call(at.service, "version_agent", {"agent_id": str(agent_id)})
    login = {"issuer": ISSUER, "subject": "bob", "actor_id": str(agent_id)}
    await call(at.service, "bind_actor_identity", login)
    await permit(at.service, agent_id, "list_events")
    return agent_id


async def test_a_listener_whose_grant_is_revoked_is_ended():
    async with served() as at:
        bob = await enrol(at.service, "bob")
        policy_id = await permit(at.service, bob, "list_events")
        async with at.follow(BOB) as stream:
            who = {"policy_id": str(policy_id), "permitted_principal_id": str(bob)}
            await call(at.service, "revoke_grant", who | {"reason": "Left"})
            at.streams.follower.wake.set()
            assert (await following(stream, "end")).data == {"reason": "permission"}


@pytest.mark.parametrize("end", ["suspend_agent", "deprecate_agent"])
async def test_the_stream_of_an_agent_ends_with_its_work(end: str):
    async with served() as at:
        agent_id = await an_agent(at)
        async with at.follow(BOB) as stream:
            await following(stream, "beat")
            about = {"agent_id": str(agent_id), "reason": "It talks nonsense"}
            await call(at.service, end, about)
            await at.zones("Secret")
            async with asyncio.timeout(PATIENCE):
                told = [sent async for sent in stream]
    assert [sent.kind for sent in told if sent.kind != "beat"] == ["end"]
    assert told[-1].data == {"reason": "permission"}


async def test_a_suspended_agent_is_sent_nothing_that_it_had_missed():
    async with served(ring=1) as at:
        agent_id = await an_agent(at)
        await at.zones(*"ABC")
        await until(lambda: at.streams.follower.total_events >= 3)
        async with at.follow(BOB, since="2000-01-01T00:00:00Z", type="ZoneDefined") as stream:
            assert (await following(stream)).kind == "event"
            about = {"agent_id": str(agent_id), "reason": "It talks nonsense"}
            await call(at.service, "suspend_agent", about)
            await at.zones(*"DEFGH")
            async with asyncio.timeout(PATIENCE):
                told = [sent async for sent in stream]
    assert not {sent.name for sent in told if sent.kind == "event"} & set("DEFGH")
    assert told[-1].data == {"reason": "permission"}


async def test_a_listener_is_admitted_again_though_no_event_names_it(
    monkeypatch: pytest.MonkeyPatch,
):
    # As if another deployment's rule, and not an event, had changed what it may do.
    monkeypatch.setattr(listening, "NAMING", ())
    admitted_often = StreamTimes(beat=3600, admission=0.01, gather=0)
    assert StreamTimes().admission <= 60
    async with served(admitted_often) as at:
        bob = await enrol(at.service, "bob")
        policy_id = await permit(at.service, bob, "list_events")
        async with at.follow(BOB) as stream:
            await following(stream, "beat")
            who = {"policy_id": str(policy_id), "permitted_principal_id": str(bob)}
            await call(at.service, "revoke_grant", who | {"reason": "Left"})
            assert (await following(stream, "end")).data == {"reason": "permission"}


async def test_a_listener_whose_token_has_expired_is_ended():
    admitted_often = StreamTimes(beat=3600, admission=0.01, gather=0)
    async with served(admitted_often, verified="bob") as at, at.follow() as stream:
        assert (await following(stream, "end")).data == {"reason": "token"}


async def test_a_service_that_stops_says_so():
    async with served() as at:
        sent = at.http.build_request("GET", "/events", headers=STREAM)
        answer = await at.http.send(sent, stream=True)
        stream = events(answer)
        await following(stream, "beat")
        at.http.headers.clear()
        app_stopped = asyncio.create_task(following(stream, "end"))
        # Leaving the block stops the service.
        await asyncio.sleep(0)
    assert (await app_stopped).data == {"reason": "restart"}


async def test_a_principal_has_eight_streams_and_a_process_as_many_as_are_set(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(listening, "PER_PRINCIPAL", 2)
    async with served(most=3) as at:
        bob = await enrol(at.service, "bob")
        await permit(at.service, bob, "list_events")
        async with at.follow(), at.follow():
            refused = await at.http.get("/events", headers=STREAM)
            assert (refused.status_code, refused.json()["code"]) == (429, "TooManyRequestsError")
            async with at.follow(BOB):
                refused = await at.http.get("/events", headers=STREAM | BOB)
                assert refused.status_code == 429
            # Pages are calls and not streams.
            assert (await at.http.get("/events")).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "until=2030-01-01T00:00:00Z",
        "order=newest",
        "limit=5",
        "after=later",
        "colour=red",
        "type=RunHold",
    ],
)
async def test_what_cannot_be_followed_is_refused(query: str):
    async with served() as at:
        refused = await at.http.get(f"/events?{query}", headers=STREAM)
        assert refused.status_code == 422


async def test_a_caller_without_a_grant_is_refused_and_the_denial_is_recorded():
    async with served() as at:
        await enrol(at.service, "bob")
        refused = await at.http.get("/events", headers=STREAM | BOB)
        assert refused.status_code == 403
        denials = at.store.tables["authorization_denials"].values()
        assert [each.command_name for each in denials] == ["list_events"]


async def test_a_listener_that_does_not_read_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(listening, "SLOW_EVENTS", 3)
    async with served() as at:
        admitted = await at.service.admission.admit("list_events", by("ada"))
        head = at.streams.follower.head
        parts = Listener(
            at.streams, ListEvents(), by("ada"), admitted, place=head, token=None
        ).parts()
        assert b"event: beat" in await anext(parts)
        await at.zones("A")
        assert b"event: event" in await anext(parts)
        # Until the next part is asked for, the socket has not taken the one before.
        await at.zones(*"BCDE")
        await until(lambda: at.streams.follower.total_events == 5)
        assert await anext(parts) == ended("slow")
        assert [part async for part in parts] == []


async def test_a_listener_that_never_reads_loses_its_slot():
    async with served(most=1, deadline=1) as at:
        host, port = at.http.base_url.host, at.http.base_url.port
        with socket.create_connection((host, port or 80)) as never_reading:
            never_reading.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            never_reading.sendall(NEVER_READ)
            await until(lambda: at.streams.listeners == 1)

            async def ended_by_the_service() -> bool:
                await at.zones(*("N" * 200 for _ in range(100)))
                return at.streams.listeners == 0

            await until(ended_by_the_service, "the slot is free")
            async with at.follow() as stream:
                await following(stream, "beat")
