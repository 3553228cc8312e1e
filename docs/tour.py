"""Follow the tour of README.md in a browser, as its numbered lines say.

In such a line **bold** names a button to press, «quotes» hold a text to type, and *slanted* is a
text that must appear. Everything else is for the reader.
"""

import re
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Locator, Page, expect, sync_playwright

README = Path(__file__).parents[1] / "README.md"
STEP = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
ACT = re.compile(r"\*\*(?P<press>[^*]+)\*\*|«(?P<type>[^»]+)»|\*(?P<see>[^*]+)\*")
PATIENCE_MS = 60_000


def acts(page: str) -> list[tuple[str, str]]:
    """Return what the tour of a page presses, types and sees, in order."""
    steps = STEP.findall(page)
    found = [each for step in steps for each in ACT.finditer(step)]
    return [(str(each.lastgroup), each.group(str(each.lastgroup))) for each in found]


def follow(address: str, page: str) -> None:
    """Walk the tour of a page through the console at an address."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        shown = browser.new_page(viewport={"width": 1600, "height": 1000})
        shown.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        shown.goto(address)
        for kind, text in acts(page):
            print(f"{kind} {text}", flush=True)
            if kind == "press":
                _button(shown, text).click()
            elif kind == "type":
                _topmost(shown).get_by_role("textbox").first.fill(text)
            else:
                expect(shown.get_by_text(text).first).to_be_visible()
        browser.close()


def _topmost(shown: Page) -> Locator:
    """Return the open sheet, or the whole page."""
    sheet = shown.get_by_role("dialog")
    return sheet.last if sheet.count() else shown.locator("body")


def _button(shown: Page, name: str) -> Locator:
    named = re.compile(rf"^{re.escape(name)}")
    button = shown.get_by_role("button", name=named, disabled=False).last
    expect(button).not_to_have_attribute("aria-disabled", "true")
    return button


if __name__ == "__main__":
    follow(sys.argv[1], README.read_text())
