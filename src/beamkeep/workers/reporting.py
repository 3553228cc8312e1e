"""Reporting from inside the service, as the deployment's own monitor."""

from collections.abc import Callable
from uuid import UUID

import structlog

from beamkeep.contexts.access.profile import MONITOR
from beamkeep.kernel import Command, Refusal
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.runtime.sending import CommandSender
from beamkeep.telemetry import attributed

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Monitor:
    """Sends observations as the seeded actor Monitor."""

    def __init__(self, sender: CommandSender, new_id: Callable[[], UUID]) -> None:
        self._sender, self._new_id = sender, new_id

    async def report(self, command: Command) -> bool:
        """Send an observation; return False if it must be sent again later."""
        correlation_id = self._new_id()
        with attributed(correlation_id):
            try:
                await self._sender.send(command, as_=MONITOR, correlation_id=correlation_id)
            except Refusal as refusal:
                log.info(
                    "observation refused",
                    command=type(command).__name__,
                    code=type(refusal).__name__,
                    **command.model_dump(mode="json"),
                )
                return refusal.status < 500 and not isinstance(refusal, ConcurrencyError)
        return True
