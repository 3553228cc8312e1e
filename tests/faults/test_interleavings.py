"""Clients stepped through their transactions in every order: the tail keeps each stream's order."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import combinations_with_replacement
from uuid import UUID

import asyncpg
import pytest
from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.append_statement import NOT_STALE, bound_statement
from beamkeep.adapters.postgres.connections import PLANNING, Connections
from beamkeep.adapters.postgres.event_store import LOAD_ONE, PostgresEventStore
from beamkeep.adapters.postgres.tail import PostgresTail
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.runtime.store import BEGINNING
from beamkeep.testing.appends import append, at, registered, updated
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import connected, fresh_database
from tests.faults.conftest import Report
from tests.faults.report import asked

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

CLAIM = "INSERT INTO bk.claims (scope, key) VALUES ('interleaving', $1)"
WAITING = "SELECT cardinality(pg_blocking_pids($1)) > 0"

FIRSTS = {
    "claim first": (("begin", "claim"), ("read",), ("append",), ("commit",)),
    "append first": (("begin",), ("read",), ("append",), ("claim", "commit")),
}
"""What each of two clients does, step by step."""
FEWER = {
    "claim first": (("begin", "claim"), ("read", "append"), ("commit",)),
    "append first": (("begin", "read"), ("append", "claim"), ("commit",)),
}
"""The same in fewer steps, for three."""

type Plan = tuple[tuple[str, ...], ...]


class Client:
    """One connection in one transaction on one stream."""

    def __init__(self, connection: asyncpg.Connection, careful: bool) -> None:
        self._connection, self._careful = connection, careful
        self.pid = connection.get_server_pid()

    def meet(self, stream_id: UUID, plan: Plan) -> None:
        """Begin anew on a stream."""
        self._stream_id, self._plan = stream_id, list(plan)
        self.running: asyncio.Task[None] | None = None
        self.read = 0
        self.won: bool | None = None

    async def step(self) -> None:
        """Everything that the plan does in one step."""
        for verb in self._plan.pop(0):
            if self.won is not False:
                await getattr(self, f"_{verb}")()

    async def _begin(self) -> None:
        await self._connection.execute("BEGIN")

    async def _claim(self) -> None:
        await self._connection.execute(CLAIM, str(uuid7()))

    async def _read(self) -> None:
        events = await self._connection.fetch(
            *LOAD_ONE.bind(
                {"stream_type": "Actor", "stream_id": self._stream_id, "fold": None, "limit": 1000}
            )
        )
        self.read = len(events)

    async def _append(self) -> None:
        """The statement of the store; whoever loses, leaves."""
        decision = append(at(self.read + 1, updated(self._stream_id)))
        bound = bound_statement(decision)
        assert bound
        statement, *arguments = bound
        assert NOT_STALE in statement
        if not self._careful:
            statement = statement.replace(NOT_STALE, "true")
        try:
            rows = await self._connection.fetch(statement, *arguments)
            self.won = bool(rows)
        except asyncpg.UniqueViolationError:
            self.won = False
        if not self.won:
            await self._connection.execute("ROLLBACK")

    async def _commit(self) -> None:
        await self._connection.execute("COMMIT")


class Explorer:
    """Steps clients through one order after another, and looks at the tail."""

    def __init__(
        self, database: Database, clients: Sequence[Client], watch: asyncpg.Connection
    ) -> None:
        self._clients, self._watch = clients, watch
        self._commands = database.connections(1)
        self._projecting = Connections(database.url("bk_projector"), 1)
        self._store = PostgresEventStore(self._commands, database.url())
        self._tail, self._after = PostgresTail(self._projecting), BEGINNING
        self.figures: Counter[str] = Counter()

    async def explore(self, plans: Sequence[Plan], order: Sequence[int]) -> None:
        """One order of steps on a fresh stream."""
        stream_id = uuid7()
        await self._store.append(append(at(1, registered(stream_id))))
        clients = self._clients[: len(plans)]
        for client, plan in zip(clients, plans, strict=True):
            client.meet(stream_id, plan)
        await self._step_through(clients, order)
        won = [client for client in clients if client.won]
        competing = Counter(client.read for client in won)
        tail = await self._versions(stream_id)
        first_read = [client for client in clients if client.read == 1]
        self.figures.update(
            orders=1,
            won=len(won),
            lost=len(clients) - len(won),
            tail_out_of_order=tail != sorted(tail),
            holes_or_twins=sorted(tail) != [*range(1, len(won) + 2)],
            two_winners=max(competing.values(), default=0) > 1,
            no_winner=bool(first_read) and not any(client.won for client in first_read),
        )
        # Whoever lost succeeds in a transaction of its own.
        for client in clients:
            if not client.won:
                client.meet(stream_id, (("begin", "read", "append", "commit"),))
                await client.step()
                self.figures["won_at_last"] += bool(client.won)

    async def _step_through(self, clients: Sequence[Client], order: Sequence[int]) -> None:
        """Let each step end, or wait for another client, before the next; a waiting one is late."""
        late: list[Client] = []
        for n in order:
            late.append(clients[n])
            moved = True
            while moved:
                moved = False
                for each in list(dict.fromkeys(late)):
                    if await self._ready(each):
                        late.remove(each)
                        each.running = asyncio.create_task(each.step())
                        moved = True
                        await self._ready(each)
        assert not late
        for client in clients:
            if client.running:
                await client.running

    async def _ready(self, client: Client) -> bool:
        """Whether a client has ended its step; it has not while it waits for another."""
        while client.running and not client.running.done():
            await asyncio.wait([client.running], timeout=0.002)
            if not client.running.done() and await self._watch.fetchval(WAITING, client.pid):
                return False
        if client.running:
            client.running.result()
        return True

    async def _versions(self, stream_id: UUID) -> list[int]:
        """The versions of a stream in the order of the tail."""
        page = await self._tail.page(WHOLE_LOG, self._after, 1000)
        self._after = page.events[-1].at
        return [event.version for event in page.events if event.stream_id == stream_id]

    async def close(self) -> None:
        """Leave the database."""
        await self._projecting.close()
        await self._commands.close()


async def test_two_clients_keep_the_order_in_every_interleaving(cluster: Cluster, report: Report):
    figures = await explored(cluster, 2, FIRSTS)
    report("T4 two clients", figures)
    _require_order(figures)


async def test_three_clients_keep_the_order_in_every_interleaving(cluster: Cluster, report: Report):
    figures = await explored(cluster, 3, FEWER)
    report("T4 three clients", figures)
    _require_order(figures)


async def test_without_the_guard_the_tail_gets_out_of_order(cluster: Cluster, report: Report):
    figures = await explored(cluster, 2, FIRSTS, careful=False)
    report("T4 without the predecessor guard", figures)
    assert figures["tail_out_of_order"] > 0


def _require_order(figures: Counter[str]) -> None:
    assert figures["tail_out_of_order"] == figures["holes_or_twins"] == figures["two_winners"] == 0
    assert figures["no_winner"] == 0
    assert figures["won"] + figures["won_at_last"] == figures["won"] + figures["lost"]


async def explored(
    cluster: Cluster, number: int, choices: dict[str, Plan], careful: bool = True
) -> Counter[str]:
    """So many clients in every order, each mixture of what they do first."""
    began, most = time.monotonic(), asked("INTERLEAVINGS", 700)
    async with _explorer(cluster, number, careful) as explorer:
        for plans in combinations_with_replacement(choices.values(), number):
            for order in orders(plans):
                if explorer.figures["orders"] < most:
                    await explorer.explore(plans, order)
    explorer.figures["milliseconds"] = int((time.monotonic() - began) * 1000)
    return explorer.figures


def orders(plans: Sequence[Plan]) -> Iterator[tuple[int, ...]]:
    """Every order of the steps of all clients; those who do the same are interchangeable."""

    def further(taken: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(taken) == sum(map(len, plans)):
            yield taken
            return
        for n, plan in enumerate(plans):
            twin_waits = any(plans[m] == plan and m not in taken for m in range(n))
            if taken.count(n) < len(plan) and not twin_waits:
                yield from further((*taken, n))

    return further(())


@asynccontextmanager
async def _explorer(cluster: Cluster, number: int, careful: bool) -> AsyncGenerator[Explorer]:
    database = fresh_database(cluster)
    async with AsyncExitStack() as stack:
        opened = [connected(database, **PLANNING) for _ in range(number)]
        clients = [Client(await stack.enter_async_context(each), careful) for each in opened]
        watch = await stack.enter_async_context(connected(database, "postgres"))
        explorer = Explorer(database, clients, watch)
        stack.push_async_callback(explorer.close)
        yield explorer
