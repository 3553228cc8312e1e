"""Dry runs: what a command would write."""

from collections.abc import Set

from beamkeep import kernel
from beamkeep.kernel import Outcome, Rows

from .codec import Codec, encode
from .deciding import CommandResult
from .outcomes import events_of, without_stored
from .store import EventStore, Stream


class DryRuns:
    """Answers what a command would write."""

    def __init__(self, store: EventStore, codec: Codec) -> None:
        self._store, self._codec = store, codec

    async def require_free(self, outcome: Outcome) -> None:
        """Raise the refusal of a key that is taken."""
        for part in outcome:
            if isinstance(part, kernel.Insert) and part.loser:
                key = {column: getattr(part.row, column) for column in part.table.key}
                if await self._store.rows(part.table, key):
                    raise part.loser
            if isinstance(part, Rows):
                key = part.table.key[0]
                ids = [getattr(row, key) for row in part.rows]
                found = await self._store.rows(part.table, {key: ids})
                stored = {getattr(row, key): getattr(row, part.under) for row in found}
                without_stored([part], stored)

    async def would_write(
        self, outcome: Outcome, shown: Set[Stream], would_propose: bool = False
    ) -> CommandResult:
        """Return the answer of a dry run. Raise the refusal of a key that is taken."""
        await self.require_free(outcome)
        events = [
            {
                "event_type": type(event).__name__,
                "payload": event if self._codec.stream(event) in shown else None,
            }
            for event in events_of(outcome)
        ]
        advice = [part for part in outcome if isinstance(part, kernel.Advice)]
        warnings = {"warnings": advice} if advice else {}
        proposed = {"would_propose": True} if would_propose else {}
        return CommandResult(200, encode(proposed | {"events": events} | warnings))
