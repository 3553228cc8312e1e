"""A connection that runs each statement by the handle it prepared it under."""

from collections import OrderedDict
from typing import Any

import asyncpg
from asyncpg.prepared_stmt import PreparedStatement

MOST_STATEMENTS = 100


class PreparedConnection(asyncpg.Connection):
    """A connection whose `fetch` prepares a statement once.

    The driver caches statements too, but looks at each use whether they are still valid, and
    drops them after five minutes.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._prepared: OrderedDict[str, PreparedStatement] = OrderedDict()
        """The most recently used statement comes last."""

    async def fetch(
        self, query: str, *args: Any, timeout: float | None = None
    ) -> list[asyncpg.Record]:
        """Return the rows of one statement."""
        if (statement := self._prepared.get(query)) is None:
            statement = self._prepared[query] = await self.prepare(query)
            if len(self._prepared) > MOST_STATEMENTS:
                self._prepared.popitem(last=False)
        self._prepared.move_to_end(query)
        try:
            return await statement.fetch(*args, timeout=timeout)
        except asyncpg.OutdatedSchemaCacheError:
            self._prepared.clear()
            raise
        except asyncpg.InvalidCachedStatementError:
            # A migration changed what the statement returns; it was not executed.
            self._prepared.clear()
            if self.is_in_transaction():
                raise
            return await super().fetch(query, *args, timeout=timeout)
