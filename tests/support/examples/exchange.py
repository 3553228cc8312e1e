"""Examples of what is exchanged with peers."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from beamkeep.contexts.exchange.envelope import digest_of
from beamkeep.contexts.federation.seal import time_text
from beamkeep.contexts.federation.signatures import SignaturePrefix, key_fingerprint
from beamkeep.testing.examples import CallExample, Do
from beamkeep.testing.signing import key_check, public_key, signed
from tests.support.examples.data import a_dataset
from tests.support.examples.federation import (
    EXPIRES,
    OWN_SITE,
    a_code,
    a_facility,
    a_key,
    an_audience,
)


async def an_outbound_permit(do: Do) -> str:
    """A permit in force by which the own site sends datasets."""
    permit = {
        "direction": "Outbound",
        "peer_facility_id": await a_facility(do),
        "audience": await an_audience(do),
        "purpose": "DatasetExchange",
        "allowed_credential_ids": [await a_key(do)],
        "expires_at": EXPIRES,
    }
    id = (await do("define_permit", permit))["permit_id"]
    await do("activate_permit", {"permit_id": id})
    return id


async def export_artifact(do: Do) -> dict[str, Any]:
    return {"permit_id": await an_outbound_permit(do), "artifact_id": await a_dataset(do)}


async def import_artifact(do: Do) -> dict[str, Any]:
    code, audience, purpose = await a_code(do), await an_audience(do), "DatasetExchange"
    site = {"code": code, "name": "North Ring", "kind": "Site"}
    facility_id = (await do("register_facility", site))["facility_id"]
    key = {
        "facility_id": facility_id,
        "audience": audience,
        "purpose": purpose,
        "public_key": public_key("theirs"),
        "key_check_signature": key_check("theirs", code, audience, purpose),
    }
    permit = {
        "direction": "Inbound",
        "peer_facility_id": facility_id,
        "audience": audience,
        "purpose": purpose,
        "allowed_credential_ids": [(await do("register_credential", key))["credential_id"]],
        "expires_at": EXPIRES,
    }
    permit_id = (await do("define_permit", permit))["permit_id"]
    await do("activate_permit", {"permit_id": permit_id})
    content: dict[str, Any] = {"dataset_id": str(uuid4()), "byte_size": 4096}
    envelope: dict[str, Any] = {
        "format": "beamkeep/artifact/v1",
        "publisher_facility_code": code,
        "recipient_facility_code": OWN_SITE,
        "audience": audience,
        "purpose": purpose,
        "artifact_kind": "Dataset",
        "artifact_id": content["dataset_id"],
        "content": content,
        "content_hash": digest_of(content),
        "key_fingerprint": key_fingerprint(public_key("theirs")),
        "seal_pointer": None,
        "exported_at": time_text(datetime.now(UTC)),
    }
    signature = signed("theirs", SignaturePrefix.ARTIFACT, envelope)
    return {"permit_id": permit_id, "envelope": envelope, "signature": signature}


async def list_exchanges(do: Do) -> dict[str, Any]:
    sent = await import_artifact(do)
    await do("import_artifact", sent)
    return {"permit_id": sent["permit_id"], "artifact_id": sent["envelope"]["artifact_id"]}


async def get_exchange(do: Do) -> dict[str, Any]:
    sent = await import_artifact(do)
    exchange_id = (await do("import_artifact", sent))["exchange_id"]
    return {"permit_id": sent["permit_id"], "exchange_id": exchange_id}


EXAMPLES: dict[str, CallExample] = {
    "export_artifact": export_artifact,
    "import_artifact": import_artifact,
    "list_permit_exchanges": list_exchanges,
    "get_permit_exchange": get_exchange,
}
