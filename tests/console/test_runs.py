"""A run on its page: what it shows, and what a person does with it."""

import re
from collections import Counter

from playwright.sync_api import Locator, expect

from tests.console.visit import Beamline, Visits

NO_TICKS = """
const real = setInterval;
globalThis.setInterval = (work, ms, ...given) => ms === 10000 ? 0 : real(work, ms, ...given);
"""
"""The clock of the page of a run stands still: an event must move what it shows."""


def intervals(lane: Locator, state: str) -> Locator:
    """Return the intervals of a state; a short one has its words only in its title."""
    return lane.get_by_title(re.compile(f"^Run {state}, .* to "))


def test_a_run_is_held_and_resumed_from_its_page_and_the_lane_shows_it(
    beamline: Beamline, visit: Visits
):
    run_id = beamline.seeded.run_id
    tab = visit("olga", f"/runs/{run_id}", script=NO_TICKS)
    page = tab.page
    lane = page.get_by_role("group", name="States over time").locator(".lane").first
    before = Counter(beamline.events("Run", run_id))
    expect(intervals(lane, "Held")).to_have_count(before["RunHeld"])
    expect(intervals(lane, "Running")).to_have_count(1 + before["RunResumed"])
    page.get_by_role("button", name="Hold…").click()
    page.get_by_label("Reason").fill("The sample is looked at")
    tab.confirm("Hold Run 1")
    expect(page.locator(".object-head")).to_contain_text("The sample is looked at")
    expect(intervals(lane, "Held")).to_have_count(before["RunHeld"] + 1)
    page.get_by_role("button", name="Resume…").click()
    tab.confirm("Resume Run 1")
    expect(page.get_by_role("button", name="Hold…")).to_be_visible()
    expect(intervals(lane, "Running")).to_have_count(2 + before["RunResumed"])
    assert beamline.events("Run", run_id)[-2:] == ["RunHeld", "RunResumed"]


def test_the_page_of_a_run_shows_what_its_reads_tell(beamline: Beamline, visit: Visits):
    about = {"run_id": beamline.seeded.run_id}
    channels = beamline.do("get_run_observation_summary", about)["channels"]
    parameters = beamline.do("get_run", about)["effective_parameters"]
    page = visit("ada", f"/runs/{beamline.seeded.run_id}").page
    count = sum(each["count"] for each in channels)
    expect(page.get_by_text(f"{len(channels)} channels, {count:,} observations")).to_be_visible()
    for each in channels:
        shown = page.locator(".channel-row").filter(has_text=each["channel_name"]).locator(".last")
        expect(shown).to_have_text(f"{each['last_value']:,.6g}")
    for name, value in parameters.items():
        heading = page.get_by_role("rowheader", name=name, exact=True)
        row = page.get_by_role("row").filter(has=heading)
        expect(row).to_contain_text(f"{value:,g}")


def test_a_past_view_of_a_run_offers_no_action(beamline: Beamline, visit: Visits):
    started = beamline.do("get_run", {"run_id": beamline.seeded.run_id})["created_at"]
    page = visit("olga", f"/runs/{beamline.seeded.run_id}?as_of={started}").page
    for name in ("Hold…", "Write a note…"):
        button = page.get_by_role("button", name=name)
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_accessible_description(re.compile("^Viewing "))
    expect(page.get_by_role("tab", name="Events")).to_have_text("Events 1")
