"""What whoever runs the service sees of it: that it is well, why it is not, and how it ends."""

import asyncio
import json
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest
from tests.support.verdicts import time_counts
from tests.system.calling import As

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.testing.calling import Rest, SurfaceAnswer
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import (
    LocalDeployment,
    Server,
    deployment,
    free_port,
    running_server,
    serving,
)
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

DEADLINE = 30.0
BACK_WITHIN = 5.0
REFUSED_TO_START = 78
IN_FLIGHT = 20

# Nobody writes events while this is held.
HOLD = "LOCK TABLE bk.events IN SHARE ROW EXCLUSIVE MODE"
WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE wait_event_type = 'Lock' AND datname = current_database()
"""
ZONES = "SELECT count(*) FROM bk.events WHERE command_name = 'define_zone'"


@asynccontextmanager
async def client(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    """Plain HTTP, for many calls at once."""
    limits = httpx2.Limits(max_connections=IN_FLIGHT)
    async with httpx2.AsyncClient(base_url=server.url, timeout=DEADLINE, limits=limits) as http:
        yield http


async def answered_with[T](ask: Callable[[], Awaitable[T]], enough: Callable[[T], bool]) -> T:
    """Ask again and again until the answer is enough, but not for ever."""
    async with asyncio.timeout(DEADLINE):
        while not enough(answer := await ask()):
            await asyncio.sleep(0.02)
    return answer


# Health, readiness, metrics.


async def test_a_service_that_runs_says_it_is_alive_and_ready_to_anyone(server: Server):
    async with client(server) as http:
        alive, ready = await http.get("/health"), await http.get("/ready")
    assert (alive.status_code, alive.text) == (200, "alive")
    assert (ready.status_code, ready.text) == (200, "ready")


async def test_a_service_whose_watch_has_stopped_is_not_ready_until_it_looks_again(server: Server):
    database = server.database
    async with client(server) as http:

        async def told_late() -> httpx2.Response:
            database.ask("UPDATE bk.heartbeat SET beat_at = now() - interval '10 minutes'")
            return await http.get("/ready")

        # Nobody reports of it; the watch finds it silent, and that is no matter here.
        database.ask("INSERT INTO bk.enclosure_freshness VALUES (gen_random_uuid(), now())")
        late = await answered_with(told_late, lambda answer: answer.status_code != 200)
        assert (late.status_code, late.text[:37]) == (503, "The staleness watch last looked 600 s")
        await answered_with(partial(http.get, "/ready"), lambda answer: answer.status_code == 200)
        database.ask("DELETE FROM bk.enclosure_freshness")


async def test_while_the_database_is_down_the_service_says_so_and_it_comes_back_by_itself():
    with Cluster.start() as cluster, running_server(cluster) as server:
        async with client(server) as http:
            admin, ready = As(Rest(http), server.admin), partial(http.get, "/ready")
            await admin("define_zone", {"name": "Before"})
            cluster.kill()
            down = await answered_with(ready, lambda answer: answer.status_code != 200)
            assert (down.status_code, down.text) == (503, "The database does not answer.")
            assert (await http.get("/health")).status_code == 200
            refused = await admin.send("define_zone", {"name": "Meanwhile"})
            assert (refused.status, refused.body["code"]) == (503, "StoreUnavailableError")

            cluster.resume()
            since = time.monotonic()
            await answered_with(ready, lambda answer: answer.status_code == 200)
            assert not time_counts() or time.monotonic() - since < BACK_WITHIN

            made = await admin("define_zone", {"name": "After"})
            names = [row["name"] for row in await caught_up(admin, "list_zones")]
            assert "Before" in names
            assert "After" in names
            assert "Meanwhile" not in names
            assert (await admin("get_zone", made))["name"] == "After"
        assert server.process.poll() is None


async def caught_up(by: As, name: str) -> list[dict[str, Any]]:
    """The list, once it shows what was written last."""
    ask = partial(by.send, name, {"min_token": by.position_token, "limit": 100})
    answer = await answered_with(ask, lambda answer: answer.status != 503)
    return answer.body["items"]


async def test_metrics_count_calls_and_show_the_lag_of_the_lists_and_who_holds_them_up(
    server: Server,
):
    async with client(server) as http:
        admin = As(Rest(http), server.admin)

        async def metrics() -> str:
            return (await http.get("/metrics")).text

        counter = 'beamkeep_calls_total{name="define_zone",outcome="2xx",surface="HTTP"}'
        before = sample(await metrics(), counter)
        await admin("define_zone", {"name": "Hutch"})
        # They are given out as they were for a second.
        after = await answered_with(metrics, lambda text: sample(text, counter) > before)
        assert sample(after, counter) == before + 1

        lags = await answered_with(metrics, lambda text: "beamkeep_projection_lag_seconds{" in text)
        for view in CATALOGUE.views:
            assert f'beamkeep_projection_lag_seconds{{projection="{view.name}"' in lags

        looked = "beamkeep_staleness_watch_age_seconds"
        await answered_with(metrics, lambda text: 0 < sample(text, looked) < inf)

        assert "# TYPE beamkeep_projection_blocked_by_seconds gauge" in await metrics()
        name = server.database.name
        with psycopg.connect(server.database.url("postgres")) as idle:
            idle.execute("SELECT pg_current_xact_id()")
            blocked = (
                f"beamkeep_projection_blocked_by_seconds"
                f'{{database="{name}",pid="{idle.info.backend_pid}"}}'
            )
            await answered_with(metrics, lambda text: blocked in text)
        await answered_with(metrics, lambda text: blocked not in text)


def sample(metrics: str, name: str) -> float:
    """The value of one metric; what was never counted is not there."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", metrics, re.MULTILINE)
    return float(found[1]) if found else 0.0


# How it ends.


async def test_every_command_accepted_before_the_end_is_answered(cluster: Cluster):
    with running_server(cluster) as server:
        async with client(server) as http:
            rest, token = Rest(http), server.admin
            with psycopg.connect(server.database.url("postgres")) as holding:
                holding.execute(HOLD)
                sent = [
                    asyncio.create_task(rest.send(token, "define_zone", {"name": f"Zone {n}"}))
                    for n in range(IN_FLIGHT)
                ]
                await until(lambda: counted(server, WAITING), "a command waits")
                server.process.send_signal(signal.SIGTERM)
                await answered_with(partial(accepts, server), lambda accepted: not accepted)
                under_way = [call for call in sent if not call.done()]
            assert under_way
            ended = await asyncio.gather(*sent, return_exceptions=True)
        assert server.process.wait(DEADLINE) == 0
        calls = [line for line in logged(server) if line["event"] == "call"]
    answers = [each for each in ended if isinstance(each, SurfaceAnswer)]
    # Who came too late was never let in.
    assert all(isinstance(each, SurfaceAnswer | httpx2.TransportError) for each in ended)
    assert Counter(each.status for each in answers) == Counter(line["status"] for line in calls)
    assert {each.status for each in answers} <= {201, 503}
    assert counted(server, ZONES) == len([each for each in answers if each.status == 201])


def counted(server: Server, statement: str) -> int:
    """The one number a statement answers."""
    ((number,),) = server.database.ask(statement)
    assert isinstance(number, int)
    return number


def logged(server: Server) -> list[dict[str, Any]]:
    """Every line of the log, each of which is JSON."""
    return [json.loads(line) for line in server.log.read_text().splitlines()]


async def accepts(server: Server) -> bool:
    """Whether anybody new is let in."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    except OSError:
        return False
    writer.close()
    return True


# How it starts, and what it says of a deployment.

GRANTED_BY_SQL = """
WITH granted AS (
  INSERT INTO bk.policy_grant
    (policy_id, principal_id, conduit_id, surface_id, permitted_commands, object_scope)
  VALUES (lpad('1', 32, '0')::uuid, lpad('2', 32, '0')::uuid, lpad('3', 32, '0')::uuid, NULL,
          '{*}', 'All')
  RETURNING policy_id)
SELECT policy_id FROM granted
"""


@pytest.fixture(scope="module")
def made(cluster: Cluster) -> Generator[LocalDeployment]:
    with deployment(cluster, False) as made:
        yield made


def test_check_says_in_words_what_is_wrong_until_nothing_is(made: LocalDeployment):
    def check(**settings: str | None) -> tuple[int, str]:
        ran = made.run("check", **settings)
        return ran.returncode, ran.stdout

    superuser = made.database.url("postgres")
    empty = "The database is empty. Run `beamkeep migrate`."
    assert check(database_url=superuser, projector_database_url=None) == (
        1,
        f"DATABASE_URL: {empty}\n",
    )
    assert made.run("migrate").returncode == 0
    assert check(database_url=superuser) == (
        1,
        "DATABASE_URL: The role postgres is a superuser. Log in as bk_app.\n",
    )
    assert check() == (0, "nothing is wrong\n")
    made.database.ask(GRANTED_BY_SQL)
    code, told = check()
    assert code == 1
    assert told.startswith("bk.policy_grant has a row of Policy 00000000-0000-0000-0000-")
    assert "permitted_commands *, object_scope All" in told
    made.database.ask("WITH d AS (DELETE FROM bk.policy_grant RETURNING 1) SELECT * FROM d")
    assert check() == (0, "nothing is wrong\n")
    code, told = check(database_url=made.database.url().replace(made.database.name, "nowhere"))
    assert code == 1
    assert told.startswith(
        "DATABASE_URL: Cannot connect to the database. Check the name at the end of its address"
    )


def test_check_names_a_provider_whose_keys_are_missing(cluster: Cluster):
    with deployment(cluster, True) as made:
        (made.folder / "jwks.json").unlink()
        ran = made.run("check")
    assert (ran.returncode, ran.stdout) == (
        1,
        (
            f"IDENTITY_PROVIDERS: The keys of {ISSUER} cannot be read from"
            f" {made.folder / 'jwks.json'}. Provide a readable key set there with a key for"
            " RS256.\n"
        ),
    )


NO_PROVIDER = "identity provider not usable"


async def test_a_service_is_ready_once_somebody_can_vouch_for_tokens(cluster: Cluster):
    with deployment(cluster, True) as made:
        keys = made.folder / "jwks.json"
        kept = keys.read_bytes()
        keys.unlink()
        with serving(made, "No identity provider can verify a token.") as server:
            async with client(server) as http:
                ready = partial(http.get, "/ready")
                waits = await ready()
                assert waits.status_code == 503
                assert str(keys) not in waits.text
                # A slow service may have tried more than once by now.
                told = [line for line in logged(server) if line["event"] == NO_PROVIDER]
                assert told
                assert all(str(keys) in line["because"] for line in told)
                keys.write_bytes(kept)
                await answered_with(ready, lambda answer: answer.status_code == 200)
                # Keys that were had keep what they open open.
                keys.unlink()
                assert (await ready()).text == "ready"
                assert (await As(Rest(http), server.admin).send("list_zones", {})).status == 200


def test_the_first_work_finds_everything_it_looks_for(cluster: Cluster):
    with deployment(cluster, True, project_in_serve="false") as made:
        process = made.begin("work")
        looked = "SELECT count(*) FROM bk.bookmarks WHERE tx > '0'"
        deadline = time.monotonic() + DEADLINE
        while made.database.ask(looked) == [(0,)] and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
        lines = [json.loads(line) for line in made.log.read_text().splitlines()]
    assert [line["event"] for line in lines if line["event"] != "lists held back"] == [
        "starting",
        "deployment prepared",
        "agents that call a model do not work",
    ]


def test_a_service_that_would_let_anybody_in_does_not_start(made: LocalDeployment):
    ran = made.run("serve", require_authenticated_principal="false")
    assert ran.returncode == REFUSED_TO_START
    assert "anybody could do anything" in ran.stderr
    assert "Traceback" not in ran.stderr
    opened = {"require_authenticated_principal": "false", "development": "true"}
    ran = made.run("serve", **opened, host="::")
    assert ran.returncode == REFUSED_TO_START
    assert "HOST is '::': anybody on the network could do anything" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_service_that_would_let_nobody_in_does_not_start(made: LocalDeployment):
    ran = made.run("serve", identity_providers="[]")
    assert ran.returncode == REFUSED_TO_START
    assert "nobody could log in" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_service_does_not_start_on_a_database_that_is_not_fit(made: LocalDeployment):
    ran = made.run("serve", database_url=made.database.url("postgres"))
    assert ran.returncode == REFUSED_TO_START
    assert "The role postgres is a superuser. Log in as bk_app." in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_service_with_an_action_that_cannot_be_loaded_does_not_start(
    made: LocalDeployment, tmp_path: Path
):
    info = tmp_path / "beamline-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: beamline\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[beamkeep.actions]\nhome = no_such_module:HOME\n")
    ran = made.run("serve", pythonpath=str(tmp_path))
    assert ran.returncode == REFUSED_TO_START
    assert "The entry point 'home' (no_such_module:HOME)" in ran.stderr
    assert "distribution beamline 1.2 fails to load" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_database_is_migrated_before_anything_else_is_decided(made: LocalDeployment):
    ran = made.run("migrate", identity_providers=None, base_url=None, development=None)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_database_that_cannot_be_migrated_is_named_in_words(made: LocalDeployment):
    ran = made.run("migrate", migration_database_url="postgresql://postgres@127.0.0.1:1/beamkeep")
    assert ran.returncode == REFUSED_TO_START
    assert ran.stderr.startswith("The database was not migrated: ")
    assert "Traceback" not in ran.stderr


async def test_a_service_for_development_lets_anybody_in_when_that_is_what_was_said(
    cluster: Cluster,
):
    opened = {"require_authenticated_principal": "false", "development": "true"}
    with running_server(cluster, identity_providers="[]", **opened) as server:
        async with client(server) as http:
            assert (await Rest(http).send(None, "define_zone", {"name": "Hutch"})).status == 201


async def test_metrics_may_have_a_port_of_their_own(cluster: Cluster):
    port = free_port()
    with running_server(cluster, metrics_port=str(port)) as server:
        async with client(server) as http:
            assert (await http.get("/metrics")).status_code == 404
            apart = await http.get(f"http://127.0.0.1:{port}/metrics")
            assert "beamkeep_calls" in apart.text
            elsewhere = await http.get(f"http://127.0.0.1:{port}/zones")
            assert elsewhere.status_code == 404
        assert server.stop() == 0


@pytest.mark.parametrize("name", ["PORT", "METRICS_PORT"])
def test_a_port_that_is_taken_is_named(cluster: Cluster, name: str):
    with socket.create_server(("127.0.0.1", 0)) as other, deployment(cluster, True) as made:
        port = other.getsockname()[1]
        ran = made.run("serve", **{name.lower(): str(port)})
    assert ran.returncode == 1
    told = f"{name}: Nothing can listen on port {port} of 127.0.0.1: Address already in use."
    assert ran.stderr.splitlines()[-1] == told


async def test_a_worker_shows_its_conducts_on_a_port_of_its_own(cluster: Cluster):
    port = free_port()
    with running_server(
        cluster, project_in_serve="false", work_metrics_port=str(port), conduct_slots="1"
    ) as server:
        worker = server.begin("work")
        try:

            def shown() -> str:
                try:
                    return httpx2.get(f"http://127.0.0.1:{port}/metrics").text
                except httpx2.TransportError:
                    return ""

            await until(lambda: "beamkeep_conducts_held 0.0" in shown())
        finally:
            worker.terminate()
            assert worker.wait(60) == 0


# What it leaves behind.


async def test_each_call_leaves_one_line_of_json_with_its_correlation_id(server: Server):
    async with client(server) as http:
        ids = [str(uuid4()) for _ in range(3)]
        for id, name in zip(ids, ("list_zones", "get_zone", "define_zone"), strict=True):
            headers = {"Authorization": f"Bearer {server.admin}", "X-Correlation-Id": id}
            path = CATALOGUE.named[name].route.path.format(zone_id=uuid4())
            method = CATALOGUE.named[name].route.method
            answer = await http.request(method, path, headers=headers)
            assert answer.headers["x-correlation-id"] == id
    calls = [line for line in logged(server) if line.get("correlation_id") in ids]
    assert [(line["correlation_id"], line["status"]) for line in calls] == list(
        zip(ids, (200, 404, 422), strict=True)
    )
    assert {line["event"] for line in calls} == {"call"}
    assert len({line["principal_id"] for line in calls}) == 1
    assert all({"name", "surface", "outcome", "ms", "timestamp"} <= line.keys() for line in calls)
