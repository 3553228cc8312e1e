"""What the witness costs a command, and how fast it follows and verifies the log."""

import asyncio
import os
import tempfile
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Self

from beamkeep.adapters.postgres.connections import Connections, OneConnection
from beamkeep.parts.witness.keys import make_key, signing_key
from beamkeep.parts.witness.postgres import READING, PostgresWitness
from beamkeep.parts.witness.proving import CORES, verify_record
from beamkeep.parts.witness.signing import POLL_SECONDS, Witness
from beamkeep.parts.witness.trees.leaves import Tree
from beamkeep.runtime.clock import now
from beamkeep.testing.witness import NAME, ORIGIN

from .append import load, ours_step
from .loading import load_visits
from .measure import Plan, Quad, Step, Steps, against_itself, throughput, used
from .rig import Database, Rig, principal

GATE, MOST_COST, LEAST_FOLLOWED, LEAST_VERIFIED = 0.98, 0.02, 20_000, 40_000
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE usename = 'bk_witness'"
METHOD = (
    "Processor time of client and server: the commands of `append` at 4 connections, with a"
    " witness that follows them as in service, against the same without a witness. `cost` is the"
    " processor time of the witness and its connections alone, divided by that of the commands."
    " `rows` is an"
    " INSERT of 1,000 observations, against one into a table without the column and the index that"
    " the witness follows. The figures are events a second over {} events in transactions of 1,000:"
    " followed and signed by one worker, and verified on {} cores; and events a second of processor"
    " time, of client and server together."
)
EVENTS, STREAMS = 20, 50
INSERT_ROWS = """
INSERT INTO bare.{table} (observation_id, run_id, channel_name, value, sampling_procedure,
                          sampled_at, simulated, recorded_at, principal_id)
SELECT gen_random_uuid(), '00000000-0000-0000-0000-000000000001', 'current', n * 0.1, 'Mean', now(),
       false, now(), '00000000-0000-0000-0000-000000000002' FROM generate_series(1, 1000) AS n
"""


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare commands with and without a witness, then follow and verify a long log."""
    transactions = rig.pick(300, 60, smallest=1)
    # Slices that are long compared with the second after which the witness looks again.
    plan = rig.pick(Plan(8, 1, 4.0), Plan(2, 0, 4.0), rig.plan)
    async with rig.database("witness_cost") as database:
        fresh = await load(database)
        seam = database.seam(4)
        steps = [ours_step(seam, fresh) for _ in range(4)]
        alone = Steps(steps, fresh.stock)
        with tempfile.TemporaryDirectory() as folder:
            async with Witnessed(steps, fresh.stock, database, Path(folder)) as witnessed:
                figures = _by_processor(await rig.meter.compare(alone, witnessed, plan))
        command = sum(figures[name]["bare"] for name in ("client_cpu_us", "server_cpu_us"))
        witnessing = 1e6 * witnessed.witnessing / witnessed.done
        alike = against_itself(await rig.meter.compare(alone, alone, plan.alike()))
        rows = await _rows(database)
    async with rig.database("witness_speed") as database:
        me = await principal(database)
        for number in range(transactions):
            await load_visits(database.owner, me, number * STREAMS, STREAMS, EVENTS)
        await database.settle()
        speed = await _speed(database, transactions * STREAMS * EVENTS)
    is_cheap = min(figures["ratio"], rows["ratio"]) >= GATE and witnessing / command <= MOST_COST
    is_fast = speed["followed"] >= LEAST_FOLLOWED and speed["verified_per_cpu"] >= LEAST_VERIFIED
    return {
        **figures,
        "command_cpu_us": round(command, 1),
        "witness_cpu_us": round(witnessing, 1),
        "cost": round(witnessing / command, 4),
        "aa_interval": alike["aa_cpu_interval"],
        "rows": rows,
        "figures": speed,
        "gate": GATE,
        "reached": is_cheap and is_fast,
        "method": METHOD.format(transactions * STREAMS * EVENTS, CORES),
    }


def _by_processor(quads: Sequence[Quad]) -> dict[str, Any]:
    """Judge by processor time, of which a busy machine gives both sides what they use."""
    figures = throughput(quads)
    wall = {name: figures[name] for name in ("ratio", "interval", "min", "max")}
    return {**figures, **figures["cpu_ratio"], "wall": wall}


async def _rows(database: Database) -> dict[str, Any]:
    """Compare a bulk insert of rows with one into a table without column and index."""
    owner = database.owner
    for table in ("with_transaction", "without_transaction"):
        await owner.execute(f"CREATE TABLE bare.{table} (LIKE bk.run_observation INCLUDING ALL)")
    await owner.execute("ALTER TABLE bare.without_transaction DROP COLUMN transaction_id")

    def side(table: str) -> Steps:
        return Steps([partial(owner.execute, INSERT_ROWS.format(table=table))])

    without, within = side("without_transaction"), side("with_transaction")
    return _by_processor(await database.rig.meter.compare(without, within, database.rig.plan))


class Witnessed(Steps):
    """The same steps, while a witness follows what they write in a thread of its own."""

    def __init__(self, steps: Any, ready: Any, database: Database, folder: Path) -> None:
        super().__init__(steps, ready)
        self._owner, self._loop = database.owner, asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._connections = OneConnection(database.url("bk_witness"), **READING)
        self._witness = _witness(self._connections, folder)
        self.done, self.witnessing = 0, 0.0

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._there(self._connections.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def prepare(self) -> None:
        """Catch up: what was written without a witness is not measured."""
        await super().prepare()
        await self._there(_follow(self._witness))

    async def run(self, seconds: float) -> int:
        """Repeat every step until the time is over."""
        before = await self._processor()
        self._ended = asyncio.Event()
        following = asyncio.run_coroutine_threadsafe(self._following(), self._loop)
        try:
            done = await super().run(seconds)
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)
            await asyncio.wrap_future(following)
        self.witnessing += await self._processor() - before
        self.done += done
        return done

    async def _following(self) -> None:
        while not self._ended.is_set():
            await _follow(self._witness)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), POLL_SECONDS)
        # What was written last is followed as well: its cost is that of these commands.
        await _follow(self._witness)

    async def _there(self, work: Coroutine[Any, Any, object]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _processor(self) -> float:
        """Return the processor time of the thread and of its connections."""
        assert self._thread.ident
        thread = time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))
        return thread + sum(used(row["pid"]) for row in await self._owner.fetch(BACKENDS))


async def _speed(database: Database, events: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        connections = database.pool(2, "bk_witness", **READING)
        meter, witness = database.rig.meter, _witness(connections, Path(folder))
        followed = await meter.slice(Once(partial(_follow, witness), events), 0)
        key = signing_key(Path(folder) / "key").signer.key().text

    async def verify() -> None:
        lines = verify_record(database.url("postgres"), None, key, lambda _: None)
        wrong = [line async for is_fault, line in lines if is_fault]
        assert not wrong, wrong

    verified = await meter.slice(Once(verify, events), 0)
    return {
        "followed": round(followed.rate),
        "followed_per_cpu": round(1 / followed.cpu),
        "verified": round(verified.rate),
        "verified_per_cpu": round(1 / verified.cpu),
    }


class Once:
    """Work that is done once, however long it takes."""

    def __init__(self, work: Step, events: int) -> None:
        self._work, self._events, self.pid = work, events, os.getpid()

    async def prepare(self) -> None:
        """Nothing is needed."""

    async def run(self, seconds: float) -> int:
        """Do all of it."""
        await self._work()
        return self._events


def _witness(connections: Connections, folder: Path) -> Witness:
    make_key(NAME, folder / "key")
    return Witness(PostgresWitness(connections), [signing_key(folder / "key")], ORIGIN, clock=now)


async def _follow(witness: Witness) -> None:
    while await witness.step(Tree.EVENTS):
        pass
