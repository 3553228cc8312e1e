"""What a command, a get and a list over HTTP cost in figures that do not depend on the load."""

import statistics
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from .counts import count, undisturbed
from .in_process import calls, client
from .measure import Step
from .rig import Rig

METHOD = (
    "One request over HTTP on one connection, without the sockets of the client: statements,"
    " transaction ids and log bytes as in `counts`; instructions of the Python interpreter by"
    " `sys.monitoring`, the median of {} calls, by the module that they belong to. They repeat to"
    " within a few, whatever the load."
)
WARM_UP, CALLS = 30, 20
MOST_GROWTH = 1.10
"""How much more than its budget a call may cost."""
OWN_LOG_BYTES = 20
"""What the server may write by itself meanwhile, such as the pages that a read cleaned up."""
COUNTED_ON = 3, 13
"""The version of Python that the budgets of instructions are for."""
TOOL = 4
"""A number that neither debuggers nor profilers use."""

type Instructions = Mapping[str, float]
"""Instructions of the interpreter for one call, by module."""


class Budget(NamedTuple):
    """What one call may cost."""

    statements: float
    transaction_ids: float
    log_bytes: float
    instructions: Instructions


BUDGETS = {
    "command": Budget(
        statements=1,
        transaction_ids=1,
        log_bytes=1115,
        instructions={
            "Python": 152,
            "adapters/call_memory": 251,
            "adapters/connection_shares": 47,
            "adapters/http_server": 843,
            "adapters/postgres": 513,
            "adapters/stream_queues": 17,
            "adapters/tokens": 64,
            "asyncpg": 148,
            "contexts": 52,
            "kernel": 127,
            "pydantic": 19,
            "runtime": 1880,
            "schemas": 88,
            "structlog": 106,
            "surfaces/http": 1200,
            "telemetry": 254,
            "uuid_utils": 87,
            "uvloop": 3,
        },
    ),
    "get": Budget(
        statements=1,
        transaction_ids=0,
        log_bytes=2,
        instructions={
            "Python": 83,
            "adapters/connection_shares": 47,
            "adapters/http_server": 718,
            "adapters/postgres": 350,
            "adapters/tokens": 64,
            "asyncpg": 148,
            "contexts": 7,
            "kernel": 113,
            "pydantic": 35,
            "runtime": 934,
            "schemas": 45,
            "structlog": 106,
            "surfaces/http": 938,
            "telemetry": 254,
            "uuid_utils": 29,
            "uvloop": 3,
        },
    ),
    "list": Budget(
        statements=2,
        transaction_ids=0,
        log_bytes=2,
        instructions={
            "Python": 65,
            "adapters/connection_shares": 47,
            "adapters/http_server": 724,
            "adapters/postgres": 707,
            "adapters/tokens": 64,
            "asyncpg": 296,
            "deployment": 1,
            "feed": 85,
            "kernel": 121,
            "pydantic": 67,
            "runtime": 1077,
            "schemas": 45,
            "structlog": 106,
            "surfaces/http": 895,
            "telemetry": 254,
            "uuid_utils": 29,
            "uvloop": 3,
        },
    ),
}
"""Printed by `python -m benchmarks --quick --only calls`; lower them when a call costs less."""


async def measure(rig: Rig) -> dict[str, Any]:
    """Count for each call, and say which step of which call is over its budget."""
    found, wrong = dict[str, Any](), list[str]()
    async with rig.database("calls") as database, undisturbed(database), client(database) as asked:
        for name, step in (await calls(asked)).items():
            instructions = await counted(step)
            used = Budget(**await count(database, step, CALLS), instructions=instructions)
            found[name] = used._asdict()
            wrong += over(name, used, BUDGETS[name])
    return {
        "calls": found,
        "wrong": wrong,
        "gate": {name: budget._asdict() for name, budget in BUDGETS.items()},
        "reached": not wrong,
        "method": METHOD.format(CALLS),
    }


def over(name: str, used: Budget, budget: Budget) -> list[str]:
    """Return what of a call costs a tenth more than its budget."""
    wrong: list[str] = []
    for what in ("statements", "transaction_ids", "log_bytes"):
        value, most = getattr(used, what), getattr(budget, what)
        if value > most * MOST_GROWTH:
            wrong.append(f"{name}: {value:g} {what.replace('_', ' ')}; the budget is {most:g}")
    total, most = sum(used.instructions.values()), sum(budget.instructions.values())
    if sys.version_info[:2] == COUNTED_ON and total > most * MOST_GROWTH:
        grown = {
            step: value - budget.instructions.get(step, 0)
            for step, value in used.instructions.items()
        }
        step = max(grown, key=lambda step: grown[step])
        wrong.append(
            f"{name}: {total:.0f} instructions; the budget is {most:.0f}. {step} has"
            f" {grown[step]:.0f} more: {used.instructions[step]:.0f} in place of"
            f" {budget.instructions.get(step, 0):.0f}"
        )
    return wrong


async def counted(step: Step) -> Instructions:
    """Return the instructions of one call by module: of the call with the median of them all."""
    for _ in range(WARM_UP):
        await step()
    monitoring, seen = sys.monitoring, Counter[CodeType]()
    monitoring.use_tool_id(TOOL, "beamkeep benchmarks")
    try:

        def note(code: CodeType, offset: int) -> None:
            seen[code] += 1

        instruction = monitoring.events.INSTRUCTION
        monitoring.register_callback(TOOL, instruction, note)
        taken: list[Counter[str]] = []
        for _ in range(CALLS):
            seen.clear()
            monitoring.set_events(TOOL, instruction)
            await step()
            monitoring.set_events(TOOL, 0)
            taken.append(_by_module(seen))
    finally:
        monitoring.free_tool_id(TOOL)
    middle = statistics.median_low([each.total() for each in taken])
    return next(dict(sorted(each.items())) for each in taken if each.total() == middle)


def _by_module(seen: Counter[CodeType]) -> Counter[str]:
    by_module = Counter[str]()
    for code, times in seen.items():
        if (module := module_of(code.co_filename)) != "benchmarks":
            by_module[module] += times
    return by_module


def module_of(filename: str) -> str:
    """Return the part of the service, or the package, that a file belongs to."""
    path = Path(filename)
    if "site-packages" in path.parts:
        return path.parts[path.parts.index("site-packages") + 1].removesuffix(".py")
    if "beamkeep" in path.parts:
        within = path.parts[len(path.parts) - path.parts[::-1].index("beamkeep") :]
        depth = 2 if within[0] in {"adapters", "surfaces"} else 1
        return "/".join(within[:depth]).removesuffix(".py")
    return "benchmarks" if path.parent.name == "benchmarks" else "Python"
