"""Every operation of the catalogue in the palette: its form, its dry run or its refusal."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Question
from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import Server, running_server
from tests.console.driving import Console, Person
from tests.console.visit import PATIENCE_MS, Background, chromium_path
from tests.support.examples import EXAMPLES
from tests.system.calling import As, callers

STILL = "/console/states"
"""A screen that asks the service for nothing."""
PATIENCE = 60.0
CLOSE_AND_OPEN = """() => {
  const palette = document.querySelector("dialog.palette")
  palette.close()
  const press = {key: "k", ctrlKey: true, bubbles: true, cancelable: true}
  palette.dispatchEvent(new KeyboardEvent("keydown", press))
  return new Promise((told) => requestAnimationFrame(() => setTimeout(told, 0)))
}"""
"""Closes the palette and opens it before the browser has told of the closing.

Until then the closed palette has the focus.
"""
NOT_BY_PEOPLE = {"MonitorTriggerRequiredError"}
"""What a person is refused with where only the service account of a monitor is accepted."""


@pytest.fixture(scope="module")
def server(built: Path) -> Generator[Server]:
    hour = "3600"
    with (
        Cluster.start() as cluster,
        running_server(cluster, "witnessed", enclosure_stale_after_seconds=hour) as server,
    ):
        yield server


class Seat(NamedTuple):
    """The administrator with one page open, and the same over REST."""

    person: Person
    do: As


class Opened(NamedTuple):
    """Two seats, and the loop of both."""

    seats: Sequence[Seat]
    background: Background


@pytest.fixture(scope="module")
def opened(server: Server) -> Generator[Opened]:
    with Background() as background:
        pages = palettes(server)
        yield Opened(background.run(pages.__aenter__()), background)
        background.run(pages.__aexit__(None, None, None))


@asynccontextmanager
async def palettes(server: Server) -> AsyncGenerator[Sequence[Seat]]:
    """The administrator with a page open in each of two browser contexts."""
    async with (
        httpx2.AsyncClient(base_url=server.url, timeout=PATIENCE) as http,
        async_playwright() as playwright,
    ):
        browser = await playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox"]
        )
        others = await callers(server, As(Rest(http), server.admin))
        people = [await Console(http, browser, path=STILL).person(server.admin) for _ in range(2)]
        for person in people:
            person.page.set_default_timeout(PATIENCE_MS)
        yield [Seat(person, As(Rest(http), server.admin, others)) for person in people]
        await browser.close()


async def wrong(name: str, person: Person, do: As) -> str | None:
    """What is wrong with an operation in the palette, None if nothing is."""
    row = CATALOGUE.named[name]
    arguments = await EXAMPLES[name](do)
    if isinstance(row, Question):
        answer = await person.ask(row, arguments)
        await person.work.locator(".query table, .query dl.kv, .query .scroll").first.wait_for()
        return None if answer.ok else f"{answer}"
    outcome, checked = await person.dry_run(row, arguments)
    if checked is None:
        return outcome
    if outcome == "ready":
        shown = await person.work.locator(".callout [role=status], .callout.act").inner_text()
        events = [event["event_type"] for event in checked.body["events"]]
        return None if all(event in shown for event in events) else f"{events} in {shown}"
    if checked.body["code"] not in NOT_BY_PEOPLE:
        return f"{outcome} {checked.body}"
    shown = await person.shown()
    return None if checked.body["title"] in shown else f"{checked.body['title']} in {shown}"


async def all_wrong(seat: Seat, names: Iterator[str]) -> dict[str, str]:
    """What is wrong, by the name of the operation; takes the next name until none is left."""
    found: dict[str, str] = {}
    for name in names:
        try:
            told = await wrong(name, *seat)
        except (PlaywrightError, AssertionError, ValueError) as error:
            told = repr(error)[:1000]
        if told:
            found[name] = told
        await seat.person.close()
    return found


async def wrong_at_any(seats: Sequence[Seat], names: Sequence[str]) -> dict[str, str]:
    """What is wrong, by the name of the operation; every name is taken at one of the seats."""
    left = iter(names)
    first, second = await asyncio.gather(*(all_wrong(seat, left) for seat in seats))
    return first | second


@pytest.mark.parametrize("kind", sorted(CATALOGUE.aggregates))
def test_every_operation_ends_in_its_dry_run_or_a_refusal_and_every_question_in_an_answer(
    opened: Opened, kind: str
):
    rows = CATALOGUE.named.values()
    names = [row.name for row in rows if row.aggregate.name == kind]
    assert opened.background.run(wrong_at_any(opened.seats, names)) == {}
    assert [seat.person.complaints for seat in opened.seats] == [[], []]


def test_the_palette_opens_at_once_after_it_was_closed(opened: Opened):
    async def again() -> None:
        person = opened.seats[0].person
        await person.open("define_zone")
        await person.page.evaluate(CLOSE_AND_OPEN)
        await person.palette.get_by_role("combobox", name="Search").wait_for()
        await person.close()

    opened.background.run(again())


def test_every_operation_of_the_catalogue_has_an_example_to_fill_in():
    assert EXAMPLES.keys() == CATALOGUE.named.keys()
    assert {row.aggregate.name for row in CATALOGUE.named.values()} == CATALOGUE.aggregates.keys()
