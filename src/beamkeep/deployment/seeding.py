"""The initial content of a new deployment, written once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

from uuid_utils.compat import uuid7

from beamkeep.contexts.access.profile import SYSTEM
from beamkeep.contexts.agent.agent import agents
from beamkeep.contexts.agent.seeded import seeds as seeded_agents
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.federation.facility import own_site
from beamkeep.contexts.seams.installation import Facts, Readers
from beamkeep.contexts.trust import bootstrap
from beamkeep.contexts.trust.bootstrap import Administrator, CallFor
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Call,
    Catalogue,
    Claim,
    Event,
    Outcome,
    Record,
    claim_key,
)
from beamkeep.runtime.clock import now
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.outcomes import side_writes_of
from beamkeep.runtime.session import Session
from beamkeep.runtime.store import Append, EventStore, NewEvent, ReadModel, Stream

type SeedsOf = Callable[[CallFor], Iterable[tuple[str, Outcome]]]
"""Returns what a part begins with, each with the key that remembers it."""

LOCAL_FACTS, NO_READERS = Facts(), Readers()
"""A deployment with default settings."""
COMMAND_NAME = "bootstrap_deployment"


class Seed(Record):
    """Events and rows that are written once in the life of a deployment."""

    key: str | None
    """The key of the claim that remembers the seed; none if its absence was checked already."""
    outcome: Outcome


async def write_seeds(
    seeds: Sequence[Seed],
    store: EventStore,
    codec: Codec,
    principal_id: UUID,
    new_id: Callable[[], UUID],
    read: Mapping[Stream, int] = {},
) -> list[str]:
    """Write the seeds that were never written, and return their names.

    `read` has the versions of the streams that exist already.
    """
    known = {claim.key for claim in await store.rows(CLAIMS, {"scope": "seed"})}
    written: list[str] = []
    correlation_id = new_id()
    for seed in seeds:
        key = claim_key(seed.key)
        if seed.key is not None and key in known:
            continue
        events = [part for part in seed.outcome if isinstance(part, Event)]
        versions = Counter(read)
        numbered: list[NewEvent] = []
        for event in events:
            versions[stream := codec.stream(event)] += 1
            numbered.append(codec.encode(event, versions[stream], new_id()))
        remember = [] if seed.key is None else [CLAIMS.insert(Claim("seed", key, None))]
        await store.append(
            Append(
                events=numbered,
                read={},
                side_writes=[*side_writes_of(seed.outcome), *remember],
                answer=None,
                command_name=COMMAND_NAME,
                principal_id=principal_id,
                surface_id=None,
                correlation_id=correlation_id,
                causation_id=None,
                occurred_at=events[0].occurred_at,
            )
        )
        written.append(seed.key or type(events[0]).__name__)
    return written


async def prepare(
    store: EventStore,
    lists: ReadModel,
    first_administrator: Administrator | None,
    open_for_development: bool,
    catalogue: Catalogue = CATALOGUE,
    facts: Facts = LOCAL_FACTS,
    clock: Callable[[], datetime] = now,
    new_id: Callable[[], UUID] = uuid7,
    seeds_of: Sequence[SeedsOf] = (partial(seeded_agents, model=None),),
) -> list[str]:
    """Write the initial content that is missing, and return the names of what was written."""
    codec = Codec(catalogue.aggregates.values())

    def call(id: UUID | None) -> Call:
        return Call(
            principal_id=SYSTEM,
            principal_kind=ActorKind.SERVICE_ACCOUNT,
            now=clock(),
            new_id=id or new_id(),
        )

    async with store.alone("bootstrap"):
        seeds = [Seed(key, outcome) for key, outcome in bootstrap.foundations(call)]
        if open_for_development:
            seeds += [Seed(key, outcome) for key, outcome in bootstrap.developer(call)]
        if agents.name in catalogue.aggregates:
            seeds += [Seed(*seed) for each in seeds_of for seed in each(call)]
        session = Session(
            store=store,
            lists=lists,
            codec=codec,
            catalogue=catalogue,
            facts=facts,
            readers=NO_READERS,
            clock=clock,
        )
        seeds += [Seed(None, outcome) for outcome in await own_site(call(None), session)]
        written = await write_seeds(seeds, store, codec, SYSTEM, new_id)
        if first_administrator:
            outcomes = await bootstrap.administrator(first_administrator, call, session)
            seeds = [Seed(None, outcome) for outcome in outcomes]
            written += await write_seeds(seeds, store, codec, SYSTEM, new_id, session.versions)
    return written
