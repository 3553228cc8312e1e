"""Rivals of a kind in processes that are killed, with their database: one debrief for each run."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from contextlib import AsyncExitStack, suppress
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from beamkeep.contexts.decision.logbook import mirror_work_id
from beamkeep.contexts.run.logbook import RUN_LOGBOOK
from beamkeep.contexts.trust import seeded
from beamkeep.deployment.composition import Deployment
from beamkeep.parts.agents.caution_drafter import CAUTION_DRAFTER
from beamkeep.parts.agents.run_debriefer import RUN_DEBRIEFER
from beamkeep.runtime import Service
from beamkeep.runtime.store import OutcomeUnknownError, StoreUnavailableError
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import asked, rounds
from tests.faults.rival_worker import CALLS, SETTINGS, SOUND, UNLEASED, VARIANT
from tests.faults.workers import Worker
from tests.support.developer import Developer
from tests.support.model_agents import TEMPLATE_IDS, World
from tests.support.olog import ANSWER_SECONDS, Olog, id_of

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

RIVALS, PROCESSES = 4, 3
RUNS, FEWEST, KILLS = 12, 6, 4
PATIENCE = 600.0
"""Seconds after which something must have been decided or copied."""
VICTIMS = ("worker", "database")
EXPECTED = {RUN_DEBRIEFER.context: RIVALS, CAUTION_DRAFTER.context: 1}
"""How many agents decide about each run, by the context of their decisions."""
CONFLICTED = frozenset({RUN_DEBRIEFER.conflicted, CAUTION_DRAFTER.conflicted})
ENDED = "SELECT stream_id FROM bk.events WHERE event_type = 'RunStopped'"
DECISIONS = """
SELECT stream_id, principal_id, payload::text FROM bk.events
 WHERE event_type = 'DecisionRegistered'
"""
ENTRIES = "SELECT run_id, entry_id FROM bk.run_logbook_entry"
INFERRED = "SELECT decision_id FROM bk.decision_inference"
COPIED = "SELECT work_id FROM bk.logbook_mirror"
RECORDED = "SELECT count(*) FROM bk.model_call"
WRITTEN = "SELECT count(*) FROM bk.events WHERE stream_type IN ('Run', 'Decision')"
WRONG = (
    "copied_twice",
    "debriefed_twice",
    "decided_twice",
    "doubled",
    "inferred_twice",
    "misnamed",
    "uncopied",
    "uncounted",
    "undecided",
    "without_a_winner",
    "without_entry",
)

type Matter = tuple[str, str]
"""The context of a decision, and the run."""


class Decision(NamedTuple):
    """A decision of an agent, as it is on record."""

    id: UUID
    agent_id: UUID
    told: dict[str, Any]

    @property
    def matter(self) -> Matter:
        return self.told["context"], self.told["inputs"]["run_id"]

    @property
    def is_lost(self) -> bool:
        """Whether the agent says that another one won."""
        return self.told["choice"] in CONFLICTED


class Seen(NamedTuple):
    """What is on record, here and outside."""

    ended: Set[str]
    decisions: Sequence[Decision]
    entries: Sequence[tuple[str, UUID]]
    """The run and the id of each logbook entry."""
    inferred: Sequence[UUID]
    """The decision of each inference."""
    copied: Set[UUID]
    outside: Sequence[str]
    """The ids in the outside logbook."""
    calls: int
    recorded: int


def audit(seen: Seen) -> dict[str, int]:
    """Count what was done and what must not be."""
    decided = Counter((each.matter, each.agent_id) for each in seen.decisions)
    # A winner whose attempts were all killed says so: its rivals stood aside for it.
    won = [each for each in seen.decisions if not each.is_lost]
    winners, matters = (
        Counter(each.matter for each in won),
        {e.id: e.matter for e in seen.decisions},
    )
    agents = Counter(matter for matter, _ in decided)
    over = {matter for matter, count in agents.items() if count == EXPECTED[matter[0]]}
    named = [
        (each.matter, UUID(each.told["inputs"]["winning_agent_id"]))
        for each in seen.decisions
        if each.is_lost and each.matter in over
    ]
    debriefed = {
        each.matter[1]
        for each in won
        if each.matter[0] == RUN_DEBRIEFER.context and each.told["choice"] != RUN_DEBRIEFER.deferred
    }
    written, outside = Counter(run_id for run_id, _ in seen.entries), Counter(seen.outside)
    works = {mirror_work_id(entry_id, RUN_LOGBOOK.name) for _, entry_id in seen.entries}
    inferred = Counter(matters.get(id) for id in seen.inferred)
    return {
        **Counter(each.told["choice"] for each in seen.decisions),
        "runs": len(seen.ended),
        "debriefed": len(debriefed),
        "calls": seen.calls,
        "entries": len(seen.entries),
        "copies": len(seen.outside),
        "copied_twice": outside.total() - len(outside),
        "debriefed_twice": sum(times > 1 for times in winners.values()),
        "decided_twice": sum(times > 1 for times in decided.values()),
        "doubled": sum(times - 1 for times in written.values()),
        "inferred_twice": sum(times > 1 for times in inferred.values()),
        "misnamed": len({*named} - {(each.matter, each.agent_id) for each in won}),
        "uncopied": len(works - seen.copied),
        "uncounted": max(0, seen.calls - seen.recorded),
        "undecided": sum(EXPECTED.values()) * len(seen.ended) - len(decided),
        "without_a_winner": len(over - winners.keys()),
        "without_entry": len(debriefed - written.keys()),
    }


class Rivals:
    """Runs that end, and processes in which rivals answer their ends."""

    def __init__(self, ground: Ground, world: World, olog: Olog, calls: Path) -> None:
        self._ground, self._world, self._olog, self._calls = ground, world, olog, calls
        self.workers = list[Worker]()
        self.figures = Counter[str]({"ended": 0, **{f"killed_{name}": 0 for name in VICTIMS}})

    async def end_a_run(self) -> None:
        async def is_ended() -> bool:
            with suppress(StoreUnavailableError, OutcomeUnknownError):
                await self._world.ended_run()
                return True
            return False

        await until(is_ended, "a run has ended")
        self.figures["ended"] += 1

    async def strike(self, victim: str, roll: Random) -> None:
        """Kill a worker or the database soon after the next thing was written."""
        async with connected(self._ground.admin_url) as watch:
            before = await watch.fetchval(WRITTEN)

            async def is_written() -> bool:
                return await watch.fetchval(WRITTEN) > before

            await until(is_written, "something is written")
        await asyncio.sleep(roll.uniform(0, 0.5))
        if victim == "database":
            await asyncio.to_thread(self._ground.cluster.kill)
            await asyncio.to_thread(self._ground.cluster.resume)
        else:
            await asyncio.to_thread(roll.choice(self.workers).kill)
        self.figures[f"killed_{victim}"] += 1

    async def all_decided(self, found_as: str | None) -> None:
        """Wait until all is decided and copied, or something is found."""
        loop = asyncio.get_running_loop()
        before, deadline = (-1, -1), 0.0
        while before != (0, 0):
            self.figures["revived"] += sum(worker.revive() for worker in self.workers)
            judged = await self.judge()
            if found_as and judged[found_as]:
                return
            left = judged["undecided"], judged["uncopied"]
            if left != before:
                before, deadline = left, loop.time() + PATIENCE
            assert loop.time() < deadline, f"nothing goes on any more: {dict(judged)}"
            await asyncio.sleep(0.1)

    async def judge(self) -> Counter[str]:
        """Count by the log, and by the log of the outside logbook, what was done."""
        calls = len(self._calls.read_text().splitlines()) if self._calls.exists() else 0
        async with connected(self._ground.admin_url) as watch:
            decisions = await watch.fetch(DECISIONS)
            seen = Seen(
                ended={str(row["stream_id"]) for row in await watch.fetch(ENDED)},
                decisions=[Decision(id, who, json.loads(told)) for id, who, told in decisions],
                entries=[(str(run_id), id) for run_id, id in await watch.fetch(ENTRIES)],
                inferred=[row["decision_id"] for row in await watch.fetch(INFERRED)],
                copied={row["work_id"] for row in await watch.fetch(COPIED)},
                outside=[*map(id_of, self._olog.entries)],
                calls=calls,
                recorded=await watch.fetchval(RECORDED),
            )
        return Counter({**self.figures, **audit(seen)})


async def a_rival(do: Developer) -> None:
    """Define one more agent that debriefs runs, with the policy that it needs."""
    kind = RUN_DEBRIEFER.kind
    model = {"provider": SETTINGS["LANGUAGE_MODEL_PROVIDER"], "model": "scripted-1"}
    about = {"kind": kind, "name": "Rival", "version": "1", "model_ref": model}
    made = await do("define_agent", {**about, "prompt_template_id": str(TEMPLATE_IDS[kind])})
    await do("version_agent", made)
    policy = {
        "name": "Rival",
        "conduit_id": str(seeded.INTERNAL),
        "surface_id": None,
        "permitted_principal_ids": [made["agent_id"]],
        "permitted_commands": list(RUN_DEBRIEFER.commands),
        "object_scope": "All",
    }
    await do("define_policy", policy)


async def furnished(service: Service, deployment: Deployment) -> World:
    """Return the world of the runs, after all rivals of the seeded agent were defined."""
    do = Developer(service, deployment.store)
    for _ in range(RIVALS - 1):
        await a_rival(do)
    world = World(service, deployment.store, calls=None)  # type: ignore[arg-type]
    await world.furnish()
    return world


async def harass(
    variant: str, numbers: Iterable[int], every: int, logs: Path, found_as: str | None = None
) -> Counter[str]:
    """End so many runs, or until something is found; kill something at every so many."""
    roll, calls = dice(seed(), "rivals", variant), logs / "calls"
    olog, victims = Olog(logs / "olog.jsonl", ANSWER_SECONDS), cycle(VICTIMS)
    async with fresh_ground() as ground, AsyncExitStack() as closing:
        await olog.serve()
        closing.push_async_callback(olog.close)
        settings = {**SETTINGS, "LOGBOOK_MIRROR_URL": olog.url}
        deployment = ground.deployment(**{name.lower(): told for name, told in settings.items()})
        closing.push_async_callback(deployment.close)
        world = await furnished(await deployment.service(), deployment)
        rivals = Rivals(ground, world, olog, calls)
        environment = {**settings, VARIANT: variant, CALLS: str(calls)}
        words = "tests.faults.rival_worker", "work"
        for number in range(PROCESSES):
            worker = Worker(ground, f"w{number}", logs, words, environment)
            closing.callback(worker.close)
            rivals.workers.append(worker)
        for number in numbers:
            await rivals.end_a_run()
            if number % every == every - 1:
                await rivals.strike(next(victims), roll)
                # The next kill is to meet processes that are at work again.
                await rivals.all_decided(found_as)
            if found_as and (await rivals.judge())[found_as]:
                break
        await rivals.all_decided(found_as)
        return await rivals.judge()


async def test_of_rivals_under_kills_one_debriefs_each_run(report: Report, tmp_path: Path):
    every = max(1, asked("RIVAL_RUNS", RUNS) // asked("RIVAL_KILLS", KILLS))
    numbers = rounds("RIVAL_RUNS", RUNS, FEWEST, 30)
    figures = await harass(SOUND, numbers, every, tmp_path)
    report("T32 rivals", figures)
    assert {name: figures[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert figures["debriefed"] + figures[RUN_DEBRIEFER.deferred] == figures["runs"]
    assert figures[RUN_DEBRIEFER.conflicted] == (RIVALS - 1) * figures["runs"]
    assert figures["debriefed"] == figures["entries"] == figures["copies"] > 0
    killed = [figures[f"killed_{name}"] for name in VICTIMS]
    assert sum(killed) == figures["ended"] // every
    assert min(killed) > 0


async def test_rivals_without_the_lease_debrief_a_run_twice(report: Report, tmp_path: Path):
    figures = await harass(UNLEASED, range(3), 10, tmp_path, "debriefed_twice")
    report(f"T32 {UNLEASED}", figures)
    assert figures["debriefed_twice"] > 0


def sound() -> Seen:
    """Return one run as it is to be."""
    run_id, entry_id = str(uuid4()), uuid4()
    winner, *losers = [uuid4() for _ in range(RIVALS)]

    def decision(context: str, agent_id: UUID, choice: str) -> Decision:
        inputs = {"run_id": run_id, "winning_agent_id": str(winner)}
        return Decision(uuid4(), agent_id, {"context": context, "choice": choice, "inputs": inputs})

    context, work_id = RUN_DEBRIEFER.context, mirror_work_id(entry_id, RUN_LOGBOOK.name)
    debrief = decision(context, winner, "OperatorAbort")
    draft = decision(CAUTION_DRAFTER.context, uuid4(), "NoAction")
    lost = [decision(context, each, RUN_DEBRIEFER.conflicted) for each in losers]
    return Seen(
        ended={run_id},
        decisions=[debrief, draft, *lost],
        entries=[(run_id, entry_id)],
        inferred=[debrief.id, draft.id],
        copied={work_id},
        outside=[str(work_id)],
        calls=2,
        recorded=2,
    )


def test_the_audit_finds_each_fault():
    seen = sound()
    debrief, draft, first, *others = seen.decisions
    (run_id, _), own = seen.entries[0], [debrief, draft]
    again = first._replace(id=uuid4())
    win = first._replace(told=debrief.told)
    other = {**first.told, "inputs": {"run_id": run_id, "winning_agent_id": str(first.agent_id)}}
    faults: dict[str, Seen] = {
        "copied_twice": seen._replace(outside=[*seen.outside, *seen.outside]),
        "debriefed_twice": seen._replace(decisions=[*own, win, *others]),
        "decided_twice": seen._replace(decisions=[*seen.decisions, again]),
        "doubled": seen._replace(entries=[*seen.entries, (run_id, uuid4())]),
        "inferred_twice": seen._replace(inferred=[*seen.inferred, debrief.id]),
        "misnamed": seen._replace(decisions=[*own, first._replace(told=other), *others]),
        "uncopied": seen._replace(copied=set()),
        "uncounted": seen._replace(calls=3),
        "undecided": seen._replace(decisions=[*own, *others]),
        "without_a_winner": seen._replace(
            decisions=[debrief._replace(told=first.told), draft, first, *others]
        ),
        "without_entry": seen._replace(entries=[]),
    }
    assert {*faults} == {*WRONG}
    assert not {name for name in WRONG if audit(seen)[name]}
    assert {name for name, fault in faults.items() if audit(fault)[name] == 1} == {*WRONG}
