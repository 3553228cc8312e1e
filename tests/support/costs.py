"""What a run of tests costs: collecting, preparing, running; processor and wall clock."""

import json
import os
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any, NamedTuple

import pytest
from gate.suites import SUITE, TIMES


class Cost(NamedTuple):
    """Seconds of processor, of this process and of those it has waited for, and of wall clock."""

    processor: float = 0.0
    wall: float = 0.0

    def __sub__(self, before: "Cost") -> "Cost":
        return Cost(self.processor - before.processor, self.wall - before.wall)


def spent() -> Cost:
    """What this process has cost up to now."""
    used = [getrusage(which) for which in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    processor = sum(each.ru_utime + each.ru_stime for each in used)
    return Cost(processor, time.time() - BORN)


def _born() -> float:
    """When this process began: a run costs its imports too."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    up = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - up + ticks / os.sysconf("SC_CLK_TCK")


BORN = _born()


class Costs:
    """Adds up the phases of a run, in all and by file."""

    def __init__(self) -> None:
        self.phases: dict[str, Cost] = {}
        self.files: dict[str, Cost] = {}
        self.tests = Counter[str]()
        self.left_out = 0

    def add(self, phase: str, file: str, cost: Cost) -> None:
        for costs, key in ((self.phases, phase), (self.files, file)):
            before = costs.get(key, Cost())
            costs[key] = Cost(before.processor + cost.processor, before.wall + cost.wall)


COSTS = pytest.StashKey[Costs]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run be given the time at which it has to end."""
    parser.addoption("--within", type=float, help="seconds of tests after which none begins")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.stash[COSTS] = Costs()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Everything up to here was spent on collecting."""
    session.config.stash[COSTS].phases["collect"] = spent()


def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Begin no test when the time is up."""
    within: float | None = item.config.getoption("--within")
    costs = item.config.stash[COSTS]
    if within is None or (spent() - costs.phases["collect"]).wall < within:
        return None
    costs.left_out += 1
    return True


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many tests were left out."""
    if left_out := config.stash[COSTS].left_out:
        terminalreporter.write_line(f"{left_out} tests were left out: the time was up")


def _phase(item: pytest.Item, phase: str) -> Generator[None, object, object]:
    before = spent()
    try:
        return (yield)
    finally:
        costs = item.config.stash[COSTS]
        costs.add(phase, item.nodeid.partition("::")[0], spent() - before)
        costs.tests[item.nodeid.partition("::")[0]] += phase == "run"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Fixtures are preparation."""
    return (yield from _phase(item, "prepare"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The test itself."""
    return (yield from _phase(item, "run"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Putting away what was prepared counts as preparation."""
    return (yield from _phase(item, "prepare"))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Keep what a suite of the gate has cost."""
    suite, costs = os.environ.get(SUITE), config.stash[COSTS]
    if not suite or config.getoption("--second-run"):
        return
    file = TIMES / f"{suite}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    phases = costs.phases | {"whole": spent()}
    by_file = {name: (*cost, costs.tests[name]) for name, cost in costs.files.items()}
    file.write_text(json.dumps({"phases": phases, "files": by_file}, indent=1))
