"""Examples of federation."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from beamkeep.contexts.federation.seal import SealInitialized
from beamkeep.contexts.federation.signatures import SignaturePrefix, key_fingerprint
from beamkeep.testing.examples import CallExample, Do, changed, given, made
from beamkeep.testing.installation import FACILITY_CODE
from beamkeep.testing.signing import key_check, public_key, signed

OWN_SITE = FACILITY_CODE
"""The code of the site that every test deployment is at."""
EXPIRES = "2199-12-31T00:00:00Z"
AT = datetime(2026, 1, 1, tzinfo=UTC)


async def a_code(do: Do) -> str:
    """A facility code that nobody has."""
    return f"f-{uuid4().hex[:28]}"


async def an_audience(do: Do) -> str:
    """An audience that no key is for."""
    return f"imaging exchange {uuid4().hex[:8]}"


async def a_facility(do: Do) -> str:
    site = {"code": await a_code(do), "name": "Neutron source", "kind": "Site"}
    answer = await do("register_facility", site)
    return answer["facility_id"]


async def a_decommissioned_facility(do: Do) -> str:
    facility_id = await a_facility(do)
    await do("decommission_facility", {"facility_id": facility_id, "reason": "Closed"})
    return facility_id


async def own_key(do: Do, name: str = "own-1", purpose: str = "DatasetExchange") -> dict[str, Any]:
    """A key of the own site, which the signer has."""
    return {
        "facility_id": await do.facility(OWN_SITE),
        "audience": await an_audience(do),
        "purpose": purpose,
        "public_key": public_key(name),
        "secret_ref": name,
        "expires_at": EXPIRES,
    }


async def peer_key(do: Do, purpose: str = "DatasetExchange") -> dict[str, Any]:
    """A key of a peer, with the signature that came with it."""
    code, audience = await a_code(do), await an_audience(do)
    site = {"code": code, "name": "North Ring", "kind": "Site"}
    return {
        "facility_id": (await do("register_facility", site))["facility_id"],
        "audience": audience,
        "purpose": purpose,
        "public_key": public_key("theirs"),
        "key_check_signature": key_check("theirs", code, audience, purpose),
    }


a_key = made("register_credential", own_key, "credential_id")


async def start_rotation(do: Do) -> dict[str, Any]:
    return {
        "credential_id": await a_key(do),
        "new_public_key": public_key("own-2"),
        "new_secret_ref": "own-2",
        "new_expires_at": EXPIRES,
    }


a_rotating_key = changed("start_credential_rotation", start_rotation, "credential_id")
revoke_credential = given(credential_id=a_key, reason="The key is lost")
a_revoked_key = changed("revoke_credential", revoke_credential, "credential_id")


async def a_seal_key_of_a_peer(do: Do) -> dict[str, Any]:
    key = await peer_key(do, "SealOnlineSigning")
    made = await do("register_credential", key)
    return {"facility_id": key["facility_id"], "credential_id": made["credential_id"]}


async def remove_anchor(do: Do) -> dict[str, Any]:
    anchor = await a_seal_key_of_a_peer(do)
    await do("add_facility_trust_anchor_credential", anchor)
    return {**anchor, "reason": "The peer has a new key"}


async def define_permit(do: Do) -> dict[str, Any]:
    key = await peer_key(do)
    return {
        "direction": "Inbound",
        "peer_facility_id": key["facility_id"],
        "audience": await an_audience(do),
        "purpose": "DatasetExchange",
        "allowed_credential_ids": [(await do("register_credential", key))["credential_id"]],
        "expires_at": EXPIRES,
    }


a_permit = made("define_permit", define_permit, "permit_id")
an_active_permit = changed("activate_permit", given(permit_id=a_permit), "permit_id")
suspend_permit = given(permit_id=an_active_permit, reason="Audit of the keys")
a_suspended_permit = changed("suspend_permit", suspend_permit, "permit_id")
revoke_permit = given(permit_id=a_suspended_permit, reason="The exchange has ended")
a_revoked_permit = changed("revoke_permit", revoke_permit, "permit_id")


async def an_anchor(do: Do, name: str, purpose: str) -> str:
    """A seal key of the own site that is its trust anchor."""
    key = await own_key(do, name, purpose)
    if purpose == "SealOfflineRoot":
        del key["secret_ref"]
        key["key_check_signature"] = key_check(name, OWN_SITE, key["audience"], purpose)
    id = (await do("register_credential", key))["credential_id"]
    anchor = {"facility_id": key["facility_id"], "credential_id": id}
    await do("add_facility_trust_anchor_credential", anchor)
    return id


async def initialize_seal(do: Do) -> dict[str, Any]:
    return {
        "facility_id": await do.facility(OWN_SITE),
        "online_credential_id": await an_anchor(do, "own-1", "SealOnlineSigning"),
        "offline_credential_id": await an_anchor(do, "root", "SealOfflineRoot"),
    }


async def seal_key(do: Do, site: str, code: str, name: str, purpose: str) -> str:
    """A seal key of a peer that is its trust anchor."""
    audience = await an_audience(do)
    key = {
        "facility_id": site,
        "audience": audience,
        "purpose": purpose,
        "public_key": public_key(name),
        "key_check_signature": key_check(name, code, audience, purpose),
    }
    id = (await do("register_credential", key))["credential_id"]
    anchor = {"facility_id": site, "credential_id": id}
    await do("add_facility_trust_anchor_credential", anchor)
    return id


async def put_seal(do: Do, site: str, online: str, root: str) -> None:
    """Give a site a seal. By a call, only the own site gets one, and only once."""
    await do.put(SealInitialized(AT, UUID(site), UUID(online), UUID(root)), owned=True)


async def sealed_site(do: Do) -> str:
    """A site whose seal can sign."""
    site = await a_facility(do)
    key = await own_key(do, "own-1", "SealOnlineSigning")
    online = (await do("register_credential", key))["credential_id"]
    await put_seal(do, site, online, await a_key(do))
    return site


async def sign_pointer(do: Do) -> dict[str, Any]:
    site = await sealed_site(do)
    return {"facility_id": site, "head_hash": uuid4().hex * 2, "sequence_number": 1}


async def rotate_online_key(do: Do) -> dict[str, Any]:
    code = await a_code(do)
    peer = {"code": code, "name": "North Ring", "kind": "Site"}
    site = (await do("register_facility", peer))["facility_id"]
    online = await seal_key(do, site, code, "first", "SealOnlineSigning")
    root = await seal_key(do, site, code, "root", "SealOfflineRoot")
    await put_seal(do, site, online, root)
    rotation = {
        "facility_code": code,
        "previous_key_fingerprint": key_fingerprint(public_key("first")),
        "new_key_fingerprint": key_fingerprint(public_key("second")),
        "sequence_number": 0,
    }
    return {
        "facility_id": site,
        "new_online_credential_id": await seal_key(do, site, code, "second", "SealOnlineSigning"),
        "signed_by_offline_root": True,
        "offline_root_signature": signed("root", SignaturePrefix.SEAL_ROTATION, rotation),
    }


a_signed_seal = changed("sign_seal_pointer", sign_pointer, "facility_id")


EXAMPLES: dict[str, CallExample] = {
    "register_facility": given(code=a_code, name="Hall 2", kind="Area", parent_id=a_facility),
    "decommission_facility": given(facility_id=a_facility, reason="Closed"),
    "add_facility_trust_anchor_credential": a_seal_key_of_a_peer,
    "remove_facility_trust_anchor_credential": remove_anchor,
    "get_facility": given(facility_id=a_facility),
    "get_facility_history": given(facility_id=a_decommissioned_facility),
    "list_facilities": given(kind="Site", status="Active"),
    "register_credential": own_key,
    "start_credential_rotation": start_rotation,
    "complete_credential_rotation": given(credential_id=a_rotating_key),
    "abort_credential_rotation": given(credential_id=a_rotating_key, reason="A peer is not ready"),
    "revoke_credential": revoke_credential,
    "get_credential": given(credential_id=a_rotating_key),
    "get_credential_history": given(credential_id=a_revoked_key),
    "list_credentials": given(purpose="DatasetExchange", status="Active"),
    "define_permit": define_permit,
    "activate_permit": given(permit_id=a_permit),
    "suspend_permit": suspend_permit,
    "resume_permit": given(permit_id=a_suspended_permit),
    "revoke_permit": revoke_permit,
    "get_permit": given(permit_id=an_active_permit),
    "get_permit_history": given(permit_id=a_revoked_permit),
    "list_permits": given(direction="Inbound", status="Active"),
    "initialize_seal": initialize_seal,
    "sign_seal_pointer": sign_pointer,
    "rotate_seal_online_key": rotate_online_key,
    "get_seal": given(facility_id=a_signed_seal),
    "get_seal_history": given(facility_id=a_signed_seal),
    "list_seals": given(),
}
