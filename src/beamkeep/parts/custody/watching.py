"""The custody watch: judges datasets again after every event of theirs or of their copies."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

from beamkeep.contexts.data.custody import CustodyView, StorageSite, view_of
from beamkeep.contexts.data.dataset import DatasetStanding, datasets
from beamkeep.contexts.data.distribution import Copy, distributions
from beamkeep.contexts.data.judging import CustodyRow, custody_row
from beamkeep.feed.tail import WHOLE_LOG, Bookmark, Tail
from beamkeep.kernel import Record, replace
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Position

FOLLOWER, GENERATION = "custody", 1
PAGE_EVENTS = 1_000
PAUSE_SECONDS = 0.5
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class CustodyFacts(Record):
    """Of a dataset, everything that it is judged by."""

    standing: DatasetStanding
    owner_id: UUID
    copies: Sequence[Copy]


class CustodyRefresh(Protocol):
    """Datasets that nobody else judges at the same time."""

    facts: Mapping[UUID, CustodyFacts]

    async def write(self, rows: Iterable[CustodyRow]) -> None:
        """Put these judgements in place of the earlier ones, and change the totals accordingly."""
        ...


class CustodyIndex(Protocol):
    """Keeps how well each dataset is kept."""

    async def dataset_ids(self, distribution_ids: Iterable[UUID]) -> frozenset[UUID]:
        """Return the datasets of these copies, also of copies whose bytes were deleted."""
        ...

    def refreshing(self, ids: Iterable[UUID]) -> AbstractAsyncContextManager[CustodyRefresh]:
        """Hold these datasets for a new judgement."""
        ...


class CustodyWatch:
    """Follows the log, and keeps the judgement on every dataset."""

    def __init__(self, tail: Tail, index: CustodyIndex, sessions: Callable[[], Session]) -> None:
        self._tail, self._index, self._sessions = tail, index, sessions
        self._began = False

    async def turn(self) -> float:
        """Judge the datasets of one page of events; return the seconds until the next turn."""
        bookmark = await self._bookmark()
        page = await self._tail.page(
            WHOLE_LOG, bookmark.reached, PAGE_EVENTS, (datasets.name, distributions.name)
        )
        ids = {each.stream_id for each in page.events if each.stream_type == datasets.name}
        copies = {each.stream_id for each in page.events} - ids
        await self.refresh(ids | await self._index.dataset_ids(copies))
        is_full = len(page.events) >= PAGE_EVENTS
        # Nothing more can appear below the watermark, so events of other kinds are passed over.
        reached = page.events[-1].at if is_full else Position(page.watermark, 0)
        if reached > bookmark.reached:
            await self._tail.move([bookmark], reached)
        return 0.0 if is_full else PAUSE_SECONDS

    async def refresh(self, ids: Iterable[UUID]) -> None:
        """Judge these datasets again."""
        if not (wanted := sorted({*ids})):
            return
        async with self._index.refreshing(wanted) as refresh:
            supply_ids = {it.supply_id for each in refresh.facts.values() for it in each.copies}
            view = as_if_up(await view_of(supply_ids, self._sessions()))
            await refresh.write(
                custody_row(each.standing, each.owner_id, each.copies, view)
                for each in refresh.facts.values()
            )

    async def _bookmark(self) -> Bookmark:
        if not self._began:
            await self._tail.begin(FOLLOWER, GENERATION, [WHOLE_LOG])
            self._began = True
        found = await self._tail.bookmarks(WHOLE_LOG)
        return next(each for each in found if each.key == (FOLLOWER, GENERATION))


def as_if_up(view: CustodyView) -> CustodyView:
    """Return the view in which every storage is up and no check is too old."""
    sites: dict[UUID, StorageSite] = {
        id: replace(site, is_down=False) for id, site in view.sites.items()
    }
    return replace(view, sites=sites, now=LONG_AGO)
