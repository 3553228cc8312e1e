"""Proposals that are approved twice, withdrawn and overtaken at once: each has one effect."""

import asyncio
import json
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest

from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.testing.service import policy
from tests.faults.ground import connected, fresh_ground
from tests.faults.report import asked

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

AT_ONCE = 8
COUNT = """
SELECT c.causation_id, count(*) FROM bk.events c
 WHERE c.event_type = 'FamilyDeprecated' AND c.causation_id IS NOT NULL GROUP BY 1
"""
APPROVED = "SELECT count(*) FROM bk.events WHERE event_type = 'ProposalApproved'"


async def answered(service: Service, who: UUID, name: str, arguments: dict[str, Any]) -> Any:
    """Return the body of an answer, or the name of the refusal."""
    operation = CATALOGUE.named[name]
    caller = Caller(uuid4(), principal_id=who, transport=SurfaceKind.HTTP)
    try:
        told = await service.dispatcher.execute(operation, Request(caller, arguments))
    except Refusal as refusal:
        return type(refusal).__name__
    return json.loads(told.body) if told.body else {}


async def contested(service: Service, proposer: UUID, number: int) -> str:
    """Propose a command, approve it while something else happens, and say which it was."""
    family = {"name": f"Family {number}", "affordances": []}
    made = await answered(service, DEVELOPER, "define_family", family)
    target = {"family_id": made["family_id"]}
    proposed = await answered(service, proposer, "deprecate_family", target)
    one = {"proposal_id": proposed["proposal_id"]}
    rivals = {
        "approved": (DEVELOPER, "approve_proposal", one),
        "withdrawn": (proposer, "withdraw_proposal", one),
        "moved": (DEVELOPER, "deprecate_family", target),
    }
    kind = list(rivals)[number % len(rivals)]
    approval = answered(service, DEVELOPER, "approve_proposal", one)
    told = await asyncio.gather(approval, answered(service, *rivals[kind]))
    won = sum(isinstance(each, dict) for each in told)
    assert won == 1, (kind, told)
    return kind


async def test_each_proposal_has_one_effect_whatever_happens_at_once():
    async with fresh_ground() as ground:
        service = await ground.deployment().service()
        actor = await answered(service, DEVELOPER, "register_actor", {"name": "Paul"})
        proposer = UUID(actor["actor_id"])
        surface_id = seeded.SURFACES[SurfaceKind.HTTP]
        terms = policy("Proposers", surface_id, proposer, "withdraw_proposal", "get_proposal")
        terms["proposable_commands"] = ["deprecate_family"]
        await answered(service, DEVELOPER, "define_policy", terms)
        slots, kinds = asyncio.Semaphore(AT_ONCE), Counter[str]()

        async def one(number: int) -> None:
            async with slots:
                kinds[await contested(service, proposer, number)] += 1

        size = asked("PROPOSALS", 400)
        await asyncio.gather(*map(one, range(size)))
        async with connected(ground.admin_url) as connection:
            effects = [row["count"] for row in await connection.fetch(COUNT)]
            approvals = await connection.fetchval(APPROVED)
        assert set(effects) == {1}
        assert len(effects) == approvals >= size // 3
        assert sum(kinds.values()) == size
