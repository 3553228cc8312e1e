"""Procedures on their pages, and what a killed service leaves: steps in doubt, late proposals."""

import re
from typing import NamedTuple

import pytest
from demo.acting import Steps
from demo.agent import waiting
from demo.day import capture, near
from playwright.sync_api import expect

from beamkeep.testing.waiting import until
from tests.console.visit import Beamline, Visit, Visits

TAKEOVER_MS = 120_000
SHORT_LIVES = {
    "CONDUCT_LEASE_SECONDS": "8",
    "CONDUCT_SELF_FENCE_SECONDS": "6",
    "CONDUCT_RENEW_SECONDS": "1",
    "PROPOSAL_TTL_HOURS": "0.0005",
}
"""A conduct whose worker is lost is taken over soon, and a proposal expires at once."""
POSITION = capture("TOMO:CAM:X_RBV", "position")
SETTLE: Steps = (
    POSITION,
    {"kind": "action", "name": "pause", "params": {"duration": 10}},
    capture("TOMO:CAM:X_RBV", "settled"),
)
"""Nothing is written, so that two such procedures can be conducted at a time."""
WRONG: Steps = (
    POSITION,
    {"kind": "check", "address": "TOMO:CAM:X_RBV", "criterion": near(-50.0, 0.1)},
)


class Left(NamedTuple):
    """What a service has left that lived for a short time and was killed."""

    skipped: str
    """A procedure whose second step is in doubt."""
    redone: str
    """Another one."""
    expired: str
    """A proposal that was not answered in time."""


@pytest.fixture(scope="module")
def left(beamline: Beamline) -> Left:
    skipped, redone = (registered(beamline, f"Settle {each}", SETTLE) for each in ("one", "other"))
    with beamline.restarted(**SHORT_LIVES):
        expired = beamline.run(waiting(beamline.day))
        for procedure_id in (skipped, redone):
            beamline.do("conduct_or_hold_procedure", {"procedure_id": procedure_id})
        for procedure_id in (skipped, redone):
            require_pause(beamline, procedure_id)
    return Left(skipped, redone, expired)


def require_pause(beamline: Beamline, procedure_id: str) -> None:
    """Wait until the second step of a procedure has begun."""

    async def begun() -> object:
        pauses = {"procedure_id": procedure_id, "step_index": 1}
        return (await beamline.day.do("list_procedure_activities", pauses))["items"] or None

    beamline.run(until(begun, "the pause has begun"))


@pytest.mark.faults
def test_steps_in_doubt_after_a_kill_of_the_worker_are_skipped_and_redone_from_the_screen(
    beamline: Beamline, visit: Visits, left: Left
):
    tab = visit("ada", f"/procedures/{left.skipped}")
    answer(tab, "Yes. Skip step 2 and continue", "Skip step 2 and continue")
    tab.open(f"/procedures/{left.redone}")
    answer(tab, "No. Run step 2 now", "Run step 2 now")
    assert decided(beamline, left.skipped) == ([1], [])
    assert decided(beamline, left.redone) == ([], [1])


def decided(beamline: Beamline, procedure_id: str) -> tuple[object, object]:
    """Return which steps the last conduct of a procedure was told to skip and to redo."""
    about = {"procedure_id": procedure_id, "limit": 100}
    history = beamline.do("get_procedure_history", about)["items"]
    asked = [each for each in history if each["event_type"] == "ProcedureConductRequested"]
    told = asked[-1]["payload"]
    return told["skip_step_indexes"], told["redo_step_indexes"]


def answer(tab: Visit, choice: str, button: str) -> None:
    """Answer the question about the second step, and see the procedure through to its end."""
    page = tab.page
    question = page.get_by_role("region", name="Question about a step in doubt")
    expect(question).to_contain_text("Was «Pause» carried out?", timeout=TAKEOVER_MS)
    expect(page.get_by_role("list", name="Steps", exact=True)).to_contain_text("In doubt")
    expect(question.get_by_role("radio")).to_have_count(3)
    expect(question.get_by_role("radio", checked=True)).to_have_count(0)
    question.get_by_role("radio", name=re.compile(f"^{re.escape(choice)}")).check()
    tab.confirm(button)
    expect(page.locator(".object-head .chip").first).to_have_text("Completed")
    expect(question).to_have_count(0)


def test_an_expired_proposal_is_shown_as_expired_and_cannot_be_answered(visit: Visits, left: Left):
    page = visit("ada", f"/proposals/{left.expired}").page
    proposal = page.locator(".proposal")
    expect(proposal.locator(".chip").first).to_have_text("Expired")
    expect(proposal).to_contain_text("The proposal has expired")
    expect(proposal).not_to_contain_text("Dry run")
    expect(proposal.get_by_role("button", name="Approve…")).to_have_count(0)
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator(".items button").filter(has_text="expired").first).to_be_visible()


def test_the_steps_of_a_held_procedure_say_what_became_of_each(beamline: Beamline, visit: Visits):
    procedure_id = registered(beamline, "Look for the stage", WRONG)
    page = visit("ada", f"/procedures/{procedure_id}").page
    expect(page.locator(".segments")).to_contain_text("0 of 2")
    beamline.do("conduct_or_hold_procedure", {"procedure_id": procedure_id})
    expect(page.locator(".segments")).to_contain_text("1 of 2")
    steps = page.get_by_role("list", name="Steps", exact=True).get_by_role("listitem")
    expect(steps.first).to_contain_text("Succeeded")
    expect(steps.last).to_contain_text("is not within 0.1 of -50.0")
    expect(page.get_by_role("button", name="Continue…")).to_be_visible()


def registered(beamline: Beamline, name: str, steps: Steps) -> str:
    """Return a procedure with these steps."""
    recipe = beamline.run(beamline.day.recipe(name.lower().replace(" ", "_"), steps))
    procedure = {
        "name": name,
        "kind": "camera_parking",
        "target_asset_ids": [beamline.ids["detector.camera"]],
        "recipe": {"recipe_id": recipe},
    }
    return beamline.run(beamline.day.made("register_procedure", procedure))
