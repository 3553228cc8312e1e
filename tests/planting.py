"""Plant faults one by one and say which test finds each: proof that a shorter gate catches them.

Run it as `python -m tests.planting`. The faults are in planted.toml, or in the file of `--list`.
Each is planted in a private copy of the checkout, never in the checkout itself. A fault counts as
found only if what failed passes on a second copy, which has no fault.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4
from zlib import crc32

import msgspec

from tests.mutation import PYTEST

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests/planted.toml"
PACKAGE = "src/beamkeep"
MARK = "BEAMKEEP_PLANTING"
"""The environment variable by which every process of a trial is found and ended."""
LINKED = (".venv", "console/node_modules", "tests/oidc/node_modules")
"""What a copy shares with the checkout: packages of others, which no fault is planted in."""
BUILT = f"{PACKAGE}/console"
GENERIC = ("tests/unit/runtime/test_codec.py", "tests/unit/contexts")
SURFACES = tuple(f"tests/unit/surfaces/test_{each}.py" for each in ("rest", "mcp", "parity"))
"""The suites that run every operation on every surface."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SYSTEM = ("tests/system/test_cross_principal.py", "tests/system/test_parity.py")
FAST = ("-m", "not postgres and not faults")
SLOW = ("-m", "not faults")
NEAR_SECONDS, GENERIC_SECONDS, SLOW_SECONDS = 900.0, 1800.0, 2700.0
"""Limits of a stage, on a machine that has other work too."""


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A small edit that does harm."""

    name: str
    place: str
    kind: str
    file: str
    before: str
    after: str
    breaks: str
    """What somebody suffers from it."""
    hints: tuple[str, ...] = ()
    """Tests to try first."""


class Trial(NamedTuple):
    """One command that the gate would run for a change, and how long it may take."""

    stage: str
    """hints, closest, near, generic, fast, types, slow or browser."""
    argv: tuple[str, ...]
    limit: float
    folder: str = "."


class Ran(NamedTuple):
    """What came of a command: whether it failed, the test that did, and the time it took."""

    failed: bool
    by: str
    seconds: float
    timed_out: bool = False


class Verdict(NamedTuple):
    """What became of a fault: found, types (by these alone), MISSED, timeout or unsound."""

    outcome: str
    stage: str
    by: str
    seconds: float


def faults(file: Path = LIST) -> list[Fault]:
    """Return the list of faults."""
    return msgspec.convert(tomllib.loads(file.read_text())["fault"], list[Fault])


def planted(text: str, fault: Fault) -> str:
    """Return the text of a file with the fault in it."""
    if (count := text.count(fault.before)) != 1:
        raise ValueError(f"{fault.name}: its `before` stands {count} times in {fault.file}")
    return text.replace(fault.before, fault.after)


def trials(fault: Fault) -> list[Trial]:
    """Return what the gate would run for a fault, the closest first."""
    if fault.place == "console":
        return _console_trials(fault)
    closest, near = _around(fault.file)
    tried = set[str]()
    found: list[Trial] = []
    is_fast = not fault.file.startswith(f"{PACKAGE}/adapters/postgres/")
    for stage, paths, limit in (
        ("hints", fault.hints, NEAR_SECONDS),
        ("closest", closest, NEAR_SECONDS),
        ("near", near, NEAR_SECONDS),
        ("generic", SURFACES if is_fast else (), GENERIC_SECONDS),
        ("generic", GENERIC if is_fast else (), GENERIC_SECONDS),
        ("fast", _fast() if is_fast else (), GENERIC_SECONDS),
    ):
        found += _pytest(stage, _new(paths, tried), limit)
    found += _types(fault.file)
    for paths in (_nearest(fault.file), ("tests/postgres/runtime", *SYSTEM)):
        found += _pytest("slow", _new(paths, tried), SLOW_SECONDS)
    return found


def _console_trials(fault: Fault) -> list[Trial]:
    unit = Trial("closest", ("npm", "test"), NEAR_SECONDS, "console")
    types = Trial("types", ("npm", "run", "check"), NEAR_SECONDS, "console")
    browser = (_pytest("browser", [hint], SLOW_SECONDS) for hint in fault.hints)
    return [unit, types, *(each for found in browser for each in found)]


def _around(file: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tests of a module, and those of the modules around it."""
    module = Path(file).relative_to(PACKAGE).with_suffix("")
    room, name = module.parts[0], module.name.lstrip("_")
    here = "/".join(module.parts[:2]) if room == "contexts" else "/".join(module.parts[:-1])
    match room:
        case "surfaces":
            folder = "tests/unit/surfaces"
        case "adapters" if "postgres" in module.parts:
            folder = "tests/postgres/runtime"
        case _:
            folder = f"tests/unit/{here}".rstrip("/")
    closest = f"{folder}/test_{name}.py", f"tests/unit/{room}/test_{name}.py"
    if folder in {"tests/unit", "tests/unit/surfaces"}:
        near = [file for file in _files(f"{folder}/test_*.py") if file not in SURFACES]
    else:
        near = [folder] if "postgres" not in module.parts else []
    return closest, near


def _nearest(file: str) -> Sequence[str]:
    """Return the tests on a database that concern a module."""
    room, *rest = Path(file).relative_to(PACKAGE).parts
    if room == "contexts":
        return (f"tests/postgres/contexts/{rest[0]}",)
    if room in {"surfaces", "settings.py"}:
        return "tests/system/test_operability.py", "tests/system/test_abuse.py"
    return ("tests/postgres/witness",) if "witness" in file else ()


def _fast() -> Sequence[str]:
    """Return the other tests that need no database, those over the catalogue first."""
    folders = sorted(ROOT.glob("tests/unit/*/"), key=lambda path: path.name != "surfaces")
    found = [
        file for folder in folders for file in _files(f"tests/unit/{folder.name}/**/test_*.py")
    ]
    # The gate asks git, and a copy is no checkout.
    return [each for each in found if not each.startswith((*SURFACES, *GENERIC, "tests/unit/gate"))]


def _files(pattern: str) -> Iterable[str]:
    # What is tested here is left out: a fault makes the test of the list fail by itself.
    found = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern))
    return (each for each in found if Path(each).stem not in {"test_planting", "test_mutation"})


def _new(paths: Iterable[str], tried: set[str]) -> list[str]:
    """Return those of some paths that exist and were not tried yet, and note them."""
    known = tuple(f"{path}/" for path in tried)
    new = [path for path in dict.fromkeys(paths) if not f"{path}/".startswith(known)]
    new = [path for path in new if (ROOT / path).exists()]
    tried.update(new)
    return new


def _pytest(stage: str, paths: Sequence[str], limit: float) -> list[Trial]:
    """Return the trial of some tests, if there are any."""
    marked = SLOW if any(not path.startswith("tests/unit") for path in paths) else FAST
    argv = (sys.executable, *PYTEST, *marked, "--hypothesis-profile=ci", *paths)
    return [Trial(stage, argv, limit)] if paths else []


def _types(file: str) -> list[Trial]:
    if not file.endswith(".py"):
        return []
    commands = ("ruff", "check", "--quiet"), ("pyright",)
    bin = Path(sys.executable).parent
    return [
        Trial("types", (str(bin / name), *options, file), NEAR_SECONDS)
        for name, *options in commands
    ]


def copied(folder: Path) -> Path:
    """Copy the checkout into a folder, and make sure that the copy is what tests import."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.check_output(asked, cwd=ROOT, text=True).split("\0")
    for file in filter(None, files):
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, folder / file)
    for link in LINKED:
        if (ROOT / link).exists():
            (folder / link).symlink_to((ROOT / link).resolve(), target_is_directory=True)
    # Newer packages than this file are never installed again: they would be those of the checkout.
    os.utime(folder / "console/package-lock.json", (0, 0))
    if (ROOT / BUILT).exists():
        shutil.copytree(ROOT / BUILT, folder / BUILT, dirs_exist_ok=True)
    question = [sys.executable, "-c", "import beamkeep; print(beamkeep.__file__)"]
    where = subprocess.check_output(question, cwd=folder, env=_environment(folder), text=True)
    if not where.startswith(f"{folder}/"):
        raise SystemExit(f"Python imports {where.strip()} and not the copy in {folder}.")
    return folder


def _environment(copy: Path, mark: str = "") -> dict[str, str]:
    source = os.pathsep.join(str(copy / part) for part in ("src", "client/src"))
    quick = {"PYTHONDONTWRITEBYTECODE": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    own = {"PYTHONPATH": source, "PYTHONHASHSEED": "0", MARK: mark}
    passed_on = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return passed_on | quick | own


def run(copy: Path, trial: Trial) -> Ran:
    """Run a command in a copy until it ends or its time is up; leave no process behind."""
    began, mark = time.monotonic(), uuid4().hex
    with tempfile.TemporaryFile("w+") as output:
        running = subprocess.Popen(
            trial.argv,
            cwd=copy / trial.folder,
            env=_environment(copy, mark),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = running.wait(trial.limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            _end(mark)
        output.seek(0)
        lines = output.read().splitlines()
    seconds = time.monotonic() - began
    if code is None:
        return Ran(failed=True, by="", seconds=seconds, timed_out=True)
    by = _failure(lines) if code not in (0, 5) else ""  # 5: no test was selected
    return Ran(bool(by), by, seconds)


def _end(mark: str) -> None:
    """End the processes of a trial that have left its group, such as a database."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)


def _failure(output: Sequence[str]) -> str:
    """Return the line that names what failed; empty if all tests passed."""
    lines = [line for each in output if (line := COLOUR.sub("", each).strip())]
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR ", "FAIL "))]
    # A process that was left behind, on a busy machine, is not what we look for.
    if not failed and any(" passed in " in line for line in lines[-5:]):
        return ""
    failed += [line for line in lines if "error" in line.lower()]
    return [*failed, *lines[-1:], "it failed and said nothing"][0]


def failed_test(by: str) -> str:
    """Return the id of the test that a line of pytest names; empty if it names none."""
    word, _, rest = by.partition(" ")
    return rest.partition(" - ")[0] if word in {"FAILED", "ERROR"} and "tests/" in rest else ""


def again(trial: Trial, by: str) -> Trial:
    """Return the trial that repeats only what failed."""
    argv = [part for part in trial.argv if not part.startswith("tests/")]
    named = failed_test(by)
    return trial._replace(argv=(*argv, named)) if named else trial


@cache
def passes(clean: Path, trial: Trial) -> bool:
    """Return whether a trial passes where there is no fault; it has a second try."""
    return not (run(clean, trial).failed and run(clean, trial).failed)


def judge(fault: Fault, copy: Path, clean: Path) -> Verdict:
    """Plant a fault in a copy, run what the gate would run, and take the fault out again."""
    path, spent = copy / fault.file, 0.0
    text, times = path.read_text(), path.stat()
    path.write_text(planted(text, fault))
    stamp = crc32(fault.name.encode())  # bytecode is reused for the same time and length
    os.utime(path, (stamp, stamp))
    try:
        for trial in trials(fault):
            ran = run(copy, trial)
            spent += ran.seconds
            if ran.timed_out:
                return Verdict("timeout", trial.stage, " ".join(trial.argv[-2:]), spent)
            if ran.failed:
                sound = passes(clean, again(trial, ran.by))
                outcome = "types" if trial.stage == "types" else "found"
                return Verdict(outcome if sound else "unsound", trial.stage, ran.by, spent)
        return Verdict("MISSED", "", "", spent)
    finally:
        path.write_text(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def main() -> int:
    """Judge the faults one by one and print what becomes of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.planting")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="faults to plant (default: all)")
    parser.add_argument(
        "--list", type=Path, default=LIST, metavar="FILE", help="faults to choose from"
    )
    parser.add_argument("--json", type=Path, help="file to write the results to, as they come")
    options = parser.parse_args()
    chosen = [
        each for each in faults(options.list) if not options.only or each.name in options.only
    ]
    if unknown := {*(options.only or ())} - {each.name for each in chosen}:
        raise SystemExit(f"There is no fault {', '.join(sorted(unknown))}.")
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="bk-planting-") as folder:
        copy, clean = (copied(Path(folder, name)) for name in ("changed", "clean"))
        for fault in chosen:
            verdict = judge(fault, copy, clean)
            results.append({"name": fault.name, "place": fault.place, **verdict._asdict()})
            remark = f"{verdict.stage:8} {verdict.seconds:6.0f} s  {verdict.by[:160]}"
            print(f"{verdict.outcome:8} {fault.name:40} {remark}", flush=True)
            if options.json:
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps({"faults": results}, indent=1))
    counts = Counter(each["outcome"] for each in results)
    print(f"{dict(counts)} of {len(results)}")
    return 0 if counts.keys() <= {"found", "types"} else 1


if __name__ == "__main__":
    sys.exit(main())
