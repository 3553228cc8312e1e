"""DataCite: the registry of DOIs, by its REST API."""

from typing import cast
from urllib.parse import quote

import httpx2

from beamkeep.contexts.data.citation import JsonDocument
from beamkeep.kernel import Record
from beamkeep.workers.leases import seconds_to_wait

from .minting import RegistryRefusedError, RegistryUnreachableError

MEDIA_TYPE = "application/vnd.api+json"
TIMEOUT, MOST_SHOWN = 30.0, 300
LATER = frozenset({401, 403, 404, 408, 425, 429})
"""Refusals that pass once somebody mends the account or its address, or the registry has time."""


class DataciteAccount(Record):
    """The repository account by which DOIs are registered."""

    url: str
    repository_id: str
    password: str


class DataciteMinter:
    """Puts each DOI with its metadata, so that a repeated call changes nothing."""

    def __init__(self, account: DataciteAccount, timeout: float = TIMEOUT) -> None:
        self._account, self._timeout = account, timeout

    async def mint(self, doi: str, metadata: JsonDocument) -> None:
        """Make a DOI findable, with this metadata."""
        await self._put(doi, {**metadata, "event": "publish"}, "findable")

    async def hide(self, doi: str) -> None:
        """Take a DOI out of the search; it still resolves."""
        await self._put(doi, {"event": "hide"}, "registered")

    async def _put(self, doi: str, attributes: dict[str, object], wanted: str) -> None:
        account = self._account
        address = f"{account.url.rstrip('/')}/dois/{quote(doi, safe='/')}"
        body = {"data": {"type": "dois", "id": doi, "attributes": attributes}}
        try:
            # No redirect is followed: it would carry the password to another address.
            async with httpx2.AsyncClient(timeout=self._timeout) as http:
                answer = await http.put(
                    address,
                    json=body,
                    auth=(account.repository_id, account.password),
                    headers={"Content-Type": MEDIA_TYPE, "Accept": MEDIA_TYPE},
                )
        except httpx2.HTTPError as error:
            raise RegistryUnreachableError(type(error).__name__) from None
        if answer.status_code >= 500 or answer.status_code in LATER or answer.is_redirect:
            wait = seconds_to_wait(answer.headers.get("retry-after"))
            raise RegistryUnreachableError(f"Status {answer.status_code}", wait)
        if not answer.is_success:
            raise RegistryRefusedError(answer.status_code, answer.text[:MOST_SHOWN])
        # An event that does not fit the state of the DOI is passed over without an error.
        if (state := _state(answer)) != wanted:
            raise RegistryRefusedError(answer.status_code, f"The state is {state}, not {wanted}.")


def _state(answer: httpx2.Response) -> str | None:
    """Return the state of the DOI in an answer, if the answer has the right shape."""
    try:
        found = cast("object", answer.json())
    except ValueError:
        return None
    for name in ("data", "attributes", "state"):
        found = cast("dict[str, object]", found).get(name) if isinstance(found, dict) else None
    return str(found) if found else None
