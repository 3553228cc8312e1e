"""The relay alone, in a process that believes to hold its lease whoever else does too."""

import asyncio
from collections.abc import Sequence

from beamkeep.deployment import composition as app
from beamkeep.deployment.settings import Settings
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
    settings = Settings()
    deployment = app.Deployment(settings)
    assert settings.nats_url
    await deployment.supervisor.run([deployment.relay(settings.nats_url)])


def main() -> None:
    """Relay, and try again soon after every failure."""
    app.PostgresLease = EverybodysLease  # pyright: ignore[reportAttributeAccessIssue]
    supervision.RENEW_EVERY = supervision.FIRST_RETRY = supervision.LONGEST_RETRY = 0.05
    asyncio.run(run())


if __name__ == "__main__":
    main()
