"""A shift hands over with a note, a visit hands over control, and the page can be printed."""

import re

from demo.acting import NEXT_VISITOR, OPERATOR, VISITOR
from playwright.sync_api import Locator, expect

from tests.console.visit import Beamline, Visit, Visits

A4_WIDTH = rb"/MediaBox \[0 0 59[0-9]"


def test_a_shift_hands_over_with_a_note_and_the_next_one_takes_over(
    visit: Visits, beamline: Beamline
):
    beamline.permit("Handing over", OPERATOR, beamline.ids["console"], ["register_decision"])
    first, second = visit("olga", "/handover"), visit("ada", "/handover")
    for tab in (first, second):
        hand_over = tab.page.get_by_role("button", name="Hand over…")
        expect(hand_over).to_have_accessible_description("Write a note first")
    text = "The samples are in the grey box."
    first.page.get_by_label("Note", exact=True).fill(text)
    first.page.get_by_role("button", name="Hand over…").click()
    first.confirm("Register a decision")
    note = second.page.locator(".said-by").filter(has_text=text)
    expect(note).to_contain_text("by Olga")
    expect(note).to_contain_text("not yet")
    second.page.get_by_role("button", name="Take over…").click()
    second.confirm("Register a decision")
    expect(first.page.locator(".said-by").filter(has_text=text)).to_contain_text("by Ada")
    expect(first.page.get_by_role("button", name="Hand over…")).to_be_visible()


def test_control_goes_from_one_visit_to_the_next(visit: Visits, beamline: Beamline):
    path = f"/?surface={beamline.ids['console']}"
    grace, lise = visit("grace", path), visit("lise", path)
    for tab in (grace, lise):
        expect(control(tab)).to_contain_text("2030-117")
    try:
        control(grace).get_by_role("button", name="Release…").click()
        grace.confirm("Release control of Tomography console")
        expect(control(lise)).to_contain_text("Free")
        control(lise).get_by_role("button", name="Take…").click()
        offered = lise.page.get_by_role("listitem").filter(has_text="2030-204")
        offered.get_by_role("button", name="Take…").click()
        lise.confirm("Take control of Tomography console")
        expect(control(grace)).to_contain_text("2030-204")
    finally:
        restore_control(beamline)
    expect(control(lise)).to_contain_text("2030-117")


def test_the_handover_fits_on_two_pages_of_paper(visit: Visits):
    page = visit("ada", "/handover?hours=24").page
    expect(page.get_by_text("Run 1: running")).to_be_visible()
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
    assert re.search(A4_WIDTH, printed)


def control(tab: Visit) -> Locator:
    """Return the tile of the Board that says who has control."""
    return tab.page.locator(".tile").filter(has=tab.page.get_by_role("heading", name="Control"))


def restore_control(beamline: Beamline) -> None:
    """Let the first visit have control again, whoever has it now."""
    first, second = (beamline.ids[f"visit of {each}"] for each in (VISITOR, NEXT_VISITOR))
    visits = {each: beamline.do("get_visit", {"visit_id": each}) for each in (first, second)}
    if visits[second]["controlling"]:
        release = {"visit_id": second}
        beamline.do("release_visit_surface_control", release, as_=NEXT_VISITOR)
    if not visits[first]["controlling"]:
        beamline.do("take_visit_surface_control", {"visit_id": first}, as_=VISITOR)
