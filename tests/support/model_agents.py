"""A service with runs that have ended, and agents that call a scripted model about them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.agent.agent import AgentBudget, ModelRef
from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionSeverity,
    Target,
    TargetKind,
)
from beamkeep.contexts.equipment.asset import AssetRegistered, AssetTier
from beamkeep.contexts.recipe.method import MethodDefined
from beamkeep.contexts.run.run import RunStarted, RunStopped
from beamkeep.contexts.seams.place import PLACES, AssetPlace
from beamkeep.contexts.trust import seeded
from beamkeep.parts.agents.caution_drafter import CAUTION_DRAFTER
from beamkeep.parts.agents.desk import ModelAgent, ServiceDesk
from beamkeep.parts.agents.memory_model_calls import MemoryModelCalls
from beamkeep.parts.agents.model_agent import ModelAgentRuntime, ModelReaction
from beamkeep.parts.agents.models import templates
from beamkeep.parts.agents.models.budget import BudgetedModels, ModelCalls, Price, Prices
from beamkeep.parts.agents.models.scripted import Script, ScriptedModel
from beamkeep.parts.agents.models.seam import LanguageModel
from beamkeep.parts.agents.run_debriefer import RUN_DEBRIEFER
from beamkeep.runtime import Service
from beamkeep.runtime.store import Envelope, EventStore
from beamkeep.schemas import JsonObject
from beamkeep.testing.appends import CODEC, append, at, on_record
from beamkeep.testing.service import call, memory_service

REACTIONS: Mapping[str, ModelReaction] = {
    each.kind: each for each in (RUN_DEBRIEFER, CAUTION_DRAFTER)
}
TEMPLATE_IDS = {each.kind: each.id for each in templates.TEMPLATES.values()}
MODEL = ModelRef("scripted", "scripted-1")
PRICES = Prices({"scripted/scripted-1": Price(1.0, 2.0)})
NARRATIVE = "The run was stopped on purpose. It was meant to take a full scan and took half of one."
GOOD: JsonObject = {"choice": "OperatorAbort", "confidence": 0.8, "narrative": NARRATIVE}


def now() -> datetime:
    return datetime.now(UTC)


class World:
    """A service on a store, and what is done in it."""

    def __init__(self, service: Service, store: EventStore, calls: ModelCalls) -> None:
        self.service, self.store, self.calls = service, store, calls
        self.asset_id, self.method_id = uuid7(), uuid7()

    async def furnish(self, asset_name: str = "Stage") -> None:
        """Put an asset and a method in place."""
        unit = AssetTier.UNIT
        made = AssetRegistered(
            now(), self.asset_id, asset_name, unit, None, None, (), None, None, ()
        )
        place = PLACES.insert(AssetPlace(self.asset_id, None, None))
        await self.store.append(append(at(1, made), side_writes=[place]))
        method = MethodDefined(
            now(),
            self.method_id,
            name="Fly scan",
            capability_id=uuid7(),
            needed_family_ids=(),
            needed_supplies=(),
            parameters_schema=None,
        )
        await self.store.append(on_record(method))

    async def agent(
        self,
        kind: str,
        budget: AgentBudget | None = None,
        model: ModelRef = MODEL,
        permitted: bool = True,
    ) -> ModelAgent:
        """Define and release an agent, with the policy that it needs unless it gets none."""
        definition: dict[str, Any] = {
            "kind": kind,
            "name": kind,
            "version": "1",
            "model_ref": {"provider": model.provider, "model": model.model},
            "prompt_template_id": str(TEMPLATE_IDS[kind]),
        }
        if budget:
            definition["budget"] = {
                "monthly_usd_cap": budget.monthly_usd_cap,
                "daily_token_cap": budget.daily_token_cap,
            }
        id = (await self.call("define_agent", definition)).id
        await self.call("version_agent", {"agent_id": str(id)})
        policy = {
            "name": kind,
            "conduit_id": str(seeded.INTERNAL),
            "surface_id": None,
            "permitted_principal_ids": [str(id)],
            "permitted_commands": list(REACTIONS[kind].commands),
            "object_scope": "All",
        }
        if permitted:
            await self.call("define_policy", policy)
        return ModelAgent(id, kind, model, prompt_template_id=TEMPLATE_IDS[kind], budget=budget)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await call(self.service, name, arguments)

    async def shown(self, name: str, **arguments: Any) -> Any:
        """Return the answer to a question."""
        return json.loads((await self.call(name, arguments)).body)

    async def ended_run(
        self,
        name: str = "Scan 7",
        reason: str = "Enough data",
        parameters: JsonObject | None = None,
    ) -> Envelope:
        """Start and stop a run; return the event that ended it."""
        id = uuid7()
        started = RunStarted(
            now(),
            id,
            name=name,
            plan_id=uuid7(),
            plan_version_tag=None,
            method_id=self.method_id,
            asset_ids=(self.asset_id,),
            subject_id=None,
            raid=None,
            override_parameters={},
            effective_parameters=parameters or {},
            pinned_calibration_ids=(),
            acknowledged_cautions=(),
            decided_by_decision_id=None,
        )
        await self.store.append(on_record(started))
        stopped = RunStopped(now(), id, reason, None)
        await self.store.append(append(at(2, stopped)))
        return (await self.store.history(("Run", id), 1, 1))[0]

    async def caution(self, text: str) -> UUID:
        """Register a caution about the asset."""
        id = uuid7()
        target = Target(TargetKind.ASSET, self.asset_id)
        await self.store.append(
            on_record(
                CautionRegistered(
                    now(),
                    id,
                    target=target,
                    category=CautionCategory.WEAR,
                    severity=CautionSeverity.WARNING,
                    text=text,
                    workaround="Wait.",
                    tags=(),
                    expires_at=None,
                    propagate_to_children=False,
                    authored_by=uuid7(),
                    parent_id=None,
                    promoted_from_decision_id=None,
                )
            )
        )
        return id

    def runtime(
        self, agent: ModelAgent, model: LanguageModel, send_marked: bool = False
    ) -> ModelAgentRuntime:
        desk = ServiceDesk(self.service, self.store, CODEC, now)
        models = BudgetedModels(self.calls, {"scripted": model}, PRICES)
        return ModelAgentRuntime(
            REACTIONS[agent.kind], desk, models, new_id=uuid7, send_marked=send_marked
        )


class MemoryWorld(World):
    """The world in memory, with a look at everything that was written."""

    store: MemoryStore

    def rows(self, table: str) -> list[Any]:
        return [*self.store.tables.get(table, {}).values()]

    def events(self, stream_type: str) -> list[Envelope]:
        return [
            each
            for (kind, _), es in self.store.streams.items()
            for each in es
            if kind == stream_type
        ]


async def memory_world(asset_name: str = "Stage") -> MemoryWorld:
    service, store = await memory_service()
    world = MemoryWorld(service, store, MemoryModelCalls(store))
    await world.furnish(asset_name)
    return world


def scripted(script: Script) -> ScriptedModel:
    return ScriptedModel(script)
