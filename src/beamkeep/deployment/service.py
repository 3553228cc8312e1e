"""The service: its parts in memory put together on a store."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.contexts.agent.actions import counted, explained
from beamkeep.contexts.catalogue import CATALOGUE, SITE
from beamkeep.contexts.proposal.proposal import APPROVING, REGISTERING
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.belonging import assigned, first_events
from beamkeep.contexts.trust.surface import surfaces
from beamkeep.feed.directory.reading import DirectoryReader
from beamkeep.feed.directory.seam import Directory
from beamkeep.feed.log import EventLog
from beamkeep.feed.reading import log_reader
from beamkeep.kernel import Catalogue, Record, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Admission
from beamkeep.runtime.clock import now
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.dispatch import Dispatcher, OutsideStep
from beamkeep.runtime.entry_points import EntryPoints
from beamkeep.runtime.evidence import RELEASE, EvidenceKeeper
from beamkeep.runtime.proposing import NOTHING_PROPOSABLE, Proposals
from beamkeep.runtime.queries import QueryRunner
from beamkeep.runtime.remedies import Remedies
from beamkeep.runtime.sending import CommandSender
from beamkeep.runtime.session import SNAPSHOT_EVERY, Session
from beamkeep.runtime.store import EventStore, ReadModel

from .seeding import LOCAL_FACTS, NO_READERS


def compose(
    store: EventStore,
    lists: ReadModel,
    cursor_key: bytes,
    catalogue: Catalogue = CATALOGUE,
    facts: Facts = LOCAL_FACTS,
    readers: Readers = NO_READERS,
    clock: Callable[[], datetime] = now,
    new_id: Callable[[], UUID] = uuid7,
    snapshot_every: int = SNAPSHOT_EVERY,
    outside: Mapping[type[Record], OutsideStep] | None = None,
    event_log: EventLog | None = None,
    directory: Directory | None = None,
    access_contact: str | None = None,
    codec: Codec | None = None,
    release: str = RELEASE,
    is_stale: Callable[[str], bool] = lambda _: False,
) -> Service:
    """Put a service together on a store."""
    codec, proposals = codec or Codec(catalogue.aggregates.values()), _proposals(catalogue)
    readers = _with_log(readers, event_log, directory, catalogue, codec, cursor_key, facts)
    sessions = _sessions(store, lists, codec, catalogue, facts, readers, clock, snapshot_every)
    admission = _admission(store, codec, clock, new_id, access_contact, proposals)
    dispatcher = Dispatcher(
        admission=admission,
        store=store,
        codec=codec,
        sessions=sessions,
        clock=clock,
        new_id=new_id,
        gets=catalogue.gets,
        outside={**(outside or {}), **_steps()},
        remedies=Remedies(catalogue.operations),
        proposals=proposals,
        counts=counted,
        assigns=partial(assigned, first_events(catalogue.aggregates.values())),
    )
    keeper = EvidenceKeeper(store, new_id, release)
    queries = QueryRunner(
        admission=admission,
        store=store,
        lists=lists,
        codec=codec,
        sessions=sessions,
        cursors=Cursors(cursor_key),
        views=catalogue.views,
        evidence=keeper,
        names=readers.directory,
        previews=dispatcher.preview,
        is_stale=is_stale,
    )
    return Service(
        catalogue=catalogue,
        admission=admission,
        sessions=sessions,
        dispatcher=dispatcher,
        queries=queries,
        sender=CommandSender(catalogue, dispatcher, new_id),
        evidence=keeper,
    )


def _with_log(
    readers: Readers,
    event_log: EventLog | None,
    directory: Directory | None,
    catalogue: Catalogue,
    codec: Codec,
    cursor_key: bytes,
    facts: Facts,
) -> Readers:
    if event_log:
        shown = cursor_key, facts.service_url, directory
        readers = replace(readers, events=log_reader(event_log, catalogue, codec, *shown))
    if directory:
        readers = replace(readers, directory=DirectoryReader(directory, catalogue))
    return readers


def _steps() -> dict[type[Record], OutsideStep]:
    return {kind: step for each in SITE.values() for kind, step in each.steps.items()}


def _sessions(
    store: EventStore,
    lists: ReadModel,
    codec: Codec,
    catalogue: Catalogue,
    facts: Facts,
    readers: Readers,
    clock: Callable[[], datetime],
    snapshot_every: int,
) -> Callable[[], Session]:
    return partial(
        Session,
        store=store,
        lists=lists,
        codec=codec,
        catalogue=catalogue,
        facts=facts,
        readers=readers,
        clock=clock,
        snapshot_every=snapshot_every,
    )


def _proposals(catalogue: Catalogue) -> Proposals:
    # A catalogue without proposals, such as one of a test, lets nothing be proposed.
    if "Proposal" not in catalogue.aggregates:
        return NOTHING_PROPOSABLE
    named = {operation.name: operation for operation in catalogue.operations}
    return Proposals({name: named[name] for name in catalogue.proposable}, REGISTERING, APPROVING)


def _admission(
    store: EventStore,
    codec: Codec,
    clock: Callable[[], datetime],
    new_id: Callable[[], UUID],
    contact: str | None,
    proposals: Proposals,
) -> Admission:
    entry_points = EntryPoints(
        store=store,
        codec=codec,
        surfaces=surfaces,
        seeded=seeded.SURFACES,
        internal_conduit_id=seeded.INTERNAL,
    )
    return Admission(
        store=store,
        places=entry_points,
        clock=clock,
        new_id=new_id,
        contact=contact,
        proposable=proposals.proposable.keys(),
        explains=explained,
    )
