"""Team marks: what lets the lists find the objects of a team for each of its members."""

from collections.abc import Sequence
from typing import Any, Protocol, get_type_hints
from uuid import UUID

from beamkeep.contexts.trust.team import TeamMemberEvent, TeamMemberRemoved, teams
from beamkeep.feed.tail import WHOLE_LOG, Bookmark, Tail
from beamkeep.kernel import View, replace
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import Position

TEAM_MARKS, GENERATION = "team_marks", 1
PAGE_EVENTS, MOST_TRANSACTIONS = 200, 1_000_000
"""A page looks at this many transaction ids: teams are rare, and a log may be long."""
PAUSE_SECONDS = 0.25


def has_team(view: View[Any]) -> bool:
    """Return whether the objects of a list may belong to a team."""
    return hasattr(get_type_hints(view.aggregate.begin)["return"], "team_id")


class Marks(Protocol):
    """The marks of the stored lists."""

    async def mark_team(
        self,
        views: Sequence[View[Any]],
        team_id: UUID,
        principal_id: UUID,
        bookmark: Bookmark,
        reached: Position,
    ) -> bool:
        """Let lists find the objects of a team for a principal who is a member, else not.

        Move the bookmark; do nothing and return False if another worker has moved it.
        """
        ...


class TeamMarks:
    """Follows the events of teams. Rows that come later are marked when they are written."""

    def __init__(self, tail: Tail, marks: Marks, codec: Codec, views: Sequence[View[Any]]) -> None:
        self._tail, self._marks, self._codec = tail, marks, codec
        self._views = [view for view in views if has_team(view)]
        self._began = False

    async def turn(self) -> float:
        """Mark for the members of one page of events; return the seconds until the next turn."""
        bookmark = await self._bookmark()
        after, until = bookmark.reached, bookmark.reached.tx + MOST_TRANSACTIONS
        page = await self._tail.page(WHOLE_LOG, after, PAGE_EVENTS, [teams.name], until)
        decoded = self._codec.decode(teams.name, page.events)
        for at, event in zip((each.at for each in page.events), decoded, strict=True):
            if isinstance(event, TeamMemberEvent | TeamMemberRemoved):
                of = event.team_id, event.principal_id
                if not await self._marks.mark_team(self._views, *of, bookmark, at):
                    return 0.0
                bookmark = replace(bookmark, reached=at)
        is_full = len(page.events) >= PAGE_EVENTS
        # Nothing more can appear below the watermark, so events of other kinds are passed over.
        end = min(page.watermark, until)
        reached = page.events[-1].at if is_full else Position(end, 0)
        if reached > bookmark.reached:
            await self._tail.move([bookmark], reached)
        return 0.0 if is_full or end < page.watermark else PAUSE_SECONDS

    async def _bookmark(self) -> Bookmark:
        if not self._began:
            await self._tail.begin(TEAM_MARKS, GENERATION, [WHOLE_LOG])
            self._began = True
        found = await self._tail.bookmarks(WHOLE_LOG)
        return next(each for each in found if each.key == (TEAM_MARKS, GENERATION))
