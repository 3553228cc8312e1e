"""The Python client: every operation of the catalogue as a method of its noun."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from os import environ
from typing import Any, Self
from uuid import uuid4

from .answers import Answer, Refused, answer_of, table_of
from .calling import ATTEMPTS, request_of, where
from .catalogue import Entry, catalogue
from .events import followed, listed
from .http import DEFAULT_URL, AsyncHttpClient, HttpClient, ServiceError, read_token
from .references import Reference, finding, found, unresolved, with_ids
from .times import time_of

PAGE = 100

type Token = str | Callable[[], str] | None


class Pages:
    """The rows of a list, fetched page by page while they are read."""

    def __init__(self, fetch: Callable[..., Mapping[str, Any]], entry: Entry) -> None:
        self._fetch, self._entry = fetch, entry

    def __iter__(self) -> Iterator[Answer]:
        cursor: str | None = None
        while True:
            page = self._fetch(cursor)
            yield from (answer_of(row) for row in page["items"])
            cursor = page.get("next_cursor")
            if cursor is None or not page.get("more", True):
                return

    def _repr_html_(self) -> str:
        """Return the first page as a table, with names in place of ids."""
        page = self._fetch(None, names=True)
        names = {id: each["name"] for id, each in page.get("names", {}).items()}
        return table_of(self._entry.columns, page["items"], names)


class AsyncPages:
    """The same for programs that use asyncio."""

    def __init__(self, fetch: Callable[[str | None], Any]) -> None:
        self._fetch = fetch

    async def __aiter__(self) -> AsyncIterator[Answer]:
        cursor: str | None = None
        while True:
            page = await self._fetch(cursor)
            for row in page["items"]:
                yield answer_of(row)
            cursor = page.get("next_cursor")
            if cursor is None or not page.get("more", True):
                return


class Noun:
    """The operations of one kind of object."""

    def __init__(self, call: Callable[..., Any], verbs: Mapping[str, Entry]) -> None:
        self._call, self._verbs = call, verbs

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        entry = self._verbs.get(verb.rstrip("_").replace("_", "-"))
        if entry is None:
            raise AttributeError(f"There is no {verb} here. There are: {', '.join(dir(self))}.")

        def call(target: str | None = None, **arguments: Any) -> Any:
            return self._call(entry, target, arguments)

        call.__name__, call.__doc__ = verb, entry.doc
        return call

    def __dir__(self) -> list[str]:
        return sorted(verb.replace("-", "_") for verb in self._verbs)


def plural(noun: str) -> str:
    """Return the attribute of the client for a noun."""
    word = noun.replace("-", "_")
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


@cache
def _nouns() -> Mapping[str, Mapping[str, Entry]]:
    nouns: dict[str, dict[str, Entry]] = {}
    for entry in catalogue().values():
        if entry.noun:
            verbs = nouns.setdefault(plural(entry.noun), {})
            verbs[entry.verb] = entry
            if entry.short:
                verbs[entry.short] = entry
    return nouns


@cache
def _top() -> Mapping[str, Entry]:
    """Return the questions without a noun, which are methods of the client itself."""
    return {entry.verb: entry for entry in catalogue().values() if not entry.noun}


def _arguments(entry: Entry, target: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by their own names; `plan` stands for `plan_id`."""
    own = {name.rstrip("_"): value for name, value in given.items()}
    named = {name if name in entry.fields else f"{name}_id": v for name, v in own.items()}
    if target is not None:
        named[entry.in_path[0]] = target
    if unknown := named.keys() - entry.fields.keys():
        given_as = ", ".join(sorted(name.removesuffix("_id") for name in unknown))
        raise TypeError(f"{entry.words} takes no {given_as}.")
    if missing := [name for name in entry.required if name not in named]:
        raise TypeError(f"{entry.words} lacks {', '.join(missing)}.")
    return _sendable(entry, named)


def _sendable(entry: Entry, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are given; a time may be written as `-12h`."""
    given = {name: value for name, value in named.items() if value is not None}
    times = {n: v for n, v in given.items() if entry.fields[n].format == "date-time"}
    meant = {n: time_of(v) if isinstance(v, str) else v for n, v in times.items()}
    found = {n: v.isoformat() for n, v in meant.items() if isinstance(v, datetime)}
    return given | found


def _connection(url: str | None, token: Token, profile: str) -> tuple[str, Token]:
    """Return address and token, from the environment or the login where they are not given."""
    address = url or environ.get("BEAMKEEP_URL")
    if callable(token):
        return address or DEFAULT_URL, token
    return where(address, token or read_token(), profile)


def _key(entry: Entry) -> str | None:
    """Return a key by which a repeated command has one effect."""
    return None if entry.is_question else uuid4().hex


def _body(response: Any) -> tuple[Any, str | None]:
    return response.json() if response.content else {}, response.headers.get("etag")


def _refusal(error: ServiceError) -> Exception:
    return Refused(error) if error.code else error


class Events:
    """The events of the service: `events.list()` and `events.follow(types=["RunHeld"])`."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def list(self, **filters: Any) -> Iterator[Answer]:
        """Yield the events that happened, oldest first."""
        return self._answers(listed, filters)

    def follow(self, **filters: Any) -> Iterator[Answer]:
        """Yield events as they happen, without end; a lost connection is made anew."""
        return self._answers(followed, filters)

    def _answers(self, read: Callable[..., Any], filters: Mapping[str, Any]) -> Iterator[Answer]:
        try:
            yield from (answer_of(event) for event in read(self._http, _event_filters(filters)))
        except ServiceError as error:
            raise _refusal(error) from None


def _event_filters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters by their own names: `types` stands for `type`."""
    entry = catalogue()["list_events"]
    known = entry.fields
    named = {name if name in known else name.removesuffix("s"): v for name, v in given.items()}
    if unknown := named.keys() - known.keys():
        raise TypeError(f"Events have no filter {', '.join(sorted(unknown))}.")
    return _sendable(entry, named)


class Nouns:
    """Every noun of the catalogue as an attribute, such as `runs`."""

    def __getattr__(self, name: str) -> Any:
        if name in _top():
            return getattr(Noun(self._call, _top()), name)
        nouns = _nouns()
        if name not in nouns:
            raise AttributeError(f"There is no {name}. There are: {', '.join(nouns)}.")
        return Noun(self._call, nouns[name])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_nouns()]

    def _call(self, entry: Entry, target: str | None, given: Mapping[str, Any]) -> Any:
        raise NotImplementedError


class Beamkeep(Nouns):
    """A client of one service: `Beamkeep().runs.list(status=["Held"])`."""

    def __init__(
        self,
        url: str | None = None,
        token: Token = None,
        *,
        profile: str = "default",
        surface_id: str | None = None,
        transport: Any = None,
    ) -> None:
        address, given = _connection(url, token, profile)
        self._http = HttpClient(address, given, surface_id=surface_id, transport=transport)
        self.events = Events(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def search(self, q: str, **filters: Any) -> list[Answer]:
        """Return the objects whose name fits, the best first."""
        entry = catalogue()["search"]
        return [answer_of(row) for row in self._send(entry, {"q": q, **filters}).json()["items"]]

    def _call(self, entry: Entry, target: str | None, given: Mapping[str, Any]) -> Any:
        arguments = _arguments(entry, target, given)
        ids = {each: self._id(each) for each in unresolved(entry, arguments)}
        arguments = with_ids(entry, arguments, ids)
        if entry.is_paged:
            return Pages(partial(self._page, entry, arguments), entry)
        return answer_of(*_body(self._send(entry, arguments)))

    def _id(self, reference: Reference) -> str:
        def ask(entry: Entry, arguments: Mapping[str, Any]) -> Any:
            return self._send(entry, arguments).json()

        try:
            return found(reference, ask)["id"]
        except ServiceError as error:
            raise _refusal(error) from None

    def _page(
        self, entry: Entry, arguments: dict[str, Any], cursor: str | None, **more: Any
    ) -> Any:
        after = {"cursor": cursor} if cursor else {}
        return self._send(entry, {"limit": PAGE, **arguments, **after, **more}).json()

    def _send(self, entry: Entry, arguments: Mapping[str, Any]) -> Any:
        method, path, content = request_of(entry, arguments)
        try:
            return self._http.request(
                method, path, idempotency_key=_key(entry), attempts=ATTEMPTS, **content
            )
        except ServiceError as error:
            raise _refusal(error) from None


class AsyncBeamkeep(Nouns):
    """The same client for programs that use asyncio; its methods are awaited."""

    def __init__(
        self,
        url: str | None = None,
        token: Token = None,
        *,
        profile: str = "default",
        surface_id: str | None = None,
        transport: Any = None,
    ) -> None:
        address, given = _connection(url, token, profile)
        self._http = AsyncHttpClient(address, given, surface_id=surface_id, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()

    def _call(self, entry: Entry, target: str | None, given: Mapping[str, Any]) -> Any:
        arguments = _arguments(entry, target, given)
        if entry.is_paged:
            return AsyncPages(lambda cursor: self._page(entry, arguments, cursor))
        return self._answer(entry, arguments)

    async def _answer(self, entry: Entry, arguments: dict[str, Any]) -> Answer:
        response = await self._send(entry, await self._with_ids(entry, arguments))
        return answer_of(*_body(response))

    async def _page(self, entry: Entry, arguments: dict[str, Any], cursor: str | None) -> Any:
        asked = await self._with_ids(entry, arguments)
        after = {"cursor": cursor} if cursor else {}
        return (await self._send(entry, {"limit": PAGE, **asked, **after})).json()

    async def _with_ids(self, entry: Entry, arguments: dict[str, Any]) -> dict[str, Any]:
        ids = {each: await self._id(each) for each in unresolved(entry, arguments)}
        return with_ids(entry, arguments, ids)

    async def _id(self, reference: Reference) -> str:
        questions = finding(reference)
        try:
            question = next(questions)
            while True:
                try:
                    answer = (await self._send(*question)).json()
                except ServiceError as error:
                    question = questions.throw(error)
                else:
                    question = questions.send(answer)
        except StopIteration as end:
            return end.value["id"]
        except ServiceError as error:
            raise _refusal(error) from None

    async def _send(self, entry: Entry, arguments: Mapping[str, Any]) -> Any:
        method, path, content = request_of(entry, arguments)
        try:
            return await self._http.request(
                method, path, idempotency_key=_key(entry), attempts=ATTEMPTS, **content
            )
        except ServiceError as error:
            raise _refusal(error) from None
