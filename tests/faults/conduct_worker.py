"""The conductor alone as a process, with a slow way to the control system, and bad variants of it.

`python -m tests.faults.conduct_worker VARIANT`
"""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from random import random
from typing import Any

from beamkeep.contexts.operation.conducted import Stage
from beamkeep.contexts.seams.installation import ActionEntry
from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.settings import settings_of
from beamkeep.kernel import replace
from beamkeep.parts.conducting import loops, walking, wiring
from beamkeep.parts.conducting.bodies import ActionCall, RegisteredAction
from beamkeep.parts.conducting.channels.memory import ChannelSimulator
from beamkeep.parts.conducting.conduct.known import Known
from beamkeep.parts.conducting.conduct.walking import Action, Start, next_action
from beamkeep.parts.conducting.effects import Effects, StepRun
from beamkeep.schemas import JsonObject
from beamkeep.workers import leases

LANES = 3
SLOWEST = 0.15
"""Seconds that a connection to the control system may take here."""


async def nudge(call: ActionCall) -> JsonObject:
    """Write one value, as the step says."""
    await call.control.write(str(call.params["address"]), call.params["value"])
    return {}


def nudging(lane: int) -> RegisteredAction:
    """Return the action of one lane, which writes the channel of that lane."""
    entry = ActionEntry(f"nudge_{lane}", writes=(f"BK:L{lane}:ACT",), inline=True)
    return RegisteredAction(entry, nudge)


def nudges() -> Mapping[str, RegisteredAction]:
    """Return the actions of all lanes."""
    return {each.entry.name: each for each in map(nudging, range(LANES))}


carry_out = Effects.carry_out


async def slowly(self: Effects, step: Any, run: StepRun) -> JsonObject:
    """Leave time for a pause between the row and the effect."""
    await asyncio.sleep(random() * SLOWEST)  # noqa: S311
    return await carry_out(self, step, run)


def without_fence() -> None:
    """Never ask whether the claim still holds."""

    def always(self: leases.Holding) -> bool:
        return True

    @asynccontextmanager
    async def unasked(self: Any, unless: Sequence[str]) -> AsyncGenerator[Callable[[], bool]]:
        yield lambda: True

    leases.Holding.still_mine = always
    setattr(walking.ConductWalk, "_handing_over", unasked)  # noqa: B010


def acts_first() -> None:
    """Carry out the effect, and write the `Started` row afterwards."""

    async def start(self: Any, action: Start) -> None:
        run = self._step_run(action.at, self._known.conduct.conduct_id)

        async def done() -> JsonObject:
            detail = await self._walker.effects.carry_out(action.step, run)
            await self._record(action.at, (Stage.STARTED, action.detail))
            return detail

        await self._finish(action.at, run, done)

    setattr(walking.ConductWalk, "_start", start)  # noqa: B010


def without_asking() -> None:
    """Repeat every step in doubt, whether or not it may be repeated."""

    def repeats_everything(known: Known) -> Action:
        steps = tuple(
            replace(step, repeatable=True) if hasattr(step, "repeatable") else step
            for step in known.steps
        )
        return next_action(replace(known, steps=steps))

    walking.next_action = repeats_everything


VARIANTS: dict[str, Callable[[], None]] = {
    "sound": lambda: None,
    "without fence": without_fence,
    "acts first": acts_first,
    "without asking": without_asking,
}


async def run() -> None:
    """Carry out conducts until SIGTERM."""
    VARIANTS[sys.argv[1]]()
    Effects.carry_out = slowly
    loops.registered_actions = wiring.registered_actions = nudges
    settings = settings_of()
    deployment = Deployment(settings)
    while True:
        try:
            service = await deployment.service()
            break
        except (Exception, SystemExit):  # The database may be down.
            await asyncio.sleep(0.2)
    loop = loops.conductor(deployment.core(service), settings, ChannelSimulator)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, deployment.supervisor.stop)
    await deployment.supervisor.run([loop])
    await deployment.close()


if __name__ == "__main__":
    asyncio.run(run())
