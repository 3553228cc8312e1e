"""A batch of 500 observations appended to a run against a bare COPY of the same rows."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
from uuid_utils.compat import uuid7

from beamkeep.contexts.run.observation import OBSERVATIONS
from beamkeep.contexts.run.run import RunStarted
from beamkeep.runtime.admission import Request
from beamkeep.runtime.store import Append

from .measure import Step, Steps, against_itself, gated, throughput
from .rig import Database, Rig, Seam, caller, operation, principal

GATE = 0.60
METHOD = (
    "Dispatcher.execute of append_observations with 500 readings of 10 channels, token identity,"
    " validation and the check for duplicates, at 2 connections, against COPY of the same rows"
    " into an identical table; same driver, loop and connections; the readings are made before,"
    " but for their ids."
)
ROWS, CONNECTIONS = 500, 2
BEGAN = datetime(2030, 1, 1, 8, tzinfo=UTC)
COLUMNS = OBSERVATIONS.row.__struct_fields__


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare at 2 connections, each with a run of its own."""
    async with rig.database("observations") as database:
        await database.owner.execute(
            "CREATE TABLE bare.run_observation (LIKE bk.run_observation INCLUDING ALL);"
            " GRANT INSERT ON bare.run_observation TO bk_app"
        )
        seam, me = database.seam(CONNECTIONS), await principal(database)
        runs = [await _started(seam, me) for _ in range(CONNECTIONS)]
        bare = Steps([_copying(each, me) for each in await database.bare(CONNECTIONS)])
        ours = Steps([_appending(seam, run) for run in runs])
        figures = throughput(await rig.meter.compare(bare, ours, rig.plan))
        alike = await rig.meter.compare(bare, bare, rig.plan.alike())
        await _require_all_stored(database)
        return gated(figures | against_itself(alike), GATE, METHOD)


async def _started(seam: Seam, me: UUID) -> UUID:
    """A run that is under way."""
    id, plan = uuid7(), uuid7()
    started = RunStarted(
        BEGAN, id, "Scan", plan, None, uuid7(), (), None, None, {}, {}, (), (), None
    )
    event = seam.codec.encode(started, 1, uuid7())
    await seam.store.append(
        Append([event], {}, (), None, "start_run", me, None, uuid7(), None, BEGAN)
    )
    return id


# The producer's own work is no part of it: each batch is these readings with new ids.
READINGS = [
    (f"channel {number % 10}", number / 7, BEGAN + timedelta(milliseconds=100 * number))
    for number in range(ROWS)
]


def _appending(seam: Seam, run_id: UUID) -> Step:
    append, dispatcher, run = operation("append_observations"), seam.service.dispatcher, str(run_id)
    readings = [
        {
            "channel_name": channel,
            "value": value,
            "sampling_procedure": "monitor",
            "sampled_at": time.isoformat(),
        }
        for channel, value, time in READINGS
    ]

    async def step() -> None:
        entries = [{"observation_id": str(uuid7()), **reading} for reading in readings]
        request = Request(caller(), {"run_id": run, "entries": entries})
        answered = await dispatcher.execute(append, request)
        assert answered.body == b'{"appended_count":500,"duplicate_count":0}'

    return step


def _copying(connection: asyncpg.Connection, me: UUID) -> Step:
    run_id = uuid7()

    async def step() -> None:
        now, called = datetime.now(UTC), uuid7()
        rows = [
            (uuid7(), run_id, channel, value, None, "monitor", time, False, now, me, None, called)
            for channel, value, time in READINGS
        ]
        await connection.copy_records_to_table(
            "run_observation", schema_name="bare", columns=COLUMNS, records=rows
        )

    return step


async def _require_all_stored(database: Database) -> None:
    """Every batch that was answered is there, whole."""
    stored = await database.owner.fetchval("SELECT count(*) FROM bk.run_observation")
    assert stored > 0
    assert stored % ROWS == 0
