"""Permit: which exchanges are allowed, in which direction, and with which keys."""

import asyncio
from datetime import timedelta
from uuid import UUID

from tests.unit.contexts.federation.parts import HALL, OWN, PEER, SITES, P, hall, key_of

from beamkeep.contexts.federation.credential import CredentialNotFoundError, CredentialRevoked
from beamkeep.contexts.federation.facility import FacilityDecommissioned, FacilityNotFoundError
from beamkeep.contexts.federation.permit import (
    OPERATIONS,
    ActivatePermit,
    DefinePermit,
    ExchangePermitStatus,
    InvalidPermitExpiresAtError,
    InvalidPermitPurposeError,
    PermitActivated,
    PermitAlreadyExistsError,
    PermitCannotActivateError,
    PermitCannotDefineError,
    PermitCannotResumeError,
    PermitCannotRevokeError,
    PermitCannotSuspendError,
    PermitCredentialMismatchError,
    PermitDefined,
    PermitDirection,
    PermitNotFoundError,
    PermitResumed,
    PermitRevoked,
    PermitSuspended,
    ResumePermit,
    RevokePermit,
    SuspendPermit,
    begin,
    claims_of,
    force,
)
from beamkeep.kernel import Event, SideWrite, free, replace
from beamkeep.testing.past import ABSENT, CALL, LATER, NEW, NOW, Past
from beamkeep.testing.scenario import Example, Scenario, matrix

ours, theirs, others = key_of(1, "own-1"), key_of(2, "theirs", PEER), key_of(3, "t3", PEER)
ID = UUID(int=50)
IN, OUT = PermitDirection.INBOUND, PermitDirection.OUTBOUND
defined = PermitDefined(
    NOW, ID, IN, PEER, "imaging", P.DATASET_EXCHANGE, (UUID(int=2), UUID(int=3)), LATER
)
activated, resumed = PermitActivated(NOW, ID), PermitResumed(NOW, ID)
suspended, revoked = PermitSuspended(NOW, ID, "audit"), PermitRevoked(NOW, ID, "over")
DEFINE = DefinePermit(
    direction=IN,
    peer_facility_id=PEER,
    audience=" imaging ",
    purpose=P.DATASET_EXCHANGE,
    allowed_credential_ids=frozenset({UUID(int=3), UUID(int=2)}),
    expires_at=LATER,
)
ACTIVATE, RESUME = ActivatePermit(permit_id=ID), ResumePermit(permit_id=ID)
SUSPEND = SuspendPermit(permit_id=ID, reason=" audit ")
REVOKE = RevokePermit(permit_id=ID, reason="over")
KEYS = (*SITES, ours, theirs, others)
EXPIRED = replace(CALL, now=LATER)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, history)


def defining(**changes: object) -> DefinePermit:
    return DEFINE.model_copy(update=changes)


def test_a_permit_is_defined_with_its_keys_in_order_and_takes_its_exchange():
    event = replace(defined, permit_id=NEW)
    given(*KEYS).when(DEFINE).then(event, *claims_of(begin(event)))


def test_an_outbound_permit_has_keys_of_the_own_site():
    out = {"direction": OUT, "allowed_credential_ids": frozenset({UUID(int=1)})}
    event = replace(defined, permit_id=NEW, direction=OUT, allowed_credential_ids=(UUID(int=1),))
    given(*KEYS).when(defining(**out)).then(event, *claims_of(begin(event)))


def test_a_permit_is_for_an_exchange_and_expires():
    for purpose in (P.SEAL_ONLINE_SIGNING, P.SEAL_OFFLINE_ROOT):
        given(*KEYS).when(defining(purpose=purpose)).refused(InvalidPermitPurposeError)
    for time in (NOW, NOW - timedelta(days=1)):
        given(*KEYS).when(defining(expires_at=time)).refused(InvalidPermitExpiresAtError)


def test_the_peer_is_another_active_site():
    given(*KEYS).when(defining(peer_facility_id=ABSENT)).refused(FacilityNotFoundError)
    given(*KEYS).when(defining(peer_facility_id=OWN)).refused(
        PermitCannotDefineError, "The own site is synchrotron."
    )
    given(*KEYS, hall).when(defining(peer_facility_id=HALL)).refused(
        PermitCannotDefineError, "has kind Area"
    )
    given(*KEYS, FacilityDecommissioned(NOW, PEER, "closed")).when(DEFINE).refused(
        PermitCannotDefineError, "status Decommissioned"
    )


def test_the_keys_of_a_permit_fit_its_direction_and_purpose_and_are_not_revoked():
    given(*KEYS).when(defining(allowed_credential_ids=frozenset({ABSENT}))).refused(
        CredentialNotFoundError
    )
    mixed = frozenset({UUID(int=1), UUID(int=2)})
    given(*KEYS).when(defining(allowed_credential_ids=mixed)).refused(
        PermitCredentialMismatchError, "not one of north-ring"
    )
    given(*KEYS).when(defining(direction=OUT)).refused(
        PermitCredentialMismatchError, "not one of synchrotron"
    )
    given(*KEYS).when(defining(purpose=P.CALIBRATION_EXCHANGE)).refused(
        PermitCredentialMismatchError, "is for DatasetExchange"
    )
    gone = CredentialRevoked(NOW, UUID(int=2), "lost")
    given(*KEYS, gone).when(DEFINE).refused(PermitCredentialMismatchError, "is Revoked")


def test_an_exchange_has_one_permit_for_each_direction_until_it_is_revoked():
    taken = claims_of(begin(defined))
    given(*KEYS, *taken).when(DEFINE).refused(PermitAlreadyExistsError)
    out = {"direction": OUT, "allowed_credential_ids": frozenset({UUID(int=1)})}
    given(*KEYS, *taken).when(defining(**out)).decided()
    freed = free("permit", IN, PEER, "imaging", P.DATASET_EXCHANGE)
    given(*KEYS, defined).when(REVOKE).then(revoked, freed)
    given(*KEYS, *taken, freed).when(DEFINE).decided()


def test_a_permit_is_activated_suspended_and_resumed():
    given(defined).when(ACTIVATE).then(activated)
    given(defined, activated).when(SUSPEND).then(suspended)
    given(defined, activated, suspended).when(RESUME).then(resumed)


def test_a_permit_that_has_expired_is_neither_activated_nor_resumed():
    given(defined).when(ACTIVATE, call=EXPIRED).refused(PermitCannotActivateError, "expired at")
    given(defined, activated, suspended).when(RESUME, call=EXPIRED).refused(
        PermitCannotResumeError, "expired at"
    )


def test_each_wrong_status_is_refused_in_its_own_words():
    given(defined, activated).when(ACTIVATE).refused(PermitCannotActivateError, "be Defined")
    given(defined).when(SUSPEND).refused(PermitCannotSuspendError, "be Active")
    given(defined).when(RESUME).refused(PermitCannotResumeError, "be Suspended")
    given(defined, revoked).when(REVOKE).refused(PermitCannotRevokeError)


def test_a_permit_that_is_not_there_is_not_changed():
    for command in (ACTIVATE, SUSPEND, RESUME, REVOKE):
        given().when(command).refused(PermitNotFoundError)


STATUS = """
           activate_permit  suspend_permit  resume_permit  revoke_permit
Defined    Active           -               -              Revoked
Active     -                Suspended       -              Revoked
Suspended  -                -               Active         Revoked
Revoked    -                -               -              -
"""


def test_every_move_from_every_status():
    matrix(
        OPERATIONS,
        ExchangePermitStatus,
        [Example(command) for command in (ACTIVATE, SUSPEND, RESUME, REVOKE)],
        lambda status: replace(begin(defined), status=status),
        lambda permit: permit.status,
        STATUS,
    )


def in_force(*history: Event | SideWrite, **changes: object) -> bool | None:
    past = Past([*KEYS, replace(defined, **changes), *history])
    return asyncio.run(force([ID], past))[ID].in_force


def test_a_permit_is_in_force_while_it_is_active_and_not_expired_and_its_peer_is_active():
    assert in_force(activated) is True
    assert in_force() is False
    assert in_force(activated, suspended) is False
    assert in_force(activated, expires_at=NOW) is False
    assert in_force(activated, FacilityDecommissioned(NOW, PEER, "closed")) is False


def test_an_earlier_state_of_a_permit_is_not_said_to_be_in_force():
    past = Past([*KEYS, defined, activated])
    past.shows_past = True
    assert asyncio.run(force([ID], past))[ID].in_force is None
