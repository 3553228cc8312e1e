"""Custody in memory, for fast tests: every dataset is judged whenever it is asked for."""

from collections.abc import Callable, Sequence
from uuid import UUID

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.data.custody import view_of
from beamkeep.contexts.data.dataset import STANDINGS, datasets
from beamkeep.contexts.data.distribution import COPIES, Copy
from beamkeep.contexts.data.judging import CustodyRow, custody_row, summed
from beamkeep.contexts.seams.custody_rules import CopyPlace, CustodyFilter, CustodyTotal
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Sight

from .watching import as_if_up


class MemoryCustody:
    """Finds datasets and copies by looking at every one."""

    def __init__(self, store: MemoryStore, sessions: Callable[[], Reader]) -> None:
        self._store, self._sessions = store, sessions

    async def datasets(
        self, wanted: CustodyFilter, after: UUID | None, limit: int, sight: Sight | None
    ) -> Sequence[UUID]:
        """Return datasets that are not discarded, oldest first."""
        there = {
            copy.dataset_id
            for copy in await self._store.rows(COPIES, {})
            if wanted.supply_id in {None, copy.supply_id}
        }
        compared = ("verdict", "intent", "producing_run_id", "sole_supply_id")
        found = [
            row.dataset_id
            for row in await self._rows(sight)
            if row.verdict is not None and (after is None or row.dataset_id > after)
            if all(getattr(wanted, name) in {None, getattr(row, name)} for name in compared)
            if wanted.supply_id is None or row.dataset_id in there
        ]
        return sorted(found)[:limit]

    async def totals(self, supply_id: UUID | None, sight: Sight | None) -> Sequence[CustodyTotal]:
        """Return the sums over one storage, or over all."""
        rows = await self._rows(sight)
        return summed((it for row in rows for it in row.counted), supply_id)

    async def copies(
        self,
        supply_id: UUID | None,
        prefix: str | None,
        after: CopyPlace | None,
        limit: int,
        sight: Sight | None,
    ) -> Sequence[CopyPlace]:
        """Return copies on a storage, by dataset, or with addresses below a prefix, by address."""
        found = [
            CopyPlace.of(copy)
            for copy in await self._store.rows(COPIES, {})
            if supply_id in {None, copy.supply_id} and copy.uri.startswith(prefix or "")
            if self._is_seen(copy.dataset_id, sight)
        ]

        def place(it: CopyPlace) -> tuple[str, UUID]:
            return str(it.dataset_id if prefix is None else it.uri), it.distribution_id

        following = [it for it in found if after is None or place(it) > place(after)]
        return sorted(following, key=place)[:limit]

    async def _rows(self, sight: Sight | None) -> Sequence[CustodyRow]:
        rows = await self._store.rows(COPIES, {})
        view = as_if_up(await view_of((copy.supply_id for copy in rows), self._sessions()))
        copies: dict[UUID, list[Copy]] = {}
        for copy in rows:
            copies.setdefault(copy.dataset_id, []).append(copy)
        return [
            custody_row(
                each, self._owner_of(each.dataset_id), copies.get(each.dataset_id, ()), view
            )
            for each in await self._store.rows(STANDINGS, {})
            if self._is_seen(each.dataset_id, sight)
        ]

    def _is_seen(self, dataset_id: UUID, sight: Sight | None) -> bool:
        return sight is None or self._store.is_in_sight((datasets.name, dataset_id), sight)

    def _owner_of(self, dataset_id: UUID) -> UUID:
        return self._store.streams[datasets.name, dataset_id][0].principal_id
