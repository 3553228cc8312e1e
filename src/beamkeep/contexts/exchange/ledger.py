"""The ledger of exchanges: what was sent to peers and taken from them, one row for each."""

from datetime import datetime
from uuid import UUID

from beamkeep.contexts.federation.permit import Permit, PermitDirection, permits
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Call, NotFound, Page, Query, Record, Table, answers, entries

from .envelope import ArtifactEnvelope, SealPointer, id_of, time_of


class ArtifactExchange(Record):
    """One artifact's record that was sent to a peer or taken from it."""

    exchange_id: UUID
    permit_id: UUID
    peer_facility_id: UUID
    direction: PermitDirection
    credential_id: UUID
    key_fingerprint: str
    artifact_kind: str
    artifact_id: UUID
    """The id that the publisher has given to the artifact."""
    content_hash: str
    seal_sequence_number: int | None
    seal_head_hash: str | None
    """The pointer of the publisher's seal; of an import, only one that was verified."""
    exported_at: datetime
    signature: str
    principal_id: UUID
    recorded_at: datetime


class ImportedEnvelope(Record):
    """An envelope that was taken, as canonical JSON."""

    exchange_id: UUID
    envelope: str


class PeerPointer(Record):
    """A head that a peer's seal pointed to, as it was first accepted."""

    peer_facility_id: UUID
    sequence_number: int
    head_hash: str


# One text is one signature, so that no envelope is taken twice, under whichever permit.
EXCHANGES = Table("federation_exchanges", ArtifactExchange, key=("signature",))
ENVELOPES = Table("federation_envelope", ImportedEnvelope, key=("exchange_id",))
POINTERS = Table(
    "federation_peer_pointer", PeerPointer, key=("peer_facility_id", "sequence_number")
)


def exchanged(
    permit: Permit,
    envelope: ArtifactEnvelope,
    pointer: SealPointer | None,
    *,
    credential_id: UUID,
    signature: str,
    call: Call,
) -> ArtifactExchange:
    """Return the row of the ledger for an envelope, with the seal pointer to store with it."""
    return ArtifactExchange.of(
        envelope,
        exchange_id=call.new_id,
        permit_id=permit.id,
        peer_facility_id=permit.peer_facility_id,
        direction=permit.direction,
        credential_id=credential_id,
        artifact_id=id_of(envelope),
        seal_sequence_number=pointer.sequence_number if pointer else None,
        seal_head_hash=pointer.head_hash if pointer else None,
        exported_at=time_of(envelope.exported_at),
        signature=signature,
        principal_id=call.principal_id,
        recorded_at=call.now,
    )


class ExchangeNotFoundError(NotFound): ...


class ListPermitExchanges(Page):
    """List the exchanges under one permit, oldest first."""

    artifact_id: UUID | None = None


class GetPermitExchange(Query):
    """Show one exchange, with the envelope if it is an import."""

    permit_id: UUID
    exchange_id: UUID


class ShownExchange(ArtifactExchange, kw_only=True):
    envelope: str | None
    """The envelope of an import, as canonical JSON, which the signature covers."""


async def exchange(query: GetPermitExchange, read: Reader) -> ShownExchange:
    """Return one exchange under a permit."""
    where = {"exchange_id": query.exchange_id, "permit_id": query.permit_id}
    if not (found := await read.rows(EXCHANGES, **where)):
        raise ExchangeNotFoundError(f"There is no exchange {query.exchange_id}.")
    stored = await read.rows(ENVELOPES, exchange_id=query.exchange_id)
    return ShownExchange.of(found[0], envelope=stored[0].envelope if stored else None)


# fmt: off
QUESTIONS = (
    entries("GET /federation/permits/{permit_id}/exchanges", ListPermitExchanges, permits,
        EXCHANGES, by=("recorded_at", "exchange_id")),
    answers("GET /federation/permits/{permit_id}/exchanges/{exchange_id}", GetPermitExchange,
        exchange, ShownExchange, ExchangeNotFoundError, of=permits, about="permit_id",
        title="Show an exchange under a permit"),
)
