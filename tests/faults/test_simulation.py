"""The whole service in one process under a seed that owns time, order and failure."""

import math
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import msgspec
import pytest

from beamkeep.adapters.postgres.append_statement import IS_PERMITTED, NOT_MOVED, NOT_STALE
from beamkeep.adapters.postgres.append_writer import AppendWriter
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.kernel import replace
from beamkeep.runtime.store import Append, MovedError, Position
from beamkeep.testing.seeds import seed
from tests.faults.conftest import Report
from tests.faults.mutants import ForgetfulStore
from tests.faults.report import ROOT, asked, size
from tests.faults.seeded_loop import StuckError
from tests.faults.simulation import Variant, simulate
from tests.faults.simulation_audit import audit
from tests.support.memory_postgres import XMAX, XMIN

pytestmark = pytest.mark.faults


class BlindWriter(AppendWriter):
    """Takes a lost answer for a failure, so that the decision is simply taken again."""

    async def _resolve(self, append: Append) -> Position:
        raise MovedError


class BlindStore(PostgresEventStore):
    """Writes with the blind writer."""

    def __init__(self, connections: Connections, *more: Any) -> None:
        super().__init__(connections, *more)
        self._writer = BlindWriter(connections)


class HastyStore(PostgresEventStore):
    """Keeps snapshots before the events they include."""

    async def append(self, append: Append) -> Position:
        await self.keep_snapshots(append.snapshots)
        return await super().append(replace(append, snapshots=()))


def altering(part: str, instead: str = "true") -> type[Connections]:
    """Return connections that replace this part of every statement."""

    class Careless(Connections):
        async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
            return await super().fetch(statement.replace(part, instead), *arguments)

    return Careless


MUTANTS = {
    "tail without the watermark": Variant(pool=altering(XMIN, XMAX)),
    "append without the check of what was read": Variant(pool=altering(NOT_MOVED)),
    "append without the check of versions": Variant(
        pool=altering(NOT_STALE), unique_versions=False
    ),
    "recalled callers without the check of their grants": Variant(pool=altering(IS_PERMITTED)),
    "act, then remember": Variant(store=ForgetfulStore),
    "blind retry after a lost answer": Variant(store=BlindStore),
    "snapshots kept apart from their events": Variant(store=HastyStore),
}


# What even a slow machine has time for.
FEWEST, LEAST_SECONDS = 100, 60.0


def test_no_seed_finds_a_fault(report: Report):
    count, seconds = size("SIMULATIONS", 2000, 90)
    told = in_processes(seed(), count, max(seconds, LEAST_SECONDS))
    faults = {seed: found for each in told for seed, found in each["faults"].items()}
    figures: Counter[str] = Counter()
    for each in told:
        figures.update(each["figures"])
    report("T12", figures)
    assert not faults, f"{len(faults)} seeds failed; BEAMKEEP_SIMULATIONS=1 BEAMKEEP_SEED=… replays"
    assert figures["seeds"] >= FEWEST
    assert min(figures[each] for each in ("replayed", "unknown", "crashes", "looks")) > 0


def test_a_seed_replays_identically_in_another_process_too(report: Report):
    first, count = seed(), 12
    here = [simulate(seed).digest() for seed in range(first, first + count)]
    again = [simulate(seed).digest() for seed in range(first, first + count)]
    elsewhere = [
        digest for each in in_processes(first, count, math.inf) for digest in each["digests"]
    ]
    report("T12 replay", {"seeds": count, "digests": len({*here})})
    assert here == again == elsewhere
    assert len({*here}) == count


@pytest.mark.parametrize("name", MUTANTS)
def test_the_simulation_catches(name: str, report: Report):
    first, most = seed(), asked("SIMULATIONS", 2000)
    tried, found = 0, list[str]()
    while not found and tried < most:
        try:
            found = audit(simulate(first + tried, MUTANTS[name]))
        except StuckError as stuck:
            # A simulation that never ends gives the mutant away as well.
            found = [f"stuck {stuck}"]
        tried += 1
    report(f"T12 {name}", {"seeds": tried, "found": found[:2]})
    assert found


def in_processes(first: int, count: int, seconds: float) -> list[dict[str, Any]]:
    """Run these seeds in as many processes as there are cores, and give back what each told."""
    cores = min(os.cpu_count() or 1, count)
    share = -(-count // cores)
    parts = [(n, min(share, first + count - n)) for n in range(first, first + count, share)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.simulation_worker", *map(str, (*part, seconds))],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        for part in parts
    ]
    told = [process.communicate()[0] for process in running]
    assert not any(process.returncode for process in running)
    return [msgspec.json.decode(each) for each in told]
