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
from beamkeep.contexts.access.profile import IDENTITIES, STANDINGS, Identity, digest_of
from beamkeep.contexts.calibration import calibration
from beamkeep.contexts.caution import promotion
from beamkeep.contexts.caution.caution import cautions
from beamkeep.contexts.enclosure import enclosure
from beamkeep.contexts.federation import facility
from beamkeep.contexts.recipe import capability
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
    """The scopes of claims that are compared."""
    comparable: Callable[[Any, bytes], object] = lambda row, _: row
    """Converts a stored row to the form in `rows_of`, with the key of the deployment."""


class Ledger(Protocol):
    """Everything that is compared, from one snapshot."""

    async def login_key(self) -> bytes:
        """Return the secret that logins are digested with."""
        ...

    def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """Yield the events of all streams of a type, in the order of stream and version."""
        ...

    def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Yield the rows of a table, or its claims of these scopes, by owner; without one last."""
        ...

    def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """Yield the claims in none of these scopes."""
        ...


def _claims(
    aggregate: Aggregate[Any, Any, Any],
    claims_of: Callable[[Any], Iterable[Insert]],
    *scopes: str,
) -> DerivedTable:
    return DerivedTable(
        aggregate=aggregate,
        table=CLAIMS,
        owner="holder",
        rows_of=lambda state: [insert.row for insert in claims_of(state)],
        scopes=scopes,
    )


def _digested(row: Identity, key: bytes) -> BoundLogin:
    return BoundLogin(row.issuer, digest_of(key, row.actor_id, row.issuer, row.subject))


LOGINS = Aggregate(
    name="Actor", begin=logins.begin, evolve=logins.evolve, absent=ActorNotFoundError
)

DERIVED = (
    DerivedTable(aggregate=policies, table=POLICY_GRANTS, owner="policy_id", rows_of=grants_of),
    DerivedTable(
        aggregate=actors,
        table=STANDINGS,
        owner="principal_id",
        rows_of=lambda actor: [standing_of(actor)],
    ),
    DerivedTable(
        aggregate=LOGINS,
        table=IDENTITIES,
        owner="actor_id",
        rows_of=lambda logins: logins.bound,
        comparable=_digested,
    ),
    _claims(facility.facilities, facility.claims_of, facility.CODES),
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
)


async def differences(ledger: Ledger) -> AsyncGenerator[str]:
    """Yield a sentence for every row that is missing and every row that should not exist."""
    key, codec = await ledger.login_key(), Codec(CATALOGUE.aggregates.values())
    for derived in DERIVED:
        async for difference in _compare(derived, ledger, codec, key):
            yield difference
    declared = [SEEDS, *(scope for derived in DERIVED for scope in derived.scopes)]
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
            for row in sorted(map(_in_words, owner[1])):
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
    return " ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
