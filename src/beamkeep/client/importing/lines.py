"""YAML, and so JSON, read so that every value still knows its line."""

from collections.abc import Iterator
from typing import Any, cast

import yaml

from beamkeep.kernel import Record

type Path = tuple[str | int, ...]

DEEPEST = 60


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


def located(text: str) -> Located:
    """The content of a file, or what keeps it from being read."""
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise FaultyFileError(Fault(1, "", "the file is empty"))
        lines: dict[Path, int] = {}
        return Located(_value(loader, root, (), lines), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FaultyFileError(
            Fault(mark.line + 1 if mark else 1, "", str(error.problem or error.context))
        ) from None
    except yaml.YAMLError as error:
        raise FaultyFileError(Fault(1, "", str(error))) from None
    finally:
        loader.dispose()


def _value(loader: yaml.SafeLoader, node: yaml.Node, path: Path, lines: dict[Path, int]) -> object:
    lines[path] = node.start_mark.line + 1
    if len(path) > DEEPEST:
        raise FaultyFileError(Fault(lines[path], "", "it is nested too deep"))
    if isinstance(node, yaml.SequenceNode):
        parts = enumerate(cast("list[yaml.Node]", node.value))
        return [_value(loader, each, (*path, n), lines) for n, each in parts]
    if not isinstance(node, yaml.MappingNode):
        return loader.construct_object(node)
    found: dict[str, object] = {}
    for name, key, value in _pairs(node):
        if name in found:
            line = key.start_mark.line + 1
            raise FaultyFileError(Fault(line, _text((*path, name)), "it is given twice"))
        found[name] = _value(loader, value, (*path, name), lines)
        # A value that follows on later lines belongs to the line of its name.
        lines[(*path, name)] = key.start_mark.line + 1
    return found


def _pairs(node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    pairs: list[tuple[Any, Any]] = node.value
    for key, value in pairs:
        yield str(key.value), key, value


def _text(path: Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
