"""YAML, and so JSON, read so that every value still knows its line."""

from collections.abc import Iterator
from math import isfinite
from typing import Any, cast

import yaml

from beamkeep.kernel import Record

type Path = tuple[str | int, ...]

DEEPEST = 60
MOST_BYTES = 16 * 1024 * 1024
MOST_VALUES = 200_000
"""Names and values, each counted as often as the file repeats it by an alias."""


class Fault(Record):
    """Something wrong in a file, where a person can find it."""

    line: int
    where: str
    what: str


class FaultyFileError(Exception):
    """The file cannot be imported as it is; nothing was written."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(self.__doc__)
        self.faults = sorted(faults, key=lambda fault: fault.line)


class Located(Record):
    """A file's content, and the line each part of it begins on."""

    data: object
    lines: dict[Path, int]

    def fault(self, path: Path, what: str) -> Fault:
        """What is wrong at a place, on the line of the nearest part that the file has."""
        known = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in self.lines)
        return Fault(self.lines[known], _text(path), what)


def decoded(content: bytes) -> str:
    """The text of a file, or what keeps it from being read."""
    if len(content) > MOST_BYTES:
        raise FaultyFileError(Fault(1, "", f"the file is larger than {MOST_BYTES >> 20} MiB"))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FaultyFileError(Fault(line, "", "it is not UTF-8 text")) from None


def located(text: str) -> Located:
    """The content of a file, or what keeps it from being read."""
    loader: yaml.SafeLoader | None = None
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise FaultyFileError(Fault(1, "", "the file is empty"))
        lines: dict[Path, int] = {}
        return Located(_value(loader, root, (), lines), lines)
    except RecursionError:
        raise FaultyFileError(Fault(1, "", "it is nested too deep")) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FaultyFileError(
            Fault(mark.line + 1 if mark else 1, "", str(error.problem or error.context))
        ) from None
    except yaml.YAMLError as error:
        raise FaultyFileError(Fault(1, "", str(error))) from None
    finally:
        if loader is not None:
            loader.dispose()


def _value(loader: yaml.SafeLoader, node: yaml.Node, path: Path, lines: dict[Path, int]) -> object:
    lines[path] = node.start_mark.line + 1
    if len(path) > DEEPEST:
        raise FaultyFileError(Fault(lines[path], "", "it is nested too deep"))
    if len(lines) > MOST_VALUES:
        what = f"the file holds more than {MOST_VALUES:,} values, counted with its aliases"
        raise FaultyFileError(Fault(lines[path], "", what))
    if isinstance(node, yaml.SequenceNode):
        parts = enumerate(cast("list[yaml.Node]", node.value))
        return [_value(loader, each, (*path, n), lines) for n, each in parts]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(loader, node, path)
    found: dict[str, object] = {}
    for name, key, value in _pairs(node, path):
        if name in found:
            line = key.start_mark.line + 1
            raise FaultyFileError(Fault(line, _text((*path, name)), "it is given twice"))
        found[name] = _value(loader, value, (*path, name), lines)
        # A value that follows on later lines belongs to the line of its name.
        lines[(*path, name)] = key.start_mark.line + 1
    return found


def _scalar(loader: yaml.SafeLoader, node: yaml.Node, path: Path) -> object:
    """A text, a number, true, false or null; YAML has more, and JSON has not."""
    line = node.start_mark.line + 1
    try:
        value: object = loader.construct_object(node)
    except (ValueError, TypeError, LookupError, AttributeError):
        raise FaultyFileError(Fault(line, _text(path), "it cannot be read as its type")) from None
    if isinstance(value, float) and not isfinite(value):
        raise FaultyFileError(Fault(line, _text(path), "a number must be finite"))
    if isinstance(value, str):
        _require_text(value, line, path)
    elif not isinstance(value, int | float | None):
        what = f"a {type(value).__name__} is not imported; write it as a text, in quotes"
        raise FaultyFileError(Fault(line, _text(path), what))
    return value


def _pairs(node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    pairs: list[tuple[Any, Any]] = node.value
    for key, value in pairs:
        line = key.start_mark.line + 1
        if isinstance(key, yaml.SequenceNode | yaml.MappingNode):
            raise FaultyFileError(Fault(line, _text(path), "a name must be a text"))
        name = str(cast("object", key.value))
        _require_text(name, line, path)
        yield name, key, value


def _require_text(text: str, line: int, path: Path) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        what = "a text holds half of a surrogate pair"
        raise FaultyFileError(Fault(line, _text(path), what)) from None


def _text(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
