"""What the tests of the console share: the console, a beamline to show, people, and a browser."""

import re
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from demo.run import DEADLINE, SignIn, day_of, let_sign_in, lived, running
from playwright.sync_api import Browser, sync_playwright

from tests.console.gate import Gate
from tests.console.visit import ROOT, Background, Beamline, Visits, chromium_path
from tests.support.oidc import PeopleProvider, people_provider

FIRST = "test_pictures"
MORNING = 9
BUILT = ROOT / "src/beamkeep/surfaces/http/console/built/index.html"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder; they run with `make test-console`, in the best order.

    The demo takes its share of the machine as long as it runs, so that tests without it come
    first. Of those with it, the pictures do: others let things happen that the pictures show.
    """
    here = Path(__file__).parent
    places = [place for place, item in enumerate(items) if here in item.path.parents]
    ours = sorted((items[place] for place in places), key=_rank)
    for place, item in zip(places, ours, strict=True):
        items[place] = item
        item.add_marker("console")
        item.add_marker("postgres")


def _rank(item: pytest.Item) -> tuple[bool, bool]:
    asked = item.fixturenames if isinstance(item, pytest.Function) else ()
    return "beamline" in asked, item.path.stem != FIRST


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder with the console, built anew if its sources have changed."""
    make = ["make", str(BUILT.relative_to(ROOT))]
    ran = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return BUILT.parent


@pytest.fixture(scope="session")
def people() -> Generator[PeopleProvider]:
    """The identity provider at which everybody signs in."""
    with people_provider() as people:
        yield people


@pytest.fixture(scope="session")
def beamline(
    built: Path, people: PeopleProvider, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Beamline]:
    """The beamline of the demo, where everybody with a name can sign in."""
    with opened(tmp_path_factory.mktemp("demo"), people) as beamline:
        yield beamline


@contextmanager
def opened(folder: Path, people: PeopleProvider) -> Generator[Beamline]:
    """A beamline of the demo in the middle of its day, in a zone where it is morning.

    The clearance of the day ends 12 hours later, and on every screen a time of another day is
    longer than one of this day.
    """
    ahead = (MORNING - datetime.now(UTC).hour + 11) % 24 - 11
    sign_in = SignIn(people.issuer, people.client_id)
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        # The names of these zones have the sign that POSIX gives them.
        patch.setenv("FACILITY_TIMEZONE", f"Etc/GMT{-ahead:+d}")
        demo = stack.enter_context(running(folder, sign_in))
        background = stack.enter_context(Background())
        http = httpx2.AsyncClient(base_url=demo.url, timeout=DEADLINE)
        stack.callback(lambda: background.run(http.aclose()))
        day = day_of(demo, http)
        seeded = background.run(lived(day, demo))
        background.run(let_sign_in(day, sign_in))
        yield Beamline(demo, day, seeded, background)


@pytest.fixture(scope="package")
def chromium() -> Generator[Browser]:
    """Open only for this folder: tests elsewhere could start no event loop beside it."""
    if not (path := chromium_path()):
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(
    request: pytest.FixtureRequest, beamline: Beamline, chromium: Browser, people: PeopleProvider
) -> Iterator[Visits]:
    """Opens the console as a person: `visit("olga", "/runs")`."""
    visits = Visits(chromium, beamline, people)
    yield visits
    try:
        visits.require_good_behaviour()
    finally:
        visits.close(re.sub(r"\W+", "-", request.node.name))


@pytest.fixture
def gate(beamline: Beamline) -> Generator[Gate]:
    """A way to the service that a test can shut."""
    gate = Gate(beamline)
    yield gate
    gate.close()
