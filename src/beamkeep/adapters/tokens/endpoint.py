"""Requests to an identity provider: allowed addresses, bounded time and size."""

import asyncio
from typing import Annotated
from urllib.parse import urlsplit

import httpx2
from pydantic import AfterValidator, ConfigDict, StringConstraints

from beamkeep.contexts.seams.addresses import is_loopback

MAX_RESPONSE_BYTES = 256 * 1024
RESPONSE_TIMEOUT = 2.0

PROVIDER_CONFIG = ConfigDict(
    frozen=True,
    extra="forbid",
    use_attribute_docstrings=True,
    hide_input_in_errors=True,
    defer_build=True,
)


def _require_https(address: str) -> str:
    parts = urlsplit(address)
    host = parts.hostname
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("The address must have a host, and no credentials and no fragment.")
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)):
        return address
    raise ValueError("The address must begin with https. http is allowed only for loopback.")


ProviderAddress = Annotated[str, AfterValidator(_require_https)]
NonEmptyText = Annotated[str, StringConstraints(min_length=1)]


async def request(
    http: httpx2.AsyncClient,
    method: str,
    address: str,
    *,
    form: dict[str, str] | None = None,
    auth: httpx2.BasicAuth | None = None,
) -> tuple[int, bytes] | None:
    """Return status and body of the response, or None when it is late, too large or incomplete."""
    body = bytearray()
    try:
        async with (
            asyncio.timeout(RESPONSE_TIMEOUT),
            http.stream(
                method,
                address,
                data=form,
                auth=auth,
                headers={"Accept": "application/json"},
                follow_redirects=False,
            ) as response,
        ):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_RESPONSE_BYTES:
                    return None
            return response.status_code, bytes(body)
    except (httpx2.HTTPError, OSError):
        return None


async def unreachable(http: httpx2.AsyncClient, address: str) -> str | None:
    """Return why nothing answers at an address, for an operator; None when something does."""
    try:
        async with asyncio.timeout(RESPONSE_TIMEOUT):
            await http.get(address, follow_redirects=False)
    except TimeoutError:
        return f"nothing within {RESPONSE_TIMEOUT:g} seconds"
    except httpx2.TransportError as error:
        return str(error) or type(error).__name__
    return None
