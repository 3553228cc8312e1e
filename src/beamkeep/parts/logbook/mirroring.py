"""Mirroring: copies logbook entries to an outside logbook, each once, as durable work."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Protocol
from uuid import UUID

import structlog

from beamkeep.contexts.decision.decision import decisions
from beamkeep.contexts.decision.logbook import LOGBOOK, MIRRORED, MirroredEntry, mirror_work_id
from beamkeep.contexts.run.logbook import RUN_LOGBOOK
from beamkeep.contexts.run.run import runs
from beamkeep.kernel import Fenced, Record, SideWrite, replace
from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.workers.durable import ClaimedWork, WorkQueue, fenced_rows
from beamkeep.workers.leases import Holding, retry_delay

log: structlog.stdlib.BoundLogger = structlog.get_logger()

DELAYS = (1.0, 5.0, 15.0, 60.0)
"""Seconds before the next attempt, after the first failure, the second, and so on."""
MOST_FAULTS = 3
"""After so many faults that may be those of this entry alone, other entries go first."""


class MirrorError(Exception):
    """The outside logbook has not confirmed that it has the entry."""

    put_off: timedelta
    """When the entry is tried again after several faults of its own."""

    def __init__(self, why: str, *, retry_after: float | None = None, for_all: bool = True) -> None:
        """Say why, without a word of the entry, and whether other entries would meet the same."""
        super().__init__(why)
        self.retry_after, self.for_all = retry_after, for_all


class MirrorAwayError(MirrorError):
    """The outside logbook did not answer, or asks to be called again later."""

    put_off = timedelta(minutes=10)


class MirrorRefusedError(MirrorError):
    """The outside logbook will not take this entry as long as neither of the two changes."""

    put_off = timedelta(days=1)


class EntryCopy(Record):
    """A logbook entry as an outside logbook gets it; it names no person."""

    id: UUID
    """The id by which the copy is found again."""
    entry_id: UUID
    logbook: str
    """The kind of the object to which the entry belongs: Run or Decision."""
    subject_id: UUID
    title: str
    text: str
    """May contain personal data: it is never logged."""
    recorded_at: datetime


class LogbookMirror(Protocol):
    """An outside logbook. Both calls raise one of the errors above."""

    async def find(self, id: UUID) -> str | None:
        """Return the number of the copy that has this id, if the logbook has it."""
        ...

    async def write(self, entry: EntryCopy, reply_to: str | None) -> str:
        """Add an entry, below another one if it is a reply, and return its number."""
        ...


class Mirrorer:
    """Carries out the work of copying, one entry at a time and so in the order of writing."""

    def __init__(
        self,
        service: Service,
        store: EventStore,
        queue: WorkQueue,
        mirror: LogbookMirror,
        clock: Callable[[], datetime],
        delays: tuple[float, ...] = DELAYS,
    ) -> None:
        self._service, self._store, self._queue = service, store, queue
        self._mirror, self._clock, self._delays = mirror, clock, delays

    async def walk(self, held: Holding) -> None:
        """Copy one entry, however long the outside logbook is away."""
        # A claim that writes nothing counts as one in vain.
        await self._write(held.work.fence)
        copy, faults = await self.copy_of(held.work), 0
        # What an earlier claim did is not known, unless there was none.
        doubtful = held.work.claim > 1
        for attempt in count():
            try:
                number = await self._mirror.find(copy.id) if doubtful else None
                if number is None:
                    reply_to = await self._first_number(copy.subject_id)
                    held.require_held()
                    doubtful = True
                    number = await self._mirror.write(copy, reply_to)
            except MirrorError as error:
                why, bound = str(error), log.bind(entry_id=str(copy.entry_id), why=str(error))
                bound.warning("logbook entry not copied yet")
                faults += not error.for_all
                if faults >= MOST_FAULTS:
                    bound.error("logbook entry put off", until_tried_again=str(error.put_off))
                    await self._queue.fail(held.work.fence, why, error.put_off)
                    return
                await held.wait(retry_delay(self._delays, attempt, error.retry_after))
            else:
                await self._record(held.work, copy, number)
                return

    async def copy_of(self, work: ClaimedWork) -> EntryCopy:
        """Return the copy of the entry to which work belongs."""
        read, entry_id = self._service.sessions(), work.subject_id
        if work.work_id == mirror_work_id(entry_id, RUN_LOGBOOK.name):
            (entry,) = await self._store.rows(RUN_LOGBOOK, {"entry_id": entry_id})
            run = await read.one(runs, entry.run_id)
            logbook, id, title = runs.name, run.id, f"Run {run.name}: {entry.kind}"
        else:
            (entry,) = await self._store.rows(LOGBOOK, {"entry_id": entry_id})
            decision = await read.one(decisions, entry.decision_id)
            logbook, id, title = decisions.name, decision.id, f"Decision {decision.context}"
        return EntryCopy(
            id=work.work_id,
            entry_id=entry_id,
            logbook=logbook,
            subject_id=id,
            title=title,
            text=entry.text,
            recorded_at=entry.recorded_at,
        )

    async def _first_number(self, subject_id: UUID) -> str | None:
        """Return the number of the first copied entry of the same run or decision."""
        rows = await self._store.rows(MIRRORED, {"subject_id": subject_id})
        first = min(rows, key=lambda row: (row.mirrored_at, row.work_id), default=None)
        return first.outside_id if first else None

    async def _record(self, work: ClaimedWork, copy: EntryCopy, number: str) -> None:
        row = MirroredEntry(
            work_id=work.work_id,
            subject_id=copy.subject_id,
            entry_id=copy.entry_id,
            outside_id=number,
            mirrored_at=self._clock(),
        )
        await self._write(replace(work.fence, ends=True), MIRRORED.insert(row))

    async def _write(self, fence: Fenced, *side_writes: SideWrite) -> None:
        await self._store.append(fenced_rows(fence, *side_writes, at=self._clock()))
