"""Refolding: new snapshots of long streams after the code of their fold has changed."""

from collections.abc import Callable
from uuid import UUID

import structlog

from beamkeep.kernel import Catalogue
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import EventStore, Stream

AT_ONCE = 100
STORED_DAYS = 7
"""Processes of an older version may use their own snapshots for so many days."""

log: structlog.stdlib.BoundLogger = structlog.get_logger()


class SnapshotKeeper:
    """Creates the snapshots that a new version of the service lacks."""

    def __init__(
        self, store: EventStore, sessions: Callable[[], Session], catalogue: Catalogue, codec: Codec
    ) -> None:
        self._store, self._sessions = store, sessions
        self._aggregates, self._folds = catalogue.aggregates, [*codec.folds.values()]

    async def look(self) -> None:
        """Refold streams whose snapshot is of another fold, and drop long outdated snapshots."""
        after: Stream = ("", UUID(int=0))
        while found := await self._store.outdated_snapshots(self._folds, after, AT_ONCE):
            for name, id in found:
                if name in self._aggregates:
                    await self._refold(name, id)
            after = found[-1]
        await self._store.drop_snapshots(self._folds, STORED_DAYS)

    async def _refold(self, name: str, id: UUID) -> None:
        session = self._sessions()
        try:
            await session.one(self._aggregates[name], id)
        except BrokenStreamError:
            # One broken stream must not keep the others from their snapshots.
            log.exception("a stream could not be folded", stream_type=name, stream_id=str(id))
        else:
            stored = session.snapshot((name, id))
            if stored.snapshot.version >= self._aggregates[name].snapshots_from:
                await self._store.keep_snapshots([stored])
