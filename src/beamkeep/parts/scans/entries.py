"""Finds the entries of a scan file: the groups that describe one scan each, and their layouts."""

from typing import NamedTuple

from h5py import h5g

from .hdf5 import LIBRARY_ERRORS, Elsewhere, Object, ScanError, ScanFile, Unreadable
from .layouts import DATA_EXCHANGE, NEXUS, Layout

LONGEST_PATH = 200


class EntryGroup(NamedTuple):
    """A group that describes one scan."""

    path: str
    layout: Layout
    group: h5g.GroupID
    above: h5g.GroupID | None = None
    """The entry that a subentry is in."""


def find_entries(file: ScanFile) -> list[EntryGroup]:
    found = list[EntryGroup]()
    for name, group in _groups(file, file.root, "NXentry"):
        inner = [(f"{name}/{below}", each) for below, each in _groups(file, group, "NXsubentry")]
        for path, each in [(name, group), *inner]:
            layout = NEXUS.get(text_or_none(file, each, "definition") or "")
            if layout and len(path) > LONGEST_PATH:
                raise ScanError(f"The path of an entry has more than {LONGEST_PATH} characters.")
            if layout:
                above = None if each is group else group
                found.append(EntryGroup(path, layout, each, above=above))
    if found:
        return found
    exchange = file.find(file.root, "exchange")
    if isinstance(exchange, h5g.GroupID) and file.find(exchange, "data") is not None:
        implements = text_or_none(file, file.root, "implements")
        if implements is None or "exchange" in implements.replace(",", ":").split(":"):
            return [EntryGroup("exchange", DATA_EXCHANGE, exchange)]
    return []


def _groups(file: ScanFile, group: h5g.GroupID, nx_class: str) -> list[tuple[str, h5g.GroupID]]:
    """Return the groups of a NeXus class that are in a group, in the order of their names."""
    found = list[tuple[str, h5g.GroupID]]()
    for name in sorted(file.names(group)):
        each = _or_none(file, group, name)
        if isinstance(each, h5g.GroupID):
            try:
                if file.attribute(each, "NX_class") == nx_class:
                    found.append((name, each))
            except Unreadable:
                continue
    return found


def _or_none(file: ScanFile, group: h5g.GroupID, name: str) -> Object | Elsewhere | None:
    try:
        return file.find(group, name)
    except LIBRARY_ERRORS:
        return None


def text_or_none(file: ScanFile, group: h5g.GroupID, path: str) -> str | None:
    try:
        return file.text(group, path)
    except Unreadable:
        return None
