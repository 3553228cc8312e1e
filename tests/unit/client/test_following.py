"""Following a conduct at a terminal, and deciding about steps in doubt."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from beamkeep_client import following
from beamkeep_client.cli import command_line

PROCEDURE, CONDUCT = "01a1e349-4fcd-7715-8329-d2677b206f6a", "01a1e349-77d6-7532-b646-b1a3f1aea0ef"
IDS = f"--procedure-id {PROCEDURE} --conduct-id {CONDUCT}"
PAGE = Path(__file__).parents[3] / "docs/how-to/conduct-a-procedure.md"
SHOWN = re.compile(r"```text\n\$ [^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
MISSED = {"error_class": "CheckFailedError", "message": "Closed does not equal Open"}
RUNNING: Mapping[str, Any] = {
    "procedure_id": PROCEDURE,
    "conduct_id": CONDUCT,
    "status": "Running",
    "outcome": None,
    "succeeded": None,
    "lease_expired": False,
    "needs": None,
    "undecided_step_indexes": [],
    "step_count": 2,
    "completed_count": 0,
    "iteration_count": 0,
    "current": None,
    "failure": None,
    "closing_failures": [],
}
COMPLETED = {
    **RUNNING,
    "status": "Ended",
    "outcome": "Completed",
    "succeeded": True,
    "completed_count": 2,
}


def ended(outcome: str, **more: Any) -> dict[str, Any]:
    return {**RUNNING, "status": "Ended", "outcome": outcome, "succeeded": False, **more}


def failure(step: int | None, phase: str = "Steps", **of: str) -> dict[str, Any]:
    return {"phase": phase, "step_index": step, "iteration_index": None, **(of or MISSED)}


def row(step: int, kind: str, stage: str, second: int = 0, **more: Any) -> dict[str, Any]:
    """Return a row of a step; `at` overrides where it belongs."""
    place = {"phase": "Steps", "iteration_index": None, "attempt": 1, **more.pop("at", {})}
    when = f"2030-01-31T07:30:{second:02}Z"
    return {
        **place,
        "step_index": step,
        "step_kind": kind,
        "stage": stage,
        "detail": more,
        "sampled_at": when,
    }


GAP = {"address": "BL:SLIT:GAP", "value": 5}
WRITTEN = [row(0, "setpoint", "Started", 1, **GAP), row(0, "setpoint", "Succeeded", 3)]


class Scripted:
    """A service that tells what is known of a conduct turn by turn."""

    def __init__(
        self, *turns: tuple[Mapping[str, Any], Sequence[dict[str, Any]]], undecided: Any = ()
    ) -> None:
        self._turns, self._turn, self._rows = turns, 0, list[dict[str, Any]]()
        self._undecided = undecided
        self.sent: list[Any] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            self.sent.append(json.loads(request.content))
            accepted = {"procedure_id": PROCEDURE, "conduct_id": CONDUCT}
            return httpx2.Response(202, json=accepted)
        path, asked = request.url.path, request.url.params
        if path.endswith(CONDUCT):
            if self._turn == len(self._turns):
                raise KeyboardInterrupt
            conduct, rows = self._turns[self._turn]
            self._turn += 1
            self._rows += rows
            return httpx2.Response(200, json=conduct)
        if path.endswith(PROCEDURE):
            last = {"undecided_step_indexes": self._undecided}
            body = {"last_conduct": last, "current_iteration_index": None}
            return httpx2.Response(200, json=body)
        numbered = [{**each, "sequence": n} for n, each in enumerate(self._rows, 1)]
        found = [
            each for each in numbered if each["sequence"] > int(asked.get("after_sequence", 0))
        ]
        if index := asked.get("step_index"):
            found = [each for each in found if each["step_index"] == int(index)]
        return httpx2.Response(200, json={"items": found, "next_cursor": None})


def run(service: Scripted, verb: str, *more: str, typed: str | None = None) -> Result:
    transport, words = httpx2.MockTransport(service), [verb, "--procedure-id", PROCEDURE, *more]
    tokenless = {"BEAMKEEP_TOKEN": None}
    return CliRunner().invoke(command_line(), words, input=typed, env=tokenless, obj=transport)


def follow(*turns: tuple[Mapping[str, Any], Sequence[dict[str, Any]]]) -> Result:
    return run(Scripted(*turns), "conduct-procedure", "--steps", "[]", "--follow")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "PAUSE", 0.0)


def _yes(_: object) -> bool:
    return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", _yes, raising=False)


def test_each_step_is_printed_when_it_has_ended():
    read = [row(1, "capture", "Started", 3, address="BL:X"), row(1, "capture", "Reading", 3)]
    result = follow(
        (RUNNING, WRITTEN),
        (RUNNING, read),
        (COMPLETED, [row(1, "capture", "Succeeded", 4, value=0.25)]),
    )
    assert result.exit_code == 0
    assert result.output == (
        "07:30:03Z  step 0  setpoint BL:SLIT:GAP = 5  Succeeded after 2.0 s\n"
        "07:30:04Z  step 1  capture BL:X  Succeeded after 1.0 s: 0.25\n"
        "The conduct ended Completed. 2 of 2 steps are finished.\n"
    )


def test_a_held_conduct_says_what_failed_and_how_to_continue():
    failed = failure(1)
    held = ended("Held", failure=failed, needs=["conduct_from_procedure"], completed_count=1)
    check = [row(1, "check", "Started", 3, address="BL:S"), row(1, "check", "Failed", 5, **MISSED)]
    result = follow((held, [*WRITTEN, *check]))
    assert result.exit_code == 1
    assert result.output.splitlines()[1:] == [
        "07:30:05Z  step 1  check BL:S  Failed after 2.0 s",
        "           CheckFailedError: Closed does not equal Open",
        "The conduct ended Held. 1 of 2 steps are finished.",
        "Step 1 failed: CheckFailedError: Closed does not equal Open",
        "Continue with:",
        f"  beamkeep procedure conduct-from {PROCEDURE} --follow",
    ]


def test_a_conduct_that_no_worker_takes_any_more_is_not_waited_for():
    result = follow((RUNNING, WRITTEN), ({**RUNNING, "needs": ["cancel_conduct"]}, []))
    assert result.exit_code == 1
    assert result.output.splitlines()[1:] == [
        "No worker takes this conduct any more: it failed too often. End it with:",
        f"  beamkeep procedure cancel-conduct {IDS} --reason '...'",
    ]


def test_failed_closing_steps_are_listed():
    lost = {"error_class": "ControlNotConnectedError", "message": "BL:S is not connected"}
    end = ended("Aborted", failure=failure(0), closing_failures=[failure(2, "Closing", **lost)])
    assert follow((end, [])).output.splitlines()[1:] == [
        "Step 0 failed: CheckFailedError: Closed does not equal Open",
        "Closing step 2 failed: ControlNotConnectedError: BL:S is not connected",
    ]


def test_a_conduct_that_nobody_went_on_with_says_why_and_what_is_in_doubt():
    why = {"error_class": "ConductTakeoverTooLate", "message": "Nobody was at work for 400 s."}
    end = ended("Interrupted", failure=failure(None, **why), undecided_step_indexes=[0, 1])
    assert follow((end, [])).output.splitlines()[1:] == [
        "Reason: ConductTakeoverTooLate: Nobody was at work for 400 s.",
        "It is not known whether these steps were executed: 0, 1.",
        "Redo or skip each of them.",
    ]


def test_passes_closing_steps_attempts_and_skipped_steps_look_different():
    rows = [
        row(0, "check", "Skipped", 1, at={"attempt": 2}),
        row(0, "check", "Succeeded", 2, at={"attempt": 2, "iteration_index": 3}),
        row(0, "check", "Succeeded", 3, at={"phase": "Closing"}),
    ]
    assert follow(({**COMPLETED, "iteration_count": 3}, rows)).output.splitlines() == [
        "07:30:01Z  step 0  check  Skipped",
        "07:30:02Z  pass 3, step 0  check  Succeeded after 0.0 s, attempt 2",
        "07:30:03Z  closing step 0  check  Succeeded after 0.0 s",
        "The conduct ended Completed. 2 of 2 steps are finished in pass 3.",
    ]


def test_a_setpoint_that_reads_back_another_value_says_so():
    seen = row(0, "setpoint", "Reading", 2, value=4.5, differs=True)
    result = follow((COMPLETED, [WRITTEN[0], seen, WRITTEN[1]]))
    assert result.output.splitlines()[1] == "           The value read back is 4.5."


def test_what_a_control_system_says_cannot_control_the_terminal():
    failed = failure(0, error_class="CheckFailedError", message="\x1b[2J\r")
    assert "\N{REPLACEMENT CHARACTER}[2J" in follow((ended("Aborted", failure=failed), [])).output


def test_ctrl_c_leaves_the_conduct_and_says_how_to_cancel_it():
    result = follow((RUNNING, WRITTEN))
    assert result.exit_code == 130
    assert result.output.splitlines()[1:] == [
        "The conduct continues. See how far it is, or cancel it:",
        f"  beamkeep procedure get-conduct {IDS}",
        f"  beamkeep procedure cancel-conduct {IDS} --reason '...'",
    ]


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_the_step_under_way_on_a_line_that_is_replaced():
    current = {
        "phase": "Steps",
        "iteration_index": None,
        "step_index": 0,
        "step_kind": "setpoint",
        "target": "BL:SLIT:GAP:" + "X" * 80,
        "since": "2030-01-31T07:30:01Z",
        "until": "2030-01-31T07:30:31Z",
    }
    queued = {**RUNNING, "status": "Queued"}
    lost = {**RUNNING, "lease_expired": True}
    result = follow(
        (queued, []), ({**RUNNING, "current": current}, []), (lost, []), (COMPLETED, [])
    )
    shown = [part.rstrip() for part in result.output.split("\r")]
    assert "Waiting for a worker." in shown
    assert "The worker was lost. Waiting for another one." in shown
    (now,) = (part for part in shown if part.startswith("Now: step 0, setpoint BL:SLIT:GAP"))
    assert len(now) == 79


def in_doubt(typed: str) -> tuple[Result, Scripted]:
    """Continue at a terminal a conduct whose steps 1 and 2 are in doubt."""
    late = {"error_class": "ControlTimeoutError", "message": "Not confirmed.", "in_doubt": True}
    rows = [
        row(1, "setpoint", "Started", 31, **GAP),
        row(2, "action", "Started", 32, name="home"),
        row(2, "action", "Failed", 33, **late),
    ]
    service = Scripted((COMPLETED, rows), undecided=[1, 2])
    # The rows are there before the first turn.
    service(httpx2.Request("GET", f"http://b.test/{CONDUCT}"))
    return run(service, "conduct-from-procedure", typed=typed), service


@pytest.mark.usefixtures("terminal")
def test_a_person_is_asked_about_each_step_in_doubt():
    result, service = in_doubt("redo\nskip\n")
    (shown,) = SHOWN.findall(PAGE.read_text())
    first, second = result.output.split("Step 2 ")
    assert first == shown.replace("07:42:31Z", "07:30:31Z")
    assert second.startswith(
        "(action home) needs a decision.\n"
        "  Attempt 1 started at 07:30:32Z.\n"
        "  The attempt failed: ControlTimeoutError: Not confirmed.\n"
        "  The value or the job may have arrived nevertheless.\n"
    )
    assert service.sent == [{"redo_step_indexes": [1], "skip_step_indexes": [2]}]


@pytest.mark.usefixtures("terminal")
def test_a_person_can_abandon_the_procedure_or_decide_later():
    assert in_doubt("abandon\n")[1].sent == [{"abandon": True}]
    result, service = in_doubt("redo\nquit\n")
    assert (result.exit_code, service.sent) == (1, [])
    assert result.output.endswith("Nothing was sent.\n")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("given", [("--skip-step-indexes", "1"), ("--abandon",)])
def test_somebody_who_has_decided_is_not_asked(given: tuple[str, ...]):
    service = Scripted(undecided=[1])
    assert run(service, "conduct-from-procedure", *given).exit_code == 0
    assert len(service.sent) == 1


def test_a_script_is_not_asked():
    service = Scripted(undecided=[1])
    assert run(service, "conduct-from-procedure").exit_code == 0
    assert service.sent == [{}]
