"""A command that was proposed and expired is proposed again."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from beamkeep.contexts.trust import seeded
from beamkeep.deployment.service import compose
from beamkeep.kernel import SurfaceKind
from beamkeep.runtime import Service
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACTS
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import call, enrol, policy

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

FAMILY: dict[str, Any] = {"name": "Detectors", "affordances": []}


async def proposed(service: Service) -> str:
    made = await call(service, "define_family", FAMILY, "paul")
    assert made.status == 202
    return json.loads(made.body)["proposal_id"]


async def test_an_expired_proposal_gives_its_place_to_a_new_one(database: Database):
    async with postgres_service(database) as deployed:
        id = await enrol(deployed.service, "paul", "get_proposal")
        terms = policy("Proposers", seeded.SURFACES[SurfaceKind.HTTP], id)
        await call(
            deployed.service, "define_policy", terms | {"proposable_commands": ["define_family"]}
        )
        first = await proposed(deployed.service)
        tomorrow = datetime.now(UTC) + timedelta(hours=FACTS.proposal_ttl_hours, minutes=1)
        later = compose(
            deployed.store,
            deployed.lists,
            b"k" * 32,
            facts=FACTS,
            clock=lambda: tomorrow,
        )
        second = await proposed(later)
        shown = await call(later, "get_proposal", {"proposal_id": first})
    assert json.loads(shown.body)["status"] == "Withdrawn"
    holders = database.ask("SELECT holder::text FROM bk.claims WHERE scope = 'open-proposal'")
    assert holders == [(second,)]
