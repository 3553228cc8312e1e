"""A developer's own loop: format, lint, types and tests of what was changed, in under a minute."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from gate.reach import Graph, import_graph, importers, is_test, reached_by
from gate.running import ALONE
from gate.suites import BIN, ONLY, PYTHON, ROOT
from gate.turns import changed_since

SECONDS = 30
"""Tests that would begin later than so long after they were collected are left out, and counted."""
MOST_TESTS = 12
"""Files of tests, the nearest first."""
BY_ROW = (
    "tests/unit/contexts/test_fields.py",
    "tests/unit/kernel/test_refusal.py",
    "tests/unit/runtime/test_codec.py",
    "tests/unit/feed/test_rows.py",
    "tests/unit/surfaces/test_rest.py",
)
"""Suites over the catalogue that cost little for the rows of one aggregate."""
MOST_TYPED = 8
"""Files whose types are checked: what was changed, and some of what imports it."""
CONTEXTS = "src/beamkeep/contexts/"


def nearest_tests(changed: Sequence[str], graph: Graph) -> list[str]:
    """Return the tests in memory that a change can reach: some of the nearest, and those by row."""
    distances = reached_by(changed, graph)
    stems = {f"test_{Path(each).stem}" for each in changed}
    found = [file for file in distances if is_test(file) and file.startswith("tests/unit/")]
    found.sort(key=lambda file: (distances[file], Path(file).stem not in stems, file))
    return list(dict.fromkeys([*found[:MOST_TESTS], *(BY_ROW if only(changed) else ())]))


def typed(changed: Sequence[str], graph: Graph) -> list[str]:
    """Return the files whose types are checked."""
    by = importers(graph)
    around = sorted({each for file in changed for each in by.get(file, ())} - {*changed})
    return [*changed, *around[: max(0, MOST_TYPED - len(changed))]]


def only(changed: Sequence[str]) -> Mapping[str, str]:
    """Return the aggregates that suites over the catalogue keep to, if nothing else has changed."""
    service = [each for each in changed if each.startswith(("src/", "client/src/"))]
    if not service or not all(each.startswith(CONTEXTS) for each in service):
        return {}
    names = [each.removeprefix("src/").removesuffix(".py").replace("/", ".") for each in service]
    return {ONLY: ",".join(names)}


def quick() -> bool:
    """Check what differs from the last commit, and say what failed and what was left out."""
    began = time.monotonic()
    files = sorted(changed_since(None))
    changed = [each for each in files if each.endswith(".py") and (ROOT / each).exists()]
    if not changed:
        print("No Python file differs from the last commit.")
        return True
    graph = import_graph()
    tests, checked = nearest_tests(changed, graph), typed(changed, graph)
    ran: dict[str, Sequence[str]] = {
        "format": (f"{BIN}/ruff", "format", "--check", *changed),
        "lint": (f"{BIN}/ruff", "check", *changed),
        "types": (f"{BIN}/pyright", *checked),
        "tests": (PYTHON, "-m", "pytest", "-q", "-m", "not timed", f"--within={SECONDS}", *tests),
    }
    environment = {**os.environ, **ALONE, **only(changed)}
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(partial(_run, environment), ran.values())
        results = dict(zip(ran, done, strict=True))
    for name, (code, output) in results.items():
        print(f"== {name}: {'passed' if not code else 'FAILED'}")
        print(output.strip() if code else output.strip().rpartition("\n")[2])
    print(f"{len(changed)} files changed, {len(tests)} test files, {len(checked)} files typed")
    print(f"{time.monotonic() - began:.0f} s; `make check` runs everything in memory")
    if "no tests ran" in results["tests"][1]:
        print("FAILED: no test ran")
        return False
    return not any(code for code, _ in results.values())


def _run(environment: Mapping[str, str], command: Sequence[str]) -> tuple[int, str]:
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr
