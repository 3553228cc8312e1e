"""Logging in at a terminal (RFC 8628), and logging out."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Never

import click

from .http import DEFAULT_URL
from .logins import Login, LoginError, Provider, file_of, oauth_error, store, stored
from .terminal import printable

METADATA = "/.well-known/oauth-protected-resource"
DISCOVERY = "/.well-known/openid-configuration"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "openid offline_access"
INTERVAL, SLOWER = 5.0, 5.0
NO_DEVICE = (
    "The identity provider {} offers no login by a code at a terminal. Get a token from it in"
    " another way, and give its file with --token-file."
)


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
        raise LoginError(f"The identity provider refused: {oauth_error(status, device)}")
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
                raise LoginError(f"The identity provider refused: {oauth_error(status, body)}")


def forget(profile: str, provider: Provider) -> None:
    """End the login of a profile, here and where the provider can."""
    login = stored(profile)
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
            earlier = stored(profile)
            login = device_login(
                root.params["url"] or (earlier.url if earlier else DEFAULT_URL),
                Provider(root.obj),
                lambda text: click.echo(printable(text), err=True),
                time.sleep,
            )
            store(profile, login)
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
