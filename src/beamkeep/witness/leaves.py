"""The trees of a deployment: their leaves, how far each has come, and its checkpoints."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from .tree import Frontier, TileKey


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
