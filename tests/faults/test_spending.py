"""Processes of one agent call a model at once, and together never spend more than its budget."""

import asyncio
import json
import os
import sys
from collections import Counter
from uuid import uuid4

import pytest

from beamkeep.testing.seeds import seed
from beamkeep.testing.waiting import until
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import ROOT, asked, size
from tests.faults.spending_worker import AT_ONCE, SOUND, UNLOCKED

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

TOKENS = 150
"""What a call reserves on average; each reserves between 101 and 201."""
MOST_RESERVED = 201
CALLS, FEWEST, SECONDS = 400, 100, 30.0
PROCESSES = 4
SPENT = """
SELECT count(*) AS calls, COALESCE(sum(reserved_tokens), 0) AS tokens FROM bk.model_call
"""
# While the gate is shut, a call that was found to fit does not commit.
GATE = """
CREATE FUNCTION public.gate() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
  $$ BEGIN PERFORM pg_advisory_xact_lock_shared(33); RETURN NULL; END $$;
CREATE TRIGGER gate AFTER INSERT ON bk.model_call FOR EACH ROW EXECUTE FUNCTION public.gate()
"""
SHUT, OPEN = "SELECT pg_advisory_lock(33)", "SELECT pg_advisory_unlock(33)"
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def covered() -> int:
    """Return how many calls the budget covers; fewer when there is little time."""
    calls, seconds = size("MODEL_CALLS", CALLS, SECONDS)
    return max(FEWEST, int(calls * min(1, seconds / SECONDS)))


async def spend(ground: Ground, processes: int, calls: int, cap: int, variant: str) -> Counter[str]:
    """Let processes make so many calls in all; return what came of them and what was spent."""
    agent_id, figures = str(uuid4()), Counter[str](processes=processes, over=0)
    each = str(calls // processes)
    made = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.faults.spending_worker"),
            *(ground.app_url, f"p{number}", agent_id, each, str(cap), variant),
            cwd=ROOT,
            env={**os.environ, "BEAMKEEP_SEED": str(seed())},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(processes)
    ]
    for process in made:
        assert process.stdout
        assert await process.stdout.readline() == b"ready\n"
    for told, _ in await asyncio.gather(*(process.communicate(b"\n") for process in made)):
        figures.update(json.loads(told))
    async with connected(ground.admin_url) as connection:
        row = await connection.fetchrow(SPENT)
    assert row
    figures.update({"calls": row["calls"], "tokens": int(row["tokens"])})
    figures["over"] = max(0, figures["tokens"] - cap)
    return figures


async def test_processes_of_one_agent_never_spend_more_than_its_budget(report: Report):
    calls, processes = covered(), asked("MODEL_PROCESSES", PROCESSES)
    cap = calls * TOKENS
    # Half as many again as the budget covers, so that it is reached.
    tries = calls * 3 // 2 // processes * processes
    async with fresh_ground() as ground:
        figures = await spend(ground, processes, tries, cap, SOUND)
    report("T33 spending", {**figures, "cap": cap})
    assert figures["over"] == 0
    assert figures["requests"] == figures["Called"]
    # The row of a call whose commit was not answered counts, and the call is not made.
    assert figures["calls"] == figures["Called"] + figures["Postponed"]
    assert figures["calls"] + figures["OverBudget"] == tries
    assert figures["OverBudget"] > 0
    # What is left does not cover the largest call: nobody was refused who had room.
    assert cap - figures["tokens"] < MOST_RESERVED


async def test_a_cap_of_nothing_allows_no_call(report: Report):
    processes = asked("MODEL_PROCESSES", PROCESSES)
    tries = asked("MODEL_CALLS", FEWEST) // processes * processes
    async with fresh_ground() as ground:
        figures = await spend(ground, processes, tries, 0, SOUND)
    report("T33 spending nothing", figures)
    assert (figures["requests"], figures["calls"], figures["OverBudget"]) == (0, 0, tries)


async def test_a_budget_without_its_lock_is_overrun(report: Report):
    at_once = PROCESSES * AT_ONCE
    async with fresh_ground() as ground, connected(ground.admin_url) as gate:
        await gate.execute(GATE)
        await gate.execute(SHUT)

        async def all_wait() -> bool:
            return await gate.fetchval(WAITING) == at_once

        async with asyncio.TaskGroup() as tasks:
            # The budget covers any one call, and no two of the smallest.
            spending = spend(ground, PROCESSES, 2 * at_once, MOST_RESERVED, UNLOCKED)
            spent = tasks.create_task(spending)
            await until(all_wait, "every process waits with all the calls that it makes at once")
            await gate.execute(OPEN)
    figures = spent.result()
    report(f"T33 {UNLOCKED}", figures)
    assert figures["Called"] == at_once
    assert figures["over"] > PROCESSES * MOST_RESERVED
