"""What whoever starts a run is shown of cautions, what is kept of it, and what the run joins."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from tests.unit.contexts.starting.fair import (
    BEAMLINE,
    CAMPAIGN,
    DUST,
    LEAK,
    STAGE,
    START,
    past,
    service_after,
)
from tests.unit.contexts.starting.test_start import FAILING

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.kernel import Refusal
from beamkeep.runtime import Service
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.store import LoadedStream, OutcomeUnknownError, StoreUnavailableError, Stream
from beamkeep.surfaces.problem import problem
from beamkeep.testing.service import call

pytestmark = pytest.mark.anyio

type World = tuple[Service, MemoryStore]

STARTING: dict[str, Any] = json.loads(START.model_dump_json())
KEPT: list[dict[str, Any]] = [
    {
        "caution_id": str(LEAK),
        "target": {"kind": "Asset", "id": str(BEAMLINE)},
        "category": "Wear",
        "severity": "Warning",
    },
    {
        "caution_id": str(DUST),
        "target": {"kind": "Asset", "id": str(STAGE)},
        "category": "Wear",
        "severity": "Caution",
    },
]
SHOWN = [
    {**KEPT[0], "text": "Text 81", "workaround": "Workaround 81"},
    {**KEPT[1], "text": "Text 80", "workaround": "Workaround 80"},
]


@pytest.fixture
async def world() -> World:
    return await service_after(past())


async def started(service: Service, **options: Any) -> CommandResult:
    return await call(service, "start_run", STARTING, **options)


def body(answered: CommandResult) -> dict[str, Any]:
    return json.loads(answered.body)


async def test_a_start_is_answered_with_the_cautions_and_what_they_say(world: World):
    answered = await started(world[0])
    assert answered.status == 201
    assert body(answered) == {
        "run_id": str(answered.id),
        "acknowledged_cautions": SHOWN,
        "advisories": [],
    }


async def test_the_event_keeps_which_cautions_were_shown_and_not_what_they_say(world: World):
    service, store = world
    answered = await started(service)
    first, *_ = store.streams["Run", UUID(str(answered.id))]
    assert json.loads(bytes(first.payload))["acknowledged_cautions"] == KEPT


async def test_the_answer_that_is_stored_for_a_repetition_says_nothing_of_cautions(world: World):
    service, store = world
    answered = await started(service, idempotency_key="once")
    (kept,) = store.answers.values()
    assert json.loads(kept.result) == {"run_id": str(answered.id)}


async def test_a_repetition_is_given_the_same_answer_and_starts_nothing(world: World):
    service, store = world
    first, before = await started(service, idempotency_key="once"), store.position
    again = await started(service, idempotency_key="once")
    assert (again.status, again.body, again.replayed) == (201, first.body, True)
    assert store.position == before


async def test_a_repetition_is_given_the_same_answer_when_the_cautions_are_over(world: World):
    service, _ = world
    first = await started(service, idempotency_key="once")
    gone = {"caution_id": str(DUST), "retire_reason": "Resolved"}
    await call(service, "retire_caution", gone)
    new = {"category": "Wear", "severity": "Warning", "text": "New", "workaround": "New"}
    await call(service, "supersede_caution", {"caution_id": str(LEAK), **new})
    again = await started(service, idempotency_key="once")
    assert body(again) == body(first)


async def test_an_answer_that_could_not_be_completed_is_unknown_and_given_to_a_repetition(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    service, store = world
    load = store.load

    async def away_for_runs(
        streams: Sequence[Stream], folds: Mapping[str, UUID] | None = None
    ) -> Mapping[Stream, LoadedStream]:
        if any(kind == "Run" for kind, _ in streams):
            raise StoreUnavailableError
        return await load(streams, folds)

    with monkeypatch.context() as patch:
        patch.setattr(store, "load", away_for_runs)
        with pytest.raises(OutcomeUnknownError):
            await started(service, idempotency_key="once")
    again = await started(service, idempotency_key="once")
    assert (again.replayed, body(again)["acknowledged_cautions"]) == (True, SHOWN)


async def test_a_run_shows_the_cautions_it_was_started_under_without_what_they_say(world: World):
    answered = await started(world[0])
    found = await call(world[0], "get_run", {"run_id": str(answered.id)})
    assert json.loads(found.body)["acknowledged_cautions"] == KEPT


async def test_a_start_without_cautions_is_answered_with_none():
    service, _ = await service_after(past(without=["cautions"]))
    assert body(await started(service))["acknowledged_cautions"] == []


async def test_a_dry_run_tells_the_events_and_writes_nothing(world: World):
    service, store = world
    before = store.position
    answered = await started(service, dry_run=True)
    events = body(answered)["events"]
    told = [event["event_type"] for event in events]
    assert told == ["RunStarted", "RunAddedToCampaign", "CampaignRunAdded"]
    assert events[0]["payload"]["acknowledged_cautions"] == KEPT
    assert store.position == before


async def test_a_run_joins_its_campaign_in_the_transaction_that_starts_it(world: World):
    service, store = world
    before = store.position
    answered = await started(service)
    run_id = UUID(str(answered.id))
    of_run = [event.event_type for event in store.streams["Run", run_id]]
    of_campaign = [event.event_type for event in store.streams["Campaign", CAMPAIGN]]
    assert of_run == ["RunStarted", "RunAddedToCampaign"]
    assert of_campaign == ["CampaignRegistered", "CampaignRunAdded"]
    assert (store.position.tx, store.position.position) == (before.tx + 1, before.position + 3)


async def test_a_refused_start_writes_nothing_and_says_what_to_do():
    service, store = await service_after(past(*FAILING["supply"].past))
    before = store.position
    with pytest.raises(Refusal) as refused:
        await started(service)
    told = problem(refused.value)
    assert store.position == before
    assert (told["status"], told["check"], told["kinds"]) == (409, "supply", ["photon_beam"])
    assert told["cleared_by"] == ["mark_supply_recovering", "restore_supply"]


async def test_a_start_may_be_repeated_with_its_key_once_the_way_is_clear():
    service, _ = await service_after(past(*FAILING["supply"].past))
    with pytest.raises(Refusal):
        await started(service, idempotency_key="once")
    beam = {"supply_id": "00000000-0000-0000-0000-000000000032", "reason": "It is back"}
    await call(service, "mark_supply_recovering", beam)
    await call(service, "restore_supply", beam)
    assert (await started(service, idempotency_key="once")).status == 201
