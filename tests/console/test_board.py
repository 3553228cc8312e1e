"""What a person does on the Board about a start check that fails."""

import re

from playwright.sync_api import expect

from tests.console.visit import Beamline, Visits


def test_the_remedies_of_a_failing_check_are_carried_out_from_the_board(
    visit: Visits, beamline: Beamline
):
    (cluster,) = (
        each
        for each in beamline.do("list_supplies", {"limit": 100})["items"]
        if each["name"] == "Cluster"
    )
    about = {"supply_id": cluster["supply_id"]}
    tab = visit("ada", f"/?plan={beamline.ids['plan of the reconstruction']}")
    page = tab.page
    checks = page.locator(".readiness .checks").get_by_role("listitem")
    supply = checks.filter(has_text="Supply")
    expect(supply).to_contain_text("Cluster Available")
    failing = page.locator(".readiness li:is(.no, .unk)")
    expect(failing).to_have_count(0)

    beamline.do("mark_supply_unavailable", {**about, "reason": "The nodes are upgraded"})
    expect(failing).to_have_count(1)
    expect(failing).to_contain_text("Cluster is Unavailable")
    too_early = failing.get_by_role("button", name="Restore…")
    expect(too_early).to_have_accessible_description(re.compile("only from Recovering"))
    remedies = (
        ("Mark recovering", "mark_supply_recovering", "Mark Cluster recovering", "Recovering"),
        ("Restore", "restore_supply", "Restore Cluster", "Available"),
    )
    for verb, operation, title, state in remedies:
        failing.get_by_role("button", name=f"{verb}…").click()
        sheet = page.get_by_role("dialog")
        expect(sheet.get_by_role("heading", level=2)).to_have_text(title)
        expect(sheet.locator("header code")).to_have_text(operation)
        sheet.get_by_label("Reason").fill("The nodes are back")
        tab.confirm(title)
        expect(supply).to_contain_text(f"Cluster is {state}" if verb != "Restore" else "Cluster Av")
        assert beamline.do("get_supply", about)["status"] == state
    expect(failing).to_have_count(0)
