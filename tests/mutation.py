"""Change one line of the source at a time and list the changes that no fast test notices.

Run it as `python -m tests.mutation`. It changes a private copy, never the checkout. Lines are
drawn by a digest of their text: a seed draws the same lines again until those lines are edited.
`--replay` repeats the mutants of an earlier result and fails if one survives that did not before.
"""

import argparse
import ast
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/beamkeep"
PYTEST = ("-m", "pytest", "-x", "-q", "--tb=no", "-p", "anyio", "-p", "_hypothesis_pytestplugin")
FAST = ("-m", "not postgres and not faults", "--hypothesis-profile=ci")
LARGE = ("surfaces/test_rest", "surfaces/test_mcp", "surfaces/test_parity", "runtime/test_codec")
SLOW = tuple(f"tests/unit/{name}.py" for name in LARGE)
MOST_MEMORY = 4 << 30  # a mutant may loop and keep everything it finds

PAIRS: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    *((ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.And, ast.Or)),
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Add, ast.Sub), (ast.BitOr, ast.BitAnd)),
)
SWAPS: dict[type[ast.AST], Any] = dict([*PAIRS, *((after, before) for before, after in PAIRS)])
# Of these nodes only the fields named here run; the others declare, annotate or document.
RUNNING: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys((ast.Import, ast.ImportFrom, ast.TypeAlias, ast.JoinedStr), ()),
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), ("args", "body")),
    ast.ClassDef: ("body",),
    ast.AnnAssign: ("value",),
    ast.arguments: ("defaults",),
}
type Part = tuple[Any, Any, Any]
"""What is changed, the node that is rewritten for it, and the new node."""


class Change(NamedTuple):
    """A node of a module and the text that can stand in its place."""

    line: int
    label: str
    old: Any
    new: str


class Mutant(NamedTuple):
    """A change of a line, named so that it is found again when other lines have moved."""

    file: str
    text: str
    occurrence: int
    mutation: str


class Verdict(NamedTuple):
    """What the tests say of a mutant: killed, survived or timeout; and the test that failed."""

    outcome: str
    by: str
    seconds: float


def changes(node: ast.AST, in_function: bool = False) -> Iterator[Change]:
    """Every change of the code at and below a node."""
    kind = type(node)
    if kind is ast.Expr and isinstance(getattr(node, "value", None), ast.Constant):
        return
    in_function = in_function or kind in (ast.FunctionDef, ast.AsyncFunctionDef)
    for at, old, new in _changes_of(node, in_function):
        text, label = ast.unparse(new), ast.unparse(at)[:80]
        label = f"{label} -> {text[:80]}" if at is old else f"without {label}"
        yield Change(at.lineno, label, old, f"({text})" if isinstance(new, ast.expr) else text)
    running = RUNNING.get(kind, node._fields)
    for part in ast.iter_child_nodes(_with(node, _fields=running)):
        yield from changes(part, in_function)


def _changes_of(node: Any, in_function: bool) -> Iterator[Part]:
    for test in (getattr(node, "test", None), getattr(node, "guard", None)):
        if test:
            yield test, test, ast.UnaryOp(ast.Not(), test)
    match node:
        case ast.comprehension(ifs=tests):
            yield from ((test, test, ast.UnaryOp(ast.Not(), test)) for test in tests)
        case ast.Compare(ops=[op]):
            yield node, node, _with(node, ops=[SWAPS[type(op)]()])
        case ast.BoolOp(op=op):
            yield node, node, _with(node, op=SWAPS[type(op)]())
            yield from _shortened(node, "values")
        case ast.BinOp(op=op) if type(op) in SWAPS:
            yield node, node, _with(node, op=SWAPS[type(op)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, node, operand
        case ast.Constant(value=bool() | int() | float() | str() as value):
            yield node, node, ast.Constant(_other(value))
        case ast.JoinedStr():
            yield node, node, ast.Constant("x")
        case ast.Tuple(ctx=ast.Load()) | ast.List(ctx=ast.Load()) | ast.Set():
            yield from _shortened(node, "elts")
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            yield from _shortened(node, "keywords")
            yield from _shortened(node, "args", 3)  # the fourth and later: a row of a table
            if args and name.islower() and not isinstance(args[0], ast.Starred):
                yield node, node, args[0]
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=value) if in_function:
            if not isinstance(value, ast.Constant | ast.Tuple):
                yield value, value, ast.Constant(None)
        case ast.Expr() | ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            yield node, node, ast.Pass()
        case _:
            pass


def _shortened(node: Any, field: str, first: int = 0) -> Iterator[Part]:
    parts: list[Any] = getattr(node, field)
    for at, part in list(enumerate(parts))[first:]:
        yield part, node, _with(node, **{field: [*parts[:at], *parts[at + 1 :]]})


def _with(node: Any, **fields: object) -> Any:
    made = copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _other(value: bool | float | str) -> bool | float | str:
    if isinstance(value, str):
        return f"{value}x" if value.isidentifier() or "/" in value else "x"
    return not value if isinstance(value, bool) else value + 1


def mutated(source: str, change: Change) -> str:
    """Return the source with one change made."""
    text, old = source.encode(), change.old  # columns of a node count bytes
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    begin = starts[int(old.lineno) - 1] + int(old.col_offset)
    end = starts[int(old.end_lineno) - 1] + int(old.end_col_offset)
    return (text[:begin] + change.new.encode() + text[end:]).decode()


def mutants() -> dict[Mutant, Change]:
    """Every mutant of the contexts and of the runtime."""
    found: dict[Mutant, Change] = {}
    for path in sorted([*PACKAGE.glob("contexts/**/*.py"), *PACKAGE.glob("runtime/**/*.py")]):
        text, seen, lines = path.read_text(), Counter[str](), list[tuple[str, int]]()
        for line in map(str.strip, text.splitlines()):
            lines.append((line, seen[line]))
            seen[line] += 1
        for change in changes(ast.parse(text)):
            file = path.relative_to(PACKAGE).as_posix()
            found.setdefault(Mutant(file, *lines[change.line - 1], change.label), change)
    return found


def drawn(found: Iterable[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw lines, and one mutant of each."""
    lines: dict[tuple[str, str, int], list[Mutant]] = {}
    for mutant in found:
        lines.setdefault(mutant[:3], []).append(mutant)

    def rank(key: tuple[object, ...]) -> bytes:
        return sha256(json.dumps([seed, *key]).encode()).digest()

    return [min(lines[line], key=rank) for line in sorted(lines, key=rank)[:count]]


def stages(file: str) -> list[tuple[str, ...]]:
    """The tests that concern a module, as arguments of pytest; the most telling first."""
    room, name = Path(file).with_suffix("").parts[:2]
    rooms = ("kernel", "contexts", "runtime", "workers", "surfaces")
    ordered = (f"tests/unit/{each}" for each in sorted(rooms, key=room.__ne__))
    # What a store in memory and PostgreSQL have in common is tested there, in memory as well.
    contracts = ("tests/postgres/runtime", "tests/postgres/workers")
    quick = (*ordered, *contracts, *(f"--ignore={slow}" for slow in SLOW))
    if room == "runtime":
        found = [(f"tests/unit/runtime/test_{name}.py",), quick, (*SLOW, "tests/system")]
    else:
        found = [(f"tests/unit/contexts/{name}",), quick, SLOW]
    there = [tuple(e for e in each if e[:6] != "tests/" or (ROOT / e).exists()) for each in found]
    return [each for each in there if any(part.startswith("tests/") for part in each)]


def copied(folder: Path) -> Path:
    """Copy the source into a folder and make sure that the copy is what tests import."""
    shutil.copytree(PACKAGE, folder / "beamkeep", ignore=shutil.ignore_patterns("__pycache__"))
    asked = [sys.executable, "-c", "import beamkeep; print(beamkeep.__file__)"]
    where = subprocess.check_output(asked, cwd=ROOT, env=_environment(folder), text=True)
    if not where.startswith(f"{folder}/"):
        raise SystemExit(f"Python imports {where.strip()} and not the copy in {folder}.")
    return folder


def _environment(source: Path) -> dict[str, str]:
    quick = {"PYTHONDONTWRITEBYTECODE": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return os.environ | quick | {"PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}


def run(source: Path, stage: Sequence[str], limit: float | None = None) -> Verdict:
    """Run tests on a copy of the source until one fails or the time is up."""
    command = [sys.executable, *PYTEST, *FAST, "-o", f"cache_dir={source / 'cache'}", *stage]
    began, log = time.monotonic(), source / "output.txt"
    with log.open("w") as output:
        running = subprocess.Popen(
            command,
            cwd=ROOT,
            env=_environment(source),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = running.wait(limit)
        except subprocess.TimeoutExpired:
            return Verdict("timeout", "", time.monotonic() - began)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
    lines, seconds = log.read_text().splitlines(), time.monotonic() - began
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))] or lines[-1:]
    if code in (0, 5):  # 5: none of the tests is about this module
        return Verdict("survived", "", seconds)
    return Verdict("killed", "".join(failed[:1]), seconds)


@cache
def clean_seconds(source: Path, stage: tuple[str, ...]) -> float:
    """How long a stage takes on the unchanged source, on which it must pass."""
    outcome, by, seconds = run(source, stage)
    if outcome != "survived":
        raise SystemExit(f"The tests fail on the unchanged source: {by}")
    return seconds


def judge(mutant: Mutant, change: Change, source: Path, clean: Path) -> Verdict:
    """Change a copy of the source, run the tests that concern it, and change it back."""
    path, spent = source / "beamkeep" / mutant.file, 0.0
    text = path.read_text()
    path.write_text(mutated(text, change))
    stamp = crc32(repr(mutant).encode())  # bytecode is reused for the same time and length
    os.utime(path, (stamp, stamp))
    try:
        for stage in stages(mutant.file):
            verdict = run(source, stage, 30 + 6 * clean_seconds(clean, stage))
            spent += verdict.seconds
            if verdict.outcome != "survived":
                return verdict._replace(seconds=spent)
        return Verdict("survived", "", spent)
    finally:
        path.write_text(text)


def main() -> int:
    """Judge the mutants one by one and print what becomes of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--count", type=int, default=200, help="lines to draw (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default: 1)")
    parser.add_argument("--json", type=Path, help="file to write the results to")
    parser.add_argument("--replay", type=Path, help="results whose mutants are tried again")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    found, before, results = mutants(), dict[Mutant, str](), list[dict[str, Any]]()
    if options.replay:
        for each in json.loads(options.replay.read_text())["mutants"]:
            before[Mutant(*(each[part] for part in Mutant._fields))] = each["outcome"]
    worse = 0
    with tempfile.TemporaryDirectory(prefix="bk-mutation-") as folder:
        clean, source = copied(Path(folder, "clean")), copied(Path(folder, "changed"))
        for mutant in before or drawn(found, options.count, options.seed):
            change = found.get(mutant)
            verdict = judge(mutant, change, source, clean) if change else Verdict("gone", "", 0)
            line = change.line if change else 0
            results.append({**mutant._asdict(), "line": line, **verdict._asdict()})
            lost = verdict.outcome == "survived" and before.get(mutant) in ("killed", "timeout")
            worse += lost
            note = "  NOT KILLED ANY MORE" if lost else ""
            print(f"{verdict.outcome:9}{mutant.file}:{line}  {mutant.mutation}{note}", flush=True)
            if options.json:
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps({"mutants": results}, indent=1))
    counts = Counter(each["outcome"] for each in results)
    seconds = sum(each["seconds"] for each in results)
    print(f"{dict(counts)} in {seconds:.0f} s; {worse} killed before and not any more")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
