"""What an agent is told by a stream of events is kept as evidence; what others are told is not."""

import asyncio
from uuid import UUID

import pytest
from tests.unit.streaming.test_listening import BOB, PATIENCE, Listening, following, served

from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import ActorKind, Standing, SurfaceKind
from beamkeep.runtime.answers import EVIDENCE, AnswerEvidence
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.surfaces.http.listening import StreamTimes
from beamkeep.testing.appends import on_record
from beamkeep.testing.service import enrol
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

AT_ONCE = StreamTimes(beat=3600, admission=3600, evidence=0, gather=0)


async def an_agent(at: Listening) -> UUID:
    id = await enrol(at.service, "bob", "list_events")
    await at.store.append(on_record(STANDINGS.upsert(Standing(id, ActorKind.AGENT))))
    return id


async def rows(at: Listening, *agent_ids: UUID) -> list[AnswerEvidence]:
    found = await at.store.rows(EVIDENCE, {"agent_id": agent_ids[0]} if agent_ids else {})
    return sorted(found, key=lambda row: row.evidence_id)


async def test_the_end_of_a_stream_stores_all_that_an_agent_was_sent():
    async with served() as at:
        agent_id = await an_agent(at)
        async with at.follow(BOB, type="ZoneDefined") as stream:
            await following(stream, "beat")
            await at.zones("A", "B")
            told = [await following(stream) for _ in range(2)]
            assert await rows(at) == []
        (row,) = await until(lambda: rows(at, agent_id), "the end is kept")
    assert row.question == "list_events"
    assert row.arguments == {"type": ["ZoneDefined"]}
    assert row.surface_id == seeded.SURFACES[SurfaceKind.HTTP]
    assert [(each.stream_type, each.version) for each in row.seen] == [("Zone", 1), ("Zone", 1)]
    assert [str(each.stream_id) for each in row.seen] == [
        each.data["data"]["zone_id"] for each in told
    ]


async def test_an_open_stream_stores_what_an_agent_was_sent_each_time_that_it_is_due():
    async with served(AT_ONCE) as at:
        agent_id = await an_agent(at)
        async with at.follow(BOB, type="ZoneDefined") as stream:
            await following(stream, "beat")
            for number, name in enumerate("AB", 1):
                await at.zones(name)
                assert (await following(stream)).name == name

                async def is_kept(wanted: int = number) -> bool:
                    return len(await rows(at, agent_id)) == wanted

                await until(is_kept, "the events so far are kept")
    assert [len(row.seen) for row in await rows(at, agent_id)] == [1, 1]
    assert len({row.digest for row in await rows(at, agent_id)}) == 2


async def test_what_a_person_is_sent_is_not_stored():
    async with served(AT_ONCE) as at:
        async with at.follow() as stream:
            await following(stream, "beat")
            await at.zones("A", "B")
            assert [(await following(stream)).name for _ in range(2)] == ["A", "B"]
        assert await rows(at) == []


async def test_a_stream_ends_when_what_it_sent_cannot_be_stored(monkeypatch: pytest.MonkeyPatch):
    async def fails(evidence: AnswerEvidence) -> None:
        raise StoreUnavailableError

    async with served(AT_ONCE) as at:
        await an_agent(at)
        async with at.follow(BOB, type="ZoneDefined") as stream:
            await following(stream, "beat")
            monkeypatch.setattr(at.store, "keep_evidence", fails)
            await at.zones("A")
            async with asyncio.timeout(PATIENCE):
                assert (await following(stream, "end")).data == {"reason": "evidence"}
