"""Trust anchors: the seal keys by which a site's pointers are verified."""

from typing import Annotated
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Call, Cannot, Command, Record
from beamkeep.kernel.values import Reason, Trimmed

from .credential import (
    Credential,
    CredentialNotFoundError,
    CredentialPurpose,
    CredentialStatus,
    credentials,
)
from .facility import (
    Facility,
    FacilityStatus,
    FacilityTrustAnchorCredentialAdded,
    FacilityTrustAnchorCredentialRemoved,
    InvalidFacilityReasonError,
    facilities,
    require_active_site,
)
from .seal import Seal, seal_of

MOST_ANCHORS = 20
SEAL_PURPOSES = {CredentialPurpose.SEAL_ONLINE_SIGNING, CredentialPurpose.SEAL_OFFLINE_ROOT}


class FacilityCannotAddTrustAnchorCredentialError(Cannot):
    """Only an active site can get a seal key of its own that is not revoked as trust anchor."""


class FacilityCannotRemoveTrustAnchorCredentialError(Cannot):
    """Only an anchor of an active site that its seal does not use can be removed."""


class AddFacilityTrustAnchorCredential(Command):
    facility_id: UUID
    credential_id: UUID


class RemoveFacilityTrustAnchorCredential(Command):
    facility_id: UUID
    credential_id: UUID
    reason: Annotated[Reason, Trimmed(InvalidFacilityReasonError)]


async def anchor(
    facility: Facility, command: AddFacilityTrustAnchorCredential, read: Reader
) -> Credential:
    return await read.one(credentials, command.credential_id)


class AnchorUse(Record):
    """The seal of a facility, which may use an anchor."""

    seal: Seal | None


async def anchor_use(
    facility: Facility, command: RemoveFacilityTrustAnchorCredential, read: Reader
) -> AnchorUse:
    return AnchorUse(await seal_of(facility.id, read))


def add_facility_trust_anchor_credential(
    facility: Facility, command: AddFacilityTrustAnchorCredential, given: Credential, call: Call
) -> list[FacilityTrustAnchorCredentialAdded]:
    """Trust a seal key of a site: pointers of the site are verified with it."""
    refusal = FacilityCannotAddTrustAnchorCredentialError
    anchors = facility.trust_anchor_credential_ids
    require_active_site(facility, refusal)
    if given.facility_id != facility.id:
        raise refusal("The credential belongs to another facility.")
    if given.status is CredentialStatus.REVOKED:
        raise refusal(f"The credential is {given.status}.")
    if given.purpose not in SEAL_PURPOSES:
        raise refusal(f"The credential is for {given.purpose}.")
    if given.id in anchors:
        raise refusal("The credential is a trust anchor already.")
    if len(anchors) >= MOST_ANCHORS:
        raise refusal(f"The facility has {MOST_ANCHORS} trust anchors. Remove one first.")
    return [FacilityTrustAnchorCredentialAdded(call.now, facility.id, given.id)]


def remove_facility_trust_anchor_credential(
    facility: Facility, command: RemoveFacilityTrustAnchorCredential, given: AnchorUse, call: Call
) -> list[FacilityTrustAnchorCredentialRemoved]:
    """Trust a seal key of a site no more. Without an anchor, pointers of a peer are not checked."""
    refusal = FacilityCannotRemoveTrustAnchorCredentialError
    seal, id = given.seal, command.credential_id
    if facility.status is not FacilityStatus.ACTIVE:
        raise refusal(f"Facility {facility.code} is {facility.status}.")
    if id not in facility.trust_anchor_credential_ids:
        raise refusal("The credential is not a trust anchor.")
    if seal and id in {seal.online_credential_id, seal.offline_credential_id}:
        raise refusal("The seal of the facility uses the credential.")
    return [FacilityTrustAnchorCredentialRemoved.of(command, occurred_at=call.now)]


# fmt: off
OPERATIONS = (
    facilities.changes("POST /federation/facilities/{facility_id}/add-trust-anchor-credential",
        AddFacilityTrustAnchorCredential, add_facility_trust_anchor_credential,
        CredentialNotFoundError, FacilityCannotAddTrustAnchorCredentialError, given=anchor,
        title="Add a trust anchor to a facility"),
    facilities.changes("POST /federation/facilities/{facility_id}/remove-trust-anchor-credential",
        RemoveFacilityTrustAnchorCredential, remove_facility_trust_anchor_credential,
        FacilityCannotRemoveTrustAnchorCredentialError, given=anchor_use, destructive=True,
        title="Remove a trust anchor from a facility"),
)
# fmt: on
