"""Evidence of agents on PostgreSQL, stored for all callers of a process together."""

import asyncio
from typing import NamedTuple

import structlog

from beamkeep.runtime.answers import EVIDENCE, AnswerEvidence
from beamkeep.runtime.store import StoreUnavailableError

from .connections import Connections
from .tables import insert_if_absent, row_values

log: structlog.stdlib.BoundLogger = structlog.get_logger()

MOST_AT_ONCE = 200
NOT_STORED = (
    "The evidence of the answer could not be stored, so the question is not answered. Try again."
)


class WaitingEvidence(NamedTuple):
    """AnswerEvidence that is to be stored, and the caller that waits for it."""

    evidence: AnswerEvidence
    stored: asyncio.Future[None]


class EvidenceWriter:
    """Stores evidence at once; what comes while a statement runs is stored by the next one."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._waiting: list[WaitingEvidence] = []
        self._task: asyncio.Task[None] | None = None

    async def keep(self, evidence: AnswerEvidence) -> None:
        """Return when the evidence is stored. Raise StoreUnavailableError if it cannot be."""
        waiting = WaitingEvidence(evidence, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._write(), name="evidence")
        await waiting.stored

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
                await self._write_batch(batch)
        finally:
            self._task = None

    async def _write_batch(self, batch: list[WaitingEvidence]) -> None:
        # A repeated statement stores nothing twice: the ids are taken.
        rows = row_values([EVIDENCE.insert(each.evidence) for each in batch])
        try:
            await self._connections.read(*insert_if_absent(EVIDENCE).bind({"rows": rows}))
        except Exception as error:
            # Whatever went wrong, nobody may wait for ever, or be answered.
            log.warning("evidence not stored", rows=len(batch), why=type(error).__name__)
            for each in batch:
                if not each.stored.done():
                    each.stored.set_exception(StoreUnavailableError(NOT_STORED))
        else:
            for each in batch:
                if not each.stored.done():
                    each.stored.set_result(None)
