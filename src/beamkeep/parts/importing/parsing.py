"""YAML and JSON files, parsed with the line number of every value."""

from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, cast

import yaml

from beamkeep.kernel import Record

type KeyPath = tuple[str | int, ...]

MAX_DEPTH = 60
MAX_BYTES = 16 * 1024 * 1024
MAX_VALUES = 200_000
"""Keys and values, counted once for each alias that repeats them."""


TOO_DEEP = f"The file is nested more than {MAX_DEPTH} levels deep."


class FileFault(Record):
    """An error in a file, with its line and its key."""

    line: int
    key: str
    text: str


class FaultyFileError(Exception):
    """The file has errors. Nothing was written."""

    def __init__(self, *faults: FileFault) -> None:
        super().__init__(self.__doc__)
        self.faults = sorted(faults, key=lambda fault: fault.line)


class ParsedFile(Record):
    """The content of a file, and the line on which each part of it begins."""

    data: object
    lines: dict[KeyPath, int]

    def fault(self, path: KeyPath, text: str) -> FileFault:
        """Return an error at a path, on the line of the nearest part that the file contains."""
        known = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in self.lines)
        return FileFault(self.lines[known], _dotted(path), text)


def read_text(file: Path) -> str:
    """Return the text of a file; raise FaultyFileError when it is unreadable or too large."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise _faulty(1, f"The file cannot be read: {error.strerror}.") from None
    if len(content) > MAX_BYTES:
        raise _faulty(1, f"The file is larger than {MAX_BYTES >> 20} MiB.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _faulty(line, "The file is not UTF-8 text.") from None


def parse(text: str) -> ParsedFile:
    """Return the content of a YAML or JSON text; raise FaultyFileError when it is neither."""
    loader: yaml.SafeLoader | None = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise _faulty(1, "The file is empty.")
        lines: dict[KeyPath, int] = {}
        return ParsedFile(_value(loader, root, (), lines), lines)
    except RecursionError:
        raise _faulty(1, TOO_DEEP) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _faulty(mark.line + 1 if mark else 1, str(error.problem or error.context)) from None
    except yaml.YAMLError as error:
        raise _faulty(1, str(error)) from None
    finally:
        if loader is not None:
            loader.dispose()


def _value(
    loader: yaml.SafeLoader, node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]
) -> object:
    lines[path] = node.start_mark.line + 1
    if len(path) > MAX_DEPTH:
        raise _faulty(lines[path], TOO_DEEP)
    if len(lines) > MAX_VALUES:
        text = f"The file has more than {MAX_VALUES:,} values, counted with its aliases."
        raise _faulty(lines[path], text)
    if isinstance(node, yaml.SequenceNode):
        parts = enumerate(cast("list[yaml.Node]", node.value))
        return [_value(loader, each, (*path, n), lines) for n, each in parts]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(loader, node, path)
    found: dict[str, object] = {}
    for name, key, value in _pairs(node, path):
        if name in found:
            line = key.start_mark.line + 1
            raise _faulty(line, "The key is given twice.", (*path, name))
        found[name] = _value(loader, value, (*path, name), lines)
        # A value may begin on a later line; its faults are reported on the line of its key.
        lines[(*path, name)] = key.start_mark.line + 1
    return found


def _scalar(loader: yaml.SafeLoader, node: yaml.Node, path: KeyPath) -> object:
    """Return a string, number, boolean or null; YAML has more types than JSON."""
    line = node.start_mark.line + 1
    try:
        value: object = loader.construct_object(node)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise _faulty(line, "The value does not match its type.", path) from None
    if isinstance(value, float) and not isfinite(value):
        raise _faulty(line, "A number must be finite.", path)
    if isinstance(value, str):
        _require_unicode(value, line, path)
    elif not isinstance(value, int | float | None):
        text = f"A {type(value).__name__} cannot be imported. Write a string in quotes."
        raise _faulty(line, text, path)
    return value


def _pairs(node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    pairs: list[tuple[Any, Any]] = node.value
    for key, value in pairs:
        line = key.start_mark.line + 1
        if isinstance(key, yaml.SequenceNode | yaml.MappingNode):
            raise _faulty(line, "A key must be a string.", path)
        name = str(cast("object", key.value))
        _require_unicode(name, line, path)
        yield name, key, value


def _require_unicode(text: str, line: int, path: KeyPath) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        half = "The string contains half of a surrogate pair."
        raise _faulty(line, half, path) from None


def _dotted(path: KeyPath) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def _faulty(line: int, text: str, path: KeyPath = ()) -> FaultyFileError:
    return FaultyFileError(FileFault(line, _dotted(path), text))
