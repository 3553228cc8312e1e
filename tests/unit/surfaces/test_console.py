"""The web console: its files, their headers, and the settings that it reads before the login."""

import gzip
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest
from tests.support.rest_client import rest_client

from beamkeep.kernel import replace
from beamkeep.surfaces.http.console import ConsoleSettings, console_routes
from beamkeep.testing.web import RESOURCE

pytestmark = pytest.mark.anyio

SETTINGS = ConsoleSettings(
    issuer="https://login.facility.test/realms/people",
    client_id="beamkeep-console",
    scope="openid offline_access",
    resource=RESOURCE,
    development=False,
    version="1.2.3",
    facility_name="Lakeside Light Source",
    timezone="Europe/Zurich",
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self' https://login.facility.test; manifest-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'"
)
PAGE, SCRIPT = b"<!doctype html><title>Beamkeep</title>", b"export const answer = 42\n" * 9
HASHED = "assets/index-B7x2kQ.js"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_bytes(PAGE)
    (tmp_path / "favicon.svg").write_bytes(b"<svg/>")
    (tmp_path / HASHED).write_bytes(SCRIPT)
    (tmp_path / f"{HASHED}.gz").write_bytes(gzip.compress(SCRIPT))
    return tmp_path


@pytest.fixture
async def http(build: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    async with rest_client(routes=[*console_routes(SETTINGS, build)]) as client:
        yield client.http


@pytest.fixture
async def without_build(tmp_path: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    async with rest_client(routes=[*console_routes(SETTINGS, tmp_path / "absent")]) as client:
        yield client.http


async def test_the_settings_of_the_login_need_no_token(http: httpx2.AsyncClient):
    answer = await http.get("/console/settings.json")
    assert answer.json() == {
        "issuer": "https://login.facility.test/realms/people",
        "client_id": "beamkeep-console",
        "scope": "openid offline_access",
        "resource": RESOURCE,
        "development": False,
        "version": "1.2.3",
        "facility_name": "Lakeside Light Source",
        "timezone": "Europe/Zurich",
    }
    assert answer.headers["cache-control"] == "no-store"


async def test_the_settings_are_answered_without_a_build(without_build: httpx2.AsyncClient):
    assert (await without_build.get("/console/settings.json")).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/console/",
        "/console/index.html",
        "/console/runs",
        "/console/runs/",
        "/console/b/019a0000-0000-7000-8000-000000000001",
        "/console/a/b/c/d/e?as_of=2026-11-17T08:22:10Z",
        "/console/%2e%2e/settings.py",
    ],
)
async def test_every_path_without_a_file_answers_the_page(path: str, http: httpx2.AsyncClient):
    answer = await http.get(path)
    assert (answer.status_code, answer.content) == (200, PAGE)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/console/", "/console/favicon.svg", f"/console/{HASHED}"])
async def test_every_file_has_the_strict_headers(path: str, http: httpx2.AsyncClient):
    headers = (await http.get(path)).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"


async def test_without_a_provider_the_page_calls_the_service_alone(build: Path):
    alone = replace(SETTINGS, issuer=None)
    async with rest_client(routes=[*console_routes(alone, build)]) as client:
        policy = (await client.http.get("/console/")).headers["content-security-policy"]
    assert "connect-src 'self';" in policy


async def test_a_hashed_asset_is_cached_for_ever(http: httpx2.AsyncClient):
    answer = await http.get(f"/console/{HASHED}")
    assert answer.content == SCRIPT
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


async def test_an_asset_of_another_version_is_not_found(http: httpx2.AsyncClient):
    answer = await http.get("/console/assets/index-older.js")
    assert (answer.status_code, answer.json()["code"]) == (404, "RouteNotFoundError")


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br", "gzip"),
        ("br;q=1.0, GZIP;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("br", None),
        ("", None),
    ],
)
async def test_the_compressed_copy_is_sent_to_clients_that_accept_it(
    accepted: str, encoding: str | None, http: httpx2.AsyncClient
):
    answer = await http.get(f"/console/{HASHED}", headers={"accept-encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "accept-encoding"
    assert answer.content == SCRIPT


@pytest.mark.parametrize("path", ["/", "/console"])
async def test_the_address_of_the_service_leads_to_the_console(path: str, http: httpx2.AsyncClient):
    answer = await http.get(path)
    assert (answer.status_code, answer.headers["location"]) == (307, "/console/")


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/runs/7"])
async def test_without_a_build_the_answer_says_how_to_get_one(
    path: str, without_build: httpx2.AsyncClient
):
    answer = await without_build.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "ConsoleNotBuiltError")
    assert "npm run build" in answer.json()["detail"]


async def test_without_a_build_the_address_of_the_service_leads_nowhere(
    without_build: httpx2.AsyncClient,
):
    assert (await without_build.get("/")).status_code == 404


async def test_the_console_does_not_hide_other_addresses(http: httpx2.AsyncClient):
    assert (await http.get("/health")).text == "alive"
    assert (await http.get("/nowhere/at/all")).status_code == 404
    assert (await http.post("/console/runs")).status_code == 405
