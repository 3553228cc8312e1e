"""The page on installing: what it shows is true of the code, without a host to install on."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from docs.run_install import PAGE, files, steps

from beamkeep.deployment.settings import Settings, settings_of

ROOT = Path(__file__).parents[2]
ENVIRONMENT = "/etc/beamkeep/env"


def test_the_settings_of_the_page_are_settings_the_service_starts_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    shown = dict(line.split("=", 1) for line in shlex.split(files(PAGE.read_text())[ENVIRONMENT]))
    for name, value in shown.items():
        monkeypatch.setenv(name, value)
    settings = settings_of()
    assert shown.keys() <= {name.upper() for name in Settings.model_fields}
    assert not settings.project_in_serve
    assert settings.require_authenticated_principal


def test_no_command_of_the_page_opens_the_service_to_anybody():
    commands = [command for command, _ in steps(PAGE.read_text())]
    assert len(commands) > 10
    assert not [each for each in commands if "DEVELOPMENT" in each or "PRINCIPAL" in each]


def test_the_page_keeps_clear_of_the_cluster_that_comes_with_debian():
    page = PAGE.read_text()
    (made,) = re.findall(r"pg_createcluster .*--port (\d+)", page)
    assert made != "5432"
    assert {made} == set(re.findall(r"(?:-p |port=|@127\.0\.0\.1:)(\d+)", page))


def test_the_wheel_has_the_marker_of_its_types_every_migration_and_the_reference_page(
    tmp_path: Path,
):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    without = os.environ | {"BEAMKEEP_CONSOLE": "skip"}
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, env=without)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(ZipFile(wheel).namelist())
    assert "beamkeep/py.typed" in packed
    source = ROOT / "src"
    files = [
        *source.rglob("*.sql"),
        *(source / "beamkeep/surfaces/http/reference_page/files").iterdir(),
    ]
    assert {str(path.relative_to(source)) for path in files} <= packed


def test_the_wheel_of_the_client_has_its_catalogue(tmp_path: Path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT / "client", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(ZipFile(wheel).namelist())
    assert {"beamkeep_client/py.typed", "beamkeep_client/catalogue.json"} <= packed
    assert not [name for name in packed if name.startswith("beamkeep/")]


def test_every_lock_file_the_page_names_is_there():
    named = set(re.findall(r"requirements/[\w-]+\.txt", PAGE.read_text()))
    extras = ("bluesky", "epics", "nats", "pvaccess", "tango")
    assert {f"requirements/requirements-{extra}.txt" for extra in extras} < named
    assert [name for name in named if not (ROOT / name).exists()] == []
