"""What the console shows is so: faults, gaps, numbers, what a command does, and what is broken."""

import re
from collections.abc import Generator
from contextlib import contextmanager

from demo.acting import AUTHOR, Steps
from demo.day import capture, near
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.gate import Gate
from tests.console.screens import QUIET
from tests.console.test_access import row
from tests.console.visit import PICTURES, Beamline, Visits

LOOKS_AWAY: Steps = (
    capture("TOMO:CAM:X_RBV", "position"),
    {"kind": "check", "address": "TOMO:CAM:X_RBV", "criterion": near(-50.0, 0.1)},
    capture("TOMO:CAM:X_RBV", "settled"),
)
"""The second step fails."""
DRAWN_UP_TO = """canvas => {
  const {width, height} = canvas;
  const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
  // The area under a line is nearly transparent; lines of the grid and labels are not.
  const isFilled = x => {
    let filled = 0;
    for (let y = 0; y < height; y += 1) {
      const alpha = data[4 * (y * width + x) + 3];
      filled += alpha > 20 && alpha < 60;
    }
    return filled > height / 3;
  };
  let x = width - 1;
  while (x > 0 && !isFilled(x)) x -= 1;
  return x / width;
}"""
"""Returns up to which part of its width the line of a plot is drawn."""
PLOTTED = """() => document.querySelector(".live-plot .uplot").getBoundingClientRect().width"""
"""Returns how wide the plot of the Board is."""


def keep(page: Page, name: str) -> None:
    """Keep a picture of a page, for whoever looks at it."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"shown-{name}.png")


@contextmanager
def faulted(beamline: Beamline, name: str) -> Generator[None]:
    """Let an asset be faulted for a while."""
    about = {"asset_id": beamline.ids[name], "reason": "It does not answer"}
    beamline.do("fault_asset", about)
    try:
        yield
    finally:
        beamline.do("restore_asset", about)


@contextmanager
def without_beam(beamline: Beamline) -> Generator[None]:
    """Let the ring have no beam for a while."""
    about = {"supply_id": beamline.ids["photon_beam"], "reason": "The ring has no beam"}
    beamline.do("mark_supply_unavailable", about)
    try:
        yield
    finally:
        for verb in ("mark_supply_recovering", "restore_supply"):
            beamline.do(verb, {**about, "reason": "200 mA"})


def verdict(page: Page) -> Locator:
    """Return the verdict of the Board."""
    return page.get_by_role("region", name="Verdict")


def test_a_ready_board_with_a_faulted_device_is_amber_in_verdict_row_wall_and_phone(
    visit: Visits, beamline: Beamline
):
    path = f"/?plan={beamline.ids['plan of the day']}"
    page = visit("ada", path).page
    phone = visit("ada", path, viewport=(390, 844), screen={"width": 390, "height": 844}).page
    for shown in (page, phone):
        expect(verdict(shown).get_by_role("heading")).to_have_text("Ready")
    with faulted(beamline, "detector.second"):
        for shown in (page, phone):
            expect(verdict(shown).get_by_role("heading")).to_have_text("Ready, 1 fault")
            expect(verdict(shown)).to_have_class(re.compile(r"\bwarn\b"))
            expect(verdict(shown)).to_contain_text("is Faulted.")
        line = page.locator(".readiness .checks > .look")
        expect(line).to_have_count(1)
        expect(line).to_contain_text("is Faulted")
        keep(page, "fault")
        keep(phone, "fault-phone")
        page.keyboard.press("Shift+W")
        expect(page.locator(".app.wall")).to_be_visible()
        expect(verdict(page).get_by_role("heading")).to_have_text("Ready, 1 fault")
        keep(page, "fault-wall")
    expect(verdict(page).get_by_role("heading")).to_have_text("Ready")


def test_resuming_without_beam_shows_what_is_in_the_way_and_asks_for_an_acknowledgement(
    visit: Visits, beamline: Beamline
):
    run = {"run_id": beamline.seeded.run_id}
    tab = visit("olga", f"/runs/{run['run_id']}")
    page, sheet = tab.page, tab.page.get_by_role("dialog")
    because = "Dark frames need no beam"
    beamline.do("hold_run", run)
    with without_beam(beamline):
        page.get_by_role("button", name="Resume…").click()
        expect(sheet.get_by_text("Ring beam is Unavailable")).to_be_visible()
        send = sheet.get_by_role("button", name="Resume Run 1")
        expect(send).to_have_attribute("aria-disabled", "true")
        field = sheet.get_by_label("Acknowledgement")
        expect(field).to_have_attribute("aria-required", "true")
        expect(field).to_have_accessible_description(re.compile("why the run continues"))
        expect(sheet.get_by_role("button", name="Mark recovering…")).to_be_visible()
        keep(page, "resume-refused")
        field.fill(because)
        expect(sheet).to_contain_text("The run continues although this is in the way")
        expect(sheet).to_contain_text("Ring beam is Unavailable.")
        keep(page, "resume-acknowledged")
        tab.confirm("Resume Run 1")
        about = {**run, "limit": 100}
        last = beamline.do("get_run_history", about)["items"][-1]
        assert last["event_type"] == "RunResumed"
        assert last["payload"]["acknowledgement"] == because


def test_a_plot_runs_up_to_now_and_ends_where_the_readings_end(visit: Visits, beamline: Beamline):
    page = visit("ada", "/", script=QUIET).page
    page.evaluate("quiet()")
    plot = page.locator(".live-plot canvas")
    expect(plot).to_be_visible()
    # The readings of the demonstration last less than a second; the run continues since.
    assert plot.evaluate(DRAWN_UP_TO) < 0.6
    keep(page, "plot")


def test_without_the_feed_the_verdict_is_unknown_and_says_what_it_was(
    visit: Visits, beamline: Beamline, gate: Gate
):
    path = f"/?plan={beamline.ids['plan of the day']}"
    page = visit("ada", path, url=gate.url).page
    heading = verdict(page).get_by_role("heading")
    expect(heading).to_have_text("Ready")
    gate.shut(True)
    expect(heading).to_have_text("Unknown")
    expect(verdict(page)).to_contain_text("The last verdict was «Ready».")
    expect(verdict(page)).to_have_class(re.compile(r"\bunk\b"))
    keep(page, "not-live")
    gate.shut(False)
    page.get_by_role("button", name="Reconnect now").click()
    expect(heading).to_have_text("Ready")


def test_a_procedure_is_continued_from_the_step_that_has_the_number_on_its_page(
    visit: Visits, beamline: Beamline
):
    recipe = beamline.run(beamline.day.recipe("look_away", LOOKS_AWAY))
    form = {
        "name": "Look away",
        "kind": "camera_parking",
        "target_asset_ids": [beamline.ids["detector.camera"]],
        "recipe": {"recipe_id": recipe},
    }
    procedure = {"procedure_id": beamline.run(beamline.day.made("register_procedure", form))}
    beamline.do("conduct_or_hold_procedure", procedure)
    tab = visit("ada", f"/procedures/{procedure['procedure_id']}")
    page, sheet = tab.page, tab.page.get_by_role("dialog")
    expect(page.locator(".object-head")).to_contain_text("Step 2, check")
    page.get_by_role("button", name="Continue…").click()
    field = sheet.get_by_label("From step")
    field.fill("3")
    expect(sheet).to_contain_text("Step 2 is not finished; «From step» must be 2 or less.")
    keep(page, "from-step-refused")
    field.fill("2")
    expect(sheet.locator(".planned")).to_contain_text(re.compile(r"From step\s*2"))
    keep(page, "from-step")
    sheet.get_by_role("button", name=re.compile("Look away$")).click()
    expect(sheet).to_have_count(0)
    history = beamline.do("get_procedure_history", {**procedure, "limit": 100})["items"]
    asked = [each for each in history if each["event_type"] == "ProcedureConductRequested"]
    assert asked[-1]["payload"]["from_step_index"] == 1


def test_an_action_that_ends_something_says_what_it_does_before_it_is_sent(
    visit: Visits, beamline: Beamline
):
    page = visit("ada", "/access").page
    sheet = page.get_by_role("dialog")
    row(page, "Actors", "Lise").get_by_role("button", name="Forget…").click()
    expect(sheet).to_contain_text("the logins of this actor are erased")
    expect(sheet).not_to_contain_text("data are kept")
    keep(page, "forget")
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search or run a command")).to_be_focused()
    page.keyboard.type("discard dataset")
    page.locator("#palette-discard_dataset").click()
    expect(page.locator("dialog.palette")).to_contain_text("its data may be lost")
    keep(page, "discard")


def test_the_safety_officer_sees_hazards_coverage_and_author_before_approving(
    visit: Visits, beamline: Beamline
):
    title = "Epoxy on the stage"
    form = {
        "kind": "experiment_safety",
        "facility_code": beamline.ids["site"],
        "title": title,
        "bindings": [
            {"kind": "Subject", "id": beamline.ids["phantom"]},
            {"kind": "Asset", "id": beamline.ids["detector.camera"]},
            {"kind": "External", "scheme": "proposal", "value": "2030-117"},
        ],
        "hazards": [
            {"scheme": "ghs", "code": "H317", "mitigation": "Gloves; no cutting"},
            {"scheme": "ghs", "code": "H411"},
        ],
        "risk_band": "Yellow",
    }
    about = beamline.do("register_clearance", form, as_=AUTHOR)
    beamline.do("submit_clearance", about, as_=AUTHOR)
    beamline.do("start_clearance_review", about, as_="sam")
    step = {**about, "role": "Safety officer", "decision": "Approved"}
    beamline.do("append_clearance_review_step", step, as_="sam")
    page = visit("sam", "/access").page
    shown = row(page, "Clearances", title)
    shown.get_by_role("button", name="Approve…").click()
    review = page.get_by_role("dialog").get_by_role("region", name="What the clearance is about")
    for told in ("H317", "Gloves; no cutting", "H411", "No measure is named.", "Yellow"):
        expect(review).to_contain_text(told)
    camera = beamline.do("get_asset", {"asset_id": beamline.ids["detector.camera"]})["name"]
    for covered in ("Phantom", f"{camera} with everything below it", "Proposal 2030-117"):
        expect(review).to_contain_text(covered, ignore_case=True)
    expect(review).to_contain_text(re.compile("Written by.*Alan"))
    expect(review).to_contain_text("Safety officer: approved by Sam")
    keep(page, "clearance")


def test_iterations_have_the_numbers_of_the_service(visit: Visits, beamline: Beamline):
    form = {
        "name": "Align by hand",
        "kind": "alignment",
        "target_asset_ids": [beamline.ids["detector.camera"]],
    }
    about = {"procedure_id": beamline.do("register_procedure", form)["procedure_id"]}
    beamline.do("start_procedure", about)
    for index, value in ((1, 4.0), (2, 2.0), (3, 1.0)):
        iteration = {**about, "iteration_index": index}
        beamline.do("start_iteration", iteration)
        beamline.do("end_iteration", {**iteration, "converged": index == 3, "value": value})
    page = visit("ada", f"/procedures/{about['procedure_id']}").page
    rows = page.get_by_role("table", name="Iterations").locator("tbody tr")
    expect(rows).to_have_count(3)
    numbers = [each.locator("td").first.inner_text() for each in rows.all()]
    assert numbers == ["1", "2", "3"]
    keep(page, "iterations")
    beamline.do("complete_procedure", about)


def test_a_note_that_is_being_written_survives_another_screen_and_a_reload(
    visit: Visits, beamline: Beamline
):
    tab = visit("ada", "/handover", permissions=["clipboard-read", "clipboard-write"])
    page, text = tab.page, "The samples are in the blue box."
    page.get_by_label("Note", exact=True).fill(text)
    page.get_by_role("navigation").get_by_role("link", name="Board").click()
    expect(verdict(page)).to_be_visible()
    page.get_by_role("navigation").get_by_role("link", name="Handover").click()
    expect(page.get_by_label("Note", exact=True)).to_have_value(text)
    tab.open("/handover")
    expect(page.get_by_label("Note", exact=True)).to_have_value(text)
    page.get_by_role("button", name="Copy as text").click()
    expect(page.get_by_role("button", name="Copy as text (copied)")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"Note, not handed over yet\n{text}" in copied
    keep(page, "draft")


def test_leaving_the_wall_keeps_the_plot(visit: Visits):
    page = visit("ada", "/", script=QUIET).page
    page.evaluate("quiet()")
    expect(page.locator(".live-plot canvas")).to_be_visible()
    before = page.evaluate(PLOTTED)
    page.keyboard.press("Shift+W")
    expect(page.locator(".app.wall")).to_be_visible()
    page.wait_for_function(f"before => ({PLOTTED})() > before", arg=before)
    keep(page, "wall")
    page.keyboard.press("Escape")
    expect(page.locator(".app.wall")).to_have_count(0)
    page.wait_for_function(f"before => ({PLOTTED})() === before", arg=before)
    keep(page, "after-the-wall")


def test_one_broken_panel_says_so_and_the_others_are_shown(visit: Visits):
    def broken(route: Route) -> None:
        route.fulfill(json={"items": [None], "next_cursor": None})

    tab = visit("ada", "/access")
    page = tab.page
    page.route(re.compile(r"/procedures\?"), broken)
    page.get_by_role("navigation").get_by_role("link", name="Board").click()
    said = page.get_by_role("alert").filter(has_text="The console failed to show the procedures")
    expect(said).to_be_visible()
    expect(verdict(page).get_by_role("heading")).to_have_text(re.compile("eady"))
    expect(page.get_by_role("heading", name="Readiness")).to_be_visible()
    keep(page, "broken-panel")
    page.get_by_role("navigation").get_by_role("link", name="Procedures").click()
    expect(page.get_by_role("alert").filter(has_text="The console failed to show")).to_be_visible()
    expect(page.get_by_role("navigation", name="Screens")).to_be_visible()
    keep(page, "broken-screen")
    page.unroute(re.compile(r"/procedures\?"))
    # What the browser told of the fault was brought about here.
    tab.complaints.clear()
