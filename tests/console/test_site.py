"""The operations of a site in the palette: those of the page that adds an aggregate."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from playwright.async_api import ConsoleMessage, async_playwright

from beamkeep.testing.calling import Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.principals import As
from beamkeep.testing.server import LocalDeployment, deployment
from beamkeep.testing.waiting import until
from tests.console.driving import PICTURES, SENDS, Console, Person
from tests.console.test_palette import STILL
from tests.console.visit import PATIENCE_MS, Background, chromium_path
from tests.support.examples.assets import an_asset
from tests.support.loan_desk import installed

DOCUMENT = "/openapi.json"


class Desk(NamedTuple):
    """The administrator with the console open at a service with a loan desk, and over REST."""

    person: Person
    http: httpx2.AsyncClient
    admin: As
    headers: dict[str, str]
    violations: list[str]

    def documents(self) -> int:
        """Return how often the console has read what the service describes."""
        return sum(each.url.endswith(DOCUMENT) for each in self.person.answered)

    async def tools(self) -> list[dict[str, Any]]:
        """Return the tools that the service lists."""
        return (await self.http.get("/tools", headers=self.headers)).json()["items"]

    async def lend(self, tool_id: str, asset_id: str) -> None:
        """Lend a tool without the console."""
        call = self.http.post(
            f"/tools/{tool_id}/lend", json={"asset_id": asset_id}, headers=self.headers
        )
        assert (await call).is_success

    async def fill(self, name: str, values: dict[str, str]) -> str:
        """Fill in the form of an operation in the palette, and return how its dry run ended."""
        await self.person.open(name)
        form = self.person.work.locator(":scope > .form")
        await form.wait_for()
        await self.person.form.fill(form, values)
        return await self.person.outcome()


@pytest.fixture(scope="module")
def served(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[LocalDeployment]:
    """A service in an environment that has the loan desk."""
    path = installed(tmp_path_factory.mktemp("loan-desk"))
    with Cluster.start() as cluster, deployment(cluster, False) as made:
        environment = made.environment() | {"PYTHONPATH": str(path)}
        beamkeep = [sys.executable, "-m", "beamkeep"]
        subprocess.run([*beamkeep, "migrate"], cwd=made.folder, env=environment, check=True)
        with made.log.open("ab") as log:
            service = subprocess.Popen(
                [*beamkeep, "serve"],
                cwd=made.folder,
                env={**environment, "PROJECT_IN_SERVE": "true"},
                stdout=log,
                stderr=log,
            )
        try:
            yield made
        finally:
            service.terminate()
            service.wait(60)


@asynccontextmanager
async def at_desk(made: LocalDeployment) -> AsyncGenerator[Desk]:
    async with (
        httpx2.AsyncClient(base_url=made.url, timeout=PATIENCE_MS / 1000) as http,
        async_playwright() as playwright,
    ):

        async def ready() -> bool:
            try:
                return (await http.get("/ready")).is_success
            except httpx2.TransportError:
                return False

        await until(ready, "the service answers")
        browser = await playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox"]
        )
        person = await Console(http, browser, path=STILL).person(made.admin)
        person.page.set_default_timeout(PATIENCE_MS)
        violations = list[str]()

        def heard(message: ConsoleMessage) -> None:
            if "Content Security Policy" in message.text:
                violations.append(message.text)

        person.page.on("console", heard)
        headers = {"authorization": f"Bearer {made.admin}"}
        yield Desk(person, http, As(Rest(http), made.admin), headers, violations)
        await browser.close()


async def lent_and_returned(desk: Desk) -> None:
    """Let the administrator register a tool, see that it is lent, and try to lend it again."""
    person = desk.person
    assert desk.documents() == 0, "the document is read before the palette is opened"
    asset_id = await an_asset(desk.admin)

    assert await desk.fill("register_tool", {"name": "Torque wrench"}) == "ready"
    assert "ToolRegistered" in await person.shown()
    assert desk.documents() == 1
    assert await desk.tools() == []
    await person.sheet.locator(SENDS).first.click()
    await person.palette.wait_for(state="detached")

    async def is_listed() -> bool:
        return bool(await desk.tools())

    await until(is_listed, "the tool is listed")
    (tool,) = await desk.tools()
    assert tool["name"] == "Torque wrench"

    await person.open("list_tools")
    row = person.work.locator(".query table tbody tr")
    await row.get_by_text("On shelf").wait_for()
    await desk.lend(tool["tool_id"], asset_id)
    await row.get_by_text("Lent").wait_for()
    await person.close()

    lend = {"tool_id": tool["tool_id"], "asset_id": asset_id}
    assert await desk.fill("lend_tool", lend) == "The dry run was refused"
    assert "A tool can be lent while it is OnShelf" in await person.shown()
    PICTURES.mkdir(parents=True, exist_ok=True)
    await person.page.screenshot(path=PICTURES / "site-refused.png")
    await person.close()

    assert await desk.fill("return_tool", {"tool_id": tool["tool_id"]}) == "ready"
    await person.page.screenshot(path=PICTURES / "site-ready.png")
    await person.sheet.locator(SENDS).first.click()
    await person.palette.wait_for(state="detached")

    path = f"/tools/{tool['tool_id']}"
    answered = (await desk.http.get(path, headers=desk.headers)).json()
    assert answered["status"] == "OnShelf"
    assert desk.documents() == 1
    assert (person.complaints, desk.violations) == ([], [])


def test_the_palette_finds_and_runs_the_operations_of_a_site(served: LocalDeployment):
    async def visit() -> None:
        async with at_desk(served) as desk:
            await lent_and_returned(desk)

    with Background() as background:
        background.run(visit())
