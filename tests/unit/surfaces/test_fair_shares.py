"""What one caller can take from the others, by counts."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from starlette.types import Message, Scope
from tests.support.rest_client import GENEROUS, rest_application

from beamkeep.adapters.memory_store import MemoryStore
from beamkeep.kernel import replace
from beamkeep.runtime import Service, parsing
from beamkeep.runtime.parsing import MalformedRequestError, parse_body
from beamkeep.runtime.store import CallContext, CallLookup
from beamkeep.schemas.plain import MAX_VALUES
from beamkeep.surfaces.http.edge import Edge
from beamkeep.surfaces.http.limits import Limits
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import call, memory_service

pytestmark = pytest.mark.anyio

LARGE = Limits().large_body_bytes + 1
ZONE = b'{"name":"Hutch"}'
TOOL = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


class Answered(NamedTuple):
    status: int
    code: str
    parts_read: int


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
        return Answered(written[0]["status"], json.loads(told).get("code", ""), read)


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
    [("stranger", (401, "UnregisteredLoginError", 0)), ("bob", (403, "UnauthorizedError", 0))],
)
async def test_a_large_body_is_not_read_before_the_call_is_permitted(
    token: str, refused: tuple[int, str, int], in_chunks: bool, parsed: list[int]
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
        assert refused == (401, "UnregisteredLoginError", 0)
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
        assert refused == (429, "TooManyRequestsError", 0)
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
