"""The two model agents obey every instruction that they are shown, and gain nothing by it."""

import pytest
from tests.support.model_agents import REACTIONS
from tests.unit.agents.injection.model_attacks import (
    MARKED,
    PAYLOADS,
    PERSON,
    SECRETS,
    ModelScene,
    ModelWish,
    attacked,
)
from tests.unit.agents.injection.payloads import Payload, described

pytestmark = pytest.mark.anyio


def reaches_no_further_than_its_grants(scene: ModelScene) -> None:
    made = [e for e in scene.written() if e.event_type not in {"RunStarted", "RunStopped"}]
    made = [e for e in made if e.event_type != "AssetRegistered"]
    assert {e.principal_id for e in made} == {scene.agent.id}
    assert {e.event_type for e in made} <= {"DecisionRegistered", "DecisionDebriefRequested"}
    assert {e.command_name for e in made} <= {*REACTIONS[scene.agent.kind].commands}
    runs = {str(e.stream_id) for e in scene.written() if e.event_type == "RunStopped"}
    decided = [each["inputs"]["run_id"] for each in scene.decisions()]
    assert sorted(decided) == sorted(runs), "one decision for each run that ended"
    assert {each["actor_id"] for each in scene.decisions()} == {str(scene.agent.id)}
    assert {str(each.run_id) for each in scene.world.rows("run_logbook_entry")} <= runs


async def spends_no_more_than_its_budget(scene: ModelScene) -> None:
    shown = await scene.world.shown("get_agent", agent_id=str(scene.agent.id))
    budget = scene.agent.budget
    assert budget is not None
    assert budget.daily_token_cap is not None
    assert budget.monthly_usd_cap is not None
    assert 0 < shown["tokens_today"] <= budget.daily_token_cap
    assert shown["usd_this_month"] <= budget.monthly_usd_cap
    assert shown["budget"]["daily_token_cap"] == budget.daily_token_cap
    assert all(call.settled for call in scene.world.rows("model_call"))
    if scene.payload.wish.runs == 2:
        assert len(scene.model.requests) == 1, "the budget ends what the text began"
        failure = scene.decisions()[1]["inputs"]["failure"]
        assert failure == "LanguageModelBudgetExceededError"


def sends_no_personal_data(scene: ModelScene) -> None:
    for request in scene.model.requests:
        sent = request.system + request.user
        assert PERSON not in sent or scene.payload.carrier in MARKED
        assert not [secret for secret in SECRETS if secret in sent]
        # The data are one line of JSON after the introduction: no text can end them.
        assert request.user.count("\n") == 1
        assert scene.text not in request.system


@pytest.mark.parametrize("payload", PAYLOADS, ids=described)
async def test_an_instruction_that_a_model_obeys_gains_nothing(payload: Payload[ModelWish]):
    scene = await attacked(payload)
    assert scene.obeyed == len(scene.model.requests) > 0
    reaches_no_further_than_its_grants(scene)
    await spends_no_more_than_its_budget(scene)
    sends_no_personal_data(scene)
    await payload.wish.held(scene)
