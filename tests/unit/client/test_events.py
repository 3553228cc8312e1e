"""Events at a terminal: one line each, and on after a lost connection."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from beamkeep_client import events, times
from beamkeep_client.cli import command_line
from beamkeep_client.synchronous import events as stream_of_events

ID = "01a1e349-4fcd-7715-8329-d2677b206f6a"
SSE = {"content-type": "text/event-stream"}


def event(number: int, **data: Any) -> dict[str, Any]:
    return {
        "type": "beamkeep.RunHeld",
        "time": f"2030-01-31T07:30:0{number}Z",
        "streamtype": "Run",
        "subject": ID,
        "streamid": ID,
        "data": data,
    }


def sent(kind: str, data: dict[str, Any], id: str = "") -> str:
    return (f"id: {id}\n" if id else "") + f"event: {kind}\ndata: {json.dumps(data)}\n\n"


def stream(*parts: str) -> httpx2.Response:
    return httpx2.Response(200, headers=SSE, text="retry: 2000\n\n" + "".join(parts))


class Scripted:
    """A service that gives these answers in turn, and remembers what it was asked."""

    def __init__(self, *answers: httpx2.Response | Exception) -> None:
        self._answers, self.asked = list(answers), list[httpx2.Request]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_of_events, "PAUSE_SECONDS", 0)


def run(service: Scripted, *arguments: str) -> Result:
    transport, words = httpx2.MockTransport(service), ["events", *arguments]
    return CliRunner().invoke(command_line(), words, env={"BEAMKEEP_TOKEN": "t"}, obj=transport)


def page(items: Sequence[dict[str, Any]], more: bool) -> httpx2.Response:
    return httpx2.Response(200, json={"items": items, "next_cursor": "c1", "more": more})


REVOKED = sent("end", {"reason": "permission"})


def test_an_event_is_one_line_with_its_reason():
    service = Scripted(page([event(1, reason="Beam lost\x1b[2J")], more=False))
    found = run(service, "--type", "RunHeld", "--type", "RunResumed")
    assert found.exit_code == 0
    assert found.stdout == f"2030-01-31T07:30:01Z  RunHeld  Run  {ID}  Beam lost�[2J\n"
    assert service.asked[0].url.params.get_list("type") == ["RunHeld", "RunResumed"]
    assert "text/event-stream" not in service.asked[0].headers["accept"]


def test_at_a_terminal_an_event_names_its_object_and_fits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(events, "now", lambda: datetime(2030, 1, 31, 9, tzinfo=UTC))
    held = event(1, reason="Beam lost")
    named = {"subject": "Foam 23"}
    assert events.short_line(held | named) == (
        "07:30:01  RunHeld                 Foam 23  Beam lost"
    )
    assert f"…{ID[-8:]}" in events.short_line(held)
    long = events.short_line(event(1, reason="x" * 100) | named)
    assert (len(long), long[-1]) == (80, "…")
    started = event(1, name="Foam 23")
    assert events.short_line(started | named).count("Foam 23") == 1
    monkeypatch.setattr(events, "now", lambda: datetime(2030, 2, 1, 9, tzinfo=UTC))
    assert events.short_line(held).startswith("2030-01-31 07:30  RunHeld")


def test_all_pages_are_read():
    service = Scripted(page([event(1)], more=True), page([event(2)], more=False))
    found = run(service, "--json")
    assert [json.loads(line) for line in found.stdout.splitlines()] == [event(1), event(2)]
    assert [asked.url.params.get("after") for asked in service.asked] == [None, "c1"]


def test_what_happens_is_printed_until_the_service_ends_it():
    service = Scripted(stream(sent("beat", {}, "c0"), sent("event", event(1), "c1"), REVOKED))
    found = run(service, "--follow", "--json")
    assert [json.loads(line) for line in found.stdout.splitlines()] == [event(1)]
    assert found.exit_code == 1
    assert "no longer permitted" in found.stderr
    assert service.asked[0].headers["accept"] == "text/event-stream"


def test_a_stream_that_was_lost_continues_after_the_last_id():
    service = Scripted(
        stream(sent("event", event(1), "c1"), sent("beat", {}, "c2")),
        httpx2.ConnectError("refused"),
        stream(sent("end", {"reason": "restart"})),
        httpx2.Response(503, json={"code": "StoreUnavailableError", "detail": "Away."}),
        stream(sent("event", event(2), "c3"), REVOKED),
    )
    found = run(service, "--follow")
    assert [line.split()[0] for line in found.stdout.splitlines()] == [
        "2030-01-31T07:30:01Z",
        "2030-01-31T07:30:02Z",
    ]
    assert [asked.headers.get("last-event-id") for asked in service.asked] == [None, *["c2"] * 4]


@pytest.mark.parametrize("follow", [["--follow"], []])
def test_a_refusal_is_said_and_ends_it(follow: list[str]):
    problem = {"code": "UnauthorizedError", "detail": "You are not permitted."}
    found = run(Scripted(httpx2.Response(403, json=problem)), *follow)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "UnauthorizedError: You are not permitted." in found.stderr


def test_a_service_that_was_never_reached_is_said_at_once():
    found = run(Scripted(httpx2.ConnectError("refused")), "--follow")
    assert found.exit_code == 2
    assert "does not answer" in found.stderr


def test_a_time_may_be_given_as_so_long_ago(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(times, "now", lambda: datetime(2030, 1, 31, 7, 30, tzinfo=UTC))
    service = Scripted(page([], more=False))
    assert run(service, "--since", "2h").exit_code == 0
    assert service.asked[0].url.params["since"] == "2030-01-31T05:30:00+00:00"
