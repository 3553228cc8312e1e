"""Conducts under a seed that owns time, order and failure."""

from collections import Counter

import pytest
from tests.faults.report import rounds
from tests.unit.conduct.simulation import Variant, simulate
from tests.unit.conduct.simulation_audit import audit

from beamkeep.contexts.operation.advancing import End, Walked
from beamkeep.contexts.operation.conducted import ConductOutcome
from beamkeep.kernel import replace
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.walking import Action, next_action
from beamkeep.testing.seeds import seed

SEEDS, MANY_SEEDS, FEWEST = 500, 20_000, 2_000
HAPPENED = (
    "ended Completed",
    "ended Aborted",
    "ended Held",
    "ended Halted",
    "ended Cancelled",
    "ended Interrupted",
    "killed",
    "paused",
    "hold",
    "cancel",
    "abort",
    "continue",
    "dropped",
    "fenced",
    "attached",
    "lost jobs",
    "starts refused by stop",
)


def repeats_everything(known: Known) -> Action:
    """A machine that repeats a setpoint in doubt even if it is not repeatable."""
    steps = tuple(
        replace(step, repeatable=True) if hasattr(step, "repeatable") else step
        for step in known.steps
    )
    return next_action(replace(known, steps=steps))


def closes_after_a_hold(known: Known) -> Action:
    """A machine that walks the closing steps after a hold."""
    action = next_action(known)
    if isinstance(action, End) and action.outcome is ConductOutcome.HELD and known.closing_steps:
        return Walked(ConductOutcome.ABORTED, action.failure)
    return action


MUTANTS = {
    "repeated although it is not repeatable": Variant(machine=repeats_everything),
    "effect without a Started row": Variant(acts_first=True),
    "after hold": Variant(machine=closes_after_a_hold),
    "effect of a worker that lost its claim": Variant(fences=False),
}


def found_by(
    seeds: range, variant: Variant | None = None
) -> tuple[dict[int, list[str]], Counter[str]]:
    faults, figures = dict[int, list[str]](), Counter[str]()
    for each in seeds:
        world = simulate(each, variant)
        figures.update(world.figures)
        if found := audit(world):
            faults[each] = found
    return faults, figures


def test_no_seed_finds_a_fault():
    faults, figures = found_by(range(SEEDS))
    assert not faults
    assert min(figures[each] for each in HAPPENED) > 0, figures


@pytest.mark.faults
def test_no_seed_of_many_finds_a_fault():
    first, faults, figures = seed(), dict[int, list[str]](), Counter[str]()
    for number in rounds("CONDUCTS", MANY_SEEDS, FEWEST, 240):
        found, happened = found_by(range(first + number, first + number + 1))
        faults |= found
        figures.update(happened)
    assert not faults, f"BEAMKEEP_CONDUCTS=1 BEAMKEEP_SEED=… replays one of {sorted(faults)}"
    assert min(figures[each] for each in HAPPENED) > 0, figures


def test_a_seed_replays_identically():
    assert [simulate(each).digest() for each in range(20)] == [
        simulate(each).digest() for each in range(20)
    ]


@pytest.mark.parametrize("fault", MUTANTS)
def test_the_simulation_catches_a_bad_variant(fault: str):
    found = (each for number in range(SEEDS) for each in audit(simulate(number, MUTANTS[fault])))
    assert any(fault in each for each in found)
