"""Proposals that are approved while something else happens to them: each has at most one effect."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID, uuid4

import pytest

from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.equipment.family import DeprecateFamily, Family, FamilyDeprecated
from beamkeep.contexts.proposal.proposal import proposals
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Call, ObjectScope, Refusal, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.dispatch import Dispatcher
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import policy
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import rounds

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

AT_ONCE = 8
SHORTEST, LONGEST = 0.0005, 0.5
"""Seconds by which the loser of a race starts earlier in the next one, and at most."""
LIVES_HOURS = 1 / 3600
RACES = ("approved", "withdrawn", "moved", "expired")
FAIR = 10
"""Each side of a race wins at least one in this many."""

# One row for each family: how often it was deprecated, and by whom on whose proposal.
EFFECTS = """
SELECT stream_id, count(*) AS times, count(causation_id) AS approved,
       array_agg(principal_id) AS principals
  FROM bk.events WHERE event_type = 'FamilyDeprecated' GROUP BY 1
"""
APPROVED = """
SELECT a.stream_id, a.occurred_at >= (r.payload->>'expires_at')::timestamptz AS late,
       (SELECT count(*) FROM bk.events e WHERE e.causation_id = r.event_id
           AND e.event_type = 'FamilyDeprecated'
           AND e.transaction_id = a.transaction_id) AS effects
  FROM bk.events a JOIN bk.events r USING (stream_type, stream_id)
 WHERE a.event_type = 'ProposalApproved' AND r.event_type = 'ProposalRegistered'
"""
CLOSED = """
SELECT count(*) FROM (
  SELECT 1 FROM bk.events WHERE stream_type = 'Proposal' AND version > 1
   GROUP BY stream_id HAVING count(*) > 1) AS twice
"""


async def answered(service: Service, who: UUID, name: str, arguments: dict[str, Any]) -> Any:
    """Return the body of an answer, or the name of the refusal."""
    caller = Caller(uuid4(), principal_id=who, transport=SurfaceKind.HTTP)
    operation = next(each for each in CATALOGUE.operations if each.name == name)
    try:
        told = await service.dispatcher.execute(operation, Request(caller, arguments))
    except Refusal as refusal:
        return type(refusal).__name__
    return json.loads(told.body) if told.body else {}


class Handicap:
    """By how much an approval starts before its rival, so that each of them wins about half."""

    def __init__(self) -> None:
        self.lead, self._step, self._won = 0.0, SHORTEST, False

    def note(self, won: bool) -> None:
        """Let the winner start later next time; by more, the more often it has won."""
        self._step = self._step * 2 if won is self._won else self._step / 2
        self._step, self._won = min(LONGEST / 4, max(SHORTEST, self._step)), won
        self.lead = min(LONGEST, max(-LONGEST, self.lead + (-self._step if won else self._step)))


class Contest:
    """Proposals, each approved by one process while another one does something else to it."""

    def __init__(self, here: Service, there: Service, brief: Service, dice: Random) -> None:
        self.here, self.there, self.brief, self.dice = here, there, brief, dice
        self.wins = Counter[tuple[str, str]]()
        self.handicaps = {race: Handicap() for race in RACES}
        self.count = self.denied = self.unclear = 0

    async def enrol(self) -> None:
        """Register a proposer, and a person who may approve but not deprecate families."""
        ids = list[UUID]()
        for name in ("Paul", "Petra"):
            made = await answered(self.here, DEVELOPER, "register_actor", {"name": name})
            ids.append(UUID(made["actor_id"]))
        self.proposer, self.powerless = ids
        surface_id = seeded.SURFACES[SurfaceKind.HTTP]
        terms = policy("Proposers", surface_id, self.proposer, "withdraw_proposal")
        proposes = terms | {"proposable_commands": ["deprecate_family"]}
        await answered(self.here, DEVELOPER, "define_policy", proposes)
        approves = policy("Approvers", surface_id, self.powerless, "approve_proposal")
        await answered(self.here, DEVELOPER, "define_policy", approves)

    async def one(self, number: int) -> None:
        """Propose a command, approve it while something else happens, and count who won."""
        race = RACES[number % len(RACES)]
        family: dict[str, Any] = {"name": f"Family {number}", "affordances": []}
        target = await answered(self.here, DEVELOPER, "define_family", family)
        proposing = self.brief if race == "expired" else self.here
        proposed = await answered(proposing, self.proposer, "deprecate_family", target)
        lead = self.handicaps[race].lead + self.dice.uniform(-2, 2) * SHORTEST
        approval = self._approval(self.here, DEVELOPER, proposed)
        if race == "expired":
            expires_at = await self._expires_at(UUID(proposed["proposal_id"]))
            left = (expires_at - datetime.now(UTC)).total_seconds() - lead
            told = await after(max(left, 0), approval)
            won = isinstance(told, dict)
        else:
            rivals: dict[str, Callable[[], Awaitable[Any]]] = {
                "approved": self._approval(self.there, DEVELOPER, proposed),
                "withdrawn": lambda: answered(
                    self.there, self.proposer, "withdraw_proposal", proposed
                ),
                "moved": lambda: answered(self.there, DEVELOPER, "deprecate_family", target),
            }
            told, other, powerless = await asyncio.gather(
                after(max(-lead, 0), approval),
                after(max(lead, 0), rivals[race]),
                self._approval(self.there, self.powerless, proposed)(),
            )
            won = isinstance(told, dict)
            self.unclear += isinstance(told, dict) == isinstance(other, dict)
            self.denied += powerless in ("UnauthorizedError", "ProposalCannotApproveError")
        self.count += 1
        self.wins[race, "approval" if won else "rival"] += 1
        self.handicaps[race].note(won)

    def _approval(
        self, service: Service, who: UUID, proposed: dict[str, Any]
    ) -> Callable[[], Awaitable[Any]]:
        return lambda: answered(service, who, "approve_proposal", proposed)

    async def _expires_at(self, id: UUID) -> datetime:
        session = self.here.sessions().read_for(DEVELOPER, ObjectScope.ALL)
        return (await session.one(proposals, id)).expires_at


async def after(seconds: float, begin: Callable[[], Awaitable[Any]]) -> Any:
    """Return what is answered to a call that begins after some seconds."""
    await asyncio.sleep(seconds)
    return await begin()


async def contest(numbers: Iterable[int], replays: bool = False) -> dict[str, Any]:
    """Contest so many proposals, with two processes, and return what came of it."""
    async with fresh_ground() as ground, AsyncExitStack() as deployed:
        here, there, brief = [
            await _service(ground, deployed, **more)
            for more in ({}, {}, {"proposal_ttl_hours": LIVES_HOURS})
        ]
        if replays:
            for each in (here, there):
                replay_stored_events(each.dispatcher)
        held = Contest(here, there, brief, dice(seed(), "proposals"))
        await held.enrol()
        left = iter(numbers)

        async def each_in_turn() -> None:
            for number in left:
                await held.one(number)

        await asyncio.gather(*(each_in_turn() for _ in range(AT_ONCE)))
        async with connected(ground.admin_url) as connection:
            effects = await connection.fetch(EFFECTS)
            approved = await connection.fetch(APPROVED)
            twice = await connection.fetchval(CLOSED)
    return {
        "proposals": held.count,
        "approved": len(approved),
        **{f"{race}_won_by_{who}": held.wins[race, who] for race, who in SIDES},
        "refused_without_permission": held.denied,
        "most_effects": max(row["times"] for row in effects),
        "without_effect": sum(row["effects"] != 1 for row in approved),
        "below_their_rule": sum(row["times"] > 1 for row in effects),
        "too_late": sum(row["late"] for row in approved),
        "doubled": twice,
        "two_winners": held.unclear,
        "without_permission": sum({*row["principals"]} != {DEVELOPER} for row in effects),
    }


SIDES = [(race, who) for race in RACES for who in ("approval", "rival")]
NEVER = """
    without_effect below_their_rule too_late doubled two_winners without_permission
"""


async def test_each_proposal_has_one_effect_whatever_happens_at_once(report: Report):
    figures = await contest(rounds("PROPOSALS", 400, 160, 40))
    report("T31 proposals", figures)
    count = figures["proposals"]
    assert {figures[name] for name in NEVER.split()} == {0}
    assert figures["most_effects"] == 1
    expiring = len(range(RACES.index("expired"), count, len(RACES)))
    assert figures["refused_without_permission"] == count - expiring
    fewest = min(figures[f"{race}_won_by_{who}"] for race, who in SIDES)
    assert fewest * FAIR >= count // len(RACES)


async def test_an_approval_that_replays_stored_events_is_found_out(report: Report):
    figures = await contest(range(80), replays=True)
    report("T31 stored events replayed", figures)
    assert figures["below_their_rule"] > 0
    assert figures["two_winners"] > 0


def replay_stored_events(dispatcher: Dispatcher) -> None:
    """Let approvals write the events that were decided when the command was proposed."""

    def stored(family: Family, command: DeprecateFamily, call: Call) -> list[FamilyDeprecated]:
        return [FamilyDeprecated(call.now, family.id)]

    proposing: Any = dispatcher._proposing  # pyright: ignore[reportPrivateUsage]
    carried_out = proposing._proposable
    replayed = replace(carried_out["deprecate_family"], rule=stored)
    proposing._proposable = {**carried_out, "deprecate_family": replayed}


async def _service(ground: Ground, deployed: AsyncExitStack, **more: Any) -> Service:
    deployment = ground.deployment(**more)
    deployed.push_async_callback(deployment.close)
    return await deployment.service()
