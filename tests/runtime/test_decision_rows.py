"""What is kept beside a decision: sent again it is kept once, and it is read as it was sent."""

from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from tests.support.examples.decision import EXAMPLES, some_inferences

from beamkeep.app import compose
from beamkeep.contexts.decision.decision import DecisionInferenceIdTakenError
from beamkeep.contexts.decision.logbook import DecisionLogbookEntryIdTakenError
from beamkeep.kernel import replace
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import INSTALLATION, Doing, memory_service

pytestmark = pytest.mark.anyio

KEEPING = replace(INSTALLATION, store_inference_messages=True)
KEY = b"k" * 32


@pytest.fixture
async def do(place: Database | None) -> AsyncGenerator[Doing]:
    """Calls of a service that keeps prompts and answers."""
    if place is None:
        _, store = await memory_service()
        yield Doing(compose(store, store, KEY, installation=KEEPING), store)
        return
    async with postgres_service(place) as deployed:
        service = compose(deployed.store, deployed.lists, KEY, installation=KEEPING)
        yield Doing(service, deployed.store)


async def shown(do: Doing, decision_id: str, **asked: Any) -> list[dict[str, Any]]:
    page = await do("list_decision_inferences", {"decision_id": decision_id, **asked})
    return page["items"]


async def test_inferences_sent_again_are_kept_once(do: Doing):
    sent = await EXAMPLES["append_inferences"](do)
    assert await do("append_inferences", sent) == {"appended_count": 2, "duplicate_count": 0}
    more = {**sent["entries"][0], "inference_id": str(uuid4())}
    again = {**sent, "entries": [*sent["entries"], more]}
    assert await do("append_inferences", again) == {"appended_count": 1, "duplicate_count": 2}
    assert len(await shown(do, sent["decision_id"])) == 3


async def test_an_inference_of_another_decision_keeps_the_whole_batch_out(do: Doing):
    sent, other = [await EXAMPLES["append_inferences"](do) for _ in range(2)]
    await do("append_inferences", sent)
    mixed = {**other, "entries": [*other["entries"], sent["entries"][0]]}
    with pytest.raises(DecisionInferenceIdTakenError):
        await do("append_inferences", mixed)
    assert await shown(do, other["decision_id"]) == []


async def test_inferences_are_listed_as_they_happened_with_all_that_was_sent(do: Doing):
    sent = await EXAMPLES["append_inferences"](do)
    await do("append_inferences", sent)
    later, earlier = sent["entries"]
    rows = await shown(do, sent["decision_id"], include_messages=True)
    assert [row["inference_id"] for row in rows] == [earlier["inference_id"], later["inference_id"]]
    for entry, row in zip((earlier, later), rows, strict=True):
        assert {name: row[name] for name in entry} == entry
        assert row["decision_id"] == sent["decision_id"]
        assert row["agent_id"] is None
        assert row["correlation_id"]


async def test_messages_are_shown_only_when_asked_for(do: Doing):
    sent = await EXAMPLES["append_inferences"](do)
    await do("append_inferences", sent)
    _, later = await shown(do, sent["decision_id"])
    assert later["messages"] is None


async def test_inferences_of_one_moment_are_paged_by_their_ids(do: Doing):
    decision_id = (await EXAMPLES["append_inferences"](do))["decision_id"]
    one, _ = await some_inferences(do)
    ids = sorted(str(uuid4()) for _ in range(5))
    entries = [{**one, "inference_id": id} for id in reversed(ids)]
    await do("append_inferences", {"decision_id": decision_id, "entries": entries})
    found, cursor = list[str](), None
    while cursor or not found:
        asked = {"decision_id": decision_id, "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = await do("list_decision_inferences", asked)
        found += [row["inference_id"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert found == ids


async def test_a_logbook_entry_sent_again_is_kept_once(do: Doing):
    entry = await EXAMPLES["append_decision_logbook_entry"](do)
    for _ in range(2):
        answer = await do("append_decision_logbook_entry", entry)
        assert answer == {"entry_id": entry["entry_id"]}
    page = await do("list_decision_logbook_entries", {"decision_id": entry["decision_id"]})
    assert [row["text"] for row in page["items"]] == [entry["text"]]
    with pytest.raises(DecisionLogbookEntryIdTakenError):
        await do("append_decision_logbook_entry", {**entry, "text": "We stopped."})


async def test_a_logbook_is_read_in_the_order_it_was_written_and_by_author(do: Doing):
    decision_id = (await EXAMPLES["append_inferences"](do))["decision_id"]
    texts = ["We waited.", "We stopped.", "We went home."]
    for text in texts:
        await do("append_decision_logbook_entry", {"decision_id": decision_id, "text": text})
    page = await do("list_decision_logbook_entries", {"decision_id": decision_id})
    assert [row["text"] for row in page["items"]] == texts
    nobody = {"decision_id": decision_id, "author_id": str(uuid4())}
    assert (await do("list_decision_logbook_entries", nobody))["items"] == []


async def test_a_decision_shows_those_that_follow_it():
    do = Doing(*await memory_service())
    first = await do("register_decision", {"context": "RunHold", "choice": "Hold"})
    child = {"context": "RunHold", "choice": "Stop", "parent_id": first["decision_id"]}
    following = await do("register_decision", child)
    decision = await do("get_decision", {"decision_id": first["decision_id"]})
    assert decision["child_ids"] == [following["decision_id"]]


async def test_decisions_are_found_by_what_they_are_and_what_they_are_not():
    do, choices = Doing(*await memory_service()), ("Hold", "Stop", "Wait")
    for choice in choices:
        await do("register_decision", {"context": "RunHold", "choice": choice})
    page = await do("list_decisions", {})
    _, second, _ = (row["created_at"] for row in page["items"])

    async def found(**asked: Any) -> list[str]:
        page = await do("list_decisions", asked)
        return [row["choice"] for row in page["items"]]

    assert await found(exclude_choice=["Hold", "Wait"]) == ["Stop"]
    assert await found(choice="Hold", exclude_choice=["Hold"]) == []
    assert await found(**{"from": second}) == ["Stop", "Wait"]
    assert await found(to=second) == ["Hold"]
