"""Messages of an MCP client, forwarded to a service line by line."""

import json
from typing import Any

import httpx2
import pytest

from beamkeep_client.mcp import Forwarder, headers_of
from beamkeep_client.synchronous.http import HttpClient

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def forwarded(answer: httpx2.Response | Exception, *lines: str) -> list[Any]:
    """What the client reads, when the service answers so."""

    def answering(_: httpx2.Request) -> httpx2.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    written: list[str] = []
    client = HttpClient("http://127.0.0.1:1", "t", transport=httpx2.MockTransport(answering))
    Forwarder(client, "/mcp", written.append).run(lines)
    return [json.loads(line) for line in written]


def request(id: int = 7, method: str = "tools/list") -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": {}})


def test_an_answer_is_handed_back_as_it_is():
    answer: Any = {"jsonrpc": "2.0", "id": 7, "result": {"tools": []}}
    assert forwarded(httpx2.Response(200, json=answer), request()) == [answer]


def test_an_error_of_the_protocol_is_handed_back_whatever_its_status():
    answer = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "No."}}
    assert forwarded(httpx2.Response(404, json=answer), request()) == [answer]


@pytest.mark.parametrize(("status", "code"), [(401, -32600), (503, -32603)])
def test_a_problem_is_the_error_of_the_call(status: int, code: int):
    problem = {"code": "AwayError", "detail": "Come back.", "status": status}
    (answer,) = forwarded(httpx2.Response(status, json=problem), request())
    assert answer["id"] == 7
    assert answer["error"] == {"code": code, "message": "AwayError: Come back.", "data": problem}


def test_a_service_that_does_not_answer_is_the_error_of_the_call():
    (answer,) = forwarded(httpx2.ConnectError("refused"), request())
    assert "does not answer" in answer["error"]["message"]


def test_a_notification_is_not_answered():
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert forwarded(httpx2.Response(202), line) == []


@pytest.mark.parametrize(("line", "code"), [("{", -32700), ("[]", -32600), ("3", -32600)])
def test_a_line_that_is_no_message_is_refused(line: str, code: int):
    (answer,) = forwarded(httpx2.Response(202), line, "\n")
    assert (answer["id"], answer["error"]["code"]) == (None, code)


def test_what_follows_an_agreement_is_sent_in_its_version():
    asked: list[httpx2.Request] = []

    def answering(sent: httpx2.Request) -> httpx2.Response:
        asked.append(sent)
        result = {"protocolVersion": "2025-06-18"}
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": result})

    client = HttpClient("http://127.0.0.1:1", "t", transport=httpx2.MockTransport(answering))
    lines = [request(1, "initialize"), request(2)]
    Forwarder(client, "/mcp", lambda _: None).run(lines)
    versions = [each.headers.get("mcp-protocol-version") for each in asked]
    assert versions == [None, "2025-06-18"]
    assert {each.headers["authorization"] for each in asked} == {"Bearer t"}


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "list_runs"}, "list_runs"),
        (
            "resources/read",
            {"uri": "beamkeep://run/Größe"},
            "=?base64?YmVhbWtlZXA6Ly9ydW4vR3LDtsOfZQ==?=",
        ),
        ("prompts/get", {"name": " x"}, "=?base64?IHg=?="),
        ("tools/list", {}, None),
    ],
)
def test_a_message_that_names_its_version_is_repeated_in_the_headers(
    method: str, params: dict[str, Any], name: str | None
):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = headers_of(message, "2025-06-18")
    assert headers["MCP-Protocol-Version"] == "2026-07-28"
    assert (headers["Mcp-Method"], headers.get("Mcp-Name")) == (method, name)
