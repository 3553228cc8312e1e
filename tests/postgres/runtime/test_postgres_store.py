"""The PostgreSQL store: what a call costs, and what becomes of it when the database fails."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import combinations
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

import asyncpg
import psycopg
import pytest
from tests.support.proxy import Proxy, Step
from tests.support.verdicts import time_counts
from uuid_utils.compat import uuid7

from beamkeep.adapters import stream_queues
from beamkeep.adapters.postgres import append_writer, connections, event_store
from beamkeep.adapters.postgres.append_statement import AppendShape, append_statement
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.contexts.access.actor import (
    LOGIN_BYTES,
    ActorCannotDeactivateError,
    ActorProfileForgotten,
    actors,
)
from beamkeep.contexts.access.profile import PROFILES, STANDINGS
from beamkeep.contexts.enclosure.enclosure import FRESHNESS, Freshness
from beamkeep.contexts.feed.subscription import (
    BOOKMARKS,
    DELIVERIES,
    DeliveryStatus,
    EventDelivery,
    SubscriptionPlace,
)
from beamkeep.contexts.run.observation import (
    OBSERVATIONS,
    Observation,
    Reading,
    RunObservationIdTakenError,
)
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import POLICY_GRANTS, PolicyNotFoundError
from beamkeep.contexts.trust.zone import InvalidZoneNameError
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Claim,
    Denial,
    DenialReason,
    Grant,
    Lock,
    ObjectScope,
    Rows,
    Standing,
    replace,
)
from beamkeep.parts.wiring import IDLE
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.session import SNAPSHOT_EVERY
from beamkeep.runtime.store import (
    Append,
    CallLookup,
    IdempotencyInFlightError,
    KeyTakenError,
    MovedError,
    OutcomeUnknownError,
    StoredAnswer,
    StoreUnavailableError,
)
from beamkeep.testing.appends import ANSWER, HTTP, ME, NOW, append, at, registered, updated
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import Deployed, connected, waiting_for_a_table
from beamkeep.testing.service import call, enrol
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]


# What a call costs


class Meter:
    """Counts what happens in one database: statements, and transaction ids taken."""

    def __init__(self, database: Database) -> None:
        self._name = database.name
        self._watch = psycopg.connect(database.cluster.url(), autocommit=True)
        self.statements = self.xids = 0

    def __enter__(self) -> Self:
        self._before = self._read()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        after = self._read()
        self.statements, self.xids = (a - b for a, b in zip(after, self._before, strict=True))

    def close(self) -> None:
        self._watch.close()

    def _read(self) -> tuple[int, int]:
        row = self._watch.execute(
            """SELECT COALESCE((SELECT sum(calls) FROM pg_stat_statements s
                                  JOIN pg_database d ON d.oid = s.dbid
                                 WHERE d.datname = %s), 0)::bigint,
                      pg_snapshot_xmax(pg_current_snapshot())::text::bigint""",
            [self._name],
        ).fetchone()
        assert row is not None
        return row


@pytest.fixture
async def meter(database: Database, deployed: Deployed) -> AsyncGenerator[Meter]:
    with psycopg.connect(database.cluster.url()) as connection:
        loaded = connection.execute("SHOW shared_preload_libraries").fetchone()
    if loaded != ("pg_stat_statements",):
        pytest.skip("this PostgreSQL cannot count statements")
    # The first call by a surface reads that surface.
    await call(deployed.service, "define_zone", {"name": "First"})
    meter = Meter(database)
    yield meter
    meter.close()


async def test_a_command_is_two_statements_and_one_where_the_process_wrote_one_like_it(
    deployed: Deployed, meter: Meter
):
    service = deployed.service
    actor = await call(service, "register_actor", {"name": "Gate", "kind": "service_account"})
    zone = partial(call, service, "define_zone", {"name": "Hutch"})
    commands: list[tuple[int, Callable[[], Awaitable[object]]]] = [
        (1, zone),
        (1, partial(zone, idempotency_key="k")),
        (1, partial(call, service, "register_actor", {"name": "Grace", "email": "g@lab.test"})),
        (2, partial(call, service, "deactivate_actor", {"actor_id": str(actor.id)})),
    ]
    for statements, command in commands:
        with meter:
            await command()
        assert (meter.statements, meter.xids) == (statements, 1)


async def test_a_command_that_keeps_a_snapshot_costs_no_statement_more(
    deployed: Deployed, meter: Meter
):
    actor = await call(deployed.service, "register_actor", {"name": "Grace"})
    stream, folds = ("Actor", actor.id), Codec([actors]).folds
    costs: list[tuple[int, int]] = []
    for number in range(2 * SNAPSHOT_EVERY - 1):
        told = {"actor_id": str(actor.id), "phone": str(number)}
        with meter:
            await call(deployed.service, "update_actor_profile", told)
        costs.append((meter.statements, meter.xids))
    # With the first, asyncpg asks once what the types of its parameters are.
    assert len({*costs[SNAPSHOT_EVERY:]}) == 1
    snapshot = (await deployed.store.load([stream], folds))[stream].snapshot
    assert snapshot is not None
    assert snapshot.version == 2 * SNAPSHOT_EVERY


async def test_a_command_that_waits_for_its_turn_is_three_statements_more(
    deployed: Deployed, meter: Meter, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stream_queues, "CONTENTION_SECONDS", 60.0)
    gate = {"name": "Gate", "kind": "service_account"}
    actor = await call(deployed.service, "register_actor", gate)
    with pytest.raises(MovedError):
        async with deployed.store.wait_turn(("Actor", actor.id)):
            raise MovedError
    with meter:
        await call(deployed.service, "deactivate_actor", {"actor_id": str(actor.id)})
    assert (meter.statements, meter.xids) == (5, 1)


async def test_a_repeated_command_is_one_statement_and_no_transaction_id(
    deployed: Deployed, meter: Meter
):
    again = partial(
        call, deployed.service, "define_zone", {"name": "Hutch"}, idempotency_key="again"
    )
    first = await again()
    with meter:
        answer = await again()
    assert (answer.replayed, answer.body) == (True, first.body)
    assert (meter.statements, meter.xids) == (1, 0)


async def test_a_refused_command_takes_no_transaction_id(deployed: Deployed, meter: Meter):
    service = deployed.service
    actor = await call(service, "register_actor", {"name": "Grace"})
    await call(service, "deactivate_actor", {"actor_id": str(actor.id)})
    policy = {"policy_id": str(uuid4()), "permitted_principal_id": str(uuid4()), "reason": "Left"}
    for name, arguments, refusal in (
        ("define_zone", {"name": " "}, InvalidZoneNameError),
        ("deactivate_actor", {"actor_id": str(actor.id)}, ActorCannotDeactivateError),
        ("revoke_grant", policy, PolicyNotFoundError),
    ):
        with meter, pytest.raises(refusal):
            await call(service, name, arguments)
        assert (meter.statements, meter.xids) == (1, 0), name


async def test_a_denied_command_is_two_statements_one_of_which_records_it(
    deployed: Deployed, meter: Meter
):
    await enrol(deployed.service, "eve")
    with meter, pytest.raises(UnauthorizedError):
        await call(deployed.service, "define_zone", {"name": "Hutch"}, subject="eve")
    assert (meter.statements, meter.xids) == (2, 1)


async def test_a_get_is_one_statement_and_any_other_question_two(deployed: Deployed, meter: Meter):
    service = deployed.service
    zone = await call(service, "define_zone", {"name": "Hutch"})
    about = {"zone_id": str(zone.id)}
    for name, arguments, statements in (
        ("get_zone", about, 1),
        ("get_zone_history", about, 2),
        ("list_zones", {}, 2),
    ):
        with meter:
            await call(service, name, arguments)
        assert (meter.statements, meter.xids) == (statements, 0), name


# Lost answers


class Counted(Connections):
    """Connections that count what is asked of them."""

    asked = 0

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        self.asked += 1
        return await super().fetch(statement, *arguments)


class Behind:
    """A store that reaches its database through a proxy."""

    def __init__(self, proxy: Proxy, database: Database, **settings: str) -> None:
        url = f"postgresql://bk_app@127.0.0.1:{proxy.port}/{database.name}"
        self.proxy, self.connections = proxy, Counted(url, 4, **settings)
        self.store = PostgresEventStore(self.connections, url)


@asynccontextmanager
async def behind(database: Database, **settings: str) -> AsyncGenerator[Behind]:
    async with Proxy.before(database.cluster.port) as proxy:
        reached = Behind(proxy, database, **settings)
        # A connection is open, and the statements an append needs are known to it.
        await reached.store.append(append(at(1, registered(uuid7()))))
        yield reached
        await reached.connections.close()


RUN = UUID(int=100)


def observed(id: UUID, run_id: UUID) -> Observation:
    reading = Reading(id, "energy", value=0.1, sampling_procedure="monitor", sampled_at=NOW)
    return Observation.of(
        reading,
        run_id=run_id,
        recorded_at=NOW,
        principal_id=ME,
        surface_id=HTTP,
        correlation_id=None,
    )


def readings(count: int) -> Rows:
    """This many readings of one run, as rows in bulk."""
    rows = [observed(uuid7(), RUN) for _ in range(count)]
    return OBSERVATIONS.append(rows, under="run_id", taken=RunObservationIdTakenError)


async def versions(store: PostgresEventStore, id: UUID) -> list[int]:
    return [envelope.recorded.version for envelope in await store.history(("Actor", id), 0, 99)]


@pytest.mark.parametrize("after", ["nothing", "sending", "answering"])
async def test_an_append_whose_answer_was_lost_is_written_exactly_once(
    unseeded: Database, after: Step
):
    async with behind(unseeded) as reached:
        id = uuid7()
        new, more = at(1, registered(id)), at(2, updated(id))
        claim = CLAIMS.insert(Claim("name", str(id), ME))
        reached.proxy.cut_at(new.event_id.bytes, after)
        position = await reached.store.append(append(new, more, side_writes=[claim], answer=ANSWER))
        assert reached.proxy.cuts == 1
        assert await versions(reached.store, id) == [1, 2]
        (*_, last) = await reached.store.history(("Actor", id), 0, 99)
        assert last.position == position.position


@pytest.mark.parametrize("after", ["nothing", "sending", "answering"])
async def test_rows_in_bulk_whose_answer_was_lost_are_written_exactly_once_with_their_events(
    unseeded: Database, after: Step
):
    async with behind(unseeded) as reached:
        id, rows = uuid7(), readings(50)
        new = at(1, registered(id))
        reached.proxy.cut_at(new.event_id.bytes, after)
        await reached.store.append(append(new, side_writes=[rows], answer=ANSWER))
        assert reached.proxy.cuts == 1
        assert await versions(reached.store, id) == [1]
        assert len(await reached.store.rows(OBSERVATIONS, {"run_id": RUN})) == 50


async def test_an_append_that_was_lost_and_overtaken_is_refused(unseeded: Database):
    async with behind(unseeded) as reached:
        id = uuid7()
        await reached.store.append(append(at(1, registered(id))))
        mine = at(2, updated(id))
        reached.proxy.cut_at(mine.event_id.bytes, "nothing")
        other = unseeded.connections(1)
        await PostgresEventStore(other, "").append(append(at(2, updated(id))))
        with pytest.raises(MovedError):
            await reached.store.append(append(mine))
        assert await versions(reached.store, id) == [1, 2]
        await other.close()


async def test_a_lost_answer_stays_open_while_the_rows_are_locked(unseeded: Database):
    async with behind(unseeded, lock_timeout="20") as reached, connected(unseeded) as other:
        id = uuid7()
        new = at(1, registered(id))
        await other.execute("BEGIN; INSERT INTO bk.claims VALUES ('name', 'a', NULL)")
        reached.proxy.cut_at(new.event_id.bytes, "sending")
        so_far = reached.connections.asked
        claim = CLAIMS.insert(Claim("name", "a", ME))
        appending = asyncio.create_task(reached.store.append(append(new, side_writes=[claim])))

        async def tried_again() -> bool:
            return reached.connections.asked >= so_far + 3 or appending.done()

        await until(tried_again)
        await other.execute("ROLLBACK")
        await appending
        assert await versions(reached.store, id) == [1]


async def test_a_caller_whose_outcome_is_unknown_learns_that_it_is_unknown(
    unseeded: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(append_writer, "RESOLVE_TIMEOUT", 0.2)
    async with behind(unseeded) as reached:
        id = uuid7()
        new = at(1, registered(id))
        reached.proxy.cut_at(new.event_id.bytes, "answering")
        reached.proxy.away = True
        with pytest.raises(OutcomeUnknownError):
            await reached.store.append(append(new))
        reached.proxy.away = False
        assert await versions(reached.store, id) == [1]


@pytest.mark.parametrize("after", ["nothing", "answering"])
async def test_a_connection_lost_in_a_read_is_replaced(unseeded: Database, after: Step):
    async with behind(unseeded) as reached:
        id = uuid7()
        await reached.store.append(append(at(1, registered(id))))
        await reached.store.load([("Actor", id)])
        reached.proxy.cut_at(id.bytes, after)
        assert len((await reached.store.load([("Actor", id)]))["Actor", id].events) == 1
        assert reached.proxy.cuts == 1


async def test_a_read_gives_up_when_the_database_stays_away(
    unseeded: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connections, "WAIT_TIMEOUT", 0.2)
    async with behind(unseeded) as reached:
        id = uuid7()
        reached.proxy.cut_at(id.bytes, "nothing")
        reached.proxy.away = True
        with pytest.raises(StoreUnavailableError):
            await reached.store.load([("Actor", id)])


async def test_the_service_answers_again_once_a_crashed_database_is_back(
    unseeded: Database, cluster: Cluster
):
    pool = unseeded.connections(4)
    store = PostgresEventStore(pool, unseeded.url())
    id = uuid7()
    await store.append(append(at(1, registered(id))))
    await asyncio.gather(*(store.load([("Actor", id)]) for _ in range(4)))
    unseeded.ask("CHECKPOINT")
    # Neither gives the loop a chance to notice that every connection is dead.
    cluster.kill()
    cluster.resume()
    back = time.monotonic()
    await store.append(append(at(2, updated(id))))
    assert await versions(store, id) == [1, 2]
    assert not time_counts() or time.monotonic() - back < 5.0
    await pool.close()


# The order of transactions is the order of versions

APPEND = append_statement(
    AppendShape(single_event=True, first_event=False, reads=False, answer=False, snapshots=False)
).text
UNGUARDED = APPEND.replace("p.transaction_id < pg_current_xact_id()", "true")
CLAIMING = ("begin", "claim", "read", "append", "commit")
PLAIN = ("begin", "read", "append", "commit")


class Writer:
    """A transaction that appends one event to a stream, taken step by step."""

    def __init__(
        self, connection: asyncpg.Connection, statement: str, id: UUID, steps: Iterable[str]
    ) -> None:
        self._connection, self._statement, self._id = connection, statement, id
        self._steps = iter(steps)
        self._version, self._failed = 0, False
        self.step: asyncio.Task[None] | None = None

    def begin_next(self) -> asyncio.Task[None]:
        self.step = asyncio.create_task(getattr(self, f"_{next(self._steps)}")())
        return self.step

    @property
    def pid(self) -> int:
        return self._connection.get_server_pid()

    async def _begin(self) -> None:
        await self._connection.execute("BEGIN")

    async def _claim(self) -> None:
        await self._connection.fetchval("SELECT pg_current_xact_id()::text")

    async def _read(self) -> None:
        self._version = await self._connection.fetchval(
            "SELECT max(version) FROM bk.events WHERE stream_type = 'Actor' AND stream_id = $1",
            self._id,
        )

    async def _append(self) -> None:
        new = at(self._version + 1, updated(self._id))
        try:
            written = await self._connection.fetchval(
                self._statement,
                *(new.stream[0], new.stream[1], new.version, new.event_id, new.event_type),
                *(new.schema_version, new.payload.decode(), "try_it", ME, HTTP, uuid7(), None, NOW),
            )
        except asyncpg.UniqueViolationError:
            written = 0
        self._failed = not written

    async def _commit(self) -> None:
        await self._connection.execute("ROLLBACK" if self._failed else "COMMIT")


async def tail_after(
    order: Sequence[int],
    statement: str,
    programs: Sequence[Sequence[str]],
    sessions: Sequence[asyncpg.Connection],
) -> list[int]:
    """The versions of one stream, in tail order, after two writers took turns in this order."""
    watch, *both = sessions
    id = uuid7()
    first = at(1, registered(id))
    await watch.fetchval(
        APPEND,
        *(first.stream[0], id, 1, first.event_id, first.event_type, 1, first.payload.decode()),
        *("try_it", ME, HTTP, uuid7(), None, NOW),
    )
    writers = [
        Writer(session, statement, id, program)
        for session, program in zip(both, programs, strict=True)
    ]
    waiting = list(order)
    while waiting:
        # Whoever waits for the other lets it go first.
        ready = [turn for turn in dict.fromkeys(waiting) if await rests(writers[turn], watch)]
        assert ready, "both writers wait for each other"
        waiting.remove(ready[0])
        writers[ready[0]].begin_next()
        await rests(writers[ready[0]], watch)
    for writer in writers:
        assert writer.step is not None
        await writer.step
    rows = await watch.fetch(
        "SELECT version FROM bk.events WHERE stream_id = $1 ORDER BY transaction_id, position", id
    )
    return [row[0] for row in rows]


async def rests(writer: Writer, watch: asyncpg.Connection) -> bool:
    """Whether a writer has done its last step, rather than waits for the other one."""
    while writer.step is not None and not writer.step.done():
        if await watch.fetchval("SELECT cardinality(pg_blocking_pids($1)) > 0", writer.pid):
            return False
        await asyncio.wait([writer.step], timeout=0.001)
    return True


def orders(first: int, second: int) -> list[list[int]]:
    """Every order in which two writers can take so many turns each."""
    turns = range(first + second)
    return [[int(turn not in own) for turn in turns] for own in combinations(turns, first)]


async def inversions(
    database: Database, statement: str, programs: Sequence[Sequence[str]], stop_at: int
) -> tuple[int, list[list[int]]]:
    """How many orders were tried, and the first of those that the tail tells wrongly."""
    found: list[list[int]] = []
    every = orders(*(len(program) for program in programs))
    async with connected(database) as watch, connected(database) as a, connected(database) as b:
        for order in every:
            tail = await tail_after(order, statement, programs, [watch, a, b])
            if tail != sorted(tail):
                found.append(order)
                if len(found) == stop_at:
                    break
            assert sorted(tail) == list(range(1, len(tail) + 1))
    return len(every), found


@pytest.mark.parametrize(
    ("programs", "number"),
    [((CLAIMING, CLAIMING), 252), ((CLAIMING, PLAIN), 126), ((PLAIN, PLAIN), 70)],
)
async def test_no_order_of_two_writers_makes_the_tail_tell_versions_out_of_order(
    unseeded: Database, programs: Sequence[Sequence[str]], number: int
):
    assert await inversions(unseeded, APPEND, programs, stop_at=1) == (number, [])


async def test_without_the_guard_some_order_does(unseeded: Database):
    assert UNGUARDED != APPEND
    _, found = await inversions(unseeded, UNGUARDED, (CLAIMING, CLAIMING), stop_at=1)
    assert found


async def test_a_transaction_older_than_what_it_read_may_not_append_after_it(unseeded: Database):
    """The order inversion itself: an id taken first, a version read later."""
    async with connected(unseeded) as a, connected(unseeded) as b, connected(unseeded) as watch:
        overtaken = [0, 0, 1, 1, 1, 1, 0, 0, 0]
        tail = partial(tail_after, overtaken, programs=(CLAIMING, PLAIN), sessions=[watch, a, b])
        assert await tail(statement=UNGUARDED) == [1, 3, 2]
        assert await tail(statement=APPEND) == [1, 2]


# Locks, timeouts, a full disk


@pytest.fixture
async def hurried(unseeded: Database) -> AsyncGenerator[PostgresEventStore]:
    """A store that waits 50 ms for a lock."""
    pool = unseeded.connections(2, lock_timeout="50")
    yield PostgresEventStore(pool, unseeded.url())
    await pool.close()


async def test_a_key_just_being_written_is_in_flight(
    unseeded: Database, hurried: PostgresEventStore
):
    id = uuid7()
    async with connected(unseeded) as first:
        await first.execute("BEGIN")
        await first.execute(
            "INSERT INTO bk.idempotency VALUES ($1, $2, $3, $4, 201, '')",
            *(ME, HTTP, ANSWER.key, ANSWER.fingerprint),
        )
        with pytest.raises(IdempotencyInFlightError):
            await hurried.append(append(at(1, registered(id)), answer=ANSWER))
        await first.execute("ROLLBACK")
    assert await versions(hurried, id) == []
    await hurried.append(append(at(1, registered(id)), answer=ANSWER))


async def test_a_row_just_being_written_is_waited_for_and_then_decided_on_again(
    unseeded: Database, hurried: PostgresEventStore
):
    async with connected(unseeded) as first:
        await first.execute("BEGIN; INSERT INTO bk.claims VALUES ('name', 'a', NULL)")
        claim = CLAIMS.insert(Claim("name", "a", ME))
        for events in ([at(1, registered(uuid7()))], []):
            with pytest.raises(MovedError):
                await hurried.append(append(*events, side_writes=[claim]))
        with pytest.raises(IdempotencyInFlightError):
            await hurried.append(append(side_writes=[claim], answer=ANSWER))


@pytest.mark.parametrize("written", ["row", "rows in bulk", "event with rows in bulk"])
async def test_whatever_is_written_under_a_lock_waits_for_its_holder(
    unseeded: Database, hurried: PostgresEventStore, written: str
):
    id = uuid7()
    new = append(
        *([at(1, registered(id))] if "event" in written else []),
        side_writes=[Lock("tree"), CLAIMS.insert(Claim("name", "a", ME)), readings(1)],
    )
    if "bulk" not in written:
        new = replace(new, side_writes=new.side_writes[:2])
    async with connected(unseeded) as first:
        await first.execute("BEGIN")
        await first.execute(append_writer.LOCK, ["tree"])
        with pytest.raises(MovedError):
            await hurried.append(new)
        assert await hurried.rows(CLAIMS, {"scope": "name"}) == ()
        await first.execute("ROLLBACK")
    await hurried.append(new)
    assert len(await hurried.rows(CLAIMS, {"scope": "name"})) == 1


async def test_a_follower_is_woken_by_whatever_is_written(unseeded: Database):
    pool, woken = unseeded.connections(2), list[str]()
    store = PostgresEventStore(pool, unseeded.url(), lambda _: woken.append("woken"))
    claim = CLAIMS.insert(Claim("name", "a", ME))
    for new in (append(at(1, registered(uuid7()))), append(side_writes=[claim])):
        await store.append(new)
    await store.append(append(side_writes=[readings(1)]))
    assert len(woken) == 3
    with pytest.raises(KeyTakenError):
        await store.append(append(side_writes=[claim]))
    assert len(woken) == 3, "nothing was written"
    await pool.close()


async def test_old_answers_are_dropped_a_part_at_a_time(
    deployed: Deployed, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(event_store, "BATCH_SIZE", 2)
    for number in range(5):
        kept = replace(ANSWER, key=f"key {number}")
        await deployed.store.append(append(at(1, registered(uuid7())), answer=kept))
    database.ask("UPDATE bk.idempotency SET recorded_at = now() - interval '2 hours'")
    young = replace(ANSWER, key="young")
    await deployed.store.append(append(at(1, registered(uuid7())), answer=young))
    assert await deployed.store.forget_answers(1) == 5
    assert database.ask("SELECT key FROM bk.idempotency") == [("young",)]


async def test_an_answer_stored_without_version_and_position_is_replayed_without(
    deployed: Deployed, database: Database
):
    grant = Grant(uuid7(), ME, seeded.ENTRY, HTTP, ("try_it",), ObjectScope.ALL)
    beside = [POLICY_GRANTS.insert(grant), STANDINGS.insert(Standing(ME, ActorKind.HUMAN))]
    first = append(at(1, registered(uuid7())), answer=ANSWER, side_writes=beside)
    await deployed.store.append(first)
    database.ask("UPDATE bk.idempotency SET version = NULL, transaction_id = NULL, position = NULL")
    opening = CallLookup(
        identity=None,
        principal_id=ME,
        conduit_id=seeded.ENTRY,
        surface_id=HTTP,
        command_name="try_it",
        idempotency_key=ANSWER.key,
    )
    opened = await deployed.store.open(opening)
    assert opened.stored_answer == StoredAnswer(ANSWER.fingerprint, 201, ANSWER.result)


async def test_the_longest_login_is_stored_and_found(deployed: Deployed):
    # Characters of four bytes each that do not repeat, so that nothing is saved by compressing.
    letters = [chr(0x20000 + number * 37) for number in range(625)]
    issuer, subject = "".join(letters[:400]), "".join(letters[400:])
    assert len(f"{issuer}{subject}".encode()) == LOGIN_BYTES
    login = {"issuer": issuer, "subject": subject}
    made = await call(deployed.service, "register_actor", {"name": "A", "identities": [login]})
    found = await deployed.store.open(CallLookup((issuer, subject), None, None, None, "list_zones"))
    assert found.standing is not None
    assert found.standing.principal_id == made.id


async def test_old_denials_are_dropped_a_part_at_a_time_and_young_ones_never(
    deployed: Deployed, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(event_store, "BATCH_SIZE", 2)
    now = datetime.now(UTC)
    for age in (10, 29, 31, 99, 101, 200, 300, 400, 4000):
        when = now - timedelta(days=age)
        id = UUID(int=int(when.timestamp() * 1000) << 80 | 7 << 76 | age)
        denied = Denial(
            id, uuid7(), None, uuid7(), str(age), DenialReason.NO_MATCHING_POLICY, uuid7(), when
        )
        await deployed.store.deny(denied)

    def left() -> set[int]:
        found = database.ask("SELECT command_name FROM bk.authorization_denials")
        return {int(str(name)) for (name,) in found}

    assert await deployed.store.forget_denials(100) == 5
    assert left() == {10, 29, 31, 99}
    assert await deployed.store.forget_denials(1) == 2
    assert left() == {10, 29}
    for role in ("bk_projector", "bk_reader", "bk_monitor"):
        with (
            psycopg.connect(database.url(role)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SELECT bk.forget_denials(30, 1)")


async def test_settled_deliveries_are_dropped_and_dead_letters_and_open_ones_stay(
    deployed: Deployed, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(event_store, "BATCH_SIZE", 2)
    active, retired, now = uuid7(), uuid7(), datetime.now(UTC)
    place = BOOKMARKS.insert(SubscriptionPlace(active, ME, ""))
    await deployed.store.append(append(side_writes=[place]))

    async def put(
        status: DeliveryStatus, age: int, of: UUID = active, outside: bool = False
    ) -> None:
        at = now - timedelta(days=age)
        row = EventDelivery(
            subscription_id=of,
            event_id=uuid7(),
            event_type=f"{status} {age}" + (" outside" if outside else ""),
            stream_type="Run",
            stream_id=uuid7(),
            cursor="",
            status=status,
            attempt=1,
            first_at=at,
            at=at,
            outside_id="log 7" if outside else None,
        )
        await deployed.store.append(append(side_writes=[DELIVERIES.upsert(row)]))

    for status in DeliveryStatus:
        for age in (6, 8, 91):
            await put(status, age)
    await put(DeliveryStatus.DELIVERED, 8, outside=True)
    await put(DeliveryStatus.DELIVERED, 8, of=retired, outside=True)
    assert await deployed.store.forget_deliveries(7) == 6
    left = {str(name) for (name,) in database.ask("SELECT event_type FROM bk.delivery")}
    assert left == {
        *("Sending 6", "Sending 8", "Sending 91", "Refused 6", "Refused 8"),
        *("Delivered 6", "Skipped 6", "Delivered 8 outside"),
    }


async def test_a_statement_that_takes_too_long_makes_the_store_unavailable(unseeded: Database):
    pool = unseeded.connections(2, statement_timeout="50", lock_timeout="0")
    store = PostgresEventStore(pool, unseeded.url())
    with pytest.raises(StoreUnavailableError):
        await pool.read("SELECT pg_sleep(60)")
    async with connected(unseeded, "postgres") as other:
        await other.execute("BEGIN; LOCK TABLE bk.claims")
        claim = CLAIMS.insert(Claim("name", "a", ME))
        with pytest.raises(StoreUnavailableError):
            await store.append(append(at(1, registered(uuid7())), side_writes=[claim]))
    await pool.close()


class Unheard(Connections):
    """Connections that lose the answers to the first statements that are carried out."""

    to_lose = 1

    async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
        rows = await super().fetch(statement, *arguments)
        if self.to_lose:
            self.to_lose -= 1
            raise asyncpg.PostgresConnectionError
        return rows


async def test_a_row_whose_answer_is_lost_is_written_once(unseeded: Database):
    pool = Unheard(unseeded.url(), 2, **IDLE)
    store = PostgresEventStore(pool, unseeded.url())
    claim = Claim("name", "a", ME)
    await store.append(append(side_writes=[CLAIMS.insert(claim)]))
    assert await store.rows(CLAIMS, {"scope": "name"}) == (claim,)
    pool.to_lose = 1
    with pytest.raises(KeyTakenError):
        await store.append(append(side_writes=[CLAIMS.insert(Claim("name", "a", None))]))
    await pool.close()


async def test_a_row_is_not_called_unwritten_when_nobody_can_know(
    unseeded: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connections, "WAIT_TIMEOUT", 0.1)
    pool = Unheard(unseeded.url(), 2, **IDLE)
    store, pool.to_lose = PostgresEventStore(pool, unseeded.url()), 1000
    row = FRESHNESS.replace(Freshness(uuid7(), None))
    with pytest.raises(OutcomeUnknownError):
        await store.append(append(side_writes=[row]))
    await pool.close()


class Failing(Connections):
    """Connections to a server that refuses everything for one reason."""

    def __init__(self, reason: Exception) -> None:
        super().__init__("", 1)
        self._reason = reason

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        raise self._reason


@pytest.mark.parametrize(
    "reason",
    [
        asyncpg.InsufficientResourcesError("could not extend file: No space left on device"),
        asyncpg.QueryCanceledError("canceling statement due to statement timeout"),
        asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"),
    ],
)
async def test_a_server_that_can_do_nothing_makes_the_store_unavailable(reason: Exception):
    store = PostgresEventStore(Failing(reason), "")
    with pytest.raises(StoreUnavailableError):
        await store.append(append(at(1, registered(uuid7()))))
    with pytest.raises(StoreUnavailableError):
        await store.load([("Actor", uuid7())])


# Forgetting


async def test_a_profile_is_blanked_before_it_is_deleted(database: Database, deployed: Deployed):
    database.ask("CREATE TABLE public.seen (name text, email text)")
    database.ask(
        """CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
           BEGIN INSERT INTO public.seen VALUES (NEW.name, NEW.email); RETURN NULL; END $$"""
    )
    database.ask(
        "CREATE TRIGGER see AFTER UPDATE ON bk.actor_profile"
        " FOR EACH ROW EXECUTE FUNCTION public.see()"
    )
    grace = {"name": "Grace", "email": "grace@lab.test"}
    actor = await call(deployed.service, "register_actor", grace)
    await call(deployed.service, "forget_actor", {"actor_id": str(actor.id)})
    assert database.ask("SELECT * FROM public.seen") == [("", None)]
    assert await deployed.store.rows(PROFILES, {"actor_id": actor.id}) == ()

    other = await call(deployed.service, "register_actor", grace)
    async with connected(database) as app:
        await app.execute("DELETE FROM bk.actor_profile WHERE actor_id = $1", other.id)
    assert database.ask("SELECT count(*) FROM public.seen") == [(2,)], "whoever deletes it"


async def test_the_loser_of_a_race_to_forget_leaves_the_profile(deployed: Deployed):
    grace = {"name": "Grace", "email": "grace@lab.test"}
    actor = await call(deployed.service, "register_actor", grace)
    await call(deployed.service, "update_actor_profile", {"actor_id": str(actor.id), "phone": "1"})
    forget = append(
        at(2, ActorProfileForgotten(NOW, actor.id)), side_writes=[PROFILES.delete(actor.id)]
    )
    with pytest.raises(MovedError):
        await deployed.store.append(forget)
    (profile,) = await deployed.store.rows(PROFILES, {"actor_id": actor.id})
    assert (profile.name, profile.email, profile.phone) == ("Grace", "grace@lab.test", "1")


async def test_a_profile_and_the_event_of_its_end_go_together(
    database: Database, deployed: Deployed
):
    actor = await call(deployed.service, "register_actor", {"name": "Grace"})
    forget = partial(call, deployed.service, "forget_actor", {"actor_id": str(actor.id)})
    async with connected(database, "postgres") as reader:
        # While the events cannot be written, neither is the profile deleted.
        await reader.execute("BEGIN; LOCK TABLE bk.events IN SHARE MODE")
        forgetting = asyncio.create_task(forget())
        await until(partial(waiting_for_a_table, reader))
        assert len(await deployed.store.rows(PROFILES, {"actor_id": actor.id})) == 1
        await reader.execute("ROLLBACK")
        await forgetting
    assert await deployed.store.rows(PROFILES, {"actor_id": actor.id}) == ()
    assert await versions(deployed.store, actor.id) == [1, 2]


# Connections


@pytest.fixture
async def two(unseeded: Database) -> AsyncGenerator[Connections]:
    pool = Connections(unseeded.url(), 2, **IDLE, application_name="two")
    yield pool
    await pool.close()


async def open_connections(database: Database) -> int:
    async with connected(database, "postgres") as watch:
        return await watch.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'two' AND datname = $1",
            database.name,
        )


async def test_more_tasks_than_connections_are_all_served(two: Connections, unseeded: Database):
    rows = await asyncio.gather(*(two.read("SELECT $1::int", n) for n in range(200)))
    assert [row[0][0] for row in rows] == list(range(200))
    assert await open_connections(unseeded) == 2


async def test_a_cancelled_task_leaves_its_connection_to_others(
    two: Connections, unseeded: Database
):
    async with connected(unseeded, "postgres") as watch:
        await watch.execute("BEGIN; LOCK TABLE bk.claims")
        stuck = [asyncio.create_task(two.fetch("SELECT FROM bk.claims")) for _ in range(6)]
        await until(partial(waiting_for_a_table, watch, 2))
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        rows = await asyncio.gather(*(two.read("SELECT 1") for _ in range(4)))
        assert len(rows) == 4


async def test_a_writer_that_is_cancelled_at_its_turn_passes_it_on(two: Connections):
    async with two.connection():
        async with two.connection():
            first, second = (asyncio.create_task(two.fetch("SELECT 1")) for _ in range(2))
            await asyncio.sleep(0)
        # The connection is free and it is the first one's turn, which it has not heard yet.
        first.cancel()
        async with asyncio.timeout(2):
            await second
        assert first.cancelled()


async def test_nobody_waits_for_a_connection_for_ever(
    two: Connections, monkeypatch: pytest.MonkeyPatch
):
    async with two.connection(), two.connection():
        monkeypatch.setattr(connections, "WAIT_TIMEOUT", 0.1)
        with pytest.raises(StoreUnavailableError, match="busy"):
            await two.fetch("SELECT 1")
    assert (await two.fetch("SELECT 1"))[0][0] == 1


async def test_an_append_that_is_not_whole_is_never_taken_for_one():
    class Forgetful(Connections):
        async def fetch(self, statement: str, *arguments: Any) -> list[Any]:
            return [(1, 1, 1)]

    id = uuid7()
    whole: Append = append(at(1, registered(id)), at(2, updated(id)))
    with pytest.raises(AssertionError, match="completely or not at all"):
        await PostgresEventStore(Forgetful("", 1), "").append(whole)
