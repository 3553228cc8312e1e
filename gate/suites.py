"""The suites of the gate: the core, which always runs, and the slices, which take turns."""

import sys
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
BIN = str(Path(PYTHON).parent)
TIMES = ROOT / "build/times"
"""What each suite cost in its last run."""
SUITE = "BEAMKEEP_SUITE"
"""The environment variable with the name of the suite that runs."""
ONLY = "BEAMKEEP_ONLY_AGGREGATES"
"""The environment variable with the modules that suites over the catalogue keep to, with commas."""


class Suite(NamedTuple):
    """Something that the gate runs by itself."""

    name: str
    seconds: int
    """Wall clock on a quiet machine, with another suite at the same time."""
    tests: tuple[str, ...] = ()
    """Files and folders that pytest runs; what failed runs once more, to find flaky tests."""
    left_out: tuple[str, ...] = ()
    """Files and folders below them that other suites run."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Commands that run one after the other, for what pytest does not run."""
    subjects: tuple[str, ...] = ()
    """How the paths begin of what is tested without being imported by the tests."""
    independent: bool = False
    """Whether it can begin before the web console and its packages are there."""
    second_chance: bool = True
    """Fault tests get none: what they look for may show only once."""
    marks: str = "not timed and not faults"
    """The tests that count, as an expression of pytest's `-m`."""
    environment: tuple[tuple[str, str], ...] = ()


def python(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of this checkout."""
    return (PYTHON, "-m", module, *arguments)


def faults(name: str, seconds: int, *tests: str, subjects: tuple[str, ...] = ()) -> Suite:
    """Return a slice of fault tests at a third of the time that they take by themselves."""
    return Suite(
        f"faults-{name}",
        seconds=seconds,
        tests=tuple(f"tests/faults/test_{each}.py" for each in tests),
        subjects=subjects,
        second_chance=False,
        marks="not timed",
        environment=(("BEAMKEEP_FAULT_SECONDS", "240"),),
    )


def console(name: str, seconds: int, *tests: str) -> Suite:
    """Return a slice of the tests in a browser."""
    files = tuple(f"tests/console/test_{each}.py" for each in tests)
    return Suite(f"console-{name}", seconds, files, subjects=CONSOLE)


def system(name: str, seconds: int, *tests: str, subjects: tuple[str, ...] = ()) -> Suite:
    """Return a suite of tests that call a service which runs."""
    files = tuple(f"tests/system/test_{each}.py" for each in tests)
    return Suite(f"system-{name}", seconds, files, subjects=subjects)


def pages(name: str, seconds: int, *tests: str, subjects: tuple[str, ...] = ()) -> Suite:
    """Return a slice that does what pages of the documentation say."""
    files = tuple(f"tests/pages/test_{each}.py" for each in tests)
    return Suite(f"pages-{name}", seconds, files, subjects=("docs/", *subjects))


CLIENT = "client/src/beamkeep_client/"
HTTP = "src/beamkeep/surfaces/http/"
CONSOLE = ("console/", HTTP)
POSTGRES = "src/beamkeep/adapters/postgres/"
WORKERS = "src/beamkeep/workers/"
AGENTS = "src/beamkeep/parts/agents/"
CONDUCTING = "src/beamkeep/parts/conducting/"

WITH_FAULTS = (
    "tests/unit/conduct/test_simulation.py",
    "tests/postgres/contexts/equipment/test_asset_tree.py",
    "tests/postgres/runtime/test_plans.py",
    "tests/devices/channels/test_observers.py",
    "tests/devices/channels/test_contract.py",
)
"""Files outside of `tests/faults` that have fault tests too."""

STATIC = (
    Suite(
        "lint",
        seconds=15,
        independent=True,
        commands=(
            (f"{BIN}/ruff", "format", "--check", "."),
            (f"{BIN}/ruff", "check", "."),
            (f"{BIN}/lint-imports",),
            python("docs.generate", "--check"),
            (PYTHON, "requirements/audit.py"),
        ),
    ),
    Suite("types", seconds=160, independent=True, commands=((f"{BIN}/pyright",),)),
)
BUILT = Suite("console-built", 60, commands=(("make", "console-built"),), independent=True)
"""What all others use that need the web console or the identity provider."""
CONSOLE_UNITS = Suite(
    "check-console",
    seconds=85,
    commands=(
        ("npm", "run", "--silent", "check", "--prefix", "console"),
        ("npm", "test", "--silent", "--prefix", "console"),
    ),
)
EXTRAS = (
    "tests/unit/models/test_providers.py",
    "tests/unit/adapters/test_bayesian.py",
    "tests/unit/recording/test_run_engine.py",
)
"""Tests with large libraries that only some deployments install; to import them takes longest."""
UNIT_WAITING = ("scans", "recording", "streaming")
"""Rooms whose tests mostly wait, for processes that are cut off and for servers that are slow."""
UNIT_ROOMS = (
    *("contexts", "kernel", "schemas", "surfaces", "runtime", "workers", "client"),
    *UNIT_WAITING,
)
UNIT = (
    Suite(
        "unit-contexts",
        seconds=55,
        tests=tuple(f"tests/unit/{each}" for each in ("contexts", "kernel", "schemas")),
    ),
    Suite("unit-surfaces", seconds=70, tests=("tests/unit/surfaces",)),
    Suite(
        "unit-runtime",
        seconds=90,
        tests=tuple(f"tests/unit/{each}" for each in ("runtime", "workers", "client")),
    ),
    Suite(
        "unit-waiting",
        seconds=60,
        tests=tuple(f"tests/unit/{each}" for each in UNIT_WAITING),
        left_out=EXTRAS,
    ),
    Suite(
        "unit-others",
        seconds=100,
        tests=("tests/unit",),
        left_out=(*(f"tests/unit/{each}" for each in UNIT_ROOMS), *EXTRAS),
    ),
)
CORE = (
    *STATIC,
    CONSOLE_UNITS,
    *UNIT,
    Suite(
        "postgres-runtime",
        seconds=260,
        independent=True,
        tests=("tests/postgres/runtime",),
        left_out=("tests/postgres/runtime/test_model_agents_deployed.py",),
    ),
    Suite(
        "postgres-others",
        seconds=150,
        tests=("tests/postgres",),
        left_out=("tests/postgres/runtime", "tests/postgres/client"),
    ),
    system("cross-principal", 140, "cross_principal"),
    system("parity", 20, "parity"),
    system("day", 65, "day", "monitors"),
    system(
        "running",
        110,
        "operability",
        "catalogue_matches",
        "feed",
        "mcp_stdio",
        "added_part",
        "starting",
    ),
    Suite("docs", seconds=25, commands=(("make", "docs"),)),
    Suite("bench", seconds=65, commands=(python("benchmarks", "--smallest"),)),
)
SLICES = (
    faults("database", 80, "database_kill", "disk_full", subjects=(POSTGRES,)),
    faults("power", 80, "power_cut", "ids_given_again", subjects=(POSTGRES,)),
    faults(
        "workers",
        235,
        "worker_kill",
        "conduct_kill",
        subjects=(WORKERS, CONDUCTING),
    ),
    faults("simulation", 90, "simulation", "interleavings", subjects=("src/beamkeep/runtime/",)),
    faults("feed", 90, "feed_kill", "relay_kill", subjects=("src/beamkeep/feed/",)),
    faults("sending", 75, "mirror_kill", "delivery_kill", subjects=(WORKERS,)),
    faults(
        "witness",
        90,
        *("alterations", "witness", "tampering", "day_of_agents"),
        subjects=("src/beamkeep/parts/witness/",),
    ),
    faults("exchange", 90, "two_sites", subjects=("src/beamkeep/contexts/exchange/",)),
    faults("history", 70, "history", "idempotency_storm", subjects=("src/beamkeep/runtime/",)),
    faults(
        "clocks", 230, "clock_skew", "gates", "report", "custody", "custody_files", "scan_mutations"
    ),
    faults("agents", 105, "proposals", "rivals", "spending", subjects=(AGENTS,)),
    faults(
        "supervision",
        55,
        "supervision",
        "supervision_kill",
        subjects=(AGENTS,),
    ),
    faults(
        "escalation",
        60,
        "escalation",
        subjects=("src/beamkeep/contexts/trust/", "src/beamkeep/contexts/access/"),
    ),
    faults("memberships", 60, "membership", subjects=("src/beamkeep/contexts/trust/", POSTGRES)),
    faults("load", 120, "hot_stream", "tail_stall", "network", subjects=(POSTGRES,)),
    faults("fuzzing", 60, "fuzzing", subjects=("src/beamkeep/runtime/", "src/beamkeep/schemas/")),
    faults("rebuild", 40, "rebuild", subjects=(WORKERS, POSTGRES)),
    faults("abuse", 170, subjects=(HTTP, "src/beamkeep/adapters/http_server.py"))._replace(
        tests=("tests/system/test_abuse.py", "tests/system/test_starving.py")
    ),
    faults("restore", 90, "restore", subjects=(POSTGRES,)),
    Suite(
        "faults-elsewhere",
        seconds=140,
        tests=WITH_FAULTS,
        second_chance=False,
        marks="faults and not timed",
    ),
    console("screens", 120, "board", "runs", "procedures", "decisions", "handover", "access"),
    console("shown", 100, "shown"),
    console("palette", 135, "palette", "site"),
    console("day", 120, "day"),
    console("truth", 90, "truth", "offline"),
    console("looks", 225, "axe", "pictures", "budgets", "wheel"),
    pages("roles", 130, "role_pages"),
    pages("tutorials", 110, "tutorial", "exchange_page", "demo", "conduct_page", "ingest_page"),
    pages(
        "transition",
        110,
        "one_transition",
        subjects=("gate/quick.py", "Makefile", "tests/support/examples/", "tests/corpus/"),
    ),
    pages(
        "restore",
        220,
        "restore_page",
        subjects=(
            POSTGRES,
            "src/beamkeep/parts/witness/proving.py",
            "src/beamkeep/deployment/checking.py",
        ),
    ),
    pages(
        "contexts",
        150,
        "add_an_aggregate",
        subjects=("src/beamkeep/contexts/catalogue.py", "src/beamkeep/deployment/", POSTGRES),
    ),
    pages("reference", 40, "reference_page", subjects=(HTTP,)),
    Suite(
        "pages-readme",
        seconds=100,
        commands=(python("docs.run_readme"),),
        subjects=("README.md", "demo/", "docs/run_readme.py", "docs/tour.py", "Makefile"),
    ),
    Suite(
        "pages-install",
        seconds=60,
        commands=(python("docs.run_install"),),
        subjects=("pyproject.toml", "client/pyproject.toml", "requirements/", "hatch_build.py"),
    ),
    system(
        "teams",
        120,
        "team_matrix",
        subjects=("src/beamkeep/contexts/trust/", "src/beamkeep/runtime/", POSTGRES),
    ),
    system("terminal", 70, "terminal", "bluesky", "landing", "importing", subjects=(CLIENT,)),
    system(
        "erasure",
        65,
        "erasure",
        subjects=(
            "src/beamkeep/contexts/access/",
            "src/beamkeep/telemetry",
            "src/beamkeep/runtime/",
        ),
    ),
    system(
        "broken",
        150,
        *("waiting", "dead_workers", "broken_deployments"),
        subjects=(POSTGRES, "src/beamkeep/deployment/verbs.py"),
    ),
    system("outside", 150, "observers", "relay", "scans", "verify_copies", "custody_plan"),
    system("schemathesis", 200, "schemathesis", subjects=("src/beamkeep/surfaces/",))._replace(
        marks="not timed"
    ),
    Suite("devices-channels", 75, ("tests/devices",), left_out=("tests/devices/compute",)),
    Suite("devices-compute", 40, ("tests/devices/compute",), subjects=(CONDUCTING,)),
    Suite("extras-libraries", 80, EXTRAS, subjects=("requirements/",)),
    Suite(
        "postgres-deployed",
        seconds=80,
        tests=("tests/postgres/client", "tests/postgres/runtime/test_model_agents_deployed.py"),
        subjects=(CLIENT, "src/beamkeep/parts/agents/models/"),
    ),
)
EVERY = (*CORE, *SLICES)


def named(patterns: Iterable[str]) -> list[Suite]:
    """Return the suites whose names match, or raise an error that lists the names there are."""
    found = [suite for suite in EVERY if any(fnmatch(suite.name, each) for each in patterns)]
    for pattern in patterns:
        if not any(fnmatch(suite.name, pattern) for suite in EVERY):
            raise SystemExit(f"{pattern}: there are {', '.join(each.name for each in EVERY)}")
    return found
