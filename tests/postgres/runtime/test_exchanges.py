"""Exchanges on both stores: taken once, whoever sends at the same time, and never tampered with."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
import structlog
from tests.support.examples.exchange import export_artifact, import_artifact
from tests.support.examples.federation import EXPIRES
from tests.support.tampering import tampered

from beamkeep.contexts.exchange.importing import (
    ArtifactAlreadyImportedError,
    SealPointerConflictError,
)
from beamkeep.contexts.federation.signatures import (
    SignaturePrefix,
    key_fingerprint,
    verifies,
)
from beamkeep.feed.tail import WHOLE_LOG
from beamkeep.kernel import Refusal
from beamkeep.runtime.parsing import parse_body
from beamkeep.testing.database import Database
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, memory_service
from beamkeep.testing.signing import key_check, public_key, signed

pytestmark = pytest.mark.anyio
SENDERS, TAMPERED = 8, 50


@pytest.fixture
async def do(place: Database | None) -> AsyncGenerator[AdminClient]:
    if place is None:
        service, store = await memory_service()
        yield AdminClient(service, store)
        return
    async with postgres_service(place) as deployed:
        await deployed.projector.catch_up([WHOLE_LOG])  # the examples look the own site up
        yield AdminClient(deployed.service, deployed.store)


async def outcomes(do: AdminClient, calls: Sequence[dict[str, Any]]) -> Counter[str]:
    """How many of some imports at once are taken, and by which class the others are refused."""
    told = await asyncio.gather(
        *(do("import_artifact", each) for each in calls), return_exceptions=True
    )
    return Counter(type(each).__name__ if isinstance(each, Exception) else "taken" for each in told)


async def listed(do: AdminClient, permit_id: str) -> list[dict[str, Any]]:
    return (await do("list_permit_exchanges", {"permit_id": permit_id}))["items"]


async def test_of_many_imports_of_one_envelope_at_once_one_is_taken(do: AdminClient):
    sent = await import_artifact(do)
    assert await outcomes(do, [sent] * SENDERS) == {
        "taken": 1,
        "ArtifactAlreadyImportedError": SENDERS - 1,
    }
    (row,) = await listed(do, sent["permit_id"])
    assert (row["direction"], row["artifact_id"]) == ("Inbound", sent["envelope"]["artifact_id"])
    whole = await do("get_permit_exchange", {k: row[k] for k in ("permit_id", "exchange_id")})
    assert parse_body(whole["envelope"].encode()) == sent["envelope"]


async def test_the_same_request_sent_twice_at_once_gets_one_answer(do: AdminClient):
    sent = await import_artifact(do)
    first = await do("import_artifact", sent, idempotency_key="k")
    again = await do("import_artifact", sent, idempotency_key="k")
    assert first == again
    with pytest.raises(ArtifactAlreadyImportedError):
        await do("import_artifact", sent, idempotency_key="another")


async def test_exports_at_once_differ_and_verify(do: AdminClient):
    sent = await export_artifact(do)
    made = await asyncio.gather(*(do("export_artifact", sent) for _ in range(SENDERS)))
    assert len({each["signature"] for each in made}) == SENDERS
    key = public_key("own-1")
    for each in made:
        assert verifies(key, each["signature"], SignaturePrefix.ARTIFACT, each["envelope"])
    rows = await listed(do, sent["permit_id"])
    assert {row["exchange_id"] for row in rows} == {each["exchange_id"] for each in made}


async def with_anchor(do: AdminClient, sent: dict[str, Any]) -> dict[str, Any]:
    """Give the peer a seal key, and return the members that its pointers have in common."""
    permit = await do("get_permit", {"permit_id": sent["permit_id"]})
    code, purpose = sent["envelope"]["publisher_facility_code"], "SealOnlineSigning"
    key = {
        "facility_id": permit["peer_facility_id"],
        "audience": "seal",
        "purpose": purpose,
        "public_key": public_key("seal"),
        "key_check_signature": key_check("seal", code, "seal", purpose),
        "expires_at": EXPIRES,
    }
    id = (await do("register_credential", key))["credential_id"]
    anchor = {"facility_id": permit["peer_facility_id"], "credential_id": id}
    await do("add_facility_trust_anchor_credential", anchor)
    return {
        "facility_code": code,
        "sequence_number": 7,
        "signed_at": sent["envelope"]["exported_at"],
        "key_fingerprint": key_fingerprint(public_key("seal")),
    }


def pointing(sent: dict[str, Any], common: dict[str, Any], head: str) -> dict[str, Any]:
    """What was sent, with another pointer."""
    pointer = {**common, "head_hash": head}
    pointer["signature"] = signed("seal", SignaturePrefix.SEAL_POINTER, pointer)
    envelope = {**sent["envelope"], "seal_pointer": pointer}
    signature = signed("theirs", SignaturePrefix.ARTIFACT, envelope)
    return {**sent, "envelope": envelope, "signature": signature}


async def test_of_two_heads_for_one_number_at_once_one_is_taken(do: AdminClient):
    sent = await import_artifact(do)
    common = await with_anchor(do, sent)
    both = [pointing(sent, common, head * 32) for head in ("ab", "cd")]
    found = await outcomes(do, both)
    assert found["taken"] == 1
    assert found.total() == 2
    (row,) = await listed(do, sent["permit_id"])
    assert row["seal_sequence_number"] == 7


async def test_two_heads_for_one_number_raise_an_alarm_with_both(do: AdminClient):
    sent = await import_artifact(do)
    common = await with_anchor(do, sent)
    await do("import_artifact", pointing(sent, common, "ab" * 32))
    with structlog.testing.capture_logs() as lines, pytest.raises(SealPointerConflictError):
        await do("import_artifact", pointing(sent, common, "cd" * 32), idempotency_key="k")
    (alarm,) = [line for line in lines if line["event"] == "alarm"]
    told = {
        "event": "alarm",
        "log_level": "error",
        "code": "SealPointerConflictError",
        "facility_code": sent["envelope"]["publisher_facility_code"],
        "sequence_number": 7,
        "accepted_head_hash": "ab" * 32,
        "offered_head_hash": "cd" * 32,
    }
    assert alarm.items() >= told.items()
    with structlog.testing.capture_logs() as lines, pytest.raises(ArtifactAlreadyImportedError):
        await do("import_artifact", pointing(sent, common, "ab" * 32))
    assert "alarm" not in {line["event"] for line in lines}


async def test_tampered_envelopes_are_refused(do: AdminClient):
    sent = await import_artifact(do)
    sent = pointing(sent, await with_anchor(do, sent), "ab" * 32)
    await do("import_artifact", sent)
    permit_id, draw = sent.pop("permit_id"), random.Random(17)  # noqa: S311
    for _ in range(TAMPERED):
        change, body = tampered(sent, draw)
        with pytest.raises(Refusal) as refused:
            await do("import_artifact", {**parse_body(body), "permit_id": permit_id})
        assert refused.value.status in {400, 409, 422}, change
    assert len(await listed(do, permit_id)) == 1
