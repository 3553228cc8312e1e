"""Every operation and question as a verb."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from queue import Queue
from typing import Any
from uuid import UUID, uuid4

import click
import httpx2
import pytest
import structlog.testing
import uvicorn
from click.testing import CliRunner, Result
from tests.support.listening import listening
from tests.support.rest_client import rest_application

from beamkeep.app import CATALOGUE
from beamkeep.client import http
from beamkeep.client.terminal import show
from beamkeep.client.verbs import Verb, verbs
from beamkeep.kernel import Operation, Question
from beamkeep.testing.service import memory_service

ZONE = str(uuid4())

type Answering = Callable[[httpx2.Request], httpx2.Response]


def run(answering: Answering | None, *words: str, **environment: str) -> Result:
    """Call the command line with a service that answers so."""
    transport = httpx2.MockTransport(answering) if answering else None
    group = verbs(CATALOGUE, transport)
    return CliRunner().invoke(group, words, env={"BEAMKEEP_TOKEN": None, **environment})


class Asked:
    """A service that remembers what it was asked and answers one thing."""

    def __init__(self, status: int = 200, body: Any = None) -> None:
        self._status, self._body = status, body
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        if self._body is None:
            return httpx2.Response(self._status)
        return httpx2.Response(self._status, json=self._body)

    @property
    def only(self) -> httpx2.Request:
        (request,) = self.requests
        return request

    @property
    def body(self) -> Any:
        return json.loads(self.only.content)


@pytest.mark.parametrize("row", CATALOGUE.named.values(), ids=lambda row: row.name)
def test_every_row_has_a_verb_with_an_option_for_everything_it_takes(row: Operation | Question):
    group = verbs(CATALOGUE)
    context = click.Context(group)
    kebab = row.name.replace("_", "-")
    assert kebab in group.list_commands(context)
    for name in (kebab, row.name):
        verb = group.get_command(context, name)
        assert isinstance(verb, Verb)
        options = [p.name for p in verb.get_params(context)]
        model = row.command if isinstance(row, Operation) else row.query
        fields = {field.alias or name for name, field in model.model_fields.items()}
        assert {*row.route.fields, *fields} <= set(options)
        assert len(options) == len(set(options)), "two options of one name"
        assert ("dry_run" in options) is isinstance(row, Operation)
        assert ("if_match" in options) is (isinstance(row, Operation) and not row.genesis)


def test_help_tells_what_each_verb_and_each_option_is_for():
    assert "Define a zone." in run(None, "--help").output
    told = " ".join(run(None, "register-visit", "--help").output.split())
    assert "Register a planned visit on a surface." in told
    assert "Policy that permits the principals" in told
    assert "[user|commissioning|maintenance|calibration|staff] [required]" in told
    assert "--planned-start-at DATE-TIME [required]" in told
    assert "--limit INTEGER (default: 50)" in " ".join(
        run(None, "list-zones", "--help").output.split()
    )


def test_making_the_verbs_makes_no_options():
    group = verbs(CATALOGUE)
    context = click.Context(group)
    made = [group.get_command(context, name) for name in group.list_commands(context)]
    assert all(not verb.params for verb in made if isinstance(verb, Verb))


def test_a_creation_is_posted_with_its_fields():
    asked = Asked(201, {"zone_id": ZONE})
    result = run(asked, "define-zone", "--name", "Hutch")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"zone_id": ZONE})
    assert (asked.only.method, asked.only.url) == ("POST", "http://127.0.0.1:8000/zones")
    assert asked.body == {"name": "Hutch"}
    assert "authorization" not in asked.only.headers
    assert "idempotency-key" not in asked.only.headers


def test_a_change_names_its_object_in_the_path():
    asked = Asked(204)
    result = run(
        asked,
        "hold_visit",
        *("--visit-id", ZONE, "--reason", "beam lost"),
        *("--if-match", "3", "--idempotency-key", "k1", "--dry-run"),
    )
    assert (result.exit_code, result.output) == (0, "")
    assert asked.only.url.path == f"/visits/{ZONE}/hold"
    assert asked.only.url.query == b"dry_run=true"
    assert asked.body == {"reason": "beam lost"}
    assert asked.only.headers["if-match"] == '"3"'
    assert asked.only.headers["idempotency-key"] == "k1"


def test_a_value_cannot_lead_out_of_its_place_in_the_path():
    asked = Asked(204)
    run(asked, "start-visit", "--visit-id", "../actors?x=#")
    assert asked.only.url.raw_path == b"/visits/..%2Factors%3Fx%3D%23/start"


def test_a_question_asks_by_its_query():
    asked = Asked(200, {"items": [], "next_cursor": None})
    run(asked, "list-actors", "--kind", "human", "--no-active", "--limit", "5")
    assert asked.only.method == "GET"
    assert dict(asked.only.url.params) == {"kind": "human", "active": "false", "limit": "5"}


def test_a_set_is_repeated_and_an_object_is_json():
    asked = Asked(201, {})
    run(
        asked,
        "define-policy",
        *("--name", "p", "--conduit-id", ZONE, "--object-scope", "Own"),
        *("--permitted-principal-ids", ZONE),
        *("--permitted-commands", "list_zones", "--permitted-commands", "get_zone"),
        *("--arguments", '{"surface_id": null, "name": "loses"}'),
    )
    assert asked.body == {
        "name": "p",
        "conduit_id": ZONE,
        "surface_id": None,
        "object_scope": "Own",
        "permitted_principal_ids": [ZONE],
        "permitted_commands": ["list_zones", "get_zone"],
    }
    asked = Asked(201, {})
    run(asked, "register-actor", "--name", "E", "--identities", '[{"issuer":"i","subject":"s"}]')
    assert asked.body["identities"] == [{"issuer": "i", "subject": "s"}]


def test_a_refusal_goes_to_standard_error_with_its_code():
    asked = Asked(409, {"code": "VisitCannotStartError", "detail": "It cannot.\x1b[2J"})
    result = run(asked, "start-visit", "--visit-id", ZONE)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "VisitCannotStartError: It cannot.\N{REPLACEMENT CHARACTER}[2J\n"


@pytest.mark.parametrize("body", [None, [], {"error": "x"}])
def test_an_answer_that_is_no_problem_is_told_by_its_status(body: Any):
    result = run(Asked(502, body), "list-zones")
    assert (result.exit_code, result.stderr) == (1, "HTTP 502: Bad Gateway\n")


def test_a_service_that_does_not_answer_has_an_exit_code_of_its_own():
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("connection refused")

    result = run(refuse, "--url", "https://nowhere.test", "list-zones")
    assert result.exit_code == 2
    assert result.stderr == (
        "The service at https://nowhere.test does not answer: connection refused\n"
    )


@pytest.mark.parametrize(("key", "code"), [((), 2), (("--idempotency-key", "k1"), 0)])
def test_a_lost_answer_is_retried_only_with_an_idempotency_key(
    key: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http, "PAUSE_SECONDS", 0.0)
    answers = iter([httpx2.ReadError("reset"), httpx2.Response(201, json={"zone_id": ZONE})])

    def answer(_: httpx2.Request) -> httpx2.Response:
        given = next(answers)
        if isinstance(given, Exception):
            raise given
        return given

    assert run(answer, "define-zone", "--name", "Hutch", *key).exit_code == code


@pytest.mark.parametrize(
    "words",
    [
        ["define-zone"],
        ["define-zne"],
        ["define-zone", "--colour", "red"],
        ["define-zone", "--arguments", "[1]"],
        ["register-actor", "--name", "E", "--identities", "{"],
        ["list-actors", "--kind", "robot"],
        ["list-zones", "--limit", "many"],
        ["--token-file", "/nowhere", "list-zones"],
    ],
)
def test_a_wrong_call_is_told_before_anything_is_sent(words: list[str]):
    asked = Asked()
    result = run(asked, *words)
    assert result.exit_code == 64
    assert "Usage:" in result.stderr
    assert not asked.requests


def test_the_token_comes_from_the_environment_or_a_file(tmp_path: Path):
    asked = Asked(200, {})
    run(asked, "list-zones", BEAMKEEP_TOKEN="of-the-environment")
    assert asked.only.headers["authorization"] == "Bearer of-the-environment"
    kept = tmp_path / "token"
    kept.write_text("of.the.file\n")
    asked = Asked(200, {})
    run(asked, "--token-file", str(kept), "list-zones", BEAMKEEP_TOKEN="of-the-environment")
    assert asked.only.headers["authorization"] == "Bearer of.the.file"


def test_what_is_no_token_is_neither_sent_nor_shown():
    asked = Asked(200, {})
    result = run(asked, "list-zones", BEAMKEEP_TOKEN="secret\nX-Evil: 1")
    assert result.exit_code == 64
    assert "secret" not in result.output
    assert not asked.requests


def test_a_command_that_calls_no_service_needs_no_token():
    result = run(None, "catalogue", BEAMKEEP_TOKEN="no token")
    assert result.exit_code == 0


def test_no_option_takes_a_token():
    group = verbs(CATALOGUE)
    flags = [flag for option in group.params for flag in option.opts]
    assert "--token-file" in flags
    assert "--token" not in flags


def test_the_address_and_the_surface_can_be_chosen():
    asked = Asked(200, {})
    run(asked, "--surface-id", ZONE, "list-zones", BEAMKEEP_URL="https://b.test/")
    assert str(asked.only.url) == "https://b.test/zones"
    assert asked.only.headers["x-surface-id"] == ZONE


def test_a_person_reads_a_table_and_nothing_that_commands_the_terminal(
    capsys: pytest.CaptureFixture[str],
):
    rows = [{"name": "[red]Hutch\x1b[2J", "size": 3}, {"name": "Lab", "size": None}]
    show({"items": rows, "next_cursor": "c1"}, None)
    show({"zone_id": "z"}, '"7"')
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    assert ["name", "size"] in lines
    assert ["[red]Hutch\N{REPLACEMENT CHARACTER}[2J", "3"] in lines
    assert ["Lab", "-"] in lines
    assert ["next_cursor", "c1"] in lines
    assert ["version", "7"] in lines


def test_the_catalogue_prints_itself():
    told = run(None, "catalogue").stdout.splitlines()
    assert len(told) == len(CATALOGUE.named)
    words = next(line.split() for line in told if line.startswith("define_zone "))
    assert words == ["define_zone", "POST", "/zones", "create", "Zone"]
    rows = json.loads(run(None, "catalogue", "--json").stdout)
    assert {row["kind"] for row in rows} == {"create", "change", "question"}


CLEAR = [
    "http://lab.test",
    "HTTP://lab.test:8000",
    "http://10.0.0.5:8000",
    "http://localhost.evil.test",
    "http://127.0.0.1.evil.test",
    "http://user@lab.test",
    "http://127.0.0.1@lab.test",
    "http://[lab",
    "http://",
]
PRIVATE = [
    "https://lab.test",
    "http://127.0.0.1:8000",
    "http://localhost:8000",
    "http://LOCALHOST",
    "http://[::1]:8000",
]


@pytest.mark.parametrize("url", CLEAR)
def test_a_token_is_not_sent_in_the_clear(url: str):
    asked = Asked()
    told = run(asked, "--url", url, "list-zones", BEAMKEEP_TOKEN="t0k3n")
    assert (told.exit_code, asked.requests) == (64, [])
    assert "Give an https:// address" in told.stderr
    assert "t0k3n" not in told.output
    told = run(asked, "--url", url, "import", "yaml", __file__, BEAMKEEP_TOKEN="t0k3n")
    assert (told.exit_code, asked.requests) == (64, [])


@pytest.mark.parametrize("url", PRIVATE)
def test_a_token_is_sent_by_tls_or_to_this_machine(url: str):
    asked = Asked(body={"items": [], "next_cursor": None})
    assert run(asked, "--url", url, "list-zones", BEAMKEEP_TOKEN="t0k3n").exit_code == 0
    assert len(asked.requests) == 1


def test_a_token_for_this_machine_is_not_sent_to_a_proxy():
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        # Nobody listens on port 9; a proxy would be asked instead.
        told = run(None, "--url", "http://127.0.0.1:9", "list-zones", HTTP_PROXY=address)
        assert told.exit_code == 2
        with pytest.raises(BlockingIOError):
            proxy.accept()


# Against the real service


@pytest.fixture
def url() -> Generator[str]:
    """A service in memory, listening in a thread of its own."""
    ports, over = Queue[int](), threading.Event()

    async def serve() -> None:
        service, _ = await memory_service()
        config = uvicorn.Config(rest_application(service), port=0, log_level="error", ws="none")
        async with listening(config) as port:
            ports.put(port)
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    # Its log would mix with what the verbs print.
    with structlog.testing.capture_logs():
        thread.start()
        try:
            yield f"http://127.0.0.1:{ports.get(timeout=10)}"
        finally:
            over.set()
            thread.join()


def test_the_verbs_work_against_the_real_service(url: str):
    def told(*words: str, subject: str = "ada") -> Result:
        return run(None, *words, BEAMKEEP_URL=url, BEAMKEEP_TOKEN=subject)

    actor_id = json.loads(told("register-actor", "--name", "Eve").stdout)["actor_id"]
    assert UUID(actor_id)
    changed = told("deactivate-actor", "--actor-id", actor_id, "--if-match", "1")
    assert (changed.exit_code, changed.output) == (0, "")
    shown = json.loads(told("get-actor", "--actor-id", actor_id).stdout)
    assert (shown["name"], shown["active"]) == ("Eve", False)
    before = told("get-actor", "--actor-id", actor_id, "--as-of", "1")
    assert json.loads(before.stdout)["active"] is True
    listed = json.loads(told("list-actors", "--no-active", "--limit", "5").stdout)
    assert [row["actor_id"] for row in listed["items"]] == [actor_id]
    rehearsed = told("define-zone", "--name", "Hutch", "--dry-run")
    assert json.loads(rehearsed.stdout)["events"][0]["event_type"] == "ZoneDefined"
    refused = told("deactivate-actor", "--actor-id", actor_id)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("ActorCannotDeactivateError: Only an active actor other than")
    stranger = told("list-zones", subject="stranger")
    assert (stranger.exit_code, stranger.stderr.partition(":")[0]) == (1, "InvalidTokenError")
