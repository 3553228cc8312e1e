"""Durable work in memory, for fast tests."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID

from beamkeep.contexts.seams.work import MOST_IDLE_CLAIMS
from beamkeep.kernel import WORK, Fenced, Table, replace
from beamkeep.runtime.store import WorkLostError
from beamkeep.workers.durable import ClaimedWork, HeldWork, WorkCounts, WorkStoppedError

from .store import MemoryStore, StoredWork


class MemoryWorkQueue:
    """Durable work in the rows of a store in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def claim(
        self, kind: str, owner: UUID, lease: timedelta, limit: int
    ) -> Sequence[ClaimedWork]:
        """Claim work of a kind that is due, the longest due first."""
        now = self._store.clock()
        due = [row for row in self._open() if row.kind == kind and self._is_due(row)]
        claimed: list[ClaimedWork] = []
        for row in sorted(due, key=lambda row: row.due_at)[:limit]:
            held = replace(row, claim=row.claim + 1, owner=owner, beat_at=now, due_at=now + lease)
            self._keep(replace(held, idle_claims=row.idle_claims + 1))
            silence = now - (row.beat_at or row.created_at)
            claimed.append(
                ClaimedWork(
                    work_id=row.work_id,
                    subject_id=row.subject_id,
                    claim=held.claim,
                    owner=owner,
                    silence=silence,
                )
            )
        return claimed

    async def renew(
        self, owner: UUID, work_ids: Collection[UUID], lease: timedelta
    ) -> Mapping[UUID, HeldWork]:
        """Extend leases of a process that are not over; work that is not answered is lost."""
        now = self._store.clock()
        mine = [row for row in self._held() if row.owner == owner and row.work_id in work_ids]
        for row in mine:
            self._keep(replace(row, due_at=now + lease, beat_at=now))
        return {row.work_id: HeldWork(row.claim, row.stop) for row in mine}

    async def held(self, owner: UUID) -> Mapping[UUID, HeldWork]:
        """Return what a process holds, without extending any lease."""
        mine = (row for row in self._held() if row.owner == owner)
        return {row.work_id: HeldWork(row.claim, row.stop) for row in mine}

    async def record[R](
        self,
        fence: Fenced,
        table: Table[R],
        rows: Sequence[R],
        *,
        lock: str,
        unless: Collection[str] = (),
    ) -> Sequence[R]:
        """Add rows while the claim holds, and return them as stored; a stored row stays."""
        if not self._store.holds(fence):
            raise WorkLostError
        stop = self._stop(fence)
        (key,) = table.key
        wanted = [getattr(row, key) for row in rows]
        stored = {getattr(row, key): row for row in await self._store.rows(table, {key: wanted})}
        for id, row in zip(wanted, rows, strict=True):
            if id not in stored:
                if stop in unless:
                    raise WorkStoppedError(f"It was asked to {stop}.")
                self._store.write_rows([table.insert(row)])
                self._store.advance(fence)
        return [stored.get(id, row) for id, row in zip(wanted, rows, strict=True)]

    @asynccontextmanager
    async def handing_over(
        self, fence: Fenced, unless: Collection[str]
    ) -> AsyncGenerator[Callable[[], bool]]:
        """Provide a moment in which an effect may begin: nothing else runs between two awaits."""
        if not self._store.holds(fence):
            raise WorkLostError
        if (stop := self._stop(fence)) in unless:
            raise WorkStoppedError(f"It was asked to {stop}.")
        is_open = True
        try:
            yield lambda: is_open and self._store.holds(fence) and self._stop(fence) not in unless
        finally:
            is_open = False

    def _stop(self, fence: Fenced) -> str | None:
        return next(row.stop for row in self._open() if row.work_id == fence.work_id)

    async def fail(self, fence: Fenced, error: str, again_after: timedelta | None) -> None:
        """Give the work back to be claimed after a time, or leave it to people."""
        for row in self._open():
            if (row.work_id, row.claim, row.owner) == (fence.work_id, fence.claim, fence.owner):
                idle = MOST_IDLE_CLAIMS if again_after is None else row.idle_claims
                due = self._store.clock() + (again_after or timedelta())
                given_back = replace(row, owner=None, last_error=error)
                self._keep(replace(given_back, due_at=due, idle_claims=idle))

    async def counts(self) -> Sequence[WorkCounts]:
        """Return the counts of every kind of work that has not ended."""
        counts: list[WorkCounts] = []
        for kind in sorted({row.kind for row in self._open()}):
            alike = [row for row in self._open() if row.kind == kind]
            due = [self._store.clock() - row.due_at for row in alike if self._is_due(row)]
            held = [row for row in self._held() if row.kind == kind]
            late = [row for row in alike if row.due_at <= self._store.clock()]
            counts.append(
                WorkCounts(
                    kind,
                    waiting=len(due),
                    held=len(held),
                    dead=len(late) - len(due),
                    oldest=max(due, default=timedelta()),
                )
            )
        return counts

    def _open(self) -> list[StoredWork]:
        rows = self._store.tables.get(WORK.name, {}).values()
        return [row for row in rows if row.ended_at is None]

    def _held(self) -> Iterator[StoredWork]:
        return (row for row in self._open() if row.owner and row.due_at > self._store.clock())

    def _is_due(self, row: StoredWork) -> bool:
        return row.due_at <= self._store.clock() and row.idle_claims < MOST_IDLE_CLAIMS

    def _keep(self, row: StoredWork) -> None:
        self._store.tables[WORK.name][row.work_id,] = row
