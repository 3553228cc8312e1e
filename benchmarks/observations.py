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
    " validation and the check for duplicates, one producer sending batch after batch, against"
    " COPY of the same rows into an identical table; same driver and loop; the readings are made"
    " before, but for their ids. `two_producers`: the same with two in one process, where that"
    " process is what limits them."
)
ROWS = 500
BEGAN = datetime(2030, 1, 1, 8, tzinfo=UTC)
# In the order of the values in `_copying`, which is not the order of the fields of the row.
COLUMNS = (
    "observation_id",
    "run_id",
    "channel_name",
    "value",
    "unit",
    "sampling_procedure",
    "sampled_at",
    "simulated",
    "recorded_at",
    "principal_id",
    "surface_id",
    "correlation_id",
)


async def measure(rig: Rig) -> dict[str, Any]:
    """Compare with one producer, and with two at once."""
    assert {*COLUMNS} == {*OBSERVATIONS.row.__struct_fields__}
    async with rig.database("observations") as database:
        await database.owner.execute(
            "CREATE TABLE bare.run_observation (LIKE bk.run_observation INCLUDING ALL);"
            " GRANT INSERT ON bare.run_observation TO bk_app"
        )
        seam, me = database.seam(2), await principal(database)
        bare = [_copying(each, me) for each in await database.bare(2)]
        ours = [_appending(seam, await _started(seam, me)) for _ in range(2)]
        alone = Steps(bare[:1])
        figures = throughput(await rig.meter.compare(alone, Steps(ours[:1]), rig.plan))
        alike = await rig.meter.compare(alone, alone, rig.plan.alike())
        both = throughput(await rig.meter.compare(Steps(bare), Steps(ours), rig.plan))
        await _require_all_stored(database)
        return gated(figures | against_itself(alike), GATE, METHOD) | {"two_producers": both}


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
            (
                str(uuid7()),
                run_id,
                channel,
                value,
                None,
                "monitor",
                time,
                False,
                now,
                me,
                None,
                called,
            )
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
