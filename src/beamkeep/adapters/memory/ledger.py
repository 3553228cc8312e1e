"""The ledger of the store in memory, by which rows are compared with the events."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.contexts.access.logins import LoginDigest
from beamkeep.contexts.access.profile import IDENTITIES, digest_of
from beamkeep.contexts.seams.belonging import OBJECT_TEAMS
from beamkeep.kernel import (
    CLAIMS,
    Table,
)
from beamkeep.runtime.store import (
    StoredEvent,
    StoredSnapshot,
    Stream,
)

from .store import MemoryStore, of_stream

SCOPE_COLUMNS = {CLAIMS.name: "scope", OBJECT_TEAMS.name: "stream_type"}
"""The column of a table by which rows of several aggregates are distinguished."""


class MemoryLedger:
    """The streams and rows of a store in memory, in the order of the ledger."""

    def __init__(self, store: MemoryStore, login_key: bytes) -> None:
        self._store, self._login_key = store, login_key

    async def login_digests(self) -> AsyncIterator[LoginDigest]:
        """Return the digests of all logins, by actor."""
        for row in sorted(self._rows(IDENTITIES), key=lambda row: row.actor_id):
            digest = digest_of(self._login_key, row.actor_id, row.issuer, row.subject)
            yield LoginDigest(row.issuer, digest, actor_id=row.actor_id)

    async def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """Return the events of all streams of a type, by stream and version."""
        for (name, id), stored in sorted(self._store.streams.items()):
            if name == stream_type:
                for envelope in stored:
                    yield id, envelope.recorded

    async def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Return the rows of a table, or those of these scopes, by owner; without one last."""
        column = SCOPE_COLUMNS.get(of.name, "relation")
        found = [row for row in self._rows(of) if not scopes or getattr(row, column) in scopes]
        for row in sorted(found, key=lambda row: str(getattr(row, owner) or "none")):
            # Two declarations may each have some of the columns of one table.
            yield row if isinstance(row, of.row) else of.row.of(row)

    async def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Return the claims of other scopes than these."""
        for row in self._rows(CLAIMS):
            if row.scope not in scopes:
                yield row

    async def snapshots(self, folds: Sequence[UUID]) -> AsyncIterator[StoredSnapshot]:
        """Return the snapshots of these folds, with the principals of the first events."""
        for (fold, stream), snapshot in sorted(self._store.snapshots.items(), key=of_stream):
            if fold in folds:
                owner_id = self._store.streams[stream][0].principal_id
                yield StoredSnapshot(stream, snapshot, owner_id, first_principal_id=owner_id)

    async def stream(self, stream: Stream, upto: int) -> AsyncIterator[StoredEvent]:
        """Return the events of one stream up to a version."""
        for envelope in self._store.streams[stream][:upto]:
            yield envelope.recorded

    async def other_snapshots(self, folds: Sequence[UUID]) -> int:
        """Return how many snapshots are of other folds."""
        return sum(fold not in folds for fold, _ in self._store.snapshots)

    async def faults(self) -> AsyncIterator[str]:
        """Return nothing: nobody but the service writes rows here."""
        for fault in ():
            yield fault

    async def agent_decisions(self) -> AsyncIterator[tuple[UUID, UUID]]:
        """Return the decisions that agents made inside the service, each with its agent."""
        for (name, id), (first, *_) in self._store.streams.items():
            if name == "Decision" and first.surface_id is None:
                rule = msgspec.json.decode(first.payload).get("rule")
                if rule and rule.startswith("agent:"):
                    yield id, first.principal_id

    def _rows(self, of: Table[Any]) -> list[Any]:
        return [*self._store.tables.get(of.name, {}).values()]
