"""What an agent's read costs compared with a person's: the same question, with evidence."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from beamkeep.runtime.admission import Request

from .counts import count, undisturbed
from .loading import load_visits, visit_ids
from .measure import Step, Steps, against_itself, throughput
from .rig import AGENT, SUBJECT, Rig, Seam, caller, let_in_agent, principal, question

STREAMS, EVENTS, TOGETHER, CALLS = 1_000, 20, 16, 100
FEW_STREAMS, FEW_CALLS = 10, 10
METHOD = (
    "get_visit of a random one of {:,} visits of {} events, by an agent against the same by a"
    " person, in one process with 16 connections: one caller (`alone`) and {} callers"
    " (`together`), whose evidence is stored in batches. `counted` is for one question, over"
    " {} rounds; it alone is judged."
)


async def measure(rig: Rig) -> dict[str, Any]:
    """Count statements and transactions of both, then compare their rates."""
    streams, calls = rig.pick(STREAMS, STREAMS, FEW_STREAMS), rig.pick(CALLS, CALLS, FEW_CALLS)
    async with rig.database("agent_read") as database:
        await load_visits(database.owner, await principal(database), 0, streams, EVENTS)
        await let_in_agent(database)
        await database.settle()
        ids, seam = await visit_ids(database.owner, 0, streams), database.seam(TOGETHER)
        counted: dict[str, dict[str, float]] = {}
        async with undisturbed(database):
            for who, subject in (("person", SUBJECT), ("agent", AGENT)):
                get = _get(seam, ids, subject)
                counted[who] = await count(database, get, calls)
                together = await count(database, _at_once(get), calls)
                counted[f"{who}_together"] = {name: n / TOGETHER for name, n in together.items()}
        ratios: dict[str, dict[str, Any]] = {}
        for name, callers in (("alone", 1), ("together", TOGETHER)):
            person, agent = (
                Steps([_get(seam, ids, subject)] * callers) for subject in (SUBJECT, AGENT)
            )
            ratios[name] = throughput(await rig.meter.compare(person, agent, rig.plan))
            alike = await rig.meter.compare(person, person, rig.plan.alike())
            ratios[name] |= against_itself(alike)
    return {
        **ratios,
        **counted,
        "reached": (as_expected := _as_expected(counted)),
        "counts_hold": as_expected,
        "method": METHOD.format(streams, EVENTS, TOGETHER, calls),
    }


def _as_expected(counted: dict[str, dict[str, float]]) -> bool:
    """A person's read writes nothing; an agent's adds a statement, which many callers share."""
    alone, together = counted["agent"], counted["agent_together"]
    return (
        all(
            (counted[each]["statements"], counted[each]["transaction_ids"]) == (1, 0)
            for each in ("person", "person_together")
        )
        and (alone["statements"], alone["transaction_ids"]) == (2, 1)
        and 1 < together["statements"] < alone["statements"]
        and 0 < together["transaction_ids"] < alone["transaction_ids"]
    )


def _get(seam: Seam, ids: Sequence[UUID], subject: str) -> Step:
    draw, ask, get = random.Random(1), seam.service.queries.ask, question("get_visit")  # noqa: S311

    async def step() -> None:
        request = Request(caller(subject), {"visit_id": str(draw.choice(ids))})
        assert (await ask(get, request)).version == EVENTS

    return step


def _at_once(step: Step) -> Step:
    async def steps() -> None:
        await asyncio.gather(*(step() for _ in range(TOGETHER)))

    return steps
