"""Hints that rows of objects were added: that there is something to read, and no record."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from beamkeep.kernel import Catalogue, Entries, Insert, Record, Rows, replace
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import Append

PAUSE_SECONDS = 0.5
"""Between two hints about the rows of one object in one table."""
MOST_HINTS = 1_000


class RowHint(Record):
    """Rows of one object that were added to one table."""

    table: str
    stream_type: str
    stream_id: UUID
    count: int
    last_at: datetime

    @property
    def key(self) -> tuple[str, UUID]:
        return self.table, self.stream_id

    @property
    def text(self) -> bytes:
        """A server-sent event. It has no id, because no listener continues there."""
        return b"event: rows\ndata: %b\n\n" % encode(self)


type HintsByObject = dict[tuple[str, UUID], RowHint]


def gather(found: HintsByObject, hints: Iterable[RowHint]) -> None:
    """Add hints to those that were found before, one for each object."""
    for hint in hints:
        if before := found.get(hint.key):
            last_at = max(before.last_at, hint.last_at)
            hint = replace(before, count=before.count + hint.count, last_at=last_at)  # noqa: PLW2901
        found[hint.key] = hint


class RowTables:
    """The tables whose rows belong to an object."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._about = {
            each.source.table.name: (each.aggregate.name, each.about)
            for each in catalogue.questions
            if isinstance(each.source, Entries) and each.about
        }

    def hints(self, append: Append) -> list[RowHint]:
        """Return a hint for each object of which an append has added rows."""
        found: list[RowHint] = []
        for write in append.side_writes:
            match write:
                case Insert(table=table, row=row):
                    rows: Sequence[object] = (row,)
                case Rows(table=table, rows=rows):
                    pass
                case _:
                    continue
            found += self.hints_of(table.name, rows, append.occurred_at)
        return found

    def hints_of(self, table: str, rows: Iterable[object], at: datetime) -> list[RowHint]:
        """Return a hint for each object of which these rows were added."""
        if table not in self._about:
            return []
        stream_type, field = self._about[table]
        counts = Counter[UUID](getattr(row, field) for row in rows)
        return [
            RowHint(table, stream_type, id, count=count, last_at=at) for id, count in counts.items()
        ]


class HeardHints(NamedTuple):
    """Hints, and the number after which the next ones are heard."""

    number: int
    hints: Sequence[RowHint]


class RowHints:
    """Notifies the listeners of this process, at most twice a second for each object."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Call `wake` when there are new hints."""
        self._wake = wake
        self._published: deque[RowHint] = deque(maxlen=MOST_HINTS)
        self._waiting: HintsByObject = {}
        self._quiet_until: dict[tuple[str, UUID], float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self.number = 0
        """How many hints have been published."""

    def heard(self, hints: Iterable[RowHint]) -> None:
        """Publish hints now, or as soon as the pause after the last one is over."""
        gather(self._waiting, hints)
        self._publish()

    def after(self, number: int) -> HeardHints:
        """Return the hints after a number, as far as they are still in memory."""
        first = len(self._published) - (self.number - number)
        return HeardHints(self.number, [*self._published][max(first, 0) :])

    def _publish(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._quiet_until = {key: until for key, until in self._quiet_until.items() if until > now}
        due = [hint for key, hint in self._waiting.items() if key not in self._quiet_until]
        for hint in due:
            del self._waiting[hint.key]
            self._quiet_until[hint.key] = now + PAUSE_SECONDS
        if due:
            self._published += due
            self.number += len(due)
            self._wake()
        if self._waiting and self._timer is None:
            first = min(self._quiet_until[key] for key in self._waiting)
            self._timer = loop.call_at(first, self._publish_later)

    def _publish_later(self) -> None:
        self._timer = None
        self._publish()
