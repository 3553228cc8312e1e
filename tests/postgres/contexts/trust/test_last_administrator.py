"""The last administrator, through the whole service: whoever is removed at once, one stays."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any, NamedTuple

import pytest

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.contexts.access.actor import (
    ADMINISTRATORS,
    DeactivateActor,
    LastAdministratorError,
    actors,
)
from beamkeep.contexts.access.profile import IDENTITIES
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.administrators import actor_removal
from beamkeep.deployment.service import compose
from beamkeep.kernel import Refusal, SurfaceKind
from beamkeep.runtime import Service
from beamkeep.testing.database import Database
from beamkeep.testing.installation import FACTS, ISSUER
from beamkeep.testing.postgres import connected
from beamkeep.testing.service import call, memory_service
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.anyio

WAYS = ("deactivate", "forget", "unbind", "revoke")
BOTH_WAIT = """
SELECT count(*) = 2 FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event = 'advisory'
"""


class Removed(NamedTuple):
    """An administrator, and what takes them away."""

    command: str
    arguments: dict[str, str]
    by: str = "gate"
    """Who removes them: only a person unbinds the login of a person."""


async def gate(service: Service, command: str, arguments: dict[str, Any]) -> Any:
    """Call as a machine account that may do everything, and is no administrator."""
    return await call(service, command, arguments, subject="gate")


async def an_administrator(service: Service, subject: str) -> dict[str, Removed]:
    """A person who is permitted everything, and each way to remove them."""
    login = {"issuer": ISSUER, "subject": subject}
    made = await gate(service, "register_actor", {"name": subject, "identities": [login]})
    actor_id = str(made.id)
    everything = {
        "name": "Administrators",
        "conduit_id": str(seeded.ENTRY),
        "surface_id": str(seeded.SURFACES[SurfaceKind.HTTP]),
        "permitted_principal_ids": [actor_id],
        "permitted_commands": ["*"],
        "object_scope": "All",
    }
    policy_id = str((await gate(service, "define_policy", everything)).id)
    actor = {"actor_id": actor_id}
    grant = {"policy_id": policy_id, "permitted_principal_id": actor_id, "reason": "left"}
    return {
        "deactivate": Removed("deactivate_actor", actor),
        "forget": Removed("forget_actor", actor),
        "unbind": Removed("unbind_actor_identity", actor | login, by=subject),
        "revoke": Removed("revoke_grant", grant),
    }


async def remove(service: Service, removed: Removed) -> object:
    try:
        return await call(service, removed.command, removed.arguments, subject=removed.by)
    except Refusal as refusal:
        return type(refusal)


async def without_ada(service: Service) -> None:
    """Leave the administration to whoever else has it."""
    (login,) = await service.sessions().rows(IDENTITIES, issuer=ISSUER, subject="ada")
    await gate(service, "deactivate_actor", {"actor_id": str(login.actor_id)})


@pytest.mark.parametrize("way", WAYS)
async def test_of_two_administrators_one_goes_and_the_other_does_not(way: str):
    service, store = await memory_service()
    grace = await an_administrator(service, "grace")
    otto = await an_administrator(service, "otto")
    await without_ada(service)
    assert not isinstance(await remove(service, grace[way]), type)
    position = store.position
    for each in otto.values():
        assert await remove(service, each) is LastAdministratorError
    assert store.position == position


async def test_every_removal_holds_an_administrator_who_stays_to_stay():
    # Somebody who is no administrator may be made the last one before the removal is written.
    service, _ = await memory_service()
    otto = (await gate(service, "register_actor", {"name": "otto"})).id
    session = service.sessions()
    command = DeactivateActor(actor_id=otto)
    await actor_removal(await session.one(actors, otto), command, session)
    (ada,) = await session.rows(IDENTITIES, issuer=ISSUER, subject="ada")
    assert ("Actor", ada.actor_id) in session.versions
    assert {type for type, _ in session.versions} == {"Actor", "Policy"}


@asynccontextmanager
async def patient_service(database: Database) -> AsyncGenerator[Service]:
    """A service whose connections wait for a lock as long as a test needs."""
    patient = database.connections(lock_timeout="10000", statement_timeout="10000")
    store = PostgresEventStore(patient, database.url())
    lists, cursor_key = PostgresLists(patient), await store.cursor_key()
    try:
        yield compose(store, lists, cursor_key, facts=FACTS)
    finally:
        await patient.close()


async def at_once(database: Database, service: Service, *removals: Removed) -> list[object]:
    """Let both decide before either writes."""
    async with (
        connected(database, "postgres") as blocking,
        connected(database, "postgres") as watching,
        asyncio.TaskGroup() as tasks,
        blocking.transaction(),
    ):
        lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 2))"
        await blocking.execute(lock, ADMINISTRATORS)
        both = [tasks.create_task(remove(service, removed)) for removed in removals]

        async def both_wait() -> bool:
            return await watching.fetchval(BOTH_WAIT)

        await until(both_wait)
    return [task.result() for task in both]


@pytest.mark.postgres
async def test_of_two_administrators_removed_at_once_one_stays(database: Database):
    async with patient_service(database) as service:
        stays = await an_administrator(service, "first")
        await without_ada(service)
        for number, (one, other) in enumerate(product(WAYS, WAYS)):
            comes = await an_administrator(service, f"next{number}")
            ends = await at_once(database, service, stays[one], comes[other])
            assert ends.count(LastAdministratorError) == 1, (one, other)
            stays = stays if ends[0] is LastAdministratorError else comes
