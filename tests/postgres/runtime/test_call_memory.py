"""What a process remembers of its last commands: one statement, and what ends it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from beamkeep.adapters.postgres.append_writer import AppendWriter
from beamkeep.adapters.postgres.connections import Connections
from beamkeep.kernel import Refusal
from beamkeep.runtime import Service
from beamkeep.runtime.store import AlreadyAnsweredError, Append
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import Deployed, connected, postgres_service
from beamkeep.testing.service import call

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

REASON = {"reason": "No beam"}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that any connection was asked to carry out."""
    statements, fetch = list[str](), Connections.fetch

    async def noting(self: Connections, statement: str, *arguments: Any) -> list[Any]:
        statements.append(statement)
        return await fetch(self, statement, *arguments)

    monkeypatch.setattr(Connections, "fetch", noting)
    return statements


async def do(
    service: Service, id: UUID, verb: str, arguments: Mapping[str, Any] = {}, **more: Any
) -> Any:
    """Make a command of a campaign."""
    named = {"campaign_id": str(id), **arguments}
    return await call(service, f"{verb}_campaign", named, **more)


async def running(place: Deployed) -> UUID:
    """Return a campaign that this process has held and resumed."""
    me = (await call(place.service, "register_actor", {"name": "Ada"})).id
    arguments = {"name": "Alloys", "intent": "Series", "lead_actor_id": str(me)}
    id: UUID = (await call(place.service, "register_campaign", arguments)).id
    for verb, more in (("start", {}), ("hold", REASON), ("resume", {})):
        await do(place.service, id, verb, more)
    return id


async def test_a_command_that_is_remembered_takes_one_statement(
    database: Database, sent: list[str]
):
    async with postgres_service(database) as place:
        id = await running(place)
        sent.clear()
        await do(place.service, id, "hold", REASON, idempotency_key="k")
        assert len(sent) == 1
        sent.clear()
        again = await do(place.service, id, "hold", REASON, idempotency_key="k")
        assert (len(sent), again.replayed) == (1, True)
        sent.clear()
        with pytest.raises(Refusal):
            await do(place.service, id, "hold", REASON)
        assert len(sent) == 1


async def test_processes_that_change_one_object_in_turns_read_it_each_time(
    database: Database, sent: list[str]
):
    async with (
        postgres_service(database) as place,
        postgres_service(database, seeds=False) as other,
    ):
        id, took = await running(place), list[tuple[int, int]]()
        for each in (place, other) * 3:
            sent.clear()
            await do(each.service, id, "hold", REASON)
            held = len(sent)
            sent.clear()
            await do(each.service, id, "resume")
            took.append((held, len(sent)))
        alone, first = (1, 1), (3, 2)  # The other process also looks up the surface.
        outdated, each_time = (3, 2), (2, 2)
        assert took == [alone, first, outdated, outdated, each_time, each_time]
        assert len((await place.store.load([("Campaign", id)]))["Campaign", id].events) == 16


async def test_a_request_that_another_process_answered_makes_no_error_in_the_database(
    database: Database, sent: list[str], monkeypatch: pytest.MonkeyPatch
):
    failed = list[str]()

    async def noted(_: AppendWriter, append: Append, table: str) -> Exception:
        failed.append(table)
        return AlreadyAnsweredError()

    monkeypatch.setattr(AppendWriter, "_conflict", noted)
    async with (
        postgres_service(database) as place,
        postgres_service(database, seeds=False) as other,
    ):
        await call(place.service, "define_zone", {"name": "Hall"})
        first = await call(other.service, "define_zone", {"name": "Hutch"}, idempotency_key="k")
        sent.clear()
        again = await call(place.service, "define_zone", {"name": "Hutch"}, idempotency_key="k")
        assert (again.body, again.replayed) == (first.body, True)
        assert len(sent) == 2, "an append that writes nothing, and the answer"
    assert failed == [], "the log of the database shows each INSERT that failed"


async def test_a_lost_connection_ends_all_memory(database: Database, sent: list[str]):
    async with postgres_service(database) as place:
        id = await running(place)
        async with connected(database, "postgres") as watch:
            await watch.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        # A call that only reads finds the connection gone.
        await call(place.service, "get_campaign", {"campaign_id": str(id)})
        sent.clear()
        await do(place.service, id, "hold", REASON)
        assert len(sent) == 2
        sent.clear()
        await do(place.service, id, "resume")
        assert len(sent) >= 1
