"""Who may do what, who was denied, and the next steps of clearances."""

import re
from urllib.parse import urlsplit

import httpx2
from demo.acting import AUTHOR, STEWARD
from playwright.sync_api import Locator, Page, expect

from tests.console.visit import Beamline, Visits
from tests.support.oidc import PeopleProvider


def row(page: Page, table: str, *words: str) -> Locator:
    """Return the row of a table with all these words."""
    found = page.get_by_role("table", name=table).get_by_role("row")
    for each in words:
        found = found.filter(has_text=each)
    return found


def test_a_denied_call_is_asked_about_again_and_a_grant_is_added_and_revoked(
    visit: Visits, beamline: Beamline
):
    policies = beamline.do("list_policies", {"limit": 100})["items"]
    (policy,) = (each for each in policies if each["name"] == "The sweeper at the beamline")
    about, dana = {"policy_id": policy["policy_id"]}, beamline.ids[STEWARD]
    tab = visit("ada", "/access")
    page, shown = tab.page, row(tab.page, "Policies", policy["name"])
    denied = row(page, "Denied calls", "approve_clearance", "Alan").first
    denied.get_by_role("button", name="Check now").click()
    expect(page.get_by_label("Operation", exact=True)).to_have_value("approve_clearance")
    expect(page.get_by_text("No policy applies.")).to_be_visible()
    for verb, title in (("Add", "Add a grant to"), ("Remove", "Revoke a grant of")):
        shown.get_by_role("button", name=f"{verb}…").click()
        sheet = page.get_by_role("dialog")
        sheet.get_by_label("Permitted principal").fill("Dana")
        sheet.get_by_role("option", name="Dana").click()
        if verb == "Remove":
            sheet.get_by_label("Reason").fill("The sweep is over")
        tab.confirm(f"{title} {policy['name']}")
        expect(shown.get_by_text("Dana")).to_have_count(1 if verb == "Add" else 0)
        permitted = beamline.do("get_policy", about)["permitted_principal_ids"]
        assert (dana in permitted) == (verb == "Add")


def test_a_clearance_goes_through_its_steps_and_its_author_sees_why_not(
    visit: Visits, beamline: Beamline
):
    form = {
        "kind": "experiment_safety",
        "facility_code": beamline.ids["site"],
        "title": "Bones in wax",
        "bindings": [{"kind": "Subject", "id": beamline.ids["phantom"]}],
        "risk_band": "Green",
    }
    about = beamline.do("register_clearance", form, as_=AUTHOR)
    author = visit("alan", "/access")
    own = row(author.page, "Clearances", "Bones in wax")
    own.get_by_role("button", name="Submit…").click()
    author.confirm("Submit Bones in wax")
    expect(own).to_contain_text("Submitted")

    officer = visit("sam", "/access")
    shown = row(officer.page, "Clearances", "Bones in wax")
    shown.get_by_role("button", name="Start review…").click()
    officer.confirm("Start the review of Bones in wax")
    shown.get_by_role("button", name="Append review step…").click()
    sheet = officer.page.get_by_role("dialog")
    sheet.get_by_label("Role").fill("Safety officer")
    sheet.get_by_label("Decision").select_option("Approved")
    officer.confirm("Append a review step to Bones in wax")
    expect(shown).to_contain_text("1 review step")

    denied = own.get_by_role("button", name="Approve…")
    expect(denied).to_have_attribute("aria-disabled", "true")
    expect(denied).to_have_attribute("title", "Not permitted on Tomography console")
    expect(denied).to_have_accessible_description("Not permitted on Tomography console")

    for verb, state in (("Approve", "Approved"), ("Activate", "Active")):
        shown.get_by_role("button", name=f"{verb}…").click()
        officer.confirm(f"{verb} Bones in wax")
        expect(own).to_contain_text(state)
    assert beamline.do("get_clearance", about)["status"] == "Active"


def test_a_screen_is_read_at_the_surface_of_the_beamline_alone(visit: Visits, beamline: Beamline):
    tab = visit("sam", "/access")
    expect(row(tab.page, "Clearances", "Fossils in resin")).to_be_visible()
    read = [each for each in tab.requests if urlsplit(each.url).path == "/clearances"]
    assert {each.headers.get("x-surface-id") for each in read} == {beamline.ids["console"]}


def test_signing_out_ends_the_session_at_the_identity_provider_too(
    visit: Visits, people: PeopleProvider
):
    tab = visit("ada")
    form = {"grant_type": "refresh_token", "client_id": people.client_id}
    refresh = {**form, "refresh_token": tab.refresh_token}
    tab.page.get_by_role("button", name=re.compile("^Ada")).click()
    tab.page.get_by_role("button", name="Sign out").click()
    # The provider asks whether its own session ends too.
    tab.page.get_by_role("button", name=re.compile("Yes")).click()
    expect(tab.page.get_by_text("You are signed out here, too.")).to_be_visible()
    refused = httpx2.post(f"{people.issuer}/token", data=refresh)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    tab.page.goto(f"{tab.url}/console/")
    expect(tab.page.get_by_label("Login")).to_be_visible()
