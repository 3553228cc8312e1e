"""The budgets of the console: bytes and requests in every run of CI, times when asked for.

A time is taken with a browser on the same machine. Each is measured several times, and its budget
is for the second worst of 20 (p95) where the budget says so, else for the median.
"""

import gzip
import json
import os
import re
import statistics
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, cast

import pytest
from demo.acting import OPERATOR
from playwright.sync_api import Page, expect

from tests.console.visit import ROOT, Beamline, Visits

INITIAL, LAZY = 220_000, 90_000
REQUESTS_PER_EVENT = 12
FIRST_PAINT_MS, INTERACTION_MS, TO_SCREEN_SECONDS = 1000.0, 100.0, 0.5
SLOWDOWN = 4
EVENTS, LOADS, PRESSES = 20, 5, 9
LONG_EVENTS = int(os.environ.get("BEAMKEEP_CONSOLE_EVENTS", "1000"))
EIGHT_HOURS_OF_EVENTS = 8 * 3600 * 20
GROWTH, ACCIDENTAL_GROWTH = 20e6, 1e6
"""What 8 hours at 20 events per second may add to the heap, and what a browser adds by itself."""
MEASURED = ROOT / "build" / "console-budgets.json"
LOADED = re.compile(r'(?:src|href)="/console/(assets/[^"]+\.(?:js|css))"')
FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
READ_AHEAD = """
() => performance.getEntriesByType("resource").some(each => each.name.includes("/palette-"))
"""
OBSERVE = """
() => {
  window.slowest = 0;
  new PerformanceObserver(list => {
    const durations = list.getEntries().map(entry => entry.duration);
    window.slowest = Math.max(window.slowest, ...durations);
  }).observe({type: "event", durationThreshold: 16});
}
"""


def tell(**figures: float) -> None:
    """Keep measured figures in build/console-budgets.json."""
    MEASURED.parent.mkdir(exist_ok=True)
    before: dict[str, float] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    MEASURED.write_text(json.dumps(before | figures, indent=2) + "\n")


def compressed(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), mtime=0))


def test_what_a_browser_loads_first_is_under_220_kb_and_every_part_loaded_later_under_90(
    built: Path,
):
    first = [built / each for each in LOADED.findall((built / "index.html").read_text())]
    assert first
    initial = sum(compressed(file) for file in first)
    later = {
        file.name: compressed(file)
        for file in (built / "assets").iterdir()
        if file.suffix in {".js", ".css"} and file not in first
    }
    tell(initial_bytes=initial, largest_later_bytes=max(later.values()))
    assert initial < INITIAL
    assert [name for name, size in later.items() if size >= LAZY] == []


@contextmanager
def held(beamline: Beamline) -> Generator[None]:
    """Hold run 1 for a while."""
    about = {"run_id": beamline.seeded.run_id}
    beamline.do("hold_run", {**about, "reason": "A budget is measured"}, as_=OPERATOR)
    try:
        yield
    finally:
        beamline.do("resume_run", about, as_=OPERATOR)


def state_of_run(page: Page, word: str) -> None:
    expect(page.locator(".run").get_by_text(word).first).to_be_visible()


def test_one_event_costs_the_board_few_requests(visit: Visits, beamline: Beamline):
    board = visit("olga")
    state_of_run(board.page, "Running")
    rounds: list[list[str]] = []
    for _ in range(3):
        before = len(board.requests)
        with held(beamline):
            state_of_run(board.page, "Held")
            rounds.append([each.url for each in board.requests[before:]])
        state_of_run(board.page, "Running")
    # Reads of the page's beginning, or of something else that happens, may fall into one of them.
    asked = min(rounds, key=len)
    tell(requests_per_event=len(asked))
    assert 0 < len(asked) <= REQUESTS_PER_EVENT, asked


@pytest.mark.faults
def test_events_do_not_fill_the_memory_of_the_board(visit: Visits, beamline: Beamline):
    page = visit("olga").page
    state_of_run(page, "Running")
    browser = cast("Any", page.context.new_cdp_session(page))

    def heap() -> float:
        browser.send("HeapProfiler.collectGarbage")
        return browser.send("Runtime.getHeapUsage")["usedSize"]

    def happen(events: int) -> None:
        for _ in range(events // 2):
            with held(beamline):
                pass
        state_of_run(page, "Running")

    # The list of recent events is full after this many.
    happen(200)
    before = heap()
    happen(LONG_EVENTS)
    grown = heap() - before
    tell(heap_growth_bytes=grown, heap_events=LONG_EVENTS)
    assert grown < GROWTH * LONG_EVENTS / EIGHT_HOURS_OF_EVENTS + ACCIDENTAL_GROWTH


@pytest.mark.timed
@pytest.mark.faults
def test_the_board_paints_within_a_second(visit: Visits):
    page = visit("olga").page
    paints: list[float] = []
    for _ in range(LOADS):
        page.reload()
        state_of_run(page, "Running")
        paints.append(page.evaluate(FIRST_PAINT))
    tell(first_paint_ms=statistics.median(paints))
    assert statistics.median(paints) < FIRST_PAINT_MS


@pytest.mark.timed
@pytest.mark.faults
def test_an_event_is_on_the_screen_within_half_a_second(visit: Visits, beamline: Beamline):
    page = visit("olga").page
    state_of_run(page, "Running")
    waits: list[float] = []
    about = {"run_id": beamline.seeded.run_id}
    for _ in range(EVENTS // 2):
        for command, more, word in (
            ("hold_run", {"reason": "A budget is measured"}, "Held"),
            ("resume_run", {}, "Running"),
        ):
            beamline.do(command, {**about, **more}, as_=OPERATOR)
            since = monotonic()
            state_of_run(page, word)
            waits.append(monotonic() - since)
    tell(event_to_screen_p95_seconds=sorted(waits)[-2])
    assert sorted(waits)[-2] < TO_SCREEN_SECONDS


@pytest.mark.timed
@pytest.mark.faults
def test_a_press_is_answered_within_100_ms_by_a_machine_four_times_slower(visit: Visits):
    page = visit("olga").page
    state_of_run(page, "Running")
    # The palette is read before anybody presses a key, once the screen is shown.
    page.wait_for_function(READ_AHEAD)
    page.evaluate(OBSERVE)
    browser = cast("Any", page.context.new_cdp_session(page))
    browser.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    answered: dict[str, list[float]] = {"palette_ms": [], "sheet_ms": []}
    for _ in range(PRESSES):
        for name, slowest in answered.items():
            page.evaluate("() => { window.slowest = 0 }")
            if name == "palette_ms":
                page.keyboard.press("Control+k")
            else:
                page.get_by_role("button", name=re.compile("^Hold")).first.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_be_hidden()
            slowest.append(page.evaluate("() => window.slowest"))
    medians = {name: statistics.median(slowest) for name, slowest in answered.items()}
    tell(**medians)
    assert max(medians.values()) < INTERACTION_MS
