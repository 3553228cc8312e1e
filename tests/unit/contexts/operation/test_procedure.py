"""Procedures by hand: registered, started, held, iterated and ended."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.unit.contexts.operation.procedures import a_procedure

from beamkeep.contexts.decision.decision import DecisionNotFoundError, DecisionRegistered
from beamkeep.contexts.equipment.asset import AssetNotFoundError, AssetRegistered, AssetTier
from beamkeep.contexts.operation import procedure, stopping
from beamkeep.contexts.operation.conducted import ConductKind, ConductOutcome, Phase
from beamkeep.contexts.operation.procedure import (
    ITERATIONS,
    PROCEDURE_STEPS,
    ActiveConduct,
    CompleteProcedure,
    EndedConduct,
    EndProcedureIteration,
    InvalidProcedureBindingsError,
    InvalidProcedureInterruptedAtError,
    InvalidProcedureIterationCapError,
    PinnedSteps,
    Procedure,
    ProcedureAborted,
    ProcedureBoundCapabilityDeprecatedError,
    ProcedureBoundRecipeDeprecatedError,
    ProcedureCannotAbortError,
    ProcedureCannotCompleteError,
    ProcedureCannotEndIterationError,
    ProcedureCannotHoldError,
    ProcedureCannotResumeError,
    ProcedureCannotStartIterationError,
    ProcedureCannotTruncateError,
    ProcedureCapabilityExecutorMismatchError,
    ProcedureCapabilityMismatchError,
    ProcedureCommand,
    ProcedureCompleted,
    ProcedureConductActiveError,
    ProcedureConductCancelRequested,
    ProcedureConductEnded,
    ProcedureConductRequested,
    ProcedureConductWalked,
    ProcedureHeld,
    ProcedureIteration,
    ProcedureIterationEnded,
    ProcedureIterationLimitReachedError,
    ProcedureIterationStarted,
    ProcedureParentRunNotRunningError,
    ProcedureRecipe,
    ProcedureRecipeStaleError,
    ProcedureResumed,
    ProcedureStarted,
    ProcedureStatus,
    ProcedureTruncated,
    RegisterProcedure,
    ResumeProcedure,
    StartProcedureIteration,
    TruncateProcedure,
    begin,
    evolve,
)
from beamkeep.contexts.operation.stopping import AbortProcedure, HoldProcedure
from beamkeep.contexts.recipe.capability import (
    CapabilityDefined,
    CapabilityDeprecated,
    CapabilityNotFoundError,
    CapabilityVersioned,
    ExecutorShape,
)
from beamkeep.contexts.recipe.recipe import (
    RecipeDefined,
    RecipeDeprecated,
    RecipeNotFoundError,
    RecipeVersioned,
    RecipeVersionNotFoundError,
)
from beamkeep.contexts.recipe.steps import RecipeCheckStep, RecipeSetpointStep, WithinTolerance
from beamkeep.contexts.run.run import RunHeld, RunNotFoundError, RunResumed, RunStarted
from beamkeep.kernel import Event, replace
from beamkeep.schemas import JsonObject
from beamkeep.testing.past import ABSENT, ME, NEW, NOW
from beamkeep.testing.scenario import Example, Scenario, matrix, misshapen

NONE: JsonObject = {}
ID, RUN, CAPABILITY, RECIPE = NEW, UUID(int=20), UUID(int=21), UUID(int=22)
STAGE, DECISION, CONDUCT, OTHER = UUID(int=23), UUID(int=24), UUID(int=25), UUID(int=26)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"energy": {"type": "number", "maximum": 35}, "mode": {"type": "object"}},
    "additionalProperties": False,
}
OLDER: dict[str, Any] = {**SCHEMA, "properties": {"mode": {"type": "object"}}}
P = ProcedureStatus
OPERATIONS = (*procedure.OPERATIONS, *stopping.OPERATIONS)

stage = AssetRegistered.of(
    object(),
    occurred_at=NOW,
    asset_id=STAGE,
    name="Stage",
    tier=AssetTier.DEVICE,
    parent_id=None,
    facility_code="local",
    family_ids=(),
    model_id=None,
    located_in_enclosure_id=None,
    alternate_identifiers=(),
)
run = RunStarted(
    *(NOW, RUN, "Night 1", UUID(int=30), None, UUID(int=31), (), None, None),
    *(NONE, NONE, (), (), None),
)
run_held = RunHeld(NOW, RUN, None, None)
decision = DecisionRegistered(
    *(NOW, DECISION, ME, "RunHold", "Hold", None, None, None, None),
    *(None, None, (), None, ()),
)
capability = CapabilityDefined.of(
    object(),
    occurred_at=NOW,
    capability_id=CAPABILITY,
    code="beamkeep.capability.homing",
    name="Homing",
    description=None,
    required_affordances=(),
    executor_shapes=(ExecutorShape.PROCEDURE,),
    parameters_schema=SCHEMA,
)
move = RecipeSetpointStep("bl:mono:energy", {"$binding": "energy"})
settle = RecipeCheckStep("bl:mono:ready", WithinTolerance({"$binding": "energy"}, 0.1))
recipe = RecipeDefined(
    NOW,
    RECIPE,
    steps=(move,),
    closing_steps=(settle,),
    version_number=1,
    name="Home",
    capability_id=CAPABILITY,
)
versioned = RecipeVersioned(
    NOW, RECIPE, steps=(settle,), closing_steps=(), version_number=2, version_tag="2"
)
AROUND = (stage, run, decision, capability, recipe)

registered = a_procedure(ID)
MOVE, SETTLE = replace(move, value=25.0), replace(settle, criterion=WithinTolerance(25.0, 0.1))
driven = replace(
    registered,
    capability_id=CAPABILITY,
    recipe_id=RECIPE,
    recipe_version_number=1,
    bindings={"energy": 25.0},
    steps=(MOVE,),
    closing_steps=(SETTLE,),
)
started = ProcedureStarted(NOW, ID, ())
held = ProcedureHeld(NOW, ID, "no beam", None)
resumed = ProcedureResumed(NOW, ID, None)
completed = ProcedureCompleted(NOW, ID)
aborted = ProcedureAborted(NOW, ID, "smoke")
truncated = ProcedureTruncated(NOW, ID, "power cut", None)
first = ProcedureIterationStarted(NOW, ID, 1)
ended = ProcedureIterationEnded(NOW, ID, 1, converged=False, reason=None, value=None)
conducted = ProcedureConductRequested(
    NOW,
    ID,
    conduct_id=CONDUCT,
    conduct_kind=ConductKind.ONCE,
    root_kind=ConductKind.ONCE,
    continues_conduct_id=None,
    steps=(MOVE,),
    closing_steps=(),
    from_step_index=None,
    redo_step_indexes=(),
    skip_step_indexes=(),
    abandon=False,
    loop=None,
    acknowledged_cautions=(),
    decided_by_decision_id=None,
)
walked = ProcedureConductWalked(NOW, ID, CONDUCT, ConductOutcome.COMPLETED, None)
conduct_ended = ProcedureConductEnded(
    NOW,
    ID,
    conduct_id=CONDUCT,
    outcome=ConductOutcome.HELD,
    succeeded=False,
    completed_count=0,
    failure=None,
    closing_failures=(),
    actuation_kind=None,
    claim_count=1,
    undecided_step_indexes=(0,),
)

REGISTER = RegisterProcedure(name=" Align ", kind=" center_alignment ")
HOLD = HoldProcedure(procedure_id=ID, reason=" no beam ")
RESUME = ResumeProcedure(procedure_id=ID)
COMPLETE = CompleteProcedure(procedure_id=ID)
ABORT = AbortProcedure(procedure_id=ID, reason=" smoke ")
TRUNCATE = TruncateProcedure(procedure_id=ID, reason=" power cut ")
BEGIN = StartProcedureIteration(procedure_id=ID, iteration_index=1)
END = EndProcedureIteration(procedure_id=ID, iteration_index=1, converged=False)
ROW = ProcedureIteration(ID, 1, NOW)


def given(*history: Event | Any) -> Scenario:
    return Scenario(OPERATIONS, (*AROUND, *history))


def registering(**changes: object) -> RegisterProcedure:
    return REGISTER.model_copy(update=changes)


def following(number: int | None = None, **bindings: Any) -> RegisterProcedure:
    bound = bindings or {"energy": 25.0}
    return registering(recipe=ProcedureRecipe(RECIPE, number, bound))


def test_a_procedure_needs_a_name_and_a_kind():
    given().when(REGISTER).then(registered)


def test_a_procedure_names_its_assets_its_run_its_capability_and_its_limit():
    full = registering(
        target_asset_ids=frozenset({STAGE}),
        parent_run_id=RUN,
        capability_id=CAPABILITY,
        max_consecutive_unconverged_iterations=3,
    )
    given().when(full).then(
        replace(
            registered,
            target_asset_ids=(STAGE,),
            parent_run_id=RUN,
            capability_id=CAPABILITY,
            max_consecutive_unconverged_iterations=3,
        )
    )


def test_what_a_procedure_names_must_exist():
    for change, refusal in (
        ({"target_asset_ids": frozenset({ABSENT})}, AssetNotFoundError),
        ({"parent_run_id": ABSENT}, RunNotFoundError),
        ({"capability_id": ABSENT}, CapabilityNotFoundError),
        ({"recipe": ProcedureRecipe(ABSENT)}, RecipeNotFoundError),
        ({"recipe": ProcedureRecipe(RECIPE, 2)}, RecipeVersionNotFoundError),
    ):
        given().when(registering(**change)).refused(refusal)


def test_the_limit_of_iterations_is_at_least_one():
    limit = "max_consecutive_unconverged_iterations"
    given().when(registering(**{limit: 1})).then(replace(registered, **{limit: 1}))
    given().when(registering(**{limit: 0})).refused(InvalidProcedureIterationCapError)


def test_a_procedure_that_follows_a_recipe_pins_its_steps_with_the_values():
    pinned = PROCEDURE_STEPS.insert(PinnedSteps(ID, (MOVE,), (SETTLE,)))
    given().when(following()).then(driven, pinned)
    newest = replace(driven, recipe_version_number=2, steps=(SETTLE,), closing_steps=())
    given(versioned).when(following()).then(
        newest, PROCEDURE_STEPS.insert(PinnedSteps(ID, (SETTLE,), ()))
    )
    given(versioned).when(following(1)).then(driven, pinned)


def test_the_recipe_realizes_the_capability_that_is_named():
    other = replace(capability, capability_id=OTHER, code="beamkeep.capability.other")
    command = following().model_copy(update={"capability_id": OTHER})
    given(other).when(command).refused(ProcedureCapabilityMismatchError)


def test_a_capability_must_be_current_and_for_procedures():
    naming = registering(capability_id=CAPABILITY)
    for_methods = CapabilityVersioned.of(
        capability, version_tag="2", executor_shapes=(ExecutorShape.METHOD,)
    )
    deprecated = CapabilityDeprecated(NOW, CAPABILITY, None)
    given(for_methods).when(naming).refused(ProcedureCapabilityExecutorMismatchError)
    given(deprecated).when(naming).refused(ProcedureBoundCapabilityDeprecatedError)
    given(RecipeDeprecated(NOW, RECIPE, None)).when(following()).refused(
        ProcedureBoundRecipeDeprecatedError
    )


def test_a_recipe_that_binds_a_parameter_no_longer_declared_is_stale():
    narrowed = CapabilityVersioned.of(capability, version_tag="2", parameters_schema=OLDER)
    given(narrowed).when(following(mode={})).refused(ProcedureRecipeStaleError, saying="energy")


def test_bindings_fit_the_schema_and_the_steps():
    wrong = InvalidProcedureBindingsError
    given().when(following(energy=36.0)).refused(wrong)
    given().when(following(mode={})).refused(wrong, saying="needs values for: energy")
    given().when(following(energy=25.0, mode={"$capture": "x"})).refused(wrong, saying="$capture")
    untyped = CapabilityVersioned.of(
        capability, version_tag="2", parameters_schema={**SCHEMA, "properties": {"energy": {}}}
    )
    given(untyped).when(following(energy={"x": 1})).refused(wrong, saying="does not fit the step")


def state(status: ProcedureStatus) -> Procedure:
    return replace(begin(registered), status=status)


def test_the_status_moves_only_as_the_matrix_says():
    matrix(
        OPERATIONS,
        P,
        [Example(command) for command in (HOLD, RESUME, COMPLETE, ABORT, TRUNCATE)],
        state,
        lambda procedure: procedure.status,
        """
              hold_procedure resume_procedure complete_procedure abort_procedure truncate_procedure
    Defined   -              -                -                  Aborted         -
    Running   Held           -                Completed          Aborted         Truncated
    Held      -              Running          -                  Aborted         Truncated
    Completed -              -                -                  -               -
    Aborted   -              -                -                  -               -
    Truncated -              -                -                  -               -
        """,
    )


def test_a_procedure_is_held_resumed_and_ended_by_hand():
    running = (registered, started)
    given(*running).when(HOLD).then(held)
    given(*running, held).when(RESUME).then(resumed)
    given(*running).when(COMPLETE).then(completed)
    given(*running, held).when(ABORT).then(aborted)
    given(*running).when(TRUNCATE).then(truncated)
    given(registered).when(ABORT).then(aborted)


def test_a_move_that_the_status_does_not_allow_is_refused():
    for command, refusal in (
        (HOLD, ProcedureCannotHoldError),
        (RESUME, ProcedureCannotResumeError),
        (COMPLETE, ProcedureCannotCompleteError),
        (ABORT, ProcedureCannotAbortError),
        (TRUNCATE, ProcedureCannotTruncateError),
    ):
        given(registered, started, completed).when(command).refused(refusal, saying="Completed")


def test_holding_and_resuming_name_the_decision_they_follow():
    decided = {"decided_by_decision_id": DECISION}
    given(registered, started).when(HOLD.model_copy(update=decided)).then(replace(held, **decided))
    given(registered, started, held).when(RESUME.model_copy(update=decided)).then(
        replace(resumed, **decided)
    )
    for command in (HOLD, RESUME):
        unknown = command.model_copy(update={"decided_by_decision_id": ABSENT})
        given(registered, started).when(unknown).refused(DecisionNotFoundError)


def test_a_procedure_is_resumed_only_while_its_run_is_running():
    part = (replace(registered, parent_run_id=RUN), started, held)
    given(*part, run_held).when(RESUME).refused(ProcedureParentRunNotRunningError, saying="Held")
    given(*part, run_held, RunResumed(NOW, RUN, None)).when(RESUME).then(resumed)


def test_a_procedure_was_not_interrupted_in_the_future():
    moment = timedelta(microseconds=1)
    at = TRUNCATE.model_copy(update={"interrupted_at": NOW})
    given(registered, started).when(at).then(replace(truncated, interrupted_at=NOW))
    later = TRUNCATE.model_copy(update={"interrupted_at": NOW + moment})
    given(registered, started).when(later).refused(InvalidProcedureInterruptedAtError)


def test_while_a_conduct_is_active_the_procedure_is_not_driven_by_hand():
    active = (registered, started, conducted)
    for past, command in (
        (active, COMPLETE),
        (active, TRUNCATE),
        ((*active, held), RESUME),
        (active, BEGIN),
        ((*active, first, ITERATIONS.insert(ROW)), END),
    ):
        given(*past).when(command).refused(ProcedureConductActiveError, saying=str(CONDUCT))


def test_iterations_are_numbered_and_one_is_open_at_a_time():
    running = (registered, started)
    given(*running).when(BEGIN).then(first, ITERATIONS.insert(ROW))
    given(*running, first).when(BEGIN).refused(
        ProcedureCannotStartIterationError, saying="Iteration 1 is open"
    )
    given(*running, first, ended).when(BEGIN).refused(
        ProcedureCannotStartIterationError, saying="The next iteration is 2, not 1."
    )
    second = replace(first, iteration_index=2)
    given(*running, first, ended).when(BEGIN.model_copy(update={"iteration_index": 2})).then(
        second, ITERATIONS.insert(replace(ROW, iteration_index=2))
    )
    given(registered).when(BEGIN).refused(ProcedureCannotStartIterationError, saying="Defined")


def test_the_open_iteration_is_ended_with_what_it_came_to():
    came_to = {"converged": True, "value": 1.25, "reason": "centred"}
    open_one = (registered, started, first, ITERATIONS.insert(ROW))
    event, row = replace(ended, **came_to), replace(ROW, ended_at=NOW, **came_to)
    given(*open_one).when(END.model_copy(update=came_to)).then(event, ITERATIONS.replace(row))
    given(*open_one, held).when(END.model_copy(update=came_to)).then(event, ITERATIONS.replace(row))


def test_an_iteration_ends_with_a_finite_number_a_boolean_or_a_short_text():
    for value in (1, 1.5, True, "x" * 1000):
        EndProcedureIteration(procedure_id=ID, iteration_index=1, converged=None, value=value)
    for value in (float("nan"), float("inf"), "x" * 1001, [1.0]):
        fields = {"procedure_id": ID, "iteration_index": 1, "converged": None, "value": value}
        misshapen(EndProcedureIteration, "value", **fields)


def test_only_the_open_iteration_is_ended():
    for past, saying in (
        ((registered,), "Defined"),
        ((registered, started), "No iteration is open."),
        ((registered, started, first, completed), "Completed"),
    ):
        given(*past).when(END).refused(ProcedureCannotEndIterationError, saying=saying)
    other = END.model_copy(update={"iteration_index": 2})
    given(registered, started, first).when(other).refused(
        ProcedureCannotEndIterationError, saying="Iteration 1 is open, not 2."
    )


def test_after_too_many_iterations_without_success_no_other_starts():
    limited = replace(registered, max_consecutive_unconverged_iterations=1)
    third = BEGIN.model_copy(update={"iteration_index": 3})
    second = (replace(first, iteration_index=2), replace(ended, iteration_index=2, converged=True))
    given(limited, started, first, ended).when(
        BEGIN.model_copy(update={"iteration_index": 2})
    ).refused(ProcedureIterationLimitReachedError, saying="The limit is 1.")
    outcome = given(limited, started, first, ended, *second).when(third).decided()
    assert outcome[0] == replace(first, iteration_index=3)


def folded(*events: Any) -> Procedure:
    state = begin(registered)
    for event in events:
        state = evolve(state, event)
    return state


def test_the_last_reason_stays_until_another_is_given():
    assert folded(started, held, resumed).last_status_reason == "no beam"
    assert folded(started, held, resumed, aborted).last_status_reason == "smoke"


def test_an_open_iteration_ends_with_the_procedure_and_not_with_a_hold():
    assert folded(started, first, held).current_iteration_index == 1
    for end in (completed, aborted, truncated):
        assert folded(started, first, end).current_iteration_index is None


def test_a_conduct_is_followed_from_its_request_to_its_end():
    active = ActiveConduct(CONDUCT, ConductKind.ONCE, ConductKind.ONCE, NOW)
    assert folded(started, conducted).active_conduct == active
    cancel = ProcedureConductCancelRequested(NOW, ID, CONDUCT, "wrong sample")
    cancelled = folded(started, conducted, cancel).active_conduct
    assert cancelled == replace(active, cancel_requested=True)
    closing = folded(started, conducted, walked).active_conduct
    assert closing == replace(active, phase=Phase.CLOSING, walk_outcome=ConductOutcome.COMPLETED)
    idle = folded(started, conducted, walked, conduct_ended)
    assert idle.active_conduct is None
    assert idle.last_conduct == EndedConduct(
        CONDUCT,
        ConductKind.ONCE,
        root_kind=ConductKind.ONCE,
        outcome=ConductOutcome.HELD,
        ended_at=NOW,
        undecided_step_indexes=(0,),
    )


def test_a_procedure_that_does_not_exist_is_not_changed():
    commands: tuple[ProcedureCommand, ...] = (HOLD, RESUME, COMPLETE, ABORT, TRUNCATE, BEGIN, END)
    for command in commands:
        absent = OPERATIONS[0].aggregate.absent
        given().when(command).refused(absent)
