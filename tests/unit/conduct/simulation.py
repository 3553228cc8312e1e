"""A seeded world around the machine: workers that die, people who interfere, and what was done."""

from collections import Counter
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from random import Random
from uuid import UUID, uuid5

from beamkeep.contexts.operation.advancing import BeginPass, End, EndPass, StatusEvent, Walked
from beamkeep.contexts.operation.conducted import (
    Activity,
    ActivitySource,
    ConductKind,
    ConductOutcome,
    Failure,
    Phase,
    Stage,
    StepAttempt,
    StepKind,
    activity_id,
    submission_key,
)
from beamkeep.contexts.operation.ending import lifecycle
from beamkeep.contexts.operation.history import Flags, Pass, RequestedConduct
from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Convergence,
    NamedAdvisor,
    ObjectiveKind,
    Steering,
    SteeringAdvice,
    SteeringAxis,
    SteeringObjective,
    SteeringSpace,
)
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
from beamkeep.contexts.seams.routes import ControlRoute, Substrate
from beamkeep.kernel import Record, replace
from beamkeep.parts.conducting.conduct.advising import grid_walk
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.loops import AskAdvisor, advisor_failure
from beamkeep.parts.conducting.conduct.walking import (
    Action,
    Attach,
    FailStep,
    Skip,
    Start,
    next_action,
)
from beamkeep.schemas import Json, JsonObject
from beamkeep.testing.seeds import dice

LEASE, RENEW, FENCE, WINDOW, LATE_START = 30.0, 10.0, 20.0, 300.0, 60.0
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = UUID(int=1)
ROUTES = (ControlRoute("bl:", Substrate.IN_MEMORY, simulated=True, writable=True),)
ENDED_WELL_ENOUGH = {
    ConductOutcome.HELD,
    ConductOutcome.HALTED,
    ConductOutcome.CANCELLED,
    ConductOutcome.INTERRUPTED,
}
STRENGTH = {None: 0, "hold": 1, "cancel": 2, "abort": 3}

type Machine = Callable[[Known], Action]
type Life = Generator[None]


class Variant(Record):
    """What is simulated: the machine, and how careful the workers are."""

    machine: Machine = next_action
    acts_first: bool = False
    fences: bool = True


class Effect(Record):
    """Something that reached the control system or the compute service."""

    tick: int
    conduct_id: UUID
    claim: int
    at: StepAttempt
    is_claimed: bool
    """Whether the claim was still the worker's own when it acted."""


class Conducted(Record):
    """One conduct of the history: what was asked, and how it ended."""

    request: RequestedConduct
    end: End | None = None
    walked: Walked | None = None
    status: str = ""
    """The status of the procedure after the end."""
    facts: Known | None = None
    """What was known when the end was decided."""


class Dropped(Exception):
    """The worker lost its claim, or it fenced itself."""


class World:
    """The store, the control system and the clock of one simulation."""

    def __init__(self, seed: int, variant: Variant) -> None:
        self.dice, self.variant = dice(seed, "conduct"), variant
        self.now, self.tick = 0.0, 0
        self.status, self.cancelled, self.parent_running = "Running", False, True
        self.permitted, self.version = True, 0
        self.active: RequestedConduct | None = None
        self.walked: Walked | None = None
        self.passes: list[Pass] = []
        self.begun_at: dict[int, float] = {}
        self.claim, self.owner, self.lease_until, self.beat = 0, 0, 0.0, 0.0
        self.stop: str | None = None
        self.rows: dict[UUID, Activity] = {}
        self.row_ticks: dict[UUID, int] = {}
        self.silences: dict[tuple[UUID, int], float] = {}
        self.effects: list[Effect] = []
        self.stops: list[tuple[int, str, UUID, Phase]] = []
        self.jobs: dict[UUID, str] = {}
        self.conducts: list[Conducted] = []
        self.broken: list[str] = []
        self.figures: Counter[str] = Counter()
        self._draw_procedure()

    def _draw_procedure(self) -> None:
        roll = self.dice
        shape = roll.choice(["once", "once", "hold", "hold", "converge", "steer"])
        self.steps = tuple(self._step(i, shape == "steer") for i in range(roll.randint(1, 6)))
        closing = (self._step(i, False) for i in range(100, 100 + roll.choice([0, 1, 2, 3])))
        self.closing_steps = tuple(closing)
        loop: Convergence | Steering | None = None
        if shape in ("converge", "steer"):
            self.steps = (*self.steps, RecipeCaptureStep("bl:seen", "seen"))
        if shape == "converge":
            criterion = WithinTolerance(0.9, 0.3) if roll.random() < 0.7 else Equals(2.0)
            loop = Convergence("seen", criterion, roll.randint(1, 4), roll.choice([None, 1, 2]))
        if shape == "steer":
            kind = roll.choice([*ObjectiveKind])
            target = 0.5 if kind is ObjectiveKind.SATISFY else None
            axes = (SteeringAxis("x", 0.0, 1.0), SteeringAxis("mode", choices=("a", "b")))
            loop = Steering(
                advisor=NamedAdvisor("grid_walk", {"points_per_axis": roll.randint(1, 2)}),
                objective=SteeringObjective(kind, "seen", target),
                space=SteeringSpace(axes[: roll.randint(1, 2)]),
                max_iterations=roll.randint(1, 4),
                time_budget=roll.choice([None, 5.0, 100.0]),
            )
        kinds = {
            "once": ConductKind.ONCE,
            "hold": ConductKind.OR_HOLD,
            "converge": ConductKind.UNTIL_CONVERGED,
            "steer": ConductKind.UNTIL_ADVISED,
        }
        self.request(RequestedConduct(self._id(), kinds[shape], loop=loop))

    def _step(self, index: int, steered: bool) -> RecipeStep:
        roll = self.dice
        repeatable = roll.random() < 0.5
        value: Json = float(index)
        if roll.random() < 0.2:
            value = {"$capture": f"c{index - 1}"}
        if steered and roll.random() < 0.5:
            value = {"$steering": "x"}
        return roll.choice(
            [
                RecipeSetpointStep(f"bl:s{index}", value, repeatable=repeatable),
                RecipeActionStep(f"a{index}", repeatable=repeatable),
                RecipeCheckStep(f"bl:k{index}", Equals(1.0)),
                RecipeCaptureStep(f"bl:c{index}", f"c{index}"),
                RecipeCaptureStep(f"bl:c{index}", f"c{index}"),
                RecipeComputeStep(f"j{index}", capture_name=f"c{index}", repeatable=repeatable),
            ]
        )

    def _id(self) -> UUID:
        return uuid5(SPACE, f"{len(self.conducts)}")

    @property
    def phase(self) -> Phase:
        return Phase.CLOSING if self.walked else Phase.STEPS

    @property
    def is_leased(self) -> bool:
        return self.claim > 0 and self.now < self.lease_until

    def request(self, request: RequestedConduct) -> None:
        self.active, self.walked, self.cancelled, self.stop = request, None, False, None
        self.claim, self.owner, self.beat, self.lease_until = 0, 0, self.now, 0.0
        self.status = "Running"
        self.version += 1
        self.conducts.append(Conducted(request))

    def fold(self) -> Known:
        """Return what streams and rows tell."""
        assert self.active
        return Known(
            conduct=self.active,
            steps=self.steps,
            closing_steps=self.closing_steps,
            routes=ROUTES,
            flags=Flags(
                aborted=self.status == "Aborted",
                cancel_requested=self.cancelled,
                held=self.status == "Held",
                parent_run_left=not self.parent_running,
            ),
            walk_outcome=self.walked and self.walked.walk_outcome,
            walk_failure=self.walked and self.walked.failure,
            passes=tuple(self.passes),
            activities=tuple(self.rows.values()),
            takeover_window=timedelta(seconds=WINDOW),
        )

    # What a worker writes: each is one statement, and each checks the claim under the lock.
    def _is_mine(self, owner: int, conduct_id: UUID, claim: int) -> bool:
        is_active = self.active is not None and self.active.conduct_id == conduct_id
        return is_active and (self.claim, self.owner) == (claim, owner) and self.is_leased

    def insert(self, owner: int, conduct_id: UUID, row: Activity) -> Activity | None:
        """Insert a row, or return the row that is there; None if `stop` refuses the start."""
        if not self._is_mine(owner, conduct_id, row.claim or 0):
            raise Dropped
        forbidden = {"cancel"} if row.phase is Phase.CLOSING else {"hold", "cancel", "abort"}
        if row.activity_id not in self.rows:
            if row.stage is Stage.STARTED and self.stop in forbidden:
                return None
            self.rows[row.activity_id] = replace(row, sequence=len(self.rows) + 1)
            self.row_ticks[row.activity_id] = self.tick
        return self.rows[row.activity_id]

    def advance(self, worker: "Worker", action: BeginPass | EndPass | Walked | End) -> bool:
        """Append an advance; return False if the stream moved meanwhile."""
        if not self._is_mine(worker.name, worker.conduct_id, worker.claim):
            raise Dropped
        if worker.version != self.version:
            return False
        self.apply(action, worker.known)
        return True

    def apply(self, action: BeginPass | EndPass | Walked | End, known: Known) -> None:
        assert self.active
        self.version += 1
        match action:
            case BeginPass():
                assert action.iteration_index == len(self.passes) + 1
                begun_by, where = self.active.conduct_id, action.coordinate
                self.passes.append(Pass(action.iteration_index, begun_by, where))
                self.begun_at[action.iteration_index] = self.now
            case EndPass():
                self._end_pass(action)
            case Walked():
                assert self.closing_steps
                assert not self.walked
                self.walked = action
                self.conducts[-1] = replace(self.conducts[-1], walked=action)
            case End():
                self._end(action, known)

    def _end_pass(self, action: EndPass) -> None:
        last = self.passes[-1]
        assert (last.iteration_index, last.ended) == (action.iteration_index, False)
        rows = self.rows.values()
        captures: JsonObject = {
            str(row.detail["capture_name"]): row.detail["value"]
            for row in rows
            if (row.iteration_index, row.stage) == (action.iteration_index, Stage.SUCCEEDED)
            and row.step_kind is StepKind.CAPTURE
        }
        self.passes[-1] = replace(
            last,
            ended=True,
            converged=action.converged,
            value=action.value,
            captures=captures,
            advised_stop=action.advised_stop,
            next_coordinate=action.advice and action.advice.next_coordinate,
            took=self.now - self.begun_at[action.iteration_index],
        )

    def _end(self, action: End, known: Known) -> None:
        if action.end_pass:
            self._end_pass(action.end_pass)
        names = {
            StatusEvent.HELD: "Held",
            StatusEvent.ABORTED: "Aborted",
            StatusEvent.COMPLETED: "Completed",
        }
        if action.status_event:
            if self.status != "Running":
                self.broken.append(f"{action.status_event} while {self.status}")
            self.status = names[action.status_event]
        ended = replace(self.conducts[-1], end=action, status=self.status, facts=known)
        self.conducts[-1] = ended
        self.figures[f"ended {action.outcome}"] += 1
        self.active = None

    # What people do: each is one append, which ends a conduct that has no live lease.
    def person(self, verb: str) -> None:
        is_open = self.active and not self.walked
        if verb == "hold" and self.status == "Running" and is_open:
            self.status = "Held"
        elif verb == "abort" and self.status in ("Running", "Held") and is_open:
            self.status = "Aborted"
        elif verb == "cancel" and self.active and not (self.cancelled and self.is_leased):
            self.cancelled = True
        elif verb == "continue" and self.status == "Held" and self.active is None:
            self._continue()
            return
        else:
            return
        assert self.active
        self.figures[verb] += 1
        self.version += 1
        self.stop = max(self.stop, verb, key=lambda each: STRENGTH[each])
        self.stops.append((self.tick, verb, self.active.conduct_id, self.phase))
        if not self.is_leased:
            self.claim, self.owner = self.claim + 1, 0
            known = self.fold()
            action = self.variant.machine(known)
            # A variant may want to go on; the command ends the conduct whatever happens.
            if isinstance(action, End):
                self.apply(action, known)

    def _continue(self) -> None:
        last, roll = self.conducts[-1], self.dice
        assert last.end
        assert last.end.outcome in ENDED_WELL_ENOUGH
        self.figures["continue"] += 1
        abandon = roll.random() < 0.08
        if not self.parent_running and not abandon:
            return
        undecided = [i for i in last.end.undecided_step_indexes if roll.random() < 0.6]
        skipped = {i for i in undecided if roll.random() < 0.4}
        redone = {*undecided} - skipped
        extra = roll.randrange(len(self.steps))
        redone |= {extra} if roll.random() < 0.2 and extra not in skipped else set()
        default = next(
            (i for i in range(len(self.steps)) if not self._is_finished(i)), len(self.steps)
        )
        request = replace(
            last.request,
            conduct_id=self._id(),
            from_step_index=0 if abandon or roll.random() < 0.3 else default,
            redo_step_indexes=frozenset() if abandon else frozenset(redone),
            skip_step_indexes=frozenset() if abandon else frozenset(skipped),
            abandon=abandon,
        )
        self.request(request)

    def _is_finished(self, index: int) -> bool:
        of_pass = len(self.passes) or None
        rows = [
            row
            for row in self.rows.values()
            if (row.phase, row.iteration_index, row.step_index) == (Phase.STEPS, of_pass, index)
        ]
        last = max((row.attempt or 0 for row in rows), default=0)
        stages = {row.stage for row in rows if row.attempt == last}
        return bool(stages & {Stage.SUCCEEDED, Stage.SKIPPED})

    def digest(self) -> str:
        told = [(row.stage, row.step_index, row.attempt, row.claim) for row in self.rows.values()]
        ends = [each.end and each.end.outcome for each in self.conducts]
        return sha256(repr((told, ends, self.now)).encode()).hexdigest()


class Worker:
    """One process: it claims the conduct, asks the machine and does what the machine says."""

    def __init__(self, world: World, name: int) -> None:
        self.world, self.name = world, name
        self.conduct_id, self.claim, self.version = SPACE, 0, 0
        self.known: Known
        self.sent_at, self.asleep_until = 0.0, 0.0
        self.life = self._live()

    def _live(self) -> Life:
        while True:
            yield
            world = self.world
            if world.active is None or world.is_leased:
                continue
            try:
                yield from self._conduct(world.active)
            except Dropped:
                world.figures["dropped"] += 1

    def _conduct(self, request: RequestedConduct) -> Life:
        world = self.world
        self.sent_at, self.conduct_id = world.now, request.conduct_id
        silence = world.now - world.beat
        world.claim, world.owner, world.beat = world.claim + 1, self.name, world.now
        world.lease_until, self.claim = world.now + LEASE, world.claim
        world.silences[self.conduct_id, self.claim] = silence
        world.figures["claims"] += 1
        self._fold()
        self.known = replace(self.known, silence=timedelta(seconds=silence))
        if (self.claim > 1 or silence > LATE_START) and not world.permitted:
            self._refuse()
        while True:
            yield from self._breathe()
            yield from self._carry_out(world.variant.machine(self.known))
            if world.active is None or world.active.conduct_id != self.conduct_id:
                return

    def _fold(self) -> None:
        """Fold again; what was learnt in this claim is kept."""
        if self.world.active is None or self.world.active.conduct_id != self.conduct_id:
            raise Dropped
        fresh = self.world.fold()
        if self.version:
            kept = self.known
            fresh = replace(
                fresh,
                silence=kept.silence,
                refusal=kept.refusal,
                answer=kept.answer,
                lost_submissions=kept.lost_submissions,
            )
        self.known, self.version = fresh, self.world.version

    def _refuse(self) -> None:
        failure = lifecycle("ProcedureRequiresPermittedEnclosureError", "Closed.", "enclosure")
        self.known = replace(self.known, refusal=failure)

    def _breathe(self) -> Life:
        """Let others run, and renew the lease when it is time."""
        yield
        world = self.world
        # A renewal can be late: the database does not answer every time.
        if world.now - self.sent_at >= RENEW and world.dice.random() < 0.5:
            is_mine = (world.claim, world.owner) == (self.claim, self.name) and world.is_leased
            if world.active is None or not is_mine or world.active.conduct_id != self.conduct_id:
                raise Dropped
            world.lease_until, world.beat = world.now + LEASE, world.now
            self.sent_at = world.now

    def _write(
        self, at: StepAttempt, stage: Stage, detail: JsonObject, of: UUID
    ) -> Generator[None, None, Activity | None]:
        """Write a row; when the answer is lost, send the same row again."""
        steps = self.known.steps if at.phase is Phase.STEPS else self.known.closing_steps
        when = EPOCH + timedelta(seconds=self.world.now)
        row = Activity(
            activity_id=activity_id(of, at, stage),
            procedure_id=SPACE,
            source=ActivitySource.CONDUCTOR,
            step_kind=StepKind(str(steps[at.step_index].__struct_config__.tag)),
            stage=stage,
            detail=detail,
            sampled_at=when,
            recorded_at=when,
            principal_id=SPACE,
            surface_id=None,
            correlation_id=None,
            conduct_id=of,
            claim=self.claim,
            phase=at.phase,
            iteration_index=at.iteration_index,
            step_index=at.step_index,
            attempt=at.attempt,
        )
        kept = self.world.insert(self.name, self.conduct_id, row)
        while self.world.dice.random() < 0.05:
            yield from self._breathe()
            kept = self.world.insert(self.name, self.conduct_id, row)
        if kept:
            present = {each.activity_id for each in self.known.activities}
            if kept.activity_id not in present:
                rows = (*self.known.activities, kept)
                self.known = replace(self.known, activities=rows)
        return kept

    def _carry_out(self, action: Action) -> Life:
        world = self.world
        match action:
            case Start():
                yield from self._start(action)
            case FailStep():
                detail: JsonObject = {
                    "error_class": action.error_class,
                    "message": action.message,
                    "in_doubt": False,
                }
                yield from self._write(action.at, Stage.FAILED, detail, self.conduct_id)
            case Skip():
                yield from self._write(action.at, Stage.SKIPPED, {}, self.conduct_id)
            case Attach():
                world.figures["attached"] += 1
                key = submission_key(action.conduct_id, action.at)
                yield from self._wait(action.at, key, action.conduct_id)
            case AskAdvisor():
                yield from self._breathe()
                self._ask(action)
            case BeginPass() | EndPass() | Walked() | End():
                done = world.advance(self, action)
                if done:
                    self.known = replace(self.known, answer=None)
                yield from self._breathe()
                if not (done and isinstance(action, End)):
                    self._fold()

    def _ask(self, action: AskAdvisor) -> None:
        roll = self.world.dice.random()
        loop = self.known.conduct.loop
        assert isinstance(loop, Steering)
        answer: SteeringAdvice | Failure = grid_walk(action.evidence)
        if roll < 0.05:
            answer = advisor_failure(
                self.known, loop.advisor.name, "AdvisorTimeoutError", "No answer."
            )
        elif roll < 0.1:
            answer = SteeringAdvice(AdviceVerdict.MEASURE, {"x": 7.0})
        self.known = replace(self.known, answer=answer)

    def _start(self, action: Start) -> Life:
        """Carry out one step in the order of the page: permission, row, fence, effect, outcome."""
        world, at, is_walking = self.world, action.at, action.at.phase is Phase.STEPS
        yield from self._breathe()
        if not world.permitted and world.dice.random() < 0.3:
            self._refuse()
            return
        if is_walking and not world.parent_running and not self.known.conduct.abandon:
            self._fold()
            return
        if world.variant.acts_first:
            self._act(at)
        elif (yield from self._write(at, Stage.STARTED, action.detail, self.conduct_id)) is None:
            world.figures["starts refused by stop"] += 1
            self._fold()
            return
        yield from self._breathe()
        if world.variant.fences and world.now - self.sent_at >= FENCE:
            world.figures["fenced"] += 1
            raise Dropped
        error = world.dice.random()
        if error < 0.03:
            failed: JsonObject = {
                "error_class": "ControlNotConnectedError",
                "message": "",
                "in_doubt": False,
            }
            yield from self._write(at, Stage.FAILED, failed, self.conduct_id)
            return
        # Nothing can come between the fence and the effect.
        if not world.variant.acts_first:
            self._act(at)
        else:
            yield from self._write(at, Stage.STARTED, action.detail, self.conduct_id)
        if isinstance(action.step, RecipeComputeStep):
            key = submission_key(self.conduct_id, at)
            world.jobs.setdefault(key, "Lost" if world.dice.random() < 0.2 else "Succeeded")
            yield from self._breathe()
            job: JsonObject = {"job_id": str(key)}
            yield from self._write(at, Stage.SUBMITTED, job, self.conduct_id)
            yield from self._wait(at, key, self.conduct_id)
            return
        yield from self._finish(at, action.step, error)

    def _act(self, at: StepAttempt) -> None:
        world = self.world
        is_claimed = (world.claim, world.owner) == (self.claim, self.name)
        is_claimed = is_claimed and world.conducts[-1].request.conduct_id == self.conduct_id
        world.effects.append(Effect(world.tick, self.conduct_id, self.claim, at, is_claimed))

    def _wait(self, at: StepAttempt, key: UUID, of: UUID) -> Life:
        """Wait for a job and write its outcome for the attempt that submitted it."""
        world = self.world
        yield from self._breathe()
        if world.jobs.get(key, "Lost") == "Lost":
            lost = self.known.lost_submissions | {key}
            self.known = replace(self.known, lost_submissions=lost)
            world.figures["lost jobs"] += 1
            return
        steps = self.known.steps if at.phase is Phase.STEPS else self.known.closing_steps
        yield from self._finish(at, steps[at.step_index], world.dice.random(), of)

    def _finish(
        self, at: StepAttempt, step: RecipeStep, error: float, of: UUID | None = None
    ) -> Life:
        world, of = self.world, of or self.conduct_id
        yield from self._breathe()
        stage, detail = Stage.SUCCEEDED, dict[str, Json]()
        is_interrupted = world.stop in ("cancel", "abort") and error < 0.6
        reads = isinstance(step, RecipeCheckStep | RecipeCaptureStep)
        if is_interrupted or error < 0.08:
            stage = Stage.FAILED
            name = "StepCancelled" if is_interrupted else "ControlTimeoutError"
            detail |= {"error_class": name, "message": "", "in_doubt": not reads}
        elif isinstance(step, RecipeCaptureStep):
            detail |= {"capture_name": step.capture_name, "value": round(world.dice.random(), 1)}
        elif isinstance(step, RecipeComputeStep):
            measured: Json = {"name": step.capture_name, "value": at.attempt, "quality": "Good"}
            detail["measurements"] = [measured]
        yield from self._write(at, stage, detail, of)
        yield from self._breathe()


def simulate(seed: int, variant: Variant | None = None) -> World:
    """Return the history of one procedure under a seed."""
    world = World(seed, variant or Variant())
    roll, workers, born = world.dice, list[Worker](), 0
    for tick in range(1, 100_000):
        world.tick = tick
        is_calm = tick > 400
        if is_calm and (world.active is None or len(world.conducts) > 40):
            break
        if world.status in ("Completed", "Aborted") and world.active is None:
            break
        if is_calm:
            world.parent_running = world.permitted = True
        if len(workers) < 2:
            born += 1
            workers.append(Worker(world, born))
            next(workers[-1].life)
        world.now += roll.choice([0.0, 0.01, 0.1, 0.5, 2.0])
        event = 1.0 if is_calm else roll.random()
        if event < 0.04:
            _interfere(world, workers, roll)
        elif event < 0.05:
            world.now += roll.choice([5.0, 35.0, 70.0, 400.0])
        elif event < 0.054:
            world.parent_running = not world.parent_running or roll.random() < 0.5
        elif event < 0.058:
            world.permitted = not world.permitted or roll.random() < 0.5
        elif event < 0.12 and world.active is None:
            world.person("continue")
        else:
            _run(world, roll.choice(workers))
    assert world.active is None or world.variant != Variant()
    return world


def _interfere(world: World, workers: list[Worker], roll: Random) -> None:
    match roll.choice(
        ["kill", "kill", "kill", "kill", "sleep", "sleep", "sleep", "hold", "cancel", "abort"]
    ):
        case "kill":
            workers.remove(roll.choice(workers))
            world.figures["killed"] += 1
        case "sleep":
            roll.choice(workers).asleep_until = world.now + roll.choice(
                [15.0, 22.0, 31.0, 100.0, 400.0]
            )
            world.figures["paused"] += 1
        case verb if verb != "abort" or roll.random() < 0.3:
            world.person(verb)
        case _:
            pass


def _run(world: World, worker: Worker) -> None:
    if world.now >= worker.asleep_until:
        next(worker.life)
    elif world.tick > 400:
        world.now = max(world.now, worker.asleep_until)
