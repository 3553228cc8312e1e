"""Verification: the trees are computed again from the record and compared with checkpoints."""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from .leaves import Leaf
from .notes import InvalidNoteError, Note, VerifierKey, read_note
from .tree import TILE, Frontier, TileKey, split


class StoredTree(NamedTuple):
    """A tree as the witness has stored it."""

    frontier: Frontier
    tx: int
    """The transaction up to which the witness has followed the log."""
    checkpoints: Sequence[tuple[int, bytes, str]]
    """Size, root and note."""
    tiles: int
    """How many full tiles are kept."""


class StoredTiles(Protocol):
    """Where the full tiles of a tree are read."""

    async def __call__(self, keys: Iterable[TileKey]) -> Mapping[TileKey, Sequence[bytes]]:
        """Return those of these tiles that are kept."""
        ...


class Verification(NamedTuple):
    """What was compared, and what is wrong."""

    leaves: int
    compared: int
    faults: Sequence[str]


def signed_notes(
    texts: Iterable[str], keys: Sequence[VerifierKey]
) -> tuple[dict[str, list[Note]], list[str]]:
    """Return notes by origin in the order of size, and a sentence for each that proves nothing."""
    notes: dict[str, list[Note]] = {}
    faults: list[str] = []
    for text in texts:
        try:
            note = read_note(text)
        except InvalidNoteError:
            faults.append(f"A checkpoint cannot be read: {text[:80]!r}.")
            continue
        origin, size, _ = note.checkpoint
        if note.signed_by(keys):
            notes.setdefault(origin, []).append(note)
        else:
            faults.append(f"The checkpoint of {origin} at size {size} has no signature of a key.")
    for each in notes.values():
        each.sort(key=lambda note: note.checkpoint.size)
    return notes, faults


async def verify(
    stored: StoredTree,
    notes: Sequence[Note],
    pages: AsyncIterator[Sequence[Leaf]],
    tiles: StoredTiles,
    progress: Callable[[int], None] = lambda _: None,
) -> Verification:
    """Compute a tree again and compare it with notes, and with what the witness has kept."""
    recomputed = _Recomputation(stored, notes, tiles)
    async for page in pages:
        await recomputed.add(page)
        progress(recomputed.frontier.size)
    return Verification(recomputed.frontier.size, len(recomputed.roots), await recomputed.faults())


class Agreement(NamedTuple):
    """How far a log still has the roots that were signed of a tree that was replaced."""

    leaves: int
    wrong: Sequence[int]
    """The signed sizes at which the log has another root, or that the log does not reach."""

    def before(self, size: int) -> int:
        """Return the first wrong size, or this one if it is smaller."""
        return min([*self.wrong, size])


async def agreement(
    notes: Sequence[Note],
    pages: AsyncIterator[Sequence[Leaf]],
    progress: Callable[[int], None] = lambda _: None,
) -> Agreement:
    """Compare a log with the notes of a tree that was replaced, as far as both go."""
    frontier, roots = Frontier(), dict[int, bytes]()
    stops = sorted({note.checkpoint.size for note in notes})
    async for page in pages:
        hashes = [leaf.hash for leaf in page]
        while hashes:
            stop = next((size for size in stops if size > frontier.size), None)
            count = len(hashes) if stop is None else stop - frontier.size
            frontier.add(hashes[:count])
            hashes = hashes[count:]
            roots[frontier.size] = frontier.root if frontier.size in stops else b""
        progress(frontier.size)
    checkpoints = [note.checkpoint for note in notes]
    return Agreement(
        frontier.size, [each.size for each in checkpoints if roots.get(each.size) != each.root]
    )


class _Difference(NamedTuple):
    """The first leaf that is not the one of the kept tiles."""

    leaf: int
    text: str


class _Recomputation:
    """A tree that is computed again, page by page."""

    def __init__(self, stored: StoredTree, notes: Sequence[Note], tiles: StoredTiles) -> None:
        self._stored, self._notes, self._tiles = stored, notes, tiles
        self.frontier, self.roots = Frontier(), dict[int, bytes]()
        """The roots at the sizes that anything speaks of."""
        sizes = {*(note.checkpoint.size for note in notes), *(c[0] for c in stored.checkpoints)}
        self._stops = sorted({*sizes, stored.frontier.size})
        self._end: bytes | None = None
        self._names: list[str] = []
        """The leaves of the tile that is being filled."""
        self._difference: _Difference | None = None
        self._wrong_tiles: list[TileKey] = []
        self._followed = 0
        """How many leaves are of transactions that the witness has followed."""

    async def add(self, page: Sequence[Leaf]) -> None:
        """Add leaves; remember roots and the first difference from the kept tiles."""
        self._followed += sum(leaf.tx <= self._stored.tx for leaf in page)
        while page:
            self._at_stop()
            stop = self._stops[0] if self._stops else self.frontier.size + len(page)
            part, page = (
                page[: stop - self.frontier.size],
                page[stop - self.frontier.size :],
            )
            self._names += [leaf.name for leaf in part]
            await self._compare(self.frontier.add(leaf.hash for leaf in part))
        self._at_stop()

    def _at_stop(self) -> None:
        while self._stops and self._stops[0] == self.frontier.size:
            size = self._stops.pop(0)
            self.roots[size] = self.frontier.root
            if size == self._stored.frontier.size:
                self._end = self.frontier.hashes
                self._find_in_last()

    def _find_in_last(self) -> None:
        """Compare the leaves that are in no full tile yet."""
        key = TileKey(0, self.frontier.size // TILE)
        mine, theirs = self.frontier.tiles.get(key, ()), self._stored.frontier.tiles.get(key, ())
        self._find(key.number, mine, theirs, self._names)

    async def _compare(self, full: Sequence[tuple[TileKey, bytes]]) -> None:
        last = self._stored.frontier.size
        wanted = [(key, hashes) for key, hashes in full if _ends_at(key) <= last]
        found = await self._tiles([key for key, _ in wanted])
        for key, hashes in wanted:
            mine, theirs = split(hashes), found.get(key)
            if theirs is None or list(theirs) != mine:
                self._wrong_tiles.append(key)
            if key.level == 0 and theirs is not None:
                first = len(self._names) - (self.frontier.size - key.number * TILE)
                self._find(key.number, mine, theirs, self._names[first:])
        self._names = self._names[len(self._names) - self.frontier.size % TILE :]

    def _find(
        self, tile: int, mine: Sequence[bytes], theirs: Sequence[bytes], names: Sequence[str]
    ) -> None:
        if self._difference is not None:
            return
        for at, (here, there) in enumerate(zip(mine, theirs, strict=False)):
            if here != there:
                # In the rest of the tile, the leaves show what was done.
                text = f"{names[at]} is not what was signed there"
                if mine[at : at + 1] == theirs[at + 1 : at + 2]:
                    text = f"what was before {names[at]} is missing"
                elif mine[at + 1 : at + 2] == theirs[at : at + 1]:
                    text = f"{names[at]} was inserted"
                self._difference = _Difference(tile * TILE + at, text)
                return

    async def faults(self) -> list[str]:
        """Return what is wrong, in sentences."""
        self._at_stop()
        if self._end is None:
            self._find_in_last()
        faults = await self._against_notes()
        faults += [
            f"The tile {key.number} of level {key.level} that the witness keeps is"
            " missing or is not that of the log."
            for key in self._wrong_tiles[: 1 if faults else None]
        ]
        size = self._stored.frontier.size
        if self._end is None:
            faults.append(
                f"The log is truncated: it has {self.frontier.size} leaves, and the witness has"
                f" followed {size}."
            )
        elif self._end != self._stored.frontier.hashes:
            faults.append(f"The end of the tree that the witness keeps at size {size} differs.")
        if self._notes and (signed := self._notes[-1].checkpoint.size) > size:
            faults.append(
                f"The witness has followed {size} leaves, as is kept, and size {signed} was signed."
            )
        if self._stored.tiles > (expected := _full_tiles(size)):
            faults.append(
                f"The witness keeps {self._stored.tiles} tiles, and a tree of size {size} has"
                f" {expected}."
            )
        if self._followed > size:
            faults.append(
                f"Up to transaction {self._stored.tx} the log has {self._followed} leaves, and the"
                f" witness has followed {size}: something was inserted."
            )
        return [*faults, *self._stored_checkpoints()]

    async def _against_notes(self) -> list[str]:
        """Compare with the notes, up to the first that differs."""
        before = 0
        for note in self._notes:
            _, size, root = note.checkpoint
            if self.roots.get(size) != root:
                detail = f"Between size {before} and size {size} the log was changed."
                if size not in self.roots:
                    detail = f"The log is truncated: it has {self.frontier.size} leaves."
                if self._difference and await self._stored_root(size) == root:
                    detail = f"Leaf {self._difference.leaf} differs: {self._difference.text}."
                return [f"The log does not have the root that was signed at size {size}. {detail}"]
            before = size
        return []

    def _stored_checkpoints(self) -> list[str]:
        """Compare the checkpoints in the database with the notes and with the log."""
        faults: list[str] = []
        signed = {note.checkpoint.size: note.checkpoint for note in self._notes}
        for size, root, text in self._stored.checkpoints:
            try:
                signed_as = read_note(text).checkpoint
            except InvalidNoteError:
                signed_as = None
            is_right = signed_as is not None and (signed_as.size, signed_as.root) == (size, root)
            is_right = is_right and signed.get(size, signed_as) == signed_as
            if not is_right or (size in self.roots and self.roots[size] != root):
                root_text = b64encode(root).decode()
                faults.append(f"The stored checkpoint of size {size}, root {root_text}, is wrong.")
        stored = {size for size, _, _ in self._stored.checkpoints}
        lacking = [size for size in signed if size not in stored]
        return faults + [f"The stored checkpoint of size {size} is missing." for size in lacking]

    async def _stored_root(self, size: int) -> bytes | None:
        """Return the root at a size by the leaf hashes that the witness has kept."""
        frontier = Frontier()
        for number in range(size // TILE + 1):
            key = TileKey(0, number)
            found = await self._tiles([key])
            hashes = found.get(key) or self._stored.frontier.tiles.get(key, ())
            frontier.add(hashes[: size - frontier.size])
        return frontier.root if frontier.size == size else None


def _full_tiles(size: int) -> int:
    """Return how many full tiles a tree has."""
    count = 0
    while size := size // TILE:
        count += size
    return count


def _ends_at(key: TileKey) -> int:
    """Return the size of a tree whose last leaf fills a tile."""
    return (key.number + 1) * TILE ** (key.level + 1)
