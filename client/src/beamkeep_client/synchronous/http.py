# Written from `asynchronous`; `make reference` writes it again.
"""The HTTP client of one service."""

from time import sleep
from collections.abc import Iterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from beamkeep_client.http import ATTEMPTS, Connection, ServiceError, pause_after, refusal

if TYPE_CHECKING:
    import httpx2


class SentEvent(NamedTuple):
    """A server-sent event."""

    kind: str
    id: str
    data: str


class Exchanged(NamedTuple):
    """The answer to a message, whatever its status."""

    status: int
    body: dict[str, Any]


class HttpClient:
    """A client of one service; a token that is a function is asked for at every call."""

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str] | None,
        *,
        surface_id: str | None = None,
        timeout_seconds: float = 60.0,
        transport: "httpx2.BaseTransport | None" = None,
    ) -> None:
        """Raise ValueError when `url` or `token` cannot be used."""
        # Slow to load, and the help of the command line does without it.
        import httpx2  # noqa: PLC0415

        self._to = Connection(url, token, surface_id=surface_id)
        self._http = httpx2.Client(
            **self._to.options, timeout=timeout_seconds, transport=transport
        )

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._to.url

    def request(
        self,
        method: str,
        path: str,
        *,
        idempotency_key: str | None = None,
        if_match: int | None = None,
        proposal_note: str | None = None,
        attempts: int = 1,
        **content: Any,
    ) -> "httpx2.Response":
        """Return the answer to a call; raise ServiceError when it is refused or not answered.

        Give several attempts only to a call that has an idempotency key or writes nothing.
        `content` is `json`, or `content` with the bytes of JSON; and `params`.
        """
        while True:
            headers = self._to.headers(idempotency_key, if_match, proposal_note)
            try:
                return self._answer(method, path, headers, content)
            except ServiceError as error:
                attempts -= 1
                pause = pause_after(error, attempts)
            sleep(pause)

    def _answer(
        self, method: str, path: str, headers: dict[str, str], content: Mapping[str, Any]
    ) -> "httpx2.Response":
        if "content" in content:
            headers["Content-Type"] = "application/json"
        try:
            response = self._http.request(
                method, self._to.url + path, headers=headers, **content
            )
        except Exception as error:
            raise self._to.lost(error) from None
        return self._to.answered(response, path)

    def pages(
        self, path: str, params: Mapping[str, Any], cursor_name: str = "cursor"
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the pages of a list."""
        while True:
            page = (self.request("GET", path, params=params, attempts=ATTEMPTS)).json()
            yield page
            cursor = page.get("next_cursor")
            if cursor is None or not page.get("more", True):
                return
            params = {**params, cursor_name: cursor}

    def rows(self, path: str, params: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of every page of a list."""
        for page in self.pages(path, params):
            for row in page["items"]:
                yield row

    def events(
        self, path: str, params: Mapping[str, Any], last_id: str
    ) -> Iterator[SentEvent]:
        """Yield server-sent events until the stream ends; raise ServiceError when it is lost."""
        headers = {"Accept": "text/event-stream"} | self._to.authorization()
        headers |= {"Last-Event-ID": last_id} if last_id else {}
        try:
            with self._http.stream(
                "GET", self._to.url + path, params=params, headers=headers
            ) as response:
                if not response.is_success:
                    response.read()
                    raise refusal(response, path)
                for event in _sent_events(response.iter_lines()):
                    yield event
        except ServiceError:
            raise
        except Exception as error:
            raise self._to.lost(error) from None

    def exchange(
        self, path: str, message: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Exchanged:
        """Return the answer to a message; raise ServiceError when there is none."""
        sent = {**headers, **self._to.authorization()}
        try:
            response = self._http.post(self._to.url + path, json=dict(message), headers=sent)
        except Exception as error:
            raise self._to.lost(error) from None
        return Exchanged(response.status_code, self._to.body(response))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _sent_events(lines: Iterator[str]) -> Iterator[SentEvent]:
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        else:
            if "event" in fields:
                yield SentEvent(fields["event"], fields.get("id", ""), fields.get("data", ""))
            fields = {}
