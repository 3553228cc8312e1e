"""The planted faults fit the code of today, and what the planting says of a fault is true."""

import ast
import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests import planting
from tests.planting import Fault, Trial, Verdict, faults, judge, planted, run, trials

from beamkeep.testing.waiting import until

ROOT = planting.ROOT
SPREAD = {
    "kernel": 8,
    "runtime": 12,
    "surfaces": 10,
    "contexts": 14,
    "adapters": 10,
    "console": 6,
}
ELSEWHERE = {
    "src/beamkeep/feed/lists/rows.py": "runtime",
    "src/beamkeep/parts/settings.py": "surfaces",
    "src/beamkeep/parts/witness/postgres.py": "adapters",
}
"""Files that lie in none of the places, and the places that they count for."""
FAULTS = faults()
SCOPE = faults(ROOT / "tests/planted_scope.toml")
MEMORY = faults(ROOT / "tests/planted_memory.toml")
TEAMS = faults(ROOT / "tests/planted_teams.toml")
EVERY = [*FAULTS, *SCOPE, *MEMORY, *TEAMS]
each_fault = pytest.mark.parametrize("fault", EVERY, ids=lambda fault: fault.name)


def test_there_are_sixty_faults_in_six_places():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) == 60
    assert Counter(fault.place for fault in FAULTS) == SPREAD


def test_there_are_forty_faults_of_the_scope_of_commands():
    assert len({fault.name for fault in SCOPE}) == len(SCOPE) == 40


def test_there_are_ten_faults_of_commands_that_are_remembered():
    assert len({fault.name for fault in MEMORY}) == len(MEMORY) == 10


def test_there_are_thirty_three_faults_of_the_scope_of_teams():
    assert len({fault.name for fault in TEAMS}) == len(TEAMS) == 33


@each_fault
def test_a_fault_can_be_planted_today(fault: Fault):
    found = (ROOT / fault.file).read_text().count(fault.before)
    row = f"[[fault]] {fault.name} in tests/planted*.toml"
    assert found == 1, f"mend {row}: its `before` stands {found} times in {fault.file}"
    assert fault.after != fault.before, f"mend {row}: its `after` is its `before`"


@each_fault
def test_a_fault_leaves_code_that_can_be_parsed(fault: Fault):
    text = (ROOT / fault.file).read_text()
    if fault.file.endswith(".py"):
        before, after = ast.parse(text), ast.parse(planted(text, fault))
        assert ast.dump(before) != ast.dump(after), "it changes a comment only"
    for opening, closing in ("()", "[]", "{}"):
        opened = [part.count(opening) - part.count(closing) for part in (fault.before, fault.after)]
        assert opened[0] == opened[1], f"{opening} is not closed as before"


@each_fault
def test_a_fault_lies_in_its_place(fault: Fault):
    folder = "console/src/" if fault.place == "console" else f"src/beamkeep/{fault.place}/"
    assert fault.file.startswith(folder) or ELSEWHERE[fault.file] == fault.place


@each_fault
def test_the_tests_of_a_fault_exist(fault: Fault):
    assert [hint for hint in fault.hints if not (ROOT / hint).exists()] == []
    stages = [trial.stage for trial in trials(fault)]
    assert set(stages) & {"closest", "near", "hints"}
    assert all(trial.limit > 0 for trial in trials(fault))


def test_a_text_that_stands_twice_is_not_changed():
    with pytest.raises(ValueError, match="stands 2 times"):
        planted("a a", _fault(before="a"))


GUARD = "def may(name: str) -> bool:\n    return name == 'ada'\n"


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of a project with one guard and one test."""
    for name in ("changed", "clean"):
        (tmp_path / name / "tests").mkdir(parents=True)
        (tmp_path / name / "guard.py").write_text(GUARD)
    return tmp_path / "changed", tmp_path / "clean"


def _fault(before: str = "name == 'ada'", after: str = "True") -> Fault:
    return Fault(
        name="guard",
        place="kernel",
        kind="removed guard",
        file="guard.py",
        before=before,
        after=after,
        breaks="Everybody may.",
    )


def _checks(text: str, stage: str = "closest") -> list[Trial]:
    return [Trial(stage, (sys.executable, "-c", text), 20)]


def _try_only(chosen: list[Trial], monkeypatch: pytest.MonkeyPatch) -> None:
    def instead(_: Fault) -> list[Trial]:
        return chosen

    monkeypatch.setattr(planting, "trials", instead)


NOTICES = "from guard import may; assert not may('eve'), 'error: eve may'"


@pytest.mark.parametrize(
    ("text", "stage", "outcome"),
    [
        (NOTICES, "closest", "found"),
        (NOTICES, "types", "types"),
        ("from guard import may; may('ada')", "closest", "MISSED"),
        ("raise SystemExit(1)", "closest", "unsound"),
    ],
)
def test_a_fault_is_judged(
    text: str,
    stage: str,
    outcome: str,
    copies: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
):
    _try_only(_checks(text, stage), monkeypatch)
    assert judge(_fault(), *copies).outcome == outcome
    assert (copies[0] / "guard.py").read_text() == GUARD


def test_a_trial_that_does_not_end_is_ended_with_all_it_started(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    away = "import subprocess, sys, time\n"
    away += "kept = subprocess.Popen([sys.executable, '-c', WAIT], start_new_session=True)\n"
    away += "open('pid', 'w').write(str(kept.pid)); time.sleep(60)"
    text = "WAIT = 'import time; time.sleep(60)'\n" + away
    slow = Trial("closest", (sys.executable, "-c", text), 10)
    _try_only([slow], monkeypatch)
    found: Verdict = judge(_fault(), *copies)
    pid = (copies[0] / "pid").read_text()
    assert found.outcome == "timeout"
    state = Path("/proc", pid, "stat")

    def is_gone() -> bool:
        return not state.exists() or state.read_text().split()[2] == "Z"

    asyncio.run(until(is_gone, "the process ends"))


def test_a_process_that_was_left_behind_is_not_a_failure(tmp_path: Path):
    told = "print('3 passed in 1 s'); print('LEFT BEHIND: 1'); raise SystemExit(1)"
    assert not run(tmp_path, _checks(told)[0]).failed


def test_only_the_test_that_failed_is_repeated():
    trial = Trial("near", ("python", "-m", "pytest", "tests/unit/kernel"), 1)
    repeated = planting.again(trial, "FAILED tests/unit/kernel/test_a.py::test_b[c d] - assert 1")
    assert repeated.argv[-1] == "tests/unit/kernel/test_a.py::test_b[c d]"
    assert "tests/unit/kernel" not in repeated.argv
