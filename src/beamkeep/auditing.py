"""Whether the rows kept beside the streams are those that the streams call for."""

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
"""The claims that remember what was seeded have no holder, and follow from no stream."""


class Kept(Record):
    """Rows that follow from the state of an aggregate, and are written with its events."""

    aggregate: Aggregate[Any, Any, Any]
    table: Table[Any]
    owner: str
    """The column that names the aggregate."""
    called_for: Callable[[Any], Iterable[object] | None]
    """The rows a state calls for; none where that cannot be told."""
    scopes: tuple[str, ...] = ()
    """Of claims, which ones."""
    seen_as: Callable[[Any, bytes], object] = lambda row, _: row
    """A row as the state can call for it, by the deployment's own key."""


class Ledger(Protocol):
    """Everything that is compared, as it was at one moment."""

    async def login_key(self) -> bytes:
        """The secret that logins are digested with."""
        ...

    def events(self, stream_type: str) -> AsyncIterator[tuple[UUID, StoredEvent]]:
        """The events of all streams of a type, by stream and version."""
        ...

    def rows(self, of: Table[Any], owner: str, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """The rows of a table, or its claims of these scopes, by owner; those without one last."""
        ...

    def claims_beyond(self, scopes: Sequence[str]) -> AsyncIterator[Any]:
        """The claims in none of these scopes."""
        ...


def _claims(of: Callable[[Any], Iterable[Insert]]) -> Callable[[Any], Iterable[object]]:
    return lambda state: [insert.row for insert in of(state)]


def _digested(row: Identity, key: bytes) -> BoundLogin:
    return BoundLogin(row.issuer, digest_of(key, row.actor_id, row.issuer, row.subject))


LOGINS = Aggregate("Actor", logins.begin, logins.evolve, ActorNotFoundError)

# fmt: off
KEPT = (
    Kept(policies, POLICY_GRANTS, "policy_id", grants_of),
    Kept(actors, STANDINGS, "principal_id", lambda actor: [standing_of(actor)]),
    Kept(LOGINS, IDENTITIES, "actor_id", lambda logins: logins.bound, seen_as=_digested),
    Kept(facility.facilities, CLAIMS, "holder", _claims(facility.claims_of),
        scopes=(facility.CODES,)),
    Kept(capability.capabilities, CLAIMS, "holder", _claims(capability.claims_of),
        scopes=(capability.CODES,)),
    Kept(enclosure.enclosures, CLAIMS, "holder", _claims(enclosure.claims_of),
        scopes=(enclosure.NAMES,)),
    Kept(supply.supplies, CLAIMS, "holder", _claims(supply.claims_of), scopes=(supply.NAMES,)),
    Kept(calibration.calibrations, CLAIMS, "holder", _claims(calibration.claims_of),
        scopes=(calibration.IDENTITY, calibration.REVISION)),
    Kept(cautions, CLAIMS, "holder", _claims(promotion.claims_of),
        scopes=(promotion.PROMOTIONS,)),
)
# fmt: on


async def differences(ledger: Ledger) -> AsyncGenerator[str]:
    """Every row that is there and should not be, or should be and is not, in words."""
    key, codec = await ledger.login_key(), Codec(CATALOGUE.aggregates.values())
    for kept in KEPT:
        async for found in _compared(kept, ledger, codec, key):
            yield found
    declared = [SEEDS, *(scope for kept in KEPT for scope in kept.scopes)]
    async for row in ledger.claims_beyond(declared):
        yield f"bk.claims has a row of a scope that nothing uses: {_said(row)}."


async def _compared(kept: Kept, ledger: Ledger, codec: Codec, key: bytes) -> AsyncGenerator[str]:
    """What differs in one table, by walking the streams and the rows side by side."""
    name, table = kept.aggregate.name, f"bk.{kept.table.name}"
    states, rows = _states(kept, ledger, codec), _owned(kept, ledger, key)
    state, owned = await anext(states, None), await anext(rows, None)
    while state or owned:
        if state and (owned is None or owned[0] is None or state[0] <= owned[0]):
            id, called_for = state
            here: set[object] = set()
            if owned and owned[0] == id:
                here, owned = owned[1], await anext(rows, None)
            if isinstance(called_for, str):
                yield f"The stream {name} {id} cannot be read: {called_for}."
            elif called_for is not None:
                events = f"the events of {name} {id}"
                for row in sorted(map(_said, here - called_for)):
                    yield f"{table} has a row that {events} do not explain: {row}."
                for row in sorted(map(_said, called_for - here)):
                    yield f"{table} lacks a row that {events} require: {row}."
            state = await anext(states, None)
        elif owned:
            for row in sorted(map(_said, owned[1])):
                yield f"{table} has a row of {name} {owned[0]}, which does not exist: {row}."
            owned = await anext(rows, None)


async def _states(
    kept: Kept, ledger: Ledger, codec: Codec
) -> AsyncGenerator[tuple[UUID, set[object] | str | None]]:
    """What each stream calls for, folded event by event; a long stream is never held whole."""
    of, id, state, version = kept.aggregate, None, None, 0
    broken: str | None = None
    async for stream_id, recorded in ledger.events(of.name):
        if stream_id != id:
            if id is not None:
                yield id, broken or _called_for(kept, state)
            id, state, version, broken = stream_id, None, 0, None
        version += 1
        if broken:
            continue
        try:
            if recorded[0] != version:
                raise BrokenStreamError(f"{of.name} lacks version {version}")
            (event,) = codec.decode(of.name, [recorded])
            state = of.begin(event) if state is None else of.evolve(state, event)
        except Exception as error:
            # Whatever keeps one stream from being folded, the others are still compared.
            broken = f"{type(error).__name__}: {error}"
    if id is not None:
        yield id, broken or _called_for(kept, state)


def _called_for(kept: Kept, state: object) -> set[object] | None:
    rows = kept.called_for(state)
    return None if rows is None else set(rows)


async def _owned(
    kept: Kept, ledger: Ledger, key: bytes
) -> AsyncGenerator[tuple[UUID | None, set[object]]]:
    """The rows there are, those of one owner together."""
    owner: UUID | None = None
    together: set[object] = set()
    async for row in ledger.rows(kept.table, kept.owner, kept.scopes):
        if together and getattr(row, kept.owner) != owner:
            yield owner, together
            together = set()
        owner = getattr(row, kept.owner)
        together.add(kept.seen_as(row, key))
    if together:
        yield owner, together


def _said(row: object) -> str:
    fields: dict[str, object] = msgspec.to_builtins(row)
    return ", ".join(f"{name} {_text(value)}" for name, value in fields.items())


def _text(value: object) -> str:
    return " ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)
