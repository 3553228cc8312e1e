"""What an installation of the client brings, and what it does not bring."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from beamkeep_client.catalogue import catalogue

ROOT = Path(__file__).parents[3]
SERVER = {"asyncpg", "uvicorn", "mcp", "starlette", "beamkeep", "uvloop", "httptools"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT / "client", check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


class Installed:
    """A fresh environment with the wheel and what it asks for, in the versions of the lock file."""

    def __init__(self, folder: Path, wheel: Path, extra: str, lock: str) -> None:
        self.python = folder / "bin" / "python"
        self._uv("venv", str(folder), "--python", sys.executable)
        wanted = f"beamkeep-client{extra} @ {wheel.as_uri()}"
        versions = ("--constraint", str(ROOT / "requirements" / lock))
        self._uv("pip", "install", "--python", str(self.python), wanted, *versions)

    def packages(self) -> Mapping[str, str]:
        listed = self._uv("pip", "list", "--format", "json", "--python", str(self.python))
        return {each["name"]: each["version"] for each in json.loads(listed)}

    def run(self, code: str) -> str:
        words = [str(self.python), "-c", code]
        ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/")
        return ran.stdout

    def _uv(self, *words: str) -> str:
        command = [str(Path(sys.executable).parent / "uv"), "--quiet", *words]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def test_the_wheel_brings_at_most_ten_packages(wheel: Path, tmp_path: Path):
    made = Installed(tmp_path / "venv", wheel, "", "requirements-client.txt")
    brought = made.packages().keys() - {"beamkeep-client"}
    assert len(brought) <= 10, brought
    assert not SERVER & brought
    assert "Nouns:" in made.run(
        "import sys; sys.argv = ['beamkeep', '--help'];from beamkeep_client.cli import main; main()"
    )


RUN = """
import sys
from bluesky import RunEngine
from bluesky import plans as bp, Msg
from beamkeep_client.bluesky import Recorder
recorder = Recorder("http://127.0.0.1:9", "t", "p", "SPOOL")
engine = RunEngine(context_managers=[])
engine.subscribe(recorder)
engine([Msg("open_run"), Msg("close_run")])
recorder.close(timeout=0)
print(*sys.modules)
"""


def test_the_environment_of_a_run_engine_has_nothing_of_the_server(wheel: Path, tmp_path: Path):
    made = Installed(tmp_path / "venv", wheel, "[bluesky]", "requirements-bluesky.txt")
    assert not SERVER & made.packages().keys()
    spool = tmp_path / "spool"
    loaded = made.run(RUN.replace('"SPOOL"', repr(str(spool)))).split()
    assert "beamkeep_client.bluesky.recorder" in loaded
    assert not SERVER & {*loaded}
    (spooled,) = spool.glob("*.jsonl")
    assert '["stop"' in spooled.read_text()


def test_the_notebook_of_the_readme_passes_strict_type_checks(tmp_path: Path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "client/README.md").read_text(), re.DOTALL)
    notebook = tmp_path / "notebook.py"
    notebook.write_text(f"# pyright: strict\n{code}")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name})
    )
    command = [str(Path(sys.executable).parent / "pyright"), "--outputjson", str(notebook)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    assert [each["message"] for each in found] == []


def test_everything_that_the_client_exports_has_a_declared_type():
    folder = Path(sys.executable).parent
    command = [str(folder / "pyright"), "--verifytypes", "beamkeep_client", "--ignoreexternal"]
    # Pyright looks for the package in the environment of the Python that the path names first.
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(
        [*command, "--outputjson"], capture_output=True, text=True, check=False, env=environment
    )
    found = json.loads(ran.stdout)["typeCompleteness"]
    untyped = [each["name"] for each in found["symbols"] if not each["isTypeKnown"]]
    assert (found["completenessScore"], untyped) == (1, [])
    assert found["exportedSymbolCounts"]["withKnownType"] > len(catalogue())
