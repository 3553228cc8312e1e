"""Writing appends: in one statement if possible, and exactly once even if a connection is lost."""

import asyncio
from typing import Any

import asyncpg

from beamkeep.kernel import Insert, Lock, Rows
from beamkeep.runtime.store import (
    BEGINNING,
    AlreadyAnsweredError,
    Append,
    DuplicateEventError,
    IdempotencyInFlightError,
    KeyTakenError,
    MovedError,
    OutcomeUnknownError,
    Position,
    RowsStoredError,
    StoreUnavailableError,
    WorkLostError,
)

from .append_statement import MOVED, bound_statement, read_values
from .connections import CONNECTION_ERRORS, UNAVAILABLE_ERRORS, Connections
from .tables import copy_records, read_rows, written_columns

# The lock ends with its transaction, so that a writer that died blocks nobody.
LOCKED = "pg_advisory_xact_lock(hashtextextended({name}, 2))"
LOCK = f"SELECT {LOCKED.format(name='name')} FROM unnest($1::text[]) AS n (name)"  # noqa: S608

# The position of an event that may have been written.
FIND_EVENT = """
SELECT transaction_id::text::bigint AS tx, position FROM bk.events
 WHERE stream_id = $1 AND event_id = $2
"""

# Whether an answer is stored for an idempotency key.
FIND_ANSWER = """
SELECT 1 FROM bk.idempotency WHERE principal_id = $1 AND surface_id = $2 AND key = $3
"""

RESOLVE_TIMEOUT = 4.0
LONGEST_WRITE = 2.5
"""A little longer than the statement timeout of the connections."""


class AppendWriter:
    """Writes each append completely or not at all."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def append(self, append: Append) -> Position:
        """Write an append and return the position of its last event."""
        try:
            return await self._write(append)
        except CONNECTION_ERRORS:
            return await (self._resolve if append.events else self._write_rows_again)(append)
        except asyncpg.LockNotAvailableError:
            waited_for_key = append.answer and not _locks(append)
            raise (IdempotencyInFlightError if waited_for_key else MovedError) from None
        except UNAVAILABLE_ERRORS:
            raise StoreUnavailableError from None

    async def _write(self, append: Append) -> Position:
        bound = bound_statement(append)
        try:
            if _locks(append) or _bulk_rows(append):
                rows = await self._transact(append, bound)
            else:
                rows = await self._connections.fetch(*bound) if bound else []
        except asyncpg.UniqueViolationError as error:
            if "event_id" in str(error.constraint_name):
                raise DuplicateEventError from None
            raise await self._conflict(append, str(error.table_name)) from None
        if append.fence and not rows[0]["is_held"]:
            # Without an owner, the fence asks that nobody works; another one may have begun.
            raise WorkLostError if append.fence.owner else MovedError
        if not append.events:
            return BEGINNING
        if not rows or not rows[0][0]:
            raise MovedError
        count, position, tx, *_ = rows[0]
        assert count == len(append.events), "an append is written completely or not at all"  # noqa: S101
        return Position(tx, position)

    async def _transact(self, append: Append, bound: tuple[Any, ...] | None) -> list[Any]:
        """Write under locks, or with bulk rows, in one transaction."""
        # A failure closes the connection instead of sending ROLLBACK: on a dead connection the
        # answer to ROLLBACK would be waited for beyond the deadline of the call.
        locks, bulk, rows = _locks(append), _bulk_rows(append), list[Any]()
        # A single COPY is a transaction by itself.
        several = bool(locks or bound or len(bulk) > 1)
        async with self._connections.connection() as connection:
            if several:
                await connection.execute("BEGIN")
            if locks:
                await connection.execute(LOCK, locks)
                # The snapshot must be newer than the locks. The statement for events checks itself.
                if not append.events and await connection.fetch(*MOVED.bind(read_values(append))):
                    raise MovedError
            if bound:
                rows = await connection.fetch(*bound)
            if (rows and rows[0][0]) or not (append.events or append.fence):
                for part in bulk:
                    await connection.copy_records_to_table(
                        part.table.name,
                        schema_name="bk",
                        columns=written_columns(part.table),
                        records=copy_records(part),
                    )
            if several:
                await connection.execute("COMMIT")
        return rows

    async def _write_rows_again(self, append: Append) -> Position:
        """Write rows again after the answer to the first attempt was lost.

        Inserted rows that are stored unchanged are taken for the rows of the first attempt.
        """
        bound = bound_statement(append)
        if _locks(append) or _bulk_rows(append) or append.fence or bound is None:
            raise OutcomeUnknownError
        inserts = [part for part in append.side_writes if isinstance(part, Insert)]
        try:
            try:
                await self._connections.read(*bound)
            except asyncpg.UniqueViolationError as error:
                stored = [part.row in await self._rows_with_key_of(part) for part in inserts]
                if not stored or not all(stored):
                    raise await self._conflict(append, str(error.table_name)) from None
        except (StoreUnavailableError, asyncpg.LockNotAvailableError):
            # Neither error reveals whether the first attempt succeeded.
            raise OutcomeUnknownError from None
        return BEGINNING

    async def _conflict(self, append: Append, table: str) -> Exception:
        """Return the error for a unique key that is taken in a table."""
        # Two identical requests may collide on any key that both of them write.
        if table == "idempotency" or await self._is_answered(append):
            return AlreadyAnsweredError()
        for part in append.side_writes:
            if isinstance(part, Lock) or part.table.name != table:
                continue
            if isinstance(part, Insert) and await self._rows_with_key_of(part):
                # Without a refusal for the loser, the decision is made again and sees the winner.
                return KeyTakenError(part)
            if isinstance(part, Rows):
                key = part.table.key[0]
                keys = [getattr(row, key) for row in part.rows]
                stored = await read_rows(self._connections, part.table, {key: keys})
                return RowsStoredError({getattr(r, key): getattr(r, part.under) for r in stored})
        return MovedError()

    async def _rows_with_key_of(self, part: Insert) -> tuple[Any, ...]:
        key = {column: getattr(part.row, column) for column in part.table.key}
        return await read_rows(self._connections, part.table, key)

    async def _is_answered(self, append: Append) -> bool:
        if append.answer is None:
            return False
        key = append.principal_id, append.surface_id, append.answer.key
        return bool(await self._connections.read(FIND_ANSWER, *key))

    async def _resolve(self, append: Append) -> Position:
        """Find out whether an append whose answer was lost was written.

        The same events are sent again: their versions and ids permit only one of the attempts.
        """
        last, clock = append.events[-1], asyncio.get_running_loop().time
        lost_at = clock()
        while clock() < lost_at + RESOLVE_TIMEOUT:
            try:
                try:
                    return await self._write(append)
                except (
                    MovedError,
                    AlreadyAnsweredError,
                    DuplicateEventError,
                    KeyTakenError,
                    RowsStoredError,
                    WorkLostError,
                ) as refused:
                    found = await self._connections.fetch(FIND_EVENT, last.stream[1], last.event_id)
                    if found:
                        return Position(*found[0])
                    # While the first attempt may still run, another writer may move a stream, or
                    # take a key and release it. Only an answer is final, or the end of the time
                    # that the first attempt can take.
                    answered = isinstance(refused, AlreadyAnsweredError)
                    if answered or clock() > lost_at + LONGEST_WRITE:
                        raise
            except (
                *CONNECTION_ERRORS,
                *UNAVAILABLE_ERRORS,
                asyncpg.LockNotAvailableError,
                StoreUnavailableError,
            ):
                # None of these errors reveals whether the first attempt succeeded.
                pass
            await asyncio.sleep(0.05)
        raise OutcomeUnknownError


def _bulk_rows(append: Append) -> list[Rows]:
    return [part for part in append.side_writes if isinstance(part, Rows)]


def _locks(append: Append) -> list[str]:
    """Return the names to lock, in one order for all writers to avoid deadlocks."""
    return sorted(part.name for part in append.side_writes if isinstance(part, Lock))
