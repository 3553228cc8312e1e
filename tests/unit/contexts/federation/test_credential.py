"""Credential: keys of facilities, the proof that they exist, and their rotation."""

import asyncio
from datetime import timedelta

import pytest
from tests.unit.contexts.federation.parts import (
    HALL,
    OWN,
    OWN_CODE,
    PEER,
    PEER_CODE,
    SITES,
    P,
    another_key,
    hall,
    key_of,
    no_key,
    peer,
    ref_of,
)

from beamkeep.contexts.federation.credential import (
    OPERATIONS,
    SECRET_REFS,
    AbortCredentialRotation,
    CompleteCredentialRotation,
    CredentialAlreadyExistsError,
    CredentialCannotAbortRotationError,
    CredentialCannotCompleteRotationError,
    CredentialCannotRegisterError,
    CredentialCannotRevokeError,
    CredentialCannotStartRotationError,
    CredentialNotFoundError,
    CredentialRegistered,
    CredentialRevoked,
    CredentialRotationAborted,
    CredentialRotationCompleted,
    CredentialRotationStarted,
    CredentialSecretRefs,
    CredentialSite,
    CredentialStatus,
    InvalidCredentialExpiresAtError,
    InvalidCredentialKeyCheckError,
    InvalidCredentialPublicKeyError,
    InvalidCredentialSecretRefError,
    RegisterCredential,
    RevokeCredential,
    StartCredentialRotation,
    begin,
    claims_of,
    evolve,
    usability,
)
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityNotFoundError,
)
from beamkeep.contexts.federation.facility import begin as begin_facility
from beamkeep.contexts.federation.signatures import (
    SMALL_ORDER,
    SignerUnavailableError,
    SignMessage,
    encoded,
    key_fingerprint,
)
from beamkeep.kernel import Event, SideWrite, free, replace
from beamkeep.testing.past import CALL, LATER, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix
from beamkeep.testing.signing import key_check, public_key, sign

CHECK = key_check("own-1", OWN_CODE, "imaging", P.DATASET_EXCHANGE)
PEER_CHECK = key_check("theirs", PEER_CODE, "imaging", P.DATASET_EXCHANGE)
OWN_KEY = RegisterCredential(
    facility_id=OWN,
    audience=" imaging ",
    purpose=P.DATASET_EXCHANGE,
    public_key=public_key("own-1"),
    secret_ref="own-1",
)
PEER_KEY = RegisterCredential(
    facility_id=PEER,
    audience="imaging",
    purpose=P.DATASET_EXCHANGE,
    public_key=public_key("theirs"),
    key_check_signature=PEER_CHECK,
)
registered = key_of(1, "own-1")
theirs = key_of(2, "theirs", PEER)
ID, THEIRS = registered.credential_id, theirs.credential_id
NEXT_CHECK = key_check("own-2", OWN_CODE, "exchange-1", P.DATASET_EXCHANGE)
started = CredentialRotationStarted(NOW, ID, public_key("own-2"), NEXT_CHECK, LATER)
completed = CredentialRotationCompleted(NOW, ID, public_key("own-2"), 2)
aborted, revoked = CredentialRotationAborted(NOW, ID, "late"), CredentialRevoked(NOW, ID, "lost")
START = StartCredentialRotation(
    credential_id=ID,
    new_public_key=public_key("own-2"),
    new_secret_ref="own-2",
    new_expires_at=LATER,
)
COMPLETE = CompleteCredentialRotation(credential_id=ID)
ABORT = AbortCredentialRotation(credential_id=ID, reason=" late ")
REVOKE = RevokeCredential(credential_id=ID, reason="lost")
ROTATING = (*SITES, registered, started)
REFS = CredentialSecretRefs(ID, "own-1")
PENDING = SECRET_REFS.insert(replace(REFS, pending_secret_ref="own-2"))
EXPIRED = replace(CALL, now=LATER)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history)


def own_key(**changes: object) -> RegisterCredential:
    return OWN_KEY.model_copy(update=changes)


def peer_key(**changes: object) -> RegisterCredential:
    return PEER_KEY.model_copy(update=changes)


def starting(**changes: object) -> StartCredentialRotation:
    return START.model_copy(update=changes)


def unavailable(request: SignMessage) -> bytes:
    raise SignerUnavailableError


def test_a_key_of_the_own_site_signs_its_key_check_and_is_registered():
    event = CredentialRegistered(
        NOW, NEW, OWN, "imaging", P.DATASET_EXCHANGE, OWN_KEY.public_key, CHECK, None
    )
    given(*SITES).when(OWN_KEY, outside=sign).then(
        event, *claims_of(begin(event)), SECRET_REFS.insert(CredentialSecretRefs(NEW, "own-1"))
    )


def test_a_key_of_a_peer_is_registered_with_the_signature_that_came_with_it():
    event = CredentialRegistered(
        NOW, NEW, PEER, "imaging", P.DATASET_EXCHANGE, PEER_KEY.public_key, PEER_CHECK, LATER
    )
    given(*SITES).when(peer_key(expires_at=LATER)).then(event, *claims_of(begin(event)))


def test_the_offline_root_of_the_own_site_is_registered_like_a_key_of_a_peer():
    check = key_check("root", OWN_CODE, "imaging", P.SEAL_OFFLINE_ROOT)
    root = {"facility_id": OWN, "purpose": P.SEAL_OFFLINE_ROOT, "public_key": public_key("root")}
    event, *_ = given(*SITES).when(peer_key(**root, key_check_signature=check)).decided()
    assert isinstance(event, CredentialRegistered)
    assert event.key_check_signature == check
    given(*SITES).when(own_key(purpose=P.SEAL_OFFLINE_ROOT)).refused(
        InvalidCredentialSecretRefError, "Leave out"
    )


def test_an_event_of_a_credential_does_not_say_how_the_signer_knows_the_key():
    assert "secret_ref" not in " ".join(CredentialRegistered.__struct_fields__)
    assert "secret_ref" not in " ".join(CredentialRotationStarted.__struct_fields__)


def test_what_is_no_key_or_a_weak_one_is_not_registered():
    for text in ("key", public_key("own-1")[:-1], *map(encoded, SMALL_ORDER)):
        given(*SITES).when(own_key(public_key=text)).refused(InvalidCredentialPublicKeyError)


def test_a_key_has_a_secret_ref_or_a_key_check_and_never_both():
    own, theirs = given(*SITES), given(*SITES)
    own.when(own_key(secret_ref=None)).refused(InvalidCredentialSecretRefError, "Give a secret_ref")
    own.when(own_key(key_check_signature=CHECK)).refused(InvalidCredentialKeyCheckError, "Leave")
    theirs.when(peer_key(key_check_signature=None)).refused(InvalidCredentialKeyCheckError, "Give")
    theirs.when(peer_key(secret_ref="x")).refused(InvalidCredentialSecretRefError, "Leave out")


def test_a_key_whose_private_half_nobody_has_shown_is_not_registered():
    for wrong in (
        {"public_key": public_key("another")},
        {"audience": "spectroscopy"},
        {"purpose": P.CALIBRATION_EXCHANGE},
        {"key_check_signature": key_check("theirs", OWN_CODE, "imaging", P.DATASET_EXCHANGE)},
        {"key_check_signature": PEER_CHECK[:-1]},
    ):
        given(*SITES).when(peer_key(**wrong)).refused(InvalidCredentialKeyCheckError, "verify")


def test_a_signer_with_another_key_or_none_is_noticed():
    for outside in (no_key, another_key):
        given(*SITES).when(OWN_KEY, outside=outside).refused(
            InvalidCredentialSecretRefError, "no key under this name"
        )
    given(*SITES).when(OWN_KEY, outside=unavailable).refused(SignerUnavailableError)


def test_a_key_that_has_expired_is_not_registered():
    for time in (NOW, NOW - timedelta(days=1)):
        given(*SITES).when(own_key(expires_at=time)).refused(InvalidCredentialExpiresAtError)


def test_only_an_active_site_has_keys():
    given().when(OWN_KEY).refused(FacilityNotFoundError)
    closed = FacilityDecommissioned(NOW, PEER, "closed")
    given(peer, closed).when(PEER_KEY).refused(CredentialCannotRegisterError, "Decommissioned")
    check = key_check("theirs", "hall-2", "imaging", P.DATASET_EXCHANGE)
    area = peer_key(facility_id=HALL, key_check_signature=check)
    given(peer, hall).when(area).refused(CredentialCannotRegisterError, "Area")


def test_a_facility_has_one_key_for_each_audience_and_purpose_until_it_is_revoked():
    taken = claims_of(replace(begin(theirs), audience="imaging"))
    given(*SITES, *taken).when(PEER_KEY).refused(CredentialAlreadyExistsError)
    freed = free("credential", PEER, "imaging", P.DATASET_EXCHANGE)
    given(*SITES, *taken, freed).when(PEER_KEY).decided()


def test_a_rotation_begins_with_a_new_key_that_signs_its_own_check():
    given(*SITES, registered, ref_of(1, "own-1")).when(START, outside=sign).then(
        started, SECRET_REFS.replace(replace(REFS, pending_secret_ref="own-2"))
    )


def test_a_peer_rotates_with_a_key_check():
    check = key_check("theirs-2", PEER_CODE, "exchange-2", P.DATASET_EXCHANGE)
    rotate = StartCredentialRotation(
        credential_id=THEIRS, new_public_key=public_key("theirs-2"), new_key_check_signature=check
    )
    given(*SITES, theirs).when(rotate).then(
        CredentialRotationStarted(NOW, THEIRS, public_key("theirs-2"), check, None)
    )


def test_a_new_key_follows_the_rules_of_a_first_one():
    one = given(*SITES, registered)
    one.when(starting(new_public_key="key")).refused(InvalidCredentialPublicKeyError)
    one.when(starting(new_secret_ref=None)).refused(InvalidCredentialSecretRefError)
    one.when(starting(new_key_check_signature=CHECK)).refused(InvalidCredentialKeyCheckError)
    one.when(starting(new_expires_at=NOW)).refused(InvalidCredentialExpiresAtError)
    one.when(START, outside=unavailable).refused(SignerUnavailableError)


def test_a_key_that_has_expired_or_is_the_same_does_not_begin_a_rotation():
    expiring = replace(registered, expires_at=LATER)
    more = starting(new_expires_at=None)
    given(*SITES, expiring).when(more, call=EXPIRED).refused(
        CredentialCannotStartRotationError, "The key expired at"
    )
    same = starting(new_public_key=registered.public_key, new_secret_ref="own-1")
    given(*SITES, registered).when(same).refused(
        CredentialCannotStartRotationError, "The new key is the current key."
    )


def test_a_completed_rotation_puts_the_new_key_in_place_of_the_old_one():
    given(*ROTATING, PENDING).when(COMPLETE).then(
        completed, SECRET_REFS.replace(CredentialSecretRefs(ID, "own-2"))
    )
    state = evolve(evolve(begin(registered), started), completed)
    assert (state.public_key, state.fingerprint, state.key_check_signature) == (
        public_key("own-2"),
        key_fingerprint(public_key("own-2")),
        NEXT_CHECK,
    )
    assert (state.key_version, state.expires_at, state.status) == (2, LATER, "Active")
    assert (state.pending_public_key, state.pending_fingerprint) == (None, None)


def test_a_new_key_that_has_expired_meanwhile_does_not_take_over():
    given(*ROTATING).when(COMPLETE, call=EXPIRED).refused(
        CredentialCannotCompleteRotationError, "The new key expired at"
    )


def test_an_aborted_rotation_and_a_revocation_drop_the_new_key():
    dropped = SECRET_REFS.replace(REFS)
    use = free("credential", OWN, "exchange-1", P.DATASET_EXCHANGE)
    given(*ROTATING, PENDING).when(ABORT).then(aborted, dropped)
    given(*ROTATING, PENDING).when(REVOKE).then(revoked, use, dropped)
    for last in (aborted, revoked):
        state = evolve(evolve(begin(registered), started), last)
        assert (state.public_key, state.pending_public_key) == (public_key("own-1"), None)
        assert state.pending_expires_at is None


def test_a_credential_that_is_not_there_is_not_changed():
    for command in (START, COMPLETE, ABORT, REVOKE):
        given(*SITES).when(command).refused(CredentialNotFoundError)


STATUS = """
          start_credential_rotation complete_credential_rotation abort_credential_rotation revoke_credential
Active    Rotating                  -                            -                         Revoked
Rotating  -                         Active                       Active                    Revoked
Revoked   -                         -                            -                         -
"""  # noqa: E501


def test_every_move_from_every_status():
    check = key_check("theirs-2", PEER_CODE, "exchange-2", P.DATASET_EXCHANGE)
    start = StartCredentialRotation(
        credential_id=THEIRS, new_public_key=public_key("theirs-2"), new_key_check_signature=check
    )
    site = CredentialSite(begin_facility(peer), is_own=False)
    moves = (
        start,
        CompleteCredentialRotation(credential_id=THEIRS),
        AbortCredentialRotation(credential_id=THEIRS, reason="late"),
        RevokeCredential(credential_id=THEIRS, reason="lost"),
    )
    matrix(
        OPERATIONS,
        CredentialStatus,
        [Example(command, site) for command in moves],
        lambda status: replace(begin(theirs), status=status),
        lambda credential: credential.status,
        STATUS,
    )


def test_each_wrong_status_is_refused_in_its_own_words():
    for command, refusal in (
        (COMPLETE, CredentialCannotCompleteRotationError),
        (ABORT, CredentialCannotAbortRotationError),
    ):
        given(*SITES, registered).when(command).refused(refusal, "it must be Rotating")
    given(*ROTATING).when(START).refused(CredentialCannotStartRotationError, "it must be Active")
    given(*SITES, registered, revoked).when(REVOKE).refused(CredentialCannotRevokeError)


def test_while_a_key_rotates_both_keys_verify_and_the_current_one_signs():
    one, two = key_fingerprint(public_key("own-1")), key_fingerprint(public_key("own-2"))
    before, during = begin(registered), evolve(begin(registered), started)
    after = evolve(during, completed)
    assert [before.verifying_key(key, NOW) for key in (one, two)] == [public_key("own-1"), None]
    assert [during.verifying_key(key, NOW) is not None for key in (one, two)] == [True, True]
    assert [after.verifying_key(key, NOW) is not None for key in (one, two)] == [False, True]
    assert during.verifying_key(two, LATER) is None
    expiring = replace(during, expires_at=NOW)
    assert [expiring.verifying_key(key, NOW) is not None for key in (one, two)] == [False, True]
    assert evolve(during, revoked).verifying_key(one, NOW) is None


@pytest.mark.parametrize(
    ("history", "expires_at", "usable"),
    [
        ((), None, True),
        ((), LATER, True),
        ((), NOW, False),
        ((started,), None, True),
        ((revoked,), None, False),
    ],
)
def test_a_credential_is_usable_while_its_current_key_is(
    history: tuple[Event, ...], expires_at: None, usable: bool
):
    past = Past([replace(registered, expires_at=expires_at), *history])
    shown = asyncio.run(usability([ID], past))
    assert shown[ID].usable is usable
    past.shows_past = True
    assert asyncio.run(usability([ID], past))[ID].usable is None
