"""Merkle trees of RFC 6962 that grow at the end, kept in tiles of 256 hashes."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from typing import NamedTuple

HASH_BYTES, TILE_BITS = 32, 8
TILE = 1 << TILE_BITS
EMPTY_ROOT = sha256().digest()


class InvalidProofError(Exception):
    """The proof does not lead from what is proved to the root."""


class InvalidFrontierError(ValueError):
    """A tree of this size leaves over another number of hashes: its stored end was altered."""


class Range(NamedTuple):
    """Leaves that follow one another, `end` not included."""

    start: int
    end: int


class TileKey(NamedTuple):
    """A tile: level 0 has the hashes of leaves, each level above those of 256 whole tiles."""

    level: int
    number: int


class Subtree(NamedTuple):
    """A complete subtree: the tile that has the hashes beneath it, and which of them."""

    tile: TileKey
    first: int
    end: int


class Frontier:
    """The end of a tree: its size, and the hashes that are in no full tile."""

    def __init__(self, size: int = 0, hashes: bytes = b"") -> None:
        self.size, self.levels = size, list[list[bytes]]()
        left = split(hashes)
        is_short = False
        while size:
            count = size % TILE
            self.levels.append(left[:count])
            is_short = is_short or len(left) < count
            left, size = left[count:], size >> TILE_BITS
        if left or is_short:
            raise InvalidFrontierError(InvalidFrontierError.__doc__)

    def add(self, hashes: Iterable[bytes]) -> list[tuple[TileKey, bytes]]:
        """Add leaves, and return the tiles that became full."""
        full: list[tuple[TileKey, bytes]] = []
        for each in hashes:
            self.size += 1
            carried, level = each, 0
            while True:
                if level == len(self.levels):
                    self.levels.append([])
                tile = self.levels[level]
                tile.append(carried)
                if len(tile) < TILE:
                    break
                level += 1
                number = (self.size >> (TILE_BITS * level)) - 1
                full.append((TileKey(level - 1, number), b"".join(tile)))
                carried = root_of(tile)
                tile.clear()
        return full

    @property
    def root(self) -> bytes:
        """Return the root of the tree."""
        below: list[bytes] = []
        for level in self.levels:
            below = [root_of([*level, *below])] if level or below else []
        return root_of(below)

    @property
    def hashes(self) -> bytes:
        return b"".join(each for level in self.levels for each in level)

    @property
    def tiles(self) -> Mapping[TileKey, Sequence[bytes]]:
        """Return the hashes that are in no full tile, by the tile that they will fill."""
        return {
            TileKey(level, self.size >> (TILE_BITS * (level + 1))): tile
            for level, tile in enumerate(self.levels)
        }


def leaf_hash(leaf: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees."""
    return sha256(b"\x01" + left + right).digest()


def root_of(hashes: Sequence[bytes]) -> bytes:
    """Return the root of a tree over these hashes."""
    level = list(hashes) or [EMPTY_ROOT]
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [*(sha256(b"\x01" + left + right).digest() for left, right in pairs), *odd]
    return level[0]


def inclusion(index: int, size: int) -> list[Range]:
    """Return the ranges whose roots prove one leaf of a tree, lowest first."""
    return _siblings(index, size, end_at=None)[1]


def consistency(before: int, size: int) -> list[Range]:
    """Return the ranges whose roots prove that a tree has grown from a smaller one."""
    if not 0 < before < size:
        return []
    last, path = _siblings(before - 1, size, end_at=before)
    # The whole smaller tree is known to the verifier.
    return [last, *path] if last.start else path


def _siblings(leaf: int, size: int, end_at: int | None) -> tuple[Range, list[Range]]:
    """Return a range with a leaf, one leaf or up to an end, and what is next to its way up."""
    start, end, path = 0, size, list[Range]()
    while end - start > 1 and end != end_at:
        middle = start + (1 << (end - start - 1).bit_length() - 1)
        if leaf < middle:
            path.append(Range(middle, end))
            end = middle
        else:
            path.append(Range(start, middle))
            start = middle
    return Range(start, end), path[::-1]


def subtrees(leaves: Range) -> list[Subtree]:
    """Return the complete subtrees of a range that a proof names, largest first."""
    start, found = leaves.start, list[Subtree]()
    while start < leaves.end:
        height = (leaves.end - start).bit_length() - 1
        level, above = divmod(height, TILE_BITS)
        number, first = divmod(start >> (TILE_BITS * level), TILE)
        found.append(Subtree(TileKey(level, number), first, first + (1 << above)))
        start += 1 << height
    return found


def proof(ranges: Sequence[Range], tiles: Mapping[TileKey, Sequence[bytes]]) -> list[bytes]:
    """Return the root of each range. Raise KeyError if a tile is missing."""
    path: list[bytes] = []
    for each in ranges:
        roots = [root_of(tiles[tile][first:end]) for tile, first, end in subtrees(each)]
        path.append(reduce(lambda right, left: node_hash(left, right), reversed(roots)))
    return path


def root_by_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """Return the root that an inclusion proof leads to."""
    ranges = inclusion(index, size)
    if not 0 <= index < size or len(ranges) != len(path):
        raise InvalidProofError
    root = leaf
    for leaves, hash in zip(ranges, path, strict=True):
        root = node_hash(hash, root) if leaves.end <= index else node_hash(root, hash)
    return root


def require_consistency(
    before: tuple[int, bytes], after: tuple[int, bytes], path: Sequence[bytes]
) -> None:
    """Raise InvalidProofError unless the second tree (size and root) has grown from the first."""
    (small, old), (size, new) = before, after
    ranges = consistency(small, size)
    if small > size or len(ranges) != len(path):
        raise InvalidProofError
    was, now = (old, old) if small else (EMPTY_ROOT, new)
    if ranges:
        # The first range ends where the smaller tree ends, and is left out if it is all of it.
        is_in_path = ranges[0].end == small
        was = now = path[0] if is_in_path else old
        for leaves, hash in list(zip(ranges, path, strict=True))[is_in_path:]:
            if leaves.end < small:
                was, now = node_hash(hash, was), node_hash(hash, now)
            else:
                now = node_hash(now, hash)
    if (was, now) != (old, new):
        raise InvalidProofError


def split(hashes: bytes) -> list[bytes]:
    """Return the hashes of a tile."""
    if len(hashes) % HASH_BYTES:
        raise InvalidFrontierError("These are not whole hashes.")
    return [hashes[at : at + HASH_BYTES] for at in range(0, len(hashes), HASH_BYTES)]
