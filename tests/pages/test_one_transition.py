"""A transition, event, filter and setting pass every check with no edit but their own file."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from docs.run_readme import clean_copy
from tests.pages.test_tutorial import ROOT, changes

INSTALLED = (".venv", "console/node_modules", "tests/oidc/node_modules")
"""What a copy shares with this checkout."""
FOUR = Path(__file__).with_name("one_file_each.diff")
"""A command with its event and a filter in one aggregate, and a setting of one part.

And what is written by hand: a test, and the row of the new field in the table of all fields.
"""
EDITED = [
    "src/beamkeep/contexts/campaign/campaign.py",
    "src/beamkeep/parts/relay/settings.py",
    "tests/unit/contexts/campaign/test_campaign.py",
    "tests/unit/contexts/fields.txt",
]
SHOWN = {
    "docs/reference/operations.md": ("rename_campaign",),
    "docs/reference/events.md": ("CampaignRenamed",),
    "docs/reference/openapi.json": ("/campaigns/{campaign_id}/rename", "Campaigns of which"),
    "docs/reference/settings.md": ("NATS_MAX_MESSAGES",),
    "tests/corpus/campaign.jsonl": ("CampaignRenamed",),
    "client/src/beamkeep_client/catalogue.json": ("rename_campaign",),
}
"""What `make reference` writes about the four, page by page."""
QUICK = ("quick",)
WHOLE = ("check", "check-console", "console-built")


def test_what_is_declared_in_one_file_passes_the_checks_with_no_other_edit(tmp_path: Path):
    copy = tmp_path / "beamkeep"
    clean_copy(copy)
    for name in INSTALLED:
        if (ROOT / name).exists():
            (copy / name).symlink_to(ROOT / name)
    git(copy, "init", "--quiet")
    git(copy, "add", "--all")
    author = "-c", "user.name=Otto", "-c", "user.email=otto@lab.test"
    git(copy, *author, "commit", "--quiet", "--message", "Before")
    added = FOUR.read_text()
    assert re.findall(r"^\+\+\+ b/(.*)$", added, re.MULTILINE) == EDITED
    for patch in (*changes(), added):
        git(copy, "apply", "-", text=patch)
    make(copy, "reference")
    known = {page: (copy / page).read_text() for page in SHOWN}
    assert [page for page, words in SHOWN.items() if any(w not in known[page] for w in words)] == []
    at_night = os.environ.get("BEAMKEEP_TRANSITION") == "whole"
    for verb in WHOLE if at_night else QUICK:
        make(copy, verb)
    if at_night:
        run(copy, ".venv/bin/python", "-m", "pytest", "-q", "tests/console/test_palette.py")


def git(copy: Path, *words: str, text: str | None = None) -> None:
    subprocess.run(["git", *words], cwd=copy, input=text, check=True, text=True)


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
