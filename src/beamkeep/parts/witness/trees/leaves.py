"""The trees of a deployment: their leaves, how far each has come, and its checkpoints."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from .notes import Checkpoint, InvalidNoteError, read_root
from .tree import Frontier, TileKey

ANCHORS = "beamkeep/anchor/v1", "beamkeep/anchor/v2"
"""The first line of an anchor. The second form also says how long the log was."""


class Tree(StrEnum):
    """The two trees of a deployment."""

    EVENTS = "events"
    ROWS = "rows"


class Leaf(NamedTuple):
    """A leaf: its transaction, its position there, its name for people, and its hash."""

    tx: int
    pos: int
    name: str
    hash: bytes


class LeafPage(NamedTuple):
    """The next leaves, up to a transaction; `is_last` if no later transaction had ended."""

    tx: int
    leaves: Sequence[Leaf]
    is_last: bool


class FullTile(NamedTuple):
    """A tile that became full, and, if it has leaves, where the last of them is."""

    key: TileKey
    hashes: bytes
    last_tx: int | None = None
    last_pos: int | None = None


class TreeState(NamedTuple):
    """How far a tree has come: up to which transaction, and its newest checkpoint."""

    tree: Tree
    number: int
    frontier: Frontier
    tx: int
    signed_size: int
    signed_at: datetime | None


class StoredCheckpoint(NamedTuple):
    """A checkpoint as it is kept, with the signatures of others."""

    tree: Tree
    number: int
    size: int
    root: bytes
    at: datetime
    note: str


class Anchor(NamedTuple):
    """The first leaf of a tree that replaced another: why, and what was signed of the other."""

    reason: str
    at: datetime
    last: Checkpoint
    """What was signed last of the tree that is replaced."""
    log_size: int | None
    """How many leaves the log had then; none in an anchor of the first form."""
    root: bytes | None
    """The root of the log at the size of `last`, if the log differed and was that long."""

    @property
    def text(self) -> str:
        """Return the leaf."""
        lines = [ANCHORS[self.log_size is not None], self.reason]
        lines += [str(int(self.at.timestamp() * 1_000_000)), self.last.text.rstrip("\n")]
        lines += [] if self.log_size is None else [str(self.log_size)]
        return "\n".join([*lines, *([b64encode(self.root).decode()] if self.root else [])])


def read_anchor(text: str) -> Anchor | None:
    """Return the anchor that a leaf is; none if it is not one."""
    form, *lines = text.split("\n")
    try:
        reason, at, origin, size, root, *more = lines
        log_size = int(more.pop(0)) if form == ANCHORS[1] else None
        anchor = Anchor(
            reason,
            datetime.fromtimestamp(int(at) / 1_000_000, UTC),
            last=Checkpoint(origin, int(size), read_root(root)),
            log_size=log_size,
            root=read_root(more.pop(0)) if more else None,
        )
    except (ValueError, IndexError, OverflowError, OSError, InvalidNoteError):
        return None
    return anchor if form in ANCHORS and not more else None


class StoredAnchor(NamedTuple):
    """What an operator said after a restore, as it is stored; with a leaf if a tree began."""

    number: int
    floor: int
    reason: str
    at: datetime
    leaf: str | None
