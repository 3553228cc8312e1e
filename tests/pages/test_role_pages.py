"""The pages for each role: every command and every cell does what the page says."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from demo.run import Demo, running, seed
from docs.run_readme import Shell, blocks, carry_out, require
from tests.support.datacite import ACCOUNT, PASSWORD, PREFIX, running_registry

from beamkeep.telemetry import Telemetry
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.server import Server, running_server
from beamkeep.testing.waiting import until
from beamkeep_client import Beamkeep
from beamkeep_client.catalogue import catalogue

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/how-to"
FILE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
END = "-- end of the cell"
NOTEBOOKS = (PAGES / "use-it-from-jupyter.md", ROOT / "client/README.md")
QUESTIONS = tuple(
    f"beamkeep {entry.noun} {verb}".replace("  ", " ")
    for entry in catalogue().values()
    if entry.is_question
    for verb in (entry.verb, entry.short)
    if verb
)


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Generator[Demo]:
    """The beamline of `make demo`."""
    with running(tmp_path_factory.mktemp("demo")) as demo:
        seed(demo)
        yield demo


@contextmanager
def terminal(folder: Path, environment: Mapping[str, str]) -> Generator[Shell]:
    """A terminal in which `beamkeep` is installed and knows its service."""
    shell = Shell(folder, terminal=True)
    try:
        shell.begin(f"export PATH={Path(sys.executable).parent}:$PATH")
        for name, value in environment.items():
            shell.begin(f"export {name}={shlex.quote(value)}")
        yield shell
    finally:
        shell.close()


def follow(text: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Write the files that a page shows, and run its commands."""
    for name, body in FILE.findall(text):
        (folder / name).write_text(body)
    with terminal(folder, environment) as shell:
        for block in blocks(text):
            carry_out(block, shell, lambda command: command.startswith(QUESTIONS))


@pytest.mark.postgres
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_shows_what_the_page_shows(file: Path, demo: Demo):
    # Before the pages below: an operator completes the run that is shown here.
    cells = CELL.findall(file.read_text())
    program = f"print({END!r})\n".join(code for code, _ in cells)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **demo.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    for (code, shown), printed in zip(cells, ran.stdout.split(f"{END}\n"), strict=True):
        require(code, printed.strip(), shown.strip())


@pytest.mark.postgres
@pytest.mark.parametrize("name", ["operate-a-shift", "start-a-run", "why-can-i-not-start"])
def test_a_page_does_what_it_says_at_the_beamline_of_the_demo(
    name: str, demo: Demo, tmp_path: Path
):
    follow(page(name), tmp_path, demo.environment)


@pytest.mark.postgres
def test_an_empty_service_gets_to_its_first_run(cluster: Cluster, tmp_path: Path):
    with running_server(cluster, self_facility_code="local") as server:
        text = page("from-an-empty-service").replace("https://login.facility.example", ISSUER)
        follow(text, tmp_path, login(server))


@pytest.mark.postgres
def test_an_agent_is_connected_as_its_page_says(cluster: Cluster, tmp_path: Path):
    with running_server(cluster, self_facility_code="local") as server:
        (tmp_path / "sweeper.token").write_text(server.token("sweeper"))
        follow(page("connect-an-agent"), tmp_path, login(server))


@pytest.mark.postgres
def test_copies_are_verified_as_the_page_says(cluster: Cluster, tmp_path: Path):
    roots = json.dumps([str(tmp_path)])
    with running_server(cluster, self_facility_code="local", data_roots=roots) as server:
        follow(page("verify-copies"), tmp_path, login(server))


def test_an_edition_is_published_and_gets_one_doi(cluster: Cluster, tmp_path: Path):
    with running_registry() as registry:
        account = {"datacite_repository_id": ACCOUNT, "datacite_password": PASSWORD}
        with running_server(
            cluster,
            self_facility_code="local",
            datacite_url=registry.url,
            datacite_prefix=PREFIX,
            **account,
        ) as server:
            follow(page("publish-an-edition"), tmp_path, login(server))
            hidden = until(lambda: [*registry.dois.values()] == ["registered"], "it is hidden")
            asyncio.run(hidden)
    assert registry.created == 1


@pytest.mark.postgres
def test_those_who_run_the_service_see_what_their_page_shows(cluster: Cluster, tmp_path: Path):
    with running_server(cluster) as server:
        (tmp_path / "token.txt").write_text(server.admin)
        shown = {name: each for name, each in server.environment().items() if name != "PATH"}
        follow(page("run-it"), tmp_path, {**shown, **login(server)})


@pytest.mark.postgres
def test_an_agent_proposes_and_a_person_approves(cluster: Cluster, tmp_path: Path):
    with running_server(cluster, self_facility_code="local") as server:
        agent = {"AGENT_TOKEN": server.token("watcher")}
        follow(page("let-an-agent-propose"), tmp_path, login(server) | agent)


@pytest.mark.postgres
def test_a_disk_is_emptied_as_its_page_says(cluster: Cluster, tmp_path: Path):
    with running_server(cluster, self_facility_code="local") as server:
        with Beamkeep(server.url, server.admin) as service:
            a_night_on_disk(service, tmp_path)
        follow(page("empty-a-disk"), tmp_path, login(server))


def a_night_on_disk(service: Beamkeep, folder: Path) -> None:
    """Write two scans to a disk and to an archive, where one is cut off, and register all."""
    storages = {
        name: service.supplies.register(kind="storage", name=name, facility_code="local").supply_id
        for name in ("nvme1", "archive")
    }
    for name in storages:
        (folder / name).mkdir()
    for number in (1, 2):
        file, content = f"scan_{number:04}.h5", os.urandom(5000)
        checksum = {"algorithm": "sha256", "value": sha256(content).hexdigest()}
        encoding = {"media_type": "application/x-hdf5"}
        made = service.datasets.register(
            name=file, encoding=encoding, checksum=checksum, byte_size=len(content)
        )
        for name, supply_id in storages.items():
            path = folder / name / file
            path.write_bytes(content[:4000] if (name, number) == ("archive", 2) else content)
            service.distributions.register(
                dataset=made.dataset_id,
                supply=supply_id,
                uri=path.as_uri(),
                access_protocol="POSIX",
                checksum=checksum,
                byte_size=len(content),
            )


def login(server: Server) -> dict[str, str]:
    return {"BEAMKEEP_URL": server.url, "BEAMKEEP_TOKEN": server.admin}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_passes_the_strict_type_checker(file: Path, tmp_path: Path):
    cells = [code for code, _ in CELL.findall(file.read_text())]
    assert cells
    (tmp_path / "notebook.py").write_text("# pyright: strict\n" + "\n".join(cells))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.postgres
def test_the_page_on_refused_starts_names_every_check(demo: Demo):
    with Beamkeep(demo.url, demo.token) as service:
        checks = service.plans.ready("Scan of every day").checks
    named = re.findall(r"^\| `(\w+)` \|", page("why-can-i-not-start"), re.MULTILINE)
    assert named == [check.check for check in checks]


def test_the_metrics_that_the_page_names_exist():
    named = {
        re.sub(r"_total$", "", each) for each in re.findall(r"`(beamkeep_\w+)`", page("run-it"))
    }
    assert len(named) > 5
    assert named <= {metric.name for metric in Telemetry().registry.collect()}
