"""How beamlines stand, as the command line prints it."""

from typing import Any

import pytest
from tests.support.examples.assets import BEAMLINE, a_registered_asset
from tests.support.examples.board import a_beamline_in_use
from tests.support.examples.equipment import a_group
from tests.support.examples.federation import OWN_SITE

from beamkeep.testing.service import AdminClient, memory_service
from beamkeep_client import board as layout
from beamkeep_client import terminal

pytestmark = pytest.mark.anyio

LINES, COLUMNS = 24, 80


@pytest.fixture
async def do() -> AdminClient:
    return AdminClient(*await memory_service())


async def printed(do: AdminClient, asset_id: str) -> list[str]:
    body = await do("get_board", {"asset_id": asset_id, "names": True})
    return list(layout.board(body))


@pytest.fixture(autouse=True)
def small_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns and 24 lines."""

    def small() -> int:
        return LINES

    monkeypatch.setattr(layout, "height", small)
    monkeypatch.setattr(terminal, "width", lambda: COLUMNS)


async def test_a_board_says_first_whether_a_run_can_start(do: AdminClient):
    first, run, *_ = await printed(do, await a_beamline_in_use(do))
    assert first == "● Beamline: Scan of Monday can start."
    assert run.startswith("  run        ▲ Night 1: Held for 0s: Beam lost (Scan of Monday")


async def test_a_board_says_what_clears_a_check_that_fails(do: AdminClient):
    board = await do("get_board", {"asset_id": await a_beamline_in_use(do), "names": True})
    plan: dict[str, Any] = board["plans"][0]
    fact = {"name": "Ring", "state": "Unavailable"}
    check = {"check": "supply", "passed": False, "error": "X", "facts": [fact]}
    plan["checks"] = [check | {"cleared_by": ["mark_supply_recovering", "restore_supply"]}]
    assert list(layout.board(board))[:3] == [
        "✕ Beamline: Scan of Monday cannot start. 1 of 1 checks fail.",
        "    supply: Ring is Unavailable",
        "      clear it with: beamkeep supply mark-recovering, supply restore",
    ]


async def test_a_board_of_many_things_fits_one_screen_and_shows_the_abnormal_ones(do: AdminClient):
    root, group_id = await a_beamline_in_use(do), await a_group(do)
    for number in range(30):
        gas = {"name": f"Bottle {number:02}", "kind": "helium", "facility_code": OWN_SITE}
        made = await do("register_supply", gas)
        if number != 17:
            await do("mark_supply_available", {**made, "reason": "full"})
        part = {"name": f"Stage {number}", "tier": "Device", "parent_id": root}
        stage = await do("register_asset", {**part, "family_ids": [group_id]})
        await do("fault_asset", {**stage, "reason": "It drifts"})
    lines = await printed(do, root)
    assert len(lines) < LINES
    assert any("▲ Bottle 17: Unknown" in line for line in lines)
    assert sum("Faulted" in line for line in lines) > 4
    assert sum("… and more" in line for line in lines) == 2


async def test_a_status_has_a_line_for_each_beamline_that_fits_the_terminal(do: AdminClient):
    await a_beamline_in_use(do)
    long = "Small-angle scattering with a long name" * 3
    await a_registered_asset(do, **BEAMLINE | {"name": long})
    lines = list(layout.status(await do("get_status", {})))
    assert [head for head in layout.HEADS if head not in lines[0]] == []
    assert "▲ Held" in lines[1]
    assert "Night 1 is held" in lines[1]
    assert "○ Idle" in lines[2]
    assert all(len(line) <= COLUMNS for line in lines)


async def test_what_the_caller_may_not_see_is_said(do: AdminClient):
    board = await do("get_board", {"asset_id": await a_beamline_in_use(do)})
    hidden = list(layout.board(board | {"supplies": None, "plans": None}))
    assert hidden[0] == "Beamline: readiness is not shown to you."
    assert "  supply     not shown to you" in hidden
