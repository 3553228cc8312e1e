"""Weeks after the day: the record of a dataset goes to a partner facility, and a visitor leaves."""

import json
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from beamkeep.contexts.access.profile import DELETED_USER
from beamkeep.testing.signing import OWN_KEYS, key_check, public_key
from demo.acting import ADMINISTRATOR, STEWARD, VISITOR, Day

EXCHANGE, SEAL = "imaging-exchange", "seal"


async def found(day: Day, code: str) -> str:
    """Register a partner as a site, and give back its id."""
    return await day.made("register_facility", {"code": code, "name": code, "kind": "Site"})


async def key(day: Day, facility_id: str, audience: str, purpose: str, **proof: str) -> str:
    """Register a key of a facility, and give back the id of the credential."""
    use = {"facility_id": facility_id, "audience": audience, "purpose": purpose}
    return await day.made("register_credential", {**use, **proof})


async def permit(day: Day, direction: str, peer_id: str, credential_id: str) -> str:
    """Permit one direction of the exchange with a peer, and give back the id of the permit."""
    grant = {
        "direction": direction,
        "peer_facility_id": peer_id,
        "audience": EXCHANGE,
        "purpose": "DatasetExchange",
        "allowed_credential_ids": [credential_id],
        "expires_at": (datetime.now(UTC) + timedelta(days=30)).isoformat(),
    }
    made = await day.made("define_permit", grant)
    await day.do("activate_permit", {"permit_id": made}, as_=ADMINISTRATOR)
    return made


async def anchored(day: Day, facility_id: str, credential_id: str) -> None:
    """Trust a key to speak for the register of a facility."""
    anchor = {"facility_id": facility_id, "credential_id": credential_id}
    await day.do("add_facility_trust_anchor_credential", anchor, as_=ADMINISTRATOR)


async def pointed(day: Day, head_hash: str, number: int) -> None:
    """Sign the pointer of the own seal."""
    pointer = {"facility_id": day.ids["own site"], "head_hash": head_hash}
    await day.do("sign_seal_pointer", {**pointer, "sequence_number": number}, as_=ADMINISTRATOR)


async def agreed(day: Day) -> None:
    """The two facilities exchange their keys and permit the exchange, each on its own service."""
    code, partner = day.ids["site"], day.partner
    (own,) = [row for row in await day.listed("list_facilities") if row["code"] == code]
    site = day.ids["own site"] = own["facility_id"]
    first, second = ({"public_key": public_key(ref), "secret_ref": ref} for ref in OWN_KEYS[:2])
    sender = await key(day, site, EXCHANGE, "DatasetExchange", **first)
    online = await key(day, site, SEAL, "SealOnlineSigning", **second)
    proof = {"key_check_signature": key_check("root", code, SEAL, "SealOfflineRoot")}
    offline = {"public_key": public_key("root"), **proof}
    root = await key(day, site, SEAL, "SealOfflineRoot", **offline)
    for credential_id in (online, root):
        await anchored(day, site, credential_id)
    seal = {"online_credential_id": online, "offline_credential_id": root}
    await day.do("initialize_seal", {"facility_id": site, **seal}, as_=ADMINISTRATOR)
    await pointed(day, "0" * 64, 1)
    outbound = await permit(day, "Outbound", await found(day, "lakeside"), sender)

    peer, taken_over = await found(partner, code), list[str]()
    for credential_id in (sender, online):
        about = {"credential_id": credential_id}
        credential = await day.do("get_credential", about, as_=ADMINISTRATOR)
        use = (credential["audience"], credential["purpose"])
        proof = {name: credential[name] for name in ("public_key", "key_check_signature")}
        taken_over.append(await key(partner, peer, *use, **proof))
    await anchored(partner, peer, taken_over[1])
    inbound = await permit(partner, "Inbound", peer, taken_over[0])
    day.ids["outbound permit"], day.ids["inbound permit"] = outbound, inbound


async def exchanged(day: Day) -> None:
    """The partner takes the record; it refuses a tampered copy and one that was held back."""
    partner, inbound = day.partner, {"permit_id": day.ids["inbound permit"]}

    async def exported(name: str) -> Mapping[str, Any]:
        asked = {"permit_id": day.ids["outbound permit"], "artifact_id": day.ids[name]}
        sent = await day.do("export_artifact", asked, as_=STEWARD)
        return {part: sent[part] for part in ("envelope", "signature")}

    async def imported(sent: Mapping[str, Any]) -> str:
        taken = await partner.do("import_artifact", {**inbound, **sent}, as_=ADMINISTRATOR)
        return taken["exchange_id"]

    async def refused(code: str, sent: Mapping[str, Any]) -> None:
        asked = {**inbound, **sent}
        await partner.refused(code, "import_artifact", asked, as_=ADMINISTRATOR)

    raw, held_back = await exported("raw"), await exported("Volume, corrected")
    await imported(raw)
    await refused("ArtifactAlreadyImportedError", raw)
    content = {**held_back["envelope"]["content"], "name": "Volume of another fossil"}
    tampered = {**held_back["envelope"], "content": content}
    await refused("InvalidArtifactEnvelopeError", {**held_back, "envelope": tampered})
    signed = await day.do("list_checkpoints", {"tree": "events"}, as_=ADMINISTRATOR)
    newest = signed["items"][0]
    await pointed(day, b64decode(newest["root"]).hex(), 2)
    exchange_id = await imported(again := await exported("raw"))
    await refused("StaleSealPointerError", held_back)
    about = {**inbound, "exchange_id": exchange_id}
    stored = await partner.do("get_permit_exchange", about, as_=ADMINISTRATOR)
    assert stored["artifact_id"] == day.ids["raw"]
    assert json.loads(stored["envelope"]) == again["envelope"]


async def forgotten(day: Day) -> None:
    """A visitor asks to be forgotten: the name is gone, and what the person did stays."""
    about = {"actor_id": day.ids[VISITOR]}
    await day.do("forget_actor", about, as_=ADMINISTRATOR)
    shown = await day.do("get_actor", about, as_=ADMINISTRATOR)
    assert shown["name"] == DELETED_USER
    visit = {"visit_id": day.ids[f"visit of {VISITOR}"]}
    assert (await day.do("get_visit", visit, as_=ADMINISTRATOR))["status"] == "Completed"
