"""The operations and questions of the service, as data that the client carries."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

CONTEXTS = "beamkeep.contexts"
"""The entry points by which packages of a site add contexts to the service."""


@dataclass(frozen=True)
class Field:
    """One argument of an operation or a question."""

    type: str | None = None
    many: bool = False
    format: str | None = None
    enum: Sequence[str] = ()
    suggested: Sequence[str] = ()
    """What completion offers, although any other text is accepted."""
    default: Any = None
    help: str = ""
    refers_to: str | None = None
    """The kind of object that an id is of."""


@dataclass(frozen=True)
class Entry:
    """One operation or question."""

    name: str
    noun: str
    verb: str
    kind: str
    method: str
    path: str
    doc: str
    fields: Mapping[str, Field] = field(default_factory=dict[str, Field])
    in_path: Sequence[str] = ()
    required: Sequence[str] = ()
    short: str | None = None
    """A second, shorter verb."""
    said: str | None = None
    """What a command did, such as `held`."""
    follows: bool = False
    """Whether a conduct begins, which can be followed."""
    columns: Sequence[str] = ()
    """The columns of a list."""
    whole_ids: bool = False
    """Whether the end of an id does not find what the list shows."""

    @property
    def words(self) -> str:
        """Noun and verb, as the command line has them."""
        return f"{self.noun} {self.verb}".strip()

    @property
    def target(self) -> str | None:
        """The argument that is given as a word without a flag."""
        if self.in_path:
            return self.in_path[0] if self.fields[self.in_path[0]].refers_to else None
        return self.required[0] if not self.noun and len(self.required) == 1 else None

    @property
    def is_question(self) -> bool:
        """Whether nothing is written."""
        return self.kind == "question"

    @property
    def cursor(self) -> str:
        """The argument with which the next page of a list is asked for."""
        return "cursor" if "cursor" in self.fields else "after"


@cache
def catalogue() -> Mapping[str, Entry]:
    """Return every operation and question by name, with those of installed contexts of a site."""
    files = [Path(__file__).with_suffix(".json"), *_of_a_site()]
    # The json of the standard library is slower to read this and much quicker to load.
    rows: list[dict[str, Any]] = [row for file in files for row in json.loads(file.read_bytes())]
    return {row["name"]: _entry(**row) for row in rows}


def _of_a_site() -> Iterator[Path]:
    """Yield the catalogues of packages that add contexts, none of which is imported."""
    for point in added(CONTEXTS):
        package = find_spec(point.module.partition(".")[0])
        for folder in (package and package.submodule_search_locations) or ():
            if (file := Path(folder, "catalogue.json")).is_file():
                yield file


def added(group: str) -> EntryPoints:
    """Return what installed packages add to a group of entry points."""
    return _entry_points().select(group=group)


_entry_points = cache(entry_points)
"""Every package is read once, which takes longer than all else that help needs."""


def _entry(fields: Mapping[str, dict[str, Any]] | None = None, **row: Any) -> Entry:
    return Entry(fields={name: Field(**each) for name, each in (fields or {}).items()}, **row)


def request_of(
    entry: Entry, arguments: Mapping[str, Any], dry_run: bool = False
) -> tuple[str, str, dict[str, Any]]:
    """Return method, path and content of a call."""
    in_path = {name: quote(str(arguments[name]), safe="") for name in entry.in_path}
    others = {name: value for name, value in arguments.items() if name not in in_path}
    path = entry.path.format(**in_path)
    if entry.is_question:
        return entry.method, path, {"params": others}
    return entry.method, path, {"json": others, "params": {"dry_run": "true"} if dry_run else None}
