"""PostgreSQL in memory: the statements of the adapters, with concurrent transactions.

It has what their races need: snapshots, transaction ids taken while others are still open, unique
keys that wait for their holders, row locks, time limits, and answers that are lost.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from copy import copy
from datetime import datetime
from enum import Enum, auto
from random import Random
from typing import Any, NamedTuple, Never
from uuid import UUID

import asyncpg
import msgspec

from beamkeep.adapters.postgres import (
    append_writer,
    call_lookup,
    connections,
    directory,
    event_store,
    listing,
    projections,
    tail,
)
from beamkeep.adapters.postgres.append_statement import IS_PERMITTED, NOT_MOVED, NOT_STALE
from beamkeep.contexts.access.profile import IDENTITIES, PROFILES, STANDINGS
from beamkeep.contexts.trust.policy import POLICY_GRANTS
from beamkeep.contexts.trust.surface import SURFACE_CONTROL
from beamkeep.feed.tail import TailEvent
from beamkeep.kernel import CLAIMS, DENIALS
from beamkeep.runtime.store import Stream

KEYS = {
    table.name: table.key
    for table in (IDENTITIES, PROFILES, STANDINGS, POLICY_GRANTS, SURFACE_CONTROL, CLAIMS, DENIALS)
}
XMIN, XMAX = "pg_snapshot_xmin", "pg_snapshot_xmax"
COMPARED = "(b.tx, b.pos) = (f.tx::xid8, f.pos)"
ROW_WRITE = re.compile(r"write_\d+ AS \((INSERT INTO|UPDATE|DELETE FROM) bk\.(\w+)")
SELECTED = re.compile(r"SELECT [\w, ]+ FROM bk\.(\w+) WHERE ((?:\w+ = ANY\(\$\d+\)(?: AND )?)+)$")
OF_LIST = re.compile(r" FROM proj\.(\w+?)(?:_v\d+)?(?:_mark)? ")
LIST_ARGUMENT = re.compile(r"(facets @>|owner_id =|id >|id <|LIMIT) \$(\d+)")
FIRST_XID = 700

type Key = tuple[str, ...]
type Versions = dict[Key, list["Version"]]


class Fate(Enum):
    """The result of one exchange with the server."""

    WELL = auto()
    BEFORE = auto()
    """It never arrives."""
    AFTER = auto()
    """It is done, and the answer is lost."""
    UNHEARD = auto()
    """The connection is lost while the server is still at work."""


class Weather:
    """The delays and faults of a simulation."""

    def __init__(self, dice: Random, rate: float, slow: bool = False) -> None:
        self._dice, self._rate = dice, rate
        self._usual = 0.85 if slow else 0.99
        self.lost = 0

    def fate(self) -> Fate:
        """Return the result of the next exchange."""
        if self._rate == 0 or self._dice.random() >= self._rate:
            return Fate.WELL
        self.lost += 1
        return self._dice.choice((Fate.BEFORE, Fate.AFTER, Fate.UNHEARD))

    async def pause(self) -> None:
        """Let other tasks run, sometimes for long."""
        drawn = self._dice.random()
        if drawn < 0.6:
            await asyncio.sleep(0)
        else:
            longest = 0.004 if drawn < 0.8 else 0.05 if drawn < self._usual else 1.0
            await asyncio.sleep(self._dice.random() * longest)

    def coin(self) -> bool:
        """Return true or false at random."""
        return self._dice.random() < 0.5

    def error(self) -> Exception:
        """Return one of the errors of a lost connection."""
        kinds = (
            asyncpg.PostgresConnectionError,
            asyncpg.AdminShutdownError,
            asyncpg.InternalClientError,
            ConnectionResetError,
        )
        return self._dice.choice(kinds)("the connection is lost")

    def clear(self) -> None:
        """Stop all faults."""
        self._rate = 0.0


class Transaction:
    """One transaction, which is in flight until it is committed or rolled back."""

    def __init__(self) -> None:
        self.xid: int | None = None
        self.at: int | None = None
        self.snapshot = 0
        """The commits its append could see."""
        self.aborted = False
        self.waiters: list[asyncio.Future[None]] = []

    @property
    def in_flight(self) -> bool:
        return self.at is None and not self.aborted

    def seen_by(self, snapshot: int) -> bool:
        """Return whether a snapshot shows the writes of this transaction."""
        return self.at is not None and self.at <= snapshot


class Version:
    """One version of a row."""

    def __init__(self, row: Any, by: Transaction) -> None:
        self.row, self.by = row, by
        self.gone: Transaction | None = None
        self.after: Version | None = None

    def seen_by(self, snapshot: int) -> bool:
        """Return whether a snapshot shows this version."""
        return self.by.seen_by(snapshot) and not (self.gone and self.gone.seen_by(snapshot))


class Stored(NamedTuple):
    """One row of the log."""

    stream: Stream
    version: int
    event_id: UUID
    event_type: str
    schema_version: int
    payload: str
    command_name: str
    principal_id: UUID
    surface_id: UUID | None
    correlation_id: UUID
    causation_id: UUID | None
    occurred_at: datetime
    recorded_at: datetime
    position: int
    by: Transaction

    @property
    def place(self) -> tuple[int, int]:
        """Return the position of the event in the tail."""
        return self.by.xid or 0, self.position

    @property
    def recorded(self) -> tuple[int, str, int, str]:
        return self.version, self.event_type, self.schema_version, self.payload


class PageRow(TailEvent):
    """A row of the tail, with its columns by name too."""

    def __getitem__(self, key: Any) -> Any:
        columns: list[Any] = [*self]
        return getattr(self, key) if isinstance(key, str) else columns[key]


class MemoryPostgres:
    """One database."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.commits = 0
        self.epoch = 0
        self.unique_versions = True
        self.streams: dict[Stream, list[Stored]] = {}
        self.tables: dict[str, Versions] = {}
        self.working: set[asyncio.Task[Any]] = set()
        self._next_xid, self._durable_xid, self._position = FIRST_XID, 0, 0
        self._open: dict[int, Transaction] = {}
        self._active: dict[Transaction, None] = {}
        self._held: dict[str, Transaction] = {}
        self._down_until = 0.0
        self.weather = Weather(Random(0), 0.0)  # noqa: S311

    def copy(self, clock: Callable[[], datetime]) -> "MemoryPostgres":
        """Return a copy of this database."""
        other = copy(self)
        other.clock, other.working, other._open, other._active = clock, set(), {}, {}
        other._held = {}
        other.streams = {stream: list(events) for stream, events in self.streams.items()}
        other.tables = {
            name: {key: [copy(version) for version in versions] for key, versions in table.items()}
            for name, table in self.tables.items()
        }
        return other

    def arrange(self, names: Sequence[str]) -> None:
        """Create these lists in one generation that is in use."""
        for name in names:
            tx = self.begin()
            row = {"name": name, "generation": 1, "live": True, "reached": (0, 0)}
            self.table("bookmarks")[name, "1"] = [Version(row, tx)]
            self.commit(tx)

    # --- transactions ---

    def begin(self) -> Transaction:
        """Return a new transaction, which has no id yet."""
        tx = Transaction()
        self._active[tx] = None
        return tx

    def identify(self, tx: Transaction) -> int:
        """Return the id of a transaction, which gets one when it first writes."""
        self.require(tx)
        if tx.xid is None:
            tx.xid, self._next_xid = self._next_xid, self._next_xid + 1
            self._open[tx.xid] = tx
        return tx.xid

    def commit(self, tx: Transaction) -> None:
        """Commit a transaction."""
        self.require(tx)
        self.commits += 1
        tx.at = self.commits
        self._durable_xid = max(self._durable_xid, tx.xid or 0)
        self._end(tx)

    def abort(self, tx: Transaction) -> None:
        """Roll back a transaction."""
        if tx.in_flight:
            tx.aborted = True
            self._end(tx)

    def crash(self, outage: float) -> None:
        """Lose every connection and everything in flight."""
        for tx in list(self._active):
            self.abort(tx)
        # Ids that were given after the last commit are in no log, and are given again.
        self._next_xid = max(FIRST_XID, self._durable_xid + 1)
        self.epoch += 1
        self._down_until = asyncio.get_running_loop().time() + outage

    def require(self, tx: Transaction) -> None:
        """Raise when a transaction was rolled back meanwhile."""
        if tx.aborted:
            raise asyncpg.CrashShutdownError("the server went down")

    def xmin(self) -> int:
        """Return the id below which no transaction is in flight."""
        return next(iter(self._open), self._next_xid)

    def _end(self, tx: Transaction) -> None:
        self._active.pop(tx)
        if tx.xid is not None:
            self._open.pop(tx.xid)
        for waiter in tx.waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for(self, tx: Transaction, other: Transaction, patience: float | None) -> None:
        """Wait until another transaction has ended."""
        waiter = asyncio.get_running_loop().create_future()
        other.waiters.append(waiter)
        try:
            async with asyncio.timeout(patience):
                await waiter
        except TimeoutError:
            raise asyncpg.LockNotAvailableError("a lock was waited for too long") from None
        self.require(tx)

    async def _hold(self, tx: Transaction, name: str, patience: float | None) -> None:
        """Lock a name for a transaction until it ends."""
        while (holder := self._held.get(name, tx)) is not tx and holder.in_flight:
            await self.wait_for(tx, holder, patience)
        self._held[name] = tx

    # --- reading ---

    def table(self, name: str) -> Versions:
        """Return a table next to the log."""
        return self.tables.setdefault(name, {})

    def events(self, stream: Stream, snapshot: int | None = None) -> list[Stored]:
        """Return the events of a stream that a snapshot shows, by version."""
        seen = self.commits if snapshot is None else snapshot
        found = [event for event in self.streams.get(stream, ()) if event.by.seen_by(seen)]
        found.sort(key=lambda event: event.version)
        return found

    def log(self) -> list[Stored]:
        """Return every committed event, in the order of the tail."""
        found = [e for events in self.streams.values() for e in events if e.by.at is not None]
        found.sort(key=lambda event: event.place)
        return found

    def rows(self, name: str, snapshot: int | None = None) -> list[Any]:
        """Return the rows of a table that a snapshot shows."""
        seen = self.commits if snapshot is None else snapshot
        return [
            version.row
            for versions in self.table(name).values()
            for version in versions
            if version.seen_by(seen)
        ]

    def row(self, name: str, *key: str, snapshot: int | None = None) -> Any:
        """Return the row with this key that a snapshot shows, if there is one."""
        versions, seen = (
            self.table(name).get(key, ()),
            self.commits if snapshot is None else snapshot,
        )
        return next((v.row for v in versions if v.seen_by(seen)), None)

    def selected(
        self, name: str, where: Sequence[tuple[str, Sequence[object]]], snapshot: int | None = None
    ) -> list[Any]:
        """Return the rows whose columns are among these values."""
        wanted = [(column, {str(value) for value in values}) for column, values in where]
        return [
            row
            for row in self.rows(name, snapshot)
            if all(str(_column(row, column)) in values for column, values in wanted)
        ]

    # --- connecting ---

    async def connect(
        self,
        _: str,
        *,
        timeout: float = 60,
        command_timeout: float | None = None,
        server_settings: dict[str, str] | None = None,
        connection_class: object = None,
    ) -> "Connection":
        """Return a connection, in place of `asyncpg.connect`."""
        await self.weather.pause()
        if asyncio.get_running_loop().time() < self._down_until:
            raise ConnectionRefusedError("the server is down")
        return Connection(self, server_settings or {})

    # --- writing ---

    async def execute(
        self, tx: Transaction, statement: str, arguments: Sequence[Any], patience: float | None
    ) -> list[Any]:
        """Carry out one statement that writes."""
        if statement.startswith("\nWITH new_event AS"):
            return await self._append(tx, statement, arguments, patience)
        if statement.startswith("\nUPDATE bk.bookmarks"):
            return await self._move(tx, statement, arguments, patience)
        if statement.startswith("\nWITH r AS"):
            return await self._upsert(tx, statement, arguments, patience)
        if statement == directory.UPSERT_ENTRIES.text:
            return []  # The directory is not searched here.
        if statement == append_writer.LOCK:
            for name in arguments[0]:
                await self._hold(tx, name, patience)
            return []
        if statement.startswith("\nINSERT INTO bk.idempotency"):
            # Of a store that acts and then remembers.
            assert statement.rstrip().endswith("ON CONFLICT DO NOTHING")
            place = f"{arguments[7]}-{arguments[8]}"
            with suppress(asyncpg.UniqueViolationError):
                await self._remember(tx, arguments[:3], [*arguments[3:7], place], patience)
            return []
        if statement.startswith("WITH older_snapshot AS"):
            await self._keep(tx, arguments, patience)
            return []
        assert statement == event_store.DENY, statement
        row = msgspec.json.decode(arguments[0])
        await self._insert(tx, "authorization_denials", (row["denial_id"],), row, patience)
        return []

    async def _append(
        self, tx: Transaction, statement: str, arguments: Sequence[Any], patience: float | None
    ) -> list[Any]:
        columns = arguments[:8] if isinstance(arguments[0], list) else [[a] for a in arguments[:8]]
        new = list(zip(*columns, strict=True))
        # The arguments are in the order in which the clauses name them.
        more = list(arguments[8:])
        last_event_id = more.pop(0) if "p.event_id =" in statement else None
        caller = [more.pop(0) for _ in range(9)] if "\npermitted AS" in statement else []
        read: list[Sequence[Any]] = [(), (), ()]
        if "\nmoved AS" in statement:
            read = [more.pop(0) for _ in range(3)]
        known = [caller[0], caller[5]] if caller else []
        about = [*known, *(more.pop(0) for _ in range(5 - len(known)))]
        answer = [more.pop(0) for _ in range(5)] if "\nanswer AS" in statement else None
        snapshots = [more.pop(0) for _ in range(5)] if "\nsnapshot AS" in statement else []
        rows = [match.groups() for match in ROW_WRITE.finditer(statement)]
        assert len(rows) == len(more), statement

        await self.weather.pause()
        tx.snapshot = self.commits
        await self.weather.pause()
        self.require(tx)
        xid = self.identify(tx)
        if NOT_STALE in statement and self._stale(tx, xid, new, last_event_id):
            return [(0, None, None)]
        if IS_PERMITTED in statement and not self._permitted(tx, *caller):
            return [(0, None, None)]
        if answer and caller:
            key = (str(about[0]), str(about[1]), str(answer[0]))
            if self.row("idempotency", *key, snapshot=tx.snapshot):
                return [(0, None, None)]
        if NOT_MOVED in statement and any(
            any(event.version == version + 1 for event in self.events((kind, id), tx.snapshot))
            for kind, id, version in zip(*read, strict=True)
        ):
            return [(0, None, None)]
        for kind, id, version, *rest in new:
            await self._insert_event(tx, (kind, id), version, rest, about, patience)
        # What is not read by the statement itself is carried out last first.
        for (verb, name), text in reversed(list(zip(rows, more, strict=True))):
            await self.weather.pause()
            self.require(tx)
            for row in msgspec.json.decode(text):
                await self._write_row(tx, verb, name, row, patience)
        await self._keep(tx, snapshots, patience)
        if answer:
            place = f"{xid}-{self._position_of(tx)}"
            await self._remember(
                tx, (about[0], about[1], answer[0]), [*answer[1:], place], patience
            )
        return [(len(new), self._position_of(tx), xid)]

    def _permitted(
        self,
        tx: Transaction,
        principal_id: UUID,
        kind: str,
        issuer: str | None,
        subject: str | None,
        conduit_id: UUID,
        surface_id: UUID | None,
        scope: str,
        command_name: str,
        policy_id: UUID,
    ) -> bool:
        """Return whether the caller that was recalled is still permitted to make the call."""
        seen, where = tx.snapshot, (str(conduit_id), surface_id and str(surface_id), scope)
        who = self.row("principal_standing", str(principal_id), snapshot=seen)
        bound = issuer and self.row("actor_identity", str(issuer), str(subject), snapshot=seen)
        grant = self.row("policy_grant", str(policy_id), str(principal_id), snapshot=seen)
        return bool(
            (who and who["kind"] == kind and not who["barred"] and not who["agent_kind"])
            and (issuer is None or (bound and bound["actor_id"] == str(principal_id)))
            and grant
            and (grant["conduit_id"], grant["surface_id"], grant["object_scope"]) == where
            and {command_name, "*"} & {*grant["permitted_commands"]}
        )

    def _stale(
        self,
        tx: Transaction,
        xid: int,
        new: Sequence[Sequence[Any]],
        last_event_id: UUID | None,
    ) -> bool:
        if last_event_id:
            ((kind, id, version, *_),) = new
            last = self.events((kind, id), tx.snapshot)[-1:]
            return not (
                last
                and last[0].version >= version - 1
                and last[0].event_id == last_event_id
                and last[0].place[0] < xid
            )
        versions: dict[Stream, list[int]] = {}
        for kind, id, version, *_ in new:
            versions.setdefault((kind, id), []).append(version)
        for stream, written in versions.items():
            first = min(written)
            if max(written) - first + 1 != len(written):
                return True
            before = [e for e in self.events(stream, tx.snapshot) if e.version == first - 1]
            if first > 1 and not (before and before[0].place[0] < xid):
                return True
        return False

    async def _insert_event(
        self,
        tx: Transaction,
        stream: Stream,
        version: int,
        rest: Sequence[Any],
        about: Sequence[Any],
        patience: float | None,
    ) -> None:
        self._position += 1
        position = self._position
        events = self.streams.setdefault(stream, [])
        while self.unique_versions:
            same = [e for e in events if e.version == version and not e.by.aborted]
            if not same:
                break
            if not same[0].by.in_flight or same[0].by is tx:
                raise _taken("events_p0")
            await self.wait_for(tx, same[0].by, patience)
        row = (stream, version, *rest, *about, self.clock(), position, tx)
        events.append(Stored._make(row))

    def _position_of(self, tx: Transaction) -> int:
        return max(e.position for events in self.streams.values() for e in events if e.by is tx)

    async def _remember(
        self, tx: Transaction, key: Sequence[Any], answer: Sequence[Any], patience: float | None
    ) -> None:
        await self.weather.pause()
        self.require(tx)
        text = tuple(str(part) for part in key)
        await self._insert(tx, "idempotency", text, (*key, *answer), patience)

    async def _keep(self, tx: Transaction, columns: Sequence[Any], patience: float | None) -> None:
        """Keep snapshots, each in place of an older one of its fold."""
        for fold, kind, id, version, state in zip(*columns, strict=True):
            key = str(fold), kind, str(id)
            made = {"stream": (kind, id), "version": version, "state": state}
            await self._put(tx, "snapshots", key, made, patience)

    async def _put(
        self, tx: Transaction, name: str, key: Key, made: dict[str, Any], patience: float | None
    ) -> None:
        """Insert a row, or put it in place of one at a lower version."""
        try:
            await self._insert(tx, name, key, made, patience)
        except asyncpg.UniqueViolationError:
            await self._change(
                tx,
                name,
                key,
                lambda _: made,
                patience,
                lambda row: row["version"] >= made["version"],
            )

    async def _write_row(
        self, tx: Transaction, verb: str, name: str, row: dict[str, Any], patience: float | None
    ) -> None:
        columns = KEYS[name]
        key = tuple(str(row[column]) for column in columns if column in row)
        if verb == "INSERT INTO":
            await self._insert(tx, name, key, row, patience)
        elif verb == "UPDATE":
            await self._change(tx, name, key, lambda stored: stored | row, patience)
        else:
            for each in [each for each in self.table(name) if each[: len(key)] == key]:
                await self._change(tx, name, each, lambda _: None, patience)

    async def _insert(
        self, tx: Transaction, name: str, key: Key, row: Any, patience: float | None
    ) -> None:
        self.identify(tx)
        versions = self.table(name).setdefault(key, [])
        while holder := _holder(versions, tx):
            if holder is tx:
                raise _taken(name)
            await self.wait_for(tx, holder, patience)
        versions.append(Version(row, tx))

    async def _change(
        self,
        tx: Transaction,
        name: str,
        key: Key,
        change: Callable[[Any], Any],
        patience: float | None,
        skip: Callable[[Any], bool] = lambda _: False,
    ) -> bool:
        """Replace a version of a row, or the version that others have made of it since."""
        self.identify(tx)
        versions = self.table(name).get(key, [])
        # An append sees by its own snapshot, everything else by one of this very moment.
        seen = tx.snapshot or self.commits
        version = next((v for v in versions if v.seen_by(seen) or v.by is tx), None)
        while version and version.gone and not version.gone.aborted and version.gone is not tx:
            if version.gone.in_flight:
                await self.wait_for(tx, version.gone, patience)
            else:
                version = version.after
        if version is None or version.gone is tx or skip(version.row):
            return False
        made = change(version.row)
        version.gone, version.after = tx, None if made is None else Version(made, tx)
        if version.after:
            versions.append(version.after)
        return True

    async def _move(
        self, tx: Transaction, statement: str, arguments: Sequence[Any], patience: float | None
    ) -> list[Any]:
        after, position, names, generations, _, *before = arguments
        reached, moved = (int(after), position), list[tuple[int]]()
        for name, generation, at, place in zip(names, generations, *before, strict=True):
            stood = int(at), place
            if await self._change(
                tx,
                "bookmarks",
                (name, str(generation)),
                lambda row: row | {"reached": reached},
                patience,
                lambda row, stood=stood: COMPARED in statement and row["reached"] != stood,
            ):
                moved.append((1,))
        return moved

    async def _upsert(
        self, tx: Transaction, statement: str, arguments: Sequence[Any], patience: float | None
    ) -> list[Any]:
        # The marks are not stored: what a list finds is asked of the rows.
        match = re.search(r"\nINSERT INTO proj\.(\w+)_v1 ", statement)
        assert match, statement
        assert "WHERE t.version < EXCLUDED.version" in statement
        name = f"proj.{match[1]}"
        for id, version, owner_id, facets, _, row in zip(*arguments, strict=True):
            made = {
                "id": id,
                "version": version,
                "owner_id": owner_id,
                "facets": _texts(facets),
                "row": row,
            }
            await self._put(tx, name, (str(id),), made, patience)
        return []

    # --- answering ---

    def answer(self, statement: str, arguments: Sequence[Any]) -> list[Any] | None:
        """Return the rows of a statement that only reads; None if it writes."""
        match statement:
            case call_lookup.OPEN.text:
                return self._opened(**dict(zip(call_lookup.OPEN.names, arguments, strict=True)))
            case event_store.LOAD_ONE.text:
                fold, kind, id, limit = arguments
                return self._read((kind, id), fold, limit)
            case event_store.LOAD_MANY.text:
                *columns, limit = arguments
                streams = zip(*columns, strict=True)
                return [
                    (*row, kind, id)
                    for kind, id, fold in streams
                    for row in self._read((kind, id), fold, limit)
                ]
            case event_store.OWNERS:
                streams = zip(*arguments, strict=True)
                return [(*s, e.principal_id) for s in streams for e in self.events(s)[:1]]
            case event_store.LATER.text:
                kind, id, after, limit = arguments
                later = [e.recorded for e in self.events((kind, id)) if e.version > after]
                return later[:limit]
            case event_store.HISTORY.text:
                return self._history(*arguments)
            case append_writer.FIND_EVENT:
                found = [e for e in self.log() if e.event_id == arguments[1]]
                return [e.place for e in found]
            case append_writer.FIND_ANSWER:
                return [()] if self.row("idempotency", *map(str, arguments)) else []
            case connections.ACQUIRE_LOCK | connections.RELEASE_LOCK:
                # There is one process, which asks for a name only when nobody in it has it.
                return [(False, "")]
            case tail.BOOKMARKS:
                found = self.rows("bookmarks")
                return [(r["name"], r["generation"], arguments[0], *r["reached"]) for r in found]
            case projections.ALL_GENERATIONS:
                found = self.rows("bookmarks")
                declared = projections.LAYOUT * 1000 + 1
                return [(r["name"], r["generation"], r["live"], declared) for r in found]
            case projections.ENTRIES_MADE:
                return [(r["name"], r["generation"], 10**6) for r in self.rows("bookmarks")]
            case listing.FOLLOWS:
                return self._follows(*arguments)
            case _:
                return self._other(statement, arguments)

    def _other(self, statement: str, arguments: Sequence[Any]) -> list[Any] | None:
        if selected := SELECTED.match(statement):
            columns = re.findall(r"(\w+) = ANY", selected[2])
            return self.selected(selected[1], list(zip(columns, arguments, strict=True)))
        if statement.startswith("\nWITH b AS"):
            return self._page(self.xmin() if XMIN in statement else self._next_xid, *arguments)
        if (
            re.match(r"SELECT id, .+ AS row, .+ FROM proj\.", statement)
            or "_mark WHERE" in statement
        ):
            return self._listed(statement, list(arguments))
        if statement.startswith("SELECT id, version, row::text FROM proj."):
            rows = self.rows(_list_of(statement))
            return [(r["id"], r["version"], r["row"]) for r in rows if r["id"] in arguments[0]]
        if statement.startswith("SELECT name, generation FROM bk.projections p WHERE NOT live"):
            return []
        if statement.startswith("SELECT pg_advisory_lock"):
            return []
        return None

    def _opened(
        self,
        principal_id: UUID | None,
        issuer: str | None,
        subject: str | None,
        conduit_id: UUID | None,
        surface_id: UUID | None,
        command_name: str | None,
        proposable: bool,
        idempotency_key: str | None,
        stream_type: str | None,
        stream_id: UUID | None,
        fold: UUID | None,
        limit: int,
        creates: bool,
    ) -> list[Any]:
        if principal_id is None:
            bound = self.row("actor_identity", str(issuer), str(subject))
            principal_id = UUID(bound["actor_id"]) if bound else None
        standing = self.row("principal_standing", str(principal_id))
        found: list[Any] = []
        if not standing:
            return found
        who, agent = (standing["kind"], standing["barred"]), None
        if standing["agent_kind"]:
            agent = [standing["agent_barred"] or "", standing["agent_kind"], *standing["tools"]]
        where = str(principal_id), str(conduit_id), surface_id and str(surface_id)
        grants: list[str] = []
        for g in self.rows("policy_grant"):
            permitted, proposed = g["permitted_commands"], g["proposable_commands"]
            if command_name is None:
                names = [*permitted, "?", *proposed]
            elif {command_name, "*"} & {*permitted}:
                names = [command_name]
            elif proposable and {command_name, "*"} & {*proposed}:
                names = ["?", command_name]
            else:
                continue
            if (g["principal_id"], g["conduit_id"], g["surface_id"]) == where:
                grants.append(" ".join([g["policy_id"], g["object_scope"], *names]))
        found.append((1, principal_id, *who, None, None, grants, None, agent))
        if standing["barred"] or standing["agent_barred"] or not grants:
            return found
        if answer := self.row(
            "idempotency", str(principal_id), str(surface_id), str(idempotency_key)
        ):
            *_, digest, status, result, version, place = answer
            found.append((2, None, result, place, version, status, None, digest, None))
        if stream_type and stream_id:
            stream = stream_type, stream_id
            for version, event_type, schema_version, payload in self._read(stream, fold, limit):
                first = version == 1 or event_type is None
                owner = self.events(stream)[0].principal_id if first else None
                parts = (3, owner, payload, None) if event_type is None else None
                parts = parts or (4, owner, event_type, payload)
                found.append((*parts, version, schema_version, None, None, None))
        # No caller of these programs has the scope of teams.
        if creates and (control := self.row("surface_control", str(surface_id))):
            found.append((6, UUID(control["visit_id"]), *[None] * 7))
        return found

    def _read(self, stream: Stream, fold: UUID | None, limit: int) -> list[Any]:
        """Return the snapshot of a stream for this fold, if there is one, and later events."""
        snapshot = self.row("snapshots", str(fold), stream[0], str(stream[1]))
        after = snapshot["version"] if snapshot else 0
        later = [e.recorded for e in self.events(stream) if e.version > after][:limit]
        return ([(after, None, None, snapshot["state"])] if snapshot else []) + later

    def _history(self, kind: str, id: UUID, after: int, limit: int) -> list[Any]:
        return [
            (
                e.event_id,
                *e.stream,
                e.version,
                *e.place,
                e.event_type,
                e.schema_version,
                e.principal_id,
                e.command_name,
                e.surface_id,
                e.correlation_id,
                e.causation_id,
                e.recorded_at,
                e.occurred_at,
                e.payload,
            )
            for e in self.events((kind, id))
            if e.version > after
        ][:limit]

    def _page(self, horizon: int, tx: str, position: int, *narrow: Any) -> list[Any]:
        *narrowed, limit = narrow
        until, names = None, None
        for each in narrowed:
            until, names = (each, names) if isinstance(each, str) else (until, each)
        after = (int(tx), position)
        ended = [e for e in self.log() if e.place[0] < horizon]
        watermark = max((e.place[0] for e in ended), default=0) + 1
        found = [
            e
            for e in ended
            if after < e.place
            and (until is None or e.place[0] < int(until))
            and (names is None or e.stream[0] in names)
        ]
        nobody: Any = None
        nothing = PageRow._make([nobody] * 9 + [watermark])
        return [
            PageRow._make((*e.recorded, *e.place, *e.stream, e.principal_id, watermark))
            for e in found[:limit]
        ] or [nothing]

    def _follows(self, names: Sequence[str], tx: str, position: int) -> list[Any]:
        reached = min(r["reached"] for r in self.rows("bookmarks") if r["name"] in names)
        return [(not any(reached < e.place <= (int(tx), position) for e in self.log()),)]

    def _listed(self, statement: str, arguments: list[Any]) -> list[Any]:
        newest_first = "ORDER BY id DESC" in statement
        rows = self.rows(_list_of(statement))
        given = {before: arguments[int(n) - 1] for before, n in LIST_ARGUMENT.findall(statement)}
        rows = [row for row in rows if given["id >"] < row["id"] < given["id <"]]
        rows.sort(key=lambda row: row["id"], reverse=newest_first)
        if wanted := given.get("facets @>"):
            rows = [row for row in rows if set(wanted) <= set(row["facets"])]
        if owner := given.get("owner_id ="):
            own = "OR id =" in statement
            rows = [r for r in rows if r["owner_id"] == owner or (own and r["id"] == owner)]
        found = [(row["id"], row["row"], row["version"]) for row in rows[: given["LIMIT"]]]
        if "chosen LEFT JOIN page" in statement:
            return [(*each, None) for each in found or [(None, None, None)]]
        return found


class Connection:
    """A connection with the methods of asyncpg that the adapters use."""

    def __init__(self, database: MemoryPostgres, settings: dict[str, str]) -> None:
        self._database, self._epoch = database, database.epoch
        self._statement_timeout = _seconds(settings.get("statement_timeout"))
        self._lock_timeout = _seconds(settings.get("lock_timeout"))
        self._transaction: Transaction | None = None
        self._closed = False

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        """Return the rows of one statement."""
        database, weather = self._database, self._database.weather
        fate = weather.fate()
        await weather.pause()
        self._require_open()
        if fate is Fate.BEFORE:
            self._lose()
        rows = database.answer(statement, arguments)
        if rows is None:
            tx = self._transaction
            work = asyncio.get_running_loop().create_task(self._write(tx, statement, arguments))
            database.working.add(work)
            work.add_done_callback(database.working.discard)
            work.add_done_callback(lambda work: work.cancelled() or work.exception())
            if fate is Fate.UNHEARD:
                await weather.pause()
                self._lose()
            rows = await asyncio.shield(work)
            await weather.pause()
        self._require_open()
        if fate is not Fate.WELL:
            self._lose()
        return rows

    async def _write(
        self, tx: Transaction | None, statement: str, arguments: Sequence[Any]
    ) -> list[Any]:
        """Carry out a write on the server, even if the client is gone."""
        database = self._database
        if tx:
            return await database.execute(tx, statement, arguments, self._lock_timeout)
        tx = database.begin()
        try:
            async with asyncio.timeout(self._statement_timeout):
                rows = await database.execute(tx, statement, arguments, self._lock_timeout)
                await database.weather.pause()
        except TimeoutError:
            database.abort(tx)
            raise asyncpg.QueryCanceledError("the statement took too long") from None
        except BaseException:
            database.abort(tx)
            raise
        database.commit(tx)
        return rows

    async def execute(self, statement: str, *arguments: Any) -> str:
        """Run one statement and drop its rows."""
        if statement == "BEGIN":
            await self._begin()
        elif statement == "COMMIT":
            await self._commit()
        else:
            await self.fetch(statement, *arguments)
        return ""

    async def _begin(self) -> None:
        await self._database.weather.pause()
        self._require_open()
        self._transaction = self._database.begin()

    async def _commit(self) -> None:
        database, weather, tx = self._database, self._database.weather, self._transaction
        assert tx
        fate = weather.fate()
        await weather.pause()
        self._require_open()
        if fate is Fate.BEFORE or (fate is Fate.UNHEARD and weather.coin()):
            self._lose()
        database.commit(tx)
        self._transaction = None
        if fate is not Fate.WELL:
            self._lose()

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[None]:
        """Run several statements in one transaction."""
        database, weather = self._database, self._database.weather
        await weather.pause()
        self._require_open()
        tx = self._transaction = database.begin()
        try:
            yield
            await self._commit()
        finally:
            self._transaction = None
            database.abort(tx)

    def is_closed(self) -> bool:
        """Return whether the client knows that the connection is lost."""
        return self._closed

    def is_in_transaction(self) -> bool:
        """Return whether a transaction is open."""
        return self._transaction is not None

    def terminate(self) -> None:
        """Close the connection without telling the server."""
        self._closed = True
        self._abandon()

    async def close(self) -> None:
        """Close the connection."""
        self._closed = True
        self._abandon()

    def _abandon(self) -> None:
        """Roll back what is not committed."""
        if self._transaction:
            self._database.abort(self._transaction)
            self._transaction = None

    def _require_open(self) -> None:
        if self._closed:
            raise asyncpg.InterfaceError("the connection is closed")
        if self._epoch != self._database.epoch:
            self._lose()

    def _lose(self) -> Never:
        self._closed = True
        self._abandon()
        raise self._database.weather.error()


def _holder(versions: Sequence[Version], tx: Transaction) -> Transaction | None:
    """Return the transaction that an insert waits for; itself if the key is taken."""
    for version in versions:
        if version.by.aborted:
            continue
        if version.by.in_flight and version.by is not tx:
            return version.by
        if version.gone is None or version.gone.aborted:
            return tx
        if version.gone.in_flight and version.gone is not tx:
            return version.gone
    return None


def _taken(table: str) -> asyncpg.UniqueViolationError:
    error = asyncpg.UniqueViolationError("duplicate key value violates unique constraint")
    error.table_name = table
    return error


def _list_of(statement: str) -> str:
    match = OF_LIST.search(statement)
    assert match, statement
    return f"proj.{match[1]}"


def _texts(array: str) -> list[str]:
    """Return the texts of an array in the format of PostgreSQL."""
    return msgspec.json.decode(f"[{array[1:-1]}]")


def _column(row: dict[str, Any], name: str) -> object:
    """Return the value of a column, which the database may compute."""
    if name == "unrestricted":
        return row["permitted_commands"] == ["*"] and row["object_scope"] == "All"
    return row[name]


def _seconds(milliseconds: str | None) -> float | None:
    return int(milliseconds) / 1000 if milliseconds else None
