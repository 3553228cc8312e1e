"""A database is restored as the how-to page says; nothing is skipped, nobody forgotten is back."""

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from inspect import getsource
from itertools import count
from typing import NamedTuple
from uuid import UUID, uuid4

import httpx2
import pytest
from msgspec.structs import asdict

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.fence import UnfitDatabaseError
from beamkeep.adapters.postgres.migrate import migrate
from beamkeep.contexts.access.profile import DELETED_USER, DEVELOPER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.deployment import composition as app
from beamkeep.deployment.composition import Deployment
from beamkeep.kernel import replace
from beamkeep.runtime.store import Position
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.forking import Forked
from beamkeep.testing.log import LoggedEvent
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from beamkeep.workers.projector import Projector
from tests.faults.auditor import (
    TailFigures,
    audit_history,
    audit_tail,
    differing_grants,
    differing_rows,
    read_log,
)
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.operating import Operator, Step, sections
from tests.faults.report import ROOT, rounds
from tests.faults.tail import Recorder
from tests.faults.test_database_kill import until_shown
from tests.faults.workload import CODEC, RAW_ZONE, Attempt, Client, End, World

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

WRITERS, EACH = 4, 12
DEADLINE = 180.0
# More than half of what the counter of transactions holds before it begins a new round.
OLD = 3_000_000_000
OLD_ZONE = RAW_ZONE.replace("(stream_type", "(transaction_id, stream_type").replace(
    "VALUES (", f"VALUES ('{OLD}', "
)
# Transactions that leave nothing behind.
BURN = """
DO $$ BEGIN
  FOR n IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP;
END $$
"""
ANOTHER = "written by another cluster: it was restored from a dump. Follow the restore procedure"
UNREACHED = "not reached: new events would sort before old ones. Follow the restore procedure"
STANDBY = "This server is a standby. Connect to the primary"
AHEAD = "beyond the end of the log: new events would be skipped. Drop the lists as the restore"
UNFOLLOWED = "visit has no bookmark and would never be updated. Drop the lists as the restore"
WRONG = (
    "bad_states_served",
    "lost",
    "doubled",
    "torn",
    "misnumbered",
    "written_though_refused",
    "unaccounted",
    "holes",
    "leaked",
    "skipped",
    "duplicated",
    "misordered",
    "rows_differing",
    "grants_differing",
    "forgotten_and_there",
)

type Bookmarks = dict[str, Position]
"""Where the follower of each list stands."""


class Gone(NamedTuple):
    """What a database held that is no more."""

    log: list[LoggedEvent]
    bookmarks: Bookmarks


class Life:
    """A service in use, on one database after another, and all it ever answered."""

    def __init__(self, seed: int) -> None:
        self._seed, self._numbers, self._world = seed, count(), World()
        self.history: list[Attempt] = []
        self.kept = 0
        """How many of the attempts no restore may undo."""
        self.prepared = 0
        """How many events there were before the first attempt."""
        self.early = self.late = ""
        """Two people: one forgotten before the backup, one after it."""
        self.figures: Counter[str] = Counter()

    @asynccontextmanager
    async def on(self, ground: Ground) -> AsyncGenerator[tuple[Deployment, Client]]:
        """The service on a database, if that is fit."""
        deployment = ground.deployment()
        try:
            client = Client(await deployment.service())
            client.history = self.history
            yield deployment, client
        finally:
            await deployment.close()

    async def begin(self, ground: Ground, client: Client) -> None:
        """Furnish the service, and forget the first person."""
        self.prepared = len(await read_log(ground.admin_url))
        await self._world.furnish(client)
        self.early, self.late = [
            await client.succeed("register_actor", name="Grace", email="grace@lab.test")
            for _ in range(2)
        ]
        await client.succeed("forget_actor", actor_id=self.early)

    async def go_on(self, deployment: Deployment, client: Client) -> None:
        """Write for a while, and have the lists follow."""
        async with asyncio.TaskGroup() as writing:
            for _ in range(WRITERS):
                writing.create_task(self._write(client))
        await caught_up(deployment)

    async def until_answered(self, number: int) -> None:
        """Wait for so many more attempts to have ended."""
        wanted = len(self.history) + number
        await until(lambda: len(self.history) >= wanted, f"{number} more answers")

    async def end(self, ground: Ground, deployment: Deployment, client: Client) -> Gone:
        """Forget the second person too, and remember what there was."""
        await client.succeed("forget_actor", actor_id=self.late)
        await caught_up(deployment)
        return Gone(await read_log(ground.admin_url), await bookmarks(ground))

    async def write_in_an_old_transaction(self, ground: Ground) -> None:
        """Write a zone as a cluster would that has used up more than half of its counter."""
        zone = ZoneDefined(datetime.now(UTC), uuid4(), "Old")
        event, correlation_id = CODEC.encode(zone, 1, uuid4()), uuid4()
        async with connected(ground.admin_url) as connection:
            await connection.execute(
                OLD_ZONE,
                zone.zone_id,
                event.event_id,
                event.payload.decode(),
                DEVELOPER,
                correlation_id,
                zone.occurred_at,
            )
        written = Attempt("old", "raw", correlation_id, End.ACKNOWLEDGED, time.monotonic())
        self.history.append(written)

    async def require_refused(self, ground: Ground, state: str, *sentences: str) -> None:
        """See that the service does not start in a bad state, and says what to do about it."""
        self.figures["bad_states"] += 1
        deployment = ground.deployment()
        try:
            await deployment.service()
        except UnfitDatabaseError as refusal:
            told = str(refusal)
            assert all(sentence in told for sentence in sentences), (state, told)
        else:
            self.figures["bad_states_served"] += 1
        finally:
            await deployment.close()

    async def _write(self, client: Client) -> None:
        number = next(self._numbers)
        own = dice(self._seed, "writer", number)
        for each in range(EACH):
            step = self._world.choose(own)
            attempt = await client.attempt(f"{number}-{each}", step)
            if attempt.answered:
                self._world.learn(step, attempt.answered)


async def recover_to_a_moment(life: Life) -> None:
    """Go back to before the last writes, with a copy of the cluster and its archive."""
    with Cluster.start() as cluster, Operator.beside(cluster) as operator:
        ground = await migrated(operator)
        await operator.follow("Keep an archive")
        async with life.on(ground) as (deployment, client):
            await life.begin(ground, client)
            await life.go_on(deployment, client)
            await operator.follow("Back up")
            (base,) = (cluster.home / "backup").glob("base-*")
            operator.said["base-20300303T020000Z"] = base.name
            await life.go_on(deployment, client)
            life.kept = len(life.history)
            operator.said["2030-03-04 12:00:00+00"] = await time_on(ground)
            await life.go_on(deployment, client)
            gone = await life.end(ground, deployment, client)
        await operator.follow("Write down who was forgotten")
        async for done in operator.following("Recover to a moment"):
            if done.startswith("psql -At beamkeep"):
                await life.require_refused(ground, "paused at the moment", STANDBY)
        assert await timeline(ground) == 2
        await put_bookmarks(ground, gone.bookmarks)
        await life.require_refused(ground, "bookmarks of another moment", AHEAD)
        async with connected(ground.admin_url) as connection:
            await connection.execute("DELETE FROM bk.bookmarks WHERE projection = 'visit'")
        await life.require_refused(ground, "and one deleted", AHEAD, UNFOLLOWED)
        await operator.follow("When a bookmark is ahead")
        await back_in_use(life, operator, gone)


async def restore_a_dump(life: Life) -> None:
    """Load a dump into a cluster that has not come as far as the log."""
    with Cluster.start() as cluster, Operator.beside(cluster) as here:
        ground = await migrated(here)
        async with life.on(ground) as (deployment, client):
            await life.begin(ground, client)
            await life.go_on(deployment, client)
            await life.write_in_an_old_transaction(ground)
            life.kept = len(life.history)
            await here.follow("Dump")
            gone = await life.end(ground, deployment, client)
        await here.follow("Write down who was forgotten")
        with Cluster.start() as fresh, Operator.beside(fresh) as there:
            there.said = here.said
            async for done in there.following("Restore a logical dump"):
                if done.startswith("pg_restore"):
                    await life.require_refused(there.ground, "just loaded", ANOTHER, UNREACHED)
                    async with said_to_be_ours(there.ground):
                        await life.require_refused(there.ground, "said to be ours", UNREACHED)
                if done.startswith("pg_ctl start"):
                    await life.require_refused(there.ground, "only moved", ANOTHER)
            await back_in_use(life, there, gone)


async def fail_over(life: Life) -> None:
    """Lose the primary, and with it what had not reached the standby."""
    with (
        Cluster.start() as cluster,
        Operator.beside(cluster) as here,
        here.neighbour("standby") as there,
    ):
        ground = await migrated(here)
        async for done in there.following("Keep a standby"):
            if done.startswith("pg_basebackup"):
                there.move_in()
        async with life.on(ground) as (deployment, client):
            await life.begin(ground, client)
            await life.go_on(deployment, client)
            await until_replayed(ground, there.ground)
            life.kept = len(life.history)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(life.go_on(deployment, client))
                await life.until_answered(WRITERS * EACH // 3)
                tasks.create_task(cut_off(there.ground))
            await life.go_on(deployment, client)
            gone = await life.end(ground, deployment, client)
        await here.follow("Write down who was forgotten")
        cluster.kill()
        await life.require_refused(there.ground, "not yet promoted", STANDBY)
        await there.follow("Fail over to a standby")
        assert await timeline(there.ground) == 2
        own = await bookmarks(there.ground)
        await put_bookmarks(there.ground, gone.bookmarks)
        await life.require_refused(there.ground, "bookmarks of the dead primary", AHEAD)
        await put_bookmarks(there.ground, own)
        await back_in_use(life, there, gone)


async def back_in_use(life: Life, operator: Operator, gone: Gone) -> None:
    """Start the service, forget again, write on, and compare everything with everything."""
    ground, figures, undone = operator.ground, life.figures, len(life.history)
    figures["people_back"] += await profiles(ground, life.late)
    async with served(operator) as http:
        await operator.follow("Forget again")
        await operator.follow("Check the service")
        people = [(await http.get(f"/actors/{id}")).json() for id in (life.early, life.late)]
        async with life.on(ground) as (deployment, client):
            await life.go_on(deployment, client)
            log = await read_log(ground.admin_url)
            await until_shown(deployment, log[-1].position)
    figures["forgotten_and_there"] += await profiles(ground, life.early, life.late)
    figures["forgotten_and_there"] += sum(each["name"] != DELETED_USER for each in people)

    # What happened after the moment is gone, and must not count as lost.
    there = {event.correlation_id for event in log}
    since = life.history[life.kept : undone]
    missing = [a for a in since if a.end is End.ACKNOWLEDGED and a.correlation_id not in there]
    history = [replace(a, end=End.UNKNOWN, answered=None) if a in missing else a for a in since]
    history = [*life.history[: life.kept], *history, *life.history[undone:]]
    figures.update(asdict(audit_history(log, history, life.prepared)))
    figures["undone"] += len(missing)

    # The one call that the operator made.
    forgotten = [e for e in log[life.prepared :] if e.recorded.event_type == FORGOTTEN]
    again = sum(e.stream[1] == UUID(life.late) for e in forgotten)
    figures["forgotten_again"] += again
    figures["unaccounted"] -= again

    new = {attempt.correlation_id for attempt in life.history[undone:]}
    newest = gone.log[-1].position.tx
    figures["ids_used_again"] += sum(
        event.correlation_id in new and event.position.tx <= newest for event in log
    )
    figures["events"] += len(log)
    figures.update(asdict(await tail_of(ground, log)))
    figures["rows_differing"] += await differing_rows(ground.admin_url, log)
    figures["grants_differing"] += await differing_grants(ground.admin_url, log)


FORGOTTEN = "ActorProfileForgotten"
DRILLS: dict[str, Callable[[Life], Awaitable[None]]] = {
    "moment": recover_to_a_moment,
    "dump": restore_a_dump,
    "failover": fail_over,
}


@pytest.mark.parametrize("name", DRILLS)
async def test_a_restored_database_skips_nothing_and_brings_nobody_back(report: Report, name: str):
    figures: Counter[str] = Counter(dict.fromkeys(WRONG, 0))
    for number in rounds("DRILLS", 1, 1, 30):
        life = Life(seed() + number)
        await DRILLS[name](life)
        figures.update({"drills": 1, **life.figures})
    report(f"T14 {name}", figures)
    assert not any(figures[wrong] for wrong in WRONG), figures
    assert figures["undone"] > 0
    assert figures["acknowledged"] > figures["drills"] * WRITERS * EACH
    assert figures["people_back"] == figures["forgotten_again"] == figures["drills"]


def test_every_section_of_the_page_is_followed_in_some_drill():
    drills = "".join(getsource(drill) for drill in (*DRILLS.values(), back_in_use))
    assert sections()
    assert [name for name in sections() if f'("{name}")' not in drills] == []


@pytest.mark.parametrize(
    ("shown", "answer", "fits"),
    [
        ("", "anything", True),
        ("paused", "paused", True),
        ("paused", "not paused", False),
        ("a\nb\n…", "a\nb", True),
        ("a\nb\n…", "a\nb\nc", True),
        ("a\nb\n…", "a\nc", False),
    ],
)
def test_an_answer_must_be_the_one_that_the_page_shows(shown: str, answer: str, fits: bool):
    assert Step("ask", shown).fits(answer) == fits


async def test_without_the_fence_a_dump_is_followed_with_gaps(
    report: Report, monkeypatch: pytest.MonkeyPatch
):
    life = Life(seed())
    with Cluster.start() as cluster, Operator.beside(cluster) as here:
        ground = await migrated(here)
        async with connected(ground.admin_url) as connection:
            await connection.execute(BURN)
        async with life.on(ground) as (deployment, client):
            await life.begin(ground, client)
            await life.go_on(deployment, client)
        await here.follow("Dump")
        with Cluster.start() as fresh, Operator.beside(fresh) as there:
            there.said = here.said
            async for done in there.following("Restore a logical dump"):
                if done.startswith("pg_restore"):
                    break
            await life.require_refused(there.ground, "just loaded", ANOTHER, UNREACHED)
            figures = await used_without_the_fence(life, there.ground, monkeypatch)
    report("T14 dump without the fence", figures)
    assert life.figures["bad_states_served"] == 0
    assert figures["skipped"] > 0
    assert figures["rows_differing"] > 0


async def test_without_the_fence_events_below_a_bookmark_are_skipped(
    report: Report, monkeypatch: pytest.MonkeyPatch
):
    life = Life(seed())
    async with fresh_ground() as ground:
        async with life.on(ground) as (deployment, client):
            await life.begin(ground, client)
            await caught_up(deployment)
        ahead = {
            name: Position(at.tx + 10_000, 0) for name, at in (await bookmarks(ground)).items()
        }
        await put_bookmarks(ground, ahead)
        await life.require_refused(ground, "bookmarks ahead", AHEAD)
        figures = await used_without_the_fence(life, ground, monkeypatch)
    report("T14 bookmarks without the fence", figures)
    assert life.figures["bad_states_served"] == 0
    assert figures["rows_differing"] > 0


async def used_without_the_fence(
    life: Life, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> Counter[str]:
    """What comes of a service that starts on whatever it finds."""

    async def anything_goes(url: str) -> None:
        """Look at nothing."""

    monkeypatch.setattr(app, "require_fit", anything_goes)
    async with life.on(ground) as (deployment, client):
        await life.go_on(deployment, client)
    log = await read_log(ground.admin_url)
    different = {"events": len(log), "rows_differing": await differing_rows(ground.admin_url, log)}
    return Counter(asdict(await tail_of(ground, log)) | different)


async def migrated(operator: Operator) -> Ground:
    """A fresh database of the service in the operator's cluster."""
    ground = operator.ground
    ground.cluster.create_database("beamkeep")
    await migrate(ground.admin_url)
    return ground


@asynccontextmanager
async def served(operator: Operator) -> AsyncGenerator[httpx2.AsyncClient]:
    """`beamkeep serve` as a process, which keeps the lists, where only the operator reaches it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = operator.variables["BEAMKEEP_URL"] = f"http://127.0.0.1:{port}"
    process = Forked(
        ["beamkeep", "serve"],
        cwd=ROOT,
        env={
            **os.environ,
            **operator.ground.environment("serve"),
            "PORT": str(port),
            "METRICS_PORT": str(port),
        },
        stdout=1,
        stderr=2,
    )
    try:
        async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE) as http:

            async def ready() -> bool:
                assert process.poll() is None, "it did not start"
                try:
                    return (await http.get("/ready")).is_success
                except httpx2.TransportError:
                    return False

            await until(ready, "the service is ready")
            yield http
        process.terminate()
        assert await asyncio.to_thread(process.wait, DEADLINE) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(DEADLINE)


async def caught_up(deployment: Deployment) -> None:
    """Have every list follow to the end of the log."""
    tail, projections = deployment.tail, deployment.projections
    projector = Projector(CATALOGUE.views, CODEC, tail, projections=projections)
    await projector.catch_up(deployment.shards)


async def tail_of(ground: Ground, log: list[LoggedEvent]) -> TailFigures:
    """What a follower that begins at the beginning misses of the log."""
    recorder, over = Recorder(Connections(ground.projector_url, 1)), asyncio.Event()
    over.set()
    await recorder.run(over)
    return audit_tail(log, recorder.seen)


async def profiles(ground: Ground, *actor_ids: str) -> int:
    """How many of these people the database knows by name."""
    async with connected(ground.admin_url) as connection:
        known = "SELECT count(*) FROM bk.actor_profile WHERE actor_id = ANY($1::uuid[])"
        return await connection.fetchval(known, actor_ids)


async def time_on(ground: Ground) -> str:
    """The time on the server, as its settings write it."""
    async with connected(ground.admin_url) as connection:
        return await connection.fetchval("SELECT clock_timestamp()::text")


async def timeline(ground: Ground) -> int:
    """Which history of the cluster is being written: the first, or one that forked off."""
    async with connected(ground.admin_url) as connection:
        file: str = await connection.fetchval("SELECT pg_walfile_name(pg_current_wal_lsn())")
    return int(file[:8], 16)


async def bookmarks(ground: Ground) -> Bookmarks:
    """Where the followers stand."""
    async with connected(ground.admin_url) as connection:
        rows = await connection.fetch("SELECT projection, tx::text::bigint, pos FROM bk.bookmarks")
    return {name: Position(tx, pos) for name, tx, pos in rows}


async def put_bookmarks(ground: Ground, wanted: Bookmarks) -> None:
    """Have the followers stand elsewhere."""
    async with connected(ground.admin_url) as connection:
        await connection.executemany(
            "UPDATE bk.bookmarks SET tx = $2::text::xid8, pos = $3 WHERE projection = $1",
            [(name, str(at.tx), at.position) for name, at in wanted.items()],
        )


@asynccontextmanager
async def said_to_be_ours(ground: Ground) -> AsyncGenerator[None]:
    """Half of the procedure, for a while: the log is said to belong to this cluster."""
    say = "UPDATE bk.deployment SET system_identifier"
    async with connected(ground.admin_url) as connection:
        before = await connection.fetchval("SELECT system_identifier FROM bk.deployment")
        await connection.execute(f"{say} = (SELECT system_identifier FROM pg_control_system())")
        yield
        await connection.execute(f"{say} = $1", before)


async def until_replayed(primary: Ground, standby: Ground) -> None:
    """Wait until the standby has all that the primary has now."""
    async with connected(primary.admin_url) as connection:
        end = await connection.fetchval("SELECT pg_current_wal_flush_lsn()::text")
    reached = "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn"
    async with connected(standby.admin_url) as connection:
        await until(lambda: connection.fetchval(reached, end), "the standby has everything")


async def cut_off(standby: Ground) -> None:
    """Lose the link to the primary."""
    async with connected(standby.admin_url) as connection:
        await connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
        await connection.execute("SELECT pg_reload_conf()")
        alone = "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)"
        await until(lambda: connection.fetchval(alone), "the standby receives nothing any more")
