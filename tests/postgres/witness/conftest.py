"""A witness on a database, with a key of its own."""

import subprocess
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.parts.witness.keys import TreeFile, make_key, signing_key
from beamkeep.parts.witness.postgres import READING
from beamkeep.parts.witness.postgres_proving import PostgresProving
from beamkeep.parts.witness.postgres_reading import PostgresWitnessReader
from beamkeep.parts.witness.proving import Anchoring
from beamkeep.parts.witness.receivers import CheckpointReceiver
from beamkeep.parts.witness.signing import SIGN_EVERY, Witness
from beamkeep.parts.witness.trees.leaves import StoredCheckpoint, Tree
from beamkeep.parts.witness.trees.notes import read_note
from beamkeep.testing.database import Database
from beamkeep.testing.waiting import until
from beamkeep.testing.witness import NAME, ORIGIN

# The rows of a run and of a decision, and a zone: each statement is one transaction.
WRITE_EVENT = """
INSERT INTO bk.events (version, stream_id, event_id, principal_id, correlation_id, occurred_at,
                       schema_version, stream_type, event_type, command_name, payload)
SELECT 1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), 1,
       'Zone', 'ZoneDefined', 'define_zone', json_build_object('name', 'Hall ' || n)
  FROM generate_series(1, %s) AS n
"""
WRITE_ENTRY = """
INSERT INTO bk.run_logbook_entry (entry_id, run_id, author_id, kind, text, recorded_at)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'Note', 'Beam lost ' || n, now()
  FROM generate_series(1, %s) AS n
"""
WRITE_OBSERVATION = """
INSERT INTO bk.run_observation (observation_id, run_id, channel_name, value, sampling_procedure,
                                sampled_at, simulated, recorded_at, principal_id)
SELECT gen_random_uuid(), gen_random_uuid(), 'current', n * 0.1, 'Mean', now(), false, now(),
       gen_random_uuid()
  FROM generate_series(1, %s) AS n
"""

IS_BEHIND = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint > %s"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.moved = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.moved


class Following:
    """A witness that is driven step by step."""

    def __init__(self, database: Database, key_file: Path) -> None:
        self.database, self.key_file, self.clock = database, key_file, Clock()
        self.connections = Connections(database.url("bk_witness"), 2, **READING)
        self.store = PostgresProving(self.connections)
        self.reading = database.connections(2)
        self.reader = PostgresWitnessReader(self.reading)
        self.witness = self.anew()
        self.receivers: list[CheckpointReceiver] = []

    def anew(self) -> Witness:
        """Another process with the same key."""
        keys = [signing_key(self.key_file)]
        return Witness(self.store, keys, ORIGIN, clock=self.clock)

    @property
    def verifier_key(self) -> str:
        return signing_key(self.key_file).signer.key().text

    async def caught_up(self) -> None:
        """Follow to the end of the log, and sign there."""
        await self.settled()
        while await self.turn():
            pass
        self.clock.moved += 2 * SIGN_EVERY
        await self.turn()

    async def settled(self) -> None:
        """Wait until the witness reads everything that was written."""
        # Whatever else runs in the cluster, such as a vacuum, holds the horizon back.
        ((newest,),) = self.database.ask("SELECT pg_current_xact_id()::text::bigint")
        await until(lambda: self.database.ask(IS_BEHIND, newest)[0][0], "the horizon moves on")

    async def turn(self) -> bool:
        """One step of each tree, and checkpoints to all receivers."""
        sent = TreeFile(self.key_file.with_name("key.sent"))
        return await self.witness.turn(self.receivers, sent)

    async def anchor(self, reason: str, is_diverged: bool = False) -> str:
        """What the operator does after a restore, for the tree of events."""
        keys = [signing_key(self.key_file)]
        anchoring = Anchoring(keys, ORIGIN, reason, is_diverged=is_diverged)
        return await anchoring.anchor(self.store, Tree.EVENTS)

    async def close(self) -> None:
        await self.connections.close()
        await self.reading.close()

    async def last(self, tree: Tree) -> StoredCheckpoint:
        found = await self.store.checkpoints(tree)
        note = read_note(found[-1].note)
        assert note.signed_by([signing_key(self.key_file).signer.key()])
        assert (note.checkpoint.size, note.checkpoint.root) == (found[-1].size, found[-1].root)
        return found[-1]


@pytest.fixture
async def following(database: Database, tmp_path: Path) -> AsyncGenerator[Following]:
    make_key(NAME, tmp_path / "key")
    following = Following(database, tmp_path / "key")
    yield following
    await following.close()


def without_rows(following: Following) -> None:
    """Take the rows that a new service has out of the tree of rows, before it is followed."""
    following.database.ask("DELETE FROM bk.profile_digest")


def dumped(database: Database) -> Database:
    """The same as another database, by a logical dump."""
    copy = Database(database.cluster, f"{database.name}_dumped")
    copy.cluster.create_database(copy.name)
    dump = ["pg_dump", "-d", database.url("postgres")]
    restore = ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", copy.url("postgres")]
    with subprocess.Popen(dump, stdout=subprocess.PIPE) as dumping:
        subprocess.run(restore, stdin=dumping.stdout, capture_output=True, check=True)
    assert dumping.returncode == 0
    # Privileges of a database are not dumped with it.
    copy.ask(f"GRANT CONNECT ON DATABASE {copy.name} TO bk_reader, bk_witness")
    return copy
