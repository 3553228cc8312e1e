"""Layouts of answers that people read most."""

from typing import Any

import pytest

from beamkeep_client.layouts import readiness

BEAM = {"kind": "Supply", "name": "Ring beam", "state": "Unavailable", "until": None}
FAILED: dict[str, Any] = {
    "check": "supply",
    "passed": False,
    "error": "RunRequiresAvailableSupplyError",
    "facts": [BEAM],
    "cleared_by": ["mark_supply_recovering", "restore_supply"],
}
PASSED: dict[str, Any] = {
    "check": "enclosure",
    "passed": True,
    "error": None,
    "facts": [],
    "cleared_by": [],
}
HOT = {"severity": "Warning", "text": "The stage is hot", "workaround": "Wait"}


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_what_fails_is_named_with_the_commands_that_clear_it():
    body: dict[str, Any] = {
        "ready": False,
        "checks": [FAILED, PASSED],
        "advisories": [],
        "cautions": [HOT],
    }
    assert [*readiness(body)] == [
        "✕ Not ready: 1 of 2 checks fail.",
        "✕ supply",
        "    Supply Ring beam is Unavailable",
        "    → beamkeep supply mark-recovering 'Ring beam'",
        "    → beamkeep supply restore 'Ring beam'",
        "● enclosure",
        "▲ Warning: The stage is hot",
        "    Workaround: Wait",
    ]


def test_a_check_without_objects_shows_its_code():
    bare: dict[str, Any] = {**FAILED, "facts": [], "cleared_by": []}
    body: dict[str, Any] = {"ready": False, "checks": [bare], "advisories": [], "cautions": []}
    assert [*readiness(body)][1] == "✕ supply: RunRequiresAvailableSupplyError"


def test_a_plan_that_is_ready_says_so_in_two_lines():
    body: dict[str, Any] = {"ready": True, "checks": [PASSED], "advisories": [], "cautions": []}
    assert [*readiness(body)] == ["● Ready: all 1 checks pass.", "● enclosure"]
