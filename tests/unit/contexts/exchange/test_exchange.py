"""Exchange: what a peer is sent, and the checks before something of a peer is taken."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.support.tampering import tampered
from tests.unit.contexts.federation.parts import (
    OWN,
    OWN_CODE,
    PEER,
    PEER_CODE,
    SITES,
    P,
    another_key,
    key_of,
    no_key,
    ref_of,
)

from beamkeep.contexts import exchange
from beamkeep.contexts.calibration.calibration import (
    AssertedSource,
    CalibrationDefined,
    CalibrationNotFoundError,
    CalibrationRevisionAppended,
    RevisionStatus,
)
from beamkeep.contexts.calibration.quantity import Quantity
from beamkeep.contexts.data.dataset import DatasetNotFoundError, DatasetRegistered
from beamkeep.contexts.data.shapes import Checksum, ChecksumAlgorithm, Encoding
from beamkeep.contexts.exchange.envelope import ArtifactEnvelope, digest_of, members
from beamkeep.contexts.exchange.exporting import (
    ArtifactExported,
    ExportPermitArtifact,
    PermitCannotExportError,
)
from beamkeep.contexts.exchange.importing import (
    ArtifactAlreadyImportedError,
    ArtifactImported,
    ImportPermitArtifact,
    InvalidArtifactEnvelopeError,
    PermitCannotImportError,
    SealPointerConflictError,
    StaleArtifactError,
    StaleSealPointerError,
)
from beamkeep.contexts.exchange.ledger import (
    ENVELOPES,
    EXCHANGES,
    POINTERS,
    ArtifactExchange,
    ExchangeNotFoundError,
    GetPermitExchange,
    PeerPointer,
)
from beamkeep.contexts.exchange.ledger import exchange as shown_exchange
from beamkeep.contexts.federation.credential import (
    CredentialRevoked,
    CredentialRotationCompleted,
    CredentialRotationStarted,
)
from beamkeep.contexts.federation.facility import (
    FacilityDecommissioned,
    FacilityTrustAnchorCredentialAdded,
    FacilityTrustAnchorCredentialRemoved,
)
from beamkeep.contexts.federation.permit import (
    PermitActivated,
    PermitDefined,
    PermitDirection,
    PermitNotFoundError,
    PermitRevoked,
    PermitSuspended,
)
from beamkeep.contexts.federation.seal import SealInitialized, SealPointerSigned
from beamkeep.contexts.federation.signatures import (
    SignaturePrefix,
    SignerUnavailableError,
    key_fingerprint,
    verifies,
)
from beamkeep.kernel import Event, Insert, Refusal, SideWrite, replace
from beamkeep.runtime.parsing import MalformedRequestError, parse, parse_body
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import ABSENT, CALL, LATER, ME, NEW, NOW, Past
from beamkeep.testing.scenario import Scenario
from beamkeep.testing.signing import key_check, public_key, sign, signed

IN, OUT, AGAIN = UUID(int=50), UUID(int=51), UUID(int=52)
DATASET, CALIBRATION, REVISION = UUID(int=60), UUID(int=61), UUID(int=62)
OURS, THEIRS, ANCHOR, SPARE = UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4)
ours, theirs, spare = key_of(1, "own-1"), key_of(2, "theirs", PEER), key_of(4, "own-2")
anchor = key_of(3, "seal", PEER, P.SEAL_ONLINE_SIGNING)
anchored = FacilityTrustAnchorCredentialAdded(NOW, PEER, ANCHOR)
inbound = PermitDefined(
    NOW, IN, PermitDirection.INBOUND, PEER, "imaging", P.DATASET_EXCHANGE, (THEIRS,), LATER
)
outbound = PermitDefined(
    NOW, OUT, PermitDirection.OUTBOUND, PEER, "imaging", P.DATASET_EXCHANGE, (OURS, SPARE), LATER
)
dataset = DatasetRegistered(
    occurred_at=NOW,
    dataset_id=DATASET,
    name="Sample of Ada Lovelace",
    checksum=Checksum(ChecksumAlgorithm.SHA256, "ab" * 32),
    byte_size=4096,
    encoding=Encoding("application/x-hdf5"),
    digests={},
    file_count=1,
    of_parts=False,
    producing_run_id=None,
    subject_id=None,
    derived_from=(),
    used_calibration_ids=(),
    retain_until=None,
    available_from=None,
)
KEYS = (*SITES, ours, theirs, spare, anchor, ref_of(1, "own-1"), ref_of(4, "own-2"))
READY = (*KEYS, inbound, PermitActivated(NOW, IN))
CHECKED = (*READY, anchored)
SENDING = (*KEYS, outbound, PermitActivated(NOW, OUT), dataset)
POINTER: dict[str, Any] = {
    "facility_code": PEER_CODE,
    "head_hash": "cd" * 32,
    "sequence_number": 7,
    "signed_at": "2029-12-31T08:00:00Z",
    "key_fingerprint": key_fingerprint(public_key("seal")),
}
CONTENT: dict[str, Any] = {"dataset_id": str(DATASET), "byte_size": 4096, "note": "é", "x": [1.5]}


def pointer(by: str = "seal", **changes: Any) -> dict[str, Any]:
    made = POINTER | changes
    return {**made, "signature": signed(by, SignaturePrefix.SEAL_POINTER, made)}


def envelope(**changes: Any) -> dict[str, Any]:
    content = changes.pop("content", CONTENT)
    made: dict[str, Any] = {
        "format": "beamkeep/artifact/v1",
        "publisher_facility_code": PEER_CODE,
        "recipient_facility_code": OWN_CODE,
        "audience": "imaging",
        "purpose": "DatasetExchange",
        "artifact_kind": "Dataset",
        "artifact_id": str(DATASET),
        "content": content,
        "content_hash": digest_of(content),
        "key_fingerprint": key_fingerprint(public_key("theirs")),
        "seal_pointer": pointer(),
        "exported_at": "2030-01-01T00:00:00.000000Z",
    }
    return made | changes


def sent(by: str = "theirs", prefix: Any = SignaturePrefix.ARTIFACT, **changes: Any) -> Any:
    """What a peer sends: an envelope with its signature."""
    made = envelope(**changes)
    return {"envelope": made, "signature": signed(by, prefix, made)}


def importing(what: Any, permit_id: UUID = IN) -> ImportPermitArtifact:
    return parse(ImportPermitArtifact, {"permit_id": str(permit_id), **what})


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(exchange.OPERATIONS, history)


def imported(what: Any, *history: Event | SideWrite, permit_id: UUID = IN) -> list[Any]:
    """The rows of an import, for what follows it."""
    decided = given(*(history or CHECKED)).when(importing(what, permit_id)).decided()
    return [part for part in decided if isinstance(part, Insert)]


EXPORT = ExportPermitArtifact(permit_id=OUT, artifact_id=DATASET)


def exported(*history: Event | SideWrite, command: Any = EXPORT) -> tuple[Any, ArtifactExported]:
    row, reply = given(*(history or SENDING)).when(command, outside=sign).decided()
    assert isinstance(row, Insert)
    assert isinstance(reply, ArtifactExported)
    return row.row, reply


def test_an_export_is_an_envelope_for_the_peer_that_the_own_site_has_signed():
    row, reply = exported()
    made = reply.envelope
    assert verifies(public_key("own-1"), reply.signature, SignaturePrefix.ARTIFACT, members(made))
    assert (made.publisher_facility_code, made.recipient_facility_code) == (OWN_CODE, PEER_CODE)
    assert (made.artifact_kind, made.artifact_id, made.exported_at) == (
        "Dataset",
        str(DATASET),
        "2030-01-01T00:00:00.000000Z",
    )
    assert made.content_hash == digest_of(made.content)
    assert made.seal_pointer is None
    assert row == ArtifactExchange(
        exchange_id=NEW,
        permit_id=OUT,
        peer_facility_id=PEER,
        direction=PermitDirection.OUTBOUND,
        credential_id=OURS,
        key_fingerprint=key_fingerprint(public_key("own-1")),
        artifact_kind="Dataset",
        artifact_id=DATASET,
        content_hash=made.content_hash,
        seal_sequence_number=None,
        seal_head_hash=None,
        exported_at=NOW,
        signature=reply.signature,
        principal_id=ME,
        recorded_at=NOW,
    )


def test_no_free_text_and_no_actor_crosses_the_border():
    _, reply = exported()
    assert "Ada" not in msgspec.json.encode(reply.envelope).decode()
    assert "name" not in reply.envelope.content
    permit = replace(
        outbound, purpose=P.CALIBRATION_EXCHANGE, allowed_credential_ids=(UUID(int=9),)
    )
    key = key_of(9, "own-1", purpose=P.CALIBRATION_EXCHANGE)
    defined = CalibrationDefined(
        NOW, CALIBRATION, UUID(int=70), Quantity.ROTATION_CENTER, {"energy": 25}, "by Ada"
    )
    appended = CalibrationRevisionAppended(
        occurred_at=NOW,
        calibration_id=CALIBRATION,
        revision_id=REVISION,
        value={"center": 1024.5},
        status=RevisionStatus.VERIFIED,
        source=AssertedSource(ME),
        established_at=NOW,
        supersedes_revision_id=None,
        decided_by_decision_id=None,
    )
    history = (*KEYS, key, ref_of(9, "own-1"), permit, PermitActivated(NOW, OUT))
    command = ExportPermitArtifact(permit_id=OUT, artifact_id=CALIBRATION)
    _, reply = exported(*history, defined, appended, command=command)
    text = msgspec.json.encode(reply.envelope).decode()
    assert "Ada" not in text
    assert str(ME) not in text
    assert reply.envelope.artifact_kind == "Calibration"
    given(*history).when(command).refused(CalibrationNotFoundError)


def test_an_export_has_the_pointer_of_the_own_seal():
    site = SealInitialized(NOW, OWN, OURS, SPARE)
    pointed = SealPointerSigned(NOW, OWN, "ef" * 32, 3, NOW, OURS, "aa" * 32, "signature")
    row, reply = exported(*SENDING, site, pointed)
    assert reply.envelope.seal_pointer is not None
    assert reply.envelope.seal_pointer.sequence_number == 3
    assert (row.seal_sequence_number, row.seal_head_hash) == (3, "ef" * 32)


def test_the_caller_or_the_lowest_id_chooses_the_key():
    chosen = EXPORT.model_copy(update={"credential_id": SPARE})
    assert exported(command=chosen)[0].credential_id == SPARE
    lost = CredentialRevoked(NOW, OURS, "lost")
    assert exported(*SENDING, lost)[0].credential_id == SPARE
    given(*SENDING, lost).when(EXPORT.model_copy(update={"credential_id": OURS})).refused(
        PermitCannotExportError, "usable"
    )
    given(*SENDING).when(EXPORT.model_copy(update={"credential_id": THEIRS})).refused(
        PermitCannotExportError, "does not allow"
    )
    both = CredentialRevoked(NOW, SPARE, "lost")
    given(*SENDING, lost, both).when(EXPORT).refused(PermitCannotExportError, "None of the allowed")


def test_only_an_outbound_permit_in_force_lets_something_out():
    given(*READY, dataset).when(EXPORT.model_copy(update={"permit_id": IN})).refused(
        PermitCannotExportError, "Inbound"
    )
    for last in (
        PermitSuspended(NOW, OUT, "audit"),
        PermitRevoked(NOW, OUT, "over"),
        FacilityDecommissioned(NOW, PEER, "closed"),
    ):
        given(*SENDING, last).when(EXPORT).refused(PermitCannotExportError)
    given(*SENDING).when(EXPORT, call=replace(CALL, now=LATER)).refused(PermitCannotExportError)
    given().when(EXPORT).refused(PermitNotFoundError)


def test_an_artifact_that_is_not_there_or_not_the_callers_is_not_found():
    other = EXPORT.model_copy(update={"artifact_id": ABSENT})
    given(*SENDING).when(other).refused(DatasetNotFoundError)


def test_a_signer_with_another_key_lets_nothing_out():
    for outside in (no_key, another_key):
        given(*SENDING).when(EXPORT, outside=outside).refused(SignerUnavailableError)


def test_what_a_peer_could_not_read_is_not_exported():
    given(*SENDING[:-1], replace(dataset, byte_size=2**53)).when(EXPORT).refused(
        PermitCannotExportError, "an integer"
    )
    large = tuple(UUID(int=n) for n in range(14_000))
    given(*SENDING[:-1], replace(dataset, derived_from=large)).when(EXPORT).refused(
        PermitCannotExportError, "bytes"
    )


def test_an_import_goes_into_the_ledger_with_its_envelope_and_its_pointer():
    what = sent()
    row, kept, first, reply = given(*CHECKED).when(importing(what)).decided()
    assert isinstance(row, Insert)
    assert isinstance(row.row, ArtifactExchange)
    assert row.loser is ArtifactAlreadyImportedError
    assert (row.row.credential_id, row.row.artifact_id) == (THEIRS, DATASET)
    assert (row.row.seal_sequence_number, row.row.seal_head_hash) == (7, "cd" * 32)
    assert isinstance(kept, Insert)
    assert msgspec.json.decode(kept.row.envelope) == what["envelope"]  # type: ignore[attr-defined]
    assert first == POINTERS.insert(PeerPointer(PEER, 7, "cd" * 32))
    assert reply == ArtifactImported(NEW)


def test_what_one_deployment_exports_another_imports():
    _, reply = exported(*SENDING[:-1], replace(dataset, derived_from=(CALIBRATION,)))
    own, peer = (
        replace(part, code=code) if part in SITES[:2] else part
        for part, code in zip(SITES[:2], (PEER_CODE, OWN_CODE), strict=True)
    )
    swapped = replace(
        theirs,
        public_key=public_key("own-1"),
        key_check_signature=key_check("own-1", OWN_CODE, "exchange-2", P.DATASET_EXCHANGE),
    )
    history = (own, peer, swapped, inbound, PermitActivated(NOW, IN))
    there = replace(FACTS, facility_code=PEER_CODE)
    what = msgspec.json.decode(msgspec.json.encode(reply))
    del what["exchange_id"]
    Scenario(exchange.OPERATIONS, history, there).when(importing(what)).decided()


def test_only_an_inbound_permit_in_force_lets_something_in():
    given(*SENDING).when(importing(sent(), OUT)).refused(PermitCannotImportError, "Outbound")
    for last in (
        PermitSuspended(NOW, IN, "audit"),
        PermitRevoked(NOW, IN, "over"),
        FacilityDecommissioned(NOW, PEER, "closed"),
    ):
        given(*CHECKED, last).when(importing(sent())).refused(PermitCannotImportError)
    late = replace(CALL, now=LATER)
    given(*CHECKED).when(importing(sent()), call=late).refused(PermitCannotImportError)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "beamkeep/artifact/v2"},
        {"publisher_facility_code": OWN_CODE},
        {"recipient_facility_code": "elsewhere"},
        {"audience": "spectroscopy"},
        {"purpose": "CalibrationExchange"},
        {"artifact_kind": "Calibration"},
        {"artifact_id": str(CALIBRATION)},
        {"content": {"dataset_id": str(CALIBRATION)}},
        {"content": {}},
        {"content_hash": "00" * 32},
        {"key_fingerprint": "00" * 32},
        {"key_fingerprint": key_fingerprint(public_key("own-1"))},
        {"key_fingerprint": key_fingerprint(public_key("seal"))},
        {"by": "own-1"},
        {"by": "seal"},
        {"prefix": SignaturePrefix.SEAL_POINTER},
    ],
    ids=str,
)
def test_an_envelope_that_is_wrong_anywhere_is_refused_in_one_text(changes: dict[str, Any]):
    refusal = given(*CHECKED).when(importing(sent(**changes))).refused(InvalidArtifactEnvelopeError)
    assert str(refusal) == InvalidArtifactEnvelopeError.__doc__


def test_a_change_after_the_signature_is_noticed():
    for name, value in (
        ("exported_at", "2030-01-01T00:00:00.000001Z"),
        ("exported_at", "2030-01-01T00:00:00Z"),
        ("seal_pointer", None),
    ):
        what = sent()
        what["envelope"][name] = value
        given(*READY).when(importing(what)).refused(InvalidArtifactEnvelopeError)


def test_a_revoked_expired_or_replaced_key_signs_nothing_more():
    started = CredentialRotationStarted(NOW, THEIRS, public_key("theirs-2"), "check", None)
    completed = CredentialRotationCompleted(NOW, THEIRS, public_key("theirs-2"), 2)
    second = {"by": "theirs-2", "key_fingerprint": key_fingerprint(public_key("theirs-2"))}
    old, new = importing(sent()), importing(sent(**second))
    given(*CHECKED).when(new).refused(InvalidArtifactEnvelopeError)
    for command in (old, new):
        given(*CHECKED, started).when(command).decided()
    given(*CHECKED, started, completed).when(new).decided()
    given(*CHECKED, started, completed).when(old).refused(InvalidArtifactEnvelopeError)
    gone = CredentialRevoked(NOW, THEIRS, "lost")
    given(*CHECKED, gone).when(old).refused(InvalidArtifactEnvelopeError)
    expired = [replace(part, expires_at=NOW) if part is theirs else part for part in CHECKED]
    given(*expired).when(old).refused(InvalidArtifactEnvelopeError)


@pytest.mark.parametrize(
    "made",
    [
        lambda: None,
        lambda: pointer(facility_code=OWN_CODE),
        lambda: pointer(by="theirs"),
        lambda: pointer(key_fingerprint=key_fingerprint(public_key("theirs")), by="theirs"),
        lambda: {**pointer(), "sequence_number": 8},
        lambda: {**pointer(), "head_hash": "00" * 32},
        lambda: pointer(signed_at="2030-01-01T00:00:00.000001Z"),
    ],
)
def test_the_pointer_of_a_peer_with_an_anchor_is_sound(made: Callable[[], Any]):
    what = importing(sent(seal_pointer=made()))
    given(*CHECKED).when(what).refused(InvalidArtifactEnvelopeError, "pointer")
    # Without an anchor, the pointer is kept unread.
    row, *_ = imported(sent(seal_pointer=made()), *READY)
    assert (row.row.seal_sequence_number, row.row.seal_head_hash) == (None, None)


def test_an_anchor_that_is_revoked_does_not_turn_the_check_off_and_one_removed_does():
    gone = CredentialRevoked(NOW, ANCHOR, "lost")
    for what in (sent(), sent(seal_pointer=None)):
        given(*CHECKED, gone).when(importing(what)).refused(InvalidArtifactEnvelopeError, "pointer")
    removed = FacilityTrustAnchorCredentialRemoved(NOW, PEER, ANCHOR, "lost")
    given(*CHECKED, gone, removed).when(importing(sent(seal_pointer=None))).decided()


def newer(number: int = 7, minute: int = 1, **changes: Any) -> Any:
    time = f"2030-01-01T00:{minute:02}:00Z"
    return sent(seal_pointer=pointer(sequence_number=number, **changes), exported_at=time)


def test_a_pointer_is_not_older_than_one_accepted_and_never_tells_two_stories():
    history = (*CHECKED, *imported(sent()))
    given(*history).when(importing(newer(6))).refused(StaleSealPointerError, "7 was accepted")
    conflict = (
        given(*history)
        .when(importing(newer(7, head_hash="00" * 32)))
        .refused(SealPointerConflictError)
    )
    assert conflict.facts == {
        "facility_code": PEER_CODE,
        "sequence_number": 7,
        "accepted_head_hash": "cd" * 32,
        "offered_head_hash": "00" * 32,
    }
    row, _, reply = given(*history).when(importing(newer(7))).decided()
    assert isinstance(row, Insert)
    assert reply == ArtifactImported(NEW)
    given(*history).when(importing(newer(8))).decided()


def test_an_envelope_is_imported_once_under_whichever_permit():
    history = (*CHECKED, *imported(sent()))
    given(*history).when(importing(sent())).refused(ArtifactAlreadyImportedError)
    anew = replace(inbound, permit_id=AGAIN)
    over = (PermitRevoked(NOW, IN, "over"), anew, PermitActivated(NOW, AGAIN))
    given(*history, *over).when(importing(sent(), AGAIN)).refused(ArtifactAlreadyImportedError)


@pytest.mark.parametrize(
    ("time", "taken"),
    [
        ("2030-01-01T00:05:00Z", True),
        ("2030-01-01T00:05:00.000001Z", False),
        ("2029-12-25T00:00:00Z", True),
        ("2029-12-24T23:59:59.999999Z", False),
    ],
)
def test_an_envelope_is_neither_of_the_future_nor_old(time: str, taken: bool):
    early = pointer(signed_at="2029-12-24T00:00:00Z")
    one = given(*CHECKED).when(importing(sent(exported_at=time, seal_pointer=early)))
    _ = one.decided() if taken else one.refused(StaleArtifactError)


def test_an_envelope_that_was_withheld_does_not_replace_a_newer_one():
    history = (*CHECKED, *imported(newer(minute=2)))
    for minute in (0, 1):
        given(*history).when(importing(newer(minute=minute))).refused(StaleArtifactError, "A copy")
    given(*history).when(importing(newer(minute=3))).decided()
    other = {"dataset_id": str(CALIBRATION)}
    elsewhere = sent(content=other, artifact_id=str(CALIBRATION))
    given(*history).when(importing(elsewhere)).decided()


@pytest.mark.parametrize(
    "changes",
    [
        {"exported_at": "2030-01-01T00:00:00+00:00"},
        {"exported_at": "2030-02-31T00:00:00Z"},
        {"exported_at": "2030-01-01 00:00:00Z"},
        {"content_hash": "AB" * 32},
        {"key_fingerprint": "ab" * 31},
        {"artifact_id": str(DATASET).upper().replace("0", "A")},
        {"artifact_id": DATASET.hex},
        {"seal_pointer": {**pointer(), "sequence_number": "7"}},
        {"seal_pointer": {**pointer(), "sequence_number": True}},
        {"seal_pointer": {**pointer(), "more": 1}},
        {"more": 1},
        {"audience": 7},
    ],
    ids=str,
)
def test_an_envelope_of_another_shape_is_malformed(changes: dict[str, Any]):
    with pytest.raises(MalformedRequestError):
        importing(sent(**changes))


def test_of_the_texts_of_one_signature_only_one_is_a_signature():
    what = sent()
    for last in set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"):
        text = what["signature"][:-1] + last
        if text == what["signature"]:
            continue
        try:
            command = importing({**what, "signature": text})
        except MalformedRequestError:
            continue
        given(*CHECKED).when(command).refused(InvalidArtifactEnvelopeError)


def outcome_of(body: bytes, history: Any) -> str:
    """What happens to the body of an import: the class of its refusal, or `taken`."""
    try:
        arguments = parse_body(b'{"permit_id":"%b",%b' % (str(IN).encode(), body[1:]))
        given(*history).when(parse(ImportPermitArtifact, arguments)).decided()
    except Refusal as refusal:
        return type(refusal).__name__
    return "taken"


def test_of_200_tampered_envelopes_none_is_taken():
    what = sent()
    history = (*CHECKED, *imported(what))
    draw, found = random.Random(17), Counter[str]()  # noqa: S311
    for _ in range(200):
        change, body = tampered(what, draw)
        found[(outcome := outcome_of(body, history))] += 1
        assert outcome != "taken", change
    assert found.keys() == {
        "MalformedRequestError",
        "InvalidArtifactEnvelopeError",
        "ArtifactAlreadyImportedError",
    }


def test_one_exchange_is_shown_with_the_envelope_of_an_import():
    past = Past([*CHECKED, *imported(sent())])
    query = GetPermitExchange(permit_id=IN, exchange_id=NEW)
    shown = asyncio.run(shown_exchange(query, past))
    assert msgspec.json.decode(shown.envelope or "") == envelope()
    for other in ({"permit_id": OUT}, {"exchange_id": ABSENT}):
        with pytest.raises(ExchangeNotFoundError):
            asyncio.run(shown_exchange(query.model_copy(update=other), past))


def test_the_envelope_of_an_export_is_not_stored():
    row, _ = exported()
    past = Past([*SENDING, EXCHANGES.insert(row)])
    shown = asyncio.run(shown_exchange(GetPermitExchange(permit_id=OUT, exchange_id=NEW), past))
    assert shown.envelope is None
    assert ENVELOPES.key == ("exchange_id",)
    assert isinstance(ArtifactEnvelope.__struct_fields__, tuple)
    assert row.recorded_at - row.exported_at == timedelta(0)
