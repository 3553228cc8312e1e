"""People answer the proposals of agents, with what the agents had read before them."""

from typing import Any

from demo.acting import AGENT
from demo.agent import waiting
from playwright.sync_api import Page, expect

from tests.console.visit import Beamline, Visits


def choose(page: Page, proposals: set[str]) -> str:
    """Choose one of these in the list of open proposals, and return its id."""
    open_ones = page.locator(".items button").filter(has_text="expires in")
    expect(open_ones.filter(has_text="Adjust Run 1").first).to_be_visible()
    for each in open_ones.all():
        each.click()
        expect(each).to_have_attribute("aria-current", "true")
        if (chosen := page.url.rpartition("/")[2]) in proposals:
            proposals.remove(chosen)
            return chosen
    raise AssertionError(f"none of {proposals} is listed")


def exposure(beamline: Beamline) -> float:
    about = {"run_id": beamline.seeded.run_id}
    return beamline.do("get_run", about)["effective_parameters"]["exposure"]


def proposal(beamline: Beamline, id: str) -> Any:
    return beamline.do("get_proposal", {"proposal_id": id})


def test_proposals_are_approved_rejected_and_carried_out_with_changes(
    visit: Visits, beamline: Beamline
):
    proposals = {beamline.run(waiting(beamline.day)) for _ in range(3)}
    tab = visit("ada", "/decisions")
    page, detail = tab.page, tab.page.locator(".proposal")
    adjusted = beamline.events("Run", beamline.seeded.run_id).count("RunAdjusted")

    chosen = choose(page, proposals)
    wanted = proposal(beamline, chosen)["arguments"]["parameters_patch"]["exposure"]
    expect(detail.locator(".given .changed")).to_contain_text(f"{wanted:g}")
    expect(detail).to_contain_text("Reasoning (text from the agent)")
    expect(detail).to_contain_text("Take one step more.")
    about = {"decision_id": proposal(beamline, chosen)["decision_id"], "limit": 50}
    reads = beamline.do("list_decision_evidence", about)["items"]
    expect(detail).to_contain_text(f"{len(reads)} of {len(reads)} verified")
    evidence = detail.get_by_role("table", name="Evidence").get_by_role("row")
    expect(evidence).to_have_count(len(reads))
    expect(evidence.first).to_contain_text(f"Run 1 version {reads[0]['seen'][0]['version']}")
    detail.get_by_role("button", name="Approve…").click()
    tab.confirm("Approve a proposal")
    expect(detail).to_contain_text("Approved by Ada")
    assert exposure(beamline) == wanted
    assert proposal(beamline, chosen)["status"] == "Approved"

    chosen = choose(page, proposals)
    detail.get_by_role("button", name="Reject…").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("The detector would saturate")
    tab.confirm("Reject a proposal")
    expect(detail).to_contain_text("Rejected by Ada: The detector would saturate")
    assert proposal(beamline, chosen)["closed_reason"] == "The detector would saturate"
    assert exposure(beamline) == wanted

    chosen = choose(page, proposals)
    detail.get_by_role("button", name="With changes…").click()
    field = page.get_by_role("dialog").get_by_label("exposure")
    expect(field).to_have_value(f"{wanted:g}")
    field.fill("0.37")
    tab.confirm("Adjust Run 1")
    expect(page.get_by_role("dialog")).to_contain_text("Your own command was carried out.")
    tab.confirm("Reject a proposal")
    expect(detail).to_contain_text("Rejected by Ada: Carried out with changes")
    assert exposure(beamline) == 0.37
    events = beamline.events("Run", beamline.seeded.run_id)
    assert events.count("RunAdjusted") == adjusted + 2


def test_an_agent_is_suspended_and_resumed_and_its_budget_is_that_of_the_reads(
    visit: Visits, beamline: Beamline
):
    about = {"agent_id": beamline.ids[AGENT]}
    tab = visit("ada", "/decisions?show=agents")
    page = tab.page
    listed = page.locator(".items").get_by_role("button", name="Exposure sweeper")
    listed.click()
    card = page.locator(".panel").filter(has=page.get_by_role("heading", name="Exposure sweeper"))
    expect(card.locator(".budget").first).to_contain_text("no limit")
    limits = {"daily_token_cap": 5000, "monthly_usd_cap": 12.5}
    beamline.do("update_agent_budget", {**about, **limits})
    expect(listed).to_contain_text("5,000 tokens a day, $ 12.50 a month")
    agent = beamline.do("get_agent", about)
    tokens, cost = card.locator(".budget").all()
    expect(tokens).to_contain_text(f"{agent['tokens_today']:,} of 5,000")
    expect(cost).to_contain_text(f"$ {agent['usd_this_month']:.2f} of $ 12.50")

    asked = {"run_id": beamline.seeded.run_id}
    for verb, after, status in (("Suspend", "Resume", 403), ("Resume", "Suspend", 200)):
        card.get_by_role("button", name=f"{verb}…").click()
        if verb == "Suspend":
            page.get_by_role("dialog").get_by_label("Reason").fill("Its proposals are looked at")
        tab.confirm(f"{verb} Exposure sweeper")
        expect(card.get_by_role("button", name=f"{after}…")).to_be_visible()
        day = beamline.day
        told = beamline.run(day.send("get_run", asked, as_=AGENT, over=day.mcp))
        assert told.status == status
