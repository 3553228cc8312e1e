"""One day at a beamline, lived over HTTP and MCP on a real service, and looked back upon."""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from demo.acting import ADMINISTRATOR, Day
from demo.agent import SETTINGS as AGENTS
from demo.control_system import ControlSystem, control_system
from demo.day import STEPS, yesterday
from demo.model_server import NARRATIVE, ModelServer, model_server
from tests.faults.auditor import differing_grants, differing_rows, holes, read_log
from tests.support.olog import LOGBOOK, PASSWORD, USER, read_entries
from tests.support.releases import of_release

from beamkeep.adapters.postgres.connections import Connections
from beamkeep.adapters.postgres.event_store import PostgresEventStore
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.adapters.postgres.projections import PostgresProjections
from beamkeep.contexts.access.profile import DELETED_USER, ShownProfile
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.feed.tail import shards
from beamkeep.kernel import History, One
from beamkeep.parts.logbook.olog import literal
from beamkeep.testing.calling import SurfaceAnswer
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.database import Database
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import Server, free_port, running_server, serving
from beamkeep.testing.service import call
from beamkeep.testing.waiting import until

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parents[2]
BEAMLINE = ROOT / "demo" / "beamline.yaml"
PATIENCE, LONGEST = 60.0, 180.0
AT_ONCE = 8
GET = {q.aggregate.name: q for q in CATALOGUE.questions if isinstance(q.source, One)}
HISTORY = {q.aggregate.name: q for q in CATALOGUE.questions if isinstance(q.source, History)}
NOW_ONLY = {
    "last_reported_at",
    "stale",
    "in_force",
    "in_effect",
    "open",
    "now",
    "tokens_today",
    "actions_today",
    "setting_units_changed",
    "usd_this_month",
    "usable",
    "online_public_key",
    "offline_public_key",
}
"""What is told of the moment of asking, and not of the state."""
ERASED = set(ShownProfile.__struct_fields__)
"""What is shown of nobody who was forgotten, at no time."""
# fmt: off
MOVED = {"Acquisition", "Actor", "Agent", "Asset", "Attestation", "Calibration", "Campaign",
    "Caution", "Clearance", "Credential", "Dataset", "Decision", "Distribution", "Edition",
    "Enclosure", "Facility", "Permit", "Plan", "Policy", "Procedure", "Proposal", "Run", "Seal",
    "Subject", "Supply", "Visit"}
# fmt: on
COPIES_LEFT = "SELECT count(*) FROM bk.work WHERE kind = 'logbook-mirror' AND ended_at IS NULL"
DECISIONS = "SELECT decision_id FROM bk.agent_decision ORDER BY decided_at, decision_id"
FORGED_SAMPLE = 3
FORGE = f"""
DO $$
DECLARE
  each regclass;
BEGIN
  FOR each IN SELECT inhrelid::regclass FROM pg_inherits
               WHERE inhparent = 'bk.events'::regclass LOOP
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER events_no_change', each);
    EXECUTE format($f$UPDATE %s SET payload = replace(payload::text, '0.1', '0.2')::json
                       WHERE event_type = 'RunStarted'
                         AND payload ->> 'name' = 'Sweep {FORGED_SAMPLE}'$f$, each);
    EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER events_no_change', each);
  END LOOP;
END $$
"""

type Stream = tuple[str, str]


@dataclass
class Lived:
    """What was seen after every step."""

    server: Server
    partner: Server
    """The service of a partner facility."""
    control: ControlSystem
    model: ModelServer
    outside: Path
    """The file with the entries of the facility's own logbook."""
    left: list[list[str]] = field(default_factory=list[list[str]])
    """The events of each step, by the histories of everything it touched."""
    stored: list[int] = field(default_factory=list[int])
    """How many events each step added to the log."""
    ended: list[datetime] = field(default_factory=list[datetime])
    shown: list[Mapping[Stream, SurfaceAnswer]] = field(
        default_factory=list[Mapping[Stream, SurfaceAnswer]]
    )
    """Everything the day has touched, as it was shown after each step."""
    moved: set[Stream] = field(default_factory=set[Stream])
    """What some step has changed."""
    seconds: float = 0.0


@pytest.fixture(scope="module")
def lived(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Generator[Lived]:
    settings = {
        "self_facility_code": "local",
        "require_run_clearance": "true",
        # The day is over sooner than a monitor has to repeat itself on a machine that is slow.
        "enclosure_stale_after_seconds": "3600",
        **AGENTS,
    }
    outside = tmp_path_factory.mktemp("olog") / "entries"
    with (
        control_system(tmp_path_factory.mktemp("jobs")) as control,
        model_server() as model,
        outside_logbook(outside) as logbook,
        running_server(
            cluster,
            "witnessed",
            **settings,
            **control.environment,
            **model.environment,
            **logbook,
        ) as server,
        running_server(cluster, self_facility_code="lakeside") as partner,
    ):
        way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
        imported = server.run("import", "yaml", str(BEAMLINE), "--apply", **way_in)
        assert imported.returncode == 0, imported.stdout + imported.stderr
        lived = Lived(server, partner, control=control, model=model, outside=outside)
        asyncio.run(live(lived))
        yield lived


@contextmanager
def outside_logbook(file: Path) -> Generator[Mapping[str, str]]:
    """Run an Olog, and provide the settings of a service that copies its logbooks there."""
    port = free_port()
    command = [sys.executable, "-m", "tests.support.olog", str(port), str(file)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield {
            "logbook_mirror_url": f"http://127.0.0.1:{port}/Olog",
            "logbook_mirror_logbook": LOGBOOK,
            "logbook_mirror_user": USER,
            "logbook_mirror_password": PASSWORD,
        }
    finally:
        process.kill()
        process.wait(PATIENCE)


async def live(lived: Lived) -> None:
    """The whole day, with a look at everything after every step."""
    server, control, since = lived.server, lived.control, time.monotonic()
    async with beginning(server, control) as day, beginning(lived.partner, control) as partner:
        day.at_partner = partner
        await yesterday(day)
        shown: dict[Stream, SurfaceAnswer] = {}
        await look(day, shown, 0)
        for step in STEPS:
            before, earlier, day.touched = log_of(server), {**shown}, {}
            await step.act(day)
            lived.ended.append(datetime.now(UTC))
            lived.stored.append(log_of(server).events - before.events)
            lived.left.append(await look(day, shown, before.position))
            lived.moved |= {each for each in day.touched if shown[each] != earlier.get(each)}
            lived.shown.append({**shown})
        for view in CATALOGUE.views:
            await day.listed(next(q.name for q in CATALOGUE.questions if lists(q, view)))
    lived.seconds = time.monotonic() - since


@asynccontextmanager
async def beginning(server: Server, control: ControlSystem) -> AsyncGenerator[Day]:
    """A day on a service, whose tokens are minted once for each who calls."""
    async with httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE) as http:
        yield Day(http, cache(server.token), ISSUER, control.ioc.put, data=control.data)


def lists(question: Any, view: object) -> bool:
    return getattr(question.source, "view", None) is view


class Log(NamedTuple):
    """How much there is, and where it ends."""

    events: int
    position: int


def log_of(server: Server) -> Log:
    ((events, position),) = server.database.ask("SELECT count(*), max(position) FROM bk.events")
    assert isinstance(events, int)
    assert isinstance(position, int)
    return Log(events, position)


async def look(day: Day, shown: dict[Stream, SurfaceAnswer], since: int) -> list[str]:
    """Read what was touched, and give back what its histories have after a position, in order."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def look_at(kind: str, id: str) -> list[Mapping[str, Any]]:
        about = {GET[kind].aggregate.id_field: id}
        async with turns:
            answer = shown[kind, id] = await day.send(GET[kind].name, about, as_=ADMINISTRATOR)
            told = await day.do(HISTORY[kind].name, {**about, "limit": 100}, as_=ADMINISTRATOR)
        assert answer.version == len(told["items"])
        return [event for event in told["items"] if event["position"] > since]

    found = await asyncio.gather(*(look_at(*each) for each in day.touched))
    new = [event for events in found for event in events]
    return [event["event_type"] for event in sorted(new, key=lambda event: event["position"])]


@pytest.mark.timed
def test_the_day_is_lived_in_under_three_minutes(lived: Lived):
    assert lived.seconds < LONGEST


@pytest.mark.parametrize("number", range(len(STEPS)), ids=[s.act.__name__ for s in STEPS])
def test_a_step_leaves_its_events_and_no_others(lived: Lived, number: int):
    step = STEPS[number]
    left, leaves = lived.left[number], [*step.leaves]
    assert left == leaves if step.in_order else sorted(left) == sorted(leaves)
    assert lived.stored[number] == len(step.leaves)


def test_of_two_rivals_only_one_asked_the_model(lived: Lived):
    assert sorted(lived.model.asked) == ["caution", "debrief"]


async def copied(lived: Lived) -> list[dict[str, Any]]:
    """The entries of the outside logbook, once all work of copying is done."""

    def done() -> bool:
        ((left,),) = lived.server.database.ask(COPIES_LEFT)
        return left == 0

    await until(done, "every entry is copied")
    return [*read_entries(lived.outside)]


def test_the_facilitys_own_logbook_shows_the_debrief_once(lived: Lived):
    entries = asyncio.run(copied(lived))
    told = [(each["title"], each["description"]) for each in entries]
    assert told == [("Run Run 1: Debrief", literal(NARRATIVE))]


def test_the_control_system_took_each_value_of_the_conducts_once(lived: Lived):
    assert lived.control.ioc.puts() == [
        ["TOMO:HEX:REBOOT", 1],
        ["TOMO:HEX:Y", 0],
        ["TOMO:HEX:REBOOT", 0],
        ["TOMO:MONO:ENERGY", 25],
        ["TOMO:SHUTTER", 0],
        *[["TOMO:ROT:CORRECT", 1]] * 4,
        *[["TOMO:FOCUS", position] for position in (-1, -0.5, 0, 0.5, 1)],
    ]


def test_every_list_equals_a_fresh_fold_of_the_log(lived: Lived):
    async def differing() -> tuple[int, int, int]:
        url = lived.server.database.url("postgres")
        log = await read_log(url)
        return len(holes(log)), await differing_rows(url, log), await differing_grants(url, log)

    assert asyncio.run(differing()) == (0, 0, 0)


def test_everything_is_shown_as_of_each_step_as_it_was_shown_then(lived: Lived):
    moved = [about for about in lived.shown[-1] if about in lived.moved]
    steps = [(number, about) for about in moved for number in worth_asking(lived, about)]
    rest = [(0, about) for about in lived.shown[0] if about not in lived.moved]
    assert {kind for kind, _ in moved} == MOVED
    assert asyncio.run(differing(lived, [*steps, *rest])) == []


def worth_asking(lived: Lived, about: Stream) -> Iterable[int]:
    """All steps; of what has not changed since it began, those around the beginning and the last.

    A campaign makes hundreds of these.
    """
    told = [shown.get(about) for shown in lived.shown]
    first, last = sum(each is None for each in told), len(STEPS) - 1
    changed = any(each != told[first] for each in told[first:])
    return range(len(STEPS)) if changed or not first else {first - 1, first, last}


async def differing(lived: Lived, list_filter: Iterable[tuple[int, Stream]]) -> list[str]:
    """Which of these are not shown as of the end of a step as they were shown after it."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def as_of(number: int, about: Stream) -> str | None:
        kind, id = about
        question, then = GET[kind], lived.shown[number].get(about)
        asked = {question.aggregate.id_field: id, "as_of": lived.ended[number].isoformat()}
        async with turns:
            answer = await day.send(question.name, asked, as_=ADMINISTRATOR)
        erased = ERASED if answer.body.get("name") == DELETED_USER else set[str]()
        same = (
            answer.status == 404
            if then is None
            else lasting(answer, erased) == lasting(then, erased)
        )
        return None if same else f"{kind} {id} after {STEPS[number].act.__name__}: {answer}"

    async with beginning(lived.server, lived.control) as day:
        found = await asyncio.gather(*(as_of(*each) for each in list_filter))
    return [each for each in found if each]


def lasting(answer: SurfaceAnswer, erased: set[str]) -> tuple[int | None, Mapping[str, Any]]:
    """The version, and what is shown of the state and was not erased."""
    return answer.version, {n: v for n, v in answer.body.items() if n not in NOW_ONLY | erased}


class Upgraded(NamedTuple):
    """The same deployment in another process, and a copy of its database."""

    server: Server
    scratch: Database


@pytest.fixture(scope="module")
def upgraded(lived: Lived) -> Generator[Upgraded]:
    """Rebuild every list, leave the process and its snapshots behind, and start another."""
    server, database = lived.server, lived.server.database
    asyncio.run(rebuilt(database))
    assert server.stop() == 0
    # A release that folds otherwise looks for other snapshots than those it finds.
    database.ask("UPDATE bk.snapshots SET fold = gen_random_uuid()")
    scratch = Database(database.cluster, f"{database.name}_scratch")
    database.cluster.create_database(scratch.name, database.name)
    with serving(server) as later:
        yield Upgraded(later, scratch)


async def rebuilt(database: Database) -> None:
    """Build every list anew while the service goes on, and wait until each has replaced its old."""
    connections = Connections(database.url("bk_projector"), 1)
    projections = PostgresProjections(connections)
    wanted = {(each.name, await projections.rebuild(each, shards(1))) for each in CATALOGUE.views}

    async def replaced() -> bool:
        return {each.key for each in await projections.generations() if each.live} == wanted

    await until(replaced, "every list is rebuilt")
    await connections.close()


async def verdicts(
    database: Database, verify: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
) -> list[Counter[str]]:
    """The verdicts on the evidence of every decision of an agent, in the order of deciding."""
    found: list[Counter[str]] = []
    for (id,) in database.ask(DECISIONS):
        page = await verify({"decision_id": str(id), "limit": "100"})
        assert page["next_cursor"] is None
        found.append(Counter(row["verdict"] for row in page["items"]))
    return found


async def verdicts_of_the_service(lived: Lived, server: Server) -> list[Counter[str]]:
    async with beginning(server, lived.control) as day:

        async def verify(asked: Mapping[str, Any]) -> Mapping[str, Any]:
            return await day.do("verify_decision_evidence", asked, as_=ADMINISTRATOR)

        return await verdicts(server.database, verify)


async def verdicts_of_a_later_release(database: Database) -> list[Counter[str]]:
    connections = database.connections()
    store = PostgresEventStore(connections, database.url())
    lists = PostgresLists(connections)
    service = of_release("later", store, lists, await store.cursor_key())

    async def verify(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        page = json.loads((await call(service, "verify_decision_evidence", asked)).body)
        assert {row["verified_by"] for row in page["items"]} == {"later"}
        return page

    try:
        return await verdicts(database, verify)
    finally:
        await connections.close()


def test_every_decision_rests_on_the_same_after_a_rebuild_and_an_upgrade(
    lived: Lived, upgraded: Upgraded
):
    found = asyncio.run(verdicts_of_the_service(lived, upgraded.server))
    assert len(found) >= 50
    assert [each for each in found if each.keys() != {"same"}] == []


def test_a_payload_changed_in_a_copy_is_found_by_the_decision_that_rests_on_it(
    upgraded: Upgraded,
):
    before = asyncio.run(verdicts_of_a_later_release(upgraded.scratch))
    assert [each for each in before if each.keys() != {"same"}] == []
    upgraded.scratch.ask(FORGE)
    found = asyncio.run(verdicts_of_a_later_release(upgraded.scratch))
    assert [each.total() for each in found] == [each.total() for each in before]
    # The agent read the run before its next decision, and again nothing of it before the others.
    assert [each["differs"] for each in found if each["differs"]] == [1]
