"""The skeleton of a package that adds a context."""

import re
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

SKELETON = files(__package__) / "skeleton"
FILES = {
    "pyproject.toml.txt": "pyproject.toml",
    "__init__.py.txt": "src/{context}/__init__.py",
    "context.py.txt": "src/{context}/context.py",
    "py.typed.txt": "src/{context}/py.typed",
    "aggregate.py.txt": "src/{context}/{noun}.py",
    "test_aggregate.py.txt": "tests/test_{noun}.py",
}
NAME = re.compile("[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""What a context and an aggregate may be called."""


def write_skeleton(folder: Path, context: str, noun: str) -> Iterator[Path]:
    """Write the files of a new package into a folder, and yield each of them."""
    words = noun.split("_")
    values = {
        "context": context,
        "noun": noun,
        "words": " ".join(words),
        "path": f"{'-'.join(words)}s",
        "Aggregate": "".join(word.capitalize() for word in words),
        "distribution": context.replace("_", "-"),
        "release": version("beamkeep"),
    }
    for source, target in FILES.items():
        file = folder / target.format(**values)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(Template((SKELETON / source).read_text()).substitute(values))
        yield file
