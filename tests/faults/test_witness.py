"""The witness under kills: nothing false is signed, and nothing true is refused."""

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple
from uuid import uuid4

import pytest
from benchmarks.loading import load_visits

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.parts.witness.keys import make_key, signing_key
from beamkeep.parts.witness.postgres import READING
from beamkeep.parts.witness.postgres_proving import PostgresProving
from beamkeep.parts.witness.proving import Anchoring, verify_record
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.parts.witness.trees.notes import read_note, read_notes
from beamkeep.parts.witness.trees.tree import root_of
from beamkeep.testing.cluster import Cluster, await_paused
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import (
    MIGRATED,
    PREPARED,
    connected,
    fresh_database,
    postgres_service,
)
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.waiting import until
from beamkeep.testing.witness import NAME, ORIGIN, follow
from tests.faults.conftest import Report
from tests.faults.report import ROOT, asked, rounds
from tests.faults.witness_worker import BROKEN, FORGETFUL, HASTY, REFUSED, SOUND
from tests.postgres.witness.conftest import WRITE_EVENT, dumped
from tests.postgres.witness.test_following import EVENT_FIELDS, hashed

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

EVENTS_OF_A_VISIT = 20
# Above this, only `verify` computes the log again: it is compared with this way in other tests.
MOST_COMPARED = 50_000
FAULTS = ("doubled", "differing", "false_alarms", "broken")
KEPT = ("events", "witness_tree", "witness_tile", "witness_checkpoint")


class Life:
    """A database that is written to and taken back, while two witnesses are killed."""

    def __init__(self, database: Database, folder: Path, variant: str) -> None:
        self.database, self.journal, self.key_file = database, folder / "journal", folder / "key"
        self.key = make_key(NAME, self.key_file).key().text
        self.journal.touch()
        url = database.url("bk_witness")
        given = [url, str(self.key_file), str(self.journal), variant]
        self._forks = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.witness_worker", *given],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._workers: list[int] = []
        self.kills = self.backs = self._since = 0
        self.roots: dict[tuple[str, int], set[bytes]] = defaultdict(set)
        self._logs: list[Log] = []

    def start(self) -> None:
        """Have two witnesses."""
        self._workers = [each for each in self._workers if _is_alive(each)]
        ask, answer = self._pipes()
        while len(self._workers) < 2:
            ask.write("\n")
            ask.flush()
            self._workers.append(int(answer.readline()))

    def kill(self, number: int) -> None:
        """Kill some witnesses, whatever they do at this instant."""
        for worker in self._workers[:number]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                self.kills += 1
        self._workers = self._workers[number:]

    def pause(self) -> None:
        """Pause every witness, and return when all are paused."""
        for worker in self._workers:
            os.kill(worker, signal.SIGSTOP)
        await_paused(self._workers)

    def go_on(self) -> None:
        """Resume paused witnesses."""
        for worker in self._workers:
            os.kill(worker, signal.SIGCONT)

    def ended(self) -> int:
        """Return how many witnesses have ended by themselves."""
        return sum(not _is_alive(worker) for worker in self._workers)

    def end(self) -> None:
        self.kill(2)
        ask, answer = self._pipes()
        ask.close()
        self._forks.wait()
        answer.close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        return self._forks.stdin, self._forks.stdout

    def write(self, transactions: int, most: int = 3) -> None:
        for number in range(transactions):
            self.database.ask(WRITE_EVENT, 1 + number * 7 % most)

    def notes(self) -> list[str]:
        """What was signed since the database was taken back."""
        text = self.journal.read_text()[self._since :].replace(REFUSED, "").replace(BROKEN, "")
        return [each for each in read_notes(text) if each.count("\n") > 3 and each.endswith("\n")]

    def refusals(self) -> int:
        return self.journal.read_text()[self._since :].count(REFUSED)

    def broken(self) -> int:
        """Return how many witnesses ended with an error."""
        return self.journal.read_text().count(BROKEN)

    async def write_signed(self, transactions: int, most: int = 3) -> None:
        """Write, and wait until something is signed, unless the witnesses refuse."""
        before = len(self.notes())
        self.write(transactions, most)
        await until(
            lambda: len(self.notes()) > before or not any(map(_is_alive, self._workers)),
            "a signature",
        )

    async def signs_each(self, times: int) -> None:
        """Write one event at a time, and have each signed."""
        for _ in range(times):
            await self.write_signed(1)

    def save(self) -> None:
        """Make a backup of one instant."""
        self.database.ask("DROP SCHEMA IF EXISTS saved CASCADE")
        self.database.ask("CREATE SCHEMA saved")
        for table in KEPT:
            self.database.ask(f"CREATE TABLE saved.{table} (LIKE bk.{table})")
        copies = [
            f"{table} AS (INSERT INTO saved.{table} SELECT * FROM bk.{table})" for table in KEPT
        ]
        self.database.ask(f"WITH {', '.join(copies)} SELECT 1")

    def take_back(self) -> None:
        """Restore the backup at one instant."""
        self._logs = [self.log()]
        restored = [
            f"DELETE FROM bk.{table}; INSERT INTO bk.{table} SELECT * FROM saved.{table};"
            for table in KEPT[1:]
        ]
        self.database.ask(
            f"""DO $$ BEGIN
                  ALTER TABLE bk.events DISABLE TRIGGER ALL;
                  LOCK TABLE bk.witness_tree, bk.witness_tile, bk.witness_checkpoint;
                  DELETE FROM bk.events WHERE position NOT IN (SELECT position FROM saved.events);
                  {"".join(restored)}
                END $$"""
        )
        self.backs += 1

    def look_anew(self) -> None:
        """Compare only what is signed from now on with the log."""
        self._since = len(self.journal.read_text())

    async def anchor(self) -> None:
        """Say what happened, as the operator does."""
        self._logs = []
        async with proving(self.database) as store:
            anchoring = Anchoring([signing_key(self.key_file)], ORIGIN, "Taken back", True)
            await anchoring.anchor(store, Tree.EVENTS)

    def differing(self) -> set[tuple[str, int]]:
        """Return what was signed that a straight recomputation of the log differs from.

        A witness may sign what it read before the log was taken back.
        """
        logs, wrong = [self.log(), *self._logs], set[tuple[str, int]]()
        for note in self.notes():
            origin, size, root = read_note(note).checkpoint
            self.roots[origin, size].add(root)
            number = int(origin.rpartition("-")[2])
            if root not in [log.root(number, size) for log in logs]:
                wrong.add((origin, size))
        return wrong

    def log(self) -> "Log":
        """Return what is in the trees of events."""
        return log_of(self.database)

    def doubled(self) -> int:
        """Return of how many sizes two roots were signed."""
        return sum(len(roots) > 1 for roots in self.roots.values())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


class Log(NamedTuple):
    """The hashes of the anchors and of the events."""

    anchors: list[bytes]
    leaves: list[bytes]

    def root(self, number: int, size: int) -> bytes | None:
        """Return the root of a tree of some size; None when there is no such tree."""
        first = self.anchors[number - 2 : number - 1] if number > 1 else []
        known = [*first, *self.leaves]
        return root_of(known[:size]) if size <= len(known) else None


def log_of(database: Database) -> Log:
    """Return what is in the trees of events of a database."""
    rows = database.ask("SELECT leaf FROM bk.witness_anchor WHERE leaf IS NOT NULL")
    fields = database.ask(EVENT_FIELDS)
    texts = ["\n".join("-" if f is None else str(f) for f in row) for row in fields]
    leaves = [hashed(f"beamkeep/event/v1\n{text}") for text in texts]
    return Log([hashed(str(leaf)) for (leaf,) in rows], leaves)


class proving:  # noqa: N801
    """A store of the witness for as long as a block lasts."""

    def __init__(self, database: Database) -> None:
        self._connections = Connections(database.url("bk_witness"), 2, **READING)

    async def __aenter__(self) -> PostgresProving:
        return PostgresProving(self._connections)

    async def __aexit__(self, *_: object) -> None:
        await self._connections.close()


@contextmanager
def living(database: Database, folder: Path, variant: str) -> Generator[Life]:
    life = Life(database, folder, variant)
    try:
        yield life
    finally:
        life.end()


async def live(life: Life, times: Iterable[int]) -> dict[str, int]:
    """Write, kill and take back as often as asked, and count what was signed wrongly."""
    signed, differing, false_alarms = 0, set[tuple[str, int]](), 0
    life.write(5)
    for number in times:
        random = dice(seed(), "witness", number)
        life.start()
        is_back = number % 2 == 0
        if is_back:
            life.save()
        for _ in range(3):
            await life.signs_each(random.randint(1, 4))
            life.kill(random.randint(1, 2))
            life.start()
            await life.write_signed(random.randint(1, 5), most=90)
        false_alarms += life.refusals()
        if not is_back:
            continue
        signed += len(life.notes())
        differing |= life.differing()
        life.take_back()
        life.look_anew()
        life.kill(random.randint(0, 2))
        life.start()
        # The sound ones refuse; the others sign another root, or what was never the log.
        await life.signs_each(random.randint(6, 20))
        differing |= life.differing()
        life.kill(2)
        await life.anchor()
        life.look_anew()
    life.start()
    await life.signs_each(2)
    life.kill(2)
    false_alarms += life.refusals()
    differing |= life.differing()
    return {
        "kills": life.kills,
        "taken_back": life.backs,
        "signatures": signed + len(life.notes()),
        "doubled": life.doubled(),
        "differing": len(differing),
        "false_alarms": false_alarms,
        "broken": life.broken(),
    }


async def verified(database: Database, notes: str, key: str) -> list[str]:
    # The anchors are known: the test itself has written them.
    known = database.ask(
        """SELECT concat(tree, '-', number, CASE WHEN leaf IS NULL THEN '-from-' || floor END)
             FROM bk.witness_anchor"""
    )
    names = [str(name) for (name,) in known]
    told = verify_record(database.url("bk_reader"), notes, key, lambda _: None, names)
    return [line async for is_fault, line in told if is_fault]


async def test_no_size_has_two_roots_whatever_is_killed_or_taken_back(
    cluster: Cluster, tmp_path: Path, report: Report
):
    with living(fresh_database(cluster, MIGRATED), tmp_path, SOUND) as life:
        figures = await live(life, rounds("WITNESS_LIVES", 6, 3, 40.0))
        report("T34 witness under kills", figures)
        assert {name: figures[name] for name in FAULTS} == dict.fromkeys(FAULTS, 0)
        sent = life.database.ask(
            "SELECT note FROM bk.witness_checkpoint WHERE number > %s", life.backs
        )
        assert await verified(life.database, "".join(str(note) for (note,) in sent), life.key) == []
        assert figures["signatures"] > figures["kills"] > figures["taken_back"] > 0


@pytest.mark.parametrize(
    ("variant", "words"), [(FORGETFUL, "without a memory"), (HASTY, "without the condition")]
)
async def test_a_careless_witness_is_found_out(
    cluster: Cluster, tmp_path: Path, report: Report, variant: str, words: str
):
    with living(fresh_database(cluster, MIGRATED), tmp_path, variant) as life:
        figures: dict[str, int] = {}
        for number in range(asked("CARELESS_LIVES", 24)):
            figures = await live(life, [2 * number])
            if figures["doubled"] or figures["differing"]:
                break
        report(f"T34 witness {words}", figures)
        assert figures["doubled"] or figures["differing"]


async def test_a_long_life_gives_no_false_alarm(cluster: Cluster, tmp_path: Path, report: Report):
    events, kills = asked("WITNESS_EVENTS", 12_000), asked("WITNESS_KILLS", 6)
    database, random = fresh_database(cluster, PREPARED), dice(seed(), "long life")
    with living(database, tmp_path, SOUND) as life:
        visits = 0
        async with connected(database, "postgres") as owner:
            for number in range(1, kills + 1):
                life.start()
                while visits * EVENTS_OF_A_VISIT < events * number / kills:
                    count = random.choice([1, 3, 40])
                    await load_visits(owner, uuid4(), visits, count, EVENTS_OF_A_VISIT)
                    visits += count
                life.kill(1)
        life.start()
        await until(lambda: _is_signed(database), "the whole log is signed")
        life.kill(2)
        wrong = life.differing() if events <= MOST_COMPARED else None
    async with postgres_service(database, seeds=False) as deployed:
        await deployed.projector.catch_up([WHOLE_LOG])
    for statement in ("VACUUM (FULL, FREEZE) bk.events", "REINDEX TABLE bk.events"):
        database.ask(statement)
    alarms = life.refusals() + await alarmed(database, life.key)
    copy = dumped(database)
    async with proving(copy) as store:
        key = signing_key(life.key_file)
        goes_on = await Anchoring([key], ORIGIN, "Dump", False).anchor(store, Tree.EVENTS)
        copy.ask(WRITE_EVENT, 3)
        await follow(store, key)
        alarms += "It continues." not in goes_on
        assert (await store.state(Tree.EVENTS)).number == 1
    alarms += await alarmed(copy, life.key)
    figures = {"events": visits * EVENTS_OF_A_VISIT, "kills": life.kills, "false_alarms": alarms}
    compared = {} if wrong is None else {"differing": len(wrong)}
    report("T34 long life of a witness", figures | compared)
    assert alarms == 0
    assert not wrong


def _is_signed(database: Database) -> bool:
    ((is_signed,),) = database.ask(
        """SELECT (SELECT count(*) FROM bk.events) = (SELECT max(size) FROM bk.witness_checkpoint
                    WHERE tree = 'events')"""
    )
    return bool(is_signed)


def kept_notes(database: Database) -> str:
    """Return the checkpoints that a database has."""
    rows = database.ask("SELECT note FROM bk.witness_checkpoint")
    return "".join(str(note) for (note,) in rows)


async def alarmed(database: Database, key: str) -> int:
    """Return how much is wrong with a database, as `verify` and the cheap look of `check` say."""
    found = await verified(database, kept_notes(database), key)
    async with proving(database) as store:
        return len([*found, *await store.rewritten()])
