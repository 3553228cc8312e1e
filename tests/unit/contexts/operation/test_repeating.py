"""Which steps a conduct repeats by itself after a failure or a doubt."""

from collections.abc import Mapping

import pytest
from tests.unit.contexts.operation.conducts import CONDUCT, HOME, LOOK, MOVE, did

from beamkeep.contexts.operation.conducted import Activity, Phase, Stage, StepAttempt
from beamkeep.contexts.operation.history import Attempt, may_repeat
from beamkeep.contexts.recipe.steps import RecipeStep
from beamkeep.kernel import replace

ONCE = replace(MOVE, repeatable=False)
AGAIN = replace(HOME, repeatable=True)
NEVER_SENT, MAYBE_SENT = {"in_doubt": False}, {"in_doubt": True}

# A step, whether it had begun, what is known of its failure (None: nothing, it is in doubt),
# and whether it is repeated.
CASES: list[tuple[str, RecipeStep, bool, dict[str, bool] | None, bool]] = [
    ("a write in doubt that can be repeated", MOVE, True, None, True),
    ("a write in doubt that cannot", ONCE, True, None, False),
    ("a failed write that can be repeated", MOVE, True, MAYBE_SENT, True),
    ("a failed write that cannot, and was never sent", ONCE, True, NEVER_SENT, True),
    ("a failed write that cannot, and was perhaps sent", ONCE, True, MAYBE_SENT, False),
    ("a failed write of which nothing is known", ONCE, True, {}, False),
    ("a write refused before it began", ONCE, False, MAYBE_SENT, True),
    ("an action in doubt", HOME, True, None, False),
    ("an action in doubt that can be repeated", AGAIN, True, None, True),
    ("a failed action that says it sent nothing", HOME, True, NEVER_SENT, False),
    ("an action refused before it began", HOME, False, {}, True),
    ("a check in doubt", LOOK, True, None, True),
    ("a failed check", LOOK, True, {}, True),
]


@pytest.mark.parametrize(
    ("step", "began", "failure", "repeats"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_step_is_repeated_only_where_that_does_no_harm(
    step: RecipeStep, began: bool, failure: dict[str, bool] | None, repeats: bool
):
    rows = {Stage.STARTED: row(Stage.STARTED)} if began else {}
    outcome = None if failure is None else row(Stage.FAILED, failure)
    at = StepAttempt(Phase.STEPS, None, step_index=0, attempt=1)
    assert may_repeat(step, Attempt(at, CONDUCT, rows=rows, outcome=outcome)) is repeats


def row(stage: Stage, detail: Mapping[str, bool] = {}) -> Activity:
    written = did(stage, 0).row
    assert isinstance(written, Activity)
    return replace(written, detail=dict(detail))
