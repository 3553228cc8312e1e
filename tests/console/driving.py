"""Calls of a running service through its console: a person at a browser, with mouse or keyboard."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import httpx2
from playwright.async_api import Browser, Locator, Page, Response, ViewportSize
from playwright.async_api import Error as PlaywrightError

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation, Question, SurfaceKind
from beamkeep.testing.calling import Calling, Rest, SurfaceAnswer
from tests.console.screens import GO
from tests.console.visit import PATIENCE_MS

PICTURES = Path(__file__).parents[2] / "build" / "console"
VIEWPORT = ViewportSize(width=1600, height=1000)
MOST_TABS = 400
TYPED = ":scope > input, :scope > textarea, :scope > .with-unit > input, :scope > .picker > input"
DECLARED = {"override_parameters", "parameters_patch", "default_parameters_patch"}
"""The fields whose form a method declares."""
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WAITING = "Waiting for the dry run"
DENIED = "Not permitted on "
SENDS = "footer button:not(.s), .bare > .row > button"
"""The first of these buttons sends the command of a form."""
OUTCOME = """(form, [sends, unfinished, patience]) => new Promise((tell, fail) => {
    const late = Date.now() + patience;
    const look = () => {
        const button = form.querySelector(sends);
        if (!button) return tell("done");
        const isOn = button.getAttribute("aria-disabled") !== "true";
        const told = isOn ? "ready" : button.parentElement.querySelector(".why")?.textContent;
        const isBusy = button.getAttribute("aria-busy") === "true";
        if (!isBusy && told && told !== unfinished) return tell(told);
        if (Date.now() > late) return fail(new Error(`no dry run was answered: ${told}`));
        setTimeout(look, 20);
    };
    look();
})"""
FIELDS = """form => [...form.querySelectorAll(
    ":scope > [data-field], :scope > details > .form > [data-field]"
)].map(({dataset, parentElement}) => [
    dataset.field, dataset.control, parentElement.closest("details:not([open])") !== null
])"""
IS_FOCUSED = "element => element === document.activeElement"
IS_BEHIND = """element => Boolean(document.activeElement.compareDocumentPosition(element)
    & Node.DOCUMENT_POSITION_PRECEDING)"""


class Hands(ABC):
    """How a person works a page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @abstractmethod
    async def press(self, button: Locator) -> None:
        """Press a button."""

    @abstractmethod
    async def type(self, field: Locator, text: str) -> None:
        """Replace the text of a field."""

    @abstractmethod
    async def choose(self, select: Locator, value: str) -> None:
        """Choose an option of a list."""

    @abstractmethod
    async def tick(self, box: Locator, wanted: bool) -> None:
        """Tick a box, or take its tick away."""

    @abstractmethod
    async def enter_time(self, field: Locator, local: datetime) -> None:
        """Enter a date and a time."""

    @abstractmethod
    async def pick(self, option: Locator, field: Locator) -> None:
        """Take an option that the list of a field shows."""


class Mouse(Hands):
    """Clicks on everything."""

    async def press(self, button: Locator) -> None:
        await button.click()

    async def type(self, field: Locator, text: str) -> None:
        await field.fill(text)

    async def choose(self, select: Locator, value: str) -> None:
        await select.select_option(value)

    async def tick(self, box: Locator, wanted: bool) -> None:
        await box.set_checked(wanted)

    async def enter_time(self, field: Locator, local: datetime) -> None:
        await field.fill(local.strftime("%Y-%m-%dT%H:%M:%S"))

    async def pick(self, option: Locator, field: Locator) -> None:
        await option.click()


class Keyboard(Hands):
    """Never clicks: goes from field to field with Tab."""

    async def press(self, button: Locator) -> None:
        await self.go_to(button)
        await self.page.keyboard.press("Enter")

    async def type(self, field: Locator, text: str) -> None:
        await self.go_to(field)
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.insert_text(text)

    async def choose(self, select: Locator, value: str) -> None:
        await self.go_to(select)
        await self.page.keyboard.press("Home")
        for _ in range(MOST_TABS):
            if await select.input_value() == value:
                return
            await self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{select} has no option {value}")

    async def tick(self, box: Locator, wanted: bool) -> None:
        await self.go_to(box)
        if await box.is_checked() != wanted:
            await self.page.keyboard.press("Space")

    async def enter_time(self, field: Locator, local: datetime) -> None:
        await self.go_to(field)
        # Debian's Chromium has American English alone, whatever language a page asks for.
        for part in ("%m", "%d", "%Y", "%I", "%M", "%S", "%p"):
            await self.page.keyboard.type(local.strftime(part)[: 1 if part == "%p" else None])
            if part == "%Y":
                # A year may have six digits: the next part does not begin by itself.
                await self.page.keyboard.press("ArrowRight")
        entered = datetime.fromisoformat(await field.input_value())
        assert entered == local.replace(tzinfo=None), (entered, local)

    async def pick(self, option: Locator, field: Locator) -> None:
        for _ in range(MOST_TABS):
            if await option.get_attribute("aria-selected") == "true":
                return await self.page.keyboard.press("Enter")
            await self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{option} is not reached by arrow keys")

    async def go_to(self, place: Locator) -> None:
        """Move the focus with Tab until it has come to a place."""
        for _ in range(MOST_TABS):
            if await place.evaluate(IS_FOCUSED):
                return
            back = await place.evaluate(IS_BEHIND)
            await self.page.keyboard.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"{place} is not reached by Tab")


class Form:
    """Fills in the forms that the console makes from schemas."""

    def __init__(self, hands: Hands, zone: ZoneInfo) -> None:
        self.hands, self.zone = hands, zone
        self.controls: dict[str, Callable[[Locator, Any], Awaitable[None]]] = {
            "text": self._text,
            "number": self._text,
            "step": self._step,
            "json": self._json,
            "flag": self._flag,
            "yes or no": self._yes_or_no,
            "choice": self._choice,
            "choices": self._choices,
            "time": self._time,
            "object id": self._object,
            "list": self._list,
            "map": self._map,
            "group": self._group,
            "one of": self._one_of,
        }

    async def fill(self, form: Locator, values: Mapping[str, Any]) -> None:
        """Fill in the fields of a form or of a group; what is None is left empty."""
        # From the top to the bottom, as a person would; others the schema or the console gives.
        shown: list[tuple[str, str, bool]] = await form.evaluate(FIELDS)
        given = [each for each in shown if values.get(each[0]) is not None]
        if any(is_folded for _, _, is_folded in given):
            await self.hands.press(form.locator(":scope > details > summary"))
        for name, control, _ in given:
            field = form.locator(
                f':scope > [data-field="{name}"], :scope > details > .form > [data-field="{name}"]'
            )
            if name in DECLARED:
                await self._declared(field)
            await self.controls["group" if name in DECLARED else control](field, values[name])

    async def _declared(self, field: Locator) -> None:
        """Wait until the form knows which parameters the chosen plan or run has."""
        await field.and_(self.hands.page.locator('[data-control="group"]')).wait_for()

    async def put(self, box: Locator, value: Any) -> None:
        """Fill in one field."""
        control = await box.get_attribute("data-control") or ""
        await self.controls[control](box, value)

    async def _text(self, box: Locator, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        await self.hands.type(box.locator(TYPED), text)

    async def _step(self, box: Locator, value: Any) -> None:
        # The service counts steps from 0, and people count them from 1.
        await self.hands.type(box.locator(TYPED), str(value + 1))

    async def _json(self, box: Locator, value: Any) -> None:
        await self.hands.type(box.locator(TYPED), json.dumps(value))

    async def _flag(self, box: Locator, value: Any) -> None:
        await self.hands.tick(box.locator(TYPED), value)

    async def _yes_or_no(self, box: Locator, value: Any) -> None:
        await self.hands.choose(box.locator(":scope > select"), json.dumps(value))

    async def _choice(self, box: Locator, value: Any) -> None:
        await self.hands.choose(box.locator(":scope > select"), value)

    async def _choices(self, box: Locator, value: Any) -> None:
        for word in _listed(value):
            await self.hands.tick(box.locator(f'input[value="{word}"]'), True)

    async def _time(self, box: Locator, value: Any) -> None:
        local = datetime.fromisoformat(value).astimezone(self.zone)
        # The field takes whole seconds.
        await self.hands.enter_time(box.locator(TYPED), local.replace(microsecond=0))

    async def _object(self, box: Locator, value: Any) -> None:
        field = box.locator(TYPED)
        await self.hands.type(field, value)
        await self.hands.pick(box.locator("[role=option]").first, field)

    async def _list(self, box: Locator, value: Any) -> None:
        nested = box.locator(":scope > .nested")
        for index, each in enumerate(_listed(value)):
            await self.hands.press(nested.locator(":scope > div:not(.row) > button"))
            row = nested.locator(":scope > .row.top").nth(index)
            await self.put(row.locator(":scope > .grow > [data-control]"), each)

    async def _map(self, box: Locator, value: Any) -> None:
        nested = box.locator(":scope > .nested")
        for index, (name, each) in enumerate(value.items()):
            await self.hands.press(nested.locator(":scope > div:not(.row) > button"))
            row = nested.locator(":scope > .row.top").nth(index)
            await self.hands.type(row.locator(":scope > .field > input"), name)
            await self.put(row.locator(":scope > .grow > [data-control]"), each)

    async def _group(self, box: Locator, value: Any) -> None:
        await self.fill(box.locator(":scope > .nested"), value)

    async def _one_of(self, box: Locator, value: Any) -> None:
        nested = box.locator(":scope > .nested")
        select = nested.locator(":scope > label > select")
        titles = [_bare(title) for title in await select.locator("option").all_inner_texts()]
        (index, *_) = [titles.index(title) for title in _forms_of(value) if title in titles]
        await self.hands.choose(select, str(index))
        await self.put(nested.locator(":scope > [data-control]"), value)


def _forms_of(value: Any) -> Sequence[str]:
    """The titles of the forms that take a value, without spaces."""
    match value:
        case bool():
            return ["boolean"]
        case int():
            return ["integer", "number"]
        case float():
            return ["number"]
        case str():
            return ["string"]
        case list():
            return ["array"]
        case {"kind": kind}:
            return [_bare(kind)]
        case _:
            return [f"{_bare(name)}ref" for name in value]


def _listed(value: Any) -> Sequence[Any]:
    """Return the values of a filter that takes one or several."""
    return [value] if isinstance(value, str) else value


def _bare(title: str) -> str:
    return re.sub(r"[^a-z]", "", title.lower())


class Place(NamedTuple):
    """Where a screen of the console offers a command."""

    path: str
    button: str
    """How the text of the button begins."""
    within: str = "main"
    """The part of the screen, as a selector."""
    menu: bool = False
    """Whether the button is among the actions of an object, which another one opens."""
    shows: Sequence[str] = ()
    """What the screen and the form tell before anything is sent."""


class Checked(NamedTuple):
    """What the button of a form says about its dry run, and what that was answered."""

    outcome: str
    answer: SurfaceAnswer | None


class Person:
    """Somebody with the console open, signed in once."""

    def __init__(self, hands: Hands, rest: Rest, zone: ZoneInfo) -> None:
        self.page, self.rest, self.zone = hands.page, rest, zone
        self.take(hands)
        self.palette = self.page.locator("dialog.palette")
        self.work = self.palette.locator(".work")
        self.sheet = self.palette
        """The form that is open, with its buttons."""
        self.answered: list[Response] = []
        self.complaints: list[str] = []
        self.key = ""
        self.surface_id: str | None = None
        """The idempotency key and the surface of the last command that was sent."""
        self.page.on("response", lambda response: self.answered.append(response))  # noqa: PLW0108
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def take(self, hands: Hands) -> None:
        """Go on with mouse or keyboard."""
        self.hands, self.form = hands, Form(hands, self.zone)

    async def open(self, name: str) -> None:
        """Open the palette and choose an operation by its words."""
        keyboard = self.page.keyboard
        await keyboard.press("Control+k")
        search = self.palette.get_by_role("combobox", name="Search or run a command")
        await search.wait_for()
        await keyboard.insert_text(name.replace("_", " "))
        option = self.page.locator(f"#palette-{name}")
        await option.wait_for()
        if isinstance(self.hands, Mouse):
            # One that is not permitted can be opened too: its form says why it is off.
            await option.click(force=True)
        else:
            await self.hands.pick(option, search)
        await self.work.get_by_text(name, exact=True).first.wait_for()
        self.sheet = self.palette

    async def go(self, path: str) -> None:
        """Go to a path under /console without loading the page again."""
        await self.page.evaluate(GO, path)
        await self.page.locator("main h1").first.wait_for(state="attached")

    async def open_at(self, place: Place) -> Locator:
        """Open the form of a command where a screen offers it; return its fields."""
        await self.go(place.path)
        part = self.page.locator(place.within)
        if place.menu:
            await self.hands.press(part.get_by_role("button", name="Actions").first)
        named = part.get_by_role("button", name=re.compile(f"^{re.escape(place.button)}.*…$"))
        button = named.and_(self.page.locator('[aria-disabled="false"]')).first
        await button.wait_for()
        await self.hands.press(button)
        self.sheet = self.page.locator("dialog.sheet[open], .pop:has(> .bare)").last
        await self.sheet.wait_for()
        for told in place.shows:
            await self.page.get_by_text(told).first.wait_for()
        return self.sheet.locator(".body > .form")

    async def close(self) -> None:
        """Close the palette, and whatever else is open."""
        shown = self.page.locator("dialog[open], .pop")
        for _ in range(4):
            if await shown.count():
                await self.page.keyboard.press("Escape")
        await shown.first.wait_for(state="detached")

    async def outcome(self) -> str:
        """Return `ready` once the dry run was accepted, `done`, or why the button is off."""
        return await self.sheet.evaluate(OUTCOME, [SENDS, WAITING, PATIENCE_MS])

    async def shown(self) -> str:
        """Return what the form shows."""
        return await self.work.inner_text()

    async def dry_run(
        self, row: Operation, arguments: Mapping[str, Any], place: Place | None = None
    ) -> Checked:
        """Fill in the form of a command, in the palette or where a screen offers it.

        Return the state of its button and the dry run.
        """
        self.answered.clear()
        if place:
            form = await self.open_at(place)
        else:
            await self.open(row.name)
            form = self.work.locator(":scope > .form")
        # The fields come with the button; some commands have no fields.
        await self.sheet.locator(SENDS).first.wait_for()
        if await form.count():
            await self.form.fill(form, arguments)
        outcome = await self.outcome()
        assert not outcome.startswith("Missing: "), (row.name, outcome, arguments)
        if place:
            assert not UUID.search(await self.sheet.inner_text()), "a form shows an id"
        if outcome.startswith(DENIED):
            return Checked(outcome, None)
        last = [each for each in self.answered if _is_call(row, each) and _is_dry(each)][-1]
        return Checked(outcome, await _answer(last))

    async def send(
        self,
        row: Operation,
        arguments: Mapping[str, Any],
        place: Place | None = None,
        is_hasty: bool = False,
    ) -> SurfaceAnswer | None:
        """Send a command; return its answer, the refusal of its dry run, or None if it is off.

        A hasty person presses the button twice.
        """
        outcome, dry = await self.dry_run(row, arguments, place)
        if place and dry and dry.status == HTTPStatus.PRECONDITION_FAILED:
            # The screen had not read the object again since the last command: open the form again.
            await self.close()
            outcome, dry = await self.dry_run(row, arguments, place)
        if outcome != "ready":
            return dry
        button = self.sheet.locator(SENDS).first
        return await self.confirm(row, button, is_hasty=is_hasty)

    async def confirm(
        self, row: Operation, button: Locator, is_hasty: bool = False
    ) -> SurfaceAnswer:
        """Press the button that sends a command, and return the answer."""

        def sent(response: Response) -> bool:
            return _is_call(row, response) and not _is_dry(response)

        async with self.page.expect_response(sent) as answered:
            if is_hasty and isinstance(self.hands, Mouse):
                await button.dblclick()
            else:
                await self.hands.press(button)
        response = await answered.value
        headers = await response.request.all_headers()
        self.key, self.surface_id = headers["idempotency-key"], headers.get("x-surface-id")
        return await _answer(response)

    async def ask(self, row: Question, arguments: Mapping[str, Any]) -> SurfaceAnswer:
        """Fill in the form of a question and read its answer."""
        self.answered.clear()
        await self.open(row.name)
        await self.form.fill(self.work.locator(":scope > .query > .form"), arguments)

        def read(response: Response) -> bool:
            return _is_call(row, response)

        def last() -> Response:
            return [each for each in self.answered if read(each)][-1]

        async with self.page.expect_response(read):
            await self.hands.press(self.work.get_by_role("button", name="Read", exact=True))
        while True:
            answered = last()
            try:
                return await _answer(answered)
            except PlaywrightError:
                # The page has given that request up for a newer one.
                if answered is last():
                    await self.page.wait_for_event("response", predicate=read)


def _is_dry(response: Response) -> bool:
    return "dry_run=true" in response.url


def _is_call(row: Operation | Question, response: Response) -> bool:
    path = re.sub(r"\{\w+\}", "[^/]+", row.route.path)
    method = "POST" if isinstance(row, Operation) else "GET"
    called = re.fullmatch(f"https?://[^/]+{path}(\\?.*)?", response.url)
    return called is not None and response.request.method == method


async def _answer(response: Response) -> SurfaceAnswer:
    headers, body = response.headers, await response.body()
    etag = headers.get("etag")
    return SurfaceAnswer(
        status=response.status,
        body=json.loads(body) if body else None,
        version=int(etag.strip('"')) if etag else None,
        position_token=headers.get("position-token"),
        replayed="idempotency-replayed" in headers,
    )


class Console(Calling):
    """The console of a service, used through its palette, in one browser context per person."""

    kind = SurfaceKind.HTTP

    def __init__(
        self,
        http: httpx2.AsyncClient,
        browser: Browser,
        hands: type[Hands] = Mouse,
        path: str = "/console/",
    ) -> None:
        super().__init__(http)
        self.browser, self.hands, self.path = browser, hands, path
        self.rest, self.people = Rest(http), dict[str, Person]()
        self.query: dict[str, str] = {}
        """What the address says when a person opens the console."""
        self.repeatable: dict[str | None, tuple[str, str | None]] = {}
        """The keys and surfaces of the commands that somebody may repeat."""
        self.place: Place | None = None
        """Where the next command is sent; None for the palette."""
        self.count = 0
        """How many calls went through the browser."""

    def __repr__(self) -> str:
        return f"console by {self.hands.__name__.lower()}"

    async def person(self, token: str, surface_id: str | None = None) -> Person:
        """Return the person with a token, who signs in when called first."""
        if token not in self.people:
            context = await self.browser.new_context(
                viewport=VIEWPORT, locale="en-GB", reduced_motion="reduce"
            )
            page = await context.new_page()
            url = str(self.http.base_url).rstrip("/")
            zone = (await self.http.get("/console/settings.json")).json()["timezone"]
            self.people[token] = Person(self.hands(page), self.rest, ZoneInfo(zone))
            query = {**self.query, **({"surface": surface_id} if surface_id else {})}
            await page.goto(f"{url}{self.path}?{urlencode(query)}")
            await page.get_by_label("Access token").fill(token)
            await page.get_by_role("button", name="Use this token").click()
            await page.get_by_role("navigation", name="Screens").wait_for()
        person = self.people[token]
        if not isinstance(person.hands, self.hands):
            person.take(self.hands(person.page))
        return person

    async def send(
        self,
        token: str | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        idempotency_key: str | None = None,
        if_match: int | None = None,
        dry_run: bool = False,
        surface_id: str | None = None,
        proposal_note: str | None = None,
    ) -> SurfaceAnswer:
        assert token is not None
        assert if_match is None, "the console sends the version that it shows"
        assert proposal_note is None
        row = CATALOGUE.named[name]
        if idempotency_key in self.repeatable:
            # A client that repeats itself does so with the same key, and without asking anybody.
            key, surface_id = self.repeatable[idempotency_key]
            return await self.rest.send(
                token, name, arguments, idempotency_key=key, surface_id=surface_id
            )
        person = await self.person(token, surface_id)
        self.count += 1
        if not isinstance(row, Operation):
            answer = await person.ask(row, arguments)
        elif dry_run:
            answer = (await person.dry_run(row, arguments)).answer
        else:
            is_hasty = idempotency_key is not None
            answer = await person.send(row, arguments, self.place, is_hasty=is_hasty)
            if idempotency_key is not None:
                self.repeatable[idempotency_key] = person.key, person.surface_id
        await person.close()
        if self.place:
            await person.go(f"/?{urlencode(self.query)}")
        if answer is None:
            # The console does not send what is not permitted; somebody else's client would.
            answer = await self.rest.send(token, name, arguments, surface_id=surface_id)
            assert answer.status == HTTPStatus.FORBIDDEN
        return answer

    @property
    def complaints(self) -> list[str]:
        """Return the errors of all pages."""
        return [each for person in self.people.values() for each in person.complaints]

    async def picture(self, name: str) -> None:
        """Keep what every person sees."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        for number, person in enumerate(self.people.values()):
            await person.page.screenshot(path=PICTURES / f"{name}-{number}.png")
