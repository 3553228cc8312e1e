"""Agents ask while PostgreSQL is killed: every answer that was given is on record."""

import asyncio
from collections.abc import Generator
from uuid import UUID

import pytest

from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.kernel import ActorKind, Question, Refusal, Standing
from beamkeep.runtime.admission import Request
from beamkeep.runtime.answers import EVIDENCE
from beamkeep.testing.appends import on_record
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.postgres import PREPARED, fresh_database, postgres_cluster, postgres_service
from beamkeep.testing.service import by, enrol
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

AGENT, ASKING, KILLS = "agent-smith", 8, 2


@pytest.fixture
def server() -> Generator[Cluster]:
    with postgres_cluster() as cluster:
        yield cluster


async def test_every_answer_that_an_agent_got_has_its_row(server: Cluster):
    database = fresh_database(server, PREPARED)
    async with postgres_service(database) as deployed:
        agent_id = await enrol(deployed.service, AGENT, "*")
        upsert = STANDINGS.upsert(Standing(agent_id, ActorKind.AGENT))
        await deployed.store.append(on_record(upsert))
        question = deployed.service.catalogue.named["list_events"]
        assert isinstance(question, Question)
        answered, refused, stopping = set[UUID](), list[Refusal](), asyncio.Event()

        async def ask() -> None:
            while not stopping.is_set():
                caller = by(AGENT)
                try:
                    await deployed.service.queries.ask(question, Request(caller, {}))
                except Refusal as error:
                    refused.append(error)
                else:
                    answered.add(caller.correlation_id)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(ASKING):
                tasks.create_task(ask())
            for _ in range(KILLS):
                before = len(answered)
                await until(lambda n=before: len(answered) > n + 50)
                server.kill()
                failed = len(refused)
                await until(lambda n=failed: len(refused) > n)
                server.resume()
            before = len(answered)
            await until(lambda: len(answered) > before + 50)
            stopping.set()
        rows = await deployed.store.rows(EVIDENCE, {"agent_id": agent_id})
        recorded = {row.correlation_id for row in rows}
        assert not answered - recorded
        assert len(rows) == len(recorded), "no answer has two rows"
        assert {error.status for error in refused} == {503}
