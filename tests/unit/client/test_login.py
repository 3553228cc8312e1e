"""Logging in at a terminal, against a real identity provider."""

import json
import re
import time
from collections.abc import Callable, Iterator
from multiprocessing.pool import ThreadPool
from typing import Any

import click
import httpx2
import pytest
from click.testing import CliRunner
from tests.support.oidc import AUDIENCE, OidcProvider, oidc_provider

from beamkeep_client import logins
from beamkeep_client.cli import command_line
from beamkeep_client.login import device_login
from beamkeep_client.logins import Login, LoginError, Provider, store, stored, token_of

SERVICE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    with oidc_provider() as provider:
        yield provider


class ServiceBefore(httpx2.BaseTransport):
    """The document of a service; everything else goes to the provider."""

    def __init__(self, issuer: str, **changes: Any) -> None:
        self._document = {
            "resource": AUDIENCE,
            "authorization_servers": [issuer],
            "beamkeep_client_id": "beamkeep-cli",
        } | changes

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if str(request.url).startswith(SERVICE):
            return httpx2.Response(200, json=self._document)
        with httpx2.Client(trust_env=False) as to:
            answer = to.request(
                request.method, request.url, content=request.read(), headers=request.headers
            )
        return httpx2.Response(answer.status_code, content=answer.content)


def approving(provider: OidcProvider) -> Callable[[str], None]:
    """Somebody who opens the address that the terminal shows."""

    def tell(text: str) -> None:
        if text.startswith("or open "):
            provider.approve(text.removeprefix("or open "))

    return tell


def at_once(_: float) -> None: ...


def logged_in(provider: OidcProvider) -> Login:
    service = Provider(ServiceBefore(provider.issuer))
    return device_login(SERVICE, service, approving(provider), at_once)


def claims(token: str) -> dict[str, Any]:
    import base64

    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


def test_a_person_logs_in_with_a_code(provider: OidcProvider):
    found = logged_in(provider)
    said = claims(found.access_token)
    assert (said["sub"], said["aud"], said["iss"]) == ("lise", AUDIENCE, provider.issuer)
    assert found.refresh_token
    assert (found.url, found.resource) == (SERVICE, AUDIENCE)


def test_the_command_keeps_the_login_for_its_owner_alone(
    provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(time, "sleep", at_once)
    transport = ServiceBefore(provider.issuer)

    def tell(text: str, **_: Any) -> None:
        if found := re.search(r"or open (\S+)", text):
            provider.approve(found[1])

    monkeypatch.setattr(click, "echo", tell)
    ran = CliRunner().invoke(command_line(), ["--url", SERVICE, "login"], obj=transport)
    assert ran.exit_code == 0
    file = logins.file_of("default")
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    assert token_of("default") == json.loads(file.read_text())["access_token"]
    ended = CliRunner().invoke(command_line(), ["logout"], obj=transport)
    assert ended.exit_code == 0
    assert stored("default") is None


def test_a_token_is_renewed_once_by_many_that_need_it(provider: OidcProvider):
    found = logged_in(provider)
    found.expires_at = 0
    store("default", found)
    transport = ServiceBefore(provider.issuer)
    with ThreadPool(8) as pool:
        tokens = pool.map(lambda _: token_of("default", lambda: Provider(transport)), range(8))
    assert len({*tokens}) == 1
    assert tokens[0] != found.access_token
    assert claims(tokens[0])["aud"] == AUDIENCE
    renewed = stored("default")
    assert renewed is not None
    assert renewed.refresh_token != found.refresh_token


def test_a_login_that_has_ended_says_so(provider: OidcProvider):
    found = logged_in(provider)
    found.expires_at, found.refresh_token = 0, "used"
    store("default", found)
    with pytest.raises(LoginError, match=r"The login has ended .* Run: beamkeep login"):
        token_of("default", lambda: Provider(ServiceBefore(provider.issuer)))
    with pytest.raises(LoginError, match="Nobody is logged in"):
        token_of("other")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"beamkeep_client_id": None}, "names no client for the command line"),
        ({"beamkeep_client_id": "unknown"}, "The identity provider refused"),
        ({"resource": "https://nowhere.test"}, "The identity provider refused"),
        ({"authorization_servers": ["http://lab.test"]}, "is not an https:// address"),
        ({"authorization_servers": ["http://127.0.0.1:9"]}, "does not answer"),
    ],
)
def test_a_login_that_cannot_succeed_says_why(provider: OidcProvider, changes: Any, said: str):
    service = Provider(ServiceBefore(provider.issuer, **changes))
    with pytest.raises(LoginError, match=said):
        device_login(SERVICE, service, approving(provider), at_once)


def test_a_provider_that_slows_the_client_down_is_obeyed():
    pauses: list[float] = []
    answers = iter(
        [
            {"error": "authorization_pending"},
            {"error": "slow_down"},
            {"error": "authorization_pending"},
            {"access_token": "a", "expires_in": 60},
        ]
    )

    def answer(request: httpx2.Request) -> httpx2.Response:
        match request.url.path:
            case "/.well-known/oauth-protected-resource":
                body: Any = {
                    "resource": AUDIENCE,
                    "authorization_servers": [SERVICE],
                    "beamkeep_client_id": "c",
                }
            case "/.well-known/openid-configuration":
                body = {
                    "device_authorization_endpoint": f"{SERVICE}/device",
                    "token_endpoint": f"{SERVICE}/token",
                }
            case "/device":
                body = {"device_code": "d", "user_code": "u", "verification_uri": "https://v.test"}
            case _:
                body = next(answers)
        return httpx2.Response(400 if "error" in body else 200, json=body)

    provider = Provider(httpx2.MockTransport(answer))
    found = device_login(SERVICE, provider, lambda _: None, pauses.append)
    assert (found.access_token, pauses) == ("a", [5, 5, 10, 10])
