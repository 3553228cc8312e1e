"""Reporting from inside the service, as the deployment's own monitor."""

from collections.abc import Callable, Mapping
from uuid import UUID

import structlog

from beamkeep.contexts.access.profile import MONITOR
from beamkeep.kernel import Operation, Refusal
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.runtime.dispatch import ConcurrencyError
from beamkeep.telemetry import attributed

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Monitor:
    """Carries out observations as the seeded actor Monitor, through the path every call takes."""

    def __init__(self, service: Service, new_id: Callable[[], UUID]) -> None:
        self._service, self._new_id = service, new_id

    async def report(self, name: str, arguments: Mapping[str, object]) -> bool:
        """Report, and say whether that is settled: written, or refused for good."""
        operation = self._service.catalogue.named[name]
        assert isinstance(operation, Operation), "an observation is a command"  # noqa: S101
        caller = Caller(self._new_id(), principal_id=MONITOR)
        with attributed(caller.correlation_id):
            try:
                await self._service.dispatcher.execute(operation, Request(caller, arguments))
            except Refusal as refusal:
                log.info("observation refused", name=name, code=type(refusal).__name__, **arguments)
                return refusal.status < 500 and not isinstance(refusal, ConcurrencyError)
        return True
