"""Permit: one direction of an exchange with a peer, for one audience and one purpose."""

from collections.abc import Mapping, Sequence
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
    Record,
    SideWrite,
    UnnamedListing,
    claim,
    free,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Timestamp, Trimmed

from .credential import (
    Credential,
    CredentialNotFoundError,
    CredentialPurpose,
    CredentialStatus,
    credentials,
)
from .facility import (
    Facility,
    FacilityNotFoundError,
    FacilityStatus,
    facilities,
    facility_by_code,
    require_active_site,
)

EXCHANGES = "permit"
"""The scope of the claims by which one exchange with a peer has one permit for each direction."""
ARTIFACTS = {
    CredentialPurpose.DATASET_EXCHANGE: "Dataset",
    CredentialPurpose.CALIBRATION_EXCHANGE: "Calibration",
}
"""What is exchanged for each purpose that a permit can have."""


class PermitDirection(StrEnum):
    OUTBOUND = "Outbound"
    INBOUND = "Inbound"


class ExchangePermitStatus(StrEnum):
    DEFINED = "Defined"
    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    REVOKED = "Revoked"


# Events are stored for ever: add a field with a default; never rename or drop one.
class PermitEvent(Event):
    permit_id: UUID


class PermitDefined(PermitEvent):
    direction: PermitDirection
    peer_facility_id: UUID
    audience: str
    purpose: CredentialPurpose
    allowed_credential_ids: tuple[UUID, ...]
    expires_at: datetime


class PermitActivated(PermitEvent): ...


class PermitSuspended(PermitEvent):
    reason: FreeText


class PermitResumed(PermitEvent): ...


class PermitRevoked(PermitEvent):
    reason: FreeText


type PermitMoved = PermitActivated | PermitSuspended | PermitResumed | PermitRevoked


class PermitNotFoundError(NotFound): ...


class InvalidPermitAudienceError(Blank): ...


class InvalidPermitReasonError(Blank): ...


class InvalidPermitPurposeError(Invalid):
    """A permit is for the exchange of datasets or of calibrations."""


class InvalidPermitExpiresAtError(Invalid):
    """Time at which a permit expires must be in the future."""


class PermitAlreadyExistsError(Cannot):
    """A permit for this peer, audience, purpose and direction exists; revoke that permit first."""


class PermitCannotDefineError(Cannot):
    """The peer of a permit must be an active site other than the own site."""


class PermitCredentialMismatchError(Cannot):
    """Keys of a permit must have its purpose, not be revoked, and belong to the side that signs."""


class PermitCannotActivateError(Cannot):
    """Only a defined permit that has not expired can be activated."""


class PermitCannotSuspendError(Cannot):
    """Only an active permit can be suspended."""


class PermitCannotResumeError(Cannot):
    """Only a suspended permit that has not expired can be resumed."""


class PermitCannotRevokeError(Cannot):
    """The permit is already revoked."""


S = ExchangePermitStatus
IN_USE = frozenset(ExchangePermitStatus) - {S.REVOKED}
STATUS: Axis[ExchangePermitStatus, PermitMoved] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (PermitActivated, {S.DEFINED}, S.ACTIVE, PermitCannotActivateError),
    (PermitSuspended, {S.ACTIVE}, S.SUSPENDED, PermitCannotSuspendError),
    (PermitResumed, {S.SUSPENDED}, S.ACTIVE, PermitCannotResumeError),
    (PermitRevoked, IN_USE, S.REVOKED, PermitCannotRevokeError),
)


class Permit(Record):
    id: UUID
    direction: PermitDirection
    peer_facility_id: UUID
    audience: str
    purpose: CredentialPurpose
    allowed_credential_ids: tuple[UUID, ...]
    expires_at: datetime
    status: ExchangePermitStatus = ExchangePermitStatus.DEFINED

    def is_in_force(self, peer: Facility, now: datetime) -> bool:
        """Return whether the permit allows its exchange now."""
        return (
            self.status is S.ACTIVE
            and now < self.expires_at
            and peer.status is FacilityStatus.ACTIVE
        )


def begin(event: PermitDefined) -> Permit:
    return Permit.of(event, id=event.permit_id)


def evolve(permit: Permit, event: PermitMoved) -> Permit:
    return replace(permit, status=STATUS.after(event))


def claims_of(permit: Permit) -> tuple[Insert, ...]:
    """Return the claim on the exchange of a permit that is not revoked."""
    if permit.status is S.REVOKED:
        return ()
    loser = PermitAlreadyExistsError
    return (claim(EXCHANGES, *_exchange(permit), holder=permit.id, loser=loser),)


type PermitReason = Annotated[Reason, Trimmed(InvalidPermitReasonError)]


class DefinePermit(Command):
    direction: PermitDirection
    """Outbound: the own site sends to the peer. Inbound: the peer sends to the own site."""
    peer_facility_id: UUID
    audience: Annotated[Name, Trimmed(InvalidPermitAudienceError)]
    """Name of the exchange, on which both sides agreed."""
    purpose: CredentialPurpose
    """What is exchanged: DatasetExchange or CalibrationExchange."""
    allowed_credential_ids: Annotated[frozenset[UUID], MinLen(1), MaxLen(20)]
    """The keys that may sign: of the own site for Outbound, of the peer for Inbound."""
    expires_at: Timestamp
    """When the permit stops being in force."""


class PermitCommand(Command):
    permit_id: UUID


class ActivatePermit(PermitCommand): ...


class SuspendPermit(PermitCommand):
    reason: PermitReason


class ResumePermit(PermitCommand): ...


class RevokePermit(PermitCommand):
    reason: PermitReason


class PermitParties(Record):
    """The peer, the own site, and the keys that a permit allows."""

    peer: Facility
    own: Facility
    allowed: Mapping[UUID, Credential]


async def parties(command: DefinePermit, read: Reader) -> PermitParties:
    return PermitParties(
        peer=await read.one(facilities, command.peer_facility_id),
        own=await facility_by_code(read.facts.facility_code, read),
        allowed=await read.many(credentials, sorted(command.allowed_credential_ids)),
    )


def define_permit(
    command: DefinePermit, given: PermitParties, call: Call
) -> list[PermitDefined | SideWrite]:
    """Define a permit for one direction of an exchange; it allows nothing until it is activated."""
    peer, own = given.peer, given.own
    if command.purpose not in ARTIFACTS:
        raise InvalidPermitPurposeError(f"The purpose is {command.purpose}.")
    if command.expires_at <= call.now:
        raise InvalidPermitExpiresAtError(f"It is {command.expires_at}.")
    if peer.id == own.id:
        raise PermitCannotDefineError(f"The own site is {own.code}.")
    require_active_site(peer, PermitCannotDefineError)
    signing = own if command.direction is PermitDirection.OUTBOUND else peer
    for key in given.allowed.values():
        if key.facility_id != signing.id:
            detail = f"Credential {key.id} is not one of {signing.code}, which signs."
            raise PermitCredentialMismatchError(detail)
        if key.purpose is not command.purpose:
            raise PermitCredentialMismatchError(f"Credential {key.id} is for {key.purpose}.")
        if key.status is CredentialStatus.REVOKED:
            raise PermitCredentialMismatchError(f"Credential {key.id} is {key.status}.")
    allowed = tuple(sorted(command.allowed_credential_ids))
    fields = {"permit_id": call.new_id, "allowed_credential_ids": allowed}
    defined = PermitDefined.of(command, occurred_at=call.now, **fields)
    return [defined, *claims_of(begin(defined))]


def activate_permit(permit: Permit, command: ActivatePermit, call: Call) -> list[PermitActivated]:
    """Activate a permit. Compare the fingerprints of the keys by telephone before."""
    activated = STATUS.allow(permit.status, PermitActivated(call.now, permit.id))
    _require_lasting(permit, PermitCannotActivateError, call)
    return [activated]


def suspend_permit(permit: Permit, command: SuspendPermit, call: Call) -> list[PermitSuspended]:
    """Suspend a permit until it is resumed."""
    suspended = PermitSuspended(call.now, permit.id, command.reason)
    return [STATUS.allow(permit.status, suspended)]


def resume_permit(permit: Permit, command: ResumePermit, call: Call) -> list[PermitResumed]:
    """Resume a suspended permit."""
    resumed = STATUS.allow(permit.status, PermitResumed(call.now, permit.id))
    _require_lasting(permit, PermitCannotResumeError, call)
    return [resumed]


def revoke_permit(
    permit: Permit, command: RevokePermit, call: Call
) -> list[PermitRevoked | SideWrite]:
    """Revoke a permit permanently."""
    revoked = PermitRevoked(call.now, permit.id, command.reason)
    return [STATUS.allow(permit.status, revoked), free(EXCHANGES, *_exchange(permit))]


def _require_lasting(permit: Permit, refusal: type[Cannot], call: Call) -> None:
    if permit.expires_at <= call.now:
        raise refusal(f"The permit expired at {permit.expires_at}.")


def _exchange(permit: Permit) -> tuple[object, ...]:
    """Return the values that are unique among permits that are not revoked."""
    return permit.direction, permit.peer_facility_id, permit.audience, permit.purpose


permits = Aggregate("Permit", begin, evolve, absent=PermitNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    permits.creates("POST /federation/permits", DefinePermit, define_permit, FacilityNotFoundError,
        CredentialNotFoundError, InvalidPermitPurposeError, InvalidPermitExpiresAtError,
        PermitCannotDefineError, PermitCredentialMismatchError, PermitAlreadyExistsError,
        given=parties),
    permits.changes("POST /federation/permits/{permit_id}/activate", ActivatePermit,
        activate_permit, PermitCannotActivateError),
    permits.changes("POST /federation/permits/{permit_id}/suspend", SuspendPermit, suspend_permit,
        PermitCannotSuspendError),
    permits.changes("POST /federation/permits/{permit_id}/resume", ResumePermit, resume_permit,
        PermitCannotResumeError),
    permits.changes("POST /federation/permits/{permit_id}/revoke", RevokePermit, revoke_permit,
        PermitCannotRevokeError, destructive=True),
)
# fmt: on


class PermitForce(Record):
    in_force: bool | None
    """Whether the permit allows its exchange now; null with an earlier state."""


async def force(ids: Sequence[UUID], read: Reader) -> Mapping[UUID, PermitForce]:
    """Return which permits are in force now."""
    if read.shows_past:
        return dict.fromkeys(ids, PermitForce(None))
    found = await read.many(permits, ids)
    peers = await read.many(facilities, {each.peer_facility_id for each in found.values()})
    return {
        id: PermitForce(each.is_in_force(peers[each.peer_facility_id], read.now))
        for id, each in found.items()
    }


class ListPermits(UnnamedListing):
    """List permits, newest first."""

    direction: PermitDirection | None = None
    peer_facility_id: UUID | None = None
    audience: Name | None = None
    purpose: CredentialPurpose | None = None
    status: frozenset[ExchangePermitStatus] | None = None


TIMES = {
    "activated_at": (PermitActivated,),
    "suspended_at": (PermitSuspended,),
    "revoked_at": (PermitRevoked,),
}
# fmt: off
QUESTIONS = reads("/federation/permits", permits, ListPermits, milestones=TIMES, shown_with=force,
    composed_of=("Credential", "Facility"))
# fmt: on
