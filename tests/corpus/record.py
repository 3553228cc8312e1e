"""Put streams that the corpus lacks on record: `python -m tests.corpus.record`."""

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import chain, count
from pathlib import Path
from unittest.mock import patch
from uuid import NAMESPACE_OID, UUID, uuid5

from msgspec import Raw
from msgspec.json import Decoder
from msgspec.structs import replace

from beamkeep.adapters.memory.directory import MemoryDirectory
from beamkeep.adapters.memory.lineage import MemoryLineage
from beamkeep.adapters.memory.log import MemoryEventLog
from beamkeep.adapters.memory.observations import MemoryObservations
from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.federation.signatures import SignMessage
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.parts.agents.memory_records import MemoryAgentRecords
from beamkeep.parts.custody.memory import MemoryCustody
from beamkeep.parts.witness.memory import MemoryWitness
from beamkeep.runtime.codec import Codec, encode
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import StoredEvent
from beamkeep.testing.installation import FACTS, ISSUER, READERS
from beamkeep.testing.service import ADMIN, AdminClient, let_callers_in, with_evidence
from beamkeep.testing.signing import SIGNING
from tests.corpus import FOLDER, Line, digest, file_of, read
from tests.support.examples import (
    EXAMPLES,
    caution,
    data,
    enclosure,
    federation,
    proposal,
    supply,
    trust,
)
from tests.unit.feed.test_rows import STREAMS

CODEC = Codec(CATALOGUE.aggregates.values())

FIELDS = Decoder(dict[str, Raw])

type Events = tuple[StoredEvent, ...]
type Shape = tuple[tuple[str, int, frozenset[str]], ...]
"""Which events, in which forms and with which fields, in which order."""


def record(folder: Path) -> list[str]:
    """Append every stream whose events come in an order that is not on record, and name them."""
    found, added = asyncio.run(every_stream()), list[str]()
    for name, aggregate in CATALOGUE.aggregates.items():
        known = read(folder, aggregate)
        shapes = [shape(line.recorded for line in stream) for stream in known]
        lacking = not_begun(shapes, (events for kind, events in found if kind == name))
        for number, events in enumerate(lacking, len(known) + 1):
            with file_of(folder, aggregate).open("ab") as file:
                for version, event, form, payload in events:
                    state = digest(CODEC.fold(aggregate, events[:version]))
                    line = Line(number, version, event, form, Raw(payload), state)
                    file.write(encode(line) + b"\n")
            added.append(f"{name} {number}: {', '.join(each.event_type for each in events)}")
    return added


def renew(folder: Path, name: str) -> None:
    """Write the digests of one aggregate again, for a state with a field it did not have before."""
    aggregate = CATALOGUE.aggregates[name]
    with_states = [
        replace(line, state=digest(CODEC.fold(aggregate, events[: line.version])))
        for stream in read(folder, aggregate)
        for events in [[each.recorded for each in stream]]
        for line in stream
    ]
    file_of(folder, aggregate).write_bytes(b"".join(encode(each) + b"\n" for each in with_states))


def not_begun(on_record: list[Shape], found: Iterable[Events]) -> list[Events]:
    """The streams, those that say most first, that begin otherwise or have a field in addition."""
    chosen: list[Events] = []
    for events in sorted(found, key=lambda each: (-len(each), -said(each))):
        own, fields = shape(events), known_fields(on_record)
        begun = any(order(other)[: len(own)] == order(own) for other in on_record)
        if not begun or any(its - fields[event, form] for event, form, its in own):
            on_record.append(own)
            chosen.append(events)
    return sorted(chosen, key=lambda events: order(shape(events)))


def known_fields(shapes: Iterable[Shape]) -> Mapping[tuple[str, int], frozenset[str]]:
    """The fields of every event on record, by its form."""
    found = defaultdict[tuple[str, int], frozenset[str]](frozenset)
    for event, form, its in chain.from_iterable(shapes):
        found[event, form] |= its
    return found


def order(stream: Shape) -> list[tuple[str, int]]:
    return [each[:2] for each in stream]


def shape(events: Iterable[StoredEvent]) -> Shape:
    return tuple(
        (each.event_type, each.schema_version, frozenset(FIELDS.decode(each.payload)))
        for each in events
    )


def said(events: Events) -> int:
    return sum(len(each.payload) for each in events)


async def every_stream() -> list[tuple[str, Events]]:
    """What the examples write, and what the rows of lists are tested with."""
    numbers, seconds = count(1), count()

    def new_id() -> UUID:
        return uuid5(NAMESPACE_OID, str(next(numbers)))

    def clock() -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))

    store = await with_examples(clock, new_id)
    of_examples = [
        (kind, tuple(envelope.recorded for envelope in envelopes))
        for (kind, _), envelopes in store.streams.items()
    ]
    stored = [
        [CODEC.encode(event, version, new_id()) for version, event in enumerate(events, 1)]
        for events in STREAMS.values()
    ]
    of_rows = [
        (
            events[0].stream[0],
            tuple(
                StoredEvent(e.version, e.event_type, e.schema_version, e.payload) for e in events
            ),
        )
        for events in stored
    ]
    return of_examples + of_rows


SHOWING_IMPORTS = {"list_permit_exchanges", "get_permit_exchange"}


async def with_examples(clock: Callable[[], datetime], new_id: Callable[[], UUID]) -> MemoryStore:
    """A store in which every command was carried out, with the same ids and times each time."""
    store = MemoryStore(CODEC)

    def sessions() -> Session:
        return service.sessions()

    custody, lineage = MemoryCustody(store, sessions), MemoryLineage(store)
    records = MemoryAgentRecords(store)
    event_log = MemoryEventLog(store)
    readers = replace(
        READERS,
        custody=custody,
        lineage=lineage,
        agent_records=records,
        observations=MemoryObservations(store),
        witness=MemoryWitness(event_log),
    )
    await prepare(store, store, ADMIN, False, CATALOGUE, FACTS, clock, new_id)
    directory = MemoryDirectory(store, CATALOGUE.views, CODEC)
    service = compose(
        store,
        store,
        b"k" * 32,
        facts=FACTS,
        readers=with_evidence(readers, store, sessions),
        clock=clock,
        new_id=new_id,
        event_log=event_log,
        directory=directory,
        outside={SignMessage: SIGNING},
    )

    do = AdminClient(service, store)
    with ExitStack() as patched:
        for examples in (caution, data, enclosure, federation, proposal, supply, trust):
            patched.enter_context(patch.object(examples, "uuid4", new_id))
        await let_callers_in(do, ISSUER)
        for name, example in EXAMPLES.items():
            # What a scan writes has the shape of what its parts write, and names a folder of today.
            # An import writes no event, and must be as young as the clock says.
            if name not in {"ingest_scan", "import_artifact", *SHOWING_IMPORTS}:
                await do(name, await example(do))
    return store


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(FOLDER, name)
    print("\n".join(record(FOLDER)) or "nothing to add")
