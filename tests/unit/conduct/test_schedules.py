"""Real workers under random schedules: nothing is written after a stop, and safe is always near."""

from collections import Counter

import pytest
from tests.faults.report import rounds
from tests.unit.conduct.schedules import walked

from beamkeep.contexts.operation.conducted import Phase
from beamkeep.parts.conducting import walking
from beamkeep.testing.seeds import seed

pytestmark = pytest.mark.anyio

SCHEDULES, MANY_SCHEDULES, FEWEST, AT_ONCE = 40, 1000, 100, 20
HAPPENED = (
    *("abort answered", "cancel answered", "hold", "kill", "later", "away", "back"),
    *("permit lost", "permit back", "begun", "made safe", "writes"),
)


async def test_no_schedule_finds_a_fault():
    faults, figures = await walked(range(SCHEDULES))
    assert not faults
    assert min(figures[each] for each in HAPPENED) > 0, figures


@pytest.mark.faults
async def test_no_schedule_of_many_finds_a_fault():
    first, faults, figures = seed(), dict[int, list[str]](), Counter[str]()
    for number in rounds("SCHEDULES", MANY_SCHEDULES // AT_ONCE, FEWEST // AT_ONCE, 240):
        begin = first + number * AT_ONCE
        found, happened = await walked(range(begin, begin + AT_ONCE))
        faults |= found
        figures.update(happened)
    assert not faults, f"BEAMKEEP_SEED=… replays one of {sorted(faults)}"
    assert min(figures[each] for each in HAPPENED) > 0, figures


async def test_the_schedules_catch_a_fence_without_a_stop(monkeypatch: pytest.MonkeyPatch):
    nothing = {Phase.STEPS: (), Phase.CLOSING: ()}
    monkeypatch.setattr(walking, "INTERRUPTS", nothing)
    faults, _ = await walked(range(SCHEDULES))
    assert any("written after" in each for found in faults.values() for each in found)
