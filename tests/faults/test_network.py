"""The network before the database fails; every answer stays true, and soon there are more."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx2
import pytest
from msgspec.structs import asdict
from pydantic import SecretStr

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment import composition
from beamkeep.deployment.settings import ServerSettings, settings_of
from beamkeep.deployment.web import web
from beamkeep.kernel import Operation
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.queries import parse_position
from beamkeep.runtime.store import StoreUnavailableError
from beamkeep.surfaces.http.refusals import DeadlineExceededError
from beamkeep.testing.waiting import until
from tests.faults.auditor import audit_history, differing_grants, differing_rows, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, fresh_ground
from tests.faults.report import asked
from tests.faults.test_database_kill import until_shown, write_during
from tests.faults.test_simulation import BlindStore
from tests.faults.workload import UNDECIDED, Attempt, Client, End, Step, World
from tests.support.proxy import Proxy
from tests.support.verdicts import time_counts

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

# What only an append says: the event it writes, or the end of a transaction that holds a lock.
WITHOUT_KEY = (b"ActorRegistered", b"AssetRelocated", b"ZoneDefined", b"COMMIT")
APPENDS = (*WITHOUT_KEY, b"ActorProfileUpdated")
SLOW_SECONDS, LATENCY, AGAIN_WITHIN = 4.0, 0.2, 5.0
STALL = 5.0
"""What a test machine that stands still may add to the time something takes."""
TOO_LATE = DeadlineExceededError.__name__
UNKNOWN = {kind.__name__ for kind in (*UNDECIDED, DeadlineExceededError)}
WRONG = (
    *("lost", "doubled", "torn", "misnumbered", "written_though_refused", "unaccounted", "holes"),
    *("rows_differing", "grants_differing"),
)


class HttpClient(Client):
    """Calls the service over HTTP, and writes down what came of it and how long it took."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.history = []
        self.took: list[float] = []
        self._http = http
        self._steps: dict[str, Step] = {}

    async def attempt(self, key: str, step: Step, idempotent: bool = True) -> Attempt:
        """Try one request once."""
        operation = CATALOGUE.named[step.name]
        assert isinstance(operation, Operation)
        path, correlation_id = operation.route.path.format(**step.arguments), uuid4()
        rest = {n: v for n, v in step.arguments.items() if n not in operation.route.fields}
        headers = {"x-correlation-id": str(correlation_id)}
        if idempotent:
            headers["idempotency-key"] = key
            self._steps[key] = step
        begun = time.monotonic()
        reply = await self._http.post(path, json=rest, headers=headers)
        at = time.monotonic()
        self.took.append(at - begun)
        answered = answer(operation, step, reply) if reply.is_success else None
        refusal = None if answered else str(reply.json()["code"])
        end = end_of(reply, refusal)
        return self.note(Attempt(key, step.name, correlation_id, end, at, answered, refusal))

    def undecided(self) -> dict[str, Step]:
        """The requests with a key of which nobody knows yet what became of them."""
        ends: dict[str, set[End]] = {}
        for attempt in self.history:
            ends.setdefault(attempt.key, set()).add(attempt.end)
        return {key: step for key, step in self._steps.items() if ends[key] == {End.UNKNOWN}}

    def told(self, end: End, since: int = 0) -> int:
        """How many attempts ended so after the first `since`."""
        return sum(attempt.end is end for attempt in self.history[since:])


class Scene(NamedTuple):
    """A service that reaches its database through a proxy."""

    ground: Ground
    proxy: Proxy
    settings: ServerSettings
    client: HttpClient
    before: int

    async def burst(self) -> float:
        """How long it takes until as many requests as there may be connections have succeeded."""
        began = time.monotonic()

        async def insist() -> None:
            key, step = str(uuid4()), Step("define_zone", {"name": "Hutch"})
            while not (await self.client.attempt(key, step)).answered:
                pass

        await asyncio.gather(*(insist() for _ in range(self.settings.database_connections)))
        return time.monotonic() - began

    async def lose_answers(self, times: int, of: Sequence[bytes] = APPENDS) -> None:
        """Cut connections whose append the server has carried out, before they hear of it."""
        for number, marker in enumerate(islice(cycle(of), times), 1):
            self.proxy.cut_at(marker, "answering")
            await until(partial(self._have_cut, number), f"{marker} is sent")

    def _have_cut(self, times: int) -> bool:
        return self.proxy.cuts >= times

    async def fall_silent(self, seconds: float) -> float:
        """Swallow everything for a time, and say how long after it all is well again."""
        await self.burst()
        self.proxy.fall_silent()
        await asyncio.sleep(seconds)
        self.proxy.speak()
        return await self.burst()

    async def follow(self) -> float:
        """How long it takes until every list shows all there is."""
        began, deployment = time.monotonic(), self.ground.deployment()
        await until_shown(deployment, (await read_log(self.ground.admin_url))[-1].position)
        await deployment.close()
        return time.monotonic() - began

    async def slow_down(self, seconds: float) -> None:
        """Let everything take its time."""
        self.proxy.latency = LATENCY
        await asyncio.sleep(seconds)
        self.proxy.latency = 0.0

    async def part(self, times: int, seconds: float) -> list[float]:
        """Cut off the database again and again, and say how long after each all is well."""
        after: list[float] = []
        for _ in range(times):
            self.proxy.away = True
            self.proxy.cut()
            await asyncio.sleep(seconds)
            self.proxy.away = False
            after.append(await self.burst())
        return after


@pytest.fixture(scope="module")
async def ground() -> AsyncGenerator[Ground]:
    async with fresh_ground() as ground:
        yield ground


async def test_answers_stay_true_and_come_again_after_the_network_failed(
    ground: Ground, report: Report
):
    figures = dict[str, Any]()
    silent, times = asked("SILENT_SECONDS", 6), asked("PARTITIONS", 5)
    async with scene(ground) as here:
        client, world = here.client, World()
        await world.furnish(client)
        movers = await here_and_there(client)

        async def nemesis() -> None:
            figures["burst_seconds"] = round(await here.burst(), 2)
            await here.lose_answers(asked("LOST_ANSWERS", 10))
            figures["lost_answers"] = here.proxy.cuts
            figures["lost_answers_told_unknown"] = client.told(End.UNKNOWN)
            figures["silent_seconds"] = silent
            figures["again_after_silence"] = round(await here.fall_silent(silent), 2)
            figures["lists_after_silence"] = round(await here.follow(), 2)
            known = len(client.history)
            await here.slow_down(SLOW_SECONDS)
            figures["acknowledged_slowly"] = client.told(End.ACKNOWLEDGED, known)
            figures["partitions"] = times
            after = await here.part(times, asked("PARTITION_SECONDS", 1))
            figures["again_after_partition_max"] = round(max(after), 2)

        await write_during(while_moving(nemesis, client, movers), here.ground, client, world)
        for key, step in client.undecided().items():
            while (await client.attempt(key, step)).end is End.UNKNOWN:
                pass
        figures |= await audited(here)
    deadline, longest = here.settings.deadline_seconds, max(client.took)
    soon = AGAIN_WITHIN + STALL + figures["burst_seconds"]
    report(
        "T10",
        {
            "longest_attempt_seconds": round(longest, 2),
            "deadline_seconds": deadline,
            "deadlines_exceeded": sum(a.refusal == TOO_LATE for a in client.history),
            **figures,
        },
    )
    assert not Counter(a.refusal for a in client.history if a.end is End.LEAKED)
    assert not client.undecided()
    assert figures["lost_answers_told_unknown"] < figures["lost_answers"]
    assert figures["acknowledged_slowly"] > 0
    assert {name: figures[name] for name in WRONG if figures[name]} == {}
    if time_counts():
        assert longest < deadline + STALL
        assert figures["again_after_silence"] < soon
        assert figures["again_after_partition_max"] < soon


async def test_a_call_that_holds_a_lock_keeps_to_its_deadline_in_the_silence(
    ground: Ground, report: Report
):
    deadline = 2.0
    async with scene(ground, deadline) as here:
        moved = await here_and_there(here.client)
        here.proxy.fall_silent_at(b"AssetRelocated")
        await here.client.attempt(str(uuid4()), moved.to(1), idempotent=False)
        here.proxy.speak()
        # So that the service, which ends now, need not wait for what stays silent.
        here.proxy.cut()
    told, took = here.client.history[-1], here.client.took[-1]
    report("T10 a lock", {"deadline_seconds": deadline, "attempt_seconds": round(took, 2)})
    assert told.refusal == TOO_LATE
    assert not time_counts() or took < deadline + STALL


async def test_connections_lost_unseen_cost_one_wait_and_not_one_each(
    ground: Ground, report: Report
):
    async with Proxy.before(ground.cluster.port) as proxy:
        url = through(proxy, "bk_app").get_secret_value()
        pool = Connections(url, 8, statement_timeout="1000")
        await asyncio.gather(*(pool.read("SELECT pg_sleep(0.2)") for _ in range(8)))
        proxy.fall_silent()
        proxy.speak()
        began = time.monotonic()

        async def answered() -> object:
            with suppress(StoreUnavailableError):
                return await pool.read("SELECT 1")

        await until(answered, "the server answers")
        took = time.monotonic() - began
        await pool.close()
    report("T10 a pool", {"connections": 8, "read_seconds": round(took, 2)})
    # One at a time, eight would take sixteen seconds.
    assert not time_counts() or took < 2.0 + STALL


async def test_lost_answers_show_a_store_that_blindly_tries_again(
    ground: Ground, report: Report, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(composition, "PostgresEventStore", BlindStore)
    async with scene(ground) as here:
        movers = await here_and_there(here.client)

        async def nemesis() -> None:
            await here.lose_answers(8, WITHOUT_KEY)

        await while_moving(nemesis, here.client, movers)()
        figures = await audited(here)
    report("T10 a blind store", figures)
    assert figures["torn"] + figures["written_though_refused"] > 0


@asynccontextmanager
async def scene(ground: Ground, deadline_seconds: float = 30.0) -> AsyncGenerator[Scene]:
    """The whole service, as it is served, with a network before its database that can fail."""
    async with Proxy.before(ground.cluster.port) as proxy:
        settings = settings_of(
            database_url=through(proxy, "bk_app"),
            projector_database_url=through(proxy, "bk_projector"),
            require_authenticated_principal=False,
            development=True,
            per_principal_rate=1e6,
            per_principal_burst=10**6,
            concurrent_per_principal=100,
            deadline_seconds=deadline_seconds,
        )
        async with web(settings) as served:
            transport = httpx2.ASGITransport(served.application)
            async with httpx2.AsyncClient(transport=transport, base_url=settings.base_url) as http:
                before = len(await read_log(ground.admin_url))
                yield Scene(ground, proxy, settings, HttpClient(http), before)


def through(proxy: Proxy, role: str) -> SecretStr:
    """The address of the database behind the proxy."""
    return SecretStr(f"postgresql://{role}@127.0.0.1:{proxy.port}/beamkeep")


def answer(operation: Operation, step: Step, reply: httpx2.Response) -> CommandResult:
    """What a reply says, as the dispatcher had said it."""
    id_field, token = operation.aggregate.id_field, reply.headers.get("position-token")
    told: dict[str, Any] = reply.json() if reply.content else {}
    version = reply.headers.get("etag")
    return CommandResult(
        reply.status_code,
        reply.content,
        UUID(told[id_field] if operation.genesis else step.arguments[id_field]),
        int(version.strip('"')) if version else None,
        parse_position(token) if token else None,
        "idempotency-replayed" in reply.headers,
    )


def end_of(reply: httpx2.Response, refusal: str | None) -> End:
    """How an attempt ended with this reply."""
    if reply.is_success:
        return End.ACKNOWLEDGED
    if refusal in UNKNOWN:
        return End.UNKNOWN
    expected = reply.is_client_error or refusal == StoreUnavailableError.__name__
    return End.REFUSED if expected else End.LEAKED


class Moved(NamedTuple):
    """An asset, and the two that it stands under by turns."""

    asset_id: str
    parents: Sequence[str]

    def to(self, number: int) -> Step:
        """Its move under one of the two."""
        where = {"asset_id": self.asset_id, "to_parent_id": self.parents[number]}
        return Step("relocate_asset", {**where, "reason": "Rebuilt"})


async def here_and_there(client: Client) -> Moved:
    """Something that can be moved to and fro, which takes a lock and so a transaction."""

    family_id = await client.succeed("define_family", name="Group", affordances=[])
    part = {"name": "Part", "tier": "Device", "family_ids": [family_id]}

    async def asset(**where: str) -> str:
        return await client.succeed("register_asset", **part, **where)

    root = await asset(facility_code="local")
    parents = [await asset(parent_id=root) for _ in range(2)]
    return Moved(await asset(parent_id=parents[0]), parents)


def while_moving(
    nemesis: Callable[[], Awaitable[None]], client: Client, moved: Moved
) -> Callable[[], Awaitable[None]]:
    """The same nemesis, beside a client that writes and never sends a key."""
    stop = asyncio.Event()

    async def move() -> None:
        zone, actor = (
            Step("define_zone", {"name": "Hutch"}),
            Step("register_actor", {"name": "Grace"}),
        )
        for step in cycle([moved.to(1), zone, moved.to(0), actor]):
            if stop.is_set():
                return
            await client.attempt(str(uuid4()), step, idempotent=False)

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(move())
            await nemesis()
            stop.set()

    return both


async def audited(here: Scene) -> dict[str, Any]:
    """Compare what was said with what is there, once every list has followed."""
    await here.follow()
    url = here.ground.admin_url
    log = await read_log(url)
    return {
        "events": len(log),
        **asdict(audit_history(log, here.client.history, here.before)),
        "rows_differing": await differing_rows(url, log),
        "grants_differing": await differing_grants(url, log),
    }
