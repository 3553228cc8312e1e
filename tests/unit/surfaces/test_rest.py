"""What every operation and every question does alike over HTTP."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, cast
from urllib.parse import unquote
from uuid import uuid4

import httpx2
import pytest
from structlog.testing import capture_logs
from tests.support.examples import (
    EXAMPLES,
    OUTSIDE,
    REPLIES,
    SHOWN_ONCE,
    WITHOUT_BODY,
    WITHOUT_EVENT,
)
from tests.support.prepared import Prepared
from tests.support.rest_client import RestClient, rest_client
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust.seeded import SURFACES
from beamkeep.kernel import DENIALS, Operation, Question, Route, SurfaceKind, replace
from beamkeep.runtime.store import CallContext, CallLookup
from beamkeep.surfaces.http.messages import HttpRequest
from beamkeep.surfaces.http.refusals import MethodNotAllowedError, RouteNotFoundError
from beamkeep.surfaces.http.routes import HttpResponse, HttpRoute, Router
from beamkeep.surfaces.schema import input_schema
from beamkeep.testing.web import GENEROUS, RESOURCE

pytestmark = pytest.mark.anyio

COMMANDS = selected(CATALOGUE.operations)
ROWS = [*COMMANDS, *selected(CATALOGUE.questions)]
CHANGES = [row for row in COMMANDS if not row.genesis]
ABOUT_ONE = [row for row in ROWS if row.aggregate.id_field in row.route.fields]
NOTHING = "00000000-0000-7000-8000-ffffffffffff"
MCP_SURFACE = str(SURFACES[SurfaceKind.MCP_STREAMABLE_HTTP])
PARIS = timezone(timedelta(hours=1))
# A run that starts in a campaign joins it by an event of its own.
BORN_AT_TWO = {"start_run"}
DEEP = b'{"a":' * 80 + b"1" + b"}" * 80
NO_OBJECTS = (b"{", b"[]", b'"x"', b"\xff", b'{"name": NaN}', b"[" * 100_000, DEEP)


@pytest.fixture
def rest(prepared: Prepared) -> RestClient:
    return prepared.rest


@pytest.fixture
async def own_rest() -> AsyncGenerator[RestClient]:
    """A client of a deployment that no other test has called, for tests of its counters."""
    async with rest_client() as client:
        yield client


def refused(answer: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The problem body, after checking that it is this one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert {"type", "title", "status", "detail", "code"} <= problem.keys()
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"urn:beamkeep:refusal:{code}"
    return problem


def test_every_operation_and_question_has_an_example():
    assert EXAMPLES.keys() == CATALOGUE.named.keys()


async def test_the_example_is_answered(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in ROWS:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            answer = await rest.send(row.name, arguments)
            match row:
                case Operation(genesis=True):
                    assert answer.status_code == 201
                    new_id = answer.json()[row.aggregate.id_field]
                    shown = await rest.http.get(
                        answer.headers["location"], headers={"authorization": "Bearer ada"}
                    )
                    assert shown.json()[row.aggregate.id_field] == new_id
                    version = '"2"' if row.name in BORN_AT_TWO else '"1"'
                    assert shown.headers["etag"] == answer.headers["etag"] == version
                case Operation():
                    assert answer.status_code == REPLIES.get(row.name, 204)
                    assert bool(answer.content) == (row.name in REPLIES.keys() - WITHOUT_BODY)
                    told: dict[str, Any] = answer.json() if answer.content else {}
                    shown = await rest.send(
                        f"get_{row.aggregate.noun}", arguments_of_get(row, arguments | told)
                    )
                    assert shown.headers["etag"] == answer.headers["etag"]
                    made = row.aggregate.id_field in told and answer.status_code == 201
                    assert (answer.headers["etag"] == '"1"') == made or row.name in WITHOUT_EVENT
                case Question():
                    assert answer.status_code == 200
            if isinstance(row, Operation):
                written = str(rest.store.position) if row.name not in WITHOUT_EVENT else "0-0"
                assert answer.headers["position-token"] == written
            assert answer.headers["cache-control"] == "no-store"


async def test_an_accepted_conduct_is_found_at_its_location(rest: RestClient):
    arguments = await EXAMPLES["conduct_procedure"](rest.do)
    answer = await rest.send("conduct_procedure", arguments)
    accepted = answer.json()
    assert accepted == {
        "conduct_id": accepted["conduct_id"],
        "procedure_id": arguments["procedure_id"],
        "status": "Queued",
        "acknowledged_cautions": [],
        "advisories": [],
    }
    place = f"/procedures/{arguments['procedure_id']}/conducts/{accepted['conduct_id']}"
    assert answer.headers["location"] == place
    found = (await rest.http.get(place, headers={"authorization": "Bearer ada"})).json()
    assert (found["conduct_id"], found["status"]) == (accepted["conduct_id"], "Queued")
    cancelling = await EXAMPLES["cancel_conduct"](rest.do)
    assert "location" not in (await rest.send("cancel_conduct", cancelling)).headers


def arguments_of_get(row: Operation, arguments: dict[str, Any]) -> dict[str, Any]:
    return {row.aggregate.id_field: arguments[row.aggregate.id_field]}


async def test_a_call_without_token_is_challenged(rest: RestClient, subtests: pytest.Subtests):
    before = rest.store.backup()
    for row in ROWS:
        with subtests.test(row.name):
            answer = await rest.send(row.name, anything(row), token=None)
            refused(answer, 401, "MissingTokenError")
            metadata = f'resource_metadata="{RESOURCE}/.well-known/oauth-protected-resource"'
            assert answer.headers["www-authenticate"] == f"Bearer {metadata}"
    assert rest.store.backup() == before


async def test_a_token_that_is_bad_or_of_nobody_known_is_challenged(
    rest: RestClient, subtests: pytest.Subtests
):
    before = rest.store.backup()
    for row in ROWS:
        with subtests.test(row.name):
            challenge = 'Bearer error="invalid_token", resource_'
            codes = {"forged": "InvalidTokenError", "stranger": "UnregisteredLoginError"}
            for token, code in codes.items():
                answer = await rest.send(
                    row.name, anything(row), token=token, x_surface_id="nowhere"
                )
                refused(answer, 401, code)
                assert answer.headers["www-authenticate"].startswith(challenge)
    assert rest.store.backup() == before


async def test_a_caller_without_a_policy_learns_only_that(
    rest: RestClient, subtests: pytest.Subtests
):
    before = rest.store.backup()
    for row in ROWS:
        with subtests.test(row.name):
            broken = anything(row) | dict.fromkeys(row.route.fields, "no-uuid")
            answer = await rest.send(
                row.name, broken, "bob", content=b"{", params={"odd": ["1", "2"]}
            )
            refused(answer, 403, "UnauthorizedError")
            assert "www-authenticate" not in answer.headers
    denials = rest.store.tables.pop(DENIALS.name, {})
    assert [denial.command_name for denial in denials.values()] == [row.name for row in ROWS]
    assert rest.store.backup() == before


async def test_a_wrong_surface_is_refused_before_the_policy_is_asked(
    rest: RestClient, subtests: pytest.Subtests
):
    before = rest.store.backup()
    for row in ROWS:
        with subtests.test(row.name):
            for surface in ("nowhere", str(uuid4()), "00000000-0000-7000-8000-000000000032"):
                answer = await rest.send(row.name, anything(row), "bob", x_surface_id=surface)
                refused(answer, 400, "InvalidSurfaceIdError")
    assert rest.store.backup() == before


async def test_an_unknown_field_is_refused_before_the_object_is_looked_for(
    rest: RestClient, subtests: pytest.Subtests
):
    before = rest.store.backup()
    for row in ROWS:
        with subtests.test(row.name):
            answer = await rest.send(row.name, anything(row) | {"odd": "1"})
            problem = refused(answer, 422, "MalformedRequestError")
            assert "odd" in {fault["field"] for fault in problem["errors"]}
    assert rest.store.backup() == before


async def test_an_id_in_the_path_that_is_no_uuid_is_refused(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in [row for row in ROWS if row.route.fields]:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            for field in row.route.fields:
                answer = await rest.send(row.name, arguments | {field: "x"})
                refused(answer, 422, "MalformedRequestError")


async def test_an_id_of_nothing_is_not_found(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in ABOUT_ONE:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            arguments[row.aggregate.id_field] = str(uuid4())
            answer = await rest.send(row.name, arguments, if_match='"99"')
            refused(answer, 404, row.aggregate.absent.__name__)


async def test_a_change_of_another_version_is_refused_and_writes_nothing(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in CHANGES:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            before = rest.store.position
            answer = await rest.send(row.name, arguments, if_match='"99"')
            refused(answer, 412, "PreconditionFailedError")
            assert rest.store.position == before
            shown = await rest.send(f"get_{row.aggregate.noun}", arguments_of_get(row, arguments))
            assert (await rest.send(row.name, arguments, if_match=shown.headers["etag"])).is_success


async def test_a_dry_run_says_what_would_be_written_and_writes_nothing(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in COMMANDS:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            before = rest.store.backup()
            rehearsed = await rest.send(
                row.name, arguments, params={"dry_run": "true"}, idempotency_key="once"
            )
            assert rehearsed.status_code == 200
            assert "etag" not in rehearsed.headers
            assert rest.store.backup() == before
            done = await rest.send(
                row.name, arguments, params={"dry_run": "false"}, idempotency_key="once"
            )
            assert done.is_success
            assert "idempotency-replayed" not in done.headers
            told = [event["event_type"] for event in rehearsed.json()["events"]]
            assert told == (
                [] if row.name in OUTSIDE else events_after(rest, before.position.position)
            )


def events_after(rest: RestClient, position: int) -> list[str]:
    found = [e for stream in rest.store.streams.values() for e in stream]
    found.sort(key=lambda envelope: envelope.position)
    return [e.recorded.event_type for e in found if e.position > position]


async def test_the_same_key_has_one_effect_and_one_answer(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in COMMANDS:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            first = await rest.send(row.name, arguments, idempotency_key="once")
            after = rest.store.position
            again = await rest.send(row.name, arguments, idempotency_key="once")
            assert rest.store.position == after
            assert "idempotency-replayed" not in first.headers
            assert again.headers["idempotency-replayed"] == "true"
            told = first.status_code, repeated(row, first.content)
            assert (again.status_code, again.content) == told
            assert first.headers.keys() >= {"etag", "position-token"}
            for name in ("etag", "position-token", "location"):
                assert first.headers.get(name) == again.headers.get(name), name


async def test_the_same_request_in_another_form_has_one_effect_and_one_answer(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in COMMANDS:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            first = await rest.send(row.name, arguments, idempotency_key="once")
            after, otherwise = rest.store.position, in_another_form(arguments, input_schema(row))
            again = await rest.send(row.name, otherwise, idempotency_key="once")
            told = first.status_code, repeated(row, first.content)
            assert (again.status_code, again.content) == told
            assert again.headers["idempotency-replayed"] == "true"
            assert rest.store.position == after


def repeated(row: Operation, content: bytes) -> bytes:
    """The first answer without what only the first answer shows."""
    if row.name not in SHOWN_ONCE:
        return content
    first = json.loads(content)
    assert first[SHOWN_ONCE[row.name]].startswith("whsec_")
    return json.dumps({**first, SHOWN_ONCE[row.name]: None}, separators=(",", ":")).encode()


def in_another_form(value: Any, schema: Mapping[str, Any]) -> Any:
    """The same value as another client may write it: its ids, times, numbers and their order."""
    shapes = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    known = {name: shape[name] for shape in shapes for name in shape}
    match value:
        case dict():
            members = {
                n: each for shape in shapes for n, each in shape.get("properties", {}).items()
            }
            told = reversed(cast("dict[str, Any]", value).items())
            return {name: in_another_form(each, members.get(name, {})) for name, each in told}
        case list():
            items = [in_another_form(e, known.get("items", {})) for e in cast("list[Any]", value)]
            return items[::-1] if "uniqueItems" in known else items
        case str() if known.get("format") == "uuid":
            return value.upper()
        case str() if known.get("format") == "date-time":
            return datetime.fromisoformat(value).astimezone(PARIS).isoformat()
        case int() | float() if value == int(value) and not isinstance(value, bool):
            if any(shape.get("type") == "integer" for shape in shapes):
                return value
            return int(value) if isinstance(value, float) else float(value)
        case _:
            return value


async def test_the_same_key_for_another_request_is_refused(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in COMMANDS:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            other = await EXAMPLES[row.name](prepared.do)
            if other == arguments:
                other |= {"name": f"{other['name']} 2"}
            await rest.do(row.name, arguments, idempotency_key="once")
            before = rest.store.position
            answer = await rest.send(row.name, other, idempotency_key="once")
            refused(answer, 422, "IdempotencyConflictError")
            assert rest.store.position == before


@pytest.mark.parametrize("key", ["", "with blank", "x" * 256])
async def test_a_key_that_is_not_visible_ascii_is_refused(key: str, rest: RestClient):
    answer = await rest.send("define_zone", {"name": "Hutch"}, idempotency_key=key)
    refused(answer, 422, "MalformedRequestError")


async def test_a_body_that_is_no_json_object_is_refused(
    rest: RestClient, subtests: pytest.Subtests
):
    before = rest.store.backup()
    for row in COMMANDS:
        with subtests.test(row.name):
            for content in NO_OBJECTS:
                answer = await rest.send(row.name, anything(row), content=content)
                refused(answer, 422, "MalformedRequestError")
    assert rest.store.backup() == before


async def test_a_body_that_repeats_the_path_is_refused(
    prepared: Prepared, rest: RestClient, subtests: pytest.Subtests
):
    for row in [row for row in COMMANDS if row.route.fields]:
        with subtests.test(row.name):
            arguments = await prepared.example(row.name)
            path = row.route.path.format(**arguments)
            answer = await rest.http.post(
                path, json=arguments, headers={"authorization": "Bearer ada"}
            )
            refused(answer, 422, "MalformedRequestError")


@pytest.mark.parametrize(
    "query", ["dry_run=maybe", "dry_run=", "dry_run=true&dry_run=true", "odd=1", "dry_run=%ff"]
)
async def test_a_command_takes_no_other_query_than_dry_run(query: str, rest: RestClient):
    answer = await rest.http.post(
        f"/zones?{query}", json={"name": "Hutch"}, headers={"authorization": "Bearer ada"}
    )
    refused(answer, 422, "MalformedRequestError")


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=%ff", "limit=0", "as_of=1"])
async def test_a_query_that_is_repeated_or_unreadable_is_refused(query: str, rest: RestClient):
    answer = await rest.http.get(f"/zones?{query}", headers={"authorization": "Bearer ada"})
    refused(answer, 422, "MalformedRequestError")


async def test_a_query_that_repeats_the_path_is_refused(rest: RestClient):
    arguments = await EXAMPLES["get_zone"](rest.do)
    answer = await rest.send("get_zone", arguments, params=arguments)
    refused(answer, 422, "MalformedRequestError")


async def test_an_address_names_the_methods_it_takes(rest: RestClient, subtests: pytest.Subtests):
    methods: dict[str, set[str]] = {}
    for row in CATALOGUE.named.values():
        methods.setdefault(row.route.path, set()).add(row.route.method)
    for path in sorted({row.route.path for row in ROWS}):
        with subtests.test(path):
            answer = await rest.http.request("PUT", path.replace("{", "").replace("}", ""))
            refused(answer, 405, "MethodNotAllowedError")
            assert answer.headers["allow"] == ", ".join(sorted(methods[path]))


@pytest.mark.parametrize("path", ["/", "/nowhere", "/zones/", "//zones", "/zones/1/2/3"])
async def test_an_unknown_address_is_not_found_and_never_redirected(path: str, rest: RestClient):
    refused(await rest.http.get(RESOURCE + path), 404, "RouteNotFoundError")


async def test_an_escaped_slash_stays_within_its_segment(rest: RestClient):
    refused(await rest.http.post("/visits/1%2Fstart"), 405, "MethodNotAllowedError")


async def test_a_list_continues_where_its_page_ended(rest: RestClient):
    for _ in range(3):
        await rest.do("define_zone", {"name": "Hutch"})
    token = str(rest.store.position)
    seen: list[str] = []
    page: dict[str, Any] = {"next_cursor": None}
    while page["next_cursor"] or not seen:
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
        page = await rest.do("list_zones", {"limit": "4", "min_token": token, **cursor})
        seen += [item["zone_id"] for item in page["items"]]
    assert len(seen) == len(set(seen)) == 6


async def test_an_unforeseen_error_is_reported_without_its_message_and_logged_once(
    rest: RestClient, monkeypatch: pytest.MonkeyPatch
):
    async def fails(opening: CallLookup) -> CallContext:
        raise RuntimeError("secret")

    monkeypatch.setattr(rest.store, "open", fails)
    correlation_id = str(uuid4())
    with capture_logs() as lines:
        answer = await rest.send("list_zones", {}, x_correlation_id=correlation_id)
    refused(answer, 500, "InternalError")
    assert "secret" not in answer.text
    assert answer.headers["x-correlation-id"] == correlation_id
    errors = [line for line in lines if line["log_level"] == "error"]
    assert [str(line["correlation_id"]) for line in errors] == [correlation_id]


async def test_a_call_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch):
    async with rest_client(replace(GENEROUS, deadline_seconds=0.01)) as rest:

        async def hangs(opening: CallLookup) -> CallContext:
            await asyncio.sleep(60)
            raise AssertionError

        monkeypatch.setattr(rest.store, "open", hangs)
        answer = await rest.send("list_zones", {})
    refused(answer, 503, "DeadlineExceededError")
    assert answer.headers["retry-after"] == "1"


async def test_one_line_per_call_says_what_happened_and_nothing_personal(rest: RestClient):
    with capture_logs() as lines:
        await rest.send("register_actor", {"name": "Grace", "email": "grace@lab.test"})
        await rest.send("register_actor", {"name": " "})
    assert [(line["name"], line["status"], line["outcome"]) for line in lines] == [
        ("register_actor", 201, "2xx"),
        ("register_actor", 400, "InvalidActorNameError"),
    ]
    assert not any(word in str(lines) for word in ("Grace", "grace", "ada"))


async def test_calls_are_counted_by_name_surface_and_outcome(own_rest: RestClient):
    await own_rest.do("define_zone", {"name": "Hutch"})
    await own_rest.send("define_zone", {"name": " "})
    text = (await own_rest.http.get("/metrics")).text
    for outcome in ("2xx", "InvalidZoneNameError"):
        labels = f'name="define_zone",outcome="{outcome}",surface="HTTP"'
        assert f"beamkeep_calls_total{{{labels}}} 1.0" in text
    assert 'beamkeep_call_seconds_count{name="define_zone"} 2.0' in text


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/health", "text/plain; charset=utf-8"),
        ("/ready", "text/plain; charset=utf-8"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
        ("/openapi.json", "application/json"),
        ("/docs", "text/html; charset=utf-8"),
        ("/.well-known/oauth-protected-resource", "application/json"),
        ("/.well-known/oauth-protected-resource/mcp", "application/json"),
    ],
)
async def test_a_page_is_served_to_anyone_by_get_alone(path: str, kind: str, rest: RestClient):
    answer = await rest.http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert answer.headers["x-content-type-options"] == "nosniff"
    refused(await rest.http.post(path), 405, "MethodNotAllowedError")


async def test_the_metadata_names_the_resource(rest: RestClient):
    for path in ("", "/mcp"):
        answer = await rest.http.get(f"/.well-known/oauth-protected-resource{path}")
        assert answer.json()["resource"] == RESOURCE + path


async def nothing(request: HttpRequest) -> HttpResponse:
    raise AssertionError


def getting(path: str) -> HttpRoute:
    return HttpRoute(path, Route("GET", path), nothing)


def test_a_literal_wins_over_a_placeholder():
    one, recent = getting("/zones/{zone_id}"), getting("/zones/recent")
    router = Router([one, recent])
    assert router.find("GET", b"/zones/recent") == (recent, {})
    assert router.find("GET", b"/zones/7") == (one, {"zone_id": "7"})
    with pytest.raises(RouteNotFoundError):
        router.find("GET", b"/zones")
    with pytest.raises(MethodNotAllowedError):
        router.find("POST", b"/zones/recent")


@pytest.mark.parametrize("id", [str(uuid4()), str(uuid4()).upper(), "7", "a%2Fb"])
def test_the_route_of_one_object_is_found_by_any_id(id: str):
    one, visits = getting("/zones/{zone_id}"), getting("/zones/{zone_id}/visits")
    visit = getting("/zones/{zone_id}/visits/{visit_id}")
    router, path, values = Router([one, visits, visit]), f"/zones/{id}", {"zone_id": unquote(id)}
    assert router.find("GET", path.encode()) == (one, values)
    assert router.find("GET", f"{path}/visits".encode()) == (visits, values)
    assert router.find("GET", f"{path}/visits/3".encode()) == (visit, {**values, "visit_id": "3"})
    for other in (f"{path}/", f"{path}/visits/", f"/rooms/{id}", f"{path}/other"):
        with pytest.raises(RouteNotFoundError):
            router.find("GET", other.encode())
    with pytest.raises(MethodNotAllowedError):
        router.find("POST", path.encode())


def test_one_method_and_path_has_one_route():
    with pytest.raises(ValueError, match="two routes"):
        Router([getting("/zones/{zone_id}"), getting("/zones/{id}")])


def anything(row: Operation | Question) -> dict[str, Any]:
    """Arguments that fill the path and nothing else."""
    return {field: str(uuid4()) for field in row.route.fields}
