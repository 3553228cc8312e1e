"""The comparison of rows written next to the streams with the events they are derived from."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Protocol, cast
from uuid import UUID

import msgspec

from beamkeep.contexts.access import logins, profile_times
from beamkeep.contexts.access.actor import BoundLogin, actors, standing_of
from beamkeep.contexts.access.logins import LoginDigest
from beamkeep.contexts.access.profile import ACTOR_STANDINGS, IDENTITIES
from beamkeep.contexts.agent.agent import AGENT_STANDINGS, agents
from beamkeep.contexts.agent.agent import standing_of as agent_standing_of
from beamkeep.contexts.calibration import calibration
from beamkeep.contexts.catalogue import CATALOGUE
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
from beamkeep.contexts.decision.results import DECISION_KEYS
from beamkeep.contexts.enclosure import enclosure, reports
from beamkeep.contexts.equipment import former_places
from beamkeep.contexts.equipment.asset import assets
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
from beamkeep.contexts.proposal import proposal
from beamkeep.contexts.recipe import capability
from beamkeep.contexts.run.run import edges_of as run_edges
from beamkeep.contexts.run.run import runs
from beamkeep.contexts.seams.belonging import OBJECT_TEAMS, TEAM_MEMBERS, ObjectTeam
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.contexts.seams.place import FORMER_PLACES, PLACES, AssetPlace
from beamkeep.contexts.supply import supply
from beamkeep.contexts.trust import control_times
from beamkeep.contexts.trust.grants import POLICY_GRANTS
from beamkeep.contexts.trust.policy import grants_of, policies
from beamkeep.contexts.trust.surface import SURFACE_CONTROL
from beamkeep.contexts.trust.team import rows_of, teams
from beamkeep.contexts.trust.visit import visits
from beamkeep.kernel import CLAIMS, Aggregate, AnyAggregate, Insert, Record, Table
from beamkeep.runtime.codec import BrokenStreamError, Codec
from beamkeep.runtime.store import StoredEvent, StoredSnapshot, Stream

SEEDS = "seed"
"""The scope of the claims that remember seeds; they have no holder and no stream."""


CODEC = Codec(CATALOGUE.aggregates.values())
FOLDS = [*CODEC.folds.values()]
"""The folds of this version, whose snapshots can be compared."""


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
    comparable: Callable[[Any], object] = lambda row: row
    """Converts a stored row to the form in `rows_of`."""
    is_shared: bool = False
    """Whether other aggregates have rows here too, so that a row may belong to one of them."""


class Ledger(Protocol):
    """Everything that is compared, from one snapshot."""

    def login_digests(self) -> AsyncIterator[LoginDigest]:
        """Yield the digests of all logins, by actor."""
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

    def snapshots(self, folds: Sequence[UUID]) -> AsyncIterator[StoredSnapshot]:
        """Yield the snapshots of these folds, with the principal of the first event of each."""
        ...

    def stream(self, stream: Stream, upto: int) -> AsyncIterator[StoredEvent]:
        """Yield the events of one stream up to a version."""
        ...

    async def other_snapshots(self, folds: Sequence[UUID]) -> int:
        """Return how many snapshots are of other folds."""
        ...

    def faults(self) -> AsyncIterator[str]:
        """Yield what the store itself finds wrong with its rows, in sentences."""
        ...

    def agent_decisions(self) -> AsyncIterator[tuple[UUID, UUID]]:
        """Yield the decisions that agents of the service made inside it, each with its agent."""
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
    """Of a row of a subscription, all that the events of the subscription determine."""

    subscription_id: UUID


def _of_subscriptions(
    of: Table[Any], rows_of: Callable[[Subscription], Iterable[object] | None]
) -> DerivedTable:
    # Neither secrets nor answers of receivers are read.
    table = Table(of.name, SubscriptionOfRow, key=("subscription_id",))
    return DerivedTable(
        aggregate=subscriptions, table=table, owner="subscription_id", rows_of=rows_of
    )


def _until_retired(subscription: Subscription) -> Iterable[SubscriptionOfRow]:
    is_retired = subscription.status is SubscriptionStatus.RETIRED
    return () if is_retired else (SubscriptionOfRow(subscription.id),)


def _folded(
    of: Aggregate[Any, Any, Any], begin: Callable[[Any], Any], evolve: Callable[[Any, Any], Any]
) -> Aggregate[Any, Any, Any]:
    """Return an aggregate whose events are folded to what only the comparison needs."""

    def begun(event: Any) -> Any:
        of.begin(event)  # raises if no stream of this type begins so
        return begin(event)

    return Aggregate(of.name, begun, evolve, absent=of.absent)


def _of_team(of: AnyAggregate) -> DerivedTable:
    return DerivedTable(
        aggregate=of,
        table=OBJECT_TEAMS,
        owner="object_id",
        rows_of=lambda state: _object_teams(of, state),
        scopes=(of.name,),
    )


def _object_teams(of: AnyAggregate, state: Any) -> Iterable[ObjectTeam]:
    visit_id: UUID | None = getattr(state, "visit_id", None)
    if of is visits:
        # A visit is in itself.
        visit_id = state.team_id and state.id
    if state.team_id or visit_id:
        yield ObjectTeam(state.id, of.name, state.team_id, visit_id=visit_id)


DERIVED = (
    DerivedTable(aggregate=teams, table=TEAM_MEMBERS, owner="team_id", rows_of=rows_of),
    *map(_of_team, (teams, visits, *(of for of in CATALOGUE.aggregates.values() if of.team))),
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
        aggregate=_folded(actors, logins.begin, logins.evolve),
        table=IDENTITIES,
        owner="actor_id",
        rows_of=lambda logins: logins.bound,
        comparable=BoundLogin.of,
    ),
    DerivedTable(
        aggregate=_folded(actors, profile_times.begin, profile_times.evolve),
        table=profile_times.PROFILE_TIMES,
        owner="actor_id",
        rows_of=profile_times.rows_of,
    ),
    DerivedTable(
        aggregate=assets,
        table=PLACES,
        owner="asset_id",
        rows_of=lambda asset: [AssetPlace.of(asset, asset_id=asset.id)],
    ),
    DerivedTable(
        aggregate=_folded(assets, former_places.begin, former_places.evolve),
        table=FORMER_PLACES,
        owner="asset_id",
        rows_of=former_places.rows_of,
    ),
    DerivedTable(
        aggregate=_folded(visits, control_times.begin, control_times.evolve),
        table=SURFACE_CONTROL,
        owner="visit_id",
        rows_of=control_times.rows_of,
    ),
    DerivedTable(
        aggregate=_folded(enclosure.enclosures, reports.begin, reports.evolve),
        table=enclosure.FRESHNESS,
        owner="enclosure_id",
        rows_of=lambda heard: [heard],
        comparable=reports.heard_of,
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
        rows_of=lambda it: None if it.of_parts else (),
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
    _of_subscriptions(SECRETS, _until_retired),
    _of_subscriptions(BOOKMARKS, _until_retired),
    DerivedTable(
        aggregate=subscriptions,
        table=CLAIMS,
        owner="holder",
        rows_of=_until_retired,
        scopes=(SLOTS,),
        # The number is whichever was free.
        comparable=lambda row: SubscriptionOfRow(row.holder),
    ),
    # Which deliveries there are depends on the log and on the time.
    _of_subscriptions(DELIVERIES, lambda _: None),
)


async def differences(ledger: Ledger) -> AsyncGenerator[str]:
    """Yield a sentence for every row that is missing and every row that should not exist."""
    for derived in DERIVED:
        try:
            async for difference in _compare(derived, ledger):
                yield difference
        except (ValueError, ArithmeticError) as broken:
            # A row that no version has written must not hide the differences of other tables.
            yield f"bk.{derived.table.name} has a row that cannot be read: {broken}."
    async for difference in _agent_claims(ledger):
        yield difference
    async for difference in _wrong_snapshots(ledger):
        yield difference
    async for fault in ledger.faults():
        yield fault
    claims = [derived for derived in DERIVED if derived.table is CLAIMS]
    declared = [SEEDS, DECISION_KEYS, *(scope for derived in claims for scope in derived.scopes)]
    async for row in ledger.claims_beyond(declared):
        yield f"bk.claims has a row of a scope that nothing uses: {_in_words(row)}."


async def _wrong_snapshots(ledger: Ledger) -> AsyncGenerator[str]:
    """Fold every stream that has a snapshot again, and compare the states."""
    async for stored in ledger.snapshots(FOLDS):
        (name, id), version = stored.stream, stored.snapshot.version
        of = CATALOGUE.aggregates.get(name)
        text = f"The snapshot of {name} {id} at version {version}"
        if of is None:
            yield f"{text} is of an unknown type."
            continue
        state, folded = None, 0
        try:
            async for event in ledger.stream(stored.stream, version):
                state, folded = CODEC.fold(of, [event], state, folded), folded + 1
        except Exception as broken:
            # One broken stream must not hide the snapshots of the others.
            yield f"The stream {name} {id} cannot be read: {type(broken).__name__}: {broken}."
            continue
        if folded < version:
            yield f"{text} is forged: the stream has {folded} events. Delete the snapshot."
        elif CODEC.snapshot(state, version).state != stored.snapshot.state:
            yield f"{text} is not what the events say. Delete the snapshot."
        elif stored.owner_id != stored.first_principal_id:
            yield f"{text} has owner {stored.owner_id}, who did not begin the stream."


async def _agent_claims(ledger: Ledger) -> AsyncGenerator[str]:
    """Compare the claims by which agents of the service decide once with their decisions.

    A decision does not say for which key it was made: the claim has the key, and the agent.
    """
    made = {id: str(agent_id) async for id, agent_id in ledger.agent_decisions()}
    async for row in ledger.rows(CLAIMS, "holder", (DECISION_KEYS,)):
        if made.pop(row.holder, None) != _first_part(row.key):
            events = f"the events of Decision {row.holder}"
            yield f"bk.claims has a row that {events} do not explain: {_in_words(row)}."
    for id, agent_id in made.items():
        yield f"bk.claims lacks the row of Decision {id}, which agent {agent_id} made."


def _first_part(key: str) -> object:
    """Return the first part of the key of a claim; none if it is not such a key."""
    try:
        parts: object = json.loads(key)
    except ValueError:
        return None
    return cast("list[object]", parts)[0] if isinstance(parts, list) and parts else None


async def _compare(derived: DerivedTable, ledger: Ledger) -> AsyncGenerator[str]:
    """Compare one table with its streams; both are read in the order of their ids."""
    name, table = derived.aggregate.name, f"bk.{derived.table.name}"
    streams, owners = _required_rows(derived, ledger), _stored_rows(derived, ledger)
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
    derived: DerivedTable, ledger: Ledger
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
            (event,) = CODEC.decode(of.name, [recorded])
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
    derived: DerivedTable, ledger: Ledger
) -> AsyncGenerator[tuple[UUID | None, set[object]]]:
    """Yield the stored rows of each owner together."""
    owner: UUID | None = None
    rows: set[object] = set()
    is_login = derived.table is IDENTITIES
    stored = ledger.rows(derived.table, derived.owner, derived.scopes)
    async for row in ledger.login_digests() if is_login else stored:
        if rows and getattr(row, derived.owner) != owner:
            yield owner, rows
            rows = set()
        owner = getattr(row, derived.owner)
        rows.add(derived.comparable(row))
    if rows:
        yield owner, rows


def _in_words(row: object) -> str:
    fields: dict[str, object] = msgspec.to_builtins(row)
    return ", ".join(f"{name} {_text(value)}" for name, value in fields.items())


def _text(value: object) -> str:
    is_several = isinstance(value, tuple)
    return " ".join(map(str, cast("tuple[object, ...]", value))) if is_several else str(value)
