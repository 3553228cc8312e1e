"""Which web pages may call the service from a browser."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx2
import pytest

from beamkeep.surfaces.http.openapi import HEADERS, PARAMETERS
from beamkeep.surfaces.http.origins import REQUEST_HEADERS, RESPONSE_HEADERS
from beamkeep.testing.service import memory_service
from beamkeep.testing.web import http_client, rest_application

pytestmark = pytest.mark.anyio

CONSOLE = "https://console.test"
ADA = {"authorization": "Bearer ada"}
ASKED = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
FOREIGN = [
    "https://evil.test",
    "http://console.test",
    "https://console.test:444",
    "https://console.test.evil.test",
    "https://CONSOLE.test",
    "https://console.test/",
    "null",
    "*",
    "",
]


@asynccontextmanager
async def browser(*origins: str) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of a service that lets pages of these origins call it."""
    service, _ = await memory_service()
    async with http_client(rest_application(service, cors_origins=origins)) as http:
        yield http


def granted(answer: httpx2.Response) -> dict[str, str]:
    return {n: v for n, v in answer.headers.items() if n.startswith("access-control-")}


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/zones", ADA, 200),
        ("/zones", {}, 401),
        ("/zones/7", ADA, 422),
        ("/nowhere", {}, 404),
        ("/openapi.json", {}, 200),
        ("/mcp", {}, 405),
    ],
)
async def test_a_page_of_an_allowed_origin_reads_every_answer(
    path: str, headers: dict[str, str], status: int
):
    async with browser("https://other.test", CONSOLE) as http:
        answer = await http.get(path, headers={**headers, "origin": CONSOLE})
    assert answer.status_code == status
    assert answer.headers["access-control-allow-origin"] == CONSOLE
    assert answer.headers["access-control-expose-headers"] == RESPONSE_HEADERS.decode()
    assert "Origin" in answer.headers["vary"].split(", ")
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_of_another_origin_reads_nothing(origin: str):
    async with browser(CONSOLE) as http:
        answer = await http.get("/zones", headers={**ADA, "origin": origin})
        asked = await http.options("/zones", headers={**ASKED, "origin": origin})
    assert (granted(answer), granted(asked)) == ({}, {})
    assert (answer.status_code, asked.status_code) == (200, 405)
    assert (answer.headers["vary"], asked.headers["vary"]) == ("Origin", "Origin")


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/zones", "GET, POST"), ("/zones/7", "GET"), ("/mcp", "POST"), ("/docs", "GET, HEAD")],
)
async def test_a_preflight_request_is_answered_without_a_token(path: str, methods: str):
    async with browser(CONSOLE) as http:
        answer = await http.options(path, headers={**ASKED, "origin": CONSOLE})
    assert (answer.status_code, answer.content) == (204, b"")
    assert granted(answer) == {
        "access-control-allow-origin": CONSOLE,
        "access-control-allow-methods": methods,
        "access-control-allow-headers": REQUEST_HEADERS.decode(),
        "access-control-expose-headers": RESPONSE_HEADERS.decode(),
        "access-control-max-age": "600",
    }
    assert answer.headers["vary"] == "Origin"


async def test_a_preflight_request_is_guarded_like_any_other():
    async with browser(CONSOLE) as http:
        nowhere = await http.options("/nowhere", headers={**ASKED, "origin": CONSOLE})
        evil = {**ASKED, "origin": CONSOLE, "host": "evil.test"}
        misdirected = await http.options("/zones", headers=evil)
        plain = await http.options("/zones", headers={"origin": CONSOLE})
    assert [a.status_code for a in (nowhere, misdirected, plain)] == [404, 421, 405]


async def test_without_the_setting_no_answer_says_anything_of_origins():
    async with browser() as http:
        answers = [
            await http.get("/zones", headers={**ADA, "origin": CONSOLE}),
            await http.get("/zones", headers=ADA),
            await http.options("/zones", headers={**ASKED, "origin": CONSOLE}),
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 405]
    for answer in answers:
        assert granted(answer) == {}
        assert "vary" not in answer.headers


def test_a_browser_may_send_and_read_every_header_that_is_documented():
    sent = {row["name"] for row in PARAMETERS.values() if row["in"] == "header"}
    assert sent < set(REQUEST_HEADERS.decode().split(", "))
    assert HEADERS.keys() == set(RESPONSE_HEADERS.decode().split(", "))
