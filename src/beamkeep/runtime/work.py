"""The seam to durable work: rows that one worker at a time claims for a lease."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

from beamkeep.kernel import Fenced


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


class WorkQueue(Protocol):
    """Hands out durable work, each row to one worker at a time."""

    async def claim(
        self, kind: str, owner: UUID, lease: timedelta, limit: int
    ) -> Sequence[ClaimedWork]:
        """Claim work that is due or whose lease has expired, the longest due first."""
        ...


MOST_IDLE_CLAIMS = 5
"""Work that was claimed this many times without a result is left to people."""
