"""The relay alone, in a process that believes to hold its lease whoever else does too."""

import asyncio
from collections.abc import Sequence

from beamkeep.deployment.composition import Deployment
from beamkeep.deployment.settings import settings_of
from beamkeep.parts.relay import wiring
from beamkeep.workers import supervision


class EverybodysLease:
    """A lease that every process holds."""

    def __init__(self, *_: object) -> None:
        pass

    async def __call__(self) -> Sequence[int]:
        return [0]

    async def close(self) -> None:
        pass


async def run() -> None:
    """Relay until killed."""
    settings = settings_of()
    deployment = Deployment(settings)
    core = deployment.core(await deployment.service())
    await deployment.supervisor.run(wiring.loops(core, settings))


def main() -> None:
    """Relay, and try again soon after every failure."""
    wiring.PostgresLease = EverybodysLease  # pyright: ignore[reportAttributeAccessIssue]
    supervision.RENEW_EVERY = supervision.FIRST_RETRY = supervision.LONGEST_RETRY = 0.05
    asyncio.run(run())


if __name__ == "__main__":
    main()
