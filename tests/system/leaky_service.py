"""`beamkeep` without the filters that keep one principal's objects from another."""

from typing import Any
from unittest.mock import patch
from uuid import UUID

from beamkeep.adapters.postgres import event_store
from beamkeep.adapters.postgres.call_lookup import OPEN, PERMITTED
from beamkeep.adapters.postgres.listing import PostgresLists
from beamkeep.adapters.postgres.statements import Statement
from beamkeep.deployment.verbs import main
from beamkeep.feed.reading import LogReader
from beamkeep.kernel import Event
from beamkeep.runtime.admission import Admitted
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.ownership import Ownership
from beamkeep.runtime.session import Session
from beamkeep.surfaces.http.listening import Owners

ANYBODY = UUID(int=0)
OWN_KEYS = f"i.principal_id = (SELECT w.principal_id FROM who w WHERE {PERMITTED})"

listing, write, read = PostgresLists.listing, Cursors.write, Cursors.read
read_log = LogReader.read


def sees(admitted: Any, *_: Any) -> bool:
    """Everything."""
    return True


async def list_all(lists: Any, view: Any, list_filter: Any, _: Any, *page: Any) -> Any:
    """The rows of every owner."""
    return await listing(lists, view, list_filter, None, *page)


async def tell_all(reader: Any, query: Any, _: Any, *page: Any) -> Any:
    """The events of every owner's objects."""
    return await read_log(reader, query, None, *page)


async def see_all(session: Any, of: Any, ids: Any) -> Any:
    """All of these."""
    return frozenset(ids)


async def show_all(ownership: Any, caller: Any, admitted: Any, target: Any, outcome: Any) -> Any:
    """Whatever a dry run would write."""
    codec = ownership._codec
    return {codec.stream(event) for event in outcome if isinstance(event, Event)}


def write_for_anybody(cursors: Any, place: str, _: UUID, *question: Any) -> str:
    """A cursor that anybody may use."""
    return write(cursors, place, ANYBODY, *question)


def read_by_anybody(cursors: Any, cursor: str, _: UUID, *question: Any) -> str:
    """The place of a cursor, whoever has it."""
    return read(cursors, cursor, ANYBODY, *question)


if __name__ == "__main__":
    assert OWN_KEYS in OPEN.named
    with (
        patch.object(event_store, "OPEN", Statement(OPEN.named.replace(OWN_KEYS, "true"))),
        patch.object(Admitted, "sees", sees),
        patch.object(PostgresLists, "listing", list_all),
        patch.object(LogReader, "read", tell_all),
        patch.object(Owners, "_is_own", sees),
        patch.object(Session, "visible", see_all),
        patch.object(Ownership, "shown", show_all),
        patch.object(Cursors, "write", write_for_anybody),
        patch.object(Cursors, "read", read_by_anybody),
    ):
        main()
