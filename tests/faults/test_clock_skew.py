"""Clocks are wrong, and jump; nothing that matters is told by them."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx2
import msgspec
import pytest
from msgspec.structs import asdict

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.contexts.access.profile import DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.service import compose
from beamkeep.kernel import Question, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request
from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.server import ADMINISTRATOR, Server, deployment, serving
from beamkeep.testing.tokens import claims, header, mint
from beamkeep.testing.waiting import until
from tests.faults.auditor import (
    audit_history,
    audit_tail,
    differing_grants,
    differing_rows,
    read_log,
)
from tests.faults.clocks import (
    HOUR,
    LIBRARIES,
    SHIFTS,
    FakedTime,
    JumpingClock,
    SelfDatedConnections,
    TimelyConnections,
)
from tests.faults.conftest import Report
from tests.faults.ground import connected, fresh_ground
from tests.faults.report import asked
from tests.faults.tail import Recorder
from tests.faults.test_database_kill import until_shown, write_during
from tests.faults.workload import Client, World

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

PAGE = 50
TOLERANCE = timedelta(seconds=5)
LEEWAY = 60

DATED = """
SELECT stream_id, version, event_type, recorded_at, occurred_at FROM bk.events
 ORDER BY transaction_id, position
"""
KEYS = "SELECT count(*) FROM bk.idempotency"
FORGET_BY_OWN_CLOCK = "DELETE FROM bk.idempotency WHERE recorded_at < $1::timestamptz"
OLD_ANSWER = """
INSERT INTO bk.idempotency (principal_id, surface_id, key, fingerprint, status, result, recorded_at)
VALUES ($1, $1, 'old', sha256(''), 204, '', now() - interval '61 minutes')
"""


class Dated(NamedTuple):
    """An event with the two times it bears."""

    stream_id: UUID
    version: int
    event_type: str
    recorded_at: datetime
    occurred_at: datetime


class Dates(NamedTuple):
    """What is wrong with the times and ids of a log."""

    happened_elsewhen: int
    """Events said to have happened before the test began or after it ended."""
    recorded_elsewhen: int
    recorded_backwards: int
    """Events recorded before the one before them in their stream."""
    ids_backwards: int
    """Things whose id is smaller than that of one made before."""


async def test_a_jumping_clock_disturbs_neither_order_nor_record(report: Report):
    figures = await write_with_a_jumping_clock(careless=False)
    report("T11", figures)
    assert figures["happened_elsewhen"] > 0
    assert figures["ids_backwards"] > 0
    assert figures["recorded_elsewhen"] == figures["recorded_backwards"] == 0
    assert figures["lost"] == figures["doubled"] == figures["torn"] == figures["holes"] == 0
    assert figures["misnumbered"] == figures["unaccounted"] == figures["leaked"] == 0
    assert figures["skipped"] == figures["duplicated"] == figures["misordered"] == 0
    assert figures["rows_differing"] == figures["grants_differing"] == 0
    assert figures["listed_wrongly"] == 0
    assert figures["fresh_answers_forgotten"] == 0


async def test_a_jumping_clock_shows_what_trusts_it(report: Report):
    figures = await write_with_a_jumping_clock(careless=True)
    report("T11 trusting the process clock", figures)
    assert figures["recorded_elsewhen"] > 0
    assert figures["misordered"] + figures["skipped"] + figures["duplicated"] > 0
    assert figures["fresh_answers_forgotten"] > 0


async def write_with_a_jumping_clock(careless: bool) -> dict[str, Any]:
    """Write while the clock of the service jumps about, and see what came of it."""
    jumps, began = asked("JUMPS", 12), datetime.now(UTC)
    clock, over = JumpingClock(), asyncio.Event()
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        await deployment.service()
        # The service itself may not say when something was recorded; the mutant needs more power.
        kind, url = Connections, ground.app_url
        if careless:
            kind, url = SelfDatedConnections, ground.admin_url
        connections = kind(url, 16, statement_timeout="2000", lock_timeout="500")
        store = PostgresEventStore(connections, ground.app_url, lambda _: deployment.wake.set())
        service = compose(store, deployment.lists, b"k" * 32, clock=clock.now, new_id=clock.new_id)
        client, world, before = Client(service), World(), len(await read_log(ground.admin_url))
        await world.furnish(client)
        tail = TimelyConnections if careless else Connections
        recorder = Recorder(tail(ground.projector_url, 1))

        async def nemesis() -> None:
            own = dice(seed(), "clock")
            for _ in range(jumps):
                await asyncio.sleep(own.uniform(0.1, 0.4))
                clock.shift = own.choice([shift for shift in (*SHIFTS, 0) if shift != clock.shift])

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(recorder.run(over))
            tasks.create_task(deployment.supervisor.run([deployment.projector()]))
            await write_during(nemesis, ground, client, world)
            log = await read_log(ground.admin_url)
            await until_shown(deployment, log[-1].position)
            over.set()
            deployment.supervisor.stop()
        clock.shift = max(SHIFTS)
        async with connected(ground.admin_url) as connection:
            dated = [Dated(*row) for row in await connection.fetch(DATED)][before:]
            kept = await connection.fetchval(KEYS)
            await store.forget_answers(1)
            if careless:
                await connection.execute(FORGET_BY_OWN_CLOCK, clock.now() - timedelta(hours=1))
            forgotten = kept - await connection.fetchval(KEYS)
        made = {e.stream_id for e in dated if e.event_type == "ZoneDefined" and e.version == 1}
        wrongly = await listed_wrongly(service, made)
        rows = await differing_rows(ground.admin_url, log)
        grants = await differing_grants(ground.admin_url, log)
        await connections.close()
        await deployment.close()
    return {
        "jumps": jumps,
        "events": len(dated),
        **dates(dated, began)._asdict(),
        **asdict(audit_history(log, client.history, before)),
        **asdict(audit_tail(log, recorder.seen)),
        "rows_differing": rows,
        "grants_differing": grants,
        "listed_wrongly": wrongly,
        "fresh_answers_forgotten": forgotten,
    }


def dates(events: Sequence[Dated], began: datetime) -> Dates:
    """Compare what the events say of their times with when they were written."""
    earliest, latest = began - TOLERANCE, datetime.now(UTC) + TOLERANCE
    streams: dict[UUID, datetime] = {}
    backwards, made = 0, list[UUID]()
    for event in events:
        backwards += event.recorded_at < streams.get(event.stream_id, event.recorded_at)
        streams[event.stream_id] = event.recorded_at
        # Those written past the service bear random ids.
        if event.version == 1 and event.stream_id.version == 7:
            made.append(event.stream_id)
    return Dates(
        happened_elsewhen=sum(not earliest <= e.occurred_at <= latest for e in events),
        recorded_elsewhen=sum(not earliest <= e.recorded_at <= latest for e in events),
        recorded_backwards=backwards,
        ids_backwards=sum(later < earlier for earlier, later in pairwise(made)),
    )


async def listed_wrongly(service: Service, made: set[UUID]) -> int:
    """How many zones a list leaves out, shows twice, or shows out of the order of ids."""
    question = CATALOGUE.named["list_zones"]
    assert isinstance(question, Question)
    caller = Caller(uuid4(), principal_id=DEVELOPER, transport=SurfaceKind.HTTP)
    shown: list[UUID] = []
    cursor: dict[str, str] = {}
    while True:
        request = Request(caller, {"order": "oldest", "limit": PAGE, **cursor})
        page = msgspec.json.decode((await service.queries.ask(question, request)).body)
        shown += [UUID(item["zone_id"]) for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    out_of_order = sum(a != b for a, b in zip(shown, sorted(set(shown)), strict=False))
    return out_of_order + len(shown) - len(set(shown)) + len(made - set(shown))


class Told(NamedTuple):
    """What a service made of the same three tokens."""

    fresh: int
    expired_half_a_minute_ago: int
    expired_two_minutes_ago: int


@pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed")
async def test_a_service_whose_clock_is_wrong_turns_tokens_away_and_keeps_its_record(
    report: Report, tmp_path: Path
):
    began, faked = datetime.now(UTC), FakedTime(tmp_path)
    told: dict[int, Told] = {}
    made: list[UUID] = []
    with (
        Cluster.start() as cluster,
        deployment(cluster, True, idempotency_ttl_hours="1", **faked.environment) as place,
    ):
        url = place.database.url("postgres")
        with serving(place) as server:
            async with calling(server) as rest:
                first = await rest.send(
                    token(server), "define_zone", {"name": "0"}, idempotency_key="k"
                )
                made.append(UUID(first.body["zone_id"]))
                for shift in (0, *SHIFTS, -600):
                    faked.set(shift)
                    told[shift] = await tell(rest, server)
                    made += [await define(rest, server, shift) for _ in range(5)]
                faked.set(max(SHIFTS))
                await until_housekeeping(url)
                again = await rest.send(
                    token(server, max(SHIFTS)), "define_zone", {"name": "0"}, idempotency_key="k"
                )
                stretched = token(server, issued=-HOUR, expires=-2 * LEEWAY - 600)
                faked.set(-600)
                long_gone = (await rest.send(stretched, "list_zones", {})).status
        # A process that begins anew does not remember which ids it gave out last.
        faked.set(min(SHIFTS))
        with serving(place) as server:
            async with calling(server) as rest:
                made += [await define(rest, server, min(SHIFTS)) for _ in range(5)]
                log = await read_log(url)
                listed = await zones(rest, token(server, min(SHIFTS)), str(log[-1].position))
        async with connected(url) as connection:
            dated = [Dated(*row) for row in await connection.fetch(DATED)]
        rows = await differing_rows(url, log)
    found = dates(dated, began)
    report(
        "T11 a process whose clock is wrong",
        {
            "made": len(made),
            **found._asdict(),
            "rows_differing": rows,
            "replayed_a_day_later": again.replayed,
            **{f"tokens_at_{shift:+d}_seconds": tuple(each) for shift, each in told.items()},
        },
    )
    assert told[0] == Told(200, 200, 401)
    # Wrong by more than a token lives, it believes none rather than an old one.
    assert all(told[shift] == Told(401, 401, 401) for shift in SHIFTS)
    # Slow by ten minutes, it lets a token live ten minutes longer, and no more than that.
    assert told[-600].expired_two_minutes_ago == 200
    assert long_gone == 401
    assert again.replayed
    assert again.body == first.body
    assert found.happened_elsewhen > 0
    assert found.recorded_elsewhen == found.recorded_backwards == 0
    assert len(set(made)) == len(made)
    assert made[:-5] == sorted(made[:-5])
    assert made[-1] < made[0]
    assert listed == sorted(listed)
    assert set(made) <= set(listed)
    assert rows == 0


def token(server: Server, shift: int = 0, issued: int = 0, expires: int = HOUR) -> str:
    """A token of the administrator from a provider whose clock is wrong by `shift`."""
    now = int(time.time()) + shift
    body = claims(iss=ISSUER, sub=ADMINISTRATOR, aud=server.url, jti=str(uuid4()))
    return mint(server.key, header(kid="k"), {**body, "iat": now + issued, "exp": now + expires})


async def tell(rest: Rest, server: Server) -> Told:
    """Show the service three tokens of a provider whose clock is right."""
    tokens = (
        token(server),
        token(server, issued=-HOUR, expires=-LEEWAY // 2),
        token(server, issued=-HOUR, expires=-2 * LEEWAY),
    )
    return Told(*[(await rest.send(each, "list_zones", {})).status for each in tokens])


async def define(rest: Rest, server: Server, shift: int) -> UUID:
    """Make a zone, with a token that suits the clock of the service."""
    answer = await rest.send(token(server, shift), "define_zone", {"name": f"Hutch {uuid4()}"})
    assert answer.ok, answer
    return UUID(answer.body["zone_id"])


async def zones(rest: Rest, token: str, min_token: str) -> list[UUID]:
    """The ids of all zones, the oldest first."""
    asked = {"order": "oldest", "limit": 100, "min_token": min_token}
    answer = await rest.send(token, "list_zones", asked)
    assert answer.ok, answer
    return [UUID(item["zone_id"]) for item in answer.body["items"]]


async def until_housekeeping(url: str) -> None:
    """Wait until answers that are old by the database's clock have been forgotten."""
    async with connected(url) as connection:
        await connection.execute(OLD_ANSWER, uuid4())
        gone = "SELECT NOT EXISTS (SELECT 1 FROM bk.idempotency WHERE key = 'old')"
        await until(lambda: connection.fetchval(gone), "old answers are forgotten")


@asynccontextmanager
async def calling(server: Server) -> AsyncGenerator[Rest]:
    """The service as REST clients see it."""
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as http:
        yield Rest(http)
