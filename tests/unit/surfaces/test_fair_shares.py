"""What one caller can take from the others, by counts."""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from starlette.types import Message, Scope

from beamkeep.adapters.files.data_roots import DataRoots
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.data.scan_file import InvalidScanFileError, ReadScanFile
from beamkeep.feed.fair_shares import FairShares
from beamkeep.kernel import Route, replace
from beamkeep.parts.scans.reading import ScanReader
from beamkeep.runtime import Service, parsing
from beamkeep.runtime.parsing import MalformedRequestError, parse_body
from beamkeep.runtime.store import CallContext, CallLookup
from beamkeep.schemas.plain import MAX_VALUES
from beamkeep.surfaces.http.documents import PublicDocument
from beamkeep.surfaces.http.edge import PART_BYTES, Edge, EdgeOptions
from beamkeep.surfaces.http.limits import Limits
from beamkeep.surfaces.http.messages import HttpRequest, HttpResponse
from beamkeep.surfaces.http.routes import PublicRoute
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import call, memory_service
from beamkeep.testing.web import GENEROUS, rest_application

pytestmark = pytest.mark.anyio

DOCUMENT = bytes(range(256)) * (PART_BYTES // 256 * 5) + b"end"
LARGE = Limits().large_body_bytes + 1
ZONE = b'{"name":"Hutch"}'
TOOL = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


class Answered(NamedTuple):
    status: int
    code: str
    parts_read: int
    is_last: bool = False


class Parties(NamedTuple):
    """A service with Ada, who may do everything, Bob, who may do nothing, and a stranger."""

    service: Service
    store: MemoryStore
    edge: Edge

    async def post(
        self, token: str, body: bytes, path: str = "/zones", in_chunks: bool = False
    ) -> Answered:
        """Send a body that the service asks for in two parts."""
        middle = len(body) // 2
        waiting, read = [body[:middle], body[middle:]], 0
        written: list[Message] = []

        async def receive() -> Message:
            nonlocal read
            read += 1
            part = waiting.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(waiting)}

        async def send(message: Message) -> None:
            written.append(message)

        sent = posted(token, path, None if in_chunks else len(body))
        await self.edge(sent, receive, send)
        told = b"".join(each.get("body", b"") for each in written[1:])
        is_last = dict(written[0]["headers"]).get(b"connection") == b"close"
        return Answered(written[0]["status"], json.loads(told).get("code", ""), read, is_last)


def posted(token: str, path: str, length: int | None) -> Scope:
    size = (b"transfer-encoding", b"chunked") if length is None else (b"content-length", length)
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [
            (b"host", b"beamkeep.test"),
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"),
            (size[0], str(size[1]).encode() if isinstance(size[1], int) else size[1]),
        ],
        "client": ("192.0.2.1", 4000),
    }


def zone_of(size: int) -> bytes:
    """A command whose body has this size."""
    return ZONE[:-1] + b" " * (size - len(ZONE)) + b"}"


@asynccontextmanager
async def parties(limits: Limits = GENEROUS) -> AsyncGenerator[Parties]:
    service, store = await memory_service()
    bob = {"name": "Bob", "identities": [{"issuer": ISSUER, "subject": "bob"}]}
    await call(service, "register_actor", bob)
    yield Parties(service, store, rest_application(service, limits))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the bodies that were parsed."""
    sizes = list[int]()

    def noting(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        def noted(body: bytes) -> Any:
            sizes.append(len(body))
            return read(body)

        return noted

    for module, name in (("rest", "parse_body"), ("mcp", "repeats_a_name")):
        monkeypatch.setattr(
            f"beamkeep.surfaces.http.{module}.{name}", noting(getattr(parsing, name))
        )
    return sizes


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The names of the calls for which a statement looked for the grant."""
    names, opens = list[str | None](), MemoryStore.open

    async def counting(store: MemoryStore, lookup: CallLookup) -> CallContext:
        names.append(lookup.command_name)
        return await opens(store, lookup)

    monkeypatch.setattr(MemoryStore, "open", counting)
    return names


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize(
    ("token", "refused"),
    [
        ("stranger", (401, "UnregisteredLoginError", 0, True)),
        ("bob", (403, "UnauthorizedError", 0, True)),
    ],
)
async def test_a_large_body_is_not_read_before_the_call_is_permitted(
    token: str, refused: tuple[int, str, int, bool], in_chunks: bool, parsed: list[int]
):
    async with parties() as all_of_them:
        assert await all_of_them.post(token, zone_of(LARGE), in_chunks=in_chunks) == refused
    assert parsed == []


@pytest.mark.parametrize(
    ("token", "refused"),
    [("stranger", (401, "UnregisteredLoginError")), ("bob", (403, "UnauthorizedError"))],
)
async def test_a_small_body_is_not_parsed_before_the_call_is_permitted(
    token: str, refused: tuple[int, str], parsed: list[int]
):
    async with parties() as all_of_them:
        assert (await all_of_them.post(token, ZONE))[:2] == refused
        assert (await all_of_them.post(token, b"{"))[:2] == refused
        assert parsed == []
        assert (await all_of_them.post("ada", ZONE)).status == 201
    assert parsed == [len(ZONE)]


@pytest.mark.parametrize("size", [len(TOOL), LARGE])
async def test_an_agent_without_an_actor_has_no_message_read(size: int, parsed: list[int]):
    message = TOOL[:-1] + b" " * (size - len(TOOL)) + b"}"
    async with parties() as all_of_them:
        refused = await all_of_them.post("stranger", message, "/mcp")
        assert refused == (401, "UnregisteredLoginError", 0, size == LARGE)
        assert parsed == []
        assert (await all_of_them.post("ada", message, "/mcp")).status == 200
    assert parsed == [size]


async def test_only_a_large_body_costs_one_more_question_about_the_grant(
    opened: list[str | None],
):
    async with parties() as all_of_them:
        opened.clear()
        assert (await all_of_them.post("ada", zone_of(LARGE - 1))).status == 201
        assert opened == ["define_zone"]
        assert (await all_of_them.post("ada", zone_of(LARGE))).status == 201
        assert opened == ["define_zone"] * 3


async def test_a_login_is_looked_up_once_before_its_messages_are_read(opened: list[str | None]):
    async with parties() as all_of_them:
        opened.clear()
        await all_of_them.post("bob", TOOL, "/mcp")
        first = len(opened)
        await all_of_them.post("bob", TOOL, "/mcp")
    assert len(opened) == 2 * first - 1


@pytest.mark.parametrize(
    ("of_one", "of_all", "of_another"),
    [(2, 9, (403, "UnauthorizedError")), (9, 2, (429, "TooManyRequestsError"))],
)
async def test_only_so_many_large_bodies_are_under_way(
    of_one: int, of_all: int, of_another: tuple[int, str]
):
    limits = replace(GENEROUS, large_bodies_per_principal=of_one, large_bodies=of_all)
    async with parties(limits) as all_of_them:
        arrives = asyncio.Event()

        async def slow() -> int:
            statuses = list[int]()

            async def receive() -> Message:
                await arrives.wait()
                return {"type": "http.request", "body": zone_of(LARGE)}

            async def send(message: Message) -> None:
                if "status" in message:
                    statuses.append(message["status"])

            await all_of_them.edge(posted("ada", "/zones", LARGE), receive, send)
            return statuses[0]

        waiting = [asyncio.create_task(slow()) for _ in range(2)]
        await until_quiet()
        refused = await all_of_them.post("ada", zone_of(LARGE))
        assert refused == (429, "TooManyRequestsError", 0, True)
        assert (await all_of_them.post("bob", zone_of(LARGE)))[:2] == of_another
        assert (await all_of_them.post("ada", ZONE)).status == 201
        arrives.set()
        assert await asyncio.gather(*waiting) == [201, 201]
        assert (await all_of_them.post("ada", zone_of(LARGE))).status == 201


async def until_quiet() -> None:
    """Let every task go on until it waits."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_a_body_of_too_many_values_is_refused_before_one_of_them_is_made(
    monkeypatch: pytest.MonkeyPatch,
):
    body = b'{"name":[%b]}' % b",".join([b"0"] * MAX_VALUES)

    def never(_: bytes) -> None:
        raise AssertionError

    monkeypatch.setattr("beamkeep.runtime.parsing.msgspec.json.decode", never)
    with pytest.raises(MalformedRequestError, match="more than 50,000 names and values"):
        parse_body(body)


@pytest.mark.parametrize(
    "value",
    [
        "0",
        "[ ]",
        '"{\\"[,:"',
    ],
)
def test_a_body_of_as_many_values_as_are_allowed_is_read(value: str):
    body = f'{{"a": [{",".join([value] * (MAX_VALUES - 2))}]}}'
    assert parse_body(body.encode()) == json.loads(body)
    with pytest.raises(MalformedRequestError, match="more than 50,000"):
        parse_body(body.replace("[", "[0,", 1).encode())


def test_marks_within_a_text_are_no_values():
    assert parse_body(b'{"a": "%b"}' % (b",:[{" * 100_000)) == {"a": ",:[{" * 100_000}


def asked(path: str, *headers: tuple[bytes, bytes], token: str | None = None) -> Scope:
    bearer = [(b"authorization", f"Bearer {token}".encode())] if token else []
    return {
        **posted("", path, 0),
        "method": "GET",
        "headers": [(b"host", b"beamkeep.test"), *bearer, *headers],
    }


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


class Unread:
    """A client that takes the head of an answer and nothing more, until it is let."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.messages = list[Message]()

    async def send(self, message: Message) -> None:
        self.messages.append(message)
        if len(self.messages) > 1:
            await self.reads.wait()

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.messages[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.messages)


async def test_a_document_is_made_once_and_sent_no_faster_than_it_is_read():
    made = list[int]()

    def make() -> bytes:
        made.append(1)
        return DOCUMENT

    document = PublicDocument({b"content-type": b"text/plain"}, make)
    edge = Edge(
        EdgeOptions("https://beamkeep.test"),
        [PublicRoute("document", Route("GET", "/document"), document)],
    )
    clients = [Unread() for _ in range(20)]
    sending = [
        asyncio.create_task(edge(asked("/document"), never, client.send)) for client in clients
    ]
    while not all(len(client.messages) > 1 for client in clients):
        await asyncio.sleep(0.001)
    await until_quiet()
    assert made == [1]
    assert {len(client.body) for client in clients} == {PART_BYTES}
    for client in clients:
        client.reads.set()
    await asyncio.gather(*sending)
    assert {client.body for client in clients} == {DOCUMENT}
    assert clients[0].headers[b"content-length"] == b"%d" % len(DOCUMENT)


@pytest.mark.parametrize("size", [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES])
async def test_an_answer_of_any_size_arrives_whole(size: int):
    body = DOCUMENT[:size]

    async def answer(_: HttpRequest) -> HttpResponse:
        return HttpResponse(200, {}, body)

    edge = Edge(
        EdgeOptions("https://beamkeep.test"), [PublicRoute("it", Route("GET", "/it"), answer)]
    )
    client = Unread()
    client.reads.set()
    await edge(asked("/it"), never, client.send)
    assert client.body == body
    assert [each.get("more_body", False) for each in client.messages[1:]][-1] is False
    assert all(len(each.get("body", b"")) <= PART_BYTES for each in client.messages)


async def test_the_document_of_the_interface_is_compressed_for_those_who_accept_it():
    async with parties() as all_of_them:
        plain, compressed = Unread(), Unread()
        for client, accepted in ((plain, b"br"), (compressed, b"br, gzip")):
            client.reads.set()
            sent = asked("/openapi.json", (b"accept-encoding", accepted))
            await all_of_them.edge(sent, never, client.send)
    assert gzip.decompress(compressed.body) == plain.body
    assert json.loads(plain.body)["openapi"].startswith("3.1")
    assert len(compressed.body) * 5 < len(plain.body)
    assert compressed.headers[b"content-encoding"] == b"gzip"
    assert plain.headers[b"vary"] == compressed.headers[b"vary"] == b"accept-encoding"


async def test_an_answer_that_nobody_reads_holds_a_slot_of_its_caller():
    limits = replace(GENEROUS, concurrent_per_principal=2)
    async with parties(limits) as all_of_them:
        clients = [Unread(), Unread()]
        sending = [
            asyncio.create_task(all_of_them.edge(asked("/zones", token="ada"), never, client.send))
            for client in clients
        ]
        await until_quiet()
        assert [client.messages[0]["status"] for client in clients] == [200, 200]
        assert (await all_of_them.post("ada", ZONE)).code == "TooManyRequestsError"
        assert (await all_of_them.post("bob", ZONE)).code == "UnauthorizedError"
        for client in clients:
            client.reads.set()
        await asyncio.gather(*sending)
        assert (await all_of_them.post("ada", ZONE)).status == 201


class Reading:
    """A reader of scan files whose child process never ends by itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.under_way = Counter[str]()
        self.leave = asyncio.Event()
        monkeypatch.setattr(ScanReader, "_parsed", self._parsed)
        self._reader = ScanReader(DataRoots([]), 0, most_hashed=0)
        self._tasks = list[asyncio.Task[object]]()

    async def _parsed(self, request: ReadScanFile, _: object) -> None:
        self.under_way[request.locator] += 1
        await self.leave.wait()
        raise InvalidScanFileError

    def begin(self, times: int, principal_id: UUID | None) -> None:
        locator = f"file:///{principal_id}"
        if principal_id:
            asked = ReadScanFile(locator, None, None, parts=(), principal_id=principal_id)
            self._tasks += [asyncio.create_task(self._reader.read(asked)) for _ in range(times)]
        else:
            self._tasks += [asyncio.create_task(self._reader.found(locator)) for _ in range(times)]

    async def counts(self) -> list[int]:
        await until_quiet()
        return sorted(self.under_way.values(), reverse=True)

    async def end(self) -> None:
        self.leave.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_one_principal_does_not_hold_all_slots_of_scan_files(
    monkeypatch: pytest.MonkeyPatch,
):
    ada, bob = UUID(int=1), UUID(int=2)
    reading = Reading(monkeypatch)
    reading.begin(8, ada)
    assert await reading.counts() == [2]
    reading.begin(8, bob)
    assert await reading.counts() == [2, 2]
    reading.begin(8, None)
    assert await reading.counts() == [2, 2]
    await reading.end()
    assert sorted(reading.under_way.values()) == [8, 8, 8]


async def test_who_waits_for_a_slot_gets_it_when_another_is_done():
    shares, held = FairShares(1), asyncio.Event()

    async def first() -> None:
        async with shares.held("ada"):
            held.set()
            await asyncio.sleep(0)
            raise ValueError

    failing = asyncio.create_task(first())
    await held.wait()
    async with shares.held("bob"):
        pass
    async with shares.held("ada"):
        assert failing.done()
    assert isinstance(failing.exception(), ValueError)
