"""`beamkeep work` with RunSupervisor switched on, quick to judge and slow to write.

`python -m tests.faults.supervision_worker work`
"""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from random import random
from typing import Any

from beamkeep.deployment.verbs import main
from beamkeep.runtime.admission import Caller
from beamkeep.runtime.dispatch import Basis
from beamkeep.runtime.sending import CommandSender
from tests.faults.supervision_walk import without_versions

VARIANT = "BEAMKEEP_SUPERVISION_VARIANT"
SETTLE = 0.3
"""Seconds that beam must be lost here before a run is held."""
SLOWEST = 0.3
"""Seconds that may lie between judging and writing."""
SETTINGS = {
    "RUN_SUPERVISOR_ENABLED": "true",
    "RUN_SUPERVISOR_TICK_SECONDS": "0.1",
    "RUN_SUPERVISOR_SETTLE_SECONDS": str(SETTLE),
}
VARIANTS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "sound": nullcontext,
    "without_versions": without_versions,
}

send_judged = CommandSender.send_judged


async def slowly(self: CommandSender, commands: Any, caller: Caller, basis: Basis) -> Any:
    """Leave time for a kill, or for a change of what was judged by."""
    await asyncio.sleep(random() * SLOWEST)  # noqa: S311
    return await send_judged(self, commands, caller, basis)


if __name__ == "__main__":
    CommandSender.send_judged = slowly
    with VARIANTS[os.environ[VARIANT]]():
        main()
