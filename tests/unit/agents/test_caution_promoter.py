"""CautionPromoter: which proposals it promotes, and what it says of the others."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.support.agents import CODEC, PROMOTION, a_proposal, reactions
from tests.support.examples.assets import an_asset
from tests.unit.agents.conftest import World
from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.tail import MemoryTail
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import replace
from beamkeep.parts.agents.caution_promoter import PROMOTER
from beamkeep.parts.agents.reactions import EventLoop
from beamkeep.parts.agents.seeded_agents import caution_promotion
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.telemetry import Telemetry
from beamkeep.testing.appends import on_record

pytestmark = pytest.mark.anyio


class Promoting:
    """The loop of the agent, and proposals for it."""

    def __init__(self, world: World) -> None:
        self.world, self.telemetry = world, Telemetry()
        self.tail = MemoryTail(world.store.log)

    def loop(self) -> EventLoop:
        around = reactions(self.world.service, self.world.store, self.telemetry)
        return EventLoop(
            caution_promotion(around, self.world.store, CATALOGUE, PROMOTION),
            around,
            self.tail,
            store=self.world.store,
            codec=CODEC,
            max_age=timedelta(hours=24),
        )

    async def propose(self, target_id: str, surface_id: UUID | None = None, **changed: Any) -> UUID:
        proposal = a_proposal(target_id, self.world.now, **changed)
        await self.world.store.append(replace(on_record(proposal), surface_id=surface_id))
        return proposal.decision_id

    def outcomes(self) -> list[tuple[str, Any]]:
        told = self.world.decisions()
        return [(each["choice"], each["inputs"].get("reason")) for each in told]


@pytest.fixture
async def promoting(world: World) -> Promoting:
    return Promoting(world)


async def test_a_notice_is_promoted_once_with_its_decision(promoting: Promoting):
    world = promoting.world
    asset_id = await an_asset(world.do)
    proposal_id = await promoting.propose(asset_id)
    await promoting.loop().turn()
    promoting.tail = MemoryTail(world.store.log)
    await promoting.loop().turn()
    (caution,) = world.events("CautionRegistered")
    (decided,) = world.decisions()
    assert decided["choice"] == "Promote"
    assert decided["parent_id"] == str(proposal_id)
    assert decided["inputs"]["caution_id"] == str(caution.stream_id)
    assert decided["inputs"]["severity"] == "Notice"
    assert (caution.command_name, caution.principal_id) == ("promote_caution_proposal", PROMOTER.id)
    (cause,) = [e for e in world.events("DecisionRegistered") if e.stream_id == proposal_id]
    assert (caution.causation_id, caution.correlation_id) == (cause.event_id, cause.correlation_id)


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({"choice": "ProposeWarning"}, [("PromotionDeferred", "OperatorGated")]),
        ({"confidence": 0.69}, [("PromotionDeferred", "LowConfidence")]),
        ({"inputs": {}}, [("PromotionDeferred", "InvalidProposal")]),
        ({"choice": "NoAction"}, []),
        ({"choice": "CautionDraftConflicted"}, []),
        ({"context": "RunDebrief"}, []),
    ],
)
async def test_what_is_no_sure_notice_is_left_to_operators(
    promoting: Promoting, changed: Mapping[str, Any], outcome: list[tuple[str, str]]
):
    await promoting.propose(await an_asset(promoting.world.do), **changed)
    await promoting.loop().turn()
    assert promoting.outcomes() == outcome
    assert promoting.world.events("CautionRegistered") == []


async def test_a_proposal_that_came_by_a_surface_is_left_to_operators(promoting: Promoting):
    await promoting.propose(await an_asset(promoting.world.do), surface_id=uuid7())
    await promoting.loop().turn()
    assert promoting.outcomes() == []


async def test_a_target_gets_one_notice_and_none_after_one_was_retired(promoting: Promoting):
    world = promoting.world
    asset_id = await an_asset(world.do)
    await promoting.propose(asset_id)
    await promoting.propose(asset_id)
    await promoting.loop().turn()
    assert promoting.outcomes() == [("Promote", None), ("PromotionConflicted", "TargetCovered")]
    (caution,) = world.events("CautionRegistered")
    retiring = {"caution_id": str(caution.stream_id), "retire_reason": "Resolved"}
    await world.do("retire_caution", retiring)
    await promoting.propose(asset_id)
    await promoting.loop().turn()
    assert promoting.outcomes()[2:] == [("PromotionDeferred", "RetiredBefore")]


async def test_no_more_are_promoted_in_a_day_than_the_settings_allow(promoting: Promoting):
    for _ in range(3):
        await promoting.propose(await an_asset(promoting.world.do))
    await promoting.loop().turn()
    assert promoting.outcomes() == [
        ("Promote", None),
        ("Promote", None),
        ("PromotionDeferred", "TooMany"),
    ]


async def test_an_old_event_is_passed_over_and_counted(promoting: Promoting):
    await promoting.propose(await an_asset(promoting.world.do))
    promoting.world.later(hours=24.1)
    await promoting.loop().turn()
    assert promoting.outcomes() == []
    counted = b'beamkeep_agent_passed_over_total{kind="CautionPromoter",reason="age"} 1.0'
    assert counted in promoting.telemetry.exposition()


async def test_an_event_that_fails_is_tried_again_and_then_passed_over(
    promoting: Promoting, monkeypatch: pytest.MonkeyPatch
):
    await promoting.propose("00000000-0000-7000-8000-0000000000aa", inputs={})
    loop, failing = promoting.loop(), True
    whole = promoting.world.store.follows

    async def follows(*arguments: Any) -> bool:
        if failing:
            raise ValueError("broken")
        return await whole(*arguments)

    monkeypatch.setattr(promoting.world.store, "follows", follows)
    assert [await loop.turn() for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 16.0]
    await loop.turn()
    counted = b'beamkeep_agent_passed_over_total{kind="CautionPromoter",reason="failed"} 1.0'
    assert counted in promoting.telemetry.exposition()
    failing = False
    await promoting.loop().turn()
    assert promoting.outcomes() == []


async def test_no_event_is_passed_over_while_the_database_is_unreachable(
    promoting: Promoting, monkeypatch: pytest.MonkeyPatch
):
    await promoting.propose(await an_asset(promoting.world.do))
    loop = promoting.loop()

    async def follows(*arguments: Any) -> bool:
        raise StoreUnavailableError

    monkeypatch.setattr(promoting.world.store, "follows", follows)
    for _ in range(8):
        with pytest.raises(StoreUnavailableError):
            await loop.turn()
    monkeypatch.undo()
    await loop.turn()
    assert promoting.outcomes() == [("Promote", None)]
