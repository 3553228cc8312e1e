"""Activities of a procedure: stored once, numbered as they were committed, read without a gap."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.support.examples.operation import a_started_procedure, some_activities

from beamkeep.contexts.operation.activity import ProcedureActivityIdTakenError
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, memory_service

pytestmark = pytest.mark.anyio

WRITERS, BATCHES = 8, 6


@pytest.fixture
async def do(place: Database | None) -> AsyncGenerator[AdminClient]:
    if place is None:
        service, store = await memory_service()
        yield AdminClient(service, store)
        return
    async with postgres_service(place) as deployed:
        yield AdminClient(deployed.service, deployed.store)


async def listed(do: AdminClient, procedure_id: str, after: int = 0) -> list[dict[str, Any]]:
    asked = {"procedure_id": procedure_id, "after_sequence": after, "limit": 100}
    return (await do("list_procedure_activities", asked))["items"]


async def append(do: AdminClient, procedure_id: str, entries: list[dict[str, Any]]) -> Any:
    return await do("append_activities", {"procedure_id": procedure_id, "entries": entries})


async def test_an_activity_sent_again_is_stored_once(do: AdminClient):
    procedure_id, entries = await a_started_procedure(do), await some_activities(do)
    counts = [await append(do, procedure_id, entries) for _ in range(2)]
    assert [(c["appended_count"], c["duplicate_count"]) for c in counts] == [(2, 0), (0, 2)]
    rows = await listed(do, procedure_id)
    assert [row["activity_id"] for row in rows] == [each["activity_id"] for each in entries]
    assert {row["source"] for row in rows} == {"Manual"}


async def test_an_activity_of_another_procedure_is_taken(do: AdminClient):
    entries = await some_activities(do)
    await append(do, await a_started_procedure(do), entries)
    with pytest.raises(ProcedureActivityIdTakenError):
        await append(do, await a_started_procedure(do), entries)


async def test_a_reader_that_follows_the_sequence_misses_nothing(do: AdminClient):
    procedure_id = await a_started_procedure(do)
    sent, seen, last = list[str](), list[str](), 0

    async def write() -> None:
        for _ in range(BATCHES):
            entries = await some_activities(do)
            await append(do, procedure_id, entries)
            sent.extend(entry["activity_id"] for entry in entries)

    async with asyncio.TaskGroup() as tasks:
        writers = [tasks.create_task(write()) for _ in range(WRITERS)]
        new, writing = list[dict[str, Any]](), True
        while writing or new:
            # What is read after all have written is the rest.
            writing = not all(writer.done() for writer in writers)
            await asyncio.sleep(0)
            new = await listed(do, procedure_id, after=last)
            seen += [row["activity_id"] for row in new]
            last = max((row["sequence"] for row in new), default=last)
    assert len(seen) == WRITERS * BATCHES * 2
    assert sorted(seen) == sorted(sent)
