"""Everybody can use the console: WCAG 2.2 AA on every screen, and no screen is cut off."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.console.gate import Gate
from tests.console.screens import GO, paths, show, show_at_once, themed
from tests.console.visit import ROOT, Beamline, Visits

AXE = ROOT / "console/node_modules/axe-core/axe.min.js"
THEMES = ("dark", "light")
WINDOWS = {
    "1280 pixels": (1280, 800),
    "1280 pixels and 200 % zoom": (640, 400),
}
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
FOUND = """async tags => (await axe.run(document, {runOnly: tags})).violations.flatMap(
    ({id, nodes}) => nodes.map(each => `${id}: ${each.target} ${each.html.slice(0, 120)}`))"""
CUT_OFF = """() => [...document.querySelectorAll(
    "html, .bar, main, .main, .panel, .panel > header, .panel > footer, " +
    ".panel > .body:not(:has(table, .react-flow)), .scroll:not(:has(table))")]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => `${each.tagName} ${each.className} +${each.scrollWidth - each.clientWidth}`)"""
UNSEEN = """() => {
    const canvas = getComputedStyle(document.body).backgroundColor, unseen = [];
    const isShown = each => each.checkVisibility() && each.getBoundingClientRect().width > 1;
    const has = ({borderStyle, outlineStyle}) => borderStyle !== "none" || outlineStyle !== "none";
    const look = (selector, isSeen) => {
        for (const each of document.querySelectorAll(selector))
            if (isShown(each) && !isSeen(getComputedStyle(each)))
                unseen.push(each.outerHTML.slice(0, 120));
    };
    look(".i", ({color}) => color !== canvas);
    look("i:empty", style => style.backgroundColor !== canvas || has(style));
    const current = "[aria-current]:not([aria-current=false])";
    look(`${current}, [aria-selected=true], [aria-pressed=true]`, has);
    return unseen;
}"""
"""Shapes, bars and selections of which nothing is left."""


def wrong(page: Page, where: str) -> Mapping[str, list[str]]:
    """Return what axe finds on a page, by where it was looked for."""
    found: list[str] = page.evaluate(FOUND, TAGS)
    return {where: found} if found else {}


def rules(theme: str) -> str:
    """Return what a page needs to be checked by axe."""
    return themed(theme) + Path(AXE).read_text()


def test_axe_finds_nothing_on_any_screen_in_either_theme_and_none_is_cut_off(
    visit: Visits, beamline: Beamline
):
    pages = {theme: visit("ada", script=rules(theme), bypass_csp=True).page for theme in THEMES}
    found: dict[str, list[str]] = {}
    for name, path in paths(beamline).items():
        show_at_once(pages.values(), path)
        for theme, page in pages.items():
            assert page.evaluate("document.documentElement.dataset.theme") == theme
            found |= wrong(page, f"{name} in the {theme} theme")
            if cut_off := page.evaluate(CUT_OFF):
                found[f"{name} is cut off in the {theme} theme"] = cut_off
    assert found == {}


@pytest.mark.faults
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_what_opens_over_a_screen(visit: Visits, gate: Gate, theme: str):
    page = visit("ada", url=gate.url, script=rules(theme), bypass_csp=True).page
    show(page, "/")
    found: dict[str, list[str]] = {}
    page.keyboard.press("Control+k")
    opened = page.get_by_role("dialog")
    expect(opened).to_be_visible()
    page.keyboard.type("hold run")
    page.evaluate("quiet()")
    found |= wrong(page, "palette")
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    page.keyboard.press("s")
    expect(opened).to_contain_text("nothing written")
    found |= wrong(page, "sheet")
    opened.get_by_label("Energy").fill("60")
    expect(opened).to_contain_text("The dry run was refused")
    found |= wrong(page, "refused sheet")
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    page.keyboard.press("t")
    expect(page.locator(".as-of")).to_be_visible()
    found |= wrong(page, "viewed time on the Board")
    page.get_by_role("link", name="Equipment as of").click()
    expect(page.locator(".equipment")).to_be_visible()
    page.evaluate("quiet()")
    found |= wrong(page, "viewed time on Equipment")
    show(page, "/")
    gate.shut(True)
    expect(page.get_by_role("region", name="Not live")).to_be_visible()
    found |= wrong(page, "lost feed")
    gate.shut(False)
    assert found == {}


def test_no_screen_is_cut_off_at_its_right_side_in_a_smaller_window(
    visit: Visits, beamline: Beamline
):
    screen = {"width": 1600, "height": 1000}
    pages = {
        window: visit("ada", viewport=size, screen=screen, script=themed("dark")).page
        for window, size in WINDOWS.items()
    }
    cut_off: dict[str, list[str]] = {}
    for name, path in paths(beamline).items():
        show_at_once(pages.values(), path)
        for window, page in pages.items():
            if found := page.evaluate(CUT_OFF):
                cut_off[f"{name} at {window}"] = found
    assert cut_off == {}


def test_a_phone_shows_the_board_without_its_buttons(visit: Visits):
    size = {"width": 390, "height": 844}
    page = visit("ada", viewport=(390, 844), screen=size, script=themed("dark")).page
    show(page, "/")
    expect(page.get_by_text("Read-only. Use a console to act.")).to_be_visible()
    assert page.locator("main").get_by_role("button").count() == 0
    assert page.evaluate(CUT_OFF) == []
    page.evaluate(GO, "/runs")
    expect(page.get_by_text("Only the Board is shown on a phone.")).to_be_visible()


@pytest.mark.faults
def test_forced_colours_keep_every_shape_bar_and_selection(visit: Visits, beamline: Beamline):
    page = visit("ada", script=rules("dark"), forced_colors="active", bypass_csp=True).page
    found: dict[str, list[str]] = {}
    for name, path in paths(beamline).items():
        show(page, path)
        found |= wrong(page, name)
        if unseen := page.evaluate(UNSEEN):
            found[f"{name} unseen"] = unseen
    assert found == {}
    # The sheet of states is the last screen.
    shapes = page.locator(".glyphs .i")
    pictures = [each.screenshot() for each in shapes.all()]
    assert len(pictures) == 10
    assert all(one != other for one, other in combinations(pictures, 2))
