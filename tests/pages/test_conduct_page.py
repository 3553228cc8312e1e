"""The page on conducting: its commands are run in order against a real IOC, service and worker."""

import asyncio
import json
import re
import shlex
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from docs.run_readme import Shell, blocks, require, steady

from beamkeep.deployment.settings import Settings
from beamkeep.telemetry import Telemetry
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.ioc import Ioc, IocRecord, loopback_network
from beamkeep.testing.server import Server, deployment, serving
from beamkeep.testing.waiting import DEADLINE, until

pytestmark = pytest.mark.postgres

PAGE = (Path(__file__).parents[2] / "docs/how-to/conduct-a-procedure.md").read_text()
SETTINGS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`(\w+\.json)`[^\n]*:\n\n```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RECORDS = (
    IocRecord("BL:SLIT:GAP", "aOut", 0.0),
    IocRecord("BL:SLIT:X", "aOut", 0.25),
    IocRecord("BL:DIODE", "aOut", 0.75),
    IocRecord("BL:SHUTTER", "mbbOut", 0, labels=("Closed", "Open")),
)
CAPUT = "import asyncio, sys, aioca; asyncio.run(aioca.caput(*sys.argv[1:]))"
WORKER = "beamkeep work"


@contextmanager
def working(server: Server) -> Generator[None]:
    """Run a worker of the deployment, and go on when the lists exist."""
    worker, headers = server.begin("work"), {"Authorization": f"Bearer {server.admin}"}
    try:
        with httpx2.Client(base_url=server.url, headers=headers) as http:
            asyncio.run(until(lambda: http.get("/procedures").is_success, "the lists exist"))
        yield
        assert worker.poll() is None, server.log.read_text()
    finally:
        worker.terminate()
        worker.wait(DEADLINE)


def follow(shell: Shell) -> list[str]:
    """Do what the page says, and return the outcomes of the conducts that were followed."""
    outcomes: list[str] = []
    for step in (step for block in blocks(PAGE) for step in block.steps):
        if step.command == WORKER:
            continue
        wanted = steady(step.answer)
        status, answer = shell.ask(step.command)
        # A question shows the end of what a worker does meanwhile.
        while " get-conduct " in step.command and steady(answer) != wanted:
            status, answer = shell.ask(step.command)
        require(step.command, answer, step.answer)
        outcomes += (outcome := re.findall(r"The conduct ended (\w+)\.", answer))
        assert status == int(bool(outcome) and outcome != ["Completed"]), step.command
    return outcomes


@pytest.mark.skipif(not shutil.which("jq"), reason="the page uses jq")
def test_the_page_on_conducting_does_what_it_says(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (text,) = SETTINGS.findall(PAGE)
    settings = dict(line.split("=", 1) for line in shlex.split(text))
    for name, body in FILE.findall(PAGE):
        (tmp_path / name).write_text(json.dumps(json.loads(body)))
    (caput := tmp_path / "caput").write_text(
        f'#!/bin/sh\nexec {sys.executable} -c "{CAPUT}" "$@"\n'
    )
    caput.chmod(0o755)
    with (
        loopback_network() as network,
        Ioc(network.ports[0], *RECORDS) as ioc,
        deployment(
            cluster,
            True,
            project_in_serve="false",
            conduct_slots="4",
            **settings,
            **network.environment,
        ) as made,
        serving(made) as server,
        working(server),
    ):
        path = f"{tmp_path}:{Path(sys.executable).parent}:{made.environment()['PATH']}"
        for name, value in {**network.environment, "PATH": path}.items():
            monkeypatch.setenv(name, value)
        shell = Shell(tmp_path)
        try:
            shell.begin(f"export BEAMKEEP_URL={server.url} BEAMKEEP_TOKEN={server.admin}")
            assert follow(shell) == [
                *("Completed", "Held", "Completed", "Aborted"),
                *("Completed", "Completed", "Completed"),
            ]
        finally:
            shell.close()
        assert ioc.puts()[0] == ["BL:SLIT:GAP", 2.5]


def test_the_settings_and_metrics_that_the_page_names_exist():
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", PAGE))
    elsewhere = {word for word in named if word.startswith(("EPICS_", "TANGO_HOST"))}
    assert named - elsewhere <= {name.upper() for name in Settings.model_fields}
    told = {re.sub(r"_total$", "", name) for name in re.findall(r"`(beamkeep_\w+)", PAGE)}
    assert told <= {metric.name for metric in Telemetry().registry.collect()}
