"""What is kept beside a decision or a run: sent again it is kept once, and read as it was sent."""

from collections.abc import AsyncGenerator
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from tests.support.examples import EXAMPLES, Do
from tests.support.examples.decision import some_inferences
from tests.support.examples.run import (
    SAMPLED,
    SOONER,
    a_completed_run,
    some_readings,
    started_run,
)

from beamkeep.contexts.decision.decision import DecisionInferenceIdTakenError
from beamkeep.contexts.decision.logbook import DecisionLogbookEntryIdTakenError
from beamkeep.contexts.run.logbook import RunLogbookAuthorNotAgentError, RunLogbookEntryIdTakenError
from beamkeep.contexts.run.observation import (
    RunCannotAppendObservationsError,
    RunObservationIdTakenError,
)
from beamkeep.deployment.service import compose
from beamkeep.kernel import Refusal, replace
from beamkeep.testing.database import Database
from beamkeep.testing.examples import Make
from beamkeep.testing.installation import FACTS
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, memory_service

pytestmark = pytest.mark.anyio

KEEPING = replace(FACTS, store_inference_messages=True)
KEY = b"k" * 32


@pytest.fixture
async def do(place: Database | None) -> AsyncGenerator[AdminClient]:
    """Calls of a service that keeps prompts and answers."""
    if place is None:
        _, store = await memory_service()
        yield AdminClient(compose(store, store, KEY, facts=KEEPING), store)
        return
    async with postgres_service(place) as deployed:
        service = compose(deployed.store, deployed.lists, KEY, facts=KEEPING)
        yield AdminClient(service, deployed.store)


async def a_decision(do: Do) -> str:
    return (await EXAMPLES["append_inferences"](do))["decision_id"]


class Kind(NamedTuple):
    """What is appended in batches, how it is listed, and the logbook that is kept with it."""

    append: str
    listing: str
    owner_id: str
    entry_id: str
    taken: type[Refusal]
    an_owner: Make
    two: Make
    logbook: str
    logbook_list: str
    logbook_taken: type[Refusal]

    async def shown(self, do: AdminClient, owner_id: str, **asked: Any) -> list[dict[str, Any]]:
        return (await do(self.listing, {self.owner_id: owner_id, **asked}))["items"]

    async def example(self, do: AdminClient) -> dict[str, Any]:
        return await EXAMPLES[self.append](do)


INFERENCES = Kind(
    append="append_inferences",
    listing="list_decision_inferences",
    owner_id="decision_id",
    entry_id="inference_id",
    taken=DecisionInferenceIdTakenError,
    an_owner=a_decision,
    two=some_inferences,
    logbook="append_decision_logbook_entry",
    logbook_list="list_decision_logbook_entries",
    logbook_taken=DecisionLogbookEntryIdTakenError,
)
OBSERVATIONS = Kind(
    append="append_observations",
    listing="list_run_observations",
    owner_id="run_id",
    entry_id="observation_id",
    taken=RunObservationIdTakenError,
    an_owner=started_run,
    two=some_readings,
    logbook="append_run_logbook_entry",
    logbook_list="list_run_logbook_entries",
    logbook_taken=RunLogbookEntryIdTakenError,
)
EACH = pytest.mark.parametrize("kind", [INFERENCES, OBSERVATIONS], ids=["decision", "run"])


@EACH
async def test_a_batch_sent_again_is_stored_once(do: AdminClient, kind: Kind):
    sent = await kind.example(do)
    assert await do(kind.append, sent) == {"appended_count": 2, "duplicate_count": 0}
    more = {**sent["entries"][0], kind.entry_id: str(uuid4())}
    again = {**sent, "entries": [*sent["entries"], more]}
    assert await do(kind.append, again) == {"appended_count": 1, "duplicate_count": 2}
    assert await do(kind.append, again) == {"appended_count": 0, "duplicate_count": 3}
    assert len(await kind.shown(do, sent[kind.owner_id])) == 3


@EACH
async def test_an_entry_of_another_keeps_the_whole_batch_out(do: AdminClient, kind: Kind):
    sent, other = [await kind.example(do) for _ in range(2)]
    await do(kind.append, sent)
    mixed = {**other, "entries": [*other["entries"], sent["entries"][0]]}
    for options in ({}, {"dry_run": True}, {"idempotency_key": "batch"}):
        with pytest.raises(kind.taken):
            await do(kind.append, mixed, **options)
    assert await kind.shown(do, other[kind.owner_id]) == []


@EACH
async def test_entries_of_one_moment_are_paged_by_their_ids(do: AdminClient, kind: Kind):
    owner_id, (one, _) = await kind.an_owner(do), await kind.two(do)
    ids = sorted(str(uuid4()) for _ in range(5))
    entries = [{**one, kind.entry_id: id} for id in reversed(ids)]
    await do(kind.append, {kind.owner_id: owner_id, "entries": entries})
    found, cursor = list[str](), None
    while cursor or not found:
        asked = {kind.owner_id: owner_id, "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = await do(kind.listing, asked)
        found += [row[kind.entry_id] for row in page["items"]]
        cursor = page["next_cursor"]
    assert found == ids


@EACH
async def test_entries_are_listed_as_they_happened_with_all_that_was_sent(
    do: AdminClient, kind: Kind
):
    sent = await kind.example(do)
    await do(kind.append, sent)
    later, sooner = sent["entries"]
    messages = {"include_messages": True} if kind is INFERENCES else {}
    rows = await kind.shown(do, sent[kind.owner_id], **messages)
    assert [row[kind.entry_id] for row in rows] == [sooner[kind.entry_id], later[kind.entry_id]]
    for entry, row in zip((sooner, later), rows, strict=True):
        assert {name: row[name] for name in entry} == entry
        assert row[kind.owner_id] == sent[kind.owner_id]
        assert row["correlation_id"]
        if kind is INFERENCES:
            assert row["agent_id"] is None
        else:
            assert row["principal_id"]
            assert row["surface_id"]
    if kind is OBSERVATIONS:
        assert (rows[0]["unit"], rows[1]["simulated"]) == (None, False)


@EACH
async def test_a_logbook_entry_sent_again_is_stored_once(do: AdminClient, kind: Kind):
    entry = await EXAMPLES[kind.logbook](do)
    for _ in range(2):
        assert await do(kind.logbook, entry) == {"entry_id": entry["entry_id"]}
    (row,) = (await do(kind.logbook_list, {kind.owner_id: entry[kind.owner_id]}))["items"]
    assert {name: row[name] for name in entry} == entry
    with pytest.raises(kind.logbook_taken):
        await do(kind.logbook, {**entry, "text": "We stopped."})


@EACH
async def test_a_logbook_is_read_in_the_order_it_was_written_and_by_author(
    do: AdminClient, kind: Kind
):
    owner = {kind.owner_id: await kind.an_owner(do)}
    texts = ["We waited.", "We stopped.", "We went home."]
    for text in texts:
        await do(kind.logbook, {**owner, "text": text})
    page = await do(kind.logbook_list, owner)
    assert [row["text"] for row in page["items"]] == texts
    nobody = {**owner, "author_id": str(uuid4())}
    assert (await do(kind.logbook_list, nobody))["items"] == []


async def test_messages_are_shown_only_when_asked_for(do: AdminClient):
    sent = await EXAMPLES["append_inferences"](do)
    await do("append_inferences", sent)
    _, later = await INFERENCES.shown(do, sent["decision_id"])
    assert later["messages"] is None


async def test_observations_sent_again_with_their_key_are_answered_alike(do: AdminClient):
    sent = await EXAMPLES["append_observations"](do)
    for _ in range(2):
        answer = await do("append_observations", sent, idempotency_key="batch-1")
        assert answer == {"appended_count": 2, "duplicate_count": 0}
    answer = await do("append_observations", sent, idempotency_key="batch-2")
    assert answer == {"appended_count": 0, "duplicate_count": 2}


async def test_a_dry_run_keeps_nothing(do: AdminClient):
    sent = await EXAMPLES["append_observations"](do)
    for _ in range(2):
        assert await do("append_observations", sent, dry_run=True) == {"events": []}
    assert await OBSERVATIONS.shown(do, sent["run_id"]) == []


async def test_observations_are_found_by_what_they_are_and_when_they_were_sampled(do: AdminClient):
    sent = await EXAMPLES["append_observations"](do)
    await do("append_observations", sent)
    later, sooner = [entry["observation_id"] for entry in sent["entries"]]

    async def found(**asked: Any) -> list[str]:
        return [
            row["observation_id"] for row in await OBSERVATIONS.shown(do, sent["run_id"], **asked)
        ]

    assert await found(channel_name="Shutter") == [sooner]
    assert await found(sampling_procedure="baseline") == [later]
    assert await found(simulated=True) == [sooner]
    assert await found(simulated=False) == [later]
    assert await found(sampled_from=SAMPLED) == [later]
    assert await found(sampled_to=SAMPLED) == [sooner]
    assert await found(sampled_from=SOONER, sampled_to=SOONER) == []


async def test_what_a_run_has_already_is_not_sent_to_it_when_it_has_ended(do: AdminClient):
    sent = await EXAMPLES["append_observations"](do)
    await do("append_observations", sent, idempotency_key="batch")
    await do("complete_run", {"run_id": sent["run_id"]})
    with pytest.raises(RunCannotAppendObservationsError):
        await do("append_observations", sent)
    answer = await do("append_observations", sent, idempotency_key="batch")
    assert answer == {"appended_count": 2, "duplicate_count": 0}


async def test_no_person_writes_a_debrief(do: AdminClient):
    entry = await EXAMPLES["append_run_logbook_entry"](do)
    with pytest.raises(RunLogbookAuthorNotAgentError):
        await do("append_run_logbook_entry", {**entry, "kind": "Debrief"})


async def test_the_logbook_of_a_run_that_ended_is_read_by_kind(do: AdminClient):
    run_id = await a_completed_run(do)
    await do("append_run_logbook_entry", {"run_id": run_id, "text": "It ended."})
    for kind, texts in (("Note", ["It ended."]), ("Debrief", [])):
        page = await do("list_run_logbook_entries", {"run_id": run_id, "kind": kind})
        assert [row["text"] for row in page["items"]] == texts


async def test_an_adjustment_answers_what_governs_the_run_now(do: AdminClient):
    adjustment = await EXAMPLES["adjust_run"](do)
    answer = await do("adjust_run", adjustment)
    assert answer == {"effective_parameters": {"energy": 27.5}}
    run = await do("get_run", {"run_id": adjustment["run_id"]})
    assert run["effective_parameters"] == {"energy": 27.5}
    assert run["override_parameters"] == {"energy": 26.0}
    assert run["adjustment_count"] == 1


async def test_a_decision_shows_those_that_follow_it():
    do = AdminClient(*await memory_service())
    first = await do("register_decision", {"context": "RunHold", "choice": "Hold"})
    child = {"context": "RunHold", "choice": "Stop", "parent_id": first["decision_id"]}
    following = await do("register_decision", child)
    decision = await do("get_decision", {"decision_id": first["decision_id"]})
    assert decision["child_ids"] == [following["decision_id"]]


async def test_decisions_are_found_by_what_they_are_and_what_they_are_not():
    do, choices = AdminClient(*await memory_service()), ("Hold", "Stop", "Wait")
    for choice in choices:
        await do("register_decision", {"context": "RunHold", "choice": choice})
    page = await do("list_decisions", {})
    _, second, _ = (row["created_at"] for row in page["items"])

    async def found(**asked: Any) -> list[str]:
        page = await do("list_decisions", asked)
        return [row["choice"] for row in page["items"]]

    assert await found(exclude_choice=["Hold", "Wait"]) == ["Stop"]
    assert await found(choice="Hold", exclude_choice=["Hold"]) == []
    assert await found(**{"from": second}) == ["Wait", "Stop"]
    assert await found(to=second) == ["Hold"]


async def test_runs_are_found_by_how_they_fare_and_when_they_were_started():
    do = AdminClient(*await memory_service())
    running, held, ended = [await started_run(do) for _ in range(3)]
    await do("hold_run", {"run_id": held})
    await do("stop_run", {"run_id": ended, "reason": "The sample is gone"})
    page = await do("list_runs", {})
    _, second, _ = (row["created_at"] for row in page["items"])

    async def found(**asked: Any) -> list[str]:
        page = await do("list_runs", asked)
        return [row["run_id"] for row in page["items"]]

    assert await found(status=["Running", "Held"]) == [held, running]
    assert await found(status=["Stopped"]) == [ended]
    assert await found(started_from=second) == [ended, held]
    assert await found(started_to=second) == [running]
    assert [row["ended_at"] is None for row in page["items"]] == [False, True, True]
