"""Rows next to the streams, written by the statement that appends the events."""

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
    """The column that names the parent row, where the rows form a tree."""
    stamped: tuple[str, str] | None = None
    """A column that the store fills with its own time, and the field that is read as its age."""
    numbered: str | None = None
    """A column that the store numbers; rows written under one lock are numbered as committed."""

    def insert(self, row: R, loser: type[Refusal] | None = None) -> "Insert":
        """Add a row. A command that finds its key taken is refused with `loser`."""
        return Insert(self, row, loser)

    def append(self, rows: Sequence[R], under: str, taken: type[Refusal]) -> "Rows":
        """Add rows in bulk. Skip stored ones; one stored under another value raises `taken`."""
        return Rows(self, rows, under=under, taken=taken)

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
    """A name that one append holds at a time, so that two such decisions never cross."""

    name: str


type SideWrite = Insert | Replace | Upsert | Delete | Lock
"""A row that a rule writes with its events."""


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
    """Return the parts as one canonical text, a long part as its SHA-256."""
    texts = [None if part is None else str(part) for part in parts]
    short = [sha256(t.encode()).hexdigest() if t and len(t) > 200 else t for t in texts]
    return json.dumps(short, ensure_ascii=False, separators=(",", ":"))


class Work(Record):
    """Work that one worker at a time claims and does, after the event that asked for it."""

    work_id: UUID
    kind: str
    subject_id: UUID


WORK = Table("work", Work, key=("work_id",))


class Fenced(Record):
    """A condition: the outcome is written only while this claim on the work holds."""

    work_id: UUID
    claim: int
    owner: UUID | None
    """The worker process that holds the claim; None requires that no process does."""
    ends: bool = False
    """Whether the outcome ends the work."""
