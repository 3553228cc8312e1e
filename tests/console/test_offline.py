"""The console asks only the service and the provider, keeps no token, and breaks no policy."""

from playwright.sync_api import expect

from tests.console.visit import Visits

SCREENS = ("Board", "Runs", "Procedures", "Equipment", "Data", "Decisions", "Handover", "Access")


def test_every_screen_opens_for_the_operator(visit: Visits):
    page = visit("olga").page
    for name in SCREENS:
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.locator("h1")).to_be_visible()
