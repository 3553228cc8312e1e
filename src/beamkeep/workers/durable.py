"""The seam to durable work: rows that one worker at a time claims for a lease."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol
from uuid import UUID, uuid4

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.kernel import Cannot, Fenced, SideWrite, Table
from beamkeep.runtime.store import Append

HANDOVER_SECONDS = 0.2
"""How long a value may take from the question whether it may be sent until it is sent."""


class WorkStoppedError(Cannot):
    """Somebody asked that this work stops; nothing was written."""


class ClaimedWork(NamedTuple):
    """Work that one worker process holds until its lease ends."""

    work_id: UUID
    subject_id: UUID
    claim: int
    owner: UUID
    silence: timedelta
    """How long nobody worked on it before this claim."""

    @property
    def fence(self) -> Fenced:
        """The condition under which this worker may write."""
        return Fenced(self.work_id, self.claim, self.owner)


def fenced_rows(
    fence: Fenced,
    *side_writes: SideWrite,
    at: datetime,
    correlation_id: UUID | None = None,
) -> Append:
    """Return rows to write while a worker holds its work; without rows, that it continues."""
    return Append(
        events=(),
        read={},
        side_writes=side_writes,
        answer=None,
        command_name="",
        principal_id=SYSTEM,
        surface_id=None,
        correlation_id=correlation_id or uuid4(),
        causation_id=None,
        occurred_at=at,
        fence=fence,
    )


class HeldWork(NamedTuple):
    """Work that a process still holds, and what somebody asked for since."""

    claim: int
    stop: str | None


class WorkCounts(NamedTuple):
    """How much work of a kind waits, is held, and is left to people."""

    kind: str
    waiting: int
    held: int
    dead: int
    oldest: timedelta
    """How long the oldest waiting work has been due."""


class WorkQueue(Protocol):
    """Hands out durable work, each row to one worker at a time."""

    async def claim(
        self, kind: str, owner: UUID, lease: timedelta, limit: int
    ) -> Sequence[ClaimedWork]:
        """Claim work that is due or whose lease has expired, the longest due first."""
        ...

    async def renew(
        self, owner: UUID, work_ids: Collection[UUID], lease: timedelta
    ) -> Mapping[UUID, HeldWork]:
        """Extend leases of a process that are not over; work that is not answered is lost."""
        ...

    async def held(self, owner: UUID) -> Mapping[UUID, HeldWork]:
        """Return what a process holds, without extending any lease."""
        ...

    async def record[R](
        self,
        fence: Fenced,
        table: Table[R],
        rows: Sequence[R],
        *,
        lock: str,
        unless: Collection[str] = (),
    ) -> Sequence[R]:
        """Add rows while the claim holds, and return them as stored; a row of the same key stays.

        Raise `WorkLostError` when the claim is lost, and `WorkStoppedError` when `stop` is one of
        `unless`.
        """
        ...

    def handing_over(
        self, fence: Fenced, unless: Collection[str]
    ) -> AbstractAsyncContextManager[Callable[[], bool]]:
        """Keep the claim and `stop` as they are for a moment, in which an effect may begin.

        A command that stops the work is answered before this moment or after it. It yields the
        question whether the moment still lasts. Raise `WorkLostError` when the claim is lost, and
        `WorkStoppedError` when `stop` is one of `unless`.
        """
        ...

    async def fail(self, fence: Fenced, error: str, again_after: timedelta | None) -> None:
        """Give the work back to be claimed after a time, or leave it to people."""
        ...

    async def counts(self) -> Sequence[WorkCounts]:
        """Return the counts of every kind of work that has not ended."""
        ...
