"""Every test belongs to one suite of the gate."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from gate.reach import is_test, tracked
from gate.running import Verdict, commands, run, shown, slowness
from gate.suites import CORE, EVERY, PYTHON, ROOT, SLICES, Suite, named


def runs(suite: Suite, file: str) -> bool:
    def within(place: str) -> bool:
        return file == place or file.startswith(f"{place}/")

    is_rest = suite.name == "faults-elsewhere"
    return not is_rest and any(map(within, suite.tests)) and not any(map(within, suite.left_out))


def test_every_test_file_belongs_to_exactly_one_suite():
    files = [each for each in tracked("tests/*.py") if is_test(each)]
    found = {file: [suite.name for suite in EVERY if runs(suite, file)] for file in files}
    assert {file: by for file, by in found.items() if len(by) != 1} == {}


def test_every_place_that_a_suite_names_exists():
    places = {each for suite in EVERY for each in (*suite.tests, *suite.left_out)}
    assert [each for each in sorted(places) if not (ROOT / each).exists()] == []


def test_every_subject_that_a_slice_names_exists():
    files = tracked()
    subjects = {each for suite in SLICES for each in suite.subjects}
    assert [each for each in subjects if not any(f.startswith(each) for f in files)] == []


def test_suites_have_names_of_their_own_and_are_found_by_them():
    assert len({each.name for each in EVERY}) == len(EVERY)
    assert {each.name for each in named(["unit-*"])} < {each.name for each in CORE}
    with pytest.raises(SystemExit, match="there are lint, types"):
        named(["unti-*"])


def script(text: str, name: str = "script") -> Suite:
    return Suite(name, seconds=1, commands=((PYTHON, "-c", text), (PYTHON, "-c", "print(2)")))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGS", "TIMES"):
        monkeypatch.setattr(f"gate.running.{name}", tmp_path / name)


def test_a_suite_fails_if_one_of_its_commands_does():
    failed = run(script("print(1); raise SystemExit(3)"))
    assert (failed.passed, failed.output) == (False, "1\n2\n")
    assert "script FAILED" in shown(failed)
    assert "1\n2\n" in shown(failed)
    passed = run(script("print(1)"))
    assert passed.passed
    assert shown(passed).startswith("== script passed in ")
    assert "\n" not in shown(passed)


def test_a_suite_that_a_signal_ends_has_failed():
    assert not run(script("import os; os.kill(os.getpid(), 9)")).passed


def test_a_command_that_hangs_is_ended_and_its_suite_has_failed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gate.running.MOST_SECONDS", 0.5)
    assert not run(script("import time; time.sleep(600)")).passed


def test_flaky_tests_and_processes_left_behind_are_reported_of_a_suite_that_passed():
    output = "1 failed, 8 passed in 2.1s\nFLAKY: test_it\n1 passed in 0.1s\n"
    verdict = Verdict(EVERY[0], passed=True, seconds=2.0, output=output)
    assert "FLAKY: test_it" in shown(verdict)
    assert verdict.counts == (9, 0)


def test_what_fails_twice_is_counted_once():
    output = "2 failed, 8 passed, 1 error in 2.1s\n2 failed, 1 passed in 0.1s\n"
    assert Verdict(EVERY[0], False, 2.0, output).counts == (9, 2)


def test_slowness_is_what_suites_took_over_what_they_take():
    def ended(seconds: float) -> Verdict:
        return Verdict(Suite("any", seconds=10), True, seconds, "")

    assert slowness([]) == 1
    assert slowness([ended(5), ended(10)]) == 1
    assert slowness([ended(30), ended(50)]) == 4


def test_what_failed_is_run_again_by_itself_but_not_fault_tests():
    assert all(not each.second_chance for each in SLICES if each.name.startswith("faults-"))
    (command,) = commands(next(each for each in CORE if each.name == "unit-surfaces"))
    assert command[-1] == "tests/unit/surfaces"


def test_the_workflow_of_the_forge_runs_every_suite():
    workflow: Any = cast("Any", yaml).safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps: list[dict[str, str]] = workflow["jobs"]["checks"]["steps"]
    (checks,) = [step["run"] for step in steps if "gate run" in step.get("run", "")]
    matrix: dict[str, list[str]] = workflow["jobs"]["suites"]["strategy"]["matrix"]
    assert named([*checks.partition("gate run ")[2].split(), *matrix["suites"]]) == list(EVERY)
