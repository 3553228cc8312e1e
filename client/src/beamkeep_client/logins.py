"""The logins that are stored on this machine, and their tokens."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from .http import DEFAULT_URL, is_private, read_token
from .terminal import printable

EARLY = 60.0
"""Seconds before its end at which a token is renewed."""

type Token = str | Callable[[], str] | None


class LoginError(Exception):
    """A login that did not succeed, in a sentence for the person who tried."""


@dataclass
class Login:
    """What is stored of a login."""

    url: str
    resource: str
    client_id: str
    token_endpoint: str
    access_token: str
    expires_at: float
    refresh_token: str | None = None
    revocation_endpoint: str | None = None


def folder() -> Path:
    """Return where logins are stored."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "beamkeep"


def file_of(profile: str) -> Path:
    """Return the file of a profile. Raise LoginError when its name is no file's name."""
    if not profile.replace("-", "").replace("_", "").isalnum():
        raise LoginError("The name of a profile has letters, digits, - and _ only.")
    return folder() / f"{profile}.json"


def stored(profile: str) -> Login | None:
    """Return the login of a profile, if there is one."""
    try:
        return Login(**json.loads(file_of(profile).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def store(profile: str, login: Login) -> None:
    """Write a login so that only its owner can read it, whole or not at all."""
    file = file_of(profile)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = file.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(json.dumps(asdict(login)).encode())
    partial.replace(file)


@contextmanager
def _locked(profile: str) -> Generator[None]:
    """Hold the login of a profile: a refresh token is good for one use."""
    with file_of(profile).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Provider:
    """Speaks with the identity provider of a service."""

    def __init__(self, transport: Any = None) -> None:
        self._transport = transport

    def get(self, url: str) -> dict[str, Any]:
        """Return a document. Raise LoginError when it is not there."""
        status, body = self._answer("GET", url)
        if status >= 400:
            raise LoginError(f"{url} answered with status {status}.")
        return body

    def post(self, url: str, form: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Return status and body of a form that was sent."""
        return self._answer("POST", url, data=dict(form))

    def _answer(self, method: str, url: str, **more: Any) -> tuple[int, dict[str, Any]]:
        import httpx2  # noqa: PLC0415

        if not is_private(url):
            raise LoginError(f"{url} is not an https:// address.")
        # A proxy that the environment names could read plain HTTP to this machine.
        by_proxy = not url.lower().startswith("http:")
        try:
            with httpx2.Client(timeout=30, transport=self._transport, trust_env=by_proxy) as http:
                response = http.request(method, url, **more)
            body: Any = response.json() if response.content else {}
        except Exception as error:
            # The text of an error may quote what was sent, and so a token.
            from .tls import tls_cause  # noqa: PLC0415

            reason = tls_cause(error, url) or type(error).__name__
            raise LoginError(f"{url} does not answer: {reason}") from None
        if not isinstance(body, dict):
            raise LoginError(f"{url} answered with status {response.status_code}.")
        return response.status_code, cast("dict[str, Any]", body)


def token_of(
    profile: str, provider: Callable[[], Provider] = Provider, now: Callable[[], float] = time.time
) -> str:
    """Return the access token of a profile, renewed if it ends soon."""
    login = stored(profile)
    if login is None:
        raise LoginError("Nobody is logged in. Run: beamkeep login")
    if now() < login.expires_at - EARLY or not login.refresh_token:
        return login.access_token
    with _locked(profile):
        # Another process may have renewed it meanwhile.
        login = stored(profile) or login
        if now() < login.expires_at - EARLY or not login.refresh_token:
            return login.access_token
        form = {
            "grant_type": "refresh_token",
            "refresh_token": login.refresh_token,
            "client_id": login.client_id,
            "resource": login.resource,
        }
        status, body = provider().post(login.token_endpoint, form)
        if "access_token" not in body:
            reason = oauth_error(status, body)
            raise LoginError(f"The login has ended ({reason}). Run: beamkeep login")
        login.access_token = body["access_token"]
        login.expires_at = now() + float(body.get("expires_in", 300))
        login.refresh_token = body.get("refresh_token", login.refresh_token)
        store(profile, login)
    return login.access_token


def oauth_error(status: int, body: Mapping[str, Any]) -> str:
    reason = body.get("error_description") or body.get("error") or f"status {status}"
    return printable(str(reason))


def address_of(url: str | None, token: str | None, profile: str) -> tuple[str, Token]:
    """Return address and token; without a token, those of the login of a profile."""
    login = None if token else stored(profile)
    if login and url in (None, login.url):
        return login.url, lambda: token_of(profile)
    return url or DEFAULT_URL, token


def connection(url: str | None, token: Token, profile: str) -> tuple[str, Token]:
    """Return address and token, from the environment or the login where they are not given."""
    address = url or os.environ.get("BEAMKEEP_URL")
    if callable(token):
        return address or DEFAULT_URL, token
    return address_of(address, token or read_token(), profile)
