"""Completion in the shells that people use, typed with the Tab key."""

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.pseudo_terminal import Terminal, at_terminal

SHELLS = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
}
BEFORE = {
    "bash": "bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'",
    "zsh": "unsetopt beep; autoload -Uz compinit; compinit -D -u",
}
# The quotes keep the terminal's echo of the command from looking like its answer.
READY = "rea''dy"


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Terminal]:
    """A shell that completes the words of `beamkeep`."""
    name = request.param
    scripts = Path(sys.executable).parent
    environment = {
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PS1": "> ",
        "TERM": "dumb" if name == "bash" else "xterm",
    }
    with at_terminal(*SHELLS[name], environment=environment) as terminal:
        terminal.type(f"{BEFORE[name]}; source <(beamkeep completion {name}); echo {READY}\n")
        terminal.wait_for("ready\r\n")
        yield terminal
        terminal.type("\x03exit\n")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("beamkeep sup", ["supply "]),
        ("beamkeep run st", ["start", "stop"]),
        ("beamkeep plan ready --sub", ["--subject", "--subject-id"]),
        ("beamkeep run list -o ", ["table", "yaml"]),
        ("beamkeep supply register --kind fel", ["FELPulses "]),
        ("beamkeep method define --needed-supplies v", ["vacuum "]),
    ],
)
def test_the_tab_key_completes_nouns_verbs_and_options(
    shell: Terminal, typed: str, completed: list[str]
):
    shell.type(f"{typed}\t\t")
    shell.wait_for(*completed)
