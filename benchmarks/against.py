"""Measure this checkout and another commit in turns, and print how their processor time differs."""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any, NamedTuple, Protocol, Self

import uvloop

from .__main__ import PATHS
from .measure import Meter, Plan, Slice, spread, there_and_back

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(__file__).with_name("one_side.py")
USUAL = "append", "http_command", "http_get", "fold", "list", "catch_up"
WITHOUT_SIDES = "counts", "calls", "search", "data", "feed"
"""Paths that compare nothing, and so have no side to measure in turns."""
LOCKED = "requirements/requirements-dev.txt"
PLAN, LIVES = Plan(7, 1, 0.5), 2
LONGEST_ANSWER, STOPPING = 600.0, 60.0
COLUMNS = (
    f"{'':<22} {'ratio':>6} {'CI95':>16} {'A/A':>6} {'A/A CI95':>16} {'µs here':>9} {'µs there':>9}"
)
LEGEND = (
    "The ratio is the processor time of one operation, client and server together: this checkout"
    " divided by the other commit. A/A is another process of this checkout divided by this one."
)


class SideError(Exception):
    """One side cannot be measured."""

    def __init__(self, side: str, text: str) -> None:
        super().__init__(f"{side}: {text}")
        self.side = side


class Tree(NamedTuple):
    """A checkout, and the checkout whose benchmarks drive it."""

    name: str
    code: Path
    benchmarks: Path

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which Python finds this code before what is installed."""
        path = [self.benchmarks, self.code / "src", self.code / "client/src"]
        return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONHASHSEED": "0"}


class RemoteSide:
    """The service of one checkout on one path, in a process and on a cluster of its own."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        self._name, self._process, self._log = name, process, log
        self.pid, self._meter = 0, Meter(0)

    @classmethod
    @contextlib.asynccontextmanager
    async def started(cls, tree: Tree, path: str) -> AsyncGenerator[Self]:
        """Start a process that prepares the path, and end it afterwards."""
        measure = PATHS[path]
        with tempfile.TemporaryFile() as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", str(PROGRAM)),
                f"{measure.__module__}:{measure.__name__}",
                cwd=tree.code,
                env=tree.environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                # Ctrl-C reaches only the parent, which ends its children in order.
                start_new_session=True,
            )
            side = cls(tree.name, process, log)
            try:
                ready = await side._answer()
                if not Path(ready["code"]).is_relative_to(tree.code):
                    raise SideError(tree.name, f"it measures {ready['code']}")
                side.pid, side._meter = ready["pid"], Meter(ready["postmaster"])
                yield side
            finally:
                await side._end()

    async def slice(self, seconds: float) -> Slice:
        """Take one slice."""
        return await self._meter.slice(self, seconds)

    async def prepare(self) -> None:
        """Get ready for a slice, outside the time measured."""
        await self._ask(None)

    async def run(self, seconds: float) -> int:
        """Work this long, and say how many operations were done."""
        return (await self._ask(seconds))["done"]

    async def _ask(self, wanted: float | None) -> dict[str, Any]:
        assert self._process.stdin, "it has a pipe"
        self._process.stdin.write(json.dumps(wanted).encode() + b"\n")
        return await self._answer()

    async def _answer(self) -> dict[str, Any]:
        assert self._process.stdout, "it has a pipe"
        try:
            async with asyncio.timeout(LONGEST_ANSWER):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise SideError(self._name, f"no answer within {LONGEST_ANSWER:.0f} s") from None
        answer: dict[str, Any] = json.loads(line) if line else {"failed": self._last_words()}
        if "failed" in answer:
            raise SideError(self._name, answer["failed"])
        return answer

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "its process ended"

    async def _end(self) -> None:
        """Let the process remove its cluster; kill it only if it does not end."""
        assert self._process.stdin, "it has a pipe"
        self._process.stdin.close()
        is_preparing = self.pid == 0
        if (is_preparing or not await self._ended()) and self._process.returncode is None:
            self._process.terminate()
            if not await self._ended():
                self._process.kill()
        await self._process.wait()

    async def _ended(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOPPING):
                await self._process.wait()
        return self._process.returncode is not None


class Turn(NamedTuple):
    """Two slices of each side."""

    here: Slice
    there: Slice
    twin: Slice
    """Of another process of this checkout."""


def compared(turns: Sequence[Turn]) -> dict[str, Any]:
    """Return the ratio of the processor times with its interval, and that of A/A."""
    return {
        **spread([turn.here.cpu / turn.there.cpu for turn in turns]),
        "alike": spread([turn.twin.cpu / turn.here.cpu for turn in turns]),
        "here_us": round(1e6 * statistics.median(turn.here.cpu for turn in turns), 1),
        "there_us": round(1e6 * statistics.median(turn.there.cpu for turn in turns), 1),
    }


def row(path: str, found: Mapping[str, Any]) -> str:
    """Return one line of the table."""

    def bounds(interval: Sequence[float]) -> str:
        return "[{:.3f}, {:.3f}]".format(*interval)

    alike = found["alike"]
    return (
        f"{path:<22} {found['ratio']:>6.3f} {bounds(found['interval']):>16} {alike['ratio']:>6.3f}"
        f" {bounds(alike['interval']):>16} {found['here_us']:>9.1f} {found['there_us']:>9.1f}"
        f"  {verdict(found)}"
    )


def verdict(found: Mapping[str, Any]) -> str:
    """Say whether the ratio is further from 1 than that of the same code to itself can be."""
    low, high = found["interval"]
    least, most = found["alike"]["interval"]
    noise = max(most, 1 / least, 1.0)
    if low > noise:
        return "costs more here"
    if high < 1 / noise:
        return "costs less here"
    return "no difference"


class Trees(NamedTuple):
    """The checkouts that are compared."""

    here: Tree
    there: Tree
    """The other commit, driven by the benchmarks of this checkout: both do the same work."""
    there_alone: Tree
    """The other commit, driven by its own benchmarks."""


async def take_turns(trees: Trees, path: str, plan: Plan, lives: int) -> tuple[list[Turn], str]:
    """Measure one path, and return a remark on the turns.

    Two processes of the same code differ by a little for as long as they live, so each side is
    started several times.
    """
    turns, remark = list[Turn](), ""
    for _ in range(lives):
        async with contextlib.AsyncExitStack() as stack:
            here = await stack.enter_async_context(RemoteSide.started(trees.here, path))
            try:
                there = await stack.enter_async_context(RemoteSide.started(trees.there, path))
            except SideError as first:
                started = RemoteSide.started(trees.there_alone, path)
                there = await stack.enter_async_context(started)
                remark = f"driven by its own benchmarks, which may do other work ({first})"
            twin = await stack.enter_async_context(RemoteSide.started(trees.here, path))
            turns += await alternate(here, there, twin, plan=plan)
    return turns, remark


class SliceSource(Protocol):
    """What slices are taken of."""

    async def slice(self, seconds: float) -> Slice:
        """Take one slice."""
        ...


async def alternate(
    here: SliceSource, there: SliceSource, twin: SliceSource, *, plan: Plan
) -> list[Turn]:
    """Take slices of all sides there and back, each turn beginning with another side."""

    async def take(side: SliceSource) -> Slice:
        return await side.slice(plan.seconds)

    sides, turns = (here, there, twin), list[Turn]()
    for number in range(plan.quads):
        first = number % len(sides)
        slices = await there_and_back(take, sides[first:] + sides[:first])
        turns.append(Turn(*slices[len(sides) - first :], *slices[: len(sides) - first]))
    return turns[plan.dropped :]


def write_entry_points(tree: Path) -> None:
    """Let the programs of a tree find the entry points of its own commit, not the installed."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    groups = project.get("entry-points", {}) | {"console_scripts": project.get("scripts", {})}
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {place}" for name, place in points.items()))
    ]
    folder = tree / f"src/{project['name']}-{project['version']}.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )


@contextlib.contextmanager
def checked_out(reference: str) -> Generator[Path]:
    """Check a commit out into a temporary folder, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="bk-against-") as folder:
        tree = Path(folder) / "tree"
        try:
            _git("worktree", "add", "--quiet", "--detach", str(tree), reference)
            yield tree
        finally:
            shutil.rmtree(tree, ignore_errors=True)
            _git("worktree", "prune")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def different_packages(here: str, there: str) -> list[str]:
    """Return the packages of two lock files that are not the same, with both versions."""
    ours, theirs = (dict(re.findall(r"(?m)^([\w.\[\]-]+)==(\S+)", text)) for text in (here, there))
    return [
        f"{name} {ours.get(name, 'missing')} here, {theirs.get(name, 'missing')} there"
        for name in sorted({*ours, *theirs})
        if ours.get(name) != theirs.get(name)
    ]


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("reference", metavar="REF", help="a commit, tag or branch")
    parser.add_argument("--only", type=_names, default=list(USUAL), help="paths, with commas")
    parser.add_argument(
        "--lives",
        type=int,
        default=LIVES,
        help="how often each side is started (default: %(default)s)",
    )
    parser.add_argument(
        "--turns", type=int, default=PLAN.quads, help="turns in each life (default: %(default)s)"
    )
    options = parser.parse_args(given)
    if options.lives < 1 or options.turns <= PLAN.dropped:
        parser.error(f"at least one life and {PLAN.dropped + 1} turns are needed")
    return options


def _names(text: str) -> list[str]:
    names, known = text.split(","), [name for name in PATHS if name not in WITHOUT_SIDES]
    if unknown := sorted({*names} - {*known}):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}; there are {', '.join(known)}")
    return names


def main() -> None:
    """Compare the paths asked for, and print a line for each."""
    options = arguments(sys.argv[1:])
    signal.signal(signal.SIGTERM, _leave)
    try:
        _git("rev-parse", "--verify", "--quiet", f"{options.reference}^{{commit}}")
    except subprocess.CalledProcessError:
        sys.exit(f"{options.reference} is no commit of this repository")
    interrupted = KeyboardInterrupt, asyncio.CancelledError
    with contextlib.suppress(*interrupted), checked_out(options.reference) as tree:
        _tell(tree)
        write_entry_points(tree)
        trees = Trees(
            Tree("here", ROOT, ROOT), Tree("there", tree, ROOT), Tree("there", tree, tree)
        )
        plan = PLAN._replace(quads=options.turns)
        failed = uvloop.run(compare_paths(trees, options.only, plan, options.lives))
        sys.exit(1 if failed else 0)
    sys.exit(130)


def _tell(tree: Path) -> None:
    here = _git("describe", "--always", "--dirty")
    there = _git("-C", str(tree), "describe", "--always")
    print(f"here: {here}, there: {there}, load {os.getloadavg()[0]:.2f}\n{LEGEND}")
    locks = [(root / LOCKED) for root in (ROOT, tree)]
    different = different_packages(*(lock.read_text() if lock.exists() else "" for lock in locks))
    if different:
        print("REQUIREMENTS DIFFER; both sides use what is installed here:")
        print("\n".join(f"  {each}" for each in different))
    print(f"\n{COLUMNS}", flush=True)


async def compare_paths(trees: Trees, paths: Sequence[str], plan: Plan, lives: int) -> list[str]:
    """Print a line for each path, and return those that this checkout fails."""
    failed, this = list[str](), asyncio.current_task()
    assert this
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    for path in paths:
        since = time.monotonic()
        try:
            turns, remark = await take_turns(trees, path, plan, lives)
        except SideError as error:
            print(f"{path:<22} not compared: {error}", flush=True)
            failed += [path] if error.side == trees.here.name else []
            continue
        print(row(path, compared(turns)))
        if remark:
            print(f"  there {remark}")
        print(f"  took {time.monotonic() - since:.0f} s, load {os.getloadavg()[0]:.2f}", flush=True)
    return failed


def _leave(number: int, frame: FrameType | None) -> None:
    """Turn SIGTERM into Ctrl-C, after which everything is removed."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
