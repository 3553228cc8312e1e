# Written from `asynchronous`; `make reference` writes it again.
"""The Python client: nouns are attributes, their verbs are methods."""

from typing import TYPE_CHECKING, Self

from beamkeep_client.synchronous.calls import Calls
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.synchronous.nouns import Nouns
from beamkeep_client.logins import Token, connection

if TYPE_CHECKING:
    import httpx2


class Beamkeep(Nouns):
    """A client of one service. Its nouns are attributes, and their verbs are methods.

    Address and token are those given, else BEAMKEEP_URL and BEAMKEEP_TOKEN, else those of
    `beamkeep login`. A token that is a function is asked for at every call.
    """

    def __init__(
        self,
        url: str | None = None,
        token: Token = None,
        *,
        profile: str = "default",
        surface_id: str | None = None,
        transport: "httpx2.BaseTransport | None" = None,
    ) -> None:
        """Raise ValueError when `url` or `token` cannot be used."""
        address, given = connection(url, token, profile)
        self._client = HttpClient(address, given, surface_id=surface_id, transport=transport)
        super().__init__(Calls(self._client))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.url!r})"

    @property
    def calls(self) -> Calls:
        """The calls of this client, for the methods of a context of a site."""
        return self._calls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
