"""Every operation and question as a verb."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from queue import Queue
from typing import Any
from uuid import UUID, uuid4

import click
import httpx2
import pytest
import structlog.testing
from click.testing import CliRunner, Result
from tests.support.listening import listening
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Operation, SurfaceKind
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import memory_service, policy
from beamkeep.testing.web import rest_application
from beamkeep_client import http
from beamkeep_client.catalogue import Entry, catalogue, request_of
from beamkeep_client.cli import command_line
from beamkeep_client.terminal import show
from beamkeep_client.verbs import Verb

ZONE = str(uuid4())

type Answering = Callable[[httpx2.Request], httpx2.Response]


def run(answering: Answering | None, *words: str, **environment: str) -> Result:
    """Call the command line with a service that answers so."""
    transport = httpx2.MockTransport(answering) if answering else None
    tokenless = {"BEAMKEEP_TOKEN": None, **environment}
    return CliRunner().invoke(command_line(), words, env=tokenless, obj=transport)


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


def test_every_row_has_a_verb_with_an_option_for_everything_it_takes(subtests: pytest.Subtests):
    for row in selected(CATALOGUE.named.values()):
        with subtests.test(row.name):
            entry, model = (
                catalogue()[row.name],
                row.command if isinstance(row, Operation) else row.query,
            )
            fields = {field.alias or name for name, field in model.model_fields.items()}
            for words in (entry.words.split(), [row.name.replace("_", "-")], [row.name]):
                verb = found(words)
                if row.name == "list_events":
                    continue  # it has a command of its own
                assert isinstance(verb, Verb)
                assert (verb.entry.name, verb.entry.path) == (row.name, row.route.path)
                options = [p.name for p in verb.get_params(click.Context(verb))]
                assert {*row.route.fields, *fields} <= set(options)
                assert len(options) == len(set(options)), "two options of one name"
                assert ("dry_run" in options) is isinstance(row, Operation)
                assert ("if_match" in options) is (isinstance(row, Operation) and not row.genesis)


def found(words: Sequence[str]) -> click.Command | None:
    """Return the command that these words lead to."""
    command: click.Command | None = command_line()
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    return command


def test_no_two_rows_share_a_verb_and_no_noun_has_too_many():
    words = [entry.words for entry in catalogue().values()]
    assert len(words) == len({*words}) == len(CATALOGUE.named)
    assert max(Counter(entry.noun for entry in catalogue().values()).values()) < 30


# Written by hand: names whose words the rule has to take apart.
VERBS = {
    "start_run": "run start",
    "get_run": "run get",
    "list_runs": "run list",
    "get_run_history": "run history",
    "list_run_observations": "run observations",
    "get_run_observation_summary": "run observation-summary",
    "get_run_series": "run series",
    "append_run_logbook_entry": "run append-logbook-entry",
    "add_run_to_campaign": "campaign add-run",
    "remove_run_from_campaign": "campaign remove-run",
    "get_plan_readiness": "plan readiness",
    "restore_supply": "supply restore",
    "mark_supply_unavailable": "supply mark-unavailable",
    "observe_enclosure_status": "enclosure observe-status",
    "take_visit_surface_control": "visit take-surface-control",
    "install_asset": "mount install-asset",
    "revoke_grant": "policy revoke-grant",
    "version_recipe": "recipe version",
    "get_recipe_version": "recipe get-version",
    "list_recipe_versions": "recipe versions",
    "conduct_procedure": "procedure conduct",
    "conduct_from_procedure": "procedure conduct-from",
    "get_conduct": "procedure get-conduct",
    "conduct_until_advised": "procedure conduct-until-advised",
    "conduct_until_advised_from": "procedure conduct-until-advised-from",
    "list_families": "family list",
    "list_events": "events",
    "get_event_proof": "facility event-proof",
    "list_checkpoints": "facility checkpoints",
    "get_self": "whoami",
}


def test_the_words_of_an_operation_follow_from_its_name(subtests: pytest.Subtests):
    for name, words in VERBS.items():
        with subtests.test(name):
            assert catalogue()[name].words == words


def test_who_calls_fits_a_screen():
    me = {
        "actor_id": ZONE,
        "kind": "human",
        "name": "Olga",
        "surface": {"surface_id": ZONE, "name": "Console", "kind": "HTTP"},
        "permitted_commands": ["get_self", "start_run", "hold_run", "append_run_logbook_entry"],
        "own_only": ["get_self"],
        "token_expires_at": None,
        "now": "2030-01-31T02:00:00Z",
        "facility": {"code": "lab", "name": "Laboratory", "timezone": "Europe/Zurich"},
    }
    shown = run(Asked(200, me), "whoami", "-o", "table").stdout.splitlines()
    assert shown == [
        f"Olga (human) …{ZONE[-8:]}",
        "surface   Console (HTTP)",
        "facility  Laboratory (lab), Europe/Zurich",
        "time      2030-01-31 02:00:00 UTC at the service",
        "token     none",
        "may call  4 operations and questions; 1 of them show only your own objects",
        "  no noun: whoami",
        "  run: hold, note, start",
    ]
    every = {**me, "permitted_commands": [*catalogue()], "own_only": []}
    assert run(Asked(200, every), "whoami", "-o", "table").stdout.endswith("everything\n")


SHORT = {
    "run note": "append_run_logbook_entry",
    "decision note": "append_decision_logbook_entry",
    "visit take": "take_visit_surface_control",
    "visit release": "release_visit_surface_control",
    "caution promote": "promote_caution_proposal",
    "plan ready": "get_plan_readiness",
}


@pytest.mark.parametrize(("words", "name"), SHORT.items())
def test_short_forms_exist_next_to_the_derived_ones(words: str, name: str):
    verb = found(words.split())
    assert isinstance(verb, Verb)
    assert verb.entry.name == name


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["start-rnu"], "beamkeep run start"),
        (["runs"], "beamkeep run"),
        (["run", "strat"], "beamkeep run start"),
        (["suply", "restore"], "beamkeep supply"),
    ],
)
def test_a_word_that_is_nearly_right_is_answered_with_the_right_one(words: list[str], meant: str):
    result = run(None, *words)
    assert result.exit_code == 64
    assert meant in result.stderr.splitlines()[-3:] or f"  {meant}" in result.stderr.splitlines()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("hutch list", "list_enclosures"),
        ("hold run", "hold_run"),
        ("note run", "append_run_logbook_entry"),
        ("beam restore", "restore_supply"),
        ("ready", "get_plan_readiness"),
        ("sample mount", "mount_subject"),
    ],
)
def test_an_operation_is_found_by_the_words_of_a_beamline(words: str, name: str):
    assert run(None, "find", *words.split()).stdout.split("  ")[0].strip() == (
        f"beamkeep {catalogue()[name].words}"
    )


def test_nothing_is_found_for_words_that_fit_nothing():
    result = run(None, "find", "zyzzyva")
    assert (result.exit_code, result.stderr) == (1, "No operation fits these words.\n")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("beamkeep run st", {"start", "stop"}),
        ("beamkeep sup", {"supply"}),
        ("beamkeep plan ready --sub", {"--subject-id", "--subject"}),
    ],
)
def test_bash_completes_nouns_verbs_and_options(words: str, found: set[str]):
    count = len(words.split()) - 1
    script = f"""
        source <(beamkeep completion bash)
        COMP_WORDS=({words}) COMP_CWORD={count}
        _beamkeep_completion beamkeep
        echo "${{COMPREPLY[@]}}"
    """
    scripts = Path(sys.executable).parent
    ran = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(ran.stdout.split()) == found


def test_help_fits_a_screen():
    for words in ([], *([noun] for noun in {e.noun for e in catalogue().values() if e.noun})):
        shown = run(None, *words, "-h").output.splitlines()
        assert len(shown) <= 40, words
        assert max(map(len, shown)) <= 80, words


def test_help_tells_what_each_verb_and_each_option_is_for():
    assert "Define a zone." in run(None, "zone", "--help").output
    shown = " ".join(run(None, "visit", "register", "--help").output.split())
    assert "Register a planned visit of a team, or of a policy, on a surface." in shown
    assert "Policy whose principals are the people of this visit" in shown
    assert "[user|commissioning|maintenance|calibration|staff] [required]" in shown
    assert "--planned-start-at DATE-TIME [required]" in shown
    assert "--limit INTEGER (default: 50)" in " ".join(
        run(None, "list-zones", "--help").output.split()
    )


def test_making_the_verbs_makes_no_options():
    made = [found(entry.words.split()) for entry in catalogue().values()]
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


def test_a_note_proposes_a_command_and_is_percent_encoded():
    asked = Asked(202, {"proposal_id": ZONE})
    words = ("hold-run", "--run-id", ZONE, "--reason", "Beam lost")
    result = run(asked, *words, "--proposal-note", "Bitte prüfen: 50 %")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"proposal_id": ZONE})
    assert asked.only.headers["proposal-note"] == "Bitte%20pr%C3%BCfen%3A%2050%20%25"
    assert asked.body == {"reason": "Beam lost"}
    said = run(asked, *words, "-o", "table")
    assert said.stdout == f"run hold: proposed. Proposal {ZONE} needs approval.\n"
    assert "proposal-note" not in asked.requests[-1].headers
    assert run(asked, *words, "-o", "name").stdout == f"proposal/{ZONE}\n"


def test_a_proposed_conduct_is_not_followed():
    asked = Asked(202, {"proposal_id": ZONE})
    said = run(asked, "conduct-procedure", "--procedure-id", ZONE, "--follow", "-o", "table")
    assert said.stdout == f"procedure conduct: proposed. Proposal {ZONE} needs approval.\n"
    assert len(asked.requests) == 1


def test_an_approval_holds_only_for_what_a_proposal_would_do_now():
    asked, words = Asked(200, {"now": {"basis": "b" * 64}}), ("proposal", "approve", ZONE)
    assert run(asked, *words).exit_code == 0
    shown, approved = asked.requests
    assert (shown.method, shown.url.path) == ("GET", f"/proposals/{ZONE}")
    assert (approved.method, approved.url.path) == ("POST", f"/proposals/{ZONE}/approve")
    assert json.loads(approved.content) == {"basis": "b" * 64}


def test_an_approval_with_a_basis_of_its_own_or_a_key_reads_nothing_first():
    words = ("proposal", "approve", ZONE)
    for more, body in (
        (("--basis", "a" * 64), {"basis": "a" * 64}),
        (("--idempotency-key", "k"), {}),
    ):
        asked = Asked(200, {"status": 204})
        assert run(asked, *words, *more).exit_code == 0
        assert asked.body == body


def test_the_approval_of_a_closed_proposal_is_left_to_the_service():
    asked = Asked(200, {"now": None})
    assert run(asked, "proposal", "approve", ZONE).exit_code == 0
    assert json.loads(asked.requests[-1].content) == {}


def test_a_dry_run_says_whether_the_command_would_be_proposed():
    event = {"event_type": "RunHeld", "payload": None}
    words = ("hold-run", "--run-id", ZONE, "--reason", "x", "--dry-run", "-o", "table")
    proposed = run(Asked(200, {"would_propose": True, "events": [event]}), *words)
    assert proposed.stdout == "Nothing was written. It would propose: RunHeld\n"
    written = run(Asked(200, {"events": [event]}), *words)
    assert written.stdout == "Nothing was written. It would write: RunHeld\n"


def test_a_value_cannot_lead_out_of_its_place_in_the_path():
    asked = Asked(200, {})
    run(asked, "recipe", "get-version", ZONE, "--version", "3/../../actors?x=#")
    assert run(asked, "start-visit", "--visit-id", "../actors?x=#").exit_code == 64
    _, path, _ = request_of(catalogue()["start_visit"], {"visit_id": "../actors?x=#"})
    assert path == "/visits/..%2Factors%3Fx%3D%23/start"
    assert not asked.requests


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
def test_an_answer_that_is_no_problem_is_shown_by_its_status(body: Any):
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
def test_a_wrong_call_is_refused_before_anything_is_sent(words: list[str]):
    asked = Asked()
    result = run(asked, *words)
    assert result.exit_code == 64
    assert "Usage:" in result.stderr
    assert not asked.requests


def test_the_token_comes_from_the_environment_or_a_file(tmp_path: Path):
    asked = Asked(200, {})
    run(asked, "list-zones", BEAMKEEP_TOKEN="of-the-environment")
    assert asked.only.headers["authorization"] == "Bearer of-the-environment"
    file = tmp_path / "token"
    file.write_text("of.the.file\n")
    asked = Asked(200, {})
    run(asked, "--token-file", str(file), "list-zones", BEAMKEEP_TOKEN="of-the-environment")
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
    group = command_line()
    flags = [flag for option in group.params for flag in option.opts]
    assert "--token-file" in flags
    assert "--token" not in flags


def test_the_address_and_the_surface_can_be_chosen():
    asked = Asked(200, {})
    run(asked, "--surface-id", ZONE, "list-zones", BEAMKEEP_URL="https://b.test/")
    assert str(asked.only.url) == "https://b.test/zones"
    assert asked.only.headers["x-surface-id"] == ZONE


LISTED = Entry(
    *("list_zones", "zone", "list", "question", "GET", "/zones", "List zones."),
    columns=["zone_id", "name", "status", "created_at"],
)


def test_a_person_reads_a_table_and_nothing_that_commands_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "40")
    rows = [
        {"zone_id": ZONE, "name": "[red]Hutch\x1b[2J" + "x" * 40, "status": "Held", "size": 3},
        {"zone_id": ZONE, "name": "Lab", "status": None, "created_at": "2020-01-01T00:00:00Z"},
    ]
    show(LISTED, {"items": rows, "next_cursor": "c1"})
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].split() == ["ID", "NAME", "STATUS", "AGE"]
    assert lines[1].split()[0] == f"…{ZONE[-8:]}"
    assert "[red]Hutch\N{REPLACEMENT CHARACTER}" in lines[1]
    assert "▲ Held" in lines[1]
    assert lines[2].split()[1:3] == ["Lab", "-"]
    assert max(map(len, lines)) <= 40
    assert shown.err == "There are more: --cursor c1\n"


def test_an_object_is_shown_field_by_field(capsys: pytest.CaptureFixture[str]):
    show(LISTED, {"zone_id": ZONE, "tags": ["a"]})
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["id", ZONE],
        ["tags", "a"],
    ]


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("name", f"zone/{ZONE}\n"),
        ("yaml", f"items:\n- zone_id: {ZONE}\n  name: Hutch\nnext_cursor: null\n"),
        ("wide", f"ZONE_ID                               NAME\n{ZONE}  Hutch\n"),
        ("table", f"ID         NAME   AGE\n…{ZONE[-8:]}  Hutch  -\n"),
    ],
)
def test_an_answer_is_printed_in_the_form_asked_for(form: str, shown: str):
    asked = Asked(200, {"items": [{"zone_id": ZONE, "name": "Hutch"}], "next_cursor": None})
    assert run(asked, "zone", "list", "-o", form).stdout == shown


def test_a_change_says_what_it_did():
    def held(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(204, headers={"etag": '"4"'})

    shown = run(held, "visit", "hold", ZONE, "--reason", "beam lost", "-o", "table")
    assert shown.stdout == f"visit …{ZONE[-8:]} held (version 4)\n"


def test_a_noun_alone_shows_its_verbs():
    shown = run(None, "zone")
    assert (shown.exit_code, shown.stdout) == (64, "")
    assert shown.stderr.startswith("Usage: beamkeep zone ")
    assert shown.stderr.count("Usage:") == 1
    assert "Define a zone." in shown.stderr


def test_what_says_nothing_is_left_out(capsys: pytest.CaptureFixture[str]):
    body = {"zone_id": ZONE, "window": {"starts_at": None}, "refs": {"doi": "10/x", "raid": None}}
    show(LISTED, body)
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert shown == [["id", ZONE], ["refs", "doi 10/x"]]


def test_every_command_says_what_it_did():
    silent = [e.name for e in catalogue().values() if not e.is_question and not e.said]
    assert silent == []


def test_the_catalogue_prints_itself():
    shown = run(None, "catalogue").stdout.splitlines()
    assert len(shown) == len(CATALOGUE.named)
    words = next(line.split() for line in shown if line.startswith("define_zone "))
    assert words == ["define_zone", "zone", "define", "POST", "/zones", "create"]
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
    shown = run(asked, "--url", url, "list-zones", BEAMKEEP_TOKEN="t0k3n")
    assert (shown.exit_code, asked.requests) == (64, [])
    assert "Give an https:// address" in shown.stderr
    assert "t0k3n" not in shown.output
    shown = run(asked, "--url", url, "import", "yaml", __file__, BEAMKEEP_TOKEN="t0k3n")
    assert (shown.exit_code, asked.requests) == (64, [])


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
        shown = run(None, "--url", "http://127.0.0.1:9", "list-zones", HTTP_PROXY=address)
        assert shown.exit_code == 2
        with pytest.raises(BlockingIOError):
            proxy.accept()


# Against the real service


@pytest.fixture
def url() -> Generator[str]:
    """A service in memory, listening in a thread of its own."""
    ports, over = Queue[int](), threading.Event()

    async def serve() -> None:
        service, _ = await memory_service()
        async with listening(rest_application(service)) as port:
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
    def called(*words: str, subject: str = "ada") -> Result:
        return run(None, *words, BEAMKEEP_URL=url, BEAMKEEP_TOKEN=subject)

    actor_id = json.loads(called("register-actor", "--name", "Eve").stdout)["actor_id"]
    assert UUID(actor_id)
    changed = called("deactivate-actor", "--actor-id", actor_id, "--if-match", "1")
    assert (changed.exit_code, changed.output) == (0, "")
    shown = json.loads(called("get-actor", "--actor-id", actor_id).stdout)
    assert (shown["name"], shown["active"]) == ("Eve", False)
    before = called("get-actor", "--actor-id", actor_id, "--as-of", "1")
    assert json.loads(before.stdout)["active"] is True
    listed = json.loads(called("list-actors", "--no-active", "--limit", "5").stdout)
    assert [row["actor_id"] for row in listed["items"]] == [actor_id]
    rehearsed = called("define-zone", "--name", "Hutch", "--dry-run")
    assert json.loads(rehearsed.stdout)["events"][0]["event_type"] == "ZoneDefined"
    refused = called("deactivate-actor", "--actor-id", actor_id)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("ActorCannotDeactivateError: Only an active actor other than")
    stranger = called("list-zones", subject="stranger")
    assert (stranger.exit_code, stranger.stderr.partition(":")[0]) == (1, "UnregisteredLoginError")


def test_a_caller_without_permission_learns_what_they_may_not_see(url: str):
    def called(subject: str, *words: str) -> Result:
        return run(None, *words, "--by-name", BEAMKEEP_URL=url, BEAMKEEP_TOKEN=subject)

    zone_id = json.loads(called("ada", "zone", "define", "--name", "Hutch").stdout)["zone_id"]
    login = {"name": "Bob", "identities": [{"issuer": ISSUER, "subject": "bob"}]}
    actor = called("ada", "actor", "register", "--arguments", json.dumps(login))
    actor_id = json.loads(actor.stdout)["actor_id"]
    surface_id = seeded.SURFACES[SurfaceKind.HTTP]
    for command, says in (
        ("get_self", "You may not find zones by name."),
        ("search", "You may not see zones."),
        ("get_zone", ""),
    ):
        allowed = json.dumps(policy(command, surface_id, actor_id, command))
        assert called("ada", "policy", "define", "--arguments", allowed).exit_code == 0
        shown = called("bob", "zone", "get", "Hutch")
        if says:
            remedy = "Give the id of Hutch, or ask an administrator to permit"
            assert shown.stderr.startswith(f"UnauthorizedError: {says} {remedy}")
            assert shown.exit_code == 1
    assert json.loads(shown.stdout)["zone_id"] == zone_id
    missing = called("bob", "zone", "get", "Attic")
    assert (missing.exit_code, "No zone is called Attic." in missing.stderr) == (64, True)
