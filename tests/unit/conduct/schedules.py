"""Random schedules around a real worker: people stop it, it is killed, things are lost and found.

The control system in memory is the judge: its list of writes says what was handed over, and when.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from tests.support.conducting import ConductorBench, action, check, entry, setpoint
from tests.support.hutches import Hutch

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.adapters.memory.work import MemoryWorkQueue
from beamkeep.kernel import Refusal
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.testing.seeds import dice
from beamkeep.testing.service import memory_service

ADDRESSES = ("bl:a", "bl:b", "bl:c", "bl:shutter")
TICKS, AFTERWARDS = 60, 4000
VERBS = (
    *("conduct_procedure", "conduct_procedure", "conduct_or_hold_procedure"),
    "conduct_until_converged",
)
EVENTS = {
    "turn": 12,
    "abort": 1,
    "cancel": 2,
    "hold": 1,
    "kill": 2,
    "later": 2,
    "away": 4,
    "back": 4,
    "permit lost": 2,
    "permit back": 2,
    "continue": 3,
    "make safe": 2,
}


class Frozen(NamedTuple):
    """A stop that was answered: nothing may be written until somebody asks for a new conduct."""

    verb: str
    writes: int


async def jog(call: ActionCall) -> None:
    """Write twice, and once more when it is over, as a careful body does."""
    value = float(call.params["value"])  # type: ignore[arg-type]
    try:
        await call.control.write("bl:c", value)
        await asyncio.sleep(0)
        await call.control.write("bl:c", value + 0.25)
    finally:
        await call.control.write("bl:c", value + 0.5)


class Place:
    """A service with a hutch, in which one schedule follows another."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        jogging = RegisteredAction(entry("jog", writes=("bl:c",)), jog)
        self.world = ConductorBench(
            store, store, MemoryWorkQueue(store), b"k" * 32, actions=[jogging]
        )

    @classmethod
    async def made(cls) -> "Place":
        _, store = await memory_service()
        place = cls(store)
        place.hutch = await Hutch.around_an_asset(place.world)
        return place

    hutch: Hutch

    def later(self, seconds: float) -> None:
        """Move the clock of the store on, so that leases end."""
        then, began = self.store.clock() + timedelta(seconds=seconds), datetime.now(UTC)
        self.store.clock = lambda: then + (datetime.now(UTC) - began)


class Schedule:
    """One procedure, its worker, and everything that happens to them."""

    def __init__(self, place: Place, number: int) -> None:
        self.place, self.world, self.roll = place, place.world, dice(number, "schedule")
        self.channels = self.world.channels
        self.figures, self.broken = Counter[str](), list[str]()
        self._began, self._mark = len(self.channels.writes), number * 1000.0
        self._frozen: Frozen | None = None
        self._conductor = self.world.conductor()
        self._procedure_id = ""

    async def run(self) -> None:
        await self.place.hutch.report("Permitted")
        self._procedure_id = await self.place.hutch.procedure()
        await self._request()
        events, weights = [*EVENTS], [*EVENTS.values()]
        for _ in range(TICKS):
            (event,) = self.roll.choices(events, weights)
            await self._happen(event)
            for _ in range(self.roll.randrange(12)):
                await asyncio.sleep(0)
            self._look()
        await self._finish()
        await self._require_rows()

    async def _request(self) -> None:
        roll, steps = self.roll, list[dict[str, Any]]()
        for index in range(roll.randint(1, 5)):
            value = self._mark + index * 10
            repeatable = roll.random() < 0.5
            steps.append(
                roll.choice(
                    [
                        setpoint(roll.choice(ADDRESSES[:2]), value, repeatable=repeatable),
                        setpoint(roll.choice(ADDRESSES[:2]), value, verify=True),
                        action("jog", params={"value": value}, repeatable=repeatable),
                        check("bl:zero", 0.0),
                    ]
                )
            )
        closing = [
            setpoint("bl:b", self._mark + 900),
            setpoint("bl:shutter", self._mark + 999, makes_safe=True),
        ]
        verb = roll.choice(VERBS)
        asked: dict[str, Any] = {"steps": steps, "closing_steps": closing}
        if verb == "conduct_until_converged":
            steps.append({"kind": "capture", "address": "bl:zero", "capture_name": "seen"})
            criterion = {"kind": "equals", "expected": float(roll.random() < 0.5)}
            asked |= {"capture_name": "seen", "criterion": criterion, "max_iterations": 3}
        await self.world.ask(verb, procedure_id=self._procedure_id, **asked)

    async def _happen(self, event: str) -> None:
        self.figures[event] += 1
        ids = {"procedure_id": self._procedure_id}
        why = {**ids, "reason": "By chance."}
        match event:
            case "turn":
                await self._conductor.turn()
            case "abort":
                await self._stop(event, lambda: self.world.ask("abort_procedure", **why))
            case "hold":
                await self._asked(lambda: self.world.ask("hold_procedure", **why))
            case "cancel":
                if active := (await self.world.ask("get_procedure", **ids))["active_conduct"]:
                    told = {**why, "conduct_id": active["conduct_id"]}
                    await self._stop(event, lambda: self.world.ask("cancel_conduct", **told))
            case "continue":
                more: dict[str, Any] = {"abandon": True} if self.roll.random() < 0.2 else {}
                command = "conduct_from_procedure"
                await self._begin(lambda: self.world.ask(command, **ids, **more))
            case "make safe":
                await self._begin(lambda: self.world.ask("make_procedure_safe", **ids))
            case "kill":
                await self._kill()
            case "later":
                self.place.later(31.0)
            case "away":
                self.channels.go_away(self.roll.choice(ADDRESSES))
            case "back":
                self.channels.come_back(self.roll.choice(ADDRESSES))
            case _:
                lost = event == "permit lost"
                await self.place.hutch.report("NotPermitted" if lost else "Permitted")

    async def _asked(self, ask: Callable[[], Awaitable[Any]]) -> bool:
        try:
            await ask()
        except Refusal:
            return False
        return True

    async def _stop(self, verb: str, ask: Callable[[], Awaitable[Any]]) -> None:
        if await self._asked(ask):
            self.figures[f"{verb} answered"] += 1
            self._frozen = self._frozen or Frozen(verb, len(self.channels.writes))

    async def _begin(self, ask: Callable[[], Awaitable[Any]]) -> None:
        """Ask for a new conduct; what was written until now belongs to those before it."""
        self._look()
        if await self._asked(ask):
            self.figures["begun"] += 1
            self._look()
            self._frozen = None

    def _look(self) -> None:
        if self._frozen and len(self.channels.writes) > self._frozen.writes:
            late = self.channels.writes[self._frozen.writes :]
            self.broken.append(f"written after {self._frozen.verb}: {late}")
            self._frozen = None

    async def _kill(self) -> None:
        """End the worker without a trace, and start another one."""
        tasks = [each for each in asyncio.all_tasks() if _is_walk(each)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._conductor = self.world.conductor()

    async def _finish(self) -> None:
        """Stop what is left, and make safe although the hutch is open and the worker is new."""
        await self._happen("permit lost")
        for address in ADDRESSES:
            self.channels.come_back(address)
        if not await self._is_idle():
            await self._happen("cancel")
            await self._until_idle()
        self._look()
        self._frozen = None
        told = await self.world.ask("make_procedure_safe", procedure_id=self._procedure_id)
        before = len(self.channels.writes)
        await self._until_idle()
        ids = {"procedure_id": self._procedure_id, "conduct_id": told["conduct_id"]}
        made = await self.world.ask("get_conduct", **ids)
        wanted = [("bl:shutter", self._mark + 999)]
        if not made["succeeded"] or self.channels.writes[before:] != wanted:
            self.broken.append(f"not made safe: {made['closing_failures']}")
        self.figures["made safe"] += 1
        await self._conductor.close()

    async def _until_idle(self) -> None:
        for number in range(AFTERWARDS):
            if await self._is_idle():
                return
            if number % 200 == 199:
                self.place.later(31.0)
            await self._conductor.turn()
            await asyncio.sleep(0)
        self.broken.append("the conduct did not end")

    async def _is_idle(self) -> bool:
        found = await self.world.ask("get_procedure", procedure_id=self._procedure_id)
        return found["active_conduct"] is None

    async def _require_rows(self) -> None:
        """Every write has a row that was there before it, and no row has two writes."""
        rows, last = Counter[tuple[str, float]](), 0
        while True:
            where: dict[str, Any] = {"after_sequence": last, "limit": 100}
            where["procedure_id"] = self._procedure_id
            items = (await self.world.ask("list_procedure_activities", **where))["items"]
            for row in items:
                rows.update(_announced(row))
                last = row["sequence"]
            if len(items) < 100:
                break
        written = Counter[Any](self.channels.writes[self._began :])
        self.figures["writes"] += written.total()
        if unannounced := written - rows:
            self.broken.append(f"written without a row: {dict(unannounced)}")


def _announced(row: Mapping[str, Any]) -> list[tuple[str, float]]:
    is_setpoint = (row["step_kind"], row["stage"]) == ("setpoint", "Started")
    if is_setpoint or row["stage"] == "Writing":
        return [(row["detail"]["address"], row["detail"]["value"])]
    return []


def _is_walk(task: asyncio.Task[Any]) -> bool:
    return getattr(task.get_coro(), "__name__", "") == "_conduct"


async def walked(numbers: range) -> tuple[dict[int, list[str]], Counter[str]]:
    """Return the faults of these schedules by their number, and what happened in them."""
    place, faults, figures = await Place.made(), dict[int, list[str]](), Counter[str]()
    for number in numbers:
        schedule = Schedule(place, number)
        await schedule.run()
        figures.update(schedule.figures)
        if schedule.broken:
            faults[number] = schedule.broken
    return faults, figures
