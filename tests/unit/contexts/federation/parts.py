"""Facilities and keys that the tests of federation share."""

from uuid import UUID

from beamkeep.contexts.federation.credential import (
    SECRET_REFS,
    CredentialPurpose,
    CredentialRegistered,
    CredentialSecretRefs,
)
from beamkeep.contexts.federation.facility import CODES, FacilityKind, FacilityRegistered
from beamkeep.contexts.federation.signatures import SignMessage
from beamkeep.kernel import CLAIMS, Claim, Insert, claim_key
from beamkeep.testing.past import NOW
from beamkeep.testing.signing import key_check, public_key, sign

OWN, PEER, HALL = UUID(int=100), UUID(int=101), UUID(int=102)
OWN_CODE, PEER_CODE = "synchrotron", "north-ring"
P = CredentialPurpose

own = FacilityRegistered(NOW, OWN, OWN_CODE, OWN_CODE, FacilityKind.SITE, None)
peer = FacilityRegistered(NOW, PEER, PEER_CODE, "North Ring", FacilityKind.SITE, None)
hall = FacilityRegistered(NOW, HALL, "hall-2", "Hall 2", FacilityKind.AREA, PEER)
own_code = CLAIMS.insert(Claim(CODES, claim_key(OWN_CODE), OWN))
SITES = (own, peer, own_code)


def key_of(
    number: int, name: str, facility_id: UUID = OWN, purpose: P = P.DATASET_EXCHANGE, **more: object
) -> CredentialRegistered:
    """A credential with the key of a name."""
    code, audience = {OWN: OWN_CODE, PEER: PEER_CODE}[facility_id], f"exchange-{number}"
    told = {
        "occurred_at": NOW,
        "credential_id": UUID(int=number),
        "facility_id": facility_id,
        "audience": audience,
        "purpose": purpose,
        "public_key": public_key(name),
        "key_check_signature": key_check(name, code, audience, purpose),
        "expires_at": None,
    }
    return CredentialRegistered.of(None, **told | more)


def ref_of(number: int, secret_ref: str) -> Insert:
    """How the signer knows the key of a credential."""
    return SECRET_REFS.insert(CredentialSecretRefs(UUID(int=number), secret_ref))


def no_key(request: SignMessage) -> None:
    """A signer that does not have the key."""


def another_key(request: SignMessage) -> bytes:
    """A signer that has another key under the same reference."""
    return sign(SignMessage("another", request.message))
