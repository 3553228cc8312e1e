"""The tutorial's transition passes every check of the project with no other edit by hand."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from docs.run_readme import clean_copy
from tests.pages.test_tutorial import ROOT, changes

INSTALLED = (".venv", "console/node_modules", "tests/oidc/node_modules")
"""What a copy shares with this checkout."""
QUICK = ("quick",)
WHOLE = ("check", "check-console", "console-built")


def test_a_transition_and_its_column_pass_the_checks_with_no_other_edit(tmp_path: Path):
    copy = tmp_path / "beamkeep"
    clean_copy(copy)
    for name in INSTALLED:
        if (ROOT / name).exists():
            (copy / name).symlink_to(ROOT / name)
    git(copy, "init", "--quiet")
    git(copy, "add", "--all")
    author = "-c", "user.name=Otto", "-c", "user.email=otto@lab.test"
    git(copy, *author, "commit", "--quiet", "--message", "Before")
    for patch in changes():
        git(copy, "apply", "-", told=patch)
    make(copy, "reference")
    at_night = os.environ.get("BEAMKEEP_TRANSITION") == "whole"
    for verb in WHOLE if at_night else QUICK:
        make(copy, verb)
    if at_night:
        run(copy, ".venv/bin/python", "-m", "pytest", "-q", "tests/console/test_palette.py")


def git(copy: Path, *words: str, told: str | None = None) -> None:
    subprocess.run(["git", *words], cwd=copy, input=told, check=True, text=True)


def make(copy: Path, verb: str) -> None:
    run(copy, "make", "--no-print-directory", verb)


def run(copy: Path, *command: str) -> None:
    """Run a command that finds the packages of the copy before the installed ones."""
    paths: Sequence[Path] = (copy / "src", copy / "client/src", copy)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    ran = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout[-8000:]}{ran.stderr[-4000:]}"
