"""What is kept beside a run: sent again it is kept once, and it is read as it was sent."""

from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from tests.support.examples.run import (
    EXAMPLES,
    SAMPLED,
    SOONER,
    a_completed_run,
    some_readings,
    started_run,
)

from beamkeep.contexts.run.logbook import RunLogbookAuthorNotAgentError, RunLogbookEntryIdTakenError
from beamkeep.contexts.run.observation import (
    RunCannotAppendObservationsError,
    RunObservationIdTakenError,
)
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import Doing, memory_service

pytestmark = pytest.mark.anyio


@pytest.fixture
async def do(place: Database | None) -> AsyncGenerator[Doing]:
    if place is None:
        yield Doing(*await memory_service())
        return
    async with postgres_service(place) as deployed:
        yield Doing(deployed.service, deployed.store)


async def shown(do: Doing, run_id: str, **asked: Any) -> list[dict[str, Any]]:
    page = await do("list_run_observations", {"run_id": run_id, **asked})
    return page["items"]


async def test_observations_sent_again_are_kept_once(do: Doing):
    sent = await EXAMPLES["append_observations"](do)
    assert await do("append_observations", sent) == {"appended_count": 2, "duplicate_count": 0}
    more = {**sent["entries"][0], "observation_id": str(uuid4())}
    again = {**sent, "entries": [*sent["entries"], more]}
    assert await do("append_observations", again) == {"appended_count": 1, "duplicate_count": 2}
    assert await do("append_observations", again) == {"appended_count": 0, "duplicate_count": 3}
    assert len(await shown(do, sent["run_id"])) == 3


async def test_observations_sent_again_with_their_key_are_answered_alike(do: Doing):
    sent = await EXAMPLES["append_observations"](do)
    for _ in range(2):
        answer = await do("append_observations", sent, idempotency_key="batch-1")
        assert answer == {"appended_count": 2, "duplicate_count": 0}
    answer = await do("append_observations", sent, idempotency_key="batch-2")
    assert answer == {"appended_count": 0, "duplicate_count": 2}


async def test_an_observation_of_another_run_keeps_the_whole_batch_out(do: Doing):
    sent, other = [await EXAMPLES["append_observations"](do) for _ in range(2)]
    await do("append_observations", sent)
    mixed = {**other, "entries": [*other["entries"], sent["entries"][0]]}
    for options in ({}, {"dry_run": True}, {"idempotency_key": "batch"}):
        with pytest.raises(RunObservationIdTakenError):
            await do("append_observations", mixed, **options)
    assert await shown(do, other["run_id"]) == []


async def test_a_dry_run_keeps_nothing(do: Doing):
    sent = await EXAMPLES["append_observations"](do)
    for _ in range(2):
        assert await do("append_observations", sent, dry_run=True) == {"events": []}
    assert await shown(do, sent["run_id"]) == []


async def test_observations_are_listed_as_they_were_sampled_with_all_that_was_sent(do: Doing):
    sent = await EXAMPLES["append_observations"](do)
    await do("append_observations", sent)
    later, sooner = sent["entries"]
    rows = await shown(do, sent["run_id"])
    assert [row["observation_id"] for row in rows] == [
        sooner["observation_id"],
        later["observation_id"],
    ]
    for entry, row in zip((sooner, later), rows, strict=True):
        assert {name: row[name] for name in entry} == entry
        assert row["run_id"] == sent["run_id"]
        assert row["principal_id"]
        assert row["surface_id"]
        assert row["correlation_id"]
    assert (rows[0]["unit"], rows[1]["simulated"]) == (None, False)


async def test_observations_are_found_by_what_they_are_and_when_they_were_sampled(do: Doing):
    sent = await EXAMPLES["append_observations"](do)
    await do("append_observations", sent)
    later, sooner = [entry["observation_id"] for entry in sent["entries"]]

    async def found(**asked: Any) -> list[str]:
        return [row["observation_id"] for row in await shown(do, sent["run_id"], **asked)]

    assert await found(channel_name="Shutter") == [sooner]
    assert await found(sampling_procedure="baseline") == [later]
    assert await found(simulated=True) == [sooner]
    assert await found(simulated=False) == [later]
    assert await found(sampled_from=SAMPLED) == [later]
    assert await found(sampled_to=SAMPLED) == [sooner]
    assert await found(sampled_from=SOONER, sampled_to=SOONER) == []


async def test_observations_of_one_moment_are_paged_by_their_ids(do: Doing):
    run_id, (one, _) = await started_run(do), await some_readings(do)
    ids = sorted(str(uuid4()) for _ in range(5))
    entries = [{**one, "observation_id": id} for id in reversed(ids)]
    await do("append_observations", {"run_id": run_id, "entries": entries})
    found, cursor = list[str](), None
    while cursor or not found:
        asked = {"run_id": run_id, "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = await do("list_run_observations", asked)
        found += [row["observation_id"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert found == ids


async def test_what_a_run_has_already_is_not_sent_to_it_when_it_has_ended(do: Doing):
    sent = await EXAMPLES["append_observations"](do)
    await do("append_observations", sent, idempotency_key="batch")
    await do("complete_run", {"run_id": sent["run_id"]})
    with pytest.raises(RunCannotAppendObservationsError):
        await do("append_observations", sent)
    answer = await do("append_observations", sent, idempotency_key="batch")
    assert answer == {"appended_count": 2, "duplicate_count": 0}


async def test_a_logbook_entry_sent_again_is_kept_once(do: Doing):
    entry = await EXAMPLES["append_run_logbook_entry"](do)
    for _ in range(2):
        answer = await do("append_run_logbook_entry", entry)
        assert answer == {"entry_id": entry["entry_id"]}
    page = await do("list_run_logbook_entries", {"run_id": entry["run_id"]})
    (row,) = page["items"]
    assert {name: row[name] for name in entry} == entry
    with pytest.raises(RunLogbookEntryIdTakenError):
        await do("append_run_logbook_entry", {**entry, "text": "It was the beam."})


async def test_no_person_writes_a_debrief(do: Doing):
    entry = await EXAMPLES["append_run_logbook_entry"](do)
    with pytest.raises(RunLogbookAuthorNotAgentError):
        await do("append_run_logbook_entry", {**entry, "kind": "Debrief"})


async def test_a_logbook_is_read_in_the_order_it_was_written_by_kind_and_by_author(do: Doing):
    run_id = await a_completed_run(do)
    texts = ["It began.", "It went on.", "It ended."]
    for text in texts:
        await do("append_run_logbook_entry", {"run_id": run_id, "text": text})

    async def found(**asked: Any) -> list[str]:
        page = await do("list_run_logbook_entries", {"run_id": run_id, **asked})
        return [row["text"] for row in page["items"]]

    assert await found() == texts
    assert await found(kind="Note") == texts
    assert await found(kind="Debrief") == []
    assert await found(author_id=str(uuid4())) == []


async def test_an_adjustment_answers_what_governs_the_run_now(do: Doing):
    adjustment = await EXAMPLES["adjust_run"](do)
    answer = await do("adjust_run", adjustment)
    assert answer == {"effective_parameters": {"energy": 27.5}}
    run = await do("get_run", {"run_id": adjustment["run_id"]})
    assert run["effective_parameters"] == {"energy": 27.5}
    assert run["override_parameters"] == {"energy": 26.0}
    assert run["adjustment_count"] == 1


async def test_runs_are_found_by_how_they_fare_and_when_they_were_started():
    do = Doing(*await memory_service())
    running, held, ended = [await started_run(do) for _ in range(3)]
    await do("hold_run", {"run_id": held})
    await do("stop_run", {"run_id": ended, "reason": "The sample is gone"})
    page = await do("list_runs", {})
    _, second, _ = (row["created_at"] for row in page["items"])

    async def found(**asked: Any) -> list[str]:
        page = await do("list_runs", asked)
        return [row["run_id"] for row in page["items"]]

    assert await found(status=["Running", "Held"]) == [running, held]
    assert await found(status=["Stopped"]) == [ended]
    assert await found(started_from=second) == [held, ended]
    assert await found(started_to=second) == [running]
    assert [row["ended_at"] is None for row in page["items"]] == [True, True, False]
