"""Exporting: a signed copy of one artifact's record for a peer."""

from collections.abc import Mapping, Sequence
from typing import cast
from uuid import UUID

from beamkeep.contexts.calibration.calibration import (
    Calibration,
    CalibrationNotFoundError,
    calibrations,
)
from beamkeep.contexts.data.dataset import Dataset, DatasetNotFoundError, datasets
from beamkeep.contexts.federation.credential import (
    SECRET_REFS,
    Credential,
    CredentialPurpose,
    credentials,
)
from beamkeep.contexts.federation.facility import Facility, facilities, facility_by_code
from beamkeep.contexts.federation.permit import (
    ARTIFACTS,
    Permit,
    PermitCommand,
    PermitDirection,
    permits,
)
from beamkeep.contexts.federation.seal import Seal, seal_of, time_text
from beamkeep.contexts.federation.signatures import (
    SignaturePrefix,
    SignedContent,
    SignerUnavailableError,
    signed_outside,
)
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Call, Cannot, Insert, Outside, Record, Reply
from beamkeep.schemas import JsonObject

from .envelope import (
    FORMAT,
    ArtifactEnvelope,
    SealPointer,
    content_id,
    digest_of,
    members,
    signable,
)
from .ledger import EXCHANGES, exchanged

DATASET_FIELDS = (
    "checksum",
    "byte_size",
    "encoding",
    "digests",
    "file_count",
    "of_parts",
    "producing_run_id",
    "subject_id",
    "derived_from",
    "used_calibration_ids",
    "retain_until",
    "available_from",
    "created_at",
    "status",
    "intent",
    "external_id",
    "external_id_namespace",
    "external_id_state",
)
CALIBRATION_FIELDS = (
    "asset_id",
    "quantity",
    "operating_point",
    "created_at",
    "revisions",
    "revision_count",
    "current_revision_id",
    "current_status",
    "current_source_kind",
    "last_revised_at",
)
"""What a peer gets: no free text and no actor, because both may be personal data."""


class PermitCannotExportError(Cannot):
    """An export needs an outbound permit in force and a usable key that the permit allows."""


class ExportPermitArtifact(PermitCommand):
    artifact_id: UUID
    """The dataset or calibration, by the purpose of the permit."""
    credential_id: UUID | None = None
    """The key that signs (default: the usable key with the lowest id)."""


class ArtifactExported(Reply):
    exchange_id: UUID
    envelope: ArtifactEnvelope
    signature: str


class ExportContext(Record):
    """The parties and the keys of an outbound permit, and the record to send."""

    peer: Facility
    own: Facility
    allowed: Mapping[UUID, Credential]
    secret_refs: Mapping[UUID, str]
    seal: Seal | None
    content: JsonObject


async def export_context(
    permit: Permit, command: ExportPermitArtifact, read: Reader
) -> ExportContext:
    own = await facility_by_code(read.facts.facility_code, read)
    refs = await read.rows(SECRET_REFS, credential_id={*permit.allowed_credential_ids})
    if permit.purpose is CredentialPurpose.CALIBRATION_EXCHANGE:
        found = await read.one(calibrations, command.artifact_id, to_show=True)
        content = calibration_content(found)
    else:
        content = dataset_content(await read.one(datasets, command.artifact_id, to_show=True))
    return ExportContext(
        peer=await read.one(facilities, permit.peer_facility_id),
        own=own,
        allowed=await read.many(credentials, permit.allowed_credential_ids),
        secret_refs={row.credential_id: row.secret_ref for row in refs},
        seal=await seal_of(own.id, read),
        content=content,
    )


def dataset_content(dataset: Dataset) -> JsonObject:
    """Return what a peer is sent of a dataset."""
    return {"dataset_id": str(dataset.id), **_chosen(dataset, DATASET_FIELDS)}


def calibration_content(calibration: Calibration) -> JsonObject:
    """Return what a peer is sent of a calibration."""
    content = _chosen(calibration, CALIBRATION_FIELDS)
    for revision in cast("list[dict[str, JsonObject]]", content["revisions"]):
        revision["source"].pop("actor_id", None)
    return {"calibration_id": str(calibration.id), **content}


type Exporting = Outside[bytes | None] | Sequence[Insert | ArtifactExported]
"""A key of the own site signs the envelope outside the service first."""


def export_artifact(
    permit: Permit, command: ExportPermitArtifact, given: ExportContext, call: Call
) -> Exporting:
    """Make a signed copy of a dataset's or calibration's record for the peer of a permit."""
    if permit.direction is not PermitDirection.OUTBOUND:
        raise PermitCannotExportError(f"The permit is {permit.direction}.")
    if not permit.is_in_force(given.peer, call.now):
        raise PermitCannotExportError(f"The permit is {permit.status} until {permit.expires_at}.")
    key = _signing_key(command, given, call)
    envelope = ArtifactEnvelope(
        format=FORMAT,
        publisher_facility_code=given.own.code,
        recipient_facility_code=given.peer.code,
        audience=permit.audience,
        purpose=permit.purpose,
        artifact_kind=ARTIFACTS[permit.purpose],
        artifact_id=str(content_id(permit.purpose, given.content)),
        content=given.content,
        content_hash=_digest(given.content),
        key_fingerprint=key.fingerprint,
        seal_pointer=_pointer(given),
        exported_at=time_text(call.now),
    )
    try:
        signed = members(signable(envelope))
    except ValueError as error:
        raise PermitCannotExportError(f"The record cannot be signed: {error}.") from None

    def sent(signature: str) -> list[Insert | ArtifactExported]:
        pointer = envelope.seal_pointer
        row = exchanged(
            permit, envelope, pointer, credential_id=key.id, signature=signature, call=call
        )
        # Two exports at the same microsecond would have one signature; the later is made again.
        return [EXCHANGES.insert(row), ArtifactExported(call.new_id, envelope, signature)]

    content = SignedContent(SignaturePrefix.ARTIFACT, signed)
    return signed_outside(given.secret_refs[key.id], key.public_key, content, sent)


def _signing_key(command: ExportPermitArtifact, given: ExportContext, call: Call) -> Credential:
    """Return the key that signs. Raise PermitCannotExportError when none can."""
    if (chosen := command.credential_id) and chosen not in given.allowed:
        raise PermitCannotExportError(f"The permit does not allow credential {chosen}.")
    wanted = [chosen] if chosen else sorted(given.allowed)
    for id in wanted:
        if given.allowed[id].is_usable(call.now) and id in given.secret_refs:
            return given.allowed[id]
    detail = f"Credential {chosen} is" if chosen else "None of the allowed credentials is"
    raise PermitCannotExportError(f"{detail} usable.")


def _pointer(given: ExportContext) -> SealPointer | None:
    seal = given.seal
    if not seal or not (seal.head_hash and seal.signed_at and seal.key_fingerprint):
        return None
    code, signed_at = given.own.code, time_text(seal.signed_at)
    signature = seal.signature or ""
    return SealPointer.of(seal, facility_code=code, signed_at=signed_at, signature=signature)


def _digest(content: JsonObject) -> str:
    try:
        return digest_of(content)
    except ValueError as error:
        raise PermitCannotExportError(f"The record cannot be signed: {error}.") from None


def _chosen(record: Record, names: Sequence[str]) -> JsonObject:
    fields = members(record)
    return {name: fields[name] for name in names}


# fmt: off
OPERATIONS = (
    permits.changes("POST /federation/permits/{permit_id}/export", ExportPermitArtifact,
        export_artifact, DatasetNotFoundError, CalibrationNotFoundError, PermitCannotExportError,
        SignerUnavailableError, given=export_context, title="Export an artifact under a permit"),
)
