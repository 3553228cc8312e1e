"""The composition root: seams in, a working service out."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.contexts import OPERATIONS, QUESTIONS
from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.trust import bootstrap, seeded
from beamkeep.contexts.trust.bootstrap import Administrator
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.kernel import ActorKind, Call, Catalogue
from beamkeep.runtime.admission import Admission
from beamkeep.runtime.asking import Asker
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.dispatch import Dispatcher
from beamkeep.runtime.places import Places
from beamkeep.runtime.seeding import Seed, sow
from beamkeep.runtime.service import Service
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import EventStore, ReadModel

CATALOGUE = Catalogue(OPERATIONS, QUESTIONS)


def now() -> datetime:
    """The time, as the clock seam tells it."""
    return datetime.now(UTC)


def compose(
    store: EventStore,
    lists: ReadModel,
    cursor_key: bytes,
    catalogue: Catalogue = CATALOGUE,
    clock: Callable[[], datetime] = now,
    new_id: Callable[[], UUID] = uuid7,
) -> Service:
    """Put the parts together on whatever keeps the events."""
    codec = Codec(catalogue.aggregates.values())
    places = Places(store, codec, surfaces, seeded.SURFACES, seeded.INTERNAL)
    admission = Admission(store, places, clock, new_id)
    return Service(
        catalogue,
        admission,
        Dispatcher(catalogue, admission, store, lists, codec, clock, new_id),
        Asker(catalogue, admission, store, lists, codec, Cursors(cursor_key)),
    )


async def prepare(
    store: EventStore,
    lists: ReadModel,
    first_administrator: Administrator | None,
    open_for_development: bool,
    catalogue: Catalogue = CATALOGUE,
    clock: Callable[[], datetime] = now,
    new_id: Callable[[], UUID] = uuid7,
) -> list[str]:
    """Write what a fresh deployment begins with, and say what was written."""
    codec = Codec(catalogue.aggregates.values())

    def call(id: UUID | None) -> Call:
        return Call(SYSTEM, ActorKind.SERVICE_ACCOUNT, clock(), id or new_id())

    async with store.alone("bootstrap"):
        seeds = [Seed(key, outcome) for key, outcome in bootstrap.foundations(call)]
        if open_for_development:
            seeds += [Seed(key, outcome) for key, outcome in bootstrap.developer(call)]
        sown = await sow(seeds, store, codec, SYSTEM, new_id)
        if first_administrator:
            session = Session(store, lists, codec, frozenset(catalogue.named))
            outcomes = await bootstrap.administrator(first_administrator, call, session)
            seeds = [Seed(None, outcome) for outcome in outcomes]
            sown += await sow(seeds, store, codec, SYSTEM, new_id)
    return sown
