"""Run suites side by side, keep what each cost, and say what failed."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Timer
from typing import Any, NamedTuple

from gate.suites import PYTHON, ROOT, SUITE, TIMES, Suite

LOGS = ROOT / "build/gate"
LANES = (os.cpu_count() or 1) + 1
"""Suites at once: one more than processors, because each waits for databases and browsers too."""
MOST_SECONDS = 45 * 60
"""A command that takes longer hangs: it is killed, and its suite has failed."""
WITHOUT_TIME = {"BEAMKEEP_VERDICTS_ON_TIME": "left out"}
"""Other work slows a gate down: what tests judge by time counts only if it is asked for."""
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Suites share the processors: the arithmetic of one takes one of them."""
SECOND = ("--second-run", "--last-failed", "--last-failed-no-failures=none", "--tb=line")
SUMMED = re.compile(r"^.*\b\d+ (?:passed|failed|errors?)\b.* in [\d.]+s.*$", re.MULTILINE)
COUNTED = re.compile(r"(\d+) (passed|failed|error)")
REMARKS = re.compile(r"^(?:FLAKY|LEFT BEHIND): .*$", re.MULTILINE)


class Verdict(NamedTuple):
    """How a suite ended."""

    suite: Suite
    passed: bool
    seconds: float
    output: str

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many tests passed, and how many failed and did not pass the second time."""
        runs = [dict[str, int]() for _ in range(2)]
        for run, line in zip(runs, SUMMED.findall(self.output), strict=False):
            run.update({what: int(count) for count, what in COUNTED.findall(line)})
        first, second = runs
        failed = sum((second or first).get(each, 0) for each in ("failed", "error"))
        return first.get("passed", 0) + second.get("passed", 0), failed


type Report = Callable[[str], None]
type Pick = Callable[[list[Verdict]], Suite | None]


def commands(suite: Suite) -> Iterator[tuple[str, ...]]:
    """Yield the commands of a suite."""
    if suite.tests:
        yield pytest(suite)
    yield from suite.commands


def pytest(suite: Suite, *options: str) -> tuple[str, ...]:
    """Return the command that runs the tests of a suite."""
    return (
        *(PYTHON, "-m", "pytest", "-q", "-o", f"cache_dir=.pytest_cache/{suite.name}"),
        *("-m", suite.marks, *options, *(f"--ignore={each}" for each in suite.left_out)),
        *suite.tests,
    )


def run(suite: Suite) -> Verdict:
    """Run one suite, with everything it prints in a log of its own."""
    for folder in (LOGS, TIMES):
        folder.mkdir(parents=True, exist_ok=True)
    log, began, passed, processor = LOGS / f"{suite.name}.log", time.monotonic(), True, 0.0
    with log.open("w") as output:
        for command in commands(suite):
            code, used = _waited(suite, command, output.fileno())
            processor += used
            if code == 1 and suite.tests and suite.second_chance:
                code, used = _waited(suite, pytest(suite, *SECOND), output.fileno())
                processor += used
            passed = passed and code == 0
    seconds = time.monotonic() - began
    _keep(suite, processor, seconds)
    return Verdict(suite, passed, seconds, log.read_text(errors="replace"))


def _waited(suite: Suite, command: Sequence[str], output: int) -> tuple[int, float]:
    """Run a command to its end; its exit status and its seconds of processor."""
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**WITHOUT_TIME, **os.environ, **ALONE, **dict(suite.environment), SUITE: suite.name},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    limit = Timer(MOST_SECONDS, started.kill)
    limit.start()
    try:
        _, status, used = os.wait4(started.pid, 0)
    finally:
        limit.cancel()
    started.returncode = os.waitstatus_to_exitcode(status)
    return started.returncode, used.ru_utime + used.ru_stime


def _keep(suite: Suite, processor: float, seconds: float) -> None:
    """Add what the whole suite cost to what its tests wrote down."""
    file = TIMES / f"{suite.name}.json"
    costs: dict[str, Any] = json.loads(file.read_text()) if suite.tests and file.exists() else {}
    costs.setdefault("phases", {})["whole"] = (processor, seconds)
    file.write_text(json.dumps(costs, indent=1))


def run_all(pick: Pick, report: Report, lanes: int = LANES) -> list[Verdict]:
    """Run on all processors what is picked, and report each suite when it has ended.

    The chooser is given what has ended.
    """
    verdicts: list[Verdict] = []
    running: set[Future[Verdict]] = set()
    with ThreadPoolExecutor(lanes) as pool:
        while True:
            while len(running) < lanes and (suite := pick(verdicts)):
                running.add(pool.submit(run, suite))
            if not running:
                return verdicts
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                verdicts.append(verdict := each.result())
                report(shown(verdict))


def slowness(verdicts: Sequence[Verdict]) -> float:
    """Return how many times longer suites took than on a quiet machine, but no less than 1."""
    expected = sum(each.suite.seconds for each in verdicts)
    return max(1.0, sum(each.seconds for each in verdicts) / expected) if expected else 1.0


def shown(verdict: Verdict) -> str:
    """Return what a reader needs of a suite: a line if it passed, else all that it printed."""
    said = "passed" if verdict.passed else "FAILED"
    last = SUMMED.findall(verdict.output)
    summary = f": {last[0].strip('= ')}" if last else ""
    head = f"== {verdict.suite.name} {said} in {verdict.seconds:.0f} s{summary}"
    if not verdict.passed:
        return f"\n{head}\n{verdict.output}\n== end of {verdict.suite.name}"
    return "\n".join([head, *REMARKS.findall(verdict.output)])
