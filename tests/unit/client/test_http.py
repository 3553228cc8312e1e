"""The HTTP core of the command line and the recorder: what is sent, retried and reported."""

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from beamkeep_client import http
from beamkeep_client.http import ServiceError, read_token
from beamkeep_client.synchronous.http import HttpClient

URL = "https://lab.test"
BUSY = httpx2.Response(429, headers={"Retry-After": "0"}, json={"code": "TooManyRequestsError"})

type Outcome = httpx2.Response | Exception


class Script:
    """A service whose answers are given beforehand, and the requests it received."""

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = iter(outcomes)
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        outcome = next(self._outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def client(script: Script, token: str | Callable[[], str] | None = None) -> HttpClient:
    return HttpClient(URL, token, transport=httpx2.MockTransport(script))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSE_SECONDS", 0.0)


@pytest.mark.parametrize(
    "failure",
    [
        BUSY,
        httpx2.Response(502),
        httpx2.Response(409, json={"code": "IdempotencyInFlightError"}),
        httpx2.ReadError("reset"),
        httpx2.ReadTimeout("late"),
        httpx2.RemoteProtocolError("disconnected"),
    ],
    ids=repr,
)
def test_a_lost_answer_is_retried_with_the_same_key_and_body(failure: Outcome):
    script = Script(failure, failure, httpx2.Response(201, json={"zone_id": "z"}))
    answer = client(script).request(
        "POST", "/zones", json={"name": "Hutch"}, idempotency_key="k1", attempts=3
    )
    assert answer.json() == {"zone_id": "z"}
    sent = [(each.headers["Idempotency-Key"], each.content) for each in script.requests]
    assert sent == [("k1", b'{"name":"Hutch"}')] * 3


@pytest.mark.parametrize(
    "failure",
    [
        httpx2.Response(409, json={"code": "VisitCannotStartError", "detail": "No."}),
        httpx2.Response(500, json={"code": "InternalError"}),
        httpx2.ConnectError("refused"),
        httpx2.LocalProtocolError("header"),
    ],
    ids=repr,
)
def test_a_refusal_and_a_service_that_is_not_there_are_not_retried(failure: Outcome):
    script = Script(failure)
    with pytest.raises(ServiceError) as raised:
        client(script).request("GET", "/zones", attempts=3)
    assert (len(script.requests), raised.value.is_transient) == (1, False)


def test_the_last_failure_is_raised_when_all_attempts_are_used():
    script = Script(httpx2.ReadError("reset"), BUSY)
    with pytest.raises(ServiceError, match="TooManyRequestsError"):
        client(script).request("GET", "/zones", attempts=2)


def test_a_call_is_made_once_unless_more_attempts_are_given():
    script = Script(BUSY)
    with pytest.raises(ServiceError):
        client(script).request("POST", "/zones", idempotency_key="k1")


def test_a_problem_body_is_an_error_with_its_code_and_detail():
    problem = {"code": "TooManyRequestsError", "detail": "Slow down.", "status": 429}
    script = Script(httpx2.Response(429, headers={"Retry-After": "7"}, json=problem))
    with pytest.raises(ServiceError) as raised:
        client(script).request("GET", "/zones")
    error = raised.value
    assert (error.status, error.code, error.detail) == (429, "TooManyRequestsError", "Slow down.")
    assert (error.retry_after, error.is_transient) == (7.0, True)
    assert error.problem == {"path": "/zones", **problem}
    assert str(error) == "TooManyRequestsError: Slow down."


@pytest.mark.parametrize("after", ["", "-1", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_time_to_wait_that_is_no_number_of_seconds_is_ignored(after: str):
    script = Script(httpx2.Response(503, headers={"Retry-After": after}))
    with pytest.raises(ServiceError) as raised:
        client(script).request("GET", "/zones")
    assert raised.value.retry_after is None


@pytest.mark.parametrize("content", [b"<h1>Log in</h1>", b"[]", b"\xff", b"7"])
def test_an_answer_of_somebody_else_is_no_answer(content: bytes):
    with pytest.raises(ServiceError, match="is not from Beamkeep") as raised:
        client(Script(httpx2.Response(200, content=content))).request("GET", "/zones")
    assert (raised.value.status, raised.value.code) == (None, None)


def test_every_call_says_who_calls():
    script = Script(httpx2.Response(204))
    client(script, "t0k3n").request("POST", "/visits/v/start", if_match=3)
    (request,) = script.requests
    assert request.headers["User-Agent"].startswith("beamkeep-client/")
    assert request.headers["Authorization"] == "Bearer t0k3n"
    assert request.headers["If-Match"] == '"3"'


@pytest.mark.parametrize("token", ["geheimé", "gehe im", "gehe\nim", ""])
def test_a_malformed_token_is_refused_and_not_quoted(token: str):
    with pytest.raises(ValueError, match="Malformed access token") as refused:
        client(Script(), token)
    assert "gehe" not in str(refused.value)
    with pytest.raises(ServiceError, match="Malformed access token"):
        client(Script(), lambda: token).request("GET", "/zones")


def test_an_error_while_a_token_is_fetched_is_not_quoted():
    def fails() -> str:
        raise ValueError("Bearer geheim")

    with pytest.raises(ServiceError, match=r"^No access token: ValueError$") as raised:
        client(Script(), fails).request("GET", "/zones")
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("url", ["ftp://lab.test", "lab.test:8000", "https://", "", "//lab.test"])
def test_what_is_no_http_address_is_refused(url: str):
    with pytest.raises(ValueError, match="Give an https:// address"):
        HttpClient(url, None)


def test_the_token_of_a_file_is_read_before_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BEAMKEEP_TOKEN", " of-the-environment ")
    (tmp_path / "token").write_text("of-the-file\n")
    assert read_token(tmp_path / "token") == "of-the-file"
    assert read_token() == "of-the-environment"
    monkeypatch.setenv("BEAMKEEP_TOKEN", " ")
    assert read_token() is None
