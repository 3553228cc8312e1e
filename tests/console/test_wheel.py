"""The console in the package: the same twice, built once for everybody, and small."""

import os
import shutil
import subprocess
import sys
import tarfile
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest
from docs.run_readme import clean_copy

from tests.console.visit import ROOT

LARGEST = 1_500_000
"""What the console may add to the wheel, in bytes."""
NODE = ("node", "npm", "npx")


@pytest.fixture(scope="module")
def project(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the project, with the packages that are installed already."""
    project = tmp_path_factory.mktemp("project")
    clean_copy(project)
    packages = ROOT / "console/node_modules"
    shutil.copytree(packages, project / "console/node_modules", symlinks=True)
    return project


def distribution(project: Path, kind: str, **environment: str) -> Path:
    """Build a distribution in a folder of its own, and return its file."""
    folder = project / "dist" / os.urandom(4).hex()
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    ran = subprocess.run(
        command,
        cwd=project,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    """A wheel with the console."""
    return distribution(project, "wheel")


def digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def test_a_wheel_built_twice_is_the_same_and_grows_by_less_than_a_megabyte_and_a_half(
    project: Path, wheel: Path
):
    second = distribution(project, "wheel")
    without = distribution(project, "wheel", BEAMKEEP_CONSOLE="skip")
    assert digest(wheel) == digest(second)
    assert "beamkeep/surfaces/http/console/built/index.html" in ZipFile(wheel).namelist()
    assert 0 < wheel.stat().st_size - without.stat().st_size < LARGEST


def test_a_wheel_built_from_the_source_distribution_needs_no_node(
    project: Path, wheel: Path, tmp_path: Path
):
    with tarfile.open(distribution(project, "sdist")) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    found = [folder for folder in os.environ["PATH"].split(":") if not _has_node(folder)]
    assert digest(distribution(unpacked, "wheel", PATH=":".join(found))) == digest(wheel)


def _has_node(folder: str) -> bool:
    return any((Path(folder) / name).exists() for name in NODE)
