"""The build hook: the wheel has the built console, and a source distribution builds without npm."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "beamkeep"
version = "1.0"

[tool.hatch.build.hooks.custom]

[tool.hatch.build.targets.sdist]
exclude = ["/console"]

[tool.hatch.build.targets.wheel]
packages = ["src/beamkeep"]
"""
NPM = """#!/bin/sh
echo "$*" >> ../npm.log
[ "$1" = run ] || exit 0
mkdir -p ../src/beamkeep/surfaces/http/console/built/assets
echo built > ../src/beamkeep/surfaces/http/console/built/index.html
echo built > ../src/beamkeep/surfaces/http/console/built/assets/main.js
"""
BUILT = {
    "beamkeep/surfaces/http/console/built/index.html",
    "beamkeep/surfaces/http/console/built/assets/main.js",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with our build hook, whose npm only writes two files."""
    project = tmp_path / "project"
    for folder in ("src/beamkeep", "console", "bin"):
        (project / folder).mkdir(parents=True)
    (project / "src/beamkeep/__init__.py").touch()
    (project / "console/package-lock.json").write_text("{}")
    (project / "pyproject.toml").write_text(PROJECT)
    (project / ".gitignore").write_text(
        "src/beamkeep/surfaces/http/console/built/\n/npm.log\n/bin\n"
    )
    shutil.copy(ROOT / "hatch_build.py", project)
    npm = project / "bin/npm"
    npm.write_text(NPM)
    npm.chmod(0o755)
    return project


def built(project: Path, kind: str, **environment: str) -> Path:
    """Build a distribution, and return its file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", "dist"]
    path = {"PATH": f"{project / 'bin'}:{os.environ['PATH']}"}
    subprocess.run(
        command, cwd=project, check=True, capture_output=True, env=os.environ | path | environment
    )
    (file,) = (project / "dist").glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return file


def of_console(names: Iterable[str]) -> set[str]:
    return {name for name in names if "console/" in name}


def test_a_wheel_has_the_console_that_npm_has_built(project: Path):
    assert of_console(ZipFile(built(project, "wheel")).namelist()) == BUILT
    assert (project / "npm.log").read_text().splitlines() == ["ci --ignore-scripts", "run build"]


def test_dependencies_that_are_those_of_the_lock_file_are_not_installed_again(project: Path):
    (project / "console/node_modules").mkdir()
    (project / "console/node_modules/.package-lock.json").touch()
    built(project, "wheel")
    assert (project / "npm.log").read_text().splitlines() == ["run build"]


def test_a_console_that_was_built_before_is_left_out_on_request(project: Path):
    built(project, "wheel").unlink()
    wheel = built(project, "wheel", BEAMKEEP_CONSOLE="skip")
    assert of_console(ZipFile(wheel).namelist()) == set()


def test_a_source_distribution_has_the_build_and_needs_no_npm(project: Path, tmp_path: Path):
    with tarfile.open(built(project, "sdist")) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = tmp_path / "beamkeep-1.0"
    assert not (unpacked / "console").exists()
    wheel = built(unpacked, "wheel", PATH=str(Path(sys.executable).parent))
    assert of_console(ZipFile(wheel).namelist()) == BUILT
