"""People who work together try to get more power than anybody gave them: nobody gets it."""

from contextlib import AbstractContextManager
from functools import partial

import pytest

from beamkeep.contexts.access import actor
from beamkeep.contexts.agent import agent
from beamkeep.contexts.trust import administrators, monitors, policy
from beamkeep.kernel import Grant
from beamkeep.testing.seeds import dice, seed
from tests.faults.conftest import Report
from tests.faults.escalation import World, make_world, walks, without
from tests.faults.report import rounds

MOST = 4000
"""Walks after which a guard that was left out must have been found."""

pytestmark = [pytest.mark.faults, pytest.mark.anyio]
WALKS = partial(dice, seed(), "escalation")


@pytest.fixture(scope="module")
async def world() -> World:
    return await make_world()


async def test_nobody_gets_more_than_was_given(world: World, report: Report):
    figures, steps = await walks(world, rounds("ESCALATIONS", 1500, 300, 30), WALKS)
    report("T31 escalation", figures)
    assert not figures["breaches"], "\n".join(steps)
    assert figures["their calls"] > figures["walks"]
    assert figures["GrantExceedsOwnError"] > figures["walks"] / 4
    assert figures["logins named"] > figures["walks"] / 20


def unchanged(grant: Grant, _: object) -> Grant:
    return grant


def always(*_: object) -> bool:
    return True


def name_of(left_out: partial[AbstractContextManager[None]]) -> str:
    guard, module = left_out.args
    return f"{module.__name__.rsplit('.', 1)[1]} {guard}"


@pytest.mark.parametrize(
    "left_out",
    [
        partial(without, "require_confirmed", policy),
        partial(without, "require_held", policy),
        partial(without, "require_held", administrators),
        partial(without, "within_tools", policy, by=unchanged),
        partial(without, "require_administrator", actor),
        partial(without, "require_administrator", monitors),
        partial(without, "require_all_confirmed", monitors),
        partial(without, "require_tools_held", agent),
        partial(without, "calls_as_administrator", actor, by=always),
    ],
    ids=name_of,
)
async def test_each_guard_that_is_left_out_is_found(
    left_out: partial[AbstractContextManager[None]], world: World, report: Report
):
    with left_out():
        figures, _ = await walks(world, range(MOST), WALKS)
    report(f"T31 escalation without {name_of(left_out)}", figures)
    assert figures["breaches"]
