"""The Python client: every operation as a method, answers as objects, refusals as exceptions."""

import copy
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import httpx2
import pytest

from beamkeep_client import (
    AmbiguousNameError,
    Answer,
    AsyncBeamkeep,
    Beamkeep,
    Refused,
    ServiceError,
    http,
    times,
)
from beamkeep_client.catalogue import Entry, catalogue

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
URL = "http://127.0.0.1:1"
ID, OTHER = str(uuid4()), str(uuid4())
FOUND = {
    "Fly scan": [{"id": ID, "name": "Fly scan", "kind": "Plan"}],
    "Scan": [
        {"id": ID, "name": "Scan", "kind": "Plan"},
        {"id": OTHER, "name": "scan", "kind": "Plan"},
    ],
    "Fly": [{"id": ID, "name": "Fly scan", "kind": "Plan"}],
}


class Service:
    """Answers searches by the table above, and everything else by one answer after another."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self._answers, self.asked = list(answers), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/search":
            hits = FOUND.get(request.url.params["q"], [])
            return httpx2.Response(200, json={"items": hits})
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def client(self) -> Beamkeep:
        return Beamkeep(URL, "t", transport=httpx2.MockTransport(self))

    @property
    def asynchronous(self) -> AsyncBeamkeep:
        return AsyncBeamkeep(URL, "t", transport=httpx2.MockTransport(self))


def methods_of(client: Beamkeep | AsyncBeamkeep) -> Mapping[str, Callable[..., Any]]:
    """The methods of a client by the words of the command line."""
    nouns = {"": client, **{name: getattr(client, name) for name in dir(client)}}
    return {
        f"{noun} {name}".strip(" _"): getattr(verbs, name)
        for noun, verbs in nouns.items()
        for name in dir(verbs)
        if not name.startswith("_") and inspect.isroutine(getattr(verbs, name))
    }


def called(entry: Entry) -> str:
    """How the method of an operation is called."""
    if entry.name == "list_events":
        return "events list"
    noun, verb = (each.replace("-", "_") for each in (entry.noun, entry.verb))
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{plural} {verb}" if noun else verb


async def test_every_operation_is_a_method_of_both_clients_with_the_same_parameters():
    async with Service().asynchronous as client:
        waiting = methods_of(client)
    with Service().client as client:
        methods = methods_of(client)
    assert methods.keys() == waiting.keys()
    for entry in catalogue().values():
        method, name = methods[called(entry)], entry.name
        parameters = inspect.signature(method).parameters
        assert inspect.signature(waiting[called(entry)]).parameters == parameters, name
        assert (method.__doc__ or "").startswith(entry.doc.splitlines()[0]), name
        options = [] if entry.is_question else OPTIONS
        options = [*options, "if_match"] if entry.kind == "change" else options
        assert [*parameters][len(entry.fields) :] == options, name


OPTIONS = ["dry_run", "note", "idempotency_key"]


async def test_a_command_is_rehearsed_proposed_and_repeated():
    body = {"events": [{"event_type": "RunHeld"}]}
    service = Service(httpx2.Response(200, json=body), httpx2.Response(200, json=body))
    options: Mapping[str, Any] = {
        "dry_run": True,
        "if_match": 3,
        "note": "Beam is lost — déjà vu",
        "idempotency_key": "k1",
    }
    with service.client as client:
        rehearsed = client.runs.hold(ID, reason="Beam lost", **options)
    async with service.asynchronous as client:
        assert await client.runs.hold(ID, reason="Beam lost", **options) == rehearsed
    assert [event.event_type for event in rehearsed.events] == ["RunHeld"]
    for asked in service.asked:
        assert asked.url.params["dry_run"] == "true"
        assert asked.headers["if-match"] == '"3"'
        assert asked.headers["idempotency-key"] == "k1"
        assert unquote(asked.headers["proposal-note"]) == "Beam is lost — déjà vu"
        assert json.loads(asked.content) == {"reason": "Beam lost"}


def test_a_run_is_started_by_names_and_its_answer_has_attributes():
    answer = {"run_id": OTHER, "cautions": [{"text": "Hot"}]}
    service = Service(httpx2.Response(201, json=answer, headers={"etag": '"1"'}))
    run = service.client.runs.start(name="Foam 23", plan="Fly scan")
    (asked,) = service.asked
    assert json.loads(asked.content) == {"name": "Foam 23", "plan_id": ID}
    assert asked.headers["idempotency-key"]
    assert (run.run_id, run.version) == (OTHER, 1)
    assert [caution.text for caution in run.cautions] == ["Hot"]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    with pytest.raises(AttributeError, match="There are: run_id, cautions"):
        run.colour  # noqa: B018


def test_a_name_that_fits_no_object_or_several_is_refused_with_the_candidates():
    client = Service(caller("get_plan")).client
    with pytest.raises(AmbiguousNameError, match="No plan is called Nothing"):
        client.plans.readiness("Nothing")
    with pytest.raises(AmbiguousNameError, match=f"Several fit.*\n.*{ID[-8:]}.*\n.*{OTHER[-8:]}"):
        client.plans.readiness("Scan")
    with pytest.raises(AmbiguousNameError, match="These are similar"):
        client.plans.readiness("Fly")


def caller(*permitted: str, own_only: Sequence[str] = ()) -> httpx2.Response:
    """The answer to the question who calls."""
    body = {"permitted_commands": permitted, "own_only": own_only}
    return httpx2.Response(200, json=body)


def unauthorized() -> httpx2.Response:
    detail = "Write to the control room."
    return httpx2.Response(403, json={"code": "UnauthorizedError", "detail": detail})


REMEDY = "Give the id of Nothing, or ask an administrator to permit"
REFUSALS: Mapping[str, tuple[Callable[[], httpx2.Response], type[Exception], str]] = {
    "no plan is shown": (
        partial(caller, "search"),
        Refused,
        f"You may not see plans. {REMEDY} get_plan.",
    ),
    "own plans are shown": (
        partial(caller, "get_plan", own_only=["get_plan"]),
        AmbiguousNameError,
        "No plan that you created is called Nothing. You may not see other plans.",
    ),
    "the caller is not known": (
        unauthorized,
        AmbiguousNameError,
        "No plan that you may see is called Nothing.",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_caller_without_permission_does_not_learn_that_no_plan_has_a_name(case: str):
    answer, refused, sentence = REFUSALS[case]
    service = Service(answer(), answer())
    with pytest.raises(refused, match=sentence):
        service.client.plans.readiness("Nothing")
    async with service.asynchronous as client:
        with pytest.raises(refused, match=sentence):
            await client.plans.readiness("Nothing")
    assert [each.url.path for each in service.asked] == ["/self", "/self"]


async def test_a_caller_who_may_not_search_is_asked_for_the_id():
    def answering(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/search"
        return unauthorized()

    sentence = f"You may not find plans by name. {REMEDY} search. Write to the control room."
    transport = httpx2.MockTransport(answering)
    with pytest.raises(Refused, match=sentence):
        Beamkeep(URL, "t", transport=transport).plans.readiness("Nothing")
    async with AsyncBeamkeep(URL, "t", transport=transport) as client:
        with pytest.raises(Refused, match=sentence):
            await client.plans.readiness("Nothing")


async def test_another_refusal_of_a_search_is_raised_as_it_is():
    refusal = httpx2.Response(401, json={"code": "UnauthenticatedError", "detail": "Log in."})

    def refusing(request: httpx2.Request) -> httpx2.Response:
        is_early = request.url.path == "/search" and request.url.params["q"] == "Nothing"
        return httpx2.Response(200, json={"items": []}) if is_early else refusal

    transport = httpx2.MockTransport(refusing)
    with Beamkeep(URL, "t", transport=transport) as client:
        for name in ("Fly scan", "Nothing"):
            with pytest.raises(Refused, match="UnauthenticatedError: Log in"):
                client.plans.readiness(name)


def test_a_plan_and_a_subject_may_have_one_name():
    found = {"Plan": ID, "Subject": OTHER}
    asked: list[httpx2.Request] = []

    def answering(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/search":
            kind = request.url.params["kind"]
            hit = {"id": found[kind], "name": "Foam", "kind": kind}
            return httpx2.Response(200, json={"items": [hit]})
        asked.append(request)
        return httpx2.Response(201, json={"run_id": ID})

    client = Beamkeep(URL, "t", transport=httpx2.MockTransport(answering))
    client.runs.start(name="Foam", plan="Foam", subject="Foam")
    assert json.loads(asked[0].content) == {"name": "Foam", "plan_id": ID, "subject_id": OTHER}


def asset_service(*identifiers: str) -> Beamkeep:
    """A service whose search finds two assets, of which the first has these identifiers."""
    values = {ID: identifiers, OTHER: ("TOMO:ROT:CENTER",)}

    def answering(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/search":
            hits = [{"id": id, "name": f"Axis {n}"} for n, id in enumerate(values)]
            return httpx2.Response(200, json={"items": hits})
        id = request.url.path.rpartition("/")[2]
        several = [{"kind": "EPICS_PV", "value": value} for value in values[id]]
        return httpx2.Response(200, json={"asset_id": id, "alternate_identifiers": several})

    return Beamkeep(URL, "t", transport=httpx2.MockTransport(answering))


def test_an_asset_is_found_by_its_process_variable():
    assert asset_service("TOMO:ROT").assets.get("TOMO:ROT").asset_id == ID
    with pytest.raises(AmbiguousNameError, match="These are similar"):
        asset_service("TOMO:ROT:ANGLE").assets.get("TOMO:ROT")
    with pytest.raises(AmbiguousNameError, match="Several fit"):
        asset_service("TOMO:ROT:CENTER").assets.get("TOMO:ROT:CENTER")


def test_a_list_is_read_page_by_page():
    pages = [
        httpx2.Response(200, json={"items": [{"name": "A"}], "next_cursor": "c1"}),
        httpx2.Response(200, json={"items": [{"name": "B"}], "next_cursor": None}),
    ]
    service = Service(*pages)
    rows = service.client.runs.list(status=["Held", "Running"])
    assert not service.asked
    assert [row.name for row in rows] == ["A", "B"]
    assert [str(each.url.params) for each in service.asked] == [
        "limit=100&status=Held&status=Running",
        "limit=100&status=Held&status=Running&cursor=c1",
    ]


def test_a_refusal_is_an_exception_that_says_what_clears_it():
    problem = {
        "code": "RunSupplyUnavailableError",
        "detail": "No beam.",
        "facts": [{"name": "Ring beam", "state": "Unavailable"}],
        "cleared_by": ["restore_supply"],
    }
    with pytest.raises(Refused, match="No beam") as refused:
        Service(httpx2.Response(409, json=problem)).client.runs.start(name="x", plan=ID)
    assert (refused.value.code, refused.value.status) == ("RunSupplyUnavailableError", 409)
    assert refused.value.facts[0].state == "Unavailable"
    assert refused.value.cleared_by == ["restore_supply"]


def test_a_lost_answer_is_asked_for_again_with_the_same_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http, "PAUSE_SECONDS", 0.0)
    service = Service(httpx2.ReadError("cut"), httpx2.Response(201, json={"zone_id": ID}))
    assert service.client.zones.define(name="Hutch").zone_id == ID
    first, second = service.asked
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_a_wrong_argument_is_refused_before_anything_is_sent():
    service = Service()
    client: Any = service.client
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        client.runs.start(name="x", plan=ID, colour="red")
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'plan'"):
        client.runs.start(name="x")
    assert not service.asked


def test_a_notebook_shows_tables_and_no_markup_of_a_name():
    rows = {"items": [{"run_id": ID, "name": "<b>", "status": "Held"}], "next_cursor": None}
    client = Service(httpx2.Response(200, json=rows)).client
    shown = client.runs.list()._repr_html_()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    assert ">&lt;b&gt;</td>" in shown
    assert ">▲ Held</td>" in shown
    assert "<b>" not in shown


def test_a_notebook_shows_the_names_of_objects():
    row = {"run_id": ID, "name": "Foam 23", "status": "Held", "plan_id": OTHER}
    names = {ID: {"name": "Foam 23"}, OTHER: {"name": "Fly scan"}}
    page = {"items": [row], "names": names, "next_cursor": None}
    service = Service(httpx2.Response(200, json=page))
    shown = service.client.runs.list()._repr_html_()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    assert ">Fly scan</td>" in shown
    assert f">…{ID[-8:]}</td>" in shown
    assert service.asked[0].url.params["names"] == "true"


def test_questions_without_a_noun_are_methods_of_the_client():
    service = Service(httpx2.Response(200, json={"name": "Ada", "permitted_commands": []}))
    assert service.client.whoami().name == "Ada"
    assert service.asked[0].url.path == "/self"


def test_a_time_may_be_given_as_people_write_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(times, "now", lambda: datetime(2030, 1, 31, 12, tzinfo=UTC))
    service = Service(httpx2.Response(200, json={"items": [], "next_cursor": None}))
    assert not list(service.client.runs.list(created_after="-12h"))
    asked = service.asked[0].url.params["created_after"]
    assert datetime.fromisoformat(asked) == datetime(2030, 1, 31, tzinfo=UTC)


EVENT = {"type": "beamkeep.RunHeld", "subject": ID, "data": {"reason": "Beam lost"}}


def test_events_that_happened_are_read_page_by_page():
    pages = [
        httpx2.Response(200, json={"items": [EVENT], "next_cursor": "c1", "more": True}),
        httpx2.Response(200, json={"items": [EVENT], "next_cursor": "c2", "more": False}),
    ]
    service = Service(*pages)
    found = list(service.client.events.list(types=["RunHeld"]))
    assert [event.data.reason for event in found] == ["Beam lost"] * 2
    assert [each.url.params.get("after") for each in service.asked] == [None, "c1"]
    assert service.asked[0].url.params.get_list("type") == ["RunHeld"]
    client: Any = service.client
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        list(client.events.list(colour="red"))


def test_events_are_followed_until_the_service_refuses_them():
    sent = f"id: c1\nevent: event\ndata: {json.dumps(EVENT)}\n\n"
    ended = 'event: end\ndata: {"reason": "permission"}\n\n'
    headers = {"content-type": "text/event-stream"}
    service = Service(httpx2.Response(200, headers=headers, text=sent + ended))
    followed = service.client.events.follow(types=["RunHeld"])
    assert next(followed).subject == ID
    with pytest.raises(ServiceError, match="no longer permitted"):
        next(followed)


async def test_events_and_search_are_in_both_clients():
    sent = f"id: c1\nevent: event\ndata: {json.dumps(EVENT)}\n\n"
    page = {"items": [EVENT], "next_cursor": "c1", "more": False}
    answers = [httpx2.Response(200, text=each) for each in (json.dumps(page), sent) * 2]
    service = Service(*answers)
    with service.client as client:
        assert [hit.id for hit in client.search("Fly scan", kind=["Plan"])] == [ID]
        assert [event.subject for event in client.events.list(types=["RunHeld"])] == [ID]
        assert next(iter(client.events.follow(types=["RunHeld"]))).subject == ID
    async with service.asynchronous as client:
        assert [hit.id for hit in await client.search("Fly scan", kind=["Plan"])] == [ID]
        assert [event.subject async for event in client.events.list(types=["RunHeld"])] == [ID]
        async for event in client.events.follow(types=["RunHeld"]):
            assert event.subject == ID
            break
    assert [each.url.params["type"] for each in service.asked] == ["RunHeld"] * 4


def test_an_answer_is_a_dictionary_whose_fields_are_attributes():
    body = {"run_id": ID, "items": [{"keys": 1}], "note": None, "_note": "x"}
    answer: Any = Answer(body, 4)
    assert (answer["run_id"], answer.run_id, answer.version) == (ID, ID, 4)
    assert answer.items == [{"keys": 1}]
    assert answer.items[0].keys == 1
    assert json.loads(json.dumps(Answer({"a": [1]}))) == {"a": [1]}
    assert repr(answer).startswith(f"Answer(run_id='{ID}', ")
    assert repr(answer).endswith(", version=4)")
    assert {"run_id", "version", "to_dict"} <= {*dir(answer)}
    again = copy.deepcopy(answer)
    assert (again, again.version, type(again)) == (answer, 4, Answer)


def test_a_shell_shows_what_the_client_and_its_answers_are():
    client = Service(httpx2.Response(200, json={"run_id": ID})).client
    assert repr(client) == f"Beamkeep('{URL}')"
    assert repr(client.zones) == "<ZoneVerbs: define, get, history, list>"
    assert repr(client.runs.list(status=["Held"])).startswith("<list_runs(status=['Held']):")
    assert repr(client.runs.get(ID)) == f"GetRunAnswer(run_id='{ID}')"
    assert "reason" in str(inspect.signature(client.runs.hold))


async def test_the_asynchronous_client_does_the_same():
    service = Service(
        httpx2.Response(200, json={"items": [{"name": "A"}], "next_cursor": None}),
        httpx2.Response(204, headers={"etag": '"4"'}),
    )
    async with service.asynchronous as client:
        assert [row.name async for row in client.runs.list()] == ["A"]
        assert (await client.runs.hold(ID, reason="Beam lost")).version == 4


def test_the_client_imports_nothing_of_the_server():
    code = "import sys, beamkeep_client.cli; beamkeep_client.Beamkeep; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(ran.stdout.split())
    assert "beamkeep_client.http" in loaded
    server = ("beamkeep.", "pydantic", "asyncpg", "starlette", "uvicorn", "mcp")
    unwanted = (*server, "numpy", "pandas", "polars")
    assert not [name for name in loaded if name == "beamkeep" or name.startswith(unwanted)]
