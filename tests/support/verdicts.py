"""What is made of a test that passes only the second time, and of a fault test that is skipped.

And whether a verdict that rests on time counts.
"""

import os
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

FLAKY = Path("build", "flaky.txt")
BEFORE = pytest.StashKey[frozenset[str]]()
OUTCOMES = pytest.StashKey[dict[str, set[str]]]()


def time_counts() -> bool:
    """Whether a verdict that rests on time counts; in a gate the machine may have other work."""
    return os.environ.get("BEAMKEEP_VERDICTS_ON_TIME") != "left out"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run know that it is the second one of the tests that failed in the first."""
    parser.addoption("--second-run", action="store_true", help="list what passes now as flaky")


def pytest_configure(config: pytest.Config) -> None:
    """Remember what had failed, before this run writes down its own failures."""
    failed = cast("Mapping[str, bool]", cast("Any", config.cache).get("cache/lastfailed", {}))
    config.stash[BEFORE] = frozenset(failed if config.getoption("--second-run") else ())
    config.stash[OUTCOMES] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a fault test that is skipped in CI; note a test that passes after it had failed."""
    report = yield
    if report.skipped and item.get_closest_marker("faults") and os.environ.get("CI"):
        why = report.longrepr
        reason = why[2] if isinstance(why, tuple) else why
        report.outcome, report.longrepr = "failed", f"no fault test is skipped in CI: {reason}"
    if report.when == "call" and item.nodeid in item.config.stash[BEFORE]:
        # A test has a report for each of its rows as well.
        outcomes = item.config.stash[OUTCOMES].setdefault(item.nodeid, set())
        outcomes.add(report.outcome)
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print every flaky test, and add it to those that are known on this checkout."""
    outcomes = config.stash[OUTCOMES].items()
    found = [each for each, seen in outcomes if seen == {"passed"}]
    for each in found:
        terminalreporter.write_line(f"FLAKY: {each}", yellow=True)
    if found:
        file = config.rootpath / FLAKY
        known = file.read_text().splitlines() if file.exists() else []
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"{each}\n" for each in sorted({*known, *found})))
