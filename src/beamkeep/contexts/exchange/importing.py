"""Importing: a signed copy of one artifact's record, taken from a peer after eleven checks."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator

from beamkeep.contexts.federation.credential import Credential, CredentialPurpose, credentials
from beamkeep.contexts.federation.facility import Facility, facilities
from beamkeep.contexts.federation.permit import (
    ARTIFACTS,
    Permit,
    PermitCommand,
    PermitDirection,
    permits,
)
from beamkeep.contexts.federation.signatures import SignaturePrefix, verifies
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Call, Cannot, Created, Insert, Invalid, Record, replace
from beamkeep.schemas import canonical_text

from .envelope import (
    FORMAT,
    ArtifactEnvelope,
    ArtifactSignature,
    SealPointer,
    content_id,
    digest_of,
    id_of,
    members,
    signable,
    time_of,
)
from .ledger import (
    ENVELOPES,
    EXCHANGES,
    POINTERS,
    ImportedEnvelope,
    PeerPointer,
    exchanged,
)

CLOCK_ALLOWANCE = timedelta(minutes=5)
"""How far the clock of a peer may be ahead."""


class InvalidArtifactEnvelopeError(Invalid):
    """The envelope is not one that the peer signed for this permit."""


class PermitCannotImportError(Cannot):
    """An import needs an inbound permit in force."""


class StaleSealPointerError(Cannot):
    """The seal pointer of the envelope is older than one that the peer has sent before."""


class SealPointerConflictError(Cannot):
    """The peer has signed two different heads with one sequence number; ask its administrator."""

    is_alarm = True


class ArtifactAlreadyImportedError(Cannot):
    """This envelope has been imported before."""


class StaleArtifactError(Cannot):
    """The envelope is too old, from the future, or older than one that was imported."""


class ImportPermitArtifact(PermitCommand):
    envelope: Annotated[ArtifactEnvelope, AfterValidator(signable)]
    """The envelope as the peer has sent it."""
    signature: ArtifactSignature
    """Signature of the peer over the envelope."""


class ArtifactImported(Created):
    exchange_id: UUID


class ImportContext(Record):
    """The parties and the keys of an inbound permit, and what was imported from the peer before."""

    own_code: str
    peer: Facility
    allowed: Mapping[UUID, Credential]
    anchors: Sequence[Credential]
    """The keys that sign the pointers of the peer's seal."""
    last_pointer: PeerPointer | None
    same_pointer: PeerPointer | None
    """The pointer that was accepted with the sequence number of this envelope."""
    is_imported: bool
    newest: datetime | None
    """When the newest import of this artifact was exported."""
    most_age: timedelta


async def import_context(
    permit: Permit, command: ImportPermitArtifact, read: Reader
) -> ImportContext:
    known, envelope = read.facts, command.envelope
    peer = await read.one(facilities, permit.peer_facility_id)
    anchors = await read.many(credentials, peer.trust_anchor_credential_ids)
    of_peer = {"peer_facility_id": peer.id}
    pointer, same = envelope.seal_pointer, tuple[PeerPointer, ...]()
    if pointer:
        number = pointer.sequence_number
        same = await read.rows(POINTERS, **of_peer, sequence_number=number)
    last = await read.last(POINTERS, "sequence_number", peer_facility_id=[peer.id])
    earlier = await read.rows(
        EXCHANGES, **of_peer, artifact_id=id_of(envelope), direction=PermitDirection.INBOUND
    )
    return ImportContext(
        own_code=known.facility_code,
        peer=peer,
        allowed=await read.many(credentials, permit.allowed_credential_ids),
        anchors=[
            each
            for each in anchors.values()
            if each.purpose is CredentialPurpose.SEAL_ONLINE_SIGNING
        ],
        last_pointer=last[0] if last else None,
        same_pointer=same[0] if same else None,
        is_imported=bool(await read.rows(EXCHANGES, signature=command.signature)),
        newest=max((row.exported_at for row in earlier), default=None),
        most_age=known.import_max_age,
    )


def import_artifact(
    permit: Permit, command: ImportPermitArtifact, given: ImportContext, call: Call
) -> list[Insert | ArtifactImported]:
    """Take a signed copy of a record from the peer of a permit into the ledger."""
    envelope, pointer = command.envelope, command.envelope.seal_pointer
    # The numbers are those of the table on the page of federation; the first is the parsing.
    # 2. The permit.
    if permit.direction is not PermitDirection.INBOUND:
        raise PermitCannotImportError(f"The permit is {permit.direction}.")
    if not permit.is_in_force(given.peer, call.now):
        raise PermitCannotImportError(f"The permit is {permit.status} until {permit.expires_at}.")
    # 3 to 6. The envelope. One text for all, which tells a forger nothing.
    key = _signing_key(permit, envelope, given, call)
    if key is None or not verifies(
        key[1], command.signature, SignaturePrefix.ARTIFACT, members(envelope)
    ):
        raise InvalidArtifactEnvelopeError
    # 7 to 9. The pointer, which counts whenever the peer has an anchor, usable or not.
    verified = None
    if given.anchors:
        verified = _verified_pointer(pointer, envelope, given, call)
        _require_fresh(verified, given)
    # 10. Once only.
    if given.is_imported:
        raise ArtifactAlreadyImportedError
    # 11. Neither old nor withheld.
    exported_at = time_of(envelope.exported_at)
    if exported_at > call.now + CLOCK_ALLOWANCE:
        raise StaleArtifactError("The time of its export is in the future.")
    if exported_at < call.now - given.most_age:
        raise StaleArtifactError(f"It may be at most {given.most_age.days} days old.")
    if given.newest and exported_at <= given.newest:
        raise StaleArtifactError(f"A copy of {given.newest} was imported.")
    row = exchanged(
        permit,
        envelope,
        pointer if verified else None,
        credential_id=key[0],
        signature=command.signature,
        call=call,
    )
    stored = ImportedEnvelope(call.new_id, canonical_text(members(envelope)))
    accepted = verified if verified and not given.same_pointer else None
    return [
        EXCHANGES.insert(row, ArtifactAlreadyImportedError),
        ENVELOPES.insert(stored),
        # Of two imports at once with one new number, the later decides again and compares heads.
        *([POINTERS.insert(accepted)] if accepted else []),
        ArtifactImported(call.new_id),
    ]


def _signing_key(
    permit: Permit, envelope: ArtifactEnvelope, given: ImportContext, call: Call
) -> tuple[UUID, str] | None:
    """Return the credential and the key that the envelope says signed it, if the rest is right."""
    expected = replace(
        envelope,
        format=FORMAT,
        publisher_facility_code=given.peer.code,
        recipient_facility_code=given.own_code,
        audience=permit.audience,
        purpose=permit.purpose,
        artifact_kind=ARTIFACTS[permit.purpose],
        artifact_id=content_id(permit.purpose, envelope.content),
        content_hash=digest_of(envelope.content),
    )
    if envelope != expected:
        return None
    for credential in given.allowed.values():
        if key := credential.verifying_key(envelope.key_fingerprint, call.now):
            return credential.id, key
    return None


def _verified_pointer(
    pointer: SealPointer | None, envelope: ArtifactEnvelope, given: ImportContext, call: Call
) -> PeerPointer:
    """Return the pointer of an envelope, or raise InvalidArtifactEnvelopeError."""
    if pointer is None:
        raise InvalidArtifactEnvelopeError("The peer has a seal, so the envelope needs a pointer.")
    found = (each.verifying_key(pointer.key_fingerprint, call.now) for each in given.anchors)
    key = next((key for key in found if key), None)
    if (
        pointer.facility_code != given.peer.code
        or key is None
        or not verifies(key, pointer.signature, SignaturePrefix.SEAL_POINTER, pointer.signed)
        or time_of(pointer.signed_at) > time_of(envelope.exported_at)
    ):
        raise InvalidArtifactEnvelopeError("The seal pointer is not one of the peer's anchors.")
    return PeerPointer(given.peer.id, pointer.sequence_number, pointer.head_hash)


def _require_fresh(pointer: PeerPointer, given: ImportContext) -> None:
    last, same = given.last_pointer, given.same_pointer
    if last and pointer.sequence_number < last.sequence_number:
        text = f"It has number {pointer.sequence_number}, and {last.sequence_number} was accepted."
        raise StaleSealPointerError(text)
    if same and same.head_hash != pointer.head_hash:
        raise SealPointerConflictError(
            f"Number {same.sequence_number} was accepted with head {same.head_hash}.",
            facility_code=given.peer.code,
            sequence_number=same.sequence_number,
            accepted_head_hash=same.head_hash,
            offered_head_hash=pointer.head_hash,
        )


# fmt: off
OPERATIONS = (
    permits.changes("POST /federation/permits/{permit_id}/import", ImportPermitArtifact,
        import_artifact, InvalidArtifactEnvelopeError, PermitCannotImportError,
        StaleSealPointerError, SealPointerConflictError, ArtifactAlreadyImportedError,
        StaleArtifactError, given=import_context, title="Import an artifact under a permit"),
)
