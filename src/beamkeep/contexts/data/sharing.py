"""Sharing: which copies have the same file, or an address that lies in that of another."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, unquote
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Record

from .address import above
from .dataset import PARTS
from .distribution import COPIES, Copy

MOST_BELOW = 1_000
"""Copies below a directory that are looked at."""


class Bytes(Record):
    """Where the bytes of a copy are: some files, or everything below a directory."""

    copy: Copy
    files: frozenset[str]
    """Their addresses; none if the copy is everything below its address."""

    @property
    def is_tree(self) -> bool:
        """Whether the copy is everything below its address."""
        return not self.copy.of_parts and self.copy.uri.endswith("/")

    @property
    def directories(self) -> frozenset[str]:
        """The directories that the bytes lie in."""
        within = self.files or {self.copy.uri}
        return frozenset(f"{each}/" for file in within for each in above(file))


class _Known:
    """The copies that may have bytes of others, found by file and by address."""

    def __init__(self, places: Iterable[Bytes]) -> None:
        self._by_key: dict[str, list[Copy]] = {}
        self._by_address: dict[str, list[Copy]] = {}
        self._trees: dict[str, list[Copy]] = {}
        for place in places:
            copy = place.copy
            if copy.file_key is not None:
                self._by_key.setdefault(copy.file_key, []).append(copy)
            for address in place.files or {copy.uri}:
                self._by_address.setdefault(address, []).append(copy)
            if place.is_tree:
                self._trees.setdefault(copy.uri, []).append(copy)
        self._addresses = sorted(self._by_address)

    def sharing(self, place: Bytes) -> Iterator[Copy]:
        """Yield the copies that lose bytes when those of a place are deleted."""
        yield from self._by_key.get(place.copy.file_key or "", ())
        for file in place.files:
            yield from self._by_address.get(file, ())
        for directory in {*place.directories, place.copy.uri}:
            yield from self._trees.get(directory, ())
        if place.is_tree:
            first = bisect_left(self._addresses, place.copy.uri)
            for address in self._addresses[first:]:
                if not address.startswith(place.copy.uri):
                    break
                yield from self._by_address[address]


async def sharing(
    copies: Sequence[Copy], matters: Callable[[Copy], bool], read: Reader
) -> Mapping[UUID, Copy]:
    """Return, by copy, another copy that matters and that has some of its bytes."""
    places = await _bytes_of(copies, None, read)
    near = [it for it in await _near(places, read) if matters(it)]
    known = _Known(await _bytes_of(near, places, read))
    shared: dict[UUID, Copy] = {}
    for place in places:
        id = place.copy.distribution_id
        other = next((it for it in known.sharing(place) if it.distribution_id != id), None)
        if other is not None:
            shared[id] = other
    return shared


async def _near(places: Sequence[Bytes], read: Reader) -> Sequence[Copy]:
    """Return the copies that may have some of the same bytes."""
    uris = {uri for it in places for uri in (*it.files, *it.directories, it.copy.uri)}
    keys = {it.copy.file_key for it in places if it.copy.file_key is not None}
    found = [*await read.rows(COPIES, uri=frozenset(uris))] if uris else []
    found += await read.rows(COPIES, file_key=frozenset(keys)) if keys else ()
    reader = read.readers.custody
    for place in places:
        if place.is_tree and reader is not None:
            below = await reader.copies(None, place.copy.uri, None, MOST_BELOW, None)
            ids = frozenset(it.distribution_id for it in below)
            found += await read.rows(COPIES, distribution_id=ids)
    return [*{it.distribution_id: it for it in found}.values()]


async def _bytes_of(
    copies: Iterable[Copy], places: Sequence[Bytes] | None, read: Reader
) -> Sequence[Bytes]:
    """Return where copies have their bytes; with `places`, only files that matter for these."""
    wanted = [*copies]
    by_directory: dict[str, list[Copy]] = {}
    for copy in wanted:
        if copy.of_parts:
            by_directory.setdefault(copy.uri, []).append(copy)
    files: dict[UUID, set[str]] = {}
    for directory, of_parts in by_directory.items():
        asked: dict[str, frozenset[UUID] | frozenset[str]] = {
            "dataset_id": frozenset(copy.dataset_id for copy in of_parts)
        }
        if places is not None and not any(it.is_tree for it in places):
            asked["path"] = frozenset(
                unquote(file.removeprefix(directory))
                for place in places
                for file in place.files
                if file.startswith(directory)
            )
        for row in await read.rows(PARTS, **asked):
            for copy in of_parts:
                if copy.dataset_id == row.dataset_id:
                    files.setdefault(copy.distribution_id, set()).add(
                        f"{directory}{quote(row.path)}"
                    )
    return [Bytes(it, _files(it, files.get(it.distribution_id, ()))) for it in wanted]


def _files(copy: Copy, found: Iterable[str]) -> frozenset[str]:
    if copy.of_parts:
        return frozenset(found)
    return frozenset() if copy.uri.endswith("/") else frozenset({copy.uri})
