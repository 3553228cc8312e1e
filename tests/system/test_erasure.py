"""Nothing that was said is in a log, and nothing personal outlives being forgotten."""

import json
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.support.examples import EXAMPLES
from tests.system.calling import As, callers, registered
from tests.system.canaries import FREE, PERSONAL, Canaries, texts

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.contexts.access.profile import DELETED_USER
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Insert, SurfaceKind, replace
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import Append, Position
from beamkeep.surfaces.tools.selection import HTTP_ONLY
from beamkeep.testing.calling import Calling, Mcp, Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.server import Server, deployment, running_server
from beamkeep.testing.service import call, prepared_service

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

DEADLINE = 60.0
PROFILE = {
    "name": "Grace",
    "email": "grace@lab.test",
    "phone": "555",
    "affiliation": "Lab",
    "external_id": "0000",
    "external_id_namespace": "orcid",
}


class Marking(As):
    """A principal whose every text can be found again; remembers whom it registered."""

    def __init__(self, calling: Calling, token: str, others: dict[str, str]) -> None:
        super().__init__(calling, token, others)
        self.canaries = Canaries()
        self.actor_ids: list[str] = []

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        key = {} if name.startswith(("get", "list", "eval")) else {"idempotency_key": uuid4().hex}
        said = self.canaries.into(name, arguments)
        body = await super().__call__(name, said, **key, **options)
        if name == "register_actor":
            self.actor_ids.append(body["actor_id"])
        return body

    async def by_account(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return await super().by_account(name, self.canaries.into(name, arguments))


async def test_nothing_said_is_in_the_log_and_nothing_personal_outlives_being_forgotten(
    cluster: Cluster,
):
    with collector() as (endpoint, spans):
        with running_server(
            cluster, "witnessed", log_level="debug", otlp_endpoint=endpoint
        ) as server:
            async with httpx2.AsyncClient(base_url=server.url, timeout=DEADLINE) as http:
                for calling in (Rest(http), Mcp(http)):
                    await say_everything_and_forget_everybody(calling, server)
                metrics = (await http.get("/metrics")).text
            left, log = dump(server.database), server.log.read_text()
        traces = b"".join(spans).decode(errors="replace")

    assert FREE in left
    for secret in (PERSONAL, PERSONAL.encode().hex()):
        assert secret not in left
    places = {"log": log, "traces": traces, "metrics": metrics, "database": cluster.log.read_text()}
    for place, text in places.items():
        for secret in (PERSONAL, FREE, "mallory", server.database.url()):
            assert secret not in text, place
    assert log.count('"event":"call"') > 2 * len(EXAMPLES)
    assert all(name in traces and f'name="{name}"' in metrics for name in EXAMPLES)


async def say_everything_and_forget_everybody(calling: Calling, server: Server) -> None:
    """Make every call there is, with a word in every text, and refused and denied calls too."""
    token, forged = server.admin, f"{server.token('mallory')}x"
    by = Marking(calling, token, await callers(server, As(calling, token)))
    await say_everything(by)
    assert by.canaries.marked == {text for name in EXAMPLES for text in texts(name)}
    assert (await calling.send(forged, "list_zones", {})).status == 401
    assert (await calling.send(server.token(PERSONAL), "list_zones", {})).status == 401
    denied = await registered(server, As(calling, token), f"{uuid4().hex} {PERSONAL}")
    assert (await calling.send(denied.token, "list_zones", {})).status == 403
    by.actor_ids.append(str(denied.id))
    assert PERSONAL in dump(server.database)
    await forget_everybody(by)
    log = server.log.read_text()
    assert token not in log
    assert forged not in log


async def say_everything(by: Marking) -> None:
    """Every operation and question once, and refusals that hold what was said."""
    # A deployment has one seal, which it gets by the first calls.
    left_out = frozenset[str]()
    if by.calling.kind is not SurfaceKind.HTTP:
        left_out = HTTP_ONLY | {"initialize_seal"}
    for name, example in EXAMPLES.items():
        if name not in left_out:
            await by(name, await example(by))
    login = {"issuer": "https://other.test", "subject": uuid4().hex}
    whole = {**PROFILE, "identities": [login]}
    (actor_id,) = (await by("register_actor", whole)).values()
    await by("update_actor_profile", {"actor_id": actor_id, **PROFILE})
    refused: list[tuple[str, dict[str, Any], int]] = [
        ("register_actor", by.canaries.into("register_actor", whole), 409),
        ("register_actor", {"name": "Grace", "email": PERSONAL}, 400),
        ("register_actor", {"name": [PERSONAL], "phone": {PERSONAL: FREE}}, 422),
        ("define_zone", {"name": FREE, FREE: FREE}, 422),
        ("list_zones", {"cursor": FREE}, 422),
        ("get_zone", {"zone_id": FREE}, 422),
    ]
    for name, arguments, status in refused:
        assert (await by.send(name, arguments)).status == status, (name, arguments)


async def forget_everybody(by: Marking) -> None:
    """Forget everybody who was registered, and see that they are."""
    for actor_id in by.actor_ids:
        one = {"actor_id": actor_id}
        assert (await by.send("forget_actor", one)).status in {200, 204, 409}
        assert (await by("get_actor", one))["name"] == DELETED_USER
        history = (await by("get_actor_history", one))["items"]
        forgotten = [each for each in history if each["event_type"] == "ActorProfileForgotten"]
        assert [each["payload"].keys() - {"occurred_at"} for each in forgotten] == [{"actor_id"}]
        assert PERSONAL not in json.dumps(history)
    rows = await by.listed("list_actors", by.position_token)
    assert PERSONAL not in json.dumps(rows)


class Careless(PostgresEventStore):
    """Keeps what was said of a person beside the answer, to give it again."""

    async def append(self, append: Append) -> Position:
        rows = [part.row for part in append.side_writes if isinstance(part, Insert)]
        if append.answer:
            kept = replace(append.answer, result=encode(rows))
            append = replace(append, answer=kept)
        return await super().append(append)


@pytest.mark.parametrize("store_type", [PostgresEventStore, Careless])
async def test_the_canaries_are_found_where_answers_are_stored_with_what_was_said(
    cluster: Cluster, store_type: type[PostgresEventStore]
):
    with deployment(cluster, True) as made:
        connections = made.database.connections()
        store = store_type(connections, made.database.url())
        lists = PostgresLists(connections)
        service = await prepared_service(store, lists, await store.cursor_key())
        person = Canaries().into("register_actor", PROFILE)
        registered = await call(service, "register_actor", person, idempotency_key="k")
        await call(service, "forget_actor", {"actor_id": str(registered.id)})
        await connections.close()
        assert (PERSONAL in dump(made.database)) == (store_type is Careless)


def test_every_text_of_every_call_gets_a_word():
    marked = {text for name in CATALOGUE.named for text in texts(name)}
    assert ("register_actor", "identities", "subject") in marked
    assert ("register_visit", "external_refs", "*") in marked
    assert ("define_model", "manufacturer", "name") in marked
    assert ("define_family", "settings_schema", "description") in marked
    reasons = {row.name for row in CATALOGUE.operations if "reason" in row.command.model_fields}
    assert {name for name, *_, last in marked if last == "reason"} == reasons


def dump(database: Database) -> str:
    """Everything a database holds, as text."""
    command = ["pg_dump", "--dbname", database.url("postgres")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextmanager
def collector() -> Generator[tuple[str, list[bytes]]]:
    """Where traces can be sent, and what was."""
    received: list[bytes] = []

    class Collecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Collecting) as listener:
        thread = Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}/v1/traces", received
        finally:
            listener.shutdown()
            thread.join()
