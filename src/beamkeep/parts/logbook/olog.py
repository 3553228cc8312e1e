"""Phoebus Olog: an electronic logbook, by its REST API."""

import asyncio
import re
import ssl
import unicodedata
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import UUID

import httpx2
import msgspec

from beamkeep.kernel import Record
from beamkeep.workers.leases import seconds_to_wait

from .mirroring import EntryCopy, MirrorAwayError, MirrorRefusedError

TIMEOUT = 10.0
LATER = frozenset({401, 403, 404, 408, 425, 429, 502, 503, 504})
"""Answers that every entry would get until somebody mends the account, the address or Olog."""
PROPERTY, KEY = "beamkeep", "id"
MARKUP = re.compile(r"([!-/:-@\[-`{-~])")
LEADING = re.compile(r"^[ \t]+", re.MULTILINE)
LINE_END = re.compile(r"(?<=[^\n])\n(?=[^\n])")


class OlogAccount(Record):
    """The account by which entries are written, and the logbook that gets them."""

    url: str
    logbook: str
    user: str
    password: str


class OlogAttribute(Record):
    name: str
    value: str | None = None


class OlogProperty(Record):
    name: str
    attributes: tuple[OlogAttribute, ...] = ()


class OlogEntry(Record):
    """What is read of an entry."""

    id: int
    properties: tuple[OlogProperty, ...] = ()

    def has(self, id: UUID) -> bool:
        """Return whether this is the entry that was written with our id."""
        ours = OlogAttribute(KEY, str(id))
        return any(each.name == PROPERTY and ours in each.attributes for each in self.properties)


class OlogEntries(Record):
    logs: tuple[OlogEntry, ...]


class OlogLogbook(Record):
    name: str


class OlogMirror:
    """Writes entries that carry our own id as a property, by which they are found again."""

    def __init__(self, account: OlogAccount, timeout: float = TIMEOUT) -> None:
        self._account, self._timeout = account, timeout
        self._context = ssl.create_default_context()

    async def find(self, id: UUID) -> str | None:
        """Return the number of the entry that has this id, if Olog has it."""
        async with _in_time(self._timeout):
            answer = await self._ask(
                "GET", "/logs/search", params={"properties": f"{PROPERTY}.{KEY}.{id}"}
            )
        if not answer.is_success:
            raise MirrorAwayError(f"Status {answer.status_code}", for_all=False)
        # The search compares names and values apart, so another attribute may have this value.
        found = [each.id for each in _decoded(answer, OlogEntries).logs if each.has(id)]
        return str(min(found)) if found else None

    async def write(self, entry: EntryCopy, reply_to: str | None) -> str:
        """Add an entry, below another one if it is a reply, and return its number."""
        about = {
            KEY: str(entry.id),
            "entry_id": str(entry.entry_id),
            "logbook": entry.logbook,
            "subject_id": str(entry.subject_id),
        }
        attributes = [{"name": name, "value": value} for name, value in about.items()]
        # Olog dates an entry when it gets it; the time of writing is an event of it.
        written_at = round(entry.recorded_at.timestamp() * 1000)
        body = {
            "title": plain(entry.title).replace("\n", " "),
            "description": literal(entry.text),
            "logbooks": [{"name": self._account.logbook}],
            "properties": [{"name": PROPERTY, "attributes": attributes}],
            "events": [{"name": "recorded_at", "instant": written_at}],
        }
        async with _in_time(self._timeout):
            answer = await self._put(body, reply_to)
        if not answer.is_success:
            raise MirrorRefusedError(f"Status {answer.status_code}", for_all=False)
        return str(_decoded(answer, OlogEntry).id)

    async def _put(self, body: object, reply_to: str | None) -> httpx2.Response:
        params = {"markup": "commonmark"}
        replied = params | ({"inReplyTo": reply_to} if reply_to else {})
        answer = await self._ask("PUT", "/logs", params=replied, json=body)
        if answer.status_code == 400 and reply_to:
            # The first entry may have been removed from Olog since.
            answer = await self._ask("PUT", "/logs", params=params, json=body)
        if answer.status_code == 400:
            await self._require_logbook()
        return answer

    async def _require_logbook(self) -> None:
        """Raise MirrorAwayError when the logbook does not exist; then no entry can be written."""
        answer = await self._ask("GET", "/logbooks")
        found = {each.name for each in _decoded(answer, tuple[OlogLogbook, ...])}
        if self._account.logbook not in found:
            raise MirrorAwayError(f"There is no logbook {self._account.logbook!r}.")

    async def _ask(
        self, method: str, path: str, *, params: dict[str, str] | None = None, json: object = None
    ) -> httpx2.Response:
        account = self._account
        try:
            # No redirect is followed: it would carry the password to another address.
            async with httpx2.AsyncClient(verify=self._context, timeout=None) as http:
                answer = await http.request(
                    method,
                    f"{account.url.rstrip('/')}{path}",
                    params=params,
                    json=json,
                    auth=(account.user, account.password),
                )
        except httpx2.HTTPError as error:
            raise MirrorAwayError(type(error).__name__) from None
        if answer.status_code in LATER or answer.is_redirect:
            wait = seconds_to_wait(answer.headers.get("retry-after"))
            raise MirrorAwayError(f"Status {answer.status_code}", retry_after=wait)
        if answer.is_server_error:
            raise MirrorAwayError(f"Status {answer.status_code}", for_all=False)
        return answer


@asynccontextmanager
async def _in_time(seconds: float) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise MirrorAwayError("Timeout", for_all=False) from None


def plain(text: str) -> str:
    """Return a text without control characters, invisible ones and such as change direction."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    printable = [each for each in lines if each == "\n" or unicodedata.category(each)[0] != "C"]
    return "".join(printable)


def literal(text: str) -> str:
    """Return Markdown that shows a text as it is: without links, images, HTML or code blocks."""
    escaped = MARKUP.sub(r"\\\1", plain(text))
    # Leading blanks would begin a block of code, in which backslashes are shown.
    indented = LEADING.sub(lambda blanks: "\u00a0" * len(blanks[0]), escaped)
    return LINE_END.sub("\\\\\n", indented)


def _decoded[T](answer: httpx2.Response, shape: type[T]) -> T:
    """Return what an answer says. Raise MirrorAwayError when Olog would not answer like that."""
    try:
        return msgspec.json.decode(answer.content, type=shape)
    except msgspec.DecodeError:
        # A page of a proxy, for example. It must not be taken for «not found».
        raise MirrorAwayError("The answer is not that of an Olog.", for_all=False) from None
