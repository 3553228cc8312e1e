"""A conductor with a control system in memory, on any store, driven turn by turn."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import ActionEntry, Facts, JobEntry
from beamkeep.contexts.seams.routes import AddressBounds, ControlRoute, Substrate
from beamkeep.deployment.service import compose
from beamkeep.kernel import replace
from beamkeep.parts.conducting.bodies import Advisor, RegisteredAction
from beamkeep.parts.conducting.channels.memory import ChannelSimulator
from beamkeep.parts.conducting.compute.seam import ComputeSystem
from beamkeep.parts.conducting.conduct.advising import grid_walk
from beamkeep.parts.conducting.control import ControlSystem
from beamkeep.parts.conducting.effects import Effects
from beamkeep.parts.conducting.facts import ConductReader
from beamkeep.parts.conducting.walking import Walker
from beamkeep.runtime import Service
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import EventStore, ReadModel
from beamkeep.telemetry import Telemetry
from beamkeep.testing.installation import FACTS
from beamkeep.testing.service import call
from beamkeep.workers.durable import WorkQueue
from beamkeep.workers.leases import LeaseHolder, LeaseTimes, boot_time
from tests.support.examples.assets import BEAMLINE

ROUTES = (
    ControlRoute(
        "bl:",
        Substrate.IN_MEMORY,
        simulated=True,
        writable=True,
        inline=True,
        bounds=(AddressBounds("bl:bounded", -10.0, 10.0),),
    ),
    ControlRoute("bl:readback:", Substrate.IN_MEMORY, simulated=True),
)
TURNS, TIMES = 2000, LeaseTimes()


class ConductorBench:
    """One service, and as many worker processes as a test starts, all in this process."""

    def __init__(
        self,
        store: EventStore,
        lists: ReadModel,
        queue: WorkQueue,
        key: bytes,
        *,
        control: ControlSystem | None = None,
        computing: ComputeSystem | None = None,
        actions: Sequence[RegisteredAction] = (),
        advisors: Mapping[str, Advisor] | None = None,
        routes: Sequence[ControlRoute] = ROUTES,
        jobs: Sequence[JobEntry] = (JobEntry("reconstruct", inline=True),),
        times: LeaseTimes = TIMES,
        seconds: Callable[[], float] | None = None,
    ) -> None:
        self.store, self.queue, self.times = store, queue, times
        self.channels = ChannelSimulator()
        self.control = control or self.channels
        self.advisors = {"grid_walk": grid_walk, **(advisors or {})}
        self.here: Facts = replace(
            FACTS,
            login_key=key,
            routes=tuple(routes),
            actions=tuple(each.entry for each in actions),
            jobs=tuple(jobs),
            advisors=frozenset(self.advisors),
        )
        self.service: Service = compose(store, lists, key, facts=self.here)
        bodies = {each.entry.name: each for each in actions}
        self.effects = Effects(self.control, computing, bodies, routes)
        self._seconds = seconds

    def walker(self) -> Walker:
        """Return what walks the conducts of a worker process."""
        codec = Codec(CATALOGUE.aggregates.values())
        window = timedelta(seconds=300)
        reader = ConductReader(
            service=self.service,
            store=self.store,
            codec=codec,
            routes=self.here.routes,
            takeover_window=window,
        )
        return Walker(
            service=self.service,
            reader=reader,
            queue=self.queue,
            effects=self.effects,
            advisors=self.advisors,
            telemetry=Telemetry(),
        )

    def conductor(self) -> LeaseHolder:
        """Return the conductor of another worker process."""
        return LeaseHolder(
            queue=self.queue,
            owner=uuid4(),
            walk=self.walker().walk,
            times=self.times,
            telemetry=Telemetry(),
            clock=self._seconds or boot_time,
        )

    async def ask(self, name: str, /, subject: str | None = None, **arguments: Any) -> Any:
        """Call an operation or a question and return its answer."""
        answer = await call(self.service, name, arguments, subject)
        return json.loads(answer.body or b"null")

    async def an_asset(self) -> dict[str, str]:
        """Register an asset and return the answer."""
        family = await self.ask("define_family", name="Group", affordances=[])
        return await self.ask("register_asset", **BEAMLINE, family_ids=[family["family_id"]])

    async def procedure(self, **more: Any) -> str:
        """Register a procedure and return its id."""
        asked = {"name": "Align", "kind": "alignment", **more}
        return (await self.ask("register_procedure", **asked))["procedure_id"]

    async def accepted(
        self, steps: Sequence[Mapping[str, Any]], verb: str = "conduct_procedure", **more: Any
    ) -> tuple[str, str]:
        """Ask for a conduct of a new procedure, and return the ids of both."""
        id = more.pop("procedure_id", None) or await self.procedure()
        answer = await self.ask(verb, procedure_id=id, steps=[*steps], **more)
        return id, answer["conduct_id"]

    async def ended(
        self, procedure_id: str, conduct_id: str, conductor: LeaseHolder | None = None
    ) -> dict[str, Any]:
        """Let a conductor work until the conduct has ended, and return the conduct."""
        at_work, found = conductor or self.conductor(), dict[str, Any]()
        for _ in range(TURNS):
            await at_work.turn()
            for _ in range(5):
                await asyncio.sleep(0)
            found = await self.conduct(procedure_id, conduct_id)
            if found["status"] == "Ended":
                await at_work.close()
                return found
            await asyncio.sleep(0.001)
        raise AssertionError(f"The conduct did not end: {found}")

    async def conducted(
        self, steps: Sequence[Mapping[str, Any]], verb: str = "conduct_procedure", **more: Any
    ) -> dict[str, Any]:
        """Ask for a conduct, let it be walked, and return how it ended."""
        return await self.ended(*await self.accepted(steps, verb, **more))

    async def conduct(self, procedure_id: str, conduct_id: str) -> dict[str, Any]:
        return await self.ask("get_conduct", procedure_id=procedure_id, conduct_id=conduct_id)

    async def status(self, procedure_id: str) -> str:
        return (await self.ask("get_procedure", procedure_id=procedure_id))["status"]

    async def rows(self, procedure_id: str, **where: Any) -> list[tuple[int, str, Any]]:
        """Return step, stage and detail of every row, in order."""
        where |= {"procedure_id": procedure_id, "limit": 100}
        items = (await self.ask("list_procedure_activities", **where))["items"]
        return [(row["step_index"], row["stage"], row["detail"]) for row in items]

    async def stages(self, procedure_id: str, **where: Any) -> list[tuple[int, str]]:
        return [(step, stage) for step, stage, _ in await self.rows(procedure_id, **where)]


def entry(name: str, **more: Any) -> ActionEntry:
    """Return an action that inline steps may use."""
    return ActionEntry(name, inline=True, **more)


def setpoint(address: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "setpoint", "address": address, "value": value, **more}


def check(address: str, expected: Any, **more: Any) -> dict[str, Any]:
    criterion = {"kind": "equals", "expected": expected}
    return {"kind": "check", "address": address, "criterion": criterion, **more}


def capture(address: str, name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "capture", "address": address, "capture_name": name, **more}


def action(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "action", "name": name, **more}


def compute(job: str, **more: Any) -> dict[str, Any]:
    return {"kind": "compute", "job": job, **more}
