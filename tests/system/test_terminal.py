"""A shift at a real terminal of 80 columns: what a person reads, and what the names they type do.

The screens are kept in tests/unit/client/screens. With BEAMKEEP_WRITE_SCREENS=1 they are written
anew: read every one of them before you commit it.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from demo import day as beamline_day
from demo.acting import OPERATOR, Day
from demo.control_system import ControlSystem, control_system
from demo.day import yesterday
from tests.support.pseudo_terminal import COLUMNS, LINES, Screen, screen

from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import Server, running_server
from beamkeep.testing.waiting import until
from beamkeep_client import terminal
from beamkeep_client.catalogue import Entry, catalogue
from beamkeep_client.references import Reference
from beamkeep_client.synchronous.http import HttpClient
from beamkeep_client.synchronous.references import found

pytestmark = pytest.mark.postgres

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "tests/unit/client/screens"
WRITE = "BEAMKEEP_WRITE_SCREENS"
MORNING = (
    *(beamline_day.observers, beamline_day.arrival, beamline_day.safety, beamline_day.control),
    *(beamline_day.sample, beamline_day.plan),
)
PLAN = "Scan of every day"
NOT_YET = "No run is called"
"""What is said while the directory has not followed; nothing was sent then."""


@dataclass
class Shift:
    """A service in the middle of a shift, and what was read on the way."""

    server: Server
    seen: dict[str, Screen] = field(default_factory=dict[str, Screen])

    async def sees(self, name: str, *words: str, until_it_has: str = "") -> None:
        """Read a screen as the administrator, again until lists and names have followed."""
        typed = partial(self.typed, *words)

        async def followed() -> Screen | None:
            shown = await asyncio.to_thread(typed)
            is_early = NOT_YET in shown.text or until_it_has not in shown.text
            return None if is_early else shown

        self.seen[name] = await until(followed, f"{name} shows {until_it_has}")

    def typed(self, *words: str, token: str = "") -> Screen:
        way_in = {"BEAMKEEP_URL": self.server.url, "BEAMKEEP_TOKEN": token or self.server.admin}
        return screen(*words, **way_in)


@pytest.fixture(scope="module")
def shift(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Generator[Shift]:
    settings = {
        "self_facility_code": "local",
        "facility_timezone": "Europe/Zurich",
        "require_run_clearance": "true",
        "enclosure_stale_after_seconds": "3600",
    }
    with (
        control_system(tmp_path_factory.mktemp("jobs")) as control,
        running_server(cluster, **settings, **control.environment) as server,
    ):
        way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
        beamline = str(ROOT / "demo" / "beamline.yaml")
        imported = server.run("import", "yaml", beamline, "--apply", **way_in)
        assert imported.returncode == 0, imported.stdout + imported.stderr
        shift = Shift(server)
        asyncio.run(work(shift, control))
        yield shift


async def work(shift: Shift, control: ControlSystem) -> None:
    """A shift: nothing is ready, then everything; runs are started, held and completed by names."""
    async with beginning(shift.server, control) as day:
        await yesterday(day)
        await shift.sees("plan-not-ready", "plan", "ready", PLAN)
        for step in MORNING:
            await step(day)
    see = shift.sees
    await see("plan-ready", "plan", "ready", PLAN, until_it_has="● Ready")
    start = ("run", "start", "--plan", PLAN, "--name")
    await see("run-start", *start, "Foam 23", "--subject", "Fossil 7")
    await see("run-hold", "run", "hold", "Foam 23", "--reason", "Beam lost")
    await see("run-resume", "run", "resume", "Foam 23")
    await see("run-complete", "run", "complete", "Foam 23")
    await see("run-start-2", *start, "Foam 24", "--dry-run")
    await see("run-start-3", *start, "Foam 24")
    await see("run-hold-2", "run", "hold", "Foam 24", "--reason", "Sample slipped")
    await see("run-list", "run", "list", until_it_has="Held")
    await see("run-get", "run", "get", "Foam 24", until_it_has="Held")
    await see("plan-list", "plan", "list", until_it_has="second camera")
    await see("supply-list", "supply", "list", until_it_has="Pressure is right")
    await see("enclosure-list", "enclosure", "list", until_it_has="Permitted")
    await see("caution-list", "caution", "list", until_it_has="hexapod")
    await see("visit-list", "visit", "list", until_it_has="InProgress")
    await see("search", "search", "foam", until_it_has="Held")
    await see("events", "events", "--since", "1h", "--stream-type", "Run")
    await see("mistyped", "start-rnu")
    olga = shift.server.token(OPERATOR)
    shift.seen["whoami"] = await asyncio.to_thread(shift.typed, "whoami", token=olga)


@asynccontextmanager
async def beginning(server: Server, control: ControlSystem) -> AsyncGenerator[Day]:
    async with httpx2.AsyncClient(base_url=server.url, timeout=60) as http:
        yield Day(http, cache(server.token), ISSUER, control.ioc.put, data=control.data)


def normal(text: str) -> str:
    """A screen without what differs from day to day, every text as long as it was."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}", "0" * 36, text)
    text = re.sub(r"…[0-9a-f]{8}\b", "…" + "0" * 8, text)
    # A time is shown with its day unless that is today.
    text = re.sub(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d(?!:|\d)", "12:00", text)
    text = re.sub(r"^12:00  ", "12:00:00  ", text, flags=re.MULTILINE)
    text = re.sub(r"\d{4}-\d\d-\d\d", "2030-01-31", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "12:00:00", text)
    text = re.sub(r"(?<![\w…])\d{1,2}[smhd]\b *", lambda m: "9s".ljust(len(m[0])), text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


KEPT = (
    *("plan-not-ready", "plan-ready", "plan-list", "run-start", "run-list", "run-get"),
    *("supply-list", "enclosure-list", "caution-list", "visit-list", "search", "events"),
    *("run-hold", "whoami", "mistyped"),
)


@pytest.mark.parametrize("name", KEPT)
def test_a_screen_is_as_it_was_kept(shift: Shift, name: str):
    shown, kept = normal(shift.seen[name].text), SCREENS / f"{name}.txt"
    if os.environ.get(WRITE):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(shown)
    assert shown == kept.read_text()


def test_every_kept_screen_is_compared():
    assert {path.stem for path in SCREENS.glob("*")} == {*KEPT}


def test_every_screen_fits_the_terminal(shift: Shift):
    for name, shown in shift.seen.items():
        assert max(map(len, shown.lines)) <= COLUMNS, name
        assert len(shown.lines) <= LINES, name


def test_a_run_is_started_held_resumed_and_completed_by_names_only(shift: Shift):
    told = [shift.seen[f"run-{verb}"] for verb in ("start", "hold", "resume", "complete")]
    assert [each.code for each in told] == [0, 0, 0, 0]
    assert [each.lines[0] for each in told] == [
        "run Foam 23 started (version 1)",
        "run Foam 23 held (version 2)",
        "run Foam 23 resumed (version 3)",
        "run Foam 23 completed (version 4)",
    ]


def test_a_rehearsal_says_that_nothing_was_written(shift: Shift):
    told = shift.seen["run-start-2"]
    assert told.lines == ["Nothing was written. It would write: RunStarted"]


def test_an_asset_is_named_by_its_process_variable(shift: Shift):
    told = shift.typed("asset", "get", "TOMO:ROT")
    assert told.lines[0].split() == ["name", "Rotation"]


def test_a_state_has_a_colour_and_a_sign(shift: Shift):
    shown = shift.seen["run-list"].raw
    assert "\x1b[33m▲ Held" in shown
    assert "\x1b[32m● Completed" in shown


# Every list of the catalogue


LISTS = [entry for entry in catalogue().values() if entry.columns and "cursor" in entry.fields]


@pytest.fixture(scope="module")
def client(shift: Shift) -> Generator[HttpClient]:
    client = HttpClient(shift.server.url, shift.server.admin)
    yield client
    client.close()


def rows_of(client: HttpClient, entry: Entry) -> Mapping[str, Any]:
    """A page of a list; of a list within an object, that of the first object that has rows."""
    asked = {"names": "true"} if "names" in entry.fields else {}
    for path in paths(client, entry):
        page = client.request("GET", path, params=asked).json()
        if page["items"]:
            return page
    return {"items": []}


def paths(client: HttpClient, entry: Entry) -> Sequence[str]:
    if not entry.in_path:
        return [entry.path]
    first, *more = entry.in_path
    above = [e for e in LISTS if not e.in_path and e.columns[0] == first]
    # A seal has the id of its facility.
    above.sort(key=lambda each: each.noun != entry.noun)
    if more or not above:
        return []
    found = client.request("GET", above[0].path, params={"limit": 20}).json()["items"]
    return [entry.path.format(**{first: row[first]}) for row in found]


@pytest.mark.parametrize("entry", LISTS, ids=lambda entry: entry.name)
def test_the_table_of_a_list_fits_and_its_ids_are_accepted_back(
    entry: Entry,
    client: HttpClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    page = rows_of(client, entry)
    terminal.show(entry, page)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= COLUMNS
    own = entry.columns[0]
    for line, row in list(zip(lines[1:], page["items"], strict=False))[:3]:
        shown, id = line.split()[0], str(row[own])
        if own.endswith("_id") and shown != id:
            assert shown == f"…{id[-8:]}"
            kind = next(
                f.refers_to
                for e in catalogue().values()
                for n, f in e.fields.items()
                if n == own and f.refers_to
            )
            assert found(client, Reference(shown, kind))["id"] == id


def test_some_lists_have_rows_to_judge_by(client: HttpClient):
    filled = [entry.name for entry in LISTS if rows_of(client, entry)["items"]]
    assert len(filled) > 40
