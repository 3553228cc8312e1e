"""The page that adds an aggregate, followed word for word from wheels, and an upgrade after it."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from docs.run_readme import clean_copy
from tests.support.examples.assets import an_asset
from tests.support.loan_desk import BLOCK, PAGE, files

from beamkeep.testing.calling import Mcp, Rest
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.principals import As
from beamkeep.testing.server import LocalDeployment, deployment
from beamkeep.testing.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.anyio]

ROOT = Path(__file__).parents[2]
WRONG = "lend_tool: its rule raises ToolCannotLendError, which it does not declare."
LATER = "0099_a_later_release.sql"
STRICT = '{"typeCheckingMode": "strict"}'
CORRECT = "asset=sys.argv[1]"
MISSPELLED = "assets=sys.argv[1]"
ASYNCHRONOUS = """
import asyncio

from beamkeep_client import AsyncBeamkeep
from loan_desk.client import AsyncLoanDesk


async def main() -> None:
    async with AsyncBeamkeep() as bk:
        tools = AsyncLoanDesk(bk).tools
        planned = await tools.register(name="Caliper", dry_run=True)
        print([each["event_type"] for each in planned.events])
        print(sorted([tool.name async for tool in tools.list()]))


asyncio.run(main())
"""


type Step = tuple[str, list[str]]
"""A command of the page, and the lines that it shows below."""


def commands(start: str, end: str) -> list[Step]:
    """The commands that the page shows between two headings."""
    part = PAGE[PAGE.index(f"## {start}") : PAGE.index(f"## {end}")]
    found = list[Step]()
    for text in (text for kind, text in BLOCK.findall(part) if kind == "console"):
        for line in text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


class Site:
    """An environment with wheels of the service, outside the repository."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.venv = folder, folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(self.venv)], check=True)
        bin = self.venv / "bin"
        # The libraries of this environment; a folder on the path has no editable installs.
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = self.venv / "lib" / version / "site-packages"
        (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
        path = f"{bin}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**environment, "PATH": path, "HOME": str(folder)}

    def install(self, *wheels: Path) -> None:
        options = ["--quiet", "--no-deps", "--ignore-installed"]
        self.run(f"pip install {' '.join([*options, *map(str, wheels)])}", self.folder)

    def run(self, command: str, folder: Path, code: int | None = 0) -> str:
        """What a command says."""
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        said = ran.stdout + ran.stderr
        assert code is None or ran.returncode == code, f"{command}\n{said[-6000:]}"
        return said

    def follow(self, folder: Path, steps: Sequence[Step]) -> Path:
        """Carry out commands, require the lines shown, and return the folder they end in."""
        for command, shown in steps:
            if command.startswith("cd "):
                folder = folder / command[3:]
                continue
            said = self.run(command, folder)
            assert [line for line in shown if line not in said] == [], said
        return folder

    def type_check(self, folder: Path) -> str:
        """Return what pyright says of the programs in a folder, in the strict mode."""
        (folder / "pyrightconfig.json").write_text(STRICT)
        pyright = Path(sys.executable).with_name("pyright")
        python = self.venv / "bin/python"
        return self.run(
            f"{pyright} --pythonpath {python} --outputjson . 2>/dev/null", folder, code=None
        )

    @contextmanager
    def serving(self, made: LocalDeployment) -> Generator[None]:
        with made.log.open("ab") as log:
            service = subprocess.Popen(
                ["bash", "-c", "exec beamkeep serve"],
                cwd=made.folder,
                env={**self.environment, "PROJECT_IN_SERVE": "true"},
                stdout=log,
                stderr=log,
            )
        try:
            yield
        finally:
            service.terminate()
            service.wait(60)


def wheel(project: Path, folder: Path) -> Path:
    """The wheel of a project."""
    built = folder / os.urandom(4).hex()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    env = {**os.environ, "BEAMKEEP_CONSOLE": "skip"}
    subprocess.run(command, cwd=project, env=env, check=True, capture_output=True)
    (made,) = built.iterdir()
    return made


def later_release(folder: Path) -> Path:
    """A later release of the service, with a migration and another text of the domain."""
    copy = folder / "later"
    clean_copy(copy)
    project = copy / "pyproject.toml"
    project.write_text(project.read_text().replace('version = "0.1.0"', 'version = "0.2.0"', 1))
    (copy / "src/beamkeep/adapters/postgres/migrations" / LATER).write_text("SELECT 1;\n")
    asset = copy / "src/beamkeep/contexts/equipment/asset.py"
    asset.write_text(f"{asset.read_text()}\n# A later release.\n")
    return copy


async def answering(made: LocalDeployment, http: httpx2.AsyncClient) -> None:
    async def ready() -> bool:
        try:
            return (await http.get("/ready")).is_success
        except httpx2.TransportError:
            return False

    await until(ready, "the service answers")


@pytest.fixture(scope="module")
def made(cluster: Cluster) -> Generator[LocalDeployment]:
    with deployment(cluster, False) as made:
        yield made


async def test_the_page_adds_a_loan_desk_that_survives_an_upgrade(
    made: LocalDeployment, tmp_path: Path
):
    own = {"BEAMKEEP_URL": made.url, "BEAMKEEP_TOKEN": made.admin}
    site = Site(tmp_path, made.environment() | own)
    site.install(wheel(ROOT / "client", tmp_path), wheel(ROOT, tmp_path))
    assert str(site.venv) in site.run("python -c 'import beamkeep; print(beamkeep)'", tmp_path)

    package = site.follow(tmp_path, commands("Write the skeleton", "Declare the aggregate"))
    for name, text in files().items():
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text(text)
    site.follow(package, commands("Test it", "Install it"))
    install = commands("Install it", "Call it from Python")
    first_call = next(n for n, (command, _) in enumerate(install) if command.startswith("TOOL="))
    site.follow(package, install[:first_call])

    imported = "import sys, loan_desk.client; print([*sys.modules].count('beamkeep'))"
    assert site.run(f'python -c "{imported}"', tmp_path) == "0\n"
    assert problems(site.type_check(programs(tmp_path))) == []
    wrong = programs(tmp_path, lambda text: text.replace(CORRECT, MISSPELLED))
    assert [rule for rule in problems(site.type_check(wrong)) if "assets" in rule] != []

    async with httpx2.AsyncClient(base_url=made.url, timeout=60) as http:
        admin = As(Rest(http), made.admin)
        with site.serving(made):
            await answering(made, http)
            calls = install[first_call:]
            asset_id = await an_asset(admin)
            said = site.run("\n".join([f"ASSET={asset_id}", *(c for c, _ in calls)]), tmp_path)
            assert [line for _, shown in calls for line in shown if line not in said] == [], said
            (tool,) = (await http.get("/tools", headers=bearer(made))).json()["items"]
            (loan,) = await loans(made, http, tool["tool_id"])
            assert (tool["status"], loan["asset_id"]) == ("OnShelf", asset_id)
            calls = commands("Call it from Python", "When a declaration is wrong")
            folder = programs(tmp_path)
            site.follow(folder, [(f"ASSET={asset_id}; {call}", shown) for call, shown in calls])
            said = site.run("python asynchronous.py", folder)
            assert said.splitlines()[0] == "['ToolRegistered']"
            assert "Torque wrench" in said
            lend = {"tool_id": tool["tool_id"], "asset_id": asset_id}
            assert (await Mcp(http).send(made.admin, "lend_tool", lend)).ok
            described = (await http.get("/openapi.json")).json()
            assert "/tools/{tool_id}/lend" in described["paths"]
            assert {"name": "loan_desk", "tags": ["Tool"]} in described["x-tagGroups"]
            found = (await http.get("/docs/search", params={"words": "lend a tool"})).json()
            assert found["operations"][0] == "lend_tool"
            assert "loan_desk" not in site.run("beamkeep check", tmp_path, code=None)

        made.database.ask("REVOKE INSERT ON bk.loan_desk_loan FROM bk_app")
        told = "The role bk_app may not write bk.loan_desk_loan."
        assert told in site.run("beamkeep check", tmp_path, code=1)
        made.database.ask("GRANT INSERT ON bk.loan_desk_loan TO bk_app")

        installed = next((site.venv / "lib").rglob("loan_desk/tool.py"))
        right = installed.read_text()
        declared = "        AssetNotFoundError,\n        ToolCannotLendError,\n"
        assert declared in right
        installed.write_text(right.replace(declared, "        AssetNotFoundError,\n"))
        for verb in ("serve", "work", "check", "migrate"):
            assert WRONG in site.run(f"beamkeep {verb}", tmp_path, code=78).splitlines()
        installed.write_text(right)

        site.install(wheel(later_release(tmp_path), tmp_path))
        assert "beamkeep 0.2.0" in site.run("beamkeep --version", tmp_path)
        said = site.run("beamkeep migrate", tmp_path)
        assert said.split() == ["applied", LATER.removesuffix(".sql")]
        with site.serving(made):
            await answering(made, http)
            path = f"/tools/{tool['tool_id']}"
            kept = (await http.get(path, headers=bearer(made))).json()
            assert (kept["status"], kept["asset_id"]) == ("Lent", asset_id)
            assert loan in await loans(made, http, tool["tool_id"])
            assert (await http.post(f"{path}/return", headers=bearer(made))).status_code == 204
            history = (await http.get(f"{path}/history", headers=bearer(made))).json()["items"]
            assert [event["event_type"] for event in history] == [
                *("ToolRegistered", "ToolLent", "ToolReturned", "ToolLent", "ToolReturned")
            ]


def programs(folder: Path, change: Callable[[str], str] = str) -> Path:
    """The program of the page and an asynchronous one, in a new folder."""
    made = folder / os.urandom(4).hex()
    made.mkdir()
    (made / "lend.py").write_text(change(files()["lend.py"]))
    (made / "asynchronous.py").write_text(ASYNCHRONOUS)
    return made


def problems(checked: str) -> list[str]:
    """What pyright found wrong."""
    return [each["message"] for each in json.loads(checked)["generalDiagnostics"]]


def bearer(made: LocalDeployment) -> dict[str, str]:
    return {"authorization": f"Bearer {made.admin}"}


async def loans(made: LocalDeployment, http: httpx2.AsyncClient, id: str) -> list[dict[str, Any]]:
    return (await http.get(f"/tools/{id}/loans", headers=bearer(made))).json()["items"]
