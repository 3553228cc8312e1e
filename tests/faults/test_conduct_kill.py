"""Workers, the database and the IOC are killed and paused while conducts move real channels.

The IOC's own put log is the judge: nothing was written that is not on record as started, nothing
twice without a row that says so, and nothing by a worker that had lost its claim.
"""

import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.kernel import Operation, SurfaceKind
from beamkeep.parts.conducting import wiring
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.runtime.store import OutcomeUnknownError, StoreUnavailableError
from beamkeep.testing.ioc import Ioc, IocRecord, loopback_network
from beamkeep.testing.seeds import dice, seed
from tests.faults.conduct_worker import LANES, nudges
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import rounds
from tests.faults.workers import Worker

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

SETPOINTS = 6
LEASE, RENEW, FENCE = 3.0, 0.5, 1.5
PATIENCE = 300.0
PROGRAM = """
import json, pathlib, sys
job = pathlib.Path(sys.argv[1])
(job.parent / "measurements.json").write_text(json.dumps([{"name": "sum", "value": 3.0}]))
"""
CONTINUABLE = {"Held", "Halted", "Cancelled", "Interrupted"}
FINAL = {"Completed", "Aborted"}


def records() -> list[IocRecord]:
    names = [f"BK:L{lane}:S{n}" for lane in range(LANES) for n in range(SETPOINTS)]
    names += [f"BK:L{lane}:ACT" for lane in range(LANES)]
    return [IocRecord(name, "aOut", 0.0) for name in names]


def steps(lane: int, mark: float) -> list[dict[str, Any]]:
    """Thirty steps that write values which no other procedure writes."""
    made: list[dict[str, Any]] = []
    for n in range(SETPOINTS):
        address, value = f"BK:L{lane}:S{n}", mark + n
        within = {"kind": "within_tolerance", "expected": value, "tolerance": 0.001}
        acted = {"address": f"BK:L{lane}:ACT", "value": value}
        made += [
            {"kind": "setpoint", "address": address, "value": value, "repeatable": n % 2 == 0},
            {"kind": "check", "address": address, "criterion": within, "wait": 5.0},
            {"kind": "capture", "address": address, "capture_name": f"seen_{n}"},
            {"kind": "action", "name": f"nudge_{lane}", "params": acted, "repeatable": n % 3 == 0},
        ]
        made.append(
            {"kind": "compute", "job": "sum", "capture_name": "sum", "repeatable": True}
            if n == SETPOINTS - 1
            else {"kind": "check", "address": address, "criterion": within}
        )
    return made


class Lane:
    """One person who lets procedures be conducted, and decides when a conduct asks for it."""

    def __init__(self, number: int, service: Service, roll: Random) -> None:
        self.number, self._service, self._roll = number, service, roll
        self.outcomes: Counter[str] = Counter()
        self.procedures: list[str] = []
        self.stuck: list[str] = []

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self._procedure(self.number * 1_000_000 + len(self.procedures) * 100.0 + 100.0)

    async def _procedure(self, mark: float) -> None:
        asked = {"name": f"Walk {mark:g}", "kind": "alignment"}
        made = await self._ask("register_procedure", asked)
        self.procedures.append(made["procedure_id"])
        verb = self._roll.choice(["conduct_procedure", "conduct_or_hold_procedure"])
        closing = [{"kind": "setpoint", "address": f"BK:L{self.number}:S0", "value": mark + 50}]
        told = await self._ask(
            verb, {**made, "steps": steps(self.number, mark), "closing_steps": closing}
        )
        while True:
            ended = await self._end(made["procedure_id"], told["conduct_id"])
            if ended is None:
                return
            self.outcomes[ended["outcome"]] += 1
            if ended["outcome"] in FINAL:
                return
            assert ended["outcome"] in CONTINUABLE
            told = await self._continue(made, ended)

    async def _continue(self, made: Mapping[str, Any], ended: Mapping[str, Any]) -> Any:
        undecided, way = ended["undecided_step_indexes"], self._roll.random()
        if way < 0.1:
            return await self._ask("conduct_from_procedure", {**made, "abandon": True})
        key = "redo_step_indexes" if way < 0.6 else "skip_step_indexes"
        return await self._ask("conduct_from_procedure", {**made, key: undecided})

    async def _end(self, procedure_id: str, conduct_id: str) -> Any:
        ids = {"procedure_id": procedure_id, "conduct_id": conduct_id}
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    found = await self._ask("get_conduct", ids)
                    if found["status"] == "Ended":
                        return found
                    if found["needs"]:
                        await self._ask("cancel_conduct", {**ids, "reason": "Nobody goes on."})
                    await asyncio.sleep(0.1)
        except TimeoutError:
            self.stuck.append(conduct_id)
            return None

    async def _ask(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call as the developer, again while the database is away."""
        row, key = self._service.catalogue.named[name], str(uuid7())
        caller = Caller(uuid7(), principal_id=DEVELOPER, transport=SurfaceKind.HTTP)
        while True:
            try:
                if isinstance(row, Operation):
                    request = Request(caller, arguments, idempotency_key=key)
                    answer = await self._service.dispatcher.execute(row, request)
                else:
                    answer = await self._service.queries.ask(row, Request(caller, arguments))
                return json.loads(answer.body or b"null")
            except (StoreUnavailableError, OutcomeUnknownError, ConcurrencyError, OSError):
                await asyncio.sleep(0.1)


class Nemesis:
    """Kills and pauses workers, the database and the IOC."""

    def __init__(self, workers: Sequence[Worker], ground: Ground, ioc: Ioc, roll: Random) -> None:
        self._workers, self._ground, self._ioc, self._roll = workers, ground, ioc, roll
        self.struck: Counter[str] = Counter()

    async def kill(self) -> None:
        await self._until_work_goes_on()
        await asyncio.sleep(self._roll.uniform(0.0, 0.5))
        worker = self._roll.choice(self._workers)
        worker.require_alive()
        await asyncio.to_thread(worker.kill)
        self.struck["killed"] += 1

    async def pause(self) -> None:
        await self._until_work_goes_on()
        await asyncio.sleep(self._roll.uniform(0.0, 0.5))
        worker = self._roll.choice(self._workers)
        worker.require_alive()
        worker.pause()
        await asyncio.sleep(LEASE + self._roll.uniform(0.3, 1.5))
        worker.go_on()
        self.struck["paused"] += 1

    async def crash(self) -> None:
        await self._until_work_goes_on()
        await asyncio.sleep(self._roll.uniform(0.0, 0.5))
        await asyncio.to_thread(self._ground.cluster.kill)
        await asyncio.to_thread(self._ground.cluster.resume)
        self.struck["database killed"] += 1

    async def unplug(self) -> None:
        await self._until_work_goes_on()
        await asyncio.sleep(self._roll.uniform(0.0, 0.5))
        await asyncio.to_thread(self._ioc.kill)
        await asyncio.to_thread(self._ioc.start)
        self.struck["IOC killed"] += 1

    async def found(self, name: str) -> bool:
        """Return whether the audit finds a fault of this kind by now."""
        return (await audit(self._ground, self._ioc.timed_puts()))[name] > 0

    async def _until_work_goes_on(self) -> None:
        """Strike only when steps are walked: a worker that just starts has nothing to lose."""
        async with asyncio.timeout(PATIENCE), connected(self._ground.admin_url) as connection:
            before = await connection.fetchval(LAST)
            while await connection.fetchval(LAST) == before:
                await asyncio.sleep(0.02)


@contextmanager
def at_work(
    ground: Ground, logs: Path, variant: str, settings: Mapping[str, str]
) -> Generator[Sequence[Worker]]:
    words = "tests.faults.conduct_worker", variant
    workers = [Worker(ground, f"conduct-{n}", logs, words, settings) for n in range(2)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.close()


async def harass(
    variant: str, strikes: Callable[[Nemesis], AsyncIterator[Awaitable[None]]], logs: Path
) -> dict[str, Any]:
    """Let three people conduct while everything is under attack, and audit what was done."""
    program = logs / "sum.py"
    program.write_text(PROGRAM)
    route = {"prefix": "BK:", "substrate": "epics_ca", "simulated": True}
    job = {"name": "sum", "command": [sys.executable, str(program)], "inline": True}
    settings = {
        "CONTROL_ROUTES": json.dumps([{**route, "writable": True, "inline": True}]),
        "COMPUTE_JOBS": json.dumps([job]),
        "COMPUTE_DIRECTORY": str(logs / "jobs"),
        "CONDUCT_LEASE_SECONDS": str(LEASE),
        "CONDUCT_RENEW_SECONDS": str(RENEW),
        "CONDUCT_SELF_FENCE_SECONDS": str(FENCE),
    }
    with loopback_network() as network, pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "registered_actions", nudges)
        for name, value in settings.items():
            patch.setenv(name, value)
        with Ioc(network.ports[0], *records()) as ioc:
            async with fresh_ground() as ground:
                deployment = ground.deployment()
                service = await deployment.service()
                lanes = [Lane(n, service, dice(seed(), "lane", n)) for n in range(LANES)]
                environment = {**settings, **network.environment}
                with at_work(ground, logs, variant, environment) as workers:
                    nemesis = Nemesis(workers, ground, ioc, dice(seed(), "nemesis"))
                    stop = asyncio.Event()
                    async with asyncio.TaskGroup() as tasks:
                        for lane in lanes:
                            tasks.create_task(lane.run(stop))
                        async for strike in strikes(nemesis):
                            await strike
                        stop.set()
                audited = await audit(ground, ioc.timed_puts())
                await deployment.close()
    outcomes = sum((lane.outcomes for lane in lanes), Counter[str]())
    return {
        **{name.replace(" ", "_"): count for name, count in sorted(nemesis.struck.items())},
        "procedures": sum(len(lane.procedures) for lane in lanes),
        **{f"ended_{name.lower()}": count for name, count in sorted(outcomes.items())},
        "never_ended": sum(len(lane.stuck) for lane in lanes),
        **audited,
    }


LAST = "SELECT max(sequence) FROM bk.procedure_activity"
ROWS = """
SELECT procedure_id, conduct_id, claim, step_index, attempt, step_kind, stage, phase, detail::text,
       sampled_at FROM bk.procedure_activity ORDER BY sequence
"""


async def audit(ground: Ground, puts: Sequence[Sequence[Any]]) -> dict[str, int]:
    """Compare what the IOC took with what is on record."""
    async with connected(ground.admin_url) as connection:
        rows = [dict(row) for row in await connection.fetch(ROWS)]
    started: dict[tuple[str, float], list[tuple[float, Any]]] = defaultdict(list)
    for row in rows:
        if row["stage"] == "Started" and row["step_kind"] in ("setpoint", "action"):
            detail = json.loads(row["detail"])
            of = detail if row["step_kind"] == "setpoint" else detail["params"]
            started[of["address"], of["value"]].append((_seconds(row["sampled_at"]), row))
    arrived: dict[tuple[str, float], list[float]] = defaultdict(list)
    for name, value, when in puts:
        arrived[name, value].append(when)
    figures = Counter[str](puts=len(puts), started=sum(map(len, started.values())))
    for key, times in arrived.items():
        begun = sorted(when for when, _ in started.get(key, []))
        for when in times:
            figures["not_on_record"] += not any(each <= when for each in begun)
        for here, after in pairwise([*begun, float("inf")]):
            # A put that the network held may arrive late; here there is no network.
            within = sum(here <= when < after for when in times)
            figures["doubled"] += max(0, within - 1)
    figures += _repeated_unsaid(rows)
    return {
        name: figures[name]
        for name in ("puts", "started", "not_on_record", "doubled", "unsaid", "unasked")
    }


def _repeated_unsaid(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count attempts that do not say what they repeat, and repetitions that nobody asked for."""
    figures = Counter[str]()
    tried: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    not_repeatable = {n for n, step in enumerate(steps(0, 0.0)) if step.get("repeatable") is False}
    for row in rows:
        if row["stage"] == "Started" and row["phase"] == "Steps":
            tried[row["procedure_id"], row["phase"], row["step_index"]].append(row)
    for attempts in tried.values():
        for before, again in pairwise(attempts):
            detail = json.loads(again["detail"])
            figures["unsaid"] += detail.get("repeats_attempt") != before["attempt"]
            same_conduct = before["conduct_id"] == again["conduct_id"]
            figures["unasked"] += same_conduct and again["step_index"] in not_repeatable
    return figures


def _seconds(when: datetime) -> float:
    return when.timestamp()


async def test_no_effect_is_lost_doubled_or_unsaid(report: Report, tmp_path: Path):
    async def strikes(nemesis: Nemesis) -> AsyncIterator[Awaitable[None]]:
        for number in rounds("CONDUCT_KILLS", 20, 8, 60):
            yield nemesis.kill()
            if number % 6 == 5:
                yield nemesis.crash()
            if number % 15 == 7:
                yield nemesis.unplug()

    figures = await harass("sound", strikes, tmp_path)
    report("T15", figures)
    assert_sound(figures)
    assert figures["killed"] >= 8
    assert figures["procedures"] > 0


async def test_a_paused_worker_moves_nothing_after_it_wakes(report: Report, tmp_path: Path):
    async def strikes(nemesis: Nemesis) -> AsyncIterator[Awaitable[None]]:
        for _ in rounds("CONDUCT_PAUSES", 6, 3, 40):
            yield nemesis.pause()

    figures = await harass("sound", strikes, tmp_path)
    report("T16", figures)
    assert_sound(figures)


def assert_sound(figures: Mapping[str, Any]) -> None:
    wrong = ("not_on_record", "doubled", "unsaid", "unasked", "never_ended")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert figures["puts"] > 0


@pytest.mark.parametrize(
    ("variant", "found_as", "pauses"),
    [
        ("without fence", "doubled", True),
        ("acts first", "not_on_record", False),
        ("without asking", "unasked", False),
    ],
)
async def test_a_bad_worker_is_found_out(
    report: Report, tmp_path: Path, variant: str, found_as: str, pauses: bool
):
    async def strikes(nemesis: Nemesis) -> AsyncIterator[Awaitable[None]]:
        for number in range(60):
            yield nemesis.pause() if pauses else nemesis.kill()
            if number % 3 == 2 and await nemesis.found(found_as):
                return

    figures = await harass(variant, strikes, tmp_path)
    report(f"T15 {variant}", figures)
    assert figures[found_as] > 0
