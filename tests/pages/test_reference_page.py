"""The page at /docs in a real browser: searches, calls with a token, and nothing from elsewhere."""

import json
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from beamkeep.testing.server import Server

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(not shutil.which("chromium"), reason="Chromium is not installed"),
]

PICTURES = Path(__file__).parents[2] / "build"
VIOLATIONS = """
addEventListener("securitypolicyviolation",
    event => console.error(`violation: ${event.violatedDirective} ${event.blockedURI}`));
"""


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


class Visit:
    """The page, open in a browser, and what it has asked for and complained about."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.requests: list[Request] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108
        page.on("console", self._told)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.add_init_script(VIOLATIONS)
        page.goto(f"{url}/docs")
        expect(page.locator("#found")).to_contain_text("operations and questions")

    def _told(self, message: ConsoleMessage) -> None:
        # The browser itself reports an answer of 4xx, which is what some calls are made for.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def search(self, words: str) -> None:
        """Type words into the search, and wait for what they find."""
        self.page.get_by_label("Search").fill(words)
        expect(self.page.locator("#found")).to_contain_text(f"«{words}»")

    def open(self, name: str) -> None:
        """Open an operation."""
        self.search(name.replace("_", " "))
        self.page.locator(f"#{name} > summary").click()

    def call(self, name: str) -> None:
        """Send the form of an operation, and wait for its answer."""
        self.page.locator(f"#{name} form button").click()
        expect(self.page.locator(f"#{name} form .status")).to_be_visible()

    def answer(self, name: str) -> tuple[str, str, str]:
        """Return the request as shown, the status and the answer."""
        form = self.page.locator(f"#{name} form")
        sent, got = form.locator("pre").all_text_contents()
        return sent, form.locator(".status").inner_text(), got


@pytest.fixture(params=["light", "dark"])
def visit(request: pytest.FixtureRequest, chromium: Browser, server: Server) -> Iterator[Visit]:
    context = chromium.new_context(
        color_scheme=request.param, viewport={"width": 1280, "height": 800}
    )
    visit = Visit(context.new_page(), server.url)
    yield visit
    PICTURES.mkdir(exist_ok=True)
    visit.page.screenshot(path=PICTURES / f"docs-{request.param}.png")
    hosts = {urlsplit(each.url).netloc for each in visit.requests}
    context.close()
    assert hosts == {urlsplit(server.url).netloc}
    assert visit.complaints == []


FIRST = {
    "hutch": "list_enclosures",
    "beam": "list_supplies",
    "note": "append_run_logbook_entry",
    "ready": "get_plan_readiness",
}


def test_words_of_beamlines_find_the_right_operation_first(visit: Visit):
    for words, name in FIRST.items():
        visit.search(words)
        assert visit.page.locator(".operation .name").first.inner_text() == name


def test_a_call_with_a_token_is_answered_by_the_service(visit: Visit, server: Server):
    page, token = visit.page, server.admin
    visit.open("define_zone")
    visit.call("define_zone")
    sent, status, got = visit.answer("define_zone")
    assert status.startswith("401 ")
    assert "MissingTokenError" in got
    page.get_by_label("Access token").fill(token)

    visit.call("define_zone")
    expect(page.locator("#define_zone form .status")).to_contain_text("200 ")
    sent, _, got = visit.answer("define_zone")
    assert sent.startswith("POST /zones?dry_run=true\n")
    assert '"ZoneDefined"' in got

    page.locator("#define_zone textarea").fill(json.dumps({"name": "Hall of the page"}))
    page.get_by_label("Dry run").uncheck()
    visit.call("define_zone")
    expect(page.locator("#define_zone form .status")).to_contain_text("201 ")
    sent, _, got = visit.answer("define_zone")
    assert token not in page.content()
    assert "idempotency-key: " in sent
    *_, request = [each for each in visit.requests if each.method == "POST"]
    assert request.all_headers()["authorization"] == f"Bearer {token}"
    assert f"idempotency-key: {request.all_headers()['idempotency-key']}\n" in sent

    zone_id = json.loads(got[got.index("{") :])["zone_id"]
    visit.open("get_zone")
    page.locator("#get_zone-zone_id").fill(zone_id)
    visit.call("get_zone")
    _, status, got = visit.answer("get_zone")
    assert status.startswith("200 ")
    assert '"name": "Hall of the page"' in got


def test_an_address_opens_an_operation_and_its_example(visit: Visit):
    visit.page.goto(f"{visit.url}/docs#start_run")
    visit.page.reload()
    example = visit.page.locator("#start_run pre[aria-label=Request]")
    expect(example).to_contain_text("POST /runs")
    expect(visit.page.locator("#start_run .calls")).to_contain_text("beamkeep run start")


def test_the_page_is_used_by_keyboard_alone(visit: Visit):
    keyboard = visit.page.keyboard
    keyboard.press("/")
    keyboard.type("hold run")
    expect(visit.page.locator("#found")).to_contain_text("«hold run»")
    operation = visit.page.locator("#hold_run")
    operation.locator("summary").first.focus()
    keyboard.press("Enter")
    expect(operation.locator("form")).to_be_visible()
    visit.page.get_by_label("Search").focus()
    keyboard.press("Escape")
    expect(visit.page.locator("#found")).to_contain_text("operations and questions")


def test_every_field_and_every_picture_has_a_name(visit: Visit):
    visit.open("list_runs")
    unnamed = visit.page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea, button, img, a")].filter(
            each => !(each.labels?.length || each.textContent.trim() || each.hasAttribute("alt"))
        ).map(each => each.outerHTML)"""
    )
    assert unnamed == []
