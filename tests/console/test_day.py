"""The day of the demonstration, in which people send their commands at the console."""

import os
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import demo.day
import httpx2
import pytest
from demo.acting import ADMINISTRATOR, NAMES, NEXT_VISITOR, OPERATOR, STEWARD, Day
from demo.agent import SETTINGS as AGENTS
from demo.control_system import ControlSystem, control_system
from demo.day import STEPS, WITHOUT_PARTNER, yesterday
from demo.model_server import model_server
from playwright.async_api import Locator, Page, async_playwright, expect

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.testing.calling import Calling, SurfaceAnswer
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import Server, running_server
from tests.console.driving import Console, Hands, Keyboard, Mouse, Place
from tests.console.visit import PATIENCE_MS, Background, chromium_path
from tests.system.test_day import BEAMLINE, log_of, look

WHOLE = pytest.mark.skipif(
    os.environ.get("BEAMKEEP_CONSOLE_DAY") != "whole",
    reason="the whole day is for the night: set BEAMKEEP_CONSOLE_DAY=whole",
)
AFTERWARDS = "afterwards"
AT_THE_CONSOLE: Mapping[str, Mapping[str, type[Hands]]] = {
    "board": {"start_run": Mouse},
    "observers": {"restore_supply": Mouse, "register_supply": Mouse},
    "arrival": {"start_visit": Mouse},
    "safety": {
        "start_clearance_review": Mouse,
        "append_clearance_review_step": Mouse,
        "approve_clearance": Mouse,
    },
    "control": {"take_visit_surface_control": Mouse},
    "fault": {"fault_asset": Mouse, "enter_asset_maintenance": Mouse, "mount_subject": Mouse},
    "recovery": {"conduct_or_hold_procedure": Mouse, "conduct_from_procedure": Mouse},
    "energy": {"register_procedure": Mouse},
    "baselines": {"start_run": Keyboard},
    "sample": {"register_subject": Keyboard},
    "plan": {"define_plan": Mouse},
    "run_1": {"start_run": Mouse},
    "beam_dump": {"hold_run": Keyboard, "resume_run": Mouse},
    AFTERWARDS: {"hold_run": Keyboard, "resume_run": Keyboard},
}
"""What a person sends at the console when not the whole day is, by step and command.

A command of a step goes there once for each person; its repetitions go over REST.
"""
BOARD = "/?plan={plan}"
PROCEDURE = "/procedures/{procedure_id}"
RAW = "/data/Dataset/{raw}"
RESUMED = Place(BOARD, "Resume", within=".run-actions")
FROM_SCREENS: Mapping[str, Mapping[str, Place]] = {
    "fault": {
        "fault_asset": Place("/equipment/{asset_id}", "Fault"),
        "enter_asset_maintenance": Place("/equipment/{asset_id}", "Enter maintenance"),
    },
    "recovery": {
        "conduct_or_hold_procedure": Place(
            PROCEDURE, "Conduct a procedure, and hold on a failure", menu=True
        ),
        "conduct_from_procedure": Place(PROCEDURE, "Continue", shows=["CheckFailedError"]),
    },
    "run_1": {
        "start_run": Place(
            "/?plan={plan_id}",
            "Start",
            within=".verdict",
            shows=[
                "Starting acknowledges these 2 cautions.",
                "The rotary stage misses its index",
                "The hexapod's Y dial is wrong",
            ],
        )
    },
    "beam_dump": {"resume_run": RESUMED},
    "ended": {"promote_caution_proposal": Place("/decisions/{decision_id}", "Register")},
    "campaign": {
        "approve_proposal": Place(
            "/proposals/{proposal_id}", "Approve", shows=["Take one step more."]
        )
    },
    "truncation": {"truncate_run": Place("/runs/{run_id}", "Truncate", menu=True)},
    "custody": {
        "record_attestation": Place(RAW, "Attest", within='.cp:has-text("nvme1")'),
        "discard_distribution": Place(RAW, "Discard", within='.cp:has-text("nvme1")'),
    },
    "bad_constant": {
        "demote_dataset": Place("/data/Dataset/{dataset_id}", "Demote", within=".side-actions")
    },
    "close": {"release_visit_surface_control": Place(BOARD, "Release", within=".tiles")},
    AFTERWARDS: {
        "hold_run": Place(BOARD, "Hold", within=".run-actions"),
        "resume_run": RESUMED,
    },
}
"""Where the screens offer what people send, by step and command; all else is in the palette.

A person sends a command of a step from there once, and its repetitions from the palette.
"""
SAMPLES = int(os.environ.get("BEAMKEEP_CONSOLE_SAMPLES", "3"))
"""For how many samples of the campaign people send their commands at the console."""
LAST = 17
"""The last step that is taken when not the whole day is."""
PATIENCE = 60.0
VALID = timedelta(seconds=40)
"""How long the clearance of the evening is valid: people need some time for their forms."""


async def three_checks_fail(day: "DayAtTheConsole") -> None:
    """The Board names the three checks that fail, with the facts."""
    failing = await failing_checks(day)
    await expect(failing).to_have_count(3, timeout=PATIENCE_MS)
    told = " ".join(await failing.all_inner_texts())
    assert all(each in told for each in ("Fossils in resin", "Ring beam", "Optics hutch")), told


async def only_the_clearance_is_missing(day: "DayAtTheConsole") -> None:
    """The Board follows the beam and the permits without being loaded again."""
    failing = await failing_checks(day)
    await expect(failing).to_have_count(1, timeout=PATIENCE_MS)
    await expect(failing).to_contain_text("Fossils in resin")


async def everything_passes(day: "DayAtTheConsole") -> None:
    """The Board shows no failing check."""
    await expect(await failing_checks(day)).to_have_count(0, timeout=PATIENCE_MS)


async def failing_checks(day: "DayAtTheConsole") -> Locator:
    """The failing checks on the Board of the operator."""
    return (await day.page_of(OPERATOR)).locator("li:is(.no, .unk)")


async def held_and_resumed(day: "DayAtTheConsole") -> None:
    """A run is held and resumed by keyboard alone."""
    about = {"run_id": day.ids["run 1"]}
    await day.do("hold_run", {**about, "reason": "The sample is looked at"})
    assert (await day.do("get_run", about))["status"] == "Held"
    await day.do("resume_run", about)
    assert (await day.do("get_run", about))["status"] == "Running"


async def somebody_has_control(day: "DayAtTheConsole") -> None:
    """The next visitor sees on the Board who has control."""
    tile = (await day.page_of(NEXT_VISITOR)).locator(".tile").filter(has_text="Control")
    await expect(tile).to_contain_text("2030-117", timeout=PATIENCE_MS)


async def a_copy_was_wrong(day: "DayAtTheConsole") -> None:
    """The page of the dataset shows the check that failed, and the copy that is left."""
    page = await day.page_of(STEWARD, RAW)
    shown = page.get_by_role("region", name="Dataset", exact=True)
    await expect(shown).to_contain_text("checksum, mismatch", timeout=PATIENCE_MS)
    copy = page.locator(".cp")
    await expect(copy).to_have_count(1, timeout=PATIENCE_MS)
    for told in ("archive", "Verified", "No copy that counts would be left"):
        await expect(copy).to_contain_text(told, timeout=PATIENCE_MS)


async def seven_datasets_used_it(day: "DayAtTheConsole") -> None:
    """The page of the revision names the data that used it."""
    day.noted = datetime.now(UTC)
    page = await day.page_of(STEWARD, "/data/CalibrationRevision/{revision}")
    await expect(page.locator(".cnt")).to_contain_text("of 7 datasets", timeout=PATIENCE_MS)
    await expect(page.locator(".retract tr")).to_have_count(7)


async def nothing_stands_that_used_it(day: "DayAtTheConsole") -> None:
    """All seven are retracted, and the past still tells what was believed then."""
    page = await day.page_of(STEWARD, "/data/CalibrationRevision/{revision}")
    none = page.locator(".cnt > div").first
    await expect(none).to_have_text("0of 7 datasets not retracted", timeout=PATIENCE_MS)
    trust = page.locator(".side .kv")
    assert day.noted is not None
    for path, told in (("", "Retracted"), (f"?as_of={day.noted:%Y-%m-%dT%H:%M:%SZ}", "Production")):
        await day.page_of(STEWARD, f"/data/Dataset/{{Volume 1}}{path}")
        await expect(trust).to_contain_text(told, timeout=PATIENCE_MS)
    # Nothing can be sent from the past.
    await page.get_by_role("button", name="Back to now").click()


async def no_clearance_is_in_force(day: "DayAtTheConsole") -> None:
    """The Board shows that the clearance has ended, and offers no start."""
    page = await day.page_of(OPERATOR, BOARD)
    tile = page.locator(".tile").filter(has_text="Clearance")
    await expect(tile).to_contain_text("None", timeout=PATIENCE_MS)
    start = page.locator(".verdict").get_by_role("button", name="Start a run")
    await expect(start).to_have_attribute("aria-disabled", "true")


SEEN_BEFORE: Mapping[str, Callable[["DayAtTheConsole"], Awaitable[None]]] = {
    "board": three_checks_fail,
    "bad_constant": seven_datasets_used_it,
}
SEEN_AFTER: Mapping[str, Callable[["DayAtTheConsole"], Awaitable[None]]] = {
    "observers": only_the_clearance_is_missing,
    "safety": everything_passes,
    "control": somebody_has_control,
    "custody": a_copy_was_wrong,
    "bad_constant": nothing_stands_that_used_it,
    "expired": no_clearance_is_in_force,
}


@dataclass
class DayAtTheConsole(Day):
    """A day in which people send their commands at the console, and all others as before."""

    console: Console | None = None
    hands: type[Hands] | None = None
    """How all commands of people are sent; None if the table says which are, and how."""
    step: str = ""
    sent: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """How often a person has sent a command in this step."""
    noted: datetime | None = None
    """A time to which a person goes back."""

    async def page_of(self, person: str, path: str | None = None) -> Page:
        """The page of a person, which was loaded once, on the Board or where they go."""
        assert self.console is not None
        shown = await self.console.person(self.token(person), self.ids["console"])
        if path is not None:
            await shown.go(path.format(**self.ids))
        return shown.page

    async def send(
        self,
        name: str,
        arguments: Mapping[str, Any],
        as_: str = OPERATOR,
        over: Calling | None = None,
        **options: Any,
    ) -> SurfaceAnswer:
        is_command = isinstance(CATALOGUE.named[name], Operation)
        if self.console is not None and is_command and as_ in {*NAMES, ADMINISTRATOR}:
            self.sent[as_, name] = self.sent.get((as_, name), 0) + 1
            is_repeated = self.sent[as_, name] > 1 and "idempotency_key" not in options
            listed = None if is_repeated else AT_THE_CONSOLE.get(self.step, {}).get(name)
            is_left_out = self.step == "campaign" and self.sent[as_, name] > SAMPLES
            if hands := (None if is_left_out else self.hands) or listed:
                if as_ != ADMINISTRATOR:
                    # Nobody has granted her anything at the console of the beamline.
                    options["surface_id"] = self.ids["console"]
                self.console.hands = hands
                place = None if is_repeated else FROM_SCREENS.get(self.step, {}).get(name)
                if place:
                    path = place.path.format(**{**self.ids, **arguments})
                    place = place._replace(path=path)
                self.console.place = place
                over = self.console
        return await super().send(name, arguments, as_=as_, over=over, **options)


@dataclass
class Seen:
    """What was seen after every step."""

    left: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The events of each step, by the histories of everything it touched."""
    stored: dict[str, int] = field(default_factory=dict[str, int])
    commands: int = 0
    """How many commands went through the browser."""


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    with Cluster.start() as cluster:
        yield cluster


@contextmanager
def a_beamline(cluster: Cluster, folder: Path) -> Generator[tuple[Server, ControlSystem]]:
    """Run a service with the imported beamline, its control system and a model."""
    settings = {
        "self_facility_code": "local",
        "require_run_clearance": "true",
        "enclosure_stale_after_seconds": "3600",
        **AGENTS,
    }
    with (
        control_system(folder) as control,
        model_server() as model,
        running_server(cluster, **settings, **control.environment, **model.environment) as server,
    ):
        way_in = {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}
        imported = server.run("import", "yaml", str(BEAMLINE), "--apply", **way_in)
        assert imported.returncode == 0, imported.stdout + imported.stderr
        yield server, control


async def live(server: Server, control: ControlSystem, hands: type[Hands] | None) -> Seen:
    """The day, with a look at everything after every step."""
    seen = Seen()
    last = WITHOUT_PARTNER[-1].number if hands else LAST
    async with (
        httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE) as http,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox"]
        )
        day = DayAtTheConsole(http, cache(server.token), ISSUER, control.ioc.put, data=control.data)
        await yesterday(day)
        day.hands, day.console = hands, Console(http, browser)
        day.console.query["plan"] = day.ids["plan"]
        for step in (step for step in WITHOUT_PARTNER if step.number <= last):
            name, before = step.act.__name__, log_of(server)
            day.step, day.touched, day.sent = name, {}, {}
            try:
                if name in SEEN_BEFORE:
                    await SEEN_BEFORE[name](day)
                await step.act(day)
                if name in SEEN_AFTER:
                    await SEEN_AFTER[name](day)
            except BaseException:
                await day.console.picture(f"day-{name}")
                raise
            seen.stored[name] = log_of(server).events - before.events
            seen.left[name] = await look(day, {}, before.position)
        if not hands:
            day.step, day.sent = AFTERWARDS, {}
            await held_and_resumed(day)
        seen.commands = day.console.count
        assert day.console.complaints == []
        await browser.close()
    return seen


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(None, id="part"),
        pytest.param(Mouse, id="mouse", marks=(pytest.mark.faults, WHOLE)),
        pytest.param(Keyboard, id="keyboard", marks=(pytest.mark.faults, WHOLE)),
    ],
)
def seen(
    request: pytest.FixtureRequest,
    built: Path,
    cluster: Cluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[Seen]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo.day, "VALID", VALID)
        beamline = a_beamline(cluster, tmp_path_factory.mktemp("jobs"))
        with beamline as (server, control), Background() as background:
            yield background.run(live(server, control, request.param))


def test_every_step_leaves_its_events_and_no_others(seen: Seen):
    steps = [step for step in STEPS if step.act.__name__ in seen.left]
    left = {s.act.__name__: seen.left[s.act.__name__] for s in steps if s.in_order}
    assert left == {s.act.__name__: [*s.leaves] for s in steps if s.in_order}
    assert seen.stored == {step.act.__name__: len(step.leaves) for step in steps}


def test_at_least_the_commands_of_the_table_went_through_the_browser(seen: Seen):
    assert seen.commands >= sum(map(len, AT_THE_CONSOLE.values()))
