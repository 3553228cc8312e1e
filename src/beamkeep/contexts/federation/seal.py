"""Seal: the signed pointer to the head of a facility's register, by which peers see freshness."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Le, MaxLen, MinLen

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    NotFound,
    Outside,
    Record,
    UnnamedListing,
    reads,
    replace,
)
from beamkeep.schemas import Json

from .credential import (
    Credential,
    CredentialNotFoundError,
    CredentialPurpose,
    CredentialSecretRefs,
    credentials,
    secret_refs,
)
from .facility import Facility, FacilityNotFoundError, facilities, is_own_site
from .signatures import (
    LARGEST_INTEGER,
    SignaturePrefix,
    SignatureText,
    SignedContent,
    SignerUnavailableError,
    signed_outside,
    verifies,
)

HASH = r"[0-9a-f]{64}"


# Events are stored for ever: add a field with a default; never rename or drop one.
class SealEvent(Event):
    facility_id: UUID


class SealInitialized(SealEvent):
    online_credential_id: UUID
    offline_credential_id: UUID


class SealPointerSigned(SealEvent):
    head_hash: str
    sequence_number: int
    signed_at: datetime
    credential_id: UUID
    key_fingerprint: str
    signature: str


class SealOnlineKeyRotated(SealEvent):
    previous_online_credential_id: UUID
    new_online_credential_id: UUID
    signed_by_offline_root: bool
    offline_root_signature: str | None
    previous_key_fingerprint: str
    new_key_fingerprint: str
    new_public_key: str
    sequence_number: int


type SealChanged = SealPointerSigned | SealOnlineKeyRotated


class SealNotFoundError(NotFound): ...


class InvalidSealHeadHashError(Invalid):
    """Head hash must have 64 lower-case hexadecimal characters."""


class InvalidSealSignatureError(Invalid):
    """A rotation that the offline root signed needs its signature, and no other has one."""


class SealCannotInitializeError(Cannot):
    """Only the own site can have a seal, and both of its keys must be usable."""


class SealAlreadyExistsError(Cannot):
    """The facility has a seal; rotate its online key instead."""


class SealKeyCollisionError(Cannot):
    """Online key and offline root must be different credentials with different keys."""


class SealKeyPurposeMismatchError(Cannot):
    """Online key must have purpose SealOnlineSigning, and offline root SealOfflineRoot."""


class SealCredentialNotTrustAnchorError(Cannot):
    """Keys of a seal must be trust anchors of the site; add the credential as an anchor first."""


class SealSequenceNumberRegressionError(Cannot):
    """Sequence number of a pointer must be one above the last one."""


class SealCannotSignPointerError(Cannot):
    """The online key of the seal must be usable."""


class SealCannotRotateOnlineKeyError(Cannot):
    """The new online key must be usable and another one, and an offline root that signs usable."""


class SealRotation(Record):
    """The last rotation of the online key, as a peer checks it."""

    previous_key_fingerprint: str
    new_key_fingerprint: str
    new_public_key: str
    sequence_number: int
    offline_root_signature: str | None


class Seal(Record):
    id: UUID
    online_credential_id: UUID
    offline_credential_id: UUID
    head_hash: str | None = None
    sequence_number: int = 0
    signed_at: datetime | None = None
    key_fingerprint: str | None = None
    signature: str | None = None
    last_rotation: SealRotation | None = None


def begin(event: SealInitialized) -> Seal:
    return Seal.of(event, id=event.facility_id)


def evolve(seal: Seal, event: SealChanged) -> Seal:
    match event:
        case SealPointerSigned():
            return replace(
                seal,
                head_hash=event.head_hash,
                sequence_number=event.sequence_number,
                signed_at=event.signed_at,
                key_fingerprint=event.key_fingerprint,
                signature=event.signature,
            )
        case SealOnlineKeyRotated():
            rotation, online = SealRotation.of(event), event.new_online_credential_id
            return replace(seal, online_credential_id=online, last_rotation=rotation)


class InitializeSeal(Command):
    facility_id: UUID
    online_credential_id: UUID
    """The key that signs pointers."""
    offline_credential_id: UUID
    """The key that vouches for new online keys; its private half is kept off the network."""


class SealCommand(Command):
    facility_id: UUID


class SignSealPointer(SealCommand):
    head_hash: Annotated[str, MinLen(1), MaxLen(64)]
    """SHA-256 of the head of the facility's register, in lower-case hexadecimal."""
    sequence_number: Annotated[int, Ge(1), Le(LARGEST_INTEGER)]
    """Number of the pointer, above that of the last pointer."""


class RotateSealOnlineKey(SealCommand):
    new_online_credential_id: UUID
    signed_by_offline_root: bool
    """Whether the offline root has signed the rotation, which peers can check."""
    offline_root_signature: SignatureText | None = None
    """Signature of the offline root over the rotation; given if signed_by_offline_root is true."""


class NewSeal(Record):
    """The site of a new seal, its two keys, and the seal that the site has already."""

    site: Facility
    is_own: bool
    online: Credential
    offline: Credential
    existing: Seal | None


class SealSigner(Record):
    """The site of a seal, its online key, and how the signer knows that key."""

    site: Facility
    online: Credential
    refs: CredentialSecretRefs | None


class SealKeys(Record):
    """The site of a seal, its two keys, and the new online key."""

    site: Facility
    online: Credential
    offline: Credential
    new: Credential


async def seal_of(facility_id: UUID, read: Reader) -> Seal | None:
    """Return the seal of a facility, if it has one."""
    try:
        return await read.one(seals, facility_id)
    except SealNotFoundError:
        return None


async def new_seal(command: InitializeSeal, read: Reader) -> NewSeal:
    site = await read.one(facilities, command.facility_id)
    return NewSeal(
        site=site,
        is_own=is_own_site(site, read),
        online=await read.one(credentials, command.online_credential_id),
        offline=await read.one(credentials, command.offline_credential_id),
        existing=await seal_of(site.id, read),
    )


async def seal_signer(seal: Seal, command: SignSealPointer, read: Reader) -> SealSigner:
    return SealSigner(
        site=await read.one(facilities, seal.id),
        online=await read.one(credentials, seal.online_credential_id),
        refs=await secret_refs(seal.online_credential_id, read),
    )


async def seal_keys(seal: Seal, command: RotateSealOnlineKey, read: Reader) -> SealKeys:
    return SealKeys(
        site=await read.one(facilities, seal.id),
        online=await read.one(credentials, seal.online_credential_id),
        offline=await read.one(credentials, seal.offline_credential_id),
        new=await read.one(credentials, command.new_online_credential_id),
    )


def initialize_seal(command: InitializeSeal, given: NewSeal, call: Call) -> list[SealInitialized]:
    """Give the own site its seal, with an online key and an offline root."""
    if not given.is_own:
        raise SealCannotInitializeError(f"Facility {given.site.code} is not the own site.")
    if given.existing:
        raise SealAlreadyExistsError
    _require_fitting(given.site, online=given.online, offline=given.offline)
    for key in (given.online, given.offline):
        if not key.is_usable(call.now):
            raise SealCannotInitializeError(_unusable(key))
    return [SealInitialized.of(command, occurred_at=call.now)]


type Signing = Outside[bytes | None] | Sequence[SealPointerSigned]
"""The online key signs the pointer outside the service first."""


def sign_seal_pointer(
    seal: Seal, command: SignSealPointer, given: SealSigner, call: Call
) -> Signing:
    """Sign a pointer to the head of the facility's register, which peers get with each export."""
    if not re.fullmatch(HASH, command.head_hash):
        raise InvalidSealHeadHashError
    if command.sequence_number != (due := seal.sequence_number + 1):
        raise SealSequenceNumberRegressionError(f"The next one is {due}.")
    key = given.online
    if not key.is_usable(call.now):
        raise SealCannotSignPointerError(_unusable(key))
    if given.refs is None:
        raise SealCannotSignPointerError(
            "The signer does not have the key of the online credential."
        )
    signed_at = max(call.now, seal.signed_at or call.now)
    pointer: dict[str, Json] = {
        "facility_code": given.site.code,
        "head_hash": command.head_hash,
        "sequence_number": command.sequence_number,
        "signed_at": time_text(signed_at),
        "key_fingerprint": key.fingerprint,
    }

    def signed(signature: str) -> list[SealPointerSigned]:
        return [
            SealPointerSigned.of(
                command,
                occurred_at=call.now,
                signed_at=signed_at,
                credential_id=key.id,
                key_fingerprint=key.fingerprint,
                signature=signature,
            )
        ]

    content = SignedContent(SignaturePrefix.SEAL_POINTER, pointer)
    return signed_outside(given.refs.secret_ref, key.public_key, content, signed)


def rotate_seal_online_key(
    seal: Seal, command: RotateSealOnlineKey, given: SealKeys, call: Call
) -> list[SealOnlineKeyRotated]:
    """Let another credential sign the pointers from now on, with or without the offline root."""
    signature, new = command.offline_root_signature, given.new
    if command.signed_by_offline_root is not (signature is not None):
        raise InvalidSealSignatureError
    if new.id == seal.online_credential_id:
        raise SealCannotRotateOnlineKeyError("The new key is the current online key.")
    _require_fitting(given.site, online=new, offline=given.offline)
    if not new.is_usable(call.now):
        raise SealCannotRotateOnlineKeyError(_unusable(new))
    if signature and not given.offline.is_usable(call.now):
        raise SealCannotRotateOnlineKeyError(_unusable(given.offline))
    rotation: dict[str, Json] = {
        "facility_code": given.site.code,
        "previous_key_fingerprint": given.online.fingerprint,
        "new_key_fingerprint": new.fingerprint,
        "sequence_number": seal.sequence_number,
    }
    root = given.offline.public_key
    if signature and not verifies(root, signature, SignaturePrefix.SEAL_ROTATION, rotation):
        raise InvalidSealSignatureError("The signature does not verify with the offline root.")
    return [
        SealOnlineKeyRotated.of(
            command,
            occurred_at=call.now,
            previous_online_credential_id=seal.online_credential_id,
            previous_key_fingerprint=given.online.fingerprint,
            new_key_fingerprint=new.fingerprint,
            new_public_key=new.public_key,
            sequence_number=seal.sequence_number,
        )
    ]


def time_text(time: datetime) -> str:
    """Return a time as signed JSON has it: UTC with microseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _require_fitting(site: Facility, online: Credential, offline: Credential) -> None:
    """Raise a refusal unless two keys can be the online key and the offline root of a site."""
    if online.id == offline.id or online.public_key == offline.public_key:
        raise SealKeyCollisionError
    purposes = CredentialPurpose.SEAL_ONLINE_SIGNING, CredentialPurpose.SEAL_OFFLINE_ROOT
    if (online.purpose, offline.purpose) != purposes:
        raise SealKeyPurposeMismatchError(f"They have {online.purpose} and {offline.purpose}.")
    for key in (online, offline):
        if key.id not in site.trust_anchor_credential_ids:
            raise SealCredentialNotTrustAnchorError(f"Credential {key.id} is not an anchor.")


def _unusable(key: Credential) -> str:
    return f"Credential {key.id} is {key.status} and expires at {key.expires_at or 'no time'}."


seals = Aggregate("Seal", begin, evolve, absent=SealNotFoundError, id_name="facility_id")

# fmt: off
OPERATIONS = (
    seals.creates("POST /federation/seals", InitializeSeal, initialize_seal, FacilityNotFoundError,
        CredentialNotFoundError, SealCannotInitializeError, SealAlreadyExistsError,
        SealKeyCollisionError, SealKeyPurposeMismatchError, SealCredentialNotTrustAnchorError,
        given=new_seal, title="Initialize the seal of a facility"),
    seals.changes("POST /federation/seals/{facility_id}/pointer/sign", SignSealPointer,
        sign_seal_pointer, InvalidSealHeadHashError, SealSequenceNumberRegressionError,
        SealCannotSignPointerError, SignerUnavailableError, given=seal_signer),
    seals.changes("POST /federation/seals/{facility_id}/online-key/rotate", RotateSealOnlineKey,
        rotate_seal_online_key, CredentialNotFoundError, InvalidSealSignatureError,
        SealKeyCollisionError, SealKeyPurposeMismatchError, SealCredentialNotTrustAnchorError,
        SealCannotRotateOnlineKeyError, given=seal_keys),
)
# fmt: on


class SealPublicKeys(Record):
    facility_code: str
    online_public_key: str | None
    offline_public_key: str | None
    """The current keys; null with an earlier state."""


async def public_keys(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, SealPublicKeys]:
    """Return the codes of the facilities of seals, and the keys that verify their pointers."""
    sites = await read.many(facilities, ids)
    if read.shows_past:
        return {id: SealPublicKeys(site.code, None, None) for id, site in sites.items()}
    found = await read.many(seals, ids)
    pairs = {id: (it.online_credential_id, it.offline_credential_id) for id, it in found.items()}
    keys = await read.many(credentials, {key for pair in pairs.values() for key in pair})
    return {
        id: SealPublicKeys(sites[id].code, *(keys[key].public_key for key in pair))
        for id, pair in pairs.items()
    }


class ListSeals(UnnamedListing):
    """List seals, newest first."""


TIMES = {"rotated_at": (SealOnlineKeyRotated,)}
# fmt: off
QUESTIONS = reads("/federation/seals", seals, ListSeals, milestones=TIMES, shown_with=public_keys,
    composed_of=("Credential", "Facility"))
# fmt: on
