"""Logging in at a terminal (RFC 8628), and the tokens that are kept afterwards."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Never, cast

import click

from .http import DEFAULT_URL, is_private
from .terminal import printable

METADATA = "/.well-known/oauth-protected-resource"
DISCOVERY = "/.well-known/openid-configuration"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "openid offline_access"
INTERVAL, SLOWER = 5.0, 5.0
EARLY = 60.0
"""Seconds before its end at which a token is renewed."""
NO_DEVICE = (
    "The identity provider {} offers no login by a code at a terminal. Get a token from it in"
    " another way, and give its file with --token-file."
)


class LoginError(Exception):
    """A login that did not succeed, in a sentence for the person who tried."""


@dataclass
class Login:
    """What is kept of a login."""

    url: str
    resource: str
    client_id: str
    token_endpoint: str
    access_token: str
    expires_at: float
    refresh_token: str | None = None
    revocation_endpoint: str | None = None


def folder() -> Path:
    """Return where logins are kept."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "beamkeep"


def file_of(profile: str) -> Path:
    """Return the file of a profile. Raise LoginError when its name is no file's name."""
    if not profile.replace("-", "").replace("_", "").isalnum():
        raise LoginError("The name of a profile has letters, digits, - and _ only.")
    return folder() / f"{profile}.json"


def kept(profile: str) -> Login | None:
    """Return the login of a profile, if there is one."""
    try:
        return Login(**json.loads(file_of(profile).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def keep(profile: str, login: Login) -> None:
    """Write a login so that only its owner can read it, whole or not at all."""
    file = file_of(profile)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = file.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(json.dumps(asdict(login)).encode())
    beside.replace(file)


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


def device_login(
    url: str, provider: Provider, tell: Callable[[str], None], sleep: Callable[[float], None]
) -> Login:
    """Return a login that a person has approved elsewhere. Raise LoginError when it fails."""
    resource = provider.get(url.rstrip("/") + METADATA)
    client_id, issuers = resource.get("beamkeep_client_id"), resource["authorization_servers"]
    if not client_id or not issuers:
        raise LoginError(
            "The service names no client for the command line. Its operator sets CLI_CLIENT_ID;"
            " until then, give a token with --token-file."
        )
    metadata = provider.get(issuers[0].rstrip("/") + DISCOVERY)
    endpoint = metadata.get("device_authorization_endpoint")
    if not endpoint:
        raise LoginError(NO_DEVICE.format(issuers[0]))
    asked = {"client_id": client_id, "resource": resource["resource"]}
    status, device = provider.post(endpoint, {**asked, "scope": SCOPE})
    if "device_code" not in device:
        raise LoginError(f"The identity provider refused: {_said(status, device)}")
    tell(f"Open {device['verification_uri']} and enter the code {device['user_code']}")
    if whole := device.get("verification_uri_complete"):
        tell(f"or open {whole}")
    form = {**asked, "grant_type": DEVICE_GRANT, "device_code": device["device_code"]}
    tokens = _poll(provider, metadata["token_endpoint"], form, device, sleep=sleep)
    return Login(
        url=url,
        resource=resource["resource"],
        client_id=client_id,
        token_endpoint=metadata["token_endpoint"],
        access_token=tokens["access_token"],
        expires_at=time.time() + float(tokens.get("expires_in", 300)),
        refresh_token=tokens.get("refresh_token"),
        revocation_endpoint=metadata.get("revocation_endpoint"),
    )


def _poll(
    provider: Provider,
    endpoint: str,
    form: Mapping[str, str],
    device: Mapping[str, Any],
    sleep: Callable[[float], None],
) -> dict[str, Any]:
    """Return the tokens once the person has approved."""
    pause = float(device.get("interval", INTERVAL))
    while True:
        sleep(pause)
        status, body = provider.post(endpoint, form)
        match body.get("error"):
            case None if "access_token" in body:
                return body
            case "authorization_pending":
                continue
            case "slow_down":
                pause += SLOWER
            case "access_denied":
                raise LoginError("The login was refused.")
            case "expired_token":
                raise LoginError("The code has expired. Try again.")
            case _:
                raise LoginError(f"The identity provider refused: {_said(status, body)}")


def _said(status: int, body: Mapping[str, Any]) -> str:
    told = body.get("error_description") or body.get("error") or f"status {status}"
    return printable(str(told))


def token_of(
    profile: str, provider: Callable[[], Provider] = Provider, now: Callable[[], float] = time.time
) -> str:
    """Return the access token of a profile, renewed if it ends soon."""
    login = kept(profile)
    if login is None:
        raise LoginError("Nobody is logged in. Run: beamkeep login")
    if now() < login.expires_at - EARLY or not login.refresh_token:
        return login.access_token
    with _locked(profile):
        # Another process may have renewed it meanwhile.
        login = kept(profile) or login
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
            raise LoginError(f"The login has ended ({_said(status, body)}). Run: beamkeep login")
        login.access_token = body["access_token"]
        login.expires_at = now() + float(body.get("expires_in", 300))
        login.refresh_token = body.get("refresh_token", login.refresh_token)
        keep(profile, login)
    return login.access_token


def forget(profile: str, provider: Provider) -> None:
    """End the login of a profile, here and where the provider can."""
    login = kept(profile)
    if login is None:
        raise LoginError("Nobody is logged in.")
    file_of(profile).unlink()
    if login.revocation_endpoint:
        token = login.refresh_token or login.access_token
        provider.post(login.revocation_endpoint, {"token": token, "client_id": login.client_id})


def login_command() -> click.Command:
    """Return the command that logs a person in."""

    def run() -> None:
        root = click.get_current_context().find_root()
        profile = root.params["profile"]
        try:
            earlier = kept(profile)
            login = device_login(
                root.params["url"] or (earlier.url if earlier else DEFAULT_URL),
                Provider(root.obj),
                lambda text: click.echo(printable(text), err=True),
                time.sleep,
            )
            keep(profile, login)
        except LoginError as error:
            _stop(error)
        click.echo(f"Logged in at {printable(login.url)}.", err=True)

    return click.Command("login", callback=run, help="Log in with a code in a browser.")


def logout_command() -> click.Command:
    """Return the command that ends a login."""

    def run() -> None:
        root = click.get_current_context().find_root()
        try:
            forget(root.params["profile"], Provider(root.obj))
        except LoginError as error:
            _stop(error)
        click.echo("Logged out.", err=True)

    return click.Command("logout", callback=run, help="End the login and delete its tokens.")


def _stop(error: LoginError) -> Never:
    click.echo(printable(str(error)), err=True)
    raise click.exceptions.Exit(1)
