"""Rows kept beside the streams, written by the very statement that appends the events."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from ._record import Record
from ._refusal import Refusal


class Table[R](Record):
    """A table of plain rows. The record's fields are its columns."""

    name: str
    row: type[R]
    key: tuple[str, ...]
    parent: str | None = None
    """The column that names the row above, where the rows form a tree."""
    stamped: tuple[str, str] | None = None
    """A column that the store fills with its own time, and the field that is read as its age."""

    def insert(self, row: R, loser: type[Refusal] | None = None) -> "Insert":
        """Add a row; whoever finds its key taken is refused with `loser`."""
        return Insert(self, row, loser)

    def append(self, rows: Sequence[R], under: str, taken: type[Refusal]) -> "Rows":
        """Add rows in bulk; those already there under the same value are passed over.

        One that is there under another value of this column is refused with `taken`.
        """
        return Rows(self, rows, under, taken)

    def replace(self, row: R) -> "Replace":
        """Put this row in place of the one with its key."""
        return Replace(self, row)

    def upsert(self, row: R) -> "Upsert":
        """Put this row in place of the one with its key, or add it where there is none."""
        return Upsert(self, row)

    def delete(self, *key: object) -> "Delete":
        """Remove every row that begins with these key columns."""
        return Delete(self, key)


class Insert(Record):
    table: Table[Any]
    row: object
    loser: type[Refusal] | None


class Rows(Record):
    table: Table[Any]
    rows: Sequence[object]
    under: str
    taken: type[Refusal]


class Replace(Record):
    table: Table[Any]
    row: object


class Upsert(Record):
    table: Table[Any]
    row: object


class Delete(Record):
    table: Table[Any]
    key: tuple[object, ...]


class Lock(Record):
    """A name that whoever writes holds alone, so that two such decisions never cross."""

    name: str


type SideWrite = Insert | Replace | Upsert | Delete | Lock
"""What a rule may ask to be written beside its events."""


class Claim(Record):
    """A name that only one holder may have."""

    scope: str
    key: str
    holder: UUID | None


CLAIMS = Table("claims", Claim, key=("scope", "key"))


def claim(scope: str, *parts: object, holder: UUID | None, loser: type[Refusal]) -> Insert:
    """Take a name for its holder, or be refused with `loser`."""
    return CLAIMS.insert(Claim(scope, claim_key(*parts), holder), loser)


def free(scope: str, *parts: object) -> Delete:
    """Give a name back."""
    return CLAIMS.delete(scope, claim_key(*parts))


def claim_key(*parts: object) -> str:
    """The parts as one canonical text; a long part stands as its SHA-256."""
    return json.dumps([_short(part) for part in parts], ensure_ascii=False, separators=(",", ":"))


def _short(part: object) -> str | None:
    if part is None:
        return None
    text = str(part)
    return text if len(text) <= 200 else sha256(text.encode()).hexdigest()
