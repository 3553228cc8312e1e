"""Many writers on one stream: none of their changes is lost."""

import asyncio
import time

import pytest

from tests.faults.auditor import audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import fresh_ground
from tests.faults.report import asked, seed
from tests.faults.workload import Client, End, Step

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

WRITERS = 16


async def test_sixteen_writers_on_one_stream_lose_nothing(report: Report):
    chosen, seconds = seed(), asked("HOT_SECONDS", 5)
    async with fresh_ground() as ground:
        deployment = ground.deployment()
        client = Client(await deployment.service())
        before = len(await read_log(ground.admin_url))
        actor_id = await client.succeed("register_actor", name="Grace")
        until = time.monotonic() + seconds

        async def write(number: int) -> None:
            count = 0
            while time.monotonic() < until:
                count += 1
                key = f"{chosen}-{number}-{count}"
                changes = {"actor_id": actor_id, "phone": key}
                await client.attempt(key, Step("update_actor_profile", changes))

        async with asyncio.TaskGroup() as tasks:
            for number in range(WRITERS):
                tasks.create_task(write(number))
        log = await read_log(ground.admin_url)
        await deployment.close()
    audit = audit_history(log, client.history, before)
    conflicts = sum(a.refusal == "ConcurrencyError" for a in client.history)
    succeeded = audit.acknowledged - 1
    report(
        "T8",
        {
            "seed": chosen,
            "seconds": seconds,
            "writers": WRITERS,
            "succeeded": succeeded,
            "succeeded_per_second": round(succeeded / seconds, 1),
            "conflicts": conflicts,
            "conflicts_per_success": round(conflicts / max(1, succeeded), 2),
            "unknown": audit.unknown,
            "lost": audit.lost,
            "holes": audit.holes,
            "misnumbered": audit.misnumbered,
        },
    )
    assert succeeded > 0
    assert not [a.refusal for a in client.history if a.end is End.LEAKED]
    assert audit.lost == audit.holes == audit.misnumbered == audit.unaccounted == 0
    assert audit.written_though_refused == audit.doubled == 0
