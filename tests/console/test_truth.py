"""What the console shows is what the service knows, or it says that it does not know."""

import os
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from demo.acting import LOOKING, OPERATOR, SCAN_SERVER
from playwright.sync_api import APIResponse, Page, Request, Route, expect
from playwright.sync_api import Error as PlaywrightError

from beamkeep.testing.seeds import dice, seed
from tests.console.gate import Gate
from tests.console.screens import QUIET
from tests.console.visit import PATIENCE_MS, Beamline, Visit, Visits
from tests.support.oidc import PeopleProvider

CUTS = int(os.environ.get("BEAMKEEP_CONSOLE_CUTS", "5"))
KILLS = int(os.environ.get("BEAMKEEP_CONSOLE_KILLS", "3"))
LIFETIME = 3600
SHORT = 20
"""How many seconds a token lives that is renewed during a test."""
LEEWAY_MS = 240_000
"""The service looks at the token of a stream once a minute, and lets it end a minute late."""
HOURS_OFF = 2
"""By how much the clock of a browser is wrong."""
WRONG_CLOCK = f"""
const Right = Date, off = {HOURS_OFF} * 3600e3;
globalThis.Date = class extends Right {{
    constructor(...given) {{ given.length ? super(...given) : super(Right.now() + off); }}
    static now() {{ return Right.now() + off; }}
}};
"""
NOT_LIVE = """
window.wasNotLive = false;
new MutationObserver(() => { window.wasNotLive ||= document.title.startsWith("Not live"); })
    .observe(document, {childList: true, subtree: true, characterData: true});
"""
"""Notices whether the page has ever said that it is not live."""


@pytest.fixture
def run(beamline: Beamline) -> Generator[Mapping[str, str]]:
    """Run 1, which goes on before and after each test."""
    about = {"run_id": beamline.ids["run 1"]}
    yield about
    if beamline.do("get_run", about)["status"] == "Held":
        beamline.do("resume_run", about)


def told_by(beamline: Beamline) -> dict[str, str]:
    """Return the states that the Board shows, by a fresh read over REST."""
    unit = beamline.do("list_assets", {"tier": "Unit"})["items"][0]["asset_id"]
    board = beamline.do("get_board", {"asset_id": unit})
    told = {each["name"]: words(each["permit_status"]) for each in board["enclosures"]}
    (beam,) = [each for each in board["supplies"] if "beam" in each["kind"]]
    told["Beam"] = words(beam["status"])
    (run,) = [each for each in board["runs"] if each["id"] == beamline.ids["run 1"]]
    told["run"] = run["status"]
    return told


def words(state: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", state).capitalize()


def changes_of(beamline: Beamline, run: Mapping[str, str]) -> list[Callable[[], Any]]:
    """Return what may happen at the beamline while nobody is told."""
    (hutch, *_) = [each["name"] for each in beamline.do("list_enclosures", {"limit": 10})["items"]]

    def hold_or_resume() -> None:
        held = beamline.do("get_run", run)["status"] == "Held"
        # A run may not go on while its hutch is searched.
        verb = "resume_run" if held else "hold_run"
        beamline.run(beamline.day.send(verb, run, as_=OPERATOR))

    def search() -> None:
        beamline.run(beamline.day.permits("NotPermitted", hutch))

    def permit() -> None:
        beamline.run(beamline.day.permits("Permitted", hutch))

    return [hold_or_resume, search, permit]


def require_truth(tab: Visit, beamline: Beamline) -> None:
    """Wait until the Board shows what is so; fail if it keeps showing something else."""
    told = told_by(beamline)
    tab.shown()
    for name, state in told.items():
        if name == "run":
            expect(tab.page.locator(".panel.run .chip").first).to_contain_text(state)
        else:
            tile = tab.page.locator(".tile").filter(has=tab.page.get_by_text(name, exact=True))
            expect(tile.locator(".v")).to_have_text(state)


def test_after_every_cut_the_board_shows_what_a_fresh_read_tells(
    visit: Visits, beamline: Beamline, gate: Gate, run: Mapping[str, str]
):
    random, tab = dice(seed(), "cuts of the feed"), visit("ada", url=gate.url)
    changes = changes_of(beamline, run)
    try:
        for _ in range(CUTS):
            gate.cut()
            for change in random.choices(changes, k=random.randint(1, 3)):
                change()
                if random.random() < 0.3:
                    gate.cut()
            require_truth(tab, beamline)
    finally:
        changes[2]()


def test_rows_that_came_while_the_feed_was_lost_are_shown_when_it_is_back(
    visit: Visits, beamline: Beamline, gate: Gate, run: Mapping[str, str]
):
    tab = visit("ada", f"/runs/{run['run_id']}", url=gate.url)
    expect(tab.page.get_by_text("Ring current").first).to_be_visible()
    gate.shut(True)
    expect(tab.page.get_by_role("region", name="Not live")).to_be_visible()
    entry = {
        "observation_id": str(uuid4()),
        "channel_name": "Seen while away",
        "value": 42.5,
        "unit": {"system": "udunits", "code": "mA"},
        "sampling_procedure": "monitor",
        "sampled_at": datetime.now(UTC).isoformat(),
        "simulated": True,
    }
    beamline.do("append_observations", {**run, "entries": [entry]}, as_=SCAN_SERVER)
    gate.shut(False)
    tab.page.get_by_role("button", name="Reconnect now").click()
    expect(tab.page.get_by_text("Seen while away").first).to_be_visible()


def test_a_lost_feed_is_said_on_the_screen_and_in_the_title(visit: Visits, gate: Gate):
    tab = visit("olga", url=gate.url)
    expect(tab.page.locator(".tile").first).to_be_visible()
    assert tab.page.get_by_text("as of").count() == 0
    gate.shut(True)
    banner = tab.page.get_by_role("region", name="Not live")
    expect(banner).to_contain_text("The values shown may be outdated")
    expect(tab.page).to_have_title(re.compile("^Not live · "))
    expect(tab.page.locator(".tile").first).to_contain_text("as of")
    expect(tab.page.get_by_role("alert").first).to_contain_text("connection to the service is lost")
    violet = "() => getComputedStyle(document.documentElement).getPropertyValue('--unk').trim()"
    assert tab.page.evaluate(violet)
    gate.shut(False)
    banner.get_by_role("button", name="Reconnect now").click()
    tab.shown()
    expect(banner).to_have_count(0)
    expect(tab.page).to_have_title(re.compile("^Board · "))
    expect(tab.page.locator(".tile").first).not_to_contain_text("as of")


def soon(page: Page, holds: Callable[[], bool], patience_ms: float = PATIENCE_MS) -> None:
    """Wait until something holds that the page does not show."""
    deadline = time.monotonic() + patience_ms / 1000
    while not holds():
        assert time.monotonic() < deadline, "in vain"
        page.wait_for_timeout(20)


def hold_sheet(tab: Visit) -> Page:
    """Open the sheet that holds the run, and wait until its dry run was accepted."""
    page = tab.page
    page.locator(".run-actions").get_by_role("button", name="Hold").click()
    sheet = page.get_by_role("dialog")
    send = sheet.get_by_role("button", name="Hold Run 1")
    expect(send).to_have_attribute("aria-disabled", "false")
    return page


def go_on(tab: Visit, beamline: Beamline, run: Mapping[str, str]) -> None:
    """Resume the run once the tab shows that it is held, and wait until the tab shows that too."""
    state = tab.page.locator(".panel.run .chip").first
    # The page moves when the banner goes.
    tab.shown()
    expect(tab.page.get_by_role("region", name="Not live")).to_have_count(0)
    expect(state).to_contain_text("Held")
    beamline.do("resume_run", run, as_=OPERATOR)
    expect(state).to_contain_text("Running")
    # The version of the run may come after its state.
    tab.page.evaluate("quiet()")


def test_a_command_whose_answer_was_lost_is_unknown_and_a_retry_has_one_effect(
    visit: Visits, beamline: Beamline, gate: Gate, run: Mapping[str, str]
):
    tab = visit("olga", url=gate.url, script=QUIET)
    for after in ("nothing", "sending", "answering"):
        before = beamline.events("Run", run["run_id"]).count("RunHeld")
        sheet = hold_sheet(tab).get_by_role("dialog")
        gate.lose(f"POST /runs/{run['run_id']}/hold HTTP".encode(), after)
        sheet.get_by_role("button", name="Hold Run 1").click()
        expect(sheet).to_contain_text("Unknown whether this was done")
        expect(sheet.locator(".unk").first).to_be_visible()
        gate.shut(False)
        sheet.get_by_role("button", name="Retry with the same key").click()
        expect(sheet).to_have_count(0)
        assert beamline.events("Run", run["run_id"]).count("RunHeld") == before + 1
        go_on(tab, beamline, run)


def test_a_service_killed_during_a_command_leaves_it_unknown_and_a_retry_has_one_effect(
    visit: Visits, beamline: Beamline, gate: Gate, run: Mapping[str, str]
):
    tab = visit("olga", url=gate.url, script=QUIET)
    for _ in range(KILLS):
        before = beamline.events("Run", run["run_id"]).count("RunHeld")
        sheet = hold_sheet(tab).get_by_role("dialog")
        # The command arrives, its answer does not, and the process ends at once.
        gate.lose(f"POST /runs/{run['run_id']}/hold HTTP".encode(), "sending")
        sheet.get_by_role("button", name="Hold Run 1").click()
        beamline.service.kill()
        try:
            expect(sheet).to_contain_text("Unknown whether this was done")
            expect(tab.page.get_by_role("region", name="Not live")).to_be_attached()
        finally:
            beamline.service.start()
            gate.shut(False)
        tab.page.get_by_role("button", name="Retry with the same key").click()
        expect(sheet).to_have_count(0)
        assert beamline.events("Run", run["run_id"]).count("RunHeld") == before + 1
        go_on(tab, beamline, run)


def test_a_button_that_is_pressed_twice_has_one_effect(
    visit: Visits, beamline: Beamline, run: Mapping[str, str]
):
    tab = visit("olga")
    before = beamline.events("Run", run["run_id"])
    sheet = hold_sheet(tab).get_by_role("dialog")
    # Both presses come before the page can show that the first was taken.
    sheet.get_by_role("button", name="Hold Run 1").evaluate("it => { it.click(); it.click(); }")
    expect(sheet).to_have_count(0)
    expect(tab.page.locator(".panel.run .chip").first).to_contain_text("Held")
    assert beamline.events("Run", run["run_id"]) == [*before, "RunHeld"]


def test_two_tabs_have_one_connection_to_the_feed(
    visit: Visits, beamline: Beamline, gate: Gate, run: Mapping[str, str]
):
    first = visit("olga", url=gate.url)
    second = visit.tab(first)
    soon(second.page, lambda: gate.feeds == 1)
    beamline.do("hold_run", run, as_=OPERATOR)
    for tab in (first, second):
        expect(tab.page.locator(".panel.run .chip").first).to_contain_text("Held")
    first.page.close()
    visit.all.remove(first)
    beamline.do("resume_run", run, as_=OPERATOR)
    expect(second.page.locator(".panel.run .chip").first).to_contain_text("Running")
    soon(second.page, lambda: gate.feeds == 1)


def test_a_first_answer_that_was_overtaken_by_an_event_is_not_shown(
    visit: Visits, beamline: Beamline, run: Mapping[str, str]
):
    tab, overtaken = visit("olga", "/access"), list[tuple[Route, APIResponse]]()
    page, beside = tab.page, visit.tab(tab, f"/runs/{run['run_id']}").page
    boards = re.compile(r"/assets/[0-9a-f-]{36}/board\b")
    page.route(boards, lambda route: overtaken.append((route, route.fetch())))
    page.get_by_role("navigation").get_by_role("link", name="Board").click()
    soon(page, lambda: bool(overtaken))
    page.unroute(boards)
    beamline.do("hold_run", run, as_=OPERATOR)
    # The first tab reads the feed for both.
    expect(beside.locator(".object-head .chip").first).to_contain_text("Held")
    for route, answer in overtaken:
        # The page may have given it up.
        with suppress(PlaywrightError):
            route.fulfill(response=answer)
    expect(page.locator(".panel.run .chip").first).to_contain_text("Held")


@pytest.fixture
def short_lived(visit: Visits, people: PeopleProvider) -> Visit:
    """The Board of the operator, whose first token does not live long."""
    people.lifetime(SHORT)
    try:
        tab = visit("olga", script=NOT_LIVE)
    finally:
        people.lifetime(LIFETIME)
    tab.page.evaluate("() => { window.isTheSamePage = true; }")
    return tab


def tokens_of(tab: Visit, path: str) -> list[str]:
    """Return the tokens with which a tab has asked for a path without a query, each once."""
    asked = [each for each in tab.requests if each.url.endswith(path)]
    return list(dict.fromkeys(each.headers["authorization"] for each in asked))


def test_a_token_is_renewed_once_and_the_page_continues_without_a_reload(
    short_lived: Visit, beamline: Beamline, run: Mapping[str, str]
):
    tab, hold = short_lived, f"/runs/{run['run_id']}/hold"
    (first,) = tokens_of(tab, "/events")
    soon(tab.page, lambda: bool(renewals(tab)))
    hold_sheet(tab).get_by_role("dialog").get_by_role("button", name="Hold Run 1").click()
    expect(tab.page.locator(".panel.run .chip").first).to_contain_text("Held")
    (second,) = tokens_of(tab, hold)
    assert second != first
    assert len(renewals(tab)) == 1
    assert tab.page.evaluate("() => window.isTheSamePage")


def renewals(tab: Visit) -> list[Request]:
    """Return the requests by which a tab has renewed its token."""
    return [each for each in tab.requests if "grant_type=refresh_token" in (each.post_data or "")]


@pytest.mark.faults
def test_the_feed_continues_with_the_token_that_was_renewed(
    short_lived: Visit, beamline: Beamline, run: Mapping[str, str]
):
    tab = short_lived
    soon(tab.page, lambda: len(tokens_of(tab, "/events")) > 1, LEEWAY_MS)
    tab.shown()
    beamline.do("hold_run", run, as_=OPERATOR)
    expect(tab.page.locator(".panel.run .chip").first).to_contain_text("Held")
    assert tab.page.evaluate("() => [window.isTheSamePage, window.wasNotLive]") == [True, False]


def test_a_revoked_grant_disables_a_button_without_a_reload(
    visit: Visits, beamline: Beamline, run: Mapping[str, str]
):
    """The operator may still look, at both surfaces, but no longer act."""
    surfaces = {beamline.day.rest.surface_id, beamline.ids["console"]}
    granted = [
        {"policy_id": each["policy_id"], "permitted_principal_id": beamline.ids[OPERATOR]}
        for each in beamline.do("list_policies", {"limit": 100})["items"]
        if each["name"] == f"{OPERATOR} at the beamline" and each["surface_id"] in surfaces
    ]
    assert len(granted) == len(surfaces)
    for surface_id in surfaces:
        beamline.permit("Looking only", OPERATOR, surface_id, LOOKING)
    tab = visit("olga")
    button = tab.page.locator(".run-actions").get_by_role("button", name="Hold")
    expect(button).to_have_attribute("aria-disabled", "false")
    for grant in granted:
        beamline.do("revoke_grant", {**grant, "reason": "The shift is over"})
    try:
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(tab.page.locator(".run-actions")).to_contain_text("Not permitted")
    finally:
        for grant in granted:
            beamline.do("add_grant", grant)
    expect(button).to_have_attribute("aria-disabled", "false")


def test_times_are_those_of_the_service_when_the_clock_of_the_browser_is_wrong(visit: Visits):
    right, wrong = visit("olga"), visit("olga", script=WRONG_CLOCK)
    off = wrong.page.evaluate("() => Date.now()") - datetime.now(UTC).timestamp() * 1000
    assert off > (HOURS_OFF - 0.5) * 3600e3
    clearance = right.page.locator(".tile").filter(has=right.page.get_by_text("Clearance"))
    counted = wrong.page.locator(".tile").filter(has=wrong.page.get_by_text("Clearance"))
    expect(counted.locator(".v")).not_to_have_text(re.compile("None|No access|Ended"))
    for one, other in (
        (clearance.locator(".v"), counted.locator(".v")),
        (right.page.locator(".clock span"), wrong.page.locator(".clock span")),
    ):
        soon(wrong.page, lambda one=one, other=other: one.inner_text() == other.inner_text())
