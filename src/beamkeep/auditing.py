"""The comparison of rows written beside the streams with the events they are derived from."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Protocol, cast
from uuid import UUID

import msgspec

from beamkeep.contexts import CATALOGUE
from beamkeep.contexts.access import logins
from beamkeep.contexts.access.actor import (
    ActorNotFoundError,
    BoundLogin,
    actors,
    standing_of,
)
from beamkeep.contexts.access.profile import ACTOR_STANDINGS, IDENTITIES, Identity, digest_of
from beamkeep.contexts.agent.agent import AGENT_STANDINGS, agents
from beamkeep.contexts.agent.agent import standing_of as agent_standing_of
from beamkeep.contexts.calibration import calibration
from beamkeep.contexts.caution import promotion
from beamkeep.contexts.caution.caution import cautions
from beamkeep.contexts.data import (
    acquisition,
    dataset,
    dataset_identifier,
    distribution,
    edition,
    scan,
)
from beamkeep.contexts.data.dataset import datasets
from beamkeep.contexts.data.external_id import CLAIMED
from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.federation import credential, facility, permit
from beamkeep.contexts.feed.subscription import (
    BOOKMARKS,
    DELIVERIES,
    SECRETS,
    SLOTS,
    Subscription,
    SubscriptionStatus,
    subscriptions,
)
from beamkeep.contexts.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.contexts.proposal import proposal
from beamkeep.contexts.recipe import capability
from beamkeep.contexts.run.run import edges_of as run_edges
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.supply import supply
from beamkeep.contexts.trust.grants import POLICY_GRANTS
from beamkeep.contexts.trust.policy import grants_of, policies
from beamkeep.kernel import CLAIMS, Aggregate, Insert, Record, Table
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.store import StoredEvent

SEEDS = "seed"
"""The scope of the claims that remember seeds; they have no holder and no stream."""


class DerivedTable(Record):
    """A table, or some claims, whose rows are derived from the states of an aggregate."""

    aggregate: Aggregate[Any, Any, Any]
    table: Table[Any]
    owner: str
    """The column with the id of the aggregate."""
    rows_of: Callable[[Any], Iterable[object] | None]
    """Returns the rows of a state; none where the state does not determine them."""
    scopes: tuple[str, ...] = ()
    """The scopes of claims, or the relations of edges, that are compared."""
    comparable: Callable[[Any, bytes], object] = lambda row, _: row
    """Converts a stored row to the form in `rows_of`, with the key of the deployment."""
    is_shared: bool = False
    """Whether other aggregates have rows here too, so that a row may belong to one of them."""


class Ledger(Protocol):
    """Everything that is compared, from one snapshot."""

    async def login_key(self) -> bytes:
        """Return the secret that logins are digested with."""
        ...

    def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """Yield the events of all streams of a type, in the order of stream and version."""
        ...

    def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Yield the rows of a table, or those of these scopes, by owner; without one last."""
        ...

    def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Yield the claims in none of these scopes."""
        ...


def _claims(
    aggregate: Aggregate[Any, Any, Any],
    claims_of: Callable[[Any], Iterable[Insert]],
    *scopes: str,
    is_shared: bool = False,
) -> DerivedTable:
    return DerivedTable(
        aggregate=aggregate,
        table=CLAIMS,
        owner="holder",
        rows_of=lambda state: [insert.row for insert in claims_of(state)],
        scopes=scopes,
        is_shared=is_shared,
    )


def _edges(
    aggregate: Aggregate[Any, Any, Any],
    edges_of: Callable[[Any], Iterable[ProvenanceEdge] | None],
    *relations: ProvenanceRelation,
) -> DerivedTable:
    return DerivedTable(
        aggregate=aggregate, table=EDGES, owner="source_id", rows_of=edges_of, scopes=relations
    )


class SubscriptionOfRow(Record):
    """Of a row beside a subscription, all that the events of the subscription determine."""

    subscription_id: UUID


def _beside_subscriptions(
    table: Table[Any], rows_of: Callable[[Subscription], Iterable[object] | None]
) -> DerivedTable:
    return DerivedTable(
        aggregate=subscriptions,
        table=table,
        owner="subscription_id",
        rows_of=rows_of,
        comparable=lambda row, _: SubscriptionOfRow(row.subscription_id),
    )


def _until_retired(subscription: Subscription) -> Iterable[SubscriptionOfRow]:
    is_retired = subscription.status is SubscriptionStatus.RETIRED
    return () if is_retired else (SubscriptionOfRow(subscription.id),)


def _digested(row: Identity, key: bytes) -> BoundLogin:
    return BoundLogin(row.issuer, digest_of(key, row.actor_id, row.issuer, row.subject))


LOGINS = Aggregate(
    name="Actor", begin=logins.begin, evolve=logins.evolve, absent=ActorNotFoundError
)

DERIVED = (
    DerivedTable(aggregate=policies, table=POLICY_GRANTS, owner="policy_id", rows_of=grants_of),
    DerivedTable(
        aggregate=actors,
        table=ACTOR_STANDINGS,
        owner="principal_id",
        rows_of=lambda actor: [standing_of(actor)],
    ),
    DerivedTable(
        aggregate=agents,
        table=AGENT_STANDINGS,
        owner="principal_id",
        rows_of=lambda agent: [agent_standing_of(agent)],
        # Rows of people and machine accounts are in the same table.
        is_shared=True,
    ),
    DerivedTable(
        aggregate=LOGINS,
        table=IDENTITIES,
        owner="actor_id",
        rows_of=lambda logins: logins.bound,
        comparable=_digested,
    ),
    _claims(facility.facilities, facility.claims_of, facility.CODES),
    _claims(credential.credentials, credential.claims_of, credential.KEYS),
    _claims(permit.permits, permit.claims_of, permit.EXCHANGES),
    _claims(capability.capabilities, capability.claims_of, capability.CODES),
    _claims(enclosure.enclosures, enclosure.claims_of, enclosure.NAMES),
    _claims(supply.supplies, supply.claims_of, supply.NAMES),
    _claims(
        calibration.calibrations,
        calibration.claims_of,
        calibration.IDENTITY,
        calibration.REVISION,
    ),
    _claims(cautions, promotion.claims_of, promotion.PROMOTIONS),
    DerivedTable(
        aggregate=dataset.datasets,
        table=dataset.STANDINGS,
        owner="dataset_id",
        rows_of=lambda it: [dataset.standing_of(it)],
    ),
    DerivedTable(
        aggregate=dataset.datasets,
        table=dataset.PARTS,
        owner="dataset_id",
        # The checksum seals the parts, and no event has them.
        rows_of=lambda it: None if it.has_parts else (),
    ),
    DerivedTable(
        aggregate=distribution.distributions,
        table=distribution.COPIES,
        owner="distribution_id",
        rows_of=distribution.copies_of,
    ),
    _claims(distribution.distributions, distribution.claims_of, distribution.PLACES),
    _claims(acquisition.acquisitions, acquisition.claims_of, acquisition.CORRECTIONS),
    # One DOI names one object, whether it is a dataset or an edition.
    _claims(dataset.datasets, dataset_identifier.claims_of, CLAIMED, is_shared=True),
    _claims(edition.editions, edition.claims_of, CLAIMED, is_shared=True),
    _edges(edition.editions, edition.edges_of, ProvenanceRelation.PART_OF),
    _edges(runs, run_edges, ProvenanceRelation.PINNED),
    _edges(
        dataset.datasets,
        dataset.edges_of,
        ProvenanceRelation.DERIVED_FROM,
        ProvenanceRelation.PRODUCED_BY,
        ProvenanceRelation.ABOUT,
        ProvenanceRelation.USED_CALIBRATION,
    ),
    # An acquisition that is corrected has no edge, and only the correction says so.
    _edges(acquisition.acquisitions, lambda _: None, ProvenanceRelation.ACQUIRED_BY),
    _edges(calibration.calibrations, calibration.edges_of, ProvenanceRelation.COMPUTED_FROM),
    _claims(datasets, scan.claims_of, scan.SCANS),
    _claims(proposal.proposals, proposal.claims_of, proposal.OPEN_PROPOSAL),
    _beside_subscriptions(SECRETS, _until_retired),
    _beside_subscriptions(BOOKMARKS, _until_retired),
    DerivedTable(
        aggregate=subscriptions,
        table=CLAIMS,
        owner="holder",
        # The number is whichever was free.
        rows_of=lambda it: () if it.status is SubscriptionStatus.RETIRED else None,
        scopes=(SLOTS,),
    ),
    # Which deliveries there are depends on the log and on the time.
    _beside_subscriptions(DELIVERIES, lambda _: None),
)


SEAM = tuple(
    derived
    for derived in DERIVED
    if derived.table.name in {"policy_grant", "principal_standing", "claims"}
)
"""What every command is authorized and decided by, and a role that only reads may read."""


async def differences(
    ledger: Ledger, tables: Sequence[DerivedTable] = DERIVED
) -> AsyncGenerator[str]:
    """Yield a sentence for every row that is missing and every row that should not exist."""
    key = await ledger.login_key() if tables is DERIVED else b""
    codec = Codec(CATALOGUE.aggregates.values())
    for derived in tables:
        async for difference in _compare(derived, ledger, codec, key):
            yield difference
    claims = [derived for derived in DERIVED if derived.table is CLAIMS]
    declared = [SEEDS, *(scope for derived in claims for scope in derived.scopes)]
    async for row in ledger.claims_beyond(declared):
        yield f"bk.claims has a row of a scope that nothing uses: {_in_words(row)}."


async def _compare(
    derived: DerivedTable, ledger: Ledger, codec: Codec, key: bytes
) -> AsyncGenerator[str]:
    """Compare one table with its streams; both are read in the order of their ids."""
    name, table = derived.aggregate.name, f"bk.{derived.table.name}"
    streams, owners = _required_rows(derived, ledger, codec), _stored_rows(derived, ledger, key)
    stream, owner = await anext(streams, None), await anext(owners, None)
    while stream or owner:
        if stream and (owner is None or owner[0] is None or stream[0] <= owner[0]):
            id, required = stream
            stored: set[object] = set()
            if owner and owner[0] == id:
                stored, owner = owner[1], await anext(owners, None)
            if isinstance(required, str):
                yield f"The stream {name} {id} cannot be read: {required}."
            elif required is not None:
                events = f"the events of {name} {id}"
                for row in sorted(map(_in_words, stored - required)):
                    yield f"{table} has a row that {events} do not explain: {row}."
                for row in sorted(map(_in_words, required - stored)):
                    yield f"{table} lacks a row that {events} require: {row}."
            stream = await anext(streams, None)
        elif owner:
            for row in () if derived.is_shared else sorted(map(_in_words, owner[1])):
                yield f"{table} has a row of {name} {owner[0]}, which does not exist: {row}."
            owner = await anext(owners, None)


async def _required_rows(
    derived: DerivedTable, ledger: Ledger, codec: Codec
) -> AsyncGenerator[tuple[UUID, set[object] | str | None]]:
    """Yield the rows that each stream requires, or the error that keeps it from being folded.

    Events are folded one by one, so that a long stream is never in memory as a whole.
    """
    of, id, state, version = derived.aggregate, None, None, 0
    error: str | None = None
    async for stream_id, recorded in ledger.events(of.name):
        if stream_id != id:
            if id is not None:
                yield id, error or _rows_of(derived, state)
            id, state, version, error = stream_id, None, 0, None
        version += 1
        if error:
            continue
        try:
            if recorded[0] != version:
                raise BrokenStreamError(f"{of.name} lacks version {version}")
            (event,) = codec.decode(of.name, [recorded])
            state = of.begin(event) if state is None else of.evolve(state, event)
        except Exception as broken:
            # One broken stream must not hide the differences of the others.
            error = f"{type(broken).__name__}: {broken}"
    if id is not None:
        yield id, error or _rows_of(derived, state)


def _rows_of(derived: DerivedTable, state: object) -> set[object] | None:
    rows = derived.rows_of(state)
    return None if rows is None else set(rows)


async def _stored_rows(
    derived: DerivedTable, ledger: Ledger, key: bytes
) -> AsyncGenerator[tuple[UUID | None, set[object]]]:
    """Yield the stored rows of each owner together."""
    owner: UUID | None = None
    rows: set[object] = set()
    async for row in ledger.rows(derived.table, derived.owner, derived.scopes):
        if rows and getattr(row, derived.owner) != owner:
            yield owner, rows
            rows = set()
        owner = getattr(row, derived.owner)
        rows.add(derived.comparable(row, key))
    if rows:
        yield owner, rows


def _in_words(row: object) -> str:
    fields: dict[str, object] = msgspec.to_builtins(row)
    return ", ".join(f"{name} {_text(value)}" for name, value in fields.items())


def _text(value: object) -> str:
    is_several = isinstance(value, tuple)
    return " ".join(map(str, cast("tuple[object, ...]", value))) if is_several else str(value)
