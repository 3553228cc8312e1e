"""Which files of the project import which, and so which tests a change can reach."""

import ast
import json
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

from gate.suites import ROOT

SOURCES = ("src/", "client/src/", "")
"""The folders that top-level packages are in."""
HUB = "src/beamkeep/contexts/catalogue.py"
"""It imports every aggregate, and nearly everything imports it.

Nothing is reached through it. Tests that run over the whole catalogue can be given which aggregates
they are to keep to.
"""
STORED = ROOT / "build/imports.json"

type Graph = Mapping[str, frozenset[str]]
"""The files that a file imports."""


def tracked(*patterns: str) -> list[str]:
    """Return the files of the checkout that git knows or would add."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.check_output(asked, cwd=ROOT, text=True).split("\n")
    return sorted({each for each in names if each and (ROOT / each).exists()})


def module_of(file: str) -> str:
    """Return the dotted name under which a file is imported."""
    within = next(file.removeprefix(each) for each in SOURCES if file.startswith(each))
    return within.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported_names(text: str, module: str, is_package: bool) -> Iterator[str]:
    """Yield every dotted name that a module may import, wherever in it the import stands."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=name, names=names, level=level):
                parts = module.split(".")
                up = level - is_package
                base = parts[: len(parts) - up] if level else []
                where = ".".join([*base, *([name] if name else [])])
                yield where
                yield from (f"{where}.{each.name}" for each in names)
            case _:
                pass


def import_graph() -> Graph:
    """Return the import graph of the checkout; unchanged files are not parsed again."""
    files = {module_of(each): each for each in tracked("*.py")}
    known: dict[str, list[str]] = json.loads(STORED.read_text()) if STORED.exists() else {}
    stored: dict[str, list[str]] = {}
    graph: dict[str, frozenset[str]] = {}
    for module, file in files.items():
        text = (ROOT / file).read_bytes()
        key = f"{module} {blake2b(text, digest_size=16).hexdigest()}"
        names = known.get(key)
        if names is None:
            is_package = file.endswith("__init__.py")
            names = sorted({*imported_names(text.decode(), module, is_package)})
        stored[key] = names
        graph[file] = frozenset(files[each] for each in names if each in files) - {file}
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(stored))
    return graph


def importers(graph: Graph) -> dict[str, set[str]]:
    """Return the graph the other way round."""
    found: dict[str, set[str]] = {}
    for file, imported in graph.items():
        for each in imported:
            found.setdefault(each, set()).add(file)
    return found


def reached_by(changed: Iterable[str], graph: Graph) -> dict[str, int]:
    """Return what a change can reach, with the number of imports between; nearest first."""
    by, distance = importers(graph), dict.fromkeys(changed, 0)
    waiting = deque(distance)
    while waiting:
        file = waiting.popleft()
        if file == HUB:
            continue
        for each in sorted(by.get(file, ())):
            if each not in distance:
                distance[each] = distance[file] + 1
                waiting.append(each)
    return distance


def is_test(file: str) -> bool:
    """Say whether pytest collects a file."""
    return file.startswith("tests/") and Path(file).name.startswith("test_")
