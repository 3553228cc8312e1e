"""RunSupervisor in two processes that are stepped in a random order and crash, and its judge."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from unittest.mock import patch
from uuid import UUID

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.supply.supply import SupplyStatus
from beamkeep.kernel import Refusal, replace
from beamkeep.parts.agents import beam as beam_module
from beamkeep.parts.agents import run_supervisor
from beamkeep.parts.agents.reactions import TickLoop
from beamkeep.parts.agents.run_supervisor import SUPERVISOR, SupervisionRules
from beamkeep.runtime.dispatch import NO_BASIS, Basis
from beamkeep.runtime.sending import CommandSender
from beamkeep.testing.service import AdminClient, memory_service
from tests.support.agents import RULES, a_beam, a_running_run, forbid, supervisor

STEPS = 120
LOST = {"Unavailable", "Recovering"}
in_process: ContextVar[bool] = ContextVar("in_process", default=False)


class Steps:
    """Lets one process at a time take one step."""

    def __init__(self) -> None:
        self.waiting: dict[asyncio.Task[Any], asyncio.Future[None]] = {}

    async def step(self) -> None:
        """Wait for the next step; whoever is no process goes on at once."""
        task = asyncio.current_task()
        if not in_process.get() or task is None:
            return
        turn = asyncio.get_running_loop().create_future()
        self.waiting[task] = turn
        try:
            await turn
        finally:
            self.waiting.pop(task, None)


class Stepped:
    """Puts a step before every call of a store that an agent makes."""

    def __init__(self, store: MemoryStore, steps: Steps) -> None:
        for name in ("open", "load", "later", "history", "append", "rows", "listing"):
            setattr(store, name, self._stepped(getattr(store, name), steps))

    @staticmethod
    def _stepped(
        call: Callable[..., Awaitable[Any]], steps: Steps
    ) -> Callable[..., Awaitable[Any]]:
        async def stepped(*arguments: Any, **more: Any) -> Any:
            await steps.step()
            return await call(*arguments, **more)

        return stepped


class Walk:
    """One run, one or two supplies of beam, two processes, operators and a clock."""

    def __init__(self, roll: Random) -> None:
        self._roll, self._steps = roll, Steps()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.figures: Counter[str] = Counter()

    async def go(self) -> Counter[str]:
        """Walk, and count what went wrong."""
        roll = self._roll
        service, self.store = await memory_service()
        self.store.clock = lambda: self.now
        self.do = AdminClient(service, self.store)
        denied = roll.random() < 0.3
        if denied:
            await forbid(self.do, SUPERVISOR, "hold_run")
        self.run_id = await a_running_run(self.do)
        self.beams = [await a_beam(self.do) for _ in range(roll.choice([1, 1, 2]))]
        Stepped(self.store, self._steps)
        loops = [supervisor(service, self.store) for _ in range(2)]
        tasks: list[asyncio.Task[Any] | None] = [None, None]
        for _ in range(STEPS):
            await self._step(loops, tasks)
        # At last everybody lets the agent finish: whoever should be held, is.
        for task in tasks:
            if task:
                await self._end(task)
        self.now += timedelta(seconds=60)
        await loops[0].turn()
        self._judge(denied)
        return self.figures

    async def _step(self, loops: Sequence[TickLoop], tasks: list[asyncio.Task[Any] | None]) -> None:
        roll, dice = self._roll, self._roll.random()
        number = roll.randrange(2)
        task = tasks[number]
        if dice < 0.72:
            if task is None or task.done():
                tasks[number] = self._start(loops[number])
            elif turn := self._steps.waiting.pop(task, None):
                turn.set_result(None)
            await self._settle(tasks)
        elif dice < 0.76 and task:
            await self._end(task)
            tasks[number] = None
            self.figures["crashes"] += 1
        elif dice < 0.85:
            self.now += timedelta(seconds=roll.choice([1, 4, 11]))
        else:
            await self._outside()

    def _start(self, loop: TickLoop) -> asyncio.Task[Any]:
        async def turn() -> None:
            in_process.set(True)
            await loop.turn()

        self.figures["ticks"] += 1
        return asyncio.create_task(turn())

    async def _settle(self, tasks: Sequence[asyncio.Task[Any] | None]) -> None:
        """Let every process come to its next step or its end."""
        while any(t and not t.done() and t not in self._steps.waiting for t in tasks):
            await asyncio.sleep(0)
        for task in tasks:
            if task and task.done():
                task.result()

    async def _end(self, task: asyncio.Task[Any]) -> None:
        """Kill a process where it stands."""
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def _outside(self) -> None:
        """An operator or a monitor does something, if it can be done now."""
        beam, run = self._roll.choice(self.beams), {"run_id": str(self.run_id)}
        verbs: list[tuple[str, Mapping[str, Any]]] = [
            *[("mark_supply_unavailable", beam)] * 4,
            *[("mark_supply_recovering", beam)] * 3,
            *[("restore_supply", beam)] * 3,
            *[("resume_run", {**run, "acknowledgement": "Dark frames"})] * 4,
            ("hold_run", run),
        ]
        if len(self.beams) > 1:
            verbs.append(("deregister_supply", beam))
        name, arguments = self._roll.choice(verbs)
        with suppress(Refusal):
            await self.do(name, arguments)
            self.figures[name] += 1

    def _judge(self, denied: bool) -> None:
        """Replay the log in its order, and count what must not be."""
        events = sorted(
            (each for stream in self.store.streams.values() for each in stream),
            key=lambda each: each.position,
        )
        statuses: dict[UUID, str] = {}
        status, episode, since, resumed = "Running", "", self.now, 0
        began, holds, deferred = 0, Counter[str](), Counter[str]()
        decided: dict[str, Any] = {}
        followed: set[str] = set()
        for each in events:
            told, kind = json.loads(bytes(each.payload)), each.event_type
            if each.stream_type == "Supply":
                taken = kind in {"SupplyMarkedUnavailable", "SupplyDeregistered"}
                if taken and told["from_status"] not in LOST:
                    episode, since = f"{each.stream_id}:{each.version}", each.recorded_at
                    began = each.position
                statuses[each.stream_id] = kind
            elif kind == "DecisionRegistered" and each.principal_id == SUPERVISOR.id:
                decided[str(each.stream_id)] = told
                if told["choice"] == "SupervisionDeferred":
                    deferred[told["inputs"]["episode"]] += 1
                    followed.add(str(each.stream_id))
            elif kind == "RunResumed":
                status, resumed = "Running", each.position
            elif kind == "RunHeld":
                status = "Held"
                if each.principal_id != SUPERVISOR.id:
                    continue
                holds[episode] += 1
                followed.add(told["decided_by_decision_id"])
                self.figures["unexplained"] += told["decided_by_decision_id"] not in decided
                self.figures["too_soon"] += each.recorded_at - since < RULES.settle
                self.figures["with_beam"] += not _lost(statuses)
                self.figures["overruled"] += resumed > began
        self.figures["holds"] += sum(holds.values())
        self.figures["deferred"] += sum(deferred.values())
        self.figures["held_twice"] += sum(times > 1 for times in holds.values())
        self.figures["deferred_twice"] += sum(times > 1 for times in deferred.values())
        self.figures["without_effect"] += len(decided.keys() - followed)
        due = status == "Running" and _lost(statuses) and resumed < began and not denied
        self.figures["never_held"] += due


def _lost(statuses: Mapping[UUID, str]) -> bool:
    """Whether all supplies that are in use are lost, by the last event of each."""
    in_use = [kind for kind in statuses.values() if kind != "SupplyDeregistered"]
    lost = {"SupplyMarkedUnavailable", "SupplyMarkedRecovering"}
    return bool(in_use) and all(kind in lost for kind in in_use)


WRONG = (
    "unexplained",
    "too_soon",
    "with_beam",
    "overruled",
    "held_twice",
    "deferred_twice",
    "without_effect",
    "never_held",
)


async def walks(
    numbers: Iterable[int], rolls: Callable[[int], Random], until: str | None = None
) -> Counter[str]:
    """Walk so many times, or until something went wrong; count what did, and what was done."""
    figures: Counter[str] = Counter(dict.fromkeys(("walks", *WRONG), 0))
    for number in numbers:
        figures.update({"walks": 1}, **await Walk(rolls(number)).go())
        if until and figures[until]:
            break
    return figures


@contextmanager
def without_versions() -> Generator[None]:
    """Judge and act apart: the append holds nothing that was judged by."""
    whole = CommandSender.send_judged

    async def careless(self: CommandSender, commands: Any, caller: Any, basis: Basis) -> Any:
        return await whole(self, commands, caller, replace(basis, versions={}))

    with patch.object(CommandSender, "send_judged", careless):
        yield


@contextmanager
def without_claims() -> Generator[None]:
    """Take no claim on the key of a decision."""
    whole = CommandSender.send_judged

    async def careless(self: CommandSender, commands: Any, caller: Any, basis: Basis) -> Any:
        return await whole(self, commands, caller, replace(basis, side_writes=()))

    with patch.object(CommandSender, "send_judged", careless):
        yield


@contextmanager
def in_two_appends() -> Generator[None]:
    """Write the decision first and what follows from it afterwards."""
    whole = CommandSender.send_judged

    async def careless(self: CommandSender, commands: Any, caller: Any, basis: Basis) -> Any:
        await whole(self, commands[:1], caller, basis)
        return await whole(self, commands[1:], caller, NO_BASIS) if commands[1:] else ()

    with patch.object(CommandSender, "send_judged", careless):
        yield


@contextmanager
def without_recovering() -> Generator[None]:
    """Take only Unavailable as the sign that beam is lost."""
    with patch.object(beam_module, "LOST", frozenset({SupplyStatus.UNAVAILABLE})):
        yield


@contextmanager
def without_settling() -> Generator[None]:
    """Hold at once."""
    with patch.object(run_supervisor, "react", _reacting(lambda seen: seen, timedelta())):
        yield


@contextmanager
def without_resuming() -> Generator[None]:
    """Pay no attention to operators who resumed the run."""

    def forgetful(seen: Any) -> Any:
        return replace(seen, resumed_at=None)

    with patch.object(run_supervisor, "react", _reacting(forgetful, RULES.settle)):
        yield


def _reacting(change: Callable[[Any], Any], settle: timedelta) -> Callable[..., Any]:
    whole = run_supervisor.react

    def careless(seen: Any, now: datetime, rules: SupervisionRules, decision_id: UUID) -> Any:
        return whole(change(seen), now, replace(rules, settle=settle), decision_id)

    return careless
