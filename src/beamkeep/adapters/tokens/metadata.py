"""The metadata of a provider (OpenID Connect Discovery, RFC 8414), compared with its entry."""

from urllib.parse import urlsplit

import httpx2

from .claims import Claims, parse_claims
from .endpoint import request
from .faults import shown


async def metadata_fault(
    http: httpx2.AsyncClient, issuer: str, field: str, configured: str
) -> str | None:
    """Return how published metadata contradict the entry of a provider, or None.

    `field` is a member of the metadata that should be `configured`. A provider need not publish
    metadata, and a member that it leaves out contradicts nothing.
    """
    metadata = await _metadata(http, issuer)
    if metadata is None:
        return None
    for name, expected in (("issuer", issuer), (field, configured)):
        if (found := metadata.get(name, expected)) != expected:
            return (
                f"The metadata of {issuer} have the {name} {shown(found)}, and its entry has"
                f" {expected}. Correct the entry."
            )
    return None


async def _metadata(http: httpx2.AsyncClient, issuer: str) -> Claims | None:
    parts = urlsplit(issuer)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return None
    path, origin = parts.path.rstrip("/"), f"{parts.scheme}://{parts.netloc}"
    for address in (
        f"{origin}{path}/.well-known/openid-configuration",
        f"{origin}/.well-known/oauth-authorization-server{path}",
    ):
        response = await request(http, "GET", address)
        if response and response[0] == 200 and (found := parse_claims(response[1])):
            return found
    return None
