"""A part that somebody adds: one folder, and its place in the list of parts."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from textwrap import dedent

import pytest

import beamkeep
from beamkeep.testing.cluster import Cluster
from beamkeep.testing.server import LocalDeployment, deployment
from beamkeep.testing.waiting import until

HOUSE = Path(beamkeep.__file__).parent
WATCHED = "SELECT worker FROM bk.heartbeat WHERE worker = 'lamp'"
FOLDER = {
    "__init__": '''
    """The lamp: burns while the service works."""

    from beamkeep.parts.part import Part

    from .verbs import VERBS


    def _wiring():
        from .wiring import WIRING

        return WIRING


    PART = Part("lamp", _wiring, VERBS)
    ''',
    "settings": '''
    """The setting of the lamp."""

    from pathlib import Path

    from beamkeep.parts.settings import CoreSettings


    class LampSettings(CoreSettings):
        """The setting of the lamp."""

        lamp_file: Path | None = None
        """File that is written while the service works. Default: no lamp."""
    ''',
    "verbs": '''
    """The verb of the lamp."""

    import click

    from beamkeep.parts.verbs import configure


    @click.command()
    def lamp() -> None:
        """Say where the lamp is."""
        from .settings import LampSettings

        click.echo(f"The lamp is {configure(LampSettings).lamp_file}.")


    VERBS = (lamp,)
    ''',
    "wiring": '''
    """How the lamp is wired into a deployment."""

    from collections.abc import AsyncGenerator, Sequence

    from beamkeep.parts.wiring import Core, Wiring
    from beamkeep.workers.supervision import Loop, every

    from .settings import LampSettings


    def loops(core: Core, own: LampSettings) -> Sequence[Loop]:
        """Return the loop that keeps the lamp burning."""
        file = own.lamp_file

        async def burn() -> None:
            if file:
                file.write_text(str(await core.store.cursor_key() is not None))

        return [every(0.1, "lamp", burn)] if file else []


    async def checks(own: LampSettings) -> AsyncGenerator[str]:
        """Yield what keeps the lamp from burning."""
        if own.lamp_file and not own.lamp_file.parent.is_dir():
            yield f"LAMP_FILE: {own.lamp_file.parent} does not exist. Create it."


    WIRING = Wiring(LampSettings, loops=loops, checks=checks)
    ''',
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the service to which the lamp was added."""
    copy = tmp_path_factory.mktemp("house") / "beamkeep"
    shutil.copytree(HOUSE, copy, ignore=shutil.ignore_patterns("__pycache__", "built"))
    (folder := copy / "parts/lamp").mkdir()
    for name, text in FOLDER.items():
        (folder / f"{name}.py").write_text(dedent(text).lstrip())
    parts = copy / "deployment/parts.py"
    listed = parts.read_text().replace("    importing,\n", "    importing,\n    lamp,\n")
    listed = listed.replace("    importing.PART,\n", "    importing.PART,\n    lamp.PART,\n")
    parts.write_text(listed)
    return copy.parent


@pytest.fixture(scope="module")
def made(cluster: Cluster, house: Path) -> Generator[LocalDeployment]:
    with deployment(cluster, True, lamp_file=str(house / "lamp")) as made:
        yield made


def begin(
    made: LocalDeployment, house: Path, *words: str, **settings: str
) -> subprocess.Popen[str]:
    """Start a command of the house with the lamp."""
    env = {**os.environ, **made.environment(**settings), "PYTHONPATH": str(house)}
    command = [sys.executable, "-m", "beamkeep", *words]
    out, error = subprocess.PIPE, subprocess.STDOUT
    return subprocess.Popen(command, env=env, text=True, cwd=made.folder, stdout=out, stderr=error)


def said(made: LocalDeployment, house: Path, *words: str, **settings: str) -> str:
    """What a command says until it ends."""
    return begin(made, house, *words, **settings).communicate(timeout=120)[0]


def test_its_verb_is_one_of_the_command_line(made: LocalDeployment, house: Path):
    assert "lamp, " in said(made, house, "--help")
    assert said(made, house, "lamp").splitlines()[-1] == f"The lamp is {house / 'lamp'}."


def test_its_setting_is_read_and_its_check_is_asked(made: LocalDeployment, house: Path):
    dark = house / "dark/lamp"
    told = said(made, house, "check", lamp_file=str(dark))
    assert f"LAMP_FILE: {dark.parent} does not exist. Create it." in told.splitlines()
    assert "LAMP_FILE" not in said(made, house, "check")


def test_a_misspelled_setting_of_it_is_named(made: LocalDeployment, house: Path):
    told = said(made, house, "check", lamp_fil="x")
    assert "LAMP_FIL is not a setting, and has no effect. Did you mean LAMP_FILE?" in told


@pytest.mark.anyio
async def test_its_loop_runs_and_is_watched(made: LocalDeployment, house: Path):
    working = begin(made, house, "work")
    try:
        await until((house / "lamp").is_file, "the lamp burns")
        await until(lambda: made.database.ask(WATCHED), "the lamp is watched")
    finally:
        working.terminate()
        told = working.communicate(timeout=60)[0]
    assert working.returncode == 0, told
