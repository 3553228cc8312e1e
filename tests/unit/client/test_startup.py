"""What the command line loads before it does anything."""

import subprocess
import sys
import time

import pytest
from tests.support.pseudo_terminal import BEAMKEEP

LIMIT = 0.3
SLOW = {
    *("asyncio", "beamkeep.deployment.web", "beamkeep_client.tools.custody", "bluesky"),
    *("concurrent.futures", "difflib", "httpx2", "msgspec", "numpy", "pydantic", "ssl", "yaml"),
}


@pytest.mark.parametrize("words", [["--help"], ["run", "start", "--help"], ["completion", "bash"]])
def test_help_and_completion_load_nothing_that_is_slow(words: list[str]):
    code = f"""
import sys
from beamkeep_client.cli import command_line
try:
    command_line()({words!r}, prog_name="beamkeep")
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ran.stdout.rpartition("LOADED ")[2].split()
    assert "click" in loaded
    assert not SLOW & {*loaded}


@pytest.mark.faults
@pytest.mark.timed
def test_help_is_there_in_less_than_a_third_of_a_second():
    took: list[float] = []
    for _ in range(5):
        since = time.monotonic()
        subprocess.run([BEAMKEEP, "--help"], capture_output=True, check=True)
        took.append(time.monotonic() - since)
    assert min(took) < LIMIT
