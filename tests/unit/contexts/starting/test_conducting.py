"""Conducting a procedure: what is checked, in which order, and what is written."""

from typing import Any
from uuid import UUID

from tests.unit.contexts.operation.conducts import (
    CONDUCT,
    HOME,
    ID,
    LOOK,
    MOVE,
    SEE,
    SHUT,
    STEPS,
    conduct_ended,
    did,
    done,
    requested,
    started,
)
from tests.unit.contexts.operation.procedures import a_procedure
from tests.unit.contexts.starting.fair import (
    BEAMLINE,
    CAMERA,
    CAPABILITY,
    DECISION,
    DUST,
    FAIR,
    HALL,
    HUTCH,
    LEAK,
    METHOD,
    PLAN,
    SHED,
    STAGE,
    Part,
    kept,
    moved,
    observed,
)

from beamkeep.contexts.caution.caution import CautionSeverity
from beamkeep.contexts.decision.decision import DecisionNotFoundError
from beamkeep.contexts.enclosure.enclosure import PermitStatus
from beamkeep.contexts.equipment.asset import AssetDecommissioned, AssetNotFoundError
from beamkeep.contexts.operation.conduct import CHANNELS, CONDUCTS, Conduct, ConductChannel
from beamkeep.contexts.operation.conducted import ConductKind, ConductOutcome, Stage
from beamkeep.contexts.operation.procedure import (
    PROCEDURE_STEPS,
    PinnedSteps,
    ProcedureBoundCapabilityDeprecatedError,
    ProcedureCapabilityExecutorMismatchError,
    ProcedureConductActiveError,
    ProcedureConductRequested,
    ProcedureHeld,
    ProcedureIterationEnded,
    ProcedureIterationStarted,
    ProcedureParentRunNotRunningError,
    ProcedureRegistered,
    ProcedureResumed,
    ProcedureStarted,
)
from beamkeep.contexts.recipe.capability import (
    CapabilityDeprecated,
    CapabilityVersioned,
    ExecutorShape,
)
from beamkeep.contexts.recipe.steps import (
    Equals,
    RecipeActionStep,
    RecipeCaptureStep,
    RecipeComputeStep,
    RecipeSetpointStep,
    RecipeStep,
)
from beamkeep.contexts.run.run import RunHeld, RunStarted, StartAdvisory
from beamkeep.contexts.seams.installation import ActionEntry, Facts, JobEntry
from beamkeep.contexts.seams.routes import AddressBounds, ControlRoute, Substrate
from beamkeep.contexts.starting.conducting import (
    OPERATIONS,
    AcceptedConduct,
    ConductCommand,
    ConductFromProcedure,
    ConductNotExecutableError,
    ConductOrHoldProcedure,
    ConductProcedure,
    ConductProcedureUntilAdvised,
    ConductProcedureUntilAdvisedFrom,
    ConductProcedureUntilConverged,
    InvalidConductCaptureError,
    InvalidConductFromError,
    InvalidConductSpaceError,
    InvalidConductStepsError,
    ProcedureCannotConductError,
    ProcedureCannotConductFromError,
    ProcedureCannotConductOrHoldError,
    ProcedureCannotConductUntilAdvisedError,
    ProcedureCannotConductUntilAdvisedFromError,
    ProcedureCannotConductUntilConvergedError,
    ProcedureChannelBusyError,
)
from beamkeep.contexts.starting.procedure import (
    ProcedureAssetDecommissionedError,
    ProcedureEnclosureCoverageMismatchError,
    ProcedureRequiresAvailableSupplyError,
    ProcedureRequiresPermittedEnclosureError,
)
from beamkeep.contexts.supply.supply import SupplyMarkedUnavailable
from beamkeep.kernel import WORK, Cannot, Insert, Refusal, Work, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.installation import FACTS, SIMULATED
from beamkeep.testing.past import ABSENT, ME, NEW, NOW
from beamkeep.testing.scenario import Scenario

NONE: JsonObject = {}
RUN = UUID(int=95)
run = RunStarted(
    *(NOW, RUN, "Night 1", PLAN, None, METHOD, (), None, None, NONE, NONE, (), (), None)
)
for_procedures = CapabilityVersioned.of(
    FAIR["capability"][0],
    capability_id=CAPABILITY,
    version_tag="2",
    executor_shapes=(ExecutorShape.PROCEDURE,),
)
AROUND: tuple[Part, ...] = (
    *(each for several in FAIR.values() for each in several),
    run,
    for_procedures,
)
alone = a_procedure()
part = replace(alone, target_asset_ids=(STAGE,), parent_run_id=RUN, capability_id=CAPABILITY)
shown = (
    kept(LEAK, BEAMLINE, CautionSeverity.WARNING),
    kept(DUST, STAGE, CautionSeverity.CAUTION),
)
STEERED_MOVE = RecipeSetpointStep("bl:x", {"$steering": "x"})
STEERED: tuple[RecipeStep, ...] = (STEERED_MOVE, SEE)
SPACE: dict[str, Any] = {"axes": [{"name": "x", "lower": 0.0, "upper": 1.0}]}
GOAL: dict[str, Any] = {"kind": "Explore", "capture_name": "intensity"}
STEER: dict[str, Any] = {"advisor": {"name": "grid_walk"}, "objective": GOAL, "space": SPACE}
CONVERGE: dict[str, Any] = {"capture_name": "intensity", "criterion": Equals(1.0)}
X: dict[str, Any] = {"name": "x", "lower": 0.0, "upper": 1.0, "choices": None, "initial": None}
STEERING: Any = {
    "kind": "steer",
    "advisor": {"name": "grid_walk", "options": {}},
    "objective": {**GOAL, "target_value": None},
    "space": {"axes": (X,)},
    "max_iterations": 100,
    "time_budget": None,
}


def asking[C: ConductCommand](kind: type[C], **fields: Any) -> C:
    return kind.model_construct(None, procedure_id=ID, **fields)


def once(**changes: Any) -> ConductProcedure:
    return asking(ConductProcedure, **{"steps": STEPS, **changes})


def or_hold(**changes: Any) -> ConductOrHoldProcedure:
    return asking(ConductOrHoldProcedure, **{"steps": STEPS, **changes})


def converge(**changes: Any) -> ConductProcedureUntilConverged:
    return asking(ConductProcedureUntilConverged, **{"steps": STEPS, **CONVERGE, **changes})


def steer(**changes: Any) -> ConductProcedureUntilAdvised:
    return asking(ConductProcedureUntilAdvised, **{"steps": STEERED, **STEER, **changes})


def go_on(**changes: Any) -> ConductFromProcedure:
    return ConductFromProcedure(procedure_id=ID, **changes)


def steer_on(**changes: Any) -> ConductProcedureUntilAdvisedFrom:
    return ConductProcedureUntilAdvisedFrom(procedure_id=ID, **changes)


FIRST = (once, or_hold, converge, steer)
held = ProcedureHeld(NOW, ID, "no beam", None)


def given(*history: Part, here: Facts = FACTS) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history), here)


def paused(
    procedure: ProcedureRegistered = alone,
    *rows: Insert,
    steps: tuple[RecipeStep, ...] = STEPS,
    outcome: ConductOutcome = ConductOutcome.HELD,
    **row: Any,
) -> tuple[Part, ...]:
    """A procedure that is held after a conduct with these rows."""
    kind = row.get("root_kind", ConductKind.ONCE)
    asked = replace(requested, conduct_kind=kind, root_kind=kind, steps=steps)
    conduct = Conduct.of(asked, requested_by=ME, requested_at=NOW, from_step_index=0)
    conduct = replace(conduct, **{"outcome": outcome, "ended_at": NOW} | row)
    beside = (PROCEDURE_STEPS.insert(PinnedSteps(ID, steps, (SHUT,))), CONDUCTS.insert(conduct))
    ended = replace(conduct_ended, outcome=outcome)
    return (procedure, started, asked, held, ended, *beside, *rows)


def steered(procedure: ProcedureRegistered = alone, *rows: Insert, **row: Any) -> tuple[Part, ...]:
    loop: dict[str, Any] = {"root_kind": ConductKind.UNTIL_ADVISED, "loop": STEERING}
    return paused(procedure, *rows, steps=STEERED, **loop | row)


def defined(procedure: ProcedureRegistered) -> tuple[Part, ...]:
    return (procedure,)


SIX: tuple[tuple[Any, Any], ...] = (
    *((ask, defined) for ask in FIRST),
    (go_on, paused),
    (steer_on, steered),
)
"""Every command, and the history that it follows on."""

asked_once = replace(
    requested, conduct_id=NEW, steps=STEPS, closing_steps=(), acknowledged_cautions=()
)
ROW = Conduct.of(asked_once, requested_by=ME, requested_at=NOW, from_step_index=0)
WORKED = WORK.insert(Work(NEW, "conduct", ID))
ACCEPTED = AcceptedConduct(NEW, ID)


def channels(*addresses: str) -> list[Insert]:
    taken = ProcedureChannelBusyError
    return [CHANNELS.insert(ConductChannel(each, NEW), taken) for each in addresses]


def test_a_procedure_is_conducted_with_the_steps_that_the_request_brings():
    given(part).when(once()).then(
        ProcedureStarted(NOW, ID, shown),
        asked_once,
        PROCEDURE_STEPS.insert(PinnedSteps(ID, STEPS, ())),
        CONDUCTS.insert(ROW),
        WORKED,
        *channels("bl:axis", "bl:x"),
        ACCEPTED,
    )


def test_closing_steps_are_pinned_with_the_steps_and_their_channels_taken():
    outcome = given(alone).when(or_hold(steps=(MOVE,), closing_steps=(SHUT,))).decided()
    kind = ConductKind.OR_HOLD
    asked = replace(asked_once, steps=(MOVE,), closing_steps=(SHUT,))
    asked = replace(asked, conduct_kind=kind, root_kind=kind)
    assert outcome[1] == asked
    assert outcome[2] == PROCEDURE_STEPS.insert(PinnedSteps(ID, (MOVE,), (SHUT,)))
    assert outcome[5:7] == channels("bl:shutter", "bl:x")


def test_a_procedure_that_follows_a_recipe_is_conducted_with_its_own_steps():
    recipe = {"recipe_id": UUID(int=8), "recipe_version_number": 1}
    driven = replace(alone, **recipe, steps=(MOVE, SEE), closing_steps=())
    pinned = PROCEDURE_STEPS.insert(PinnedSteps(ID, (MOVE, SEE), ()))
    outcome = given(driven, pinned).when(once(steps=None)).decided()
    assert outcome == [
        ProcedureStarted(NOW, ID, ()),
        replace(asked_once, steps=None, closing_steps=None),
        CONDUCTS.insert(ROW),
        WORKED,
        *channels("bl:x"),
        ACCEPTED,
    ]
    for changes in ({"steps": (MOVE,)}, {"steps": None, "closing_steps": ()}):
        refusal = InvalidConductStepsError
        given(driven, pinned).when(once(**changes)).refused(refusal, saying="recipe")


def test_a_conduct_names_the_decision_that_it_follows():
    for ask, history in SIX:
        procedure = history(alone)
        outcome = given(*procedure).when(ask(decided_by_decision_id=DECISION)).decided()
        (asked,) = [each for each in outcome if isinstance(each, ProcedureConductRequested)]
        assert asked.decided_by_decision_id == DECISION
        unknown = ask(decided_by_decision_id=ABSENT)
        given(*procedure).when(unknown).refused(DecisionNotFoundError)


def loop_of(outcome: list[Any]) -> tuple[ConductKind, Any, int | None]:
    asked, row = outcome[1], next(p.row for p in outcome if getattr(p, "table", None) is CONDUCTS)
    assert row.loop == asked.loop
    return asked.root_kind, asked.loop, row.first_iteration_index


def test_a_procedure_converges_within_the_limits_of_the_request_or_its_own():
    limited = replace(alone, max_consecutive_unconverged_iterations=7)
    criterion = {"kind": "equals", "expected": 1.0}
    goal = {"kind": "converge", "capture_name": "intensity", "criterion": criterion}
    limit = "max_consecutive_unconverged_iterations"
    for procedure, command, limits in (
        (alone, converge(), {"max_iterations": 100, limit: None}),
        (limited, converge(), {"max_iterations": 100, limit: 7}),
        (limited, converge(**{limit: 3}, max_iterations=5), {"max_iterations": 5, limit: 3}),
    ):
        outcome = given(procedure).when(command).decided()
        assert loop_of(outcome) == (ConductKind.UNTIL_CONVERGED, goal | limits, 1)


def test_a_procedure_is_steered_at_the_coordinates_of_an_advisor():
    outcome = given(alone).when(steer(time_budget=60.0, max_iterations=9)).decided()
    loop = {**STEERING, "time_budget": 60.0, "max_iterations": 9}
    assert loop_of(outcome) == (ConductKind.UNTIL_ADVISED, loop, 1)


def test_only_an_idle_procedure_is_conducted():
    for ask, _ in SIX:
        for last in ((), (held,)):
            scenario = given(alone, started, requested, *last).when(ask())
            scenario.refused(ProcedureConductActiveError, saying=str(CONDUCT))


CANNOT: dict[Any, type[Cannot]] = {
    once: ProcedureCannotConductError,
    or_hold: ProcedureCannotConductOrHoldError,
    converge: ProcedureCannotConductUntilConvergedError,
    steer: ProcedureCannotConductUntilAdvisedError,
    go_on: ProcedureCannotConductFromError,
    steer_on: ProcedureCannotConductUntilAdvisedFromError,
}


def test_the_first_conduct_needs_a_defined_procedure_and_a_continuing_one_a_held_procedure():
    for ask in FIRST:
        given(alone, started).when(ask()).refused(CANNOT[ask], saying="The status is Running.")
    for ask, history in SIX[4:]:
        resumed = ProcedureResumed(NOW, ID, None)
        running = given(*history(alone), resumed).when(ask())
        running.refused(CANNOT[ask], saying="The status is Running.")
        by_hand = given(alone, started, held).when(ask())
        by_hand.refused(CANNOT[ask], saying="There was no conduct.")


def test_a_conduct_is_continued_unless_it_came_to_its_end():
    for ask, history in SIX[4:]:
        for outcome in ConductOutcome:
            scenario = given(*history(alone, outcome=outcome)).when(ask())
            if outcome in {ConductOutcome.COMPLETED, ConductOutcome.ABORTED}:
                scenario.refused(CANNOT[ask], saying=f"The last conduct ended {outcome}.")
            else:
                assert isinstance(scenario.decided()[0], ProcedureResumed)


def test_a_steered_conduct_is_continued_by_steering_and_another_is_not():
    given(*steered()).when(go_on()).refused(CANNOT[go_on], saying="conduct_until_advised_from")
    given(*paused()).when(steer_on()).refused(CANNOT[steer_on], saying="conduct_from_procedure")


def test_steps_are_given_where_there_is_no_recipe_and_follow_the_rules_of_steps():
    refusal = InvalidConductStepsError
    use = RecipeSetpointStep("bl:x", {"$capture": "absent"})
    bound = RecipeSetpointStep("bl:x", {"$binding": "energy"})
    closing = RecipeSetpointStep("bl:x", {"$steering": "x"})
    for ask in FIRST:
        for changes, saying in (
            ({"steps": None}, "give the steps"),
            ({"steps": ()}, "steps: there must be 1 to 500 of them, not 0."),
            ({"steps": (MOVE,) * 501}, "not 501"),
            ({"closing_steps": (SHUT,) * 101}, "closing_steps: there must be 0 to 100"),
            ({"steps": (use,)}, "steps[0].value: no earlier step declares 'absent'."),
            ({"steps": (SEE, SEE)}, "steps[1].capture_name"),
            ({"steps": (bound,)}, "steps[0].value: only a recipe can use $binding."),
            ({"closing_steps": (closing,)}, "closing_steps[0].value"),
        ):
            given(alone).when(ask(**changes)).refused(refusal, saying=saying)


def test_the_goal_of_a_loop_is_captured_by_a_step():
    refusal = InvalidConductCaptureError
    given(alone).when(converge(capture_name="absent")).refused(refusal, saying="'absent'")
    referring = converge(criterion=Equals({"$capture": "intensity"}))
    given(alone).when(referring).refused(refusal, saying="not a reference")
    absent = steer(objective={**GOAL, "capture_name": "absent"})
    given(alone).when(absent).refused(refusal, saying="'absent'")
    for objective in (
        {**GOAL, "kind": "Satisfy"},
        {**GOAL, "target_value": 1.0},
    ):
        given(alone).when(steer(objective=objective)).refused(refusal, saying="Satisfy")
    satisfied = steer(objective={**GOAL, "kind": "Satisfy", "target_value": 1.0})
    assert given(alone).when(satisfied).decided()


def test_the_axes_are_those_that_the_steps_use():
    refusal = InvalidConductSpaceError
    for ask in FIRST[:3]:
        scenario = given(alone).when(ask(steps=(STEERED_MOVE, SEE)))
        scenario.refused(refusal, saying="no axis for: x")
    given(alone).when(steer(steps=STEPS)).refused(refusal, saying="No step uses the axis: x.")


def test_an_axis_has_bounds_or_choices_and_begins_on_them():
    refusal, fine = InvalidConductSpaceError, {"name": "x", "lower": 0.0, "upper": 1.0}
    faulty: tuple[tuple[list[dict[str, Any]], str], ...] = (
        ([{"name": "x"}], "lower bound"),
        ([{"name": "x", "lower": 1.0, "upper": 1.0}], "lower bound"),
        ([{"name": "x", "lower": 0.0, "upper": float("inf")}], "lower bound"),
        ([{**fine, "choices": [1]}], "has no bounds"),
        ([{"name": "x", "choices": []}], "at least one choice"),
        ([{"name": "x", "choices": [[1]]}], "a number, a boolean or a text"),
        ([{"name": "x", "choices": [1, 1.0]}], "once"),
        ([{**fine, "initial": 2.0}], "initial"),
        ([{"name": "x", "choices": ["a"], "initial": "b"}], "initial"),
        ([fine, fine], "a name of its own"),
    )
    for axes, saying in faulty:
        given(alone).when(steer(space={"axes": axes})).refused(refusal, saying=saying)
    for axis in ({"name": "x", "choices": [1, True, "a"], "initial": "a"}, {**fine, "initial": 1}):
        assert given(alone).when(steer(space={"axes": [axis]})).decided()


def test_a_conduct_continues_at_the_first_step_that_is_not_finished():
    failed = did(Stage.FAILED, 2, in_doubt=False)
    for rows, left in (
        ((), 0),
        ((*done(0), *done(1)), 2),
        ((*done(0), *done(1), did(Stage.STARTED, 2), failed), 2),
        ((*done(0), *done(1), *done(2), *done(3)), 4),
    ):
        outcome = given(*paused(alone, *rows)).when(go_on()).decided()
        assert outcome == [
            ProcedureResumed(NOW, ID, None),
            replace(
                asked_once,
                conduct_kind=ConductKind.FROM,
                continues_conduct_id=CONDUCT,
                steps=None,
                closing_steps=None,
                from_step_index=left,
            ),
            CONDUCTS.insert(
                replace(
                    ROW,
                    conduct_kind=ConductKind.FROM,
                    continues_conduct_id=CONDUCT,
                    from_step_index=left,
                )
            ),
            WORKED,
            *channels("bl:axis", "bl:shutter", "bl:x"),
            ACCEPTED,
        ]


def test_steps_that_the_last_conduct_wanted_to_repeat_are_not_done():
    earlier = UUID(int=999)
    finished = (did(Stage.SUCCEEDED, step, conduct=earlier) for step in range(4))
    again = did(Stage.SUCCEEDED, 0, 2)
    history = paused(alone, *finished, again, from_step_index=0)
    outcome = given(*history).when(go_on()).decided()
    assert isinstance(outcome[1], ProcedureConductRequested)
    assert outcome[1].from_step_index == 1


def test_a_continuing_conduct_shows_the_cautions_again():
    outcome = given(*paused(part)).when(go_on()).decided()
    assert isinstance(outcome[1], ProcedureConductRequested)
    assert outcome[1].acknowledged_cautions == shown


def test_steps_are_redone_or_left_out_as_asked():
    history = paused(alone, *done(0), *done(1))
    command = go_on(from_step_index=1, redo_step_indexes=(3, 2, 3), skip_step_indexes=(1,))
    asked = given(*history).when(command).decided()[1]
    assert isinstance(asked, ProcedureConductRequested)
    assert (asked.from_step_index, asked.redo_step_indexes) == (1, (2, 3))
    assert asked.skip_step_indexes == (1,)


def test_a_conduct_continues_only_in_a_way_that_its_steps_allow():
    refusal = InvalidConductFromError
    history = paused(alone, *done(0), *done(1))
    for changes, saying in (
        ({"from_step_index": 3}, "from_step_index must be 2 or less"),
        ({"redo_step_indexes": (1, 2), "skip_step_indexes": (2,)}, "Step 2"),
        ({"redo_step_indexes": (4,)}, "no step 4; the steps are 0 to 3"),
        ({"skip_step_indexes": (4,)}, "no step 4"),
        ({"abandon": True, "from_step_index": 0}, "name none"),
        ({"abandon": True, "redo_step_indexes": (0,)}, "name none"),
        ({"abandon": True, "skip_step_indexes": (0,)}, "name none"),
    ):
        given(*history).when(go_on(**changes)).refused(refusal, saying=saying)
    given(*steered()).when(steer_on(redo_step_indexes=(2,))).refused(refusal, saying="no step 2")


def test_a_loop_continues_in_its_open_pass_or_in_the_next():
    first, second = (ProcedureIterationStarted(NOW, ID, index) for index in (1, 2))
    over = ProcedureIterationEnded(NOW, ID, 1, converged=None, reason=None, value=None)
    of_second = did(Stage.SUCCEEDED, 0, of=2)
    (registered, *rest) = steered(alone, of_second)
    for passes, begins, left in (((first, over), 2, 0), ((first, over, second), 2, 1)):
        outcome = given(registered, *passes, *rest).when(steer_on(max_iterations=7)).decided()
        asked = outcome[1]
        assert isinstance(asked, ProcedureConductRequested)
        assert asked.from_step_index == left
        loop = {**STEERING, "max_iterations": 7}
        assert loop_of(outcome) == (ConductKind.UNTIL_ADVISED, loop, begins)
    kept_loop = loop_of(given(*steered()).when(steer_on()).decided())
    assert kept_loop == (ConductKind.UNTIL_ADVISED, STEERING, 1)


CLOSED: list[tuple[Part, type[Refusal], str]] = [
    (AssetDecommissioned(NOW, STAGE), ProcedureAssetDecommissionedError, "Stage"),
    (
        replace(for_procedures, version_tag="3", executor_shapes=(ExecutorShape.METHOD,)),
        ProcedureCapabilityExecutorMismatchError,
        "METHOD",
    ),
    (
        CapabilityDeprecated(NOW, CAPABILITY, None),
        ProcedureBoundCapabilityDeprecatedError,
        "beamkeep.capability.scan",
    ),
    (RunHeld(NOW, RUN, None, None), ProcedureParentRunNotRunningError, "Night 1"),
    (moved(SupplyMarkedUnavailable), ProcedureRequiresAvailableSupplyError, "Ring beam"),
    (
        observed(HUTCH, PermitStatus.NOT_PERMITTED),
        ProcedureEnclosureCoverageMismatchError,
        "Hutch",
    ),
]
BOTH = [observed(id, PermitStatus.NOT_PERMITTED) for id in (HALL, HUTCH)]


def test_every_start_gate_is_checked():
    for ask, history in SIX:
        for closed, refusal, saying in CLOSED:
            given(*history(part), closed).when(ask()).refused(refusal, saying=saying)
        barred = given(*history(part), *BOTH).when(ask())
        barred.refused(ProcedureRequiresPermittedEnclosureError)


def test_no_gate_keeps_a_procedure_from_being_abandoned():
    for ask, history in SIX[4:]:
        for closed, _, _ in CLOSED:
            asked = given(*history(part), closed).when(ask(abandon=True)).decided()[1]
            assert isinstance(asked, ProcedureConductRequested)
            assert asked.abandon


def moving(asset_id: UUID) -> Facts:
    return replace(FACTS, routes=(replace(SIMULATED, asset_id=asset_id),))


def test_what_the_steps_move_is_gated_whatever_the_procedure_is_about():
    for ask, history in SIX:
        gone = given(*history(alone), AssetDecommissioned(NOW, BEAMLINE), here=moving(STAGE))
        gone.when(ask()).refused(ProcedureAssetDecommissionedError, saying="Beamline")
        barred = given(*history(alone), *BOTH, here=moving(STAGE)).when(ask())
        barred.refused(ProcedureRequiresPermittedEnclosureError)
        unknown = given(*history(alone), here=moving(ABSENT)).when(ask())
        unknown.refused(AssetNotFoundError)
    reading = given(alone, *BOTH, here=moving(STAGE)).when(once(steps=(LOOK, SEE)))
    assert reading.decided()


def advisories_of(scenario: Scenario) -> list[tuple[StartAdvisory, ...]]:
    telling = ProcedureStarted, ProcedureConductRequested
    return [each.advisories for each in scenario.decided() if isinstance(each, telling)]


on_stage = replace(run, run_id=UUID(int=96), asset_ids=(STAGE,))


def test_every_conduct_names_the_other_runs_on_the_assets_that_it_is_about_or_moves():
    noted = (StartAdvisory("Run", on_stage.run_id, "Running"),)
    for ask, history in SIX:
        for asked in (
            given(*history(part), on_stage).when(ask()),
            given(*history(alone), on_stage, here=moving(STAGE)).when(ask()),
        ):
            assert noted in advisories_of(asked)
        for other in (replace(on_stage, asset_ids=(SHED,)), replace(on_stage, run_id=RUN)):
            past = (*AROUND[:-2], for_procedures, other, *([] if other.run_id == RUN else [run]))
            alike = Scenario(OPERATIONS, (*past, *history(part))).when(ask())
            assert noted not in advisories_of(alike)


def test_a_conduct_keeps_which_assets_it_moves_that_its_procedure_is_not_about():
    for about, moves, kept_ids in (
        (alone, STAGE, (STAGE,)),
        (part, STAGE, ()),
        (part, CAMERA, (CAMERA,)),
    ):
        outcome = given(about, here=moving(moves)).when(once()).decided()
        assert isinstance(outcome[1], ProcedureConductRequested)
        assert outcome[1].moved_asset_ids == kept_ids


BOUNDED = replace(SIMULATED, bounds=(AddressBounds("bl:x", 0, 10),))


def test_everything_that_the_deployment_cannot_execute_is_listed():
    elsewhere = RecipeSetpointStep("elsewhere:x", 1.0)
    outside = RecipeSetpointStep("bl:x", 11.0)
    fit, home = RecipeComputeStep("fat"), RecipeActionStep("hum")
    unread = RecipeCaptureStep("bl:i.VAL", "seen")
    here = replace(FACTS, routes=(BOUNDED,))
    command = once(steps=(elsewhere, outside, fit, home), closing_steps=(unread,))
    refusal = given(alone, here=here).when(command).refused(ConductNotExecutableError)
    findings: Any = refusal.facts["findings"]
    places = [str(each).partition(": ")[0] for each in findings]
    assert places == ["steps[0]", "steps[1]", "steps[2]", "steps[3]", "closing_steps[0]"]
    for finding in (
        "No route leads to 'elsewhere:x'.",
        "'bl:x' takes numbers from 0 to 10.",
        "No job 'fat' is registered.",
        "No action 'hum' is registered.",
        "'bl:i.VAL' is not in the canonical form of in_memory",
    ):
        assert finding in str(refusal)


def test_every_command_needs_a_deployment_that_can_execute_its_steps():
    for ask, history in SIX:
        scenario = given(*history(alone), here=replace(FACTS, routes=()))
        scenario.when(ask()).refused(ConductNotExecutableError, saying="No route leads to 'bl:x'.")
    unadvised = replace(FACTS, advisors=frozenset())
    for ask, history in (SIX[3], SIX[5]):
        scenario = given(*history(alone), here=unadvised).when(ask())
        scenario.refused(ConductNotExecutableError, saying="No advisor 'grid_walk' is registered.")


def test_steps_without_a_recipe_write_only_where_the_deployment_opened_it_to_them():
    here = replace(
        FACTS,
        routes=(replace(SIMULATED, inline=False),),
        actions=(ActionEntry("home"),),
        jobs=(JobEntry("fit"),),
    )
    steps = (MOVE, HOME, RecipeComputeStep("fit"))
    refusal = given(alone, here=here).when(once(steps=steps)).refused(ConductNotExecutableError)
    assert str(refusal).count("open to steps of recipes only") == 3
    driven = replace(alone, recipe_id=UUID(int=8), recipe_version_number=1, steps=steps)
    pinned = PROCEDURE_STEPS.insert(PinnedSteps(ID, steps, ()))
    assert given(driven, pinned, here=here).when(once(steps=None)).decided()


def test_an_action_writes_only_where_a_route_allows_it():
    axis = ControlRoute("bl:axis", Substrate.IN_MEMORY, simulated=True)
    here = replace(FACTS, routes=(SIMULATED, axis))
    scenario = given(alone, here=here).when(once(steps=(HOME,)))
    scenario.refused(ConductNotExecutableError, saying="'bl:axis' is not writable")


def test_a_channel_belongs_to_one_active_conduct():
    other = CHANNELS.insert(ConductChannel("bl:x", UUID(int=77)))
    for ask, history in SIX:
        scenario = given(*history(alone), other).when(ask())
        scenario.refused(ProcedureChannelBusyError, saying=f"bl:x (conduct {UUID(int=77)})")
    free = given(alone, CHANNELS.insert(ConductChannel("bl:y", UUID(int=77)))).when(once())
    assert free.decided()


def test_the_checks_are_made_in_their_order():
    busy = CHANNELS.insert(ConductChannel("bl:x", UUID(int=77)))
    unrouted = replace(FACTS, advisors=frozenset())
    wrong_steps = {"steps": (SEE, SEE)}
    wrong_goal = {"objective": {**GOAL, "capture_name": "absent"}}
    wrong_space = {"space": {"axes": [{"name": "y", "lower": 0.0, "upper": 1.0}]}}
    gate = AssetDecommissioned(NOW, STAGE)
    active = (part, started, requested, gate, busy)
    everything = steer(**wrong_steps, **wrong_goal, **wrong_space)
    without_steps = steer(**wrong_goal, **wrong_space)
    for history, command, here, refusal in (
        (active, everything, unrouted, ProcedureConductActiveError),
        ((part, started, gate, busy), everything, unrouted, CANNOT[steer]),
        ((part, gate, busy), everything, unrouted, InvalidConductStepsError),
        ((part, gate, busy), without_steps, unrouted, InvalidConductCaptureError),
        ((part, gate, busy), steer(**wrong_space), unrouted, InvalidConductSpaceError),
        ((part, gate, busy), steer(), unrouted, ProcedureAssetDecommissionedError),
        ((part, busy), steer(), unrouted, ConductNotExecutableError),
        ((part, busy), steer(), FACTS, ProcedureChannelBusyError),
    ):
        given(*history, here=here).when(command).refused(refusal)
    wrong_way = steer_on(redo_step_indexes=(9,))
    running = ProcedureResumed(NOW, ID, None)
    for history, command, here, refusal in (
        ((*steered(part), running, gate, busy), wrong_way, unrouted, CANNOT[steer_on]),
        ((*steered(part), gate, busy), wrong_way, unrouted, InvalidConductFromError),
        ((*steered(part), gate, busy), steer_on(), unrouted, ProcedureAssetDecommissionedError),
        ((*steered(part), busy), steer_on(), unrouted, ConductNotExecutableError),
        ((*steered(part), busy), steer_on(), FACTS, ProcedureChannelBusyError),
    ):
        given(*history, here=here).when(command).refused(refusal)


def test_every_command_is_one_of_the_six():
    assert {each.command for each in OPERATIONS} == {type(ask()) for ask, _ in SIX}
    assert all(issubclass(each.command, ConductCommand) for each in OPERATIONS)
