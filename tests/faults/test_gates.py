"""Runs started while their gates open and close: none starts under a gate that was lost before."""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from random import Random
from typing import Any, Self
from uuid import UUID, uuid4

import pytest

from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.contexts.enclosure.enclosure import PermitStatus, enclosures
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.safety.clearance import ClearanceStatus, clearances
from beamkeep.contexts.supply.supply import SupplyStatus, supplies
from beamkeep.kernel import Aggregate, Record, Refusal, replace
from beamkeep.runtime.store import Append, MovedError, Position, StoredEvent, Stream
from beamkeep.testing.examples import Do
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.seeds import dice, seed
from beamkeep.testing.service import AdminClient, let_callers_in
from tests.faults.auditor import audit_history, read_log
from tests.faults.conftest import Report
from tests.faults.ground import Ground, connected, fresh_ground
from tests.faults.report import rounds
from tests.faults.workload import CODEC, Client, End, Step
from tests.support.examples.enclosure import a_permitted_enclosure
from tests.support.examples.federation import OWN_SITE
from tests.support.examples.recipe import define_plan
from tests.support.examples.safety import APPROVED, ENDORSED
from tests.support.examples.supply import register_supply

pytestmark = [pytest.mark.faults, pytest.mark.anyio]

CLIENTS = 8
# Streams are read whole: when those of a station are long, another one is built.
STARTS_AT_A_STATION = 150
LONGEST_OPEN, LONGEST_SHUT = {"permits": 0.2, "supplies": 0.3, "clearances": 0.8}, 0.02
"""Seconds, at most."""
OPEN_PER_SHUT = 8

# What the statement that appended an event could see, beside the event itself.
KEEP_SNAPSHOTS = """
ALTER TABLE bk.events ADD COLUMN snapshot pg_snapshot DEFAULT pg_current_snapshot()
"""
SEEN = """
SELECT stream_type, stream_id, transaction_id::text::bigint,
       pg_snapshot_xmin(snapshot)::text::bigint, pg_snapshot_xmax(snapshot)::text::bigint,
       ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(snapshot) x),
       version, event_type, schema_version, payload::text
  FROM bk.events ORDER BY stream_type, stream_id, version
"""


class Snapshot(Record):
    """Which transactions had ended when it was taken."""

    xmin: int
    xmax: int
    running: frozenset[int]

    def shows(self, tx: int) -> bool:
        """Whether what a transaction wrote is seen."""
        return tx < self.xmin or (tx < self.xmax and tx not in self.running)


class Written(Record):
    """An event, the transaction that wrote it and what that one saw."""

    tx: int
    saw: Snapshot
    recorded: StoredEvent


class Station(Record):
    """A plan, and all that must permit its runs."""

    plan_id: str
    asset_id: str
    enclosure_ids: tuple[str, ...]
    supply_id: str


class Appends:
    """Watches what starts were appended on, and how often that had moved."""

    def __init__(self, checks_reads: bool) -> None:
        self._append, self._checks_reads = PostgresEventStore.append, checks_reads
        self.read: dict[Stream, Mapping[Stream, int]] = {}
        self.moved = 0

    def watched(self) -> Callable[[PostgresEventStore, Append], Awaitable[Position]]:
        """The store's own append; a bad one does not look at what was read."""

        async def append(store: PostgresEventStore, append: Append) -> Position:
            if append.command_name != "start_run":
                return await self._append(store, append)
            held_to = append if self._checks_reads else replace(append, read={})
            try:
                position = await self._append(store, held_to)
            except MovedError:
                self.moved += 1
                raise
            self.read[append.events[0].stream] = append.read
            return position

        return append


class Flipper:
    """Opens and closes the gates of one station."""

    def __init__(self, do: Do, station: Station, dice: Random) -> None:
        self._do, self._station, self._dice = do, station, dice
        self.flips = Counter[str]()

    async def run(self, stop: asyncio.Event) -> None:
        """Flip every gate, each at its own pace, until told to stop."""
        station = self._station
        async with asyncio.TaskGroup() as tasks:
            for id in station.enclosure_ids:
                tasks.create_task(self._again(stop, "permits", partial(self._permit, id)))
            tasks.create_task(self._again(stop, "supplies", self._supply))
            tasks.create_task(self._again(stop, "clearances", self._clearance))

    async def _again(
        self, stop: asyncio.Event, kind: str, flip: Callable[[], Awaitable[None]]
    ) -> None:
        took = 0.0
        while not stop.is_set():
            # Where closing a gate takes long, it is open for longer: some runs must start.
            longest = max(LONGEST_OPEN[kind], OPEN_PER_SHUT * took)
            await asyncio.sleep(self._dice.uniform(0, longest))
            began = time.monotonic()
            # Whatever a crowded database does not let through is tried again from where it stands.
            with suppress(Refusal):
                await flip()
                self.flips[kind] += 1
            took = time.monotonic() - began

    async def _permit(self, enclosure_id: str) -> None:
        for status in (PermitStatus.NOT_PERMITTED, PermitStatus.PERMITTED):
            told = {"permit_status": status, "reason": "Search", "monitor_ref": "pss"}
            await self._do("observe_enclosure_status", {"enclosure_id": enclosure_id, **told})
            await self._shut()

    async def _supply(self) -> None:
        about = {"supply_id": self._station.supply_id}
        supply = await self._do("get_supply", about)
        if supply["status"] == SupplyStatus.AVAILABLE:
            await self._do("mark_supply_unavailable", {**about, "reason": "Dump"})
            await self._shut()
        if supply["status"] != SupplyStatus.RECOVERING:
            await self._do("mark_supply_recovering", {**about, "reason": "Fill"})
        await self._do("restore_supply", {**about, "reason": "Beam"})

    async def _clearance(self) -> None:
        asked = {"covering_asset_id": self._station.asset_id, "in_force": "true"}
        found = await self._do("list_clearances", asked)
        for each in found["items"]:
            about = {"clearance_id": each["clearance_id"], "reason": "Over"}
            await self._do("expire_clearance", about)
        await a_clearance_of(self._do, self._station.asset_id)

    async def _shut(self) -> None:
        await asyncio.sleep(self._dice.uniform(0, LONGEST_SHUT))


@pytest.fixture(scope="module")
async def ground() -> AsyncGenerator[Ground]:
    async with fresh_ground() as ground:
        async with connected(ground.admin_url) as connection:
            await connection.execute(KEEP_SNAPSHOTS)
        yield ground


async def test_no_run_starts_under_a_gate_that_was_lost_before(
    ground: Ground, report: Report, monkeypatch: pytest.MonkeyPatch
):
    appends = Appends(checks_reads=True)
    monkeypatch.setattr(PostgresEventStore, "append", appends.watched())
    figures = await race(ground, appends, rounds("STARTS", 450, 60, 15))
    report("gates", figures)
    assert len(appends.read) >= figures["started"] > 0
    assert figures["refused_because_something_had_moved"] > 0
    assert figures["started_on_what_had_moved"] == figures["started_under_a_lost_gate"] == 0
    assert figures["leaked"] == figures["lost"] == figures["doubled"] == 0
    assert figures["written_though_refused"] == 0


async def test_the_race_finds_an_append_that_does_not_check_what_was_read(
    ground: Ground, report: Report, monkeypatch: pytest.MonkeyPatch
):
    appends = Appends(checks_reads=False)
    monkeypatch.setattr(PostgresEventStore, "append", appends.watched())
    figures = await race(ground, appends, rounds("STARTS_UNCHECKED", 150, 40, 6))
    report("gates append without the check of what was read", figures)
    assert figures["started_on_what_had_moved"] > 0
    assert figures["started_under_a_lost_gate"] > 0


async def race(ground: Ground, appends: Appends, numbers: Iterator[int]) -> dict[str, Any]:
    """Attempts to start runs, at one station after the other, while its gates flip."""
    race_id = uuid4()
    deployment = ground.deployment(
        require_run_clearance=True,
        self_facility_code=OWN_SITE,
        identity_providers=[
            {"kind": "jwt", "issuer": ISSUER, "audiences": ["x"], "jwks_file": "x"}
        ],
        bootstrap_admin_issuer=ISSUER,
        bootstrap_admin_subject="ada",
        bootstrap_admin_name="Ada",
    )
    service = await deployment.service()
    projecting = asyncio.create_task(deployment.supervisor.run([deployment.projector()]))
    do, client = AdminClient(service, deployment.store), Client(service)
    flips, stations = Counter[str](), list[Station]()
    await let_in(do)
    for first in numbers:
        station, stop = await a_station(do), asyncio.Event()
        stations.append(station)
        flipper = Flipper(do, station, dice(seed(), "flips", first))
        flipping = asyncio.create_task(flipper.run(stop))
        keys = (f"{race_id}-{n}" for n in chain([first], islice(numbers, STARTS_AT_A_STATION - 1)))
        await asyncio.gather(*(start(client, station, keys) for _ in range(CLIENTS)))
        stop.set()
        await flipping
        flips += flipper.flips
    deployment.supervisor.stop()
    await projecting
    await deployment.close()
    log = await read_log(ground.admin_url)
    audit = audit_history(log, client.history, len(log))
    refused = Counter(a.refusal for a in client.history if a.end is End.REFUSED)
    streams = await Streams.read(ground.admin_url)
    return {
        "clients": CLIENTS,
        "stations": len(stations),
        "attempts": len(client.history),
        "started": audit.acknowledged,
        "flips": sum(flips.values()),
        **{f"flipped_{kind}": number for kind, number in sorted(flips.items())},
        **{f"refused_with_{name}": number for name, number in sorted(refused.items(), key=str)},
        "refused_because_something_had_moved": appends.moved,
        "unknown": audit.unknown,
        "leaked": audit.leaked,
        "lost": audit.lost,
        "doubled": audit.doubled,
        "written_though_refused": audit.written_though_refused,
        "started_on_what_had_moved": sum(
            streams.had_moved(run, read) for run, read in appends.read.items()
        ),
        "started_under_a_lost_gate": sum(map(streams.lost_gates, stations)),
    }


async def start(client: Client, station: Station, keys: Iterable[str]) -> None:
    """Start one run after the other, as long as there are keys for them."""
    for key in keys:
        await client.attempt(key, Step("start_run", {"name": key, "plan_id": station.plan_id}))


class Streams:
    """Every stream of the log, and what was visible to whom."""

    def __init__(self, streams: Mapping[Stream, Sequence[Written]]) -> None:
        self._streams = streams
        self._papers: dict[str, list[UUID]] = defaultdict(list)
        self._starts: dict[str, list[Written]] = defaultdict(list)
        for (kind, id), (first, *_) in streams.items():
            if kind == clearances.name:
                self._papers[_payload(first)["bindings"][0]["id"]].append(id)
            elif kind == runs.name:
                self._starts[_payload(first)["plan_id"]].append(first)

    @classmethod
    async def read(cls, url: str) -> Self:
        """What the log says now."""
        streams: dict[Stream, list[Written]] = defaultdict(list)
        async with connected(url) as connection:
            for kind, id, tx, xmin, xmax, running, *recorded in await connection.fetch(SEEN):
                saw = Snapshot(xmin, xmax, frozenset(running))
                streams[kind, id].append(Written(tx, saw, StoredEvent(*recorded)))
        return cls(streams)

    def had_moved(self, run: Stream, read: Mapping[Stream, int]) -> bool:
        """Whether a run was started though something it rests on was seen to be another by then."""
        saw = self._streams[run][0].saw
        return any(len(self._seen(stream, saw)) != version for stream, version in read.items())

    def lost_gates(self, station: Station) -> int:
        """How many runs of a station were started though a gate was seen to be lost by then."""
        return sum(not self._open(station, run.saw) for run in self._starts[station.plan_id])

    def _open(self, station: Station, saw: Snapshot) -> bool:
        """Whether every gate of a station was open, as far as could be seen."""
        around = [self._state(enclosures, UUID(id), saw) for id in station.enclosure_ids]
        beam = self._state(supplies, UUID(station.supply_id), saw)
        papers = [self._state(clearances, id, saw) for id in self._papers[station.asset_id]]
        return (
            all(each and each.permit_status is PermitStatus.PERMITTED for each in around)
            and beam is not None
            and beam.status is SupplyStatus.AVAILABLE
            and any(paper and paper.status is ClearanceStatus.ACTIVE for paper in papers)
        )

    def _state[S](self, of: Aggregate[S, Any, Any], id: UUID, saw: Snapshot) -> S | None:
        return CODEC.fold(of, self._seen((of.name, id), saw))

    def _seen(self, stream: Stream, saw: Snapshot) -> list[StoredEvent]:
        return [event.recorded for event in self._streams[stream] if saw.shows(event.tx)]


def _payload(event: Written) -> dict[str, Any]:
    return json.loads(event.recorded.payload)


async def let_in(do: Do) -> None:
    """Let the monitor in, once for all tests."""
    known = await do("list_actors", {})
    if not any(actor["kind"] == "service_account" for actor in known["items"]):
        await let_callers_in(do, ISSUER)


async def a_station(do: Do) -> Station:
    """A plan whose runs may start now."""
    plan = await define_plan(do)
    del plan["window"]
    (asset_id,) = plan["asset_ids"]
    asset = await do("get_asset", {"asset_id": asset_id})
    around = await a_permitted_enclosure(do), await a_permitted_enclosure(do)
    for id, enclosure_id in zip((asset_id, asset["parent_id"]), around, strict=True):
        await do("locate_asset", {"asset_id": id, "located_in_enclosure_id": enclosure_id})
    beam = {**await register_supply(do), "containing_asset_id": asset_id}
    supply_id = (await do("register_supply", beam))["supply_id"]
    await do("mark_supply_available", {"supply_id": supply_id, "reason": "Beam"})
    await a_clearance_of(do, asset_id)
    plan_id = (await do("define_plan", plan))["plan_id"]
    # Supplies and clearances are found by way of lists, which may be a moment late.
    async with asyncio.timeout(30):
        while not (await do("get_plan_readiness", {"plan_id": plan_id}))["ready"]:
            await asyncio.sleep(0.02)
    return Station(plan_id, asset_id, around, supply_id)


async def a_clearance_of(do: Do, asset_id: str) -> None:
    """A clearance of this asset, in force."""
    paper = {
        "kind": "radiation",
        "facility_code": OWN_SITE,
        "title": "Salts",
        "bindings": [{"kind": "Asset", "id": asset_id}],
    }
    clearance_id = (await do("register_clearance", paper))["clearance_id"]
    for name in (*APPROVED, "activate_clearance"):
        more = ENDORSED if name == "append_clearance_review_step" else {}
        await do(name, {"clearance_id": clearance_id, **more})
