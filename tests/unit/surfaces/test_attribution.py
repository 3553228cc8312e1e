"""Every line that a call logs says whose call it is, and no line of another call does."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import structlog
from mcp_types import CallToolRequestParams
from structlog.contextvars import merge_contextvars
from tests.support.rest_client import RestClient, rest_client

from beamkeep.contexts.access.profile import IDENTITIES, MONITOR
from beamkeep.contexts.enclosure.enclosure import ObserveEnclosureStatus, PermitStatus
from beamkeep.kernel import SurfaceKind
from beamkeep.runtime.admission import Caller
from beamkeep.surfaces.tools.server import Tools
from beamkeep.telemetry import Telemetry
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import by, memory_service
from beamkeep.workers.reporting import Monitor

pytestmark = pytest.mark.anyio

type Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines() -> Generator[Lines]:
    """What is logged from one look to the next, with what is known of the call."""
    before, written = structlog.get_config(), list[dict[str, Any]]()

    def keep(_: object, __: str, line: Any) -> Any:
        written.append(dict(line))
        raise structlog.DropEvent

    def look() -> list[dict[str, Any]]:
        seen, written[:] = list(written), []
        return seen

    # Not cached: the loggers of modules outlive this test.
    structlog.configure(processors=[merge_contextvars, keep], cache_logger_on_first_use=False)
    yield look
    structlog.configure(**before)


def who(rest: RestClient, subject: str) -> UUID:
    """The id of whom a token of this subject stands for."""
    rows = rest.store.tables[IDENTITIES.name].values()
    (found,) = [row.actor_id for row in rows if (row.issuer, row.subject) == (ISSUER, subject)]
    return found


async def test_a_line_names_who_was_admitted_whatever_came_of_the_call(lines: Lines):
    async with rest_client() as rest:
        lines()
        for name, arguments, subject in (
            ("define_zone", {"name": "Hutch"}, "ada"),
            ("define_zone", {"name": ""}, "ada"),
            ("list_zones", {}, "ada"),
            ("define_zone", {"name": "Hutch"}, "bob"),
        ):
            await rest.send(name, arguments, token=subject)
            (line,) = lines()
            assert (line["event"], line["principal_id"]) == ("call", who(rest, subject))


async def test_a_call_of_nobody_names_nobody_not_even_who_called_before(lines: Lines):
    async with rest_client() as rest:
        await rest.send("list_zones", {}, token="ada")
        lines()
        for token in (None, "stranger", "nonsense"):
            await rest.send("list_zones", {}, token=token)
        structlog.get_logger().info("beside any call")
        found = lines()
    assert [line["event"] for line in found] == ["token refused", "call"] * 3 + ["beside any call"]
    assert not any("principal_id" in line for line in found)
    assert "correlation_id" not in found[-1]


async def test_every_line_on_the_way_of_a_call_is_attributed(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
):
    async with rest_client() as rest:
        lines()

        async def fails(*_: object) -> None:
            structlog.get_logger().warning("odd")
            raise RuntimeError

        monkeypatch.setattr(rest.store, "append", fails)
        monkeypatch.setattr(rest.store, "deny", fails)
        for subject in ("ada", "bob"):
            id = uuid4()
            await rest.send("define_zone", {"name": "A"}, token=subject, x_correlation_id=str(id))
            found = lines()
            assert len(found) == 3
            assert {line["principal_id"] for line in found} == {who(rest, subject)}
            assert {line["correlation_id"] for line in found} == {id}


async def test_calls_that_interleave_are_distinguished(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
):
    async with rest_client() as rest:
        both = asyncio.Barrier(2)

        def together(then: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def meeting(*arguments: Any) -> Any:
                structlog.get_logger().info("before")
                await both.wait()
                structlog.get_logger().info("after")
                return await then(*arguments)

            return meeting

        # Ada's zone is written while Bob's is denied.
        monkeypatch.setattr(rest.store, "append", together(rest.store.append))
        monkeypatch.setattr(rest.store, "deny", together(rest.store.deny))
        lines()
        ids = {subject: uuid4() for subject in ("ada", "bob")}
        await asyncio.gather(
            *(
                rest.send("define_zone", {"name": name}, token=name, x_correlation_id=str(id))
                for name, id in ids.items()
            )
        )
        found = lines()
        expected = {id: who(rest, subject) for subject, id in ids.items()}
    assert sorted(line["event"] for line in found) == sorted(["before", "after", "call"] * 2)
    assert all(expected[line["correlation_id"]] == line["principal_id"] for line in found)
    assert len({line["principal_id"] for line in found}) == 2


async def test_a_tool_is_called_by_somebody_too(lines: Lines):
    service, store = await memory_service()
    (ada,) = [r.actor_id for r in store.tables[IDENTITIES.name].values() if r.subject == "ada"]

    async def caller(_: object) -> Caller:
        return by("ada", SurfaceKind.MCP_STREAMABLE_HTTP)

    tools = Tools(service, caller, Telemetry())
    lines()
    context = SimpleNamespace(method="tools/call", request=None)
    await tools.call(context, CallToolRequestParams(name="list_zones"))  # pyright: ignore[reportArgumentType]
    structlog.get_logger().info("beside any call")
    found = lines()
    assert [line.get("principal_id") for line in found] == [ada, None]


async def test_what_a_worker_reports_is_the_monitors(lines: Lines):
    service, _ = await memory_service()
    lines()
    absent = ObserveEnclosureStatus(
        enclosure_id=uuid4(), permit_status=PermitStatus.PERMITTED, reason="PV", monitor_ref="PV"
    )
    await Monitor(service.sender, uuid4).report(absent)
    structlog.get_logger().info("beside any call")
    found = lines()
    assert [line.get("principal_id") for line in found] == [MONITOR, None]
