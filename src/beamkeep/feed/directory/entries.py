"""Entries of the directory: a pure function of a list's row."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from beamkeep.contexts.seams.installation import Facts
from beamkeep.feed.lists.rows import Row
from beamkeep.kernel import View
from beamkeep.kernel.values import folded

MOST_NAME, MOST_FOLDED, MOST_WORDS = 200, 500, 4_000
"""How many characters are kept: an index entry of PostgreSQL has at most 2,704 bytes."""
TAIL_DIGITS = 8
OWN_SITE = Facts().facility_code


class Entry(NamedTuple):
    """An object as the directory holds it."""

    id: UUID
    version: int
    owner_id: UUID
    kind: str
    status: str | None
    name: str
    folded: str
    words: str
    """The name and the keywords, folded, one in each line."""
    facility_code: str | None = None
    """The facility in which the object is, as far as that is known."""
    scope: str | None = None
    """The code that the object itself says."""
    within: tuple[UUID, ...] | None = None
    """The objects in whose facility it is. Scope and these are written, and not read again."""


def entry_of(view: View[Any], id: UUID, row: Row) -> Entry | None:
    """Return the entry of a row; None if objects of its kind have no name."""
    declared = view.directory
    if declared is None:
        return None
    name, status = declared.name(row.state), declared.status(row.state)
    texts = [name, *filter(None, declared.keywords(row.state))]
    words = dict.fromkeys([folded(" ".join(text.split())) for text in texts])
    scope = declared.scope(row.state)
    code, within = (scope, None) if isinstance(scope, str) else (None, scope)
    return Entry(
        id=id,
        version=row.version,
        owner_id=row.owner_id,
        kind=view.aggregate.name,
        status=status and str(status),
        name=name[:MOST_NAME],
        folded=folded(name)[:MOST_FOLDED],
        words="\n".join(words)[:MOST_WORDS],
        scope=code,
        within=None if within is None else tuple(sorted(within)),
    )


def facility_code_of(entry: Entry, known: Mapping[UUID, Entry], site: str) -> str | None:
    """Return the facility in which an object is; the own Site if it is in none in particular."""
    if entry.within is None:
        return entry.scope
    others = (known[id] for id in entry.within if id in known)
    codes = {code for each in others if (code := facility_code_of(each, known, site))}
    return site if len(codes) > 1 or not entry.within else next(iter(codes), None)


def tail_of(text: str) -> str:
    """Return the last digits of an id backwards, so that its end is the beginning of a text."""
    return text.replace("-", "")[-TAIL_DIGITS:][::-1]
