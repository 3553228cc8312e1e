"""Custody and provenance of a million datasets: how long a report, a walk and a page take."""

import os
import sys
import time
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.lineage import PostgresLineage
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.contexts.seams.custody_rules import CustodyRule, CustodyRules
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.deployment.service import compose
from beamkeep.parts.custody.postgres import PostgresCustody
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request

from .rig import CURSOR_KEY, Database, Rig, caller, operation, principal, question
from .search import timed
from .serving import serving

DATASETS, USES, ASKED, CHAIN = 1_000_000, 100_000, 100, 20
LINES, MOST_SECONDS = 10_000, 60
METHOD = (
    "{:,} datasets, each with a copy on a local storage and one in an archive, one in ten of which"
    " is not verified; chains of {} datasets derived from each other; a calibration revision used"
    " by {:,} of them. `report` is every page of {:,} copies on the local storage, from the"
    " question to the encoded answer, in seconds, on one connection. `printed` is the same by"
    " `beamkeep custody report` as CSV, over HTTP. The others are p50 and p95 of {} questions in"
    " milliseconds, on one connection."
)
DATASET_ID = (
    "(lpad(to_hex(1800000000000 + {n}), 12, '0') || '7' || left(md5(({n})::text), 3) || '8'"
    " || right(md5(({n})::text), 15))::uuid"
)
SUM = "md5(({n})::text) || md5(({n})::text)"
# Of each: its event, its standing, two copies, what it came of, and how it is kept.
EVENTS = f"""
INSERT INTO bk.events (stream_type, stream_id, version, event_id, event_type, schema_version,
                       payload, command_name, principal_id, correlation_id, occurred_at)
SELECT 'Dataset', id, 1, gen_random_uuid(), 'DatasetRegistered', 2, json_build_object(
         'occurred_at', '2030-01-31T07:30:00Z', 'dataset_id', id, 'name', 'Scan ' || n,
         'checksum', json_build_object('algorithm', 'sha256', 'value', {SUM.format(n="n")}),
         'byte_size', 1000000, 'encoding', json_build_object('media_type', 'application/x-hdf5'),
         'digests', json_build_object(), 'file_count', 1, 'of_parts', false,
         'producing_run_id', null, 'subject_id', null, 'derived_from', '[]'::json,
         'used_calibration_ids', '[]'::json, 'retain_until', null, 'available_from', null),
       'register_dataset', $2, gen_random_uuid(), now()
  FROM (SELECT n, {DATASET_ID.format(n="n")} AS id FROM generate_series(1, $1::int) AS n) AS d
"""
STANDINGS = f"""
INSERT INTO bk.dataset_standing (dataset_id, byte_size, sealed, intent, status)
SELECT {DATASET_ID.format(n="n")}, 1000000, false, 'Trial', 'Registered'
  FROM generate_series(1, $1::int) AS n
"""
COPIES = f"""
INSERT INTO bk.dataset_copy (distribution_id, dataset_id, supply_id, byte_size, status,
                             access_protocol, uri, good_checks, of_parts, file_key)
SELECT gen_random_uuid(), {DATASET_ID.format(n="n")}, $2, 1000000,
       CASE WHEN $4 AND n % 10 = 0 THEN 'Registered' ELSE 'Verified' END, 'POSIX',
       $3 || n || '.h5', CASE WHEN $4 AND n % 10 = 0 THEN '[]' ELSE
         '[{{"verified_by":"Client","strength":"Cryptographic","checked_at":"2030-01-31T07:30:00Z"}}]'
       END::json, false, 'host 8:1 ' || $3 || n
  FROM generate_series(1, $1::int) AS n
"""
CUSTODY = f"""
INSERT INTO bk.custody (dataset_id, owner_id, byte_size, discardable_bytes, intent, verdict,
                        counted)
SELECT {DATASET_ID.format(n="n")}, $2, 1000000, 1000000, 'Trial',
       CASE WHEN n % 10 = 0 THEN 'Met' ELSE 'Spare' END, '[]'
  FROM generate_series(1, $1::int) AS n
"""
CHAINS = f"""
INSERT INTO bk.provenance_edge (from_id, to_id, source_id, relation)
SELECT {DATASET_ID.format(n="n")}, {DATASET_ID.format(n="n - 1")}, {DATASET_ID.format(n="n")},
       'derived_from' FROM generate_series(1, $1::int) AS n WHERE n % $2::int <> 1
"""
USED = f"""
INSERT INTO bk.provenance_edge (from_id, to_id, source_id, relation)
SELECT {DATASET_ID.format(n="n")}, $2, {DATASET_ID.format(n="n")}, 'used_calibration'
  FROM generate_series(1, $1::int) AS n
"""
RULES = CustodyRules(trial=CustodyRule(verified_copies=1))


async def measure(rig: Rig) -> dict[str, Any]:
    """Fill the tables next to datasets, and ask what people ask."""
    datasets = rig.pick(DATASETS, DATASETS // 20, smallest=60)
    uses = rig.pick(USES, USES // 20, smallest=60)
    asked_times, chain = rig.pick(ASKED, ASKED, 2), rig.pick(1000, 1000, 1)
    # Two pages at least.
    limit = rig.pick(LINES, LINES, datasets // 2 + 1)
    async with rig.database("data") as database:
        service = _service(database)
        local, archive = [
            await _made(
                service, "register_supply", kind="storage", name=name, facility_code="local"
            )
            for name in ("nvme1", "archive")
        ]
        revision_id = await _revision(service)
        owner = await principal(database)
        fill = database.owner.execute
        for statement, *values in (
            (EVENTS, owner),
            (STANDINGS,),
            (COPIES, UUID(local), "file:///nvme1/", False),
            (COPIES, UUID(archive), "file:///archive/", True),
            (CUSTODY, owner),
            (CHAINS, CHAIN + 1),
        ):
            await fill(statement, datasets, *values, timeout=3600)
        await fill(USED, uses, UUID(revision_id), timeout=3600)
        await database.settle()
        last = f"SELECT {DATASET_ID.format(n='$1::int')}"
        end_of_chain = await database.owner.fetchval(last, (CHAIN + 1) * chain)
        lines, seconds = await _report(service, local, limit)
        printed, printing = await _printed(database, local)
        lineage = {"dataset_id": str(end_of_chain), "direction": "upstream", "depth": CHAIN}
        asked: Mapping[str, tuple[Mapping[str, Any], float]] = {
            "list_custody": ({"verdict": "Met"}, 30),
            "get_dataset_lineage": (lineage, 30),
            "list_calibration_uses": ({"revision_id": revision_id}, 50),
        }
        found = {
            name: await timed(partial(_ask, service, name, arguments), asked_times, most)
            for name, (arguments, most) in asked.items()
        }
    return {
        "figures": {
            "report_lines": lines,
            "report_seconds": round(seconds, 1),
            "printed_lines": printed,
            "printed_seconds": round(printing, 1),
        },
        "searches": found,
        "counts_hold": lines == printed == datasets,
        "reached": lines == printed == datasets
        and printing <= MOST_SECONDS
        and all(it["p95_ms"] <= it["most_ms"] for it in found.values()),
        "method": METHOD.format(datasets, CHAIN, uses, limit, asked_times),
    }


def _service(database: Database) -> Service:
    pool = database.pool(1)
    store, lists = PostgresEventStore(pool, database.url()), PostgresLists(pool)
    facts = Facts(custody_rules=RULES)
    readers = Readers(custody=PostgresCustody(pool), lineage=PostgresLineage(pool))
    return compose(store, lists, CURSOR_KEY, facts=facts, readers=readers)


async def _made(service: Service, name: str, /, **arguments: Any) -> str:
    result = await service.dispatcher.execute(operation(name), Request(caller(), arguments))
    return next(iter(msgspec.json.decode(result.body).values()))


async def _revision(service: Service) -> str:
    family_id = await _made(service, "define_family", name="BL", affordances=[])
    unit = {"name": "BL", "tier": "Unit", "facility_code": "local", "family_ids": [family_id]}
    asset_id = await _made(service, "register_asset", **unit)
    calibration_id = await _made(
        service,
        "define_calibration",
        asset_id=asset_id,
        quantity="rotation_center",
        operating_point={"energy": 25.0, "optics_config": "5x"},
    )
    actor_id = await _made(service, "register_actor", name="Grace")
    return await _made(
        service,
        "append_calibration_revision",
        calibration_id=calibration_id,
        value={"center": 1023.5, "uncertainty": 0.2},
        status="Verified",
        source={"kind": "Asserted", "actor_id": actor_id},
    )


async def _report(service: Service, supply_id: str, limit: int) -> tuple[int, float]:
    """Return how many lines the whole report has, and how many seconds it takes."""
    asked: dict[str, Any] = {"supply_id": supply_id, "limit": limit}
    lines, since = 0, time.perf_counter()
    while True:
        page = msgspec.json.decode(await _ask(service, "get_custody_report", asked))
        lines += len(page["items"])
        if page["next_cursor"] is None:
            return lines, time.perf_counter() - since
        asked["after"] = page["next_cursor"]


async def _printed(database: Database, supply_id: str) -> tuple[int, float]:
    """Return how many lines the command line prints, and how many seconds it takes."""
    command = [sys.executable, "-m", "beamkeep", "custody", "report", "--supply", supply_id]
    async with serving(database) as server:
        access = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.token}
        since = time.perf_counter()
        printing = await create_subprocess_exec(
            *command, "-o", "csv", env=os.environ | access, stdout=PIPE
        )
        assert printing.stdout, "it has a pipe"
        lines = 0
        async for _ in printing.stdout:
            lines += 1
        assert await printing.wait() == 0
        return lines - 1, time.perf_counter() - since


async def _ask(service: Service, name: str, arguments: Mapping[str, Any]) -> bytes:
    return (await service.queries.ask(question(name), Request(caller(), arguments))).body
