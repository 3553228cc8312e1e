"""Resolving: a reference becomes the value of its pass, or the step fails without an effect."""

from uuid import UUID, uuid5

import pytest
from tests.unit.conduct.given import EARLIER, KINDS, THIS, at, known, request, row

from beamkeep.contexts.operation.conducted import (
    ConductOutcome,
    Phase,
    Stage,
    activity_id,
    submission_key,
)
from beamkeep.contexts.operation.history import Pass
from beamkeep.contexts.operation.loop import Convergence
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeCheckStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    RecipeStep,
    WithinTolerance,
)
from beamkeep.contexts.seams.routes import AddressBounds, ControlRoute, Substrate
from beamkeep.kernel import replace
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.walking import FailStep, Start, next_action
from beamkeep.schemas import Json

HOME = RecipeCaptureStep("bl:x", "home")
SIZE = RecipeComputeStep("fit", capture_name="size")
FILE = RecipeComputeStep("denoise", output_uri="out.h5", output_name="clean")
BACK = RecipeSetpointStep("bl:s", {"$capture": "home"})
CAPTURED = row("Started"), row("Succeeded", capture_name="home", value=1.25)


def started(facts: Known) -> Start:
    action = next_action(facts)
    assert isinstance(action, Start), action
    return action


def refused(facts: Known) -> str:
    action = next_action(facts)
    assert isinstance(action, FailStep), action
    return action.error_class


def test_a_capture_is_inserted_with_its_type():
    action = started(known(HOME, BACK, rows=CAPTURED))
    assert action.step == replace(BACK, value=1.25)
    assert action.detail == {
        "address": "bl:s",
        "value": 1.25,
        "verify": False,
        "timeout": 30.0,
        "repeatable": True,
        "makes_safe": False,
        "sentinels": {"value": {"$capture": "home"}},
        "actuation_kind": "Simulated",
    }


def test_the_highest_attempt_that_succeeded_counts():
    again = row("Started", attempt=2), row("Succeeded", attempt=2, value=2.5)
    skipped = row("Skipped", attempt=3)
    assert started(known(HOME, BACK, rows=(*CAPTURED, *again, skipped))).detail["value"] == 2.5


def test_a_capture_survives_a_crash_and_a_continuing_command():
    rows = row("Started", conduct=EARLIER), row("Succeeded", conduct=EARLIER, value=True)
    assert started(known(HOME, BACK, rows=rows)).detail["value"] is True


def test_a_computed_value_is_that_of_its_name():
    measured: Json = [{"name": "other", "value": 1}, {"name": "size", "value": 2}]
    rows = row("Started"), row("Succeeded", measurements=measured)
    back = replace(BACK, value={"$capture": "size"})
    assert started(known(SIZE, back, rows=rows)).detail["value"] == 2


def test_an_output_is_the_address_of_the_artifact():
    rows = row("Started"), row("Succeeded", artifact={"uri": "file:///out.h5"})
    fit = RecipeComputeStep("fit", input_uris=("file:///a", {"$output": "clean"}))
    action = started(known(FILE, fit, rows=rows))
    assert action.step == replace(fit, input_uris=("file:///a", "file:///out.h5"))
    assert action.detail["sentinels"] == {"input_uris[1]": {"$output": "clean"}}


STEERED: list[RecipeStep] = [
    replace(BACK, value={"$steering": "x"}),
    RecipeActionStep("home", {"to": {"$steering": "x"}, "by": 1}),
    RecipeCheckStep("bl:k", WithinTolerance({"$steering": "x"}, 0.1)),
    RecipeComputeStep("fit", {"at": {"$steering": "x"}}),
]


@pytest.mark.parametrize("step", STEERED)
def test_a_coordinate_is_that_of_the_open_pass(step: RecipeStep):
    passes = Pass(1, THIS, {"x": 1.0}, ended=True, converged=False), Pass(2, THIS, {"x": 4.5})
    loop = request(loop=Convergence("seen", Equals(1.0)))
    action = started(known(step, conduct=loop, passes=passes))
    assert "4.5" in repr(action.step)
    assert "$steering" not in repr(action.step)


MISSING = [
    ({"$capture": "home"}, "UnresolvedCaptureRefError"),
    ({"$steering": "x"}, "UnresolvedSteeringRefError"),
    ({"$binding": "energy"}, "UnresolvedBindingRefError"),
]


@pytest.mark.parametrize(("value", "error"), MISSING)
def test_a_reference_without_a_value_fails_the_step(value: Json, error: str):
    assert refused(known(replace(BACK, value=value))) == error


def test_an_output_without_a_value_fails_the_step():
    facts = known(RecipeComputeStep("fit", input_uris=({"$output": "clean"},)))
    assert refused(facts) == "UnresolvedOutputRefError"


def test_a_capture_of_another_pass_is_not_seen():
    loop = request(loop=Convergence("home", Equals(1.0)))
    passes = Pass(1, THIS, ended=True, converged=False), Pass(2, EARLIER)
    rows = row("Started", of=1), row("Succeeded", of=1, value=1.0), row("Skipped", of=2)
    facts = known(HOME, BACK, rows=rows, conduct=loop, passes=passes)
    assert refused(facts) == "UnresolvedCaptureRefError"


def test_a_closing_step_sees_the_last_pass_and_earlier_closing_steps():
    closing = (
        RecipeCaptureStep("bl:y", "away"),
        BACK,
        replace(BACK, value={"$capture": "away"}),
    )
    loop = request(loop=Convergence("home", Equals(1.0)))
    rows = row("Started", of=1), row("Succeeded", of=1, value=7.0)
    away = row("Succeeded", 0, phase=Phase.CLOSING, value=8.0)
    facts = known(
        HOME,
        closing_steps=closing,
        rows=(*rows, away),
        conduct=loop,
        passes=(Pass(1, THIS),),
        walk_outcome=ConductOutcome.ABORTED,
    )
    assert started(facts).detail["value"] == 7.0
    done = row("Succeeded", 1, phase=Phase.CLOSING)
    later = replace(facts, activities=(*facts.activities, done))
    assert started(later).detail["value"] == 8.0
    assert started(later).at == at(2, phase=Phase.CLOSING)


ROUTE = ControlRoute(
    "bl:", Substrate.IN_MEMORY, writable=True, bounds=(AddressBounds("bl:s", 0.0, 1.0),)
)


def test_a_resolved_value_outside_the_bounds_fails_the_step():
    facts = known(HOME, BACK, rows=CAPTURED, routes=(ROUTE,))
    assert refused(facts) == "ControlLimitExceededError"
    wider = replace(ROUTE, bounds=(AddressBounds("bl:s", 0.0, 2.0),))
    assert started(replace(facts, routes=(wider,))).detail["actuation_kind"] == "Physical"


def test_a_step_without_a_route_or_a_right_to_write_fails():
    assert refused(known(BACK, routes=())) == "UnresolvedCaptureRefError"
    literal = replace(BACK, value=1.0)
    assert refused(known(literal, routes=())) == "ControlAddressNotRoutedError"
    locked = replace(ROUTE, writable=False)
    assert refused(known(literal, routes=(locked,))) == "ControlAddressNotWritableError"
    facts = known(literal, routes=(ROUTE,), inline=True)
    assert refused(facts) == "ControlAddressNotWritableError"
    assert refused(known(HOME, routes=())) == "ControlAddressNotRoutedError"


def test_a_step_that_cannot_be_executed_ends_the_walk_when_its_row_is_written():
    facts = known(BACK, rows=(row("Failed", in_doubt=False),))
    assert type(next_action(facts)).__name__ == "End"


def test_the_id_of_a_row_follows_from_its_place():
    conduct = UUID(int=5)
    assert activity_id(conduct, at(3, 2), Stage.STARTED) == uuid5(conduct, "Steps:-:3:2:Started:0")
    in_pass = at(0, 1, Phase.STEPS, 4)
    assert activity_id(conduct, in_pass, Stage.READING, 1) == uuid5(
        conduct, "Steps:4:0:1:Reading:1"
    )
    outcomes = {Stage.SUCCEEDED, Stage.FAILED, Stage.SKIPPED}
    ids = {activity_id(conduct, at(), stage) for stage in outcomes}
    assert ids == {uuid5(conduct, "Steps:-:0:1:Outcome:0")}
    assert submission_key(conduct, in_pass) == uuid5(conduct, "Steps:4:0:1")


def test_every_kind_of_step_says_where_it_acts():
    for kind in ("check", "capture", "setpoint"):
        assert started(known(KINDS[kind])).detail["actuation_kind"] == "Simulated"
    assert "actuation_kind" not in started(known(KINDS["action"])).detail
