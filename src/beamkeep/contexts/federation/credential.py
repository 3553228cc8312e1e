"""Credential: one key of one facility, for one audience and one purpose."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    Event,
    Insert,
    Invalid,
    NotFound,
    Outcome,
    Outside,
    Record,
    SideWrite,
    Table,
    UnnamedListing,
    claim,
    free,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Timestamp, Trimmed
from beamkeep.schemas import Json

from .facility import (
    Facility,
    FacilityNotFoundError,
    facilities,
    is_own_site,
    require_active_site,
)
from .signatures import (
    PublicKeyText,
    SignaturePrefix,
    SignatureText,
    SignedContent,
    SignerUnavailableError,
    decoded_key,
    key_fingerprint,
    signed_outside,
    verifies,
)

KEYS = "credential"
"""The scope of the claims by which a facility has one key for each audience and purpose."""


class CredentialPurpose(StrEnum):
    DATASET_EXCHANGE = "DatasetExchange"
    CALIBRATION_EXCHANGE = "CalibrationExchange"
    SEAL_ONLINE_SIGNING = "SealOnlineSigning"
    SEAL_OFFLINE_ROOT = "SealOfflineRoot"


class CredentialStatus(StrEnum):
    ACTIVE = "Active"
    ROTATING = "Rotating"
    REVOKED = "Revoked"


class CredentialSecretRefs(Record):
    """How the signer knows the private keys of a credential of the own site."""

    credential_id: UUID
    secret_ref: str
    pending_secret_ref: str | None = None


# In a row, not in the events: what is in no event cannot appear in a history, a feed or a proof.
SECRET_REFS = Table("credential_secret_ref", CredentialSecretRefs, key=("credential_id",))


# Events are stored for ever: add a field with a default; never rename or drop one.
class CredentialEvent(Event):
    credential_id: UUID


class CredentialRegistered(CredentialEvent):
    facility_id: UUID
    audience: str
    purpose: CredentialPurpose
    public_key: str
    key_check_signature: str
    expires_at: datetime | None


class CredentialRotationStarted(CredentialEvent):
    pending_public_key: str
    pending_key_check_signature: str
    pending_expires_at: datetime | None


class CredentialRotationCompleted(CredentialEvent):
    public_key: str
    key_version: int


class CredentialRotationAborted(CredentialEvent):
    reason: FreeText


class CredentialRevoked(CredentialEvent):
    reason: FreeText


type CredentialMoved = (
    CredentialRotationStarted
    | CredentialRotationCompleted
    | CredentialRotationAborted
    | CredentialRevoked
)


class CredentialNotFoundError(NotFound): ...


class InvalidCredentialAudienceError(Blank): ...


class InvalidCredentialReasonError(Blank): ...


class InvalidCredentialPublicKeyError(Invalid):
    """Public key must be an Ed25519 key: 32 bytes as 43 characters of base64url, not weak."""


class InvalidCredentialSecretRefError(Invalid):
    """Only a key of the own site that is not an offline root has a secret_ref, and needs one."""


class InvalidCredentialKeyCheckError(Invalid):
    """A key of a peer, or an offline root, needs a key_check_signature that the key has made."""


class InvalidCredentialExpiresAtError(Invalid):
    """Time at which a key expires must be in the future."""


class CredentialAlreadyExistsError(Cannot):
    """The facility has a key for this audience and purpose; rotate or revoke that credential."""


class CredentialCannotRegisterError(Cannot):
    """Only an active site can have credentials."""


class CredentialCannotStartRotationError(Cannot):
    """Only an active credential that has not expired can begin a rotation, to another key."""


class CredentialCannotCompleteRotationError(Cannot):
    """Only a rotation to a key that has not expired can be completed."""


class CredentialCannotAbortRotationError(Cannot):
    """Only a rotation that has begun can be aborted."""


class CredentialCannotRevokeError(Cannot):
    """The credential is already revoked."""


S = CredentialStatus
STATUS: Axis[CredentialStatus, CredentialMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (CredentialRotationStarted, {S.ACTIVE}, S.ROTATING, CredentialCannotStartRotationError),
    (CredentialRotationCompleted, {S.ROTATING}, S.ACTIVE, CredentialCannotCompleteRotationError),
    (CredentialRotationAborted, {S.ROTATING}, S.ACTIVE, CredentialCannotAbortRotationError),
    (CredentialRevoked, {S.ACTIVE, S.ROTATING}, S.REVOKED, CredentialCannotRevokeError),
)


class Credential(Record):
    id: UUID
    facility_id: UUID
    audience: str
    purpose: CredentialPurpose
    public_key: str
    fingerprint: str
    key_check_signature: str
    expires_at: datetime | None
    key_version: int = 1
    status: CredentialStatus = CredentialStatus.ACTIVE
    pending_public_key: str | None = None
    pending_fingerprint: str | None = None
    pending_key_check_signature: str | None = None
    pending_expires_at: datetime | None = None

    def is_usable(self, now: datetime) -> bool:
        """Return whether its current key signs and verifies now."""
        return self.status is not S.REVOKED and _lasts(self.expires_at, now)

    def verifying_key(self, fingerprint: str, now: datetime) -> str | None:
        """Return its key with this fingerprint that verifies now, current or pending."""
        if fingerprint == self.fingerprint and self.is_usable(now):
            return self.public_key
        is_next = fingerprint == self.pending_fingerprint and self.status is S.ROTATING
        return self.pending_public_key if is_next and _lasts(self.pending_expires_at, now) else None


NONE_PENDING = dict.fromkeys(
    (
        "pending_public_key",
        "pending_fingerprint",
        "pending_key_check_signature",
        "pending_expires_at",
    )
)


def begin(event: CredentialRegistered) -> Credential:
    fingerprint = key_fingerprint(event.public_key)
    return Credential.of(event, id=event.credential_id, fingerprint=fingerprint)


def evolve(credential: Credential, event: CredentialMoved) -> Credential:
    moved = replace(credential, status=STATUS.after(event))
    match event:
        case CredentialRotationStarted():
            return replace(
                moved,
                pending_public_key=event.pending_public_key,
                pending_fingerprint=key_fingerprint(event.pending_public_key),
                pending_key_check_signature=event.pending_key_check_signature,
                pending_expires_at=event.pending_expires_at,
            )
        case CredentialRotationCompleted():
            return replace(
                moved,
                public_key=event.public_key,
                key_version=event.key_version,
                fingerprint=key_fingerprint(event.public_key),
                key_check_signature=credential.pending_key_check_signature or "",
                expires_at=credential.pending_expires_at,
                **NONE_PENDING,
            )
        case CredentialRotationAborted() | CredentialRevoked():
            return replace(moved, **NONE_PENDING)


def claims_of(credential: Credential) -> tuple[Insert, ...]:
    """Return the claim on the audience and purpose of a credential that is not revoked."""
    if credential.status is CredentialStatus.REVOKED:
        return ()
    loser = CredentialAlreadyExistsError
    return (claim(KEYS, *_use(credential), holder=credential.id, loser=loser),)


type SecretRef = Annotated[str, MinLen(1), MaxLen(500)]
type CredentialReason = Annotated[Reason, Trimmed(InvalidCredentialReasonError)]


class RegisterCredential(Command):
    facility_id: UUID
    audience: Annotated[Name, Trimmed(InvalidCredentialAudienceError)]
    """Whom the key is meant to convince, in words that both sides agreed on."""
    purpose: CredentialPurpose
    """What the key signs."""
    public_key: PublicKeyText
    """Ed25519 public key, as base64url without padding."""
    secret_ref: SecretRef | None = None
    """How the signer knows the private key: of the own site, unless it is the offline root."""
    key_check_signature: SignatureText | None = None
    """Proof that the private key exists: of a peer's key, or of the own offline root."""
    expires_at: Timestamp | None = None
    """When the key stops counting (default: never)."""


class CredentialCommand(Command):
    credential_id: UUID


class StartCredentialRotation(CredentialCommand):
    new_public_key: PublicKeyText
    """Ed25519 public key that follows, as base64url without padding."""
    new_secret_ref: SecretRef | None = None
    """How the signer knows the new private key."""
    new_key_check_signature: SignatureText | None = None
    """Proof that the new private key exists."""
    new_expires_at: Timestamp | None = None
    """When the new key stops counting (default: never)."""


class CompleteCredentialRotation(CredentialCommand): ...


class AbortCredentialRotation(CredentialCommand):
    reason: CredentialReason


class RevokeCredential(CredentialCommand):
    reason: CredentialReason


class NewKey(Record):
    """A key that somebody registers, for an audience and a purpose."""

    audience: str
    purpose: CredentialPurpose
    public_key: str
    secret_ref: str | None
    key_check_signature: str | None
    expires_at: datetime | None


class CredentialSite(Record):
    """The facility of a credential, whether it is the own site, and how the signer knows it."""

    facility: Facility
    is_own: bool
    refs: CredentialSecretRefs | None = None

    def signed_by(self, key: NewKey) -> dict[str, Json]:
        """Return what a key signs to show that its private key exists."""
        return {
            "facility_code": self.facility.code,
            "audience": key.audience,
            "purpose": key.purpose,
            "credential_key_check": key_fingerprint(key.public_key),
        }


async def credential_site(command: RegisterCredential, read: Reader) -> CredentialSite:
    facility = await read.one(facilities, command.facility_id)
    return CredentialSite(facility, is_own_site(facility, read))


async def rotating_site(
    credential: Credential, command: CredentialCommand, read: Reader
) -> CredentialSite:
    facility = await read.one(facilities, credential.facility_id)
    refs = await secret_refs(credential.id, read)
    return CredentialSite(facility, is_own_site(facility, read), refs)


async def secret_refs(credential_id: UUID, read: Reader) -> CredentialSecretRefs | None:
    """Return how the signer knows the private keys of a credential; None of a peer's."""
    found = await read.rows(SECRET_REFS, credential_id=credential_id)
    return found[0] if found else None


type Registering = Outside[bytes | None] | Sequence[CredentialRegistered | SideWrite]
"""A key of the own site signs its key check outside the service first."""
type StartingRotation = Outside[bytes | None] | Sequence[CredentialRotationStarted | SideWrite]


def register_credential(
    command: RegisterCredential, given: CredentialSite, call: Call
) -> Registering:
    """Register a key of a site, after a check that somebody has the private key."""
    key = NewKey.of(command)
    _require_sound(key, given, call)
    require_active_site(given.facility, CredentialCannotRegisterError)

    def registered(signature: str) -> list[CredentialRegistered | SideWrite]:
        fields = {"credential_id": call.new_id, "key_check_signature": signature}
        event = CredentialRegistered.of(command, occurred_at=call.now, **fields)
        refs = CredentialSecretRefs(call.new_id, key.secret_ref) if key.secret_ref else None
        return [event, *claims_of(begin(event)), *([SECRET_REFS.insert(refs)] if refs else [])]

    return _proven(key, given, registered)


def start_credential_rotation(
    credential: Credential, command: StartCredentialRotation, given: CredentialSite, call: Call
) -> StartingRotation:
    """Begin a rotation: both keys verify from now on, and the current key still signs."""
    key = NewKey(
        audience=credential.audience,
        purpose=credential.purpose,
        public_key=command.new_public_key,
        secret_ref=command.new_secret_ref,
        key_check_signature=command.new_key_check_signature,
        expires_at=command.new_expires_at,
    )
    _require_sound(key, given, call)
    STATUS.require(credential.status, CredentialRotationStarted)
    if not credential.is_usable(call.now):
        raise CredentialCannotStartRotationError(f"The key expired at {credential.expires_at}.")
    if key.public_key == credential.public_key:
        raise CredentialCannotStartRotationError("The new key is the current key.")

    def started(signature: str) -> list[CredentialRotationStarted | SideWrite]:
        event = CredentialRotationStarted(
            occurred_at=call.now,
            credential_id=credential.id,
            pending_public_key=key.public_key,
            pending_key_check_signature=signature,
            pending_expires_at=key.expires_at,
        )
        return [event, *_refs(given, pending_secret_ref=key.secret_ref)]

    return _proven(key, given, started)


def complete_credential_rotation(
    credential: Credential, command: CompleteCredentialRotation, given: CredentialSite, call: Call
) -> list[CredentialRotationCompleted | SideWrite]:
    """Complete a rotation: only the new key signs and verifies from now on."""
    STATUS.require(credential.status, CredentialRotationCompleted)
    if not _lasts(credential.pending_expires_at, call.now):
        detail = f"The new key expired at {credential.pending_expires_at}."
        raise CredentialCannotCompleteRotationError(detail)
    completed = CredentialRotationCompleted(
        occurred_at=call.now,
        credential_id=credential.id,
        public_key=credential.pending_public_key or "",
        key_version=credential.key_version + 1,
    )
    ref = given.refs.pending_secret_ref if given.refs else None
    return [completed, *_refs(given, secret_ref=ref, pending_secret_ref=None)]


def abort_credential_rotation(
    credential: Credential, command: AbortCredentialRotation, given: CredentialSite, call: Call
) -> list[CredentialRotationAborted | SideWrite]:
    """Abort a rotation: the new key is dropped, and the current key stays."""
    aborted = CredentialRotationAborted(call.now, credential.id, command.reason)
    return [STATUS.allow(credential.status, aborted), *_refs(given, pending_secret_ref=None)]


def revoke_credential(
    credential: Credential, command: RevokeCredential, given: CredentialSite, call: Call
) -> list[CredentialRevoked | SideWrite]:
    """Revoke a credential permanently; nothing that its keys sign counts from now on."""
    revoked = CredentialRevoked(call.now, credential.id, command.reason)
    dropped = _refs(given, pending_secret_ref=None)
    return [STATUS.allow(credential.status, revoked), free(KEYS, *_use(credential)), *dropped]


def _require_sound(key: NewKey, site: CredentialSite, call: Call) -> None:
    """Raise a refusal unless the key and its proof have the right form for its facility."""
    if decoded_key(key.public_key) is None:
        raise InvalidCredentialPublicKeyError
    signed_here = site.is_own and key.purpose is not CredentialPurpose.SEAL_OFFLINE_ROOT
    if signed_here is not (key.secret_ref is not None):
        raise InvalidCredentialSecretRefError(
            "Give a secret_ref." if signed_here else "Leave out the secret_ref."
        )
    if signed_here is (key.key_check_signature is not None):
        text = "Leave out the signature." if signed_here else "Give the signature of the key check."
        raise InvalidCredentialKeyCheckError(text)
    if not _lasts(key.expires_at, call.now):
        raise InvalidCredentialExpiresAtError(f"It is {key.expires_at}.")
    if (signature := key.key_check_signature) and not verifies(
        key.public_key, signature, SignaturePrefix.KEY_CHECK, site.signed_by(key)
    ):
        raise InvalidCredentialKeyCheckError("The signature does not verify with this key.")


def _proven[O: Outcome](
    key: NewKey, site: CredentialSite, then: Callable[[str], O]
) -> O | Outside[bytes | None]:
    """Return what follows once the key has signed its key check; the own keys sign it here."""
    if key.secret_ref is None:
        return then(key.key_check_signature or "")
    content = SignedContent(SignaturePrefix.KEY_CHECK, site.signed_by(key))
    refusal = InvalidCredentialSecretRefError
    return signed_outside(key.secret_ref, key.public_key, content, then, refusal=refusal)


def _refs(site: CredentialSite, **changes: str | None) -> list[SideWrite]:
    """Return the write that changes the references of the private keys, if there are any."""
    return [SECRET_REFS.replace(replace(site.refs, **changes))] if site.refs else []


def _use(credential: Credential) -> tuple[object, ...]:
    """Return the values that are unique among credentials that are not revoked."""
    return credential.facility_id, credential.audience, credential.purpose


def _lasts(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is None or now < expires_at


credentials = Aggregate("Credential", begin, evolve, absent=CredentialNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    credentials.creates("POST /federation/credentials", RegisterCredential, register_credential,
        FacilityNotFoundError, InvalidCredentialPublicKeyError, InvalidCredentialSecretRefError,
        InvalidCredentialKeyCheckError, InvalidCredentialExpiresAtError,
        CredentialCannotRegisterError, CredentialAlreadyExistsError, SignerUnavailableError,
        given=credential_site),
    credentials.changes("POST /federation/credentials/{credential_id}/rotation/start",
        StartCredentialRotation, start_credential_rotation, InvalidCredentialPublicKeyError,
        InvalidCredentialSecretRefError, InvalidCredentialKeyCheckError,
        InvalidCredentialExpiresAtError, CredentialCannotStartRotationError,
        SignerUnavailableError, given=rotating_site),
    credentials.changes("POST /federation/credentials/{credential_id}/rotation/complete",
        CompleteCredentialRotation, complete_credential_rotation,
        CredentialCannotCompleteRotationError, given=rotating_site),
    credentials.changes("POST /federation/credentials/{credential_id}/rotation/abort",
        AbortCredentialRotation, abort_credential_rotation, CredentialCannotAbortRotationError,
        given=rotating_site, destructive=True),
    credentials.changes("POST /federation/credentials/{credential_id}/revoke", RevokeCredential,
        revoke_credential, CredentialCannotRevokeError, given=rotating_site, destructive=True),
)
# fmt: on


class Usability(Record):
    usable: bool | None
    """Whether the current key signs and verifies now; null with an earlier state."""


async def usability(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, Usability]:
    """Return which credentials are usable now."""
    if read.shows_past:
        return dict.fromkeys(ids, Usability(None))
    found = await read.many(credentials, ids)
    return {id: Usability(each.is_usable(read.now)) for id, each in found.items()}


class ListCredentials(UnnamedListing):
    """List credentials, newest first."""

    facility_id: UUID | None = None
    audience: Name | None = None
    purpose: CredentialPurpose | None = None
    status: frozenset[CredentialStatus] | None = None


TIMES = {
    "rotation_started_at": (CredentialRotationStarted,),
    "revoked_at": (CredentialRevoked,),
}
QUESTIONS = reads(
    "/federation/credentials",
    credentials,
    ListCredentials,
    milestones=TIMES,
    shown_with=usability,
)
