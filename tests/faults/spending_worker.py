"""A process that calls a model for one agent, as often as its budget allows.

It prints a line when it is ready and begins when it is answered one.

`python -m tests.faults.spending_worker URL NAME AGENT_ID CALLS TOKEN_CAP VARIANT`
"""

import asyncio
import json
import sys
from collections import Counter
from uuid import UUID

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.contexts.agent.agent import AgentBudget, ModelRef
from beamkeep.parts.agents import postgres_model_calls as model_calls
from beamkeep.parts.agents.models.budget import BudgetedModels, Prices
from beamkeep.parts.agents.models.scripted import ScriptedModel
from beamkeep.parts.agents.models.seam import CompletionRequest
from beamkeep.parts.agents.postgres_model_calls import PostgresModelCalls
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.testing.seeds import dice, seed

AT_ONCE = 4
SOUND, UNLOCKED = "sound", "without the lock"
MODEL = ModelRef("scripted", "scripted-1")


async def run() -> None:
    """Make the calls; print how many the model got."""
    url, name, agent_id, calls, token_cap, variant = sys.argv[1:]
    if variant == UNLOCKED:
        model_calls.LOCK = "SELECT $1::text"
    connections, model = Connections(url, AT_ONCE), ScriptedModel(lambda _: {})
    models = BudgetedModels(PostgresModelCalls(connections), {"scripted": model}, Prices({}))
    budget, roll = AgentBudget(None, int(token_cap)), dice(seed(), name)
    outcomes, numbers = Counter[str](), iter(range(int(calls)))
    print("ready", flush=True)
    sys.stdin.readline()

    async def call(key: str, request: CompletionRequest) -> str:
        """Return what came of a call; one that waited too long for the lock is made again."""
        while True:
            try:
                called = await models.call(UUID(agent_id), key, budget, request)
            except StoreUnavailableError:
                outcomes["put_off"] += 1
            else:
                return type(called).__name__

    async def spend() -> None:
        for number in numbers:
            request = CompletionRequest(
                MODEL, "", user="x" * roll.randrange(300), output_schema={}, max_output_tokens=100
            )
            outcomes[await call(f"{name}:{number}", request)] += 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(spend())
    await connections.close()
    print(json.dumps({"requests": len(model.requests), **outcomes}))


if __name__ == "__main__":
    asyncio.run(run())
