"""A start that is refused is on record for the next shift, and nothing else comes of it."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.unit.contexts.starting.fair import (
    HUTCH,
    PLAN,
    REQUIRING,
    START,
    Part,
    observed,
    past,
    service_after,
)

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.enclosure.enclosure import PermitStatus
from beamkeep.contexts.run.refused import REFUSED_STARTS, RefusedStart
from beamkeep.contexts.run.run import InvalidRunParametersError
from beamkeep.contexts.starting.checks import RunEnclosureCoverageMismatchError
from beamkeep.contexts.starting.start import OPERATIONS
from beamkeep.kernel import Cannot, Insert, replace
from beamkeep.runtime import Service
from beamkeep.testing.past import CALL, NOW
from beamkeep.testing.scenario import Scenario
from beamkeep.testing.service import call

pytestmark = pytest.mark.anyio

SHUT: list[Part] = past(observed(HUTCH, PermitStatus.NOT_PERMITTED))
SENT = START.model_dump(mode="json")
WHERE, CALLED = UUID(int=70), UUID(int=71)


def test_a_refused_start_leaves_which_plan_who_why_and_when():
    half_past = NOW + timedelta(seconds=30)
    calling = replace(CALL, now=half_past, surface_id=WHERE, correlation_id=CALLED)
    refusal = (
        Scenario(OPERATIONS, SHUT, REQUIRING)
        .when(START, call=calling)
        .refused(RunEnclosureCoverageMismatchError)
    )
    assert isinstance(refusal, Cannot)
    who, why = CALL.principal_id, "RunEnclosureCoverageMismatchError"
    assert refusal.row == REFUSED_STARTS.insert(
        RefusedStart(PLAN, who, why, NOW, half_past, WHERE, CALLED)
    )


def test_a_start_that_makes_no_sense_leaves_nothing():
    wrong = START.model_copy(update={"override_parameters": {"exposure": "long"}})
    refusal = Scenario(OPERATIONS, past(), REQUIRING).when(wrong).refused(InvalidRunParametersError)
    assert not hasattr(refusal, "row")


async def refused(service: Service, **options: Any) -> None:
    with pytest.raises(RunEnclosureCoverageMismatchError):
        await call(service, "start_run", SENT, **options)


def rows(store: MemoryStore) -> list[RefusedStart]:
    return [*store.tables.get(REFUSED_STARTS.name, {}).values()]


async def test_a_refused_start_leaves_one_row_and_no_event():
    service, store = await service_after(SHUT)
    before = {stream: len(events) for stream, events in store.streams.items()}
    await refused(service)
    assert [(row.plan_id, row.error_code, row.refused_at) for row in rows(store)] == [
        (PLAN, "RunEnclosureCoverageMismatchError", NOW)
    ]
    assert {stream: len(events) for stream, events in store.streams.items()} == before


async def test_another_attempt_within_a_minute_leaves_no_more():
    service, store = await service_after(SHUT)
    for key in (None, "a", "a", "b"):
        await refused(service, idempotency_key=key)
    assert len(rows(store)) == 1


async def test_a_dry_run_leaves_nothing():
    service, store = await service_after(SHUT)
    await refused(service, dry_run=True)
    assert rows(store) == []


async def test_a_refusal_stands_though_it_cannot_be_written_down(monkeypatch: pytest.MonkeyPatch):
    async def full(self: MemoryStore, insert: Insert) -> None:
        raise ConnectionError("the disk is full")

    service, _ = await service_after(SHUT)
    monkeypatch.setattr(MemoryStore, "record_refusal", full)
    await refused(service)


async def test_a_start_that_succeeds_leaves_nothing():
    service, store = await service_after(past())
    await call(service, "start_run", SENT)
    assert rows(store) == []
