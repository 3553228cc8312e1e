"""The envelope in which one artifact's record travels, as both sides sign and check it."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, cast
from uuid import UUID

import msgspec
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import AfterValidator, Strict

from beamkeep.contexts.federation.credential import CredentialPurpose
from beamkeep.contexts.federation.signatures import (
    LARGEST_INTEGER,
    SignaturePrefix,
    decoded_signature,
    require_signable,
)
from beamkeep.kernel import Record
from beamkeep.schemas import JsonObject, canonical_text

FORMAT = str(SignaturePrefix.ARTIFACT)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")


def _matching(pattern: str, rule: str) -> Callable[[str], str]:
    def checked(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(rule)
        return text

    return checked


def _signature(text: str) -> str:
    if decoded_signature(text) is None:
        raise ValueError("must be a signature of 64 bytes as 86 characters of base64url")
    return text


def _time(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError("must be a time in UTC, for example 2030-01-31T08:05:00.000000Z")
    time_of(text)
    return text


_HEX = AfterValidator(_matching(r"[0-9a-f]{64}", "must have 64 lower-case hexadecimal characters"))
_ID = AfterValidator(_matching(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "must be a UUID"))
type SignedText = Annotated[str, MinLen(1), MaxLen(200)]
type SignedHash = Annotated[str, MaxLen(64), _HEX]
type SignedId = Annotated[str, MaxLen(36), _ID]
type SignedTime = Annotated[str, MaxLen(40), AfterValidator(_time)]
"""Texts that stay as they arrived: a time that is parsed and written again is another text."""
type SignedNumber = Annotated[int, Strict(), Ge(1), Le(LARGEST_INTEGER)]
type ArtifactSignature = Annotated[str, MaxLen(86), AfterValidator(_signature)]


class SealPointer(Record):
    """The pointer of the publisher's seal when it made the envelope."""

    facility_code: SignedText
    head_hash: SignedHash
    sequence_number: SignedNumber
    signed_at: SignedTime
    key_fingerprint: SignedHash
    signature: ArtifactSignature

    @property
    def signed(self) -> JsonObject:
        """What the signature of the pointer covers."""
        fields = members(self)
        del fields["signature"]
        return fields


class ArtifactEnvelope(Record):
    """A copy of one artifact's record, addressed to one facility."""

    format: SignedText
    publisher_facility_code: SignedText
    recipient_facility_code: SignedText
    audience: SignedText
    purpose: SignedText
    artifact_kind: SignedText
    artifact_id: SignedId
    content: JsonObject
    content_hash: SignedHash
    key_fingerprint: SignedHash
    seal_pointer: SealPointer | None
    exported_at: SignedTime


def signable(envelope: ArtifactEnvelope) -> ArtifactEnvelope:
    """Return the envelope; raise ValueError in words when its JSON cannot be signed."""
    require_signable(members(envelope))
    return envelope


def members(record: Record) -> JsonObject:
    """Return a record as JSON, with lists where the record has tuples."""
    return cast("JsonObject", msgspec.json.decode(msgspec.json.encode(record)))


def digest_of(content: JsonObject) -> str:
    """Return the SHA-256 of content as canonical JSON, in hexadecimal."""
    return sha256(canonical_text(content).encode()).hexdigest()


def time_of(text: str) -> datetime:
    """Return a time of an envelope. Raise ValueError when there is no such time."""
    return datetime.fromisoformat(text).astimezone(UTC)


ID_FIELDS = {
    CredentialPurpose.DATASET_EXCHANGE: "dataset_id",
    CredentialPurpose.CALIBRATION_EXCHANGE: "calibration_id",
}
"""The field of the content that has the id of the artifact, by the purpose of the permit."""


def content_id(purpose: CredentialPurpose, content: JsonObject) -> object:
    """Return the id of the artifact that a content describes."""
    return content.get(ID_FIELDS[purpose])


def id_of(envelope: ArtifactEnvelope) -> UUID:
    """Return the id that the publisher has given to the artifact."""
    return UUID(envelope.artifact_id)
