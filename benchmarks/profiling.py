"""Print where the processor time of a command, a get, a list and an append goes.

With a commit as argument, print the same for that commit too, driven by these benchmarks.
"""

import cProfile
import pstats
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import uvloop

from beamkeep.testing.cluster import Cluster

from .against import ROOT, Tree, checked_out, write_entry_points
from .append import Fresh, made, ours_step
from .calls import module_of
from .counts import undisturbed
from .in_process import calls, client
from .measure import Plan, Step
from .rig import SERVER, Rig, Size, principal

WARM_UP, CALLS, LEAST_US = 200, 2000, 3.0
NATIVE = re.compile(r"\b(msgspec|asyncpg|pydantic_core|uvloop|httptools|cryptography|_hashlib)\b")
"""Libraries without Python code, whose functions are named after them."""
STATEMENTS = """
SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 60), sum(total_exec_time)::float8
  FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid
 WHERE r.rolname = 'bk_app' GROUP BY 1 ORDER BY 2 DESC
"""


class Cost(NamedTuple):
    """Microseconds of processor time of one call."""

    client: float
    server: float
    by_module: Mapping[str, float]
    by_statement: Mapping[str, float]


async def profiled(rig: Rig) -> dict[str, Cost]:
    """Return the cost of each call."""
    async with rig.database("profile") as database, undisturbed(database):
        me = await principal(database)
        fresh = Fresh(partial(made, database.owner, me, ("bk",)), 0, at_once=3000, least=3000)
        await fresh.stock()
        append = ours_step(database.seam(1), fresh)
        async with client(database) as asked:
            steps = {**await calls(asked), "append": append}
            await database.settle()
            return {name: await _cost(step, rig, database.owner) for name, step in steps.items()}


async def _cost(step: Step, rig: Rig, owner: Any) -> Cost:
    for _ in range(WARM_UP):
        await step()
    await owner.execute("SELECT pg_stat_statements_reset()")
    server, since = rig.meter.served(), time.process_time()
    for _ in range(CALLS):
        await step()
    client = (time.process_time() - since) * 1e6 / CALLS
    server = (rig.meter.served() - server) * 1e6 / CALLS
    statements = {text: ms * 1000 / CALLS for text, ms in await owner.fetch(STATEMENTS)}
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for _ in range(CALLS):
        await step()
    profile.disable()
    return Cost(client, server, _by_module(pstats.Stats(profile), client), statements)


def _by_module(stats: Any, client: float) -> Mapping[str, float]:
    """Return the time by module: the shares that the profiler found, of the time without it.

    What the event loop does between two functions is divided among all of them.
    """
    found, floor = defaultdict[str, float](float), _floor()
    for (file, _, name), (_, times, own, _, callers) in stats.stats.items():
        us = max(0.0, own - floor * times) * 1e6 / CALLS
        if file != "~":
            found[module_of(file)] += us
        elif native := NATIVE.search(name):
            found[native[1]] += us
        else:
            by = sum(each[2] for each in callers.values()) or 1.0
            for (caller, _, _), each in callers.items():
                found["Python" if caller == "~" else module_of(caller)] += us * each[2] / by
    total = sum(found.values())
    return {module: us * client / total for module, us in found.items()}


def _floor() -> float:
    """Return the seconds that the profiler adds to each call of a function."""
    profile, times = cProfile.Profile(time.process_time), 100_000

    def nothing() -> None:
        pass

    profile.enable()
    for _ in range(times):
        nothing()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    return stats.total_tt / times


def table(costs: Mapping[str, Cost]) -> str:
    """Return the costs as a table: a column for each call, a row for each module."""
    rows = {
        "client": [cost.client for cost in costs.values()],
        "server": [cost.server for cost in costs.values()],
    }
    modules = {module for cost in costs.values() for module in cost.by_module}
    of_all = {m: sum(cost.by_module.get(m, 0.0) for cost in costs.values()) for m in modules}
    for module in sorted(of_all, key=lambda module: -of_all[module]):
        found = [cost.by_module.get(module, 0.0) for cost in costs.values()]
        if max(found) >= LEAST_US:
            rows[f"  {module}"] = found
    lines = [f"{'µs':<28}" + "".join(f"{name:>10}" for name in costs)]
    lines += [f"{name:<28}" + "".join(f"{us:>10.0f}" for us in row) for name, row in rows.items()]
    for name, cost in costs.items():
        lines += [f"{name}: {us:.0f} µs  {text}" for text, us in cost.by_statement.items()]
    return "\n".join(lines)


async def _run() -> str:
    with Cluster.start(None, **SERVER) as cluster:
        rig = await Rig.on(cluster, Plan(1, 0, 0.0), Size.QUICK)
        return table(await profiled(rig))


def main() -> None:
    """Print the table of this checkout, and that of another commit if one is named."""
    for reference in sys.argv[1:]:
        with checked_out(reference) as code:
            write_entry_points(code)
            print(f"{reference}:", flush=True)
            command = [sys.executable, "-m", "benchmarks.profiling"]
            environment = Tree(reference, code, ROOT).environment
            subprocess.run(command, cwd=code, env=environment, check=True)
            print("this checkout:")
    print(uvloop.run(_run()))


if __name__ == "__main__":
    main()
