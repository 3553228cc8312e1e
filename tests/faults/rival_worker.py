"""`beamkeep work` with agents whose model is a script, and a variant without the lease.

`python -m tests.faults.rival_worker work`
"""

import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path
from random import random
from typing import Any
from uuid import UUID

from beamkeep.contexts.caution.promotion import DRAFT
from beamkeep.deployment.verbs import main
from beamkeep.parts.agents import loops
from beamkeep.parts.agents import postgres_model_calls as model_calls
from beamkeep.parts.agents.desk import ModelAgent, ServiceDesk
from beamkeep.parts.agents.models.scripted import ScriptedModel
from beamkeep.parts.agents.models.seam import CompletionRequest, CompletionResponse
from beamkeep.runtime.store import Envelope
from beamkeep.schemas import JsonObject
from tests.support.model_agents import GOOD
from tests.support.olog import LOGBOOK, PASSWORD, USER

VARIANT, CALLS = "BEAMKEEP_RIVAL_VARIANT", "BEAMKEEP_RIVAL_CALLS"
SOUND, UNLEASED = "sound", "without the lease"
SLOWEST = 0.3
"""Seconds that the model may take here."""
SETTINGS = {
    "LANGUAGE_MODEL_PROVIDER": "openai_compatible",
    "LANGUAGE_MODEL_NAME": "scripted-1",
    "LANGUAGE_MODEL_BASE_URL": "http://127.0.0.1:9/v1",
    "CONDUCT_LEASE_SECONDS": "12",
    "CONDUCT_RENEW_SECONDS": "1",
    "CONDUCT_SELF_FENCE_SECONDS": "9",
    "LOGBOOK_MIRROR_LOGBOOK": LOGBOOK,
    "LOGBOOK_MIRROR_USER": USER,
    "LOGBOOK_MIRROR_PASSWORD": PASSWORD,
}
NO_CAUTION: JsonObject = {
    "choice": "NoAction",
    "confidence": 0.9,
    "reasoning": "Nothing in the facts points to a quirk.",
    "proposed_caution": None,
}


class SlowModel(ScriptedModel):
    """Writes down each call before it answers."""

    async def complete(self, request: CompletionRequest) -> CompletionResponse:
        with Path(os.environ[CALLS]).open("a") as calls:
            calls.write(f"{time.time()}\n")
        await asyncio.sleep(random() * SLOWEST)  # noqa: S311
        return await super().complete(request)


async def holds_always(self: ServiceDesk, agent: ModelAgent, trigger: Envelope) -> UUID:
    """Ask nobody whether another agent of the kind is at it."""
    return agent.id


def scripted(*account: Any) -> SlowModel:
    """Return the model that every agent calls."""

    def reply(request: CompletionRequest) -> JsonObject:
        return NO_CAUTION if DRAFT in str(request.output_schema) else GOOD

    return SlowModel(reply)


if __name__ == "__main__":
    loops.language_model = scripted
    # A call that a kill has swallowed is made again soon.
    model_calls.ATTEMPT_EVERY = timedelta(seconds=2)
    if os.environ[VARIANT] == UNLEASED:
        ServiceDesk.lease_holder = holds_always
        ServiceDesk.take_lease = holds_always
    main()
