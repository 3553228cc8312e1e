"""Beam is lost at any instant, under two processes of RunSupervisor that crash: 0 wrong holds."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from beamkeep.testing.seeds import dice, seed
from tests.faults import supervision_walk
from tests.faults.conftest import Report
from tests.faults.report import rounds
from tests.faults.supervision_walk import WRONG, walks

MOST = 1500
"""Walks after which a guard that was left out must have been found; some ten are usual."""

pytestmark = [pytest.mark.faults, pytest.mark.anyio]


async def test_no_interleaving_holds_a_run_wrongly(report: Report):
    numbers = rounds("SUPERVISION_WALKS", 300, 100, 45)
    figures = await walks(numbers, partial(dice, seed(), "supervision"))
    report("T30 supervision", figures)
    assert {name: figures[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert figures["holds"] > figures["walks"] / 10
    assert figures["crashes"] > figures["walks"]
    assert figures["deferred"] > 0


@pytest.mark.parametrize(
    ("left_out", "found"),
    [
        (supervision_walk.without_versions, "overruled"),
        (supervision_walk.without_claims, "deferred_twice"),
        (supervision_walk.in_two_appends, "without_effect"),
        (supervision_walk.without_recovering, "never_held"),
        (supervision_walk.without_settling, "too_soon"),
        (supervision_walk.without_resuming, "overruled"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_each_guard_that_is_left_out_is_found(
    left_out: Callable[[], AbstractContextManager[None]], found: str, report: Report
):
    with left_out():
        figures = await walks(range(MOST), partial(dice, seed(), "supervision"), until=found)
    report(f"T30 supervision {left_out.__name__}", figures)
    assert figures[found] > 0
