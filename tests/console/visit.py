"""The console, open in a browser as a person, and the beamline that it shows."""

import asyncio
import shutil
import threading
from collections.abc import Coroutine, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from demo.acting import ADMINISTRATOR, Day
from demo.run import Demo, Seeded
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    expect,
)
from playwright.sync_api import Error as PlaywrightError

from beamkeep.contexts.trust import seeded
from tests.support.oidc import PeopleProvider

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "console"
PATIENCE_MS = 60_000
"""A machine with other work takes its time."""
VIOLATIONS = """
addEventListener("securitypolicyviolation",
    event => console.error(`violation: ${event.violatedDirective} ${event.blockedURI}`));
"""
STORED = "() => [{...localStorage}, {...sessionStorage}].map(each => JSON.stringify(each))"
PREFERENCES = "beamkeep-console"
expect.set_options(timeout=PATIENCE_MS)


class Background:
    """An event loop in a thread of its own; the browser occupies the loop of the test."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Do this there, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Beamline:
    """The beamline of the demo in the middle of its day: run 1 goes on after a loss of beam."""

    def __init__(self, demo: Demo, day: Day, seeded: Seeded, background: Background) -> None:
        self.demo, self.day, self.seeded = demo, day, seeded
        self.ids = day.ids
        self.service, self.url = demo.service, demo.url
        self._background = background

    @contextmanager
    def restarted(self, **settings: str) -> Generator[None]:
        """Kill the service and start it with other settings, and in the end with its own."""
        try:
            self.service.kill()
            self.service.start(**settings)
            yield
        finally:
            self.service.kill()
            self.service.start()

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Let something happen at the beamline, such as a step of the day, and wait for it."""
        return self._background.run(work)

    def do(
        self, name: str, arguments: Mapping[str, Any], as_: str = ADMINISTRATOR, **options: Any
    ) -> Any:
        """Make one call over REST that must succeed, and return its body."""
        return self.run(self.day.do(name, arguments, as_=as_, **options))

    def permit(self, name: str, who: str, surface_id: str, commands: Iterable[str]) -> None:
        """Define a policy by which somebody may do more at a surface."""
        policy = {
            "name": name,
            "conduit_id": str(seeded.ENTRY),
            "surface_id": surface_id,
            "permitted_principal_ids": [self.ids[who]],
            "permitted_commands": sorted(commands),
            "object_scope": "All",
        }
        self.do("define_policy", policy)

    def events(self, kind: str, id: str) -> list[str]:
        """Return the types of all events of an object, oldest first."""
        about = {f"{kind.lower()}_id": id, "limit": 100}
        return [
            each["event_type"] for each in self.do(f"get_{kind.lower()}_history", about)["items"]
        ]


class Visit:
    """A tab of a browser with the console, and what it has asked for and complained about."""

    def __init__(self, page: Page, person: str, url: str) -> None:
        self.page, self.person, self.url = page, person, url
        self.requests: list[Request] = []
        self.responses: list[Response] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108
        page.on("response", lambda response: self.responses.append(response))  # noqa: PLW0108
        page.on("console", self._told)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.add_init_script(VIOLATIONS)

    def _told(self, message: ConsoleMessage) -> None:
        # The browser itself reports refusals and lost connections, which tests bring about.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def sign_in(self, path: str) -> None:
        """Open a path under /console, and sign in at the identity provider on the way."""
        self.page.goto(f"{self.url}/console{path}")
        self.page.get_by_label("Login").fill(self.person)
        self.page.get_by_role("button", name="Sign in").click()
        self.shown()

    def open(self, path: str) -> None:
        """Open a path under /console; the identity provider knows who it is."""
        self.page.goto(f"{self.url}/console{path}")
        self.shown()

    def shown(self) -> None:
        """Wait until the console is connected to the feed."""
        expect(self.page.locator(".live")).to_contain_text("Live")

    def confirm(self, words: str) -> None:
        """Press the button of an open form once its dry run was accepted, and wait for its end."""
        button = self.page.get_by_role("button", name=words, exact=True)
        expect(button).to_have_attribute("aria-disabled", "false")
        button.click()
        expect(button).to_have_count(0)

    @property
    def tokens(self) -> set[str]:
        """Return every token that this tab has got, and those that it has sent."""
        tokens = {
            each.headers["authorization"].removeprefix("Bearer ")
            for each in self.requests
            if "authorization" in each.headers
        }
        for each in self.responses:
            if urlsplit(each.url).path == "/token" and each.ok and each.request.method == "POST":
                # A browser forgets the answers that a page has got before it was left.
                with suppress(PlaywrightError):
                    told = each.json()
                    tokens |= {told[name] for name in told if name.endswith("_token")}
        return tokens

    @property
    def refresh_token(self) -> str:
        """Return the refresh token that this tab has got last."""
        answers = [each for each in self.responses if urlsplit(each.url).path == "/token"]
        return answers[-1].json()["refresh_token"]

    def stored(self) -> str:
        """Return what the browser keeps for the page after it is closed, or until then."""
        return "\n".join(self.page.evaluate(STORED))


class Visits:
    """Opens visits, and requires at the end that each has behaved."""

    def __init__(self, browser: Browser, beamline: Beamline, people: PeopleProvider) -> None:
        self._browser, self._beamline, self._people = browser, beamline, people
        self._contexts: list[BrowserContext] = []
        self.all: list[Visit] = []

    def __call__(
        self,
        person: str,
        path: str = "/",
        *,
        scheme: Literal["dark", "light"] = "dark",
        viewport: tuple[int, int] = (1600, 1000),
        still: bool = True,
        url: str | None = None,
        script: str = "",
        **options: Any,
    ) -> Visit:
        """Sign a person in at a path under /console, in a browser of their own.

        `still` is whether the person prefers reduced motion, `url` that of a proxy before the
        service, and `script` runs before those of the page.
        """
        context = self._browser.new_context(
            color_scheme=scheme,
            viewport={"width": viewport[0], "height": viewport[1]},
            reduced_motion="reduce" if still else "no-preference",
            **options,
        )
        context.set_default_timeout(PATIENCE_MS)
        self._contexts.append(context)
        if script:
            context.add_init_script(script)
        visit = self._visit(context, person, url or self._beamline.url)
        visit.sign_in(path)
        return visit

    def tab(self, beside: Visit, path: str = "/") -> Visit:
        """Open a second tab in the browser of another visit, whose person is known there."""
        visit = self._visit(beside.page.context, beside.person, beside.url)
        visit.open(path)
        return visit

    def _visit(self, context: BrowserContext, person: str, url: str) -> Visit:
        visit = Visit(context.new_page(), person, url)
        self.all.append(visit)
        return visit

    def require_good_behaviour(self) -> None:
        """Fail if a tab has asked anybody else, complained, or kept or shown a token."""
        log = self._beamline.service.log.read_text(errors="replace")
        for visit in self.all:
            hosts = {urlsplit(each.url).netloc for each in visit.requests} - {""}
            assert hosts <= {urlsplit(each).netloc for each in (visit.url, self._people.issuer)}
            assert visit.complaints == []
            kept = visit.stored()
            addresses = "\n".join(each.url for each in visit.requests)
            assert visit.tokens
            for token in visit.tokens:
                assert token not in kept
                assert token not in addresses
                assert token not in log

    def close(self, picture: str) -> None:
        """Close every tab, and keep what it showed last."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        for number, visit in enumerate(self.all):
            if not visit.page.is_closed():
                visit.page.screenshot(path=PICTURES / f"{picture}-{number}.png")
        for context in self._contexts:
            context.close()


def chromium_path() -> str | None:
    """Return the browser of this machine."""
    return shutil.which("chromium")
