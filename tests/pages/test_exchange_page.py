"""The tutorial on exchanges: every command does what the page says, between two live facilities."""

import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from docs.run_readme import Shell, blocks, carry_out

from beamkeep_client.catalogue import catalogue

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tutorials/exchange-with-a-partner.md"
FOLDER = ROOT / ".two-sites"
SETUP = "make setup"
READS = tuple(
    f"{who} {entry.noun} {verb} "
    for entry in catalogue().values()
    if entry.is_question
    for verb in (entry.verb, entry.short)
    for who in ("north", "lake")
)


@pytest.fixture
def nothing_left() -> Generator[None]:
    shutil.rmtree(FOLDER, ignore_errors=True)
    yield
    shutil.rmtree(FOLDER, ignore_errors=True)


def is_question(command: str) -> bool:
    """Whether a command reads a list, which may be behind."""
    return command.partition("$(")[2].startswith(READS) or command.startswith(READS)


@pytest.mark.postgres
@pytest.mark.usefixtures("nothing_left")
def test_two_facilities_exchange_a_record_as_the_tutorial_says():
    shells = [Shell(ROOT, terminal=True)]
    try:
        for block in blocks(PAGE.read_text()):
            if block.ready:
                shells.append(Shell(ROOT))
                shells[-1].begin(block.steps[0].command)
                shells[-1].until(block.ready)
            elif block.steps[0].command != SETUP:
                carry_out(block, shells[0], is_question)
    finally:
        for shell in reversed(shells):
            shell.close()
