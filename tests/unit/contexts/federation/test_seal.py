"""Seal and trust anchors: who signs the pointer of the own site, and who vouches for that key."""

import asyncio
from datetime import timedelta
from uuid import UUID

from tests.unit.contexts.federation.parts import (
    HALL,
    OWN,
    OWN_CODE,
    PEER,
    SITES,
    P,
    another_key,
    hall,
    key_of,
    no_key,
    ref_of,
)

from beamkeep.contexts.federation import seal, trust_anchor
from beamkeep.contexts.federation.credential import (
    CredentialNotFoundError,
    CredentialRevoked,
)
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityNotFoundError,
    FacilityTrustAnchorCredentialAdded,
    FacilityTrustAnchorCredentialRemoved,
    facilities,
)
from beamkeep.contexts.federation.seal import (
    InitializeSeal,
    InvalidSealHeadHashError,
    InvalidSealSignatureError,
    RotateSealOnlineKey,
    SealAlreadyExistsError,
    SealCannotInitializeError,
    SealCannotRotateOnlineKeyError,
    SealCannotSignPointerError,
    SealCredentialNotTrustAnchorError,
    SealInitialized,
    SealKeyCollisionError,
    SealKeyPurposeMismatchError,
    SealNotFoundError,
    SealOnlineKeyRotated,
    SealPointerSigned,
    SealRotation,
    SealSequenceNumberRegressionError,
    SignSealPointer,
    begin,
    evolve,
    public_keys,
)
from beamkeep.contexts.federation.signatures import (
    SignaturePrefix,
    SignerUnavailableError,
    key_fingerprint,
    verifies,
)
from beamkeep.contexts.federation.trust_anchor import (
    AddFacilityTrustAnchorCredential,
    FacilityCannotAddTrustAnchorCredentialError,
    FacilityCannotRemoveTrustAnchorCredentialError,
    RemoveFacilityTrustAnchorCredential,
)
from beamkeep.kernel import Event, SideWrite, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, NOW, Past
from beamkeep.testing.scenario import Scenario
from beamkeep.testing.signing import public_key, sign, signed

ONLINE, ROOT, NEXT, PLAIN = UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4)
online = key_of(1, "own-1", purpose=P.SEAL_ONLINE_SIGNING)
root = key_of(2, "root", purpose=P.SEAL_OFFLINE_ROOT)
following = key_of(3, "own-2", purpose=P.SEAL_ONLINE_SIGNING)
plain = key_of(4, "own-3")
KEYS = (*SITES, online, root, following, plain, ref_of(1, "own-1"), ref_of(3, "own-2"))


def anchored(id: UUID, facility_id: UUID = OWN) -> FacilityTrustAnchorCredentialAdded:
    return FacilityTrustAnchorCredentialAdded(NOW, facility_id, id)


ANCHORED = (*KEYS, *map(anchored, (ONLINE, ROOT, NEXT)))
initialized = SealInitialized(NOW, OWN, ONLINE, ROOT)
SEALED = (*ANCHORED, initialized)
HEAD = "ab" * 32
INITIALIZE = InitializeSeal(
    facility_id=OWN, online_credential_id=ONLINE, offline_credential_id=ROOT
)
POINT = SignSealPointer(facility_id=OWN, head_hash=HEAD, sequence_number=1)
PRINT, NEXT_PRINT = key_fingerprint(public_key("own-1")), key_fingerprint(public_key("own-2"))
POINTER = {
    "facility_code": OWN_CODE,
    "head_hash": HEAD,
    "sequence_number": 1,
    "signed_at": "2030-01-01T00:00:00.000000Z",
    "key_fingerprint": PRINT,
}
SIGNATURE = signed("own-1", SignaturePrefix.SEAL_POINTER, POINTER)
pointed = SealPointerSigned(NOW, OWN, HEAD, 1, NOW, ONLINE, PRINT, SIGNATURE)
ROTATION = {
    "facility_code": OWN_CODE,
    "previous_key_fingerprint": PRINT,
    "new_key_fingerprint": NEXT_PRINT,
    "sequence_number": 1,
}
BY_ROOT = signed("root", SignaturePrefix.SEAL_ROTATION, ROTATION)
ROTATE = RotateSealOnlineKey(
    facility_id=OWN,
    new_online_credential_id=NEXT,
    signed_by_offline_root=True,
    offline_root_signature=BY_ROOT,
)
rotated = SealOnlineKeyRotated(
    NOW, OWN, ONLINE, NEXT, True, BY_ROOT, PRINT, NEXT_PRINT, public_key("own-2"), 1
)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario((*seal.OPERATIONS, *trust_anchor.OPERATIONS), history)


def initializing(**changes: object) -> InitializeSeal:
    return INITIALIZE.model_copy(update=changes)


def rotating(**changes: object) -> RotateSealOnlineKey:
    return ROTATE.model_copy(update=changes)


def revoked(id: UUID) -> CredentialRevoked:
    return CredentialRevoked(NOW, id, "lost")


def test_the_own_site_gets_a_seal_of_two_anchored_keys():
    given(*ANCHORED).when(INITIALIZE).then(initialized)


def test_what_a_seal_names_must_exist():
    given(*ANCHORED).when(initializing(facility_id=ABSENT)).refused(FacilityNotFoundError)
    for name in ("online_credential_id", "offline_credential_id"):
        given(*ANCHORED).when(initializing(**{name: ABSENT})).refused(CredentialNotFoundError)


def test_only_the_own_site_has_a_seal_and_only_one():
    given(*ANCHORED).when(initializing(facility_id=PEER)).refused(
        SealCannotInitializeError, "north-ring is not the own site"
    )
    given(*SEALED).when(INITIALIZE).refused(SealAlreadyExistsError)


def test_the_keys_of_a_seal_differ_and_have_their_purposes():
    given(*ANCHORED).when(initializing(offline_credential_id=ONLINE)).refused(SealKeyCollisionError)
    same = replace(root, public_key=online.public_key)
    given(*(same if part is root else part for part in ANCHORED)).when(INITIALIZE).refused(
        SealKeyCollisionError
    )
    swapped = initializing(online_credential_id=ROOT, offline_credential_id=ONLINE)
    given(*ANCHORED).when(swapped).refused(SealKeyPurposeMismatchError)
    given(*ANCHORED).when(initializing(offline_credential_id=PLAIN)).refused(
        SealKeyPurposeMismatchError, "SealOnlineSigning and DatasetExchange"
    )


def test_the_keys_of_a_seal_are_anchors_and_usable():
    for only in (ONLINE, ROOT):
        given(*KEYS, anchored(only)).when(INITIALIZE).refused(SealCredentialNotTrustAnchorError)
    for gone in (ONLINE, ROOT):
        given(*ANCHORED, revoked(gone)).when(INITIALIZE).refused(
            SealCannotInitializeError, "is Revoked"
        )


def test_a_pointer_is_signed_by_the_online_key():
    given(*SEALED).when(POINT, outside=sign).then(pointed)
    assert verifies(public_key("own-1"), SIGNATURE, SignaturePrefix.SEAL_POINTER, POINTER)


def test_a_pointer_is_not_signed_before_the_last_one():
    early = replace(CALL, now=NOW - timedelta(seconds=3))
    (event,) = (
        given(*SEALED, pointed)
        .when(POINT.model_copy(update={"sequence_number": 2}), call=early, outside=sign)
        .decided()
    )
    assert isinstance(event, SealPointerSigned)
    assert (event.occurred_at, event.signed_at) == (early.now, NOW)


def test_a_head_is_a_digest_and_its_number_rises_by_one():
    for head in ("x" * 64, HEAD[:-1], HEAD.upper()):
        given(*SEALED).when(POINT.model_copy(update={"head_hash": head})).refused(
            InvalidSealHeadHashError
        )
    for number in (1, 3, 2**40):
        given(*SEALED, pointed).when(POINT.model_copy(update={"sequence_number": number})).refused(
            SealSequenceNumberRegressionError, "The next one is 2."
        )


def test_a_pointer_needs_a_usable_key_that_the_signer_has():
    given(*SEALED, revoked(ONLINE)).when(POINT).refused(SealCannotSignPointerError, "is Revoked")
    without = [part for part in SEALED if part != ref_of(1, "own-1")]
    given(*without).when(POINT).refused(SealCannotSignPointerError, "The signer does not have")
    for outside in (no_key, another_key):
        given(*SEALED).when(POINT, outside=outside).refused(
            SignerUnavailableError, "another public key"
        )


def test_the_offline_root_vouches_for_a_new_online_key():
    given(*SEALED, pointed).when(ROTATE).then(rotated)
    state = evolve(evolve(begin(initialized), pointed), rotated)
    assert (state.online_credential_id, state.sequence_number, state.signature) == (
        NEXT,
        1,
        SIGNATURE,
    )
    assert state.last_rotation == SealRotation(PRINT, NEXT_PRINT, public_key("own-2"), 1, BY_ROOT)


def test_a_rotation_without_the_root_says_so():
    alone = {"signed_by_offline_root": False, "offline_root_signature": None}
    given(*SEALED, pointed).when(rotating(**alone)).then(
        replace(rotated, signed_by_offline_root=False, offline_root_signature=None)
    )
    # It is possible when the root is lost, too.
    given(*SEALED, pointed, revoked(ROOT)).when(rotating(**alone)).decided()


def test_the_signature_of_a_rotation_is_given_if_and_only_if_the_root_signed():
    for wrong in ({"signed_by_offline_root": False}, {"offline_root_signature": None}):
        given(*SEALED, pointed).when(rotating(**wrong)).refused(InvalidSealSignatureError)


def test_a_signature_over_another_rotation_does_not_count():
    for name, value in (
        ("facility_code", "north-ring"),
        ("previous_key_fingerprint", NEXT_PRINT),
        ("new_key_fingerprint", PRINT),
        ("sequence_number", 2),
    ):
        other = signed("root", SignaturePrefix.SEAL_ROTATION, {**ROTATION, name: value})
        given(*SEALED, pointed).when(rotating(offline_root_signature=other)).refused(
            InvalidSealSignatureError, "does not verify"
        )
    forged = signed("own-2", SignaturePrefix.SEAL_ROTATION, ROTATION)
    given(*SEALED, pointed).when(rotating(offline_root_signature=forged)).refused(
        InvalidSealSignatureError, "does not verify"
    )


def test_a_new_online_key_is_another_anchored_usable_one():
    one = given(*SEALED, pointed)
    one.when(rotating(new_online_credential_id=ABSENT)).refused(CredentialNotFoundError)
    one.when(rotating(new_online_credential_id=ONLINE)).refused(SealCannotRotateOnlineKeyError)
    one.when(rotating(new_online_credential_id=ROOT)).refused(SealKeyCollisionError)
    one.when(rotating(new_online_credential_id=PLAIN)).refused(SealKeyPurposeMismatchError)
    given(*KEYS, anchored(ONLINE), anchored(ROOT), initialized).when(ROTATE).refused(
        SealCredentialNotTrustAnchorError
    )
    for gone in (NEXT, ROOT):
        given(*SEALED, pointed, revoked(gone)).when(ROTATE).refused(
            SealCannotRotateOnlineKeyError, "is Revoked"
        )


def test_a_seal_that_is_not_there_is_not_changed():
    for command in (POINT, ROTATE):
        given(*ANCHORED).when(command).refused(SealNotFoundError)


def test_a_seal_is_shown_with_the_keys_that_verify_it():
    past = Past([*SEALED, pointed, rotated])
    shown = asyncio.run(public_keys([OWN], past))[OWN]
    assert (shown.facility_code, shown.online_public_key, shown.offline_public_key) == (
        OWN_CODE,
        public_key("own-2"),
        public_key("root"),
    )
    past.shows_past = True
    assert asyncio.run(public_keys([OWN], past))[OWN].online_public_key is None


ADD = AddFacilityTrustAnchorCredential(facility_id=OWN, credential_id=ONLINE)
REMOVE = RemoveFacilityTrustAnchorCredential(
    facility_id=OWN, credential_id=ONLINE, reason=" replaced "
)
removed = FacilityTrustAnchorCredentialRemoved(NOW, OWN, ONLINE, "replaced")


def adding(**changes: object) -> AddFacilityTrustAnchorCredential:
    return ADD.model_copy(update=changes)


def test_a_seal_key_of_a_site_becomes_its_anchor_and_stops_being_one():
    given(*KEYS).when(ADD).then(anchored(ONLINE))
    given(*KEYS, anchored(ONLINE)).when(REMOVE).then(removed)
    state = asyncio.run(Past([*KEYS, anchored(ROOT), anchored(ONLINE)]).one(facilities, OWN))
    assert state.trust_anchor_credential_ids == (ONLINE, ROOT)
    assert facilities.evolve(state, removed).trust_anchor_credential_ids == (ROOT,)


def test_an_anchor_is_a_seal_key_of_the_same_active_site_that_is_not_revoked():
    refusal = FacilityCannotAddTrustAnchorCredentialError
    one = given(*KEYS, hall)
    one.when(adding(credential_id=ABSENT)).refused(CredentialNotFoundError)
    one.when(adding(facility_id=PEER)).refused(refusal, "another facility")
    one.when(adding(facility_id=HALL)).refused(refusal, "has kind Area")
    one.when(adding(credential_id=PLAIN)).refused(refusal, "is for DatasetExchange")
    given(*KEYS, revoked(ONLINE)).when(ADD).refused(refusal, "The credential is Revoked")
    given(*KEYS, FacilityDecommissioned(NOW, OWN, "closed")).when(ADD).refused(
        refusal, "Decommissioned"
    )


def test_a_site_has_an_anchor_once_and_at_most_20():
    refusal = FacilityCannotAddTrustAnchorCredentialError
    given(*KEYS, anchored(ONLINE)).when(ADD).refused(refusal, "already")
    full = [anchored(UUID(int=number)) for number in range(500, 520)]
    given(*KEYS, *full).when(ADD).refused(refusal, "has 20 trust anchors")
    given(*KEYS, *full[1:]).when(ADD).then(anchored(ONLINE))


def test_an_anchor_is_removed_from_an_active_site_unless_its_seal_uses_it():
    refusal = FacilityCannotRemoveTrustAnchorCredentialError
    given(*KEYS).when(REMOVE).refused(refusal, "not a trust anchor")
    given(*SEALED).when(REMOVE).refused(refusal, "uses the credential")
    of_root = REMOVE.model_copy(update={"credential_id": ROOT})
    given(*SEALED).when(of_root).refused(refusal, "uses the credential")
    given(*SEALED, rotated).when(REMOVE).then(removed)
    given(*KEYS, anchored(ONLINE), FacilityDecommissioned(NOW, OWN, "closed")).when(REMOVE).refused(
        refusal, "Decommissioned"
    )
    later = replace(CALL, now=LATER)
    given(*KEYS, anchored(ONLINE)).when(REMOVE, call=later).then(
        replace(removed, occurred_at=LATER)
    )
