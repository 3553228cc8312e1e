"""Snapshots that somebody else wrote: they decide nothing that protects people, and are found."""

from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from tests.support.examples.starting import start_run

from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.enclosure.enclosure import (
    EnclosurePermitObserved,
    PermitStatus,
    enclosures,
)
from beamkeep.contexts.seams.protecting import WHOLE
from beamkeep.contexts.starting.checks import RunRequiresPermittedEnclosureError
from beamkeep.contexts.trust.trigger import TriggerSource
from beamkeep.kernel import replace
from beamkeep.parts.witness.proving import verify_record
from beamkeep.runtime.session import SNAPSHOT_EVERY
from beamkeep.runtime.store import LoadedStream
from beamkeep.testing.appends import append, at
from beamkeep.testing.database import Database
from beamkeep.testing.past import NOW
from beamkeep.testing.postgres import Deployed
from beamkeep.testing.service import AdminClient
from beamkeep.workers.auditing import CODEC, differences

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

FORGE = """
INSERT INTO bk.snapshots (fold, stream_type, stream_id, version, owner_id, state)
VALUES (%s, 'Enclosure', %s, %s, %s, %s)
ON CONFLICT (fold, stream_type, stream_id) DO UPDATE
   SET version = EXCLUDED.version, owner_id = EXCLUDED.owner_id, state = EXCLUDED.state
"""


class Hutch:
    """A hutch of a run that could start if the hutch were not closed."""

    def __init__(self, deployed: Deployed, database: Database) -> None:
        self.store, self.database = deployed.store, database
        self.do = AdminClient(deployed.service, deployed.store)
        self.run: dict[str, Any] = {}
        self.id = UUID(int=0)

    async def close(self) -> None:
        """Prepare the run, and take the permit away."""
        self.run = await start_run(self.do)
        statement = "SELECT stream_id FROM bk.events WHERE event_type = 'EnclosureRegistered'"
        ((id,),) = self.database.ask(statement)
        self.id = UUID(str(id))
        told = {"reason": "Search button", "monitor_ref": "PSS:A"}
        await self.do(
            "observe_enclosure_status",
            {"enclosure_id": str(self.id), "permit_status": "NotPermitted", **told},
        )

    async def loaded(self) -> LoadedStream:
        return (await self.store.load([("Enclosure", self.id)]))[("Enclosure", self.id)]

    async def lengthen(self, to: int) -> None:
        """Have the permit taken away again and again."""
        length = len((await self.loaded()).events)
        again = EnclosurePermitObserved(
            NOW,
            self.id,
            from_permit_status=PermitStatus.NOT_PERMITTED,
            to_permit_status=PermitStatus.NOT_PERMITTED,
            trigger=TriggerSource.MONITOR,
            monitor_ref="PSS:A",
            reason="Search button",
        )
        events = [at(version, again) for version in range(length + 1, to + 1)]
        await self.store.append(append(*events))

    async def forge(self, owner_id: UUID | None = None) -> int:
        """Write a snapshot in which the hutch is permitted, and return its version."""
        events = (await self.loaded()).events
        state = CODEC.fold(enclosures, events)
        assert state is not None
        forged = CODEC.snapshot(replace(state, permit_status=PermitStatus.PERMITTED), len(events))
        fold = CODEC.folds["Enclosure"]
        owner_id = owner_id or uuid4()
        self.database.ask(FORGE, fold, self.id, forged.version, owner_id, forged.state.decode())
        return forged.version

    async def found(self) -> list[str]:
        """What `check` and what `verify` say is wrong."""
        async with ledger(self.database.url()) as rows:
            checked = [each async for each in differences(rows)]
        told = verify_record(self.database.url("bk_reader"), None, None, lambda _: None)
        assert checked == [line async for is_fault, line in told if is_fault]
        return checked


@pytest.fixture
async def hutch(deployed: Deployed, database: Database) -> Hutch:
    hutch = Hutch(deployed, database)
    await hutch.close()
    return hutch


@pytest.mark.parametrize("length", [4, SNAPSHOT_EVERY, WHOLE - 1])
async def test_a_forged_snapshot_starts_no_run_in_a_closed_hutch_and_is_found(
    hutch: Hutch, length: int
):
    await hutch.lengthen(length)
    assert await hutch.found() == []
    with pytest.raises(RunRequiresPermittedEnclosureError):
        await hutch.do("start_run", hutch.run)
    version = await hutch.forge()
    assert version == length
    with pytest.raises(RunRequiresPermittedEnclosureError):
        await hutch.do("start_run", hutch.run)
    shown = await hutch.do("get_enclosure", {"enclosure_id": str(hutch.id)})
    assert shown["permit_status"] == "NotPermitted"
    told = f"The snapshot of Enclosure {hutch.id} at version {length}"
    assert await hutch.found() == [f"{told} is not what the events say. Delete the snapshot."]


async def test_a_snapshot_beyond_the_end_or_of_another_owner_is_found(hutch: Hutch):
    await hutch.lengthen(SNAPSHOT_EVERY)
    state = CODEC.snapshot(CODEC.fold(enclosures, (await hutch.loaded()).events), 1).state.decode()
    told, fold = f"The snapshot of Enclosure {hutch.id} at version", CODEC.folds["Enclosure"]
    hutch.database.ask(FORGE, fold, hutch.id, WHOLE, uuid4(), state)
    beyond = f"{told} {WHOLE} is forged: the stream has {SNAPSHOT_EVERY} events."
    assert await hutch.found() == [f"{beyond} Delete the snapshot."]
    other = uuid4()
    hutch.database.ask(FORGE, fold, hutch.id, SNAPSHOT_EVERY, other, state)
    assert await hutch.found() == [
        f"{told} {SNAPSHOT_EVERY} has owner {other}, who did not begin the stream."
    ]


async def test_a_long_stream_has_a_snapshot_and_a_short_one_of_this_kind_has_none(hutch: Hutch):
    kept = "SELECT version FROM bk.snapshots WHERE stream_id = %s"
    told = {"reason": "Search button", "monitor_ref": "PSS:A", "enclosure_id": str(hutch.id)}
    states = ("Permitted", "NotPermitted")
    await hutch.lengthen(WHOLE - 2)
    for number in range(2):
        assert hutch.database.ask(kept, hutch.id) == []
        await hutch.do("observe_enclosure_status", {**told, "permit_status": states[number % 2]})
    assert hutch.database.ask(kept, hutch.id) == [(WHOLE,)]
    assert await hutch.found() == []
    await hutch.lengthen(WHOLE + SNAPSHOT_EVERY - 1)
    await hutch.do("observe_enclosure_status", {**told, "permit_status": "Permitted"})
    assert hutch.database.ask(kept, hutch.id) == [(WHOLE + SNAPSHOT_EVERY,)]
    assert await hutch.found() == []


def test_the_streams_that_are_folded_whole_are_those_that_protect_people():
    whole = {name: each.snapshots_from for name, each in CATALOGUE.aggregates.items()}
    assert {name: length for name, length in whole.items() if length} == {
        "Clearance": WHOLE,
        "Enclosure": WHOLE,
        "Policy": WHOLE,
        "Supply": WHOLE,
        "Team": WHOLE,
    }


def test_the_service_cannot_change_a_snapshot(database: Database):
    with (
        psycopg.connect(database.url("bk_app")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("UPDATE bk.snapshots SET state = '{}'")
