"""Processes of one agent call a model at once, and together never spend more than its budget."""

import asyncio
import json
import os
import sys
from collections import Counter
from uuid import uuid4

import pytest

from beamkeep.testing.seeds import seed
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import ROOT, asked
from tests.faults.spending_worker import SOUND, UNLOCKED

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

TOKENS = 150
"""What a call reserves on average; each reserves between 101 and 201."""
MOST_RESERVED = 201
SPENT = """
SELECT count(*) AS calls, COALESCE(sum(reserved_tokens), 0) AS tokens FROM bk.model_call
"""


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
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(processes)
    ]
    for told, _ in await asyncio.gather(*(process.communicate() for process in made)):
        figures.update(json.loads(told))
    async with connected(ground.admin_url) as connection:
        row = await connection.fetchrow(SPENT)
    assert row
    figures.update({"calls": row["calls"], "tokens": int(row["tokens"])})
    figures["over"] = max(0, figures["tokens"] - cap)
    return figures


async def test_processes_of_one_agent_never_spend_more_than_its_budget(report: Report):
    calls, processes = asked("MODEL_CALLS", 2000), asked("MODEL_PROCESSES", 4)
    cap = calls * TOKENS // 2
    async with fresh_ground() as ground:
        figures = await spend(ground, processes, calls, cap, SOUND)
    report("T33 spending", figures)
    assert figures["over"] == 0
    assert figures["requests"] == figures["calls"] == figures["Called"]
    assert figures["Called"] + figures["OverBudget"] == calls // processes * processes
    # What is left does not cover the largest call: nobody was refused who had room.
    assert cap - figures["tokens"] < MOST_RESERVED


async def test_a_cap_of_nothing_allows_no_call(report: Report):
    async with fresh_ground() as ground:
        figures = await spend(ground, 2, 100, 0, SOUND)
    report("T33 spending nothing", figures)
    assert (figures["requests"], figures["calls"], figures["OverBudget"]) == (0, 0, 100)


async def test_a_budget_without_its_lock_is_overrun(report: Report):
    async with fresh_ground() as ground:
        figures = await spend(ground, 4, 400, 100 * TOKENS, UNLOCKED)
    report(f"T33 {UNLOCKED}", figures)
    assert figures["over"] > 0
