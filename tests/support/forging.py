"""Forged envelopes: what somebody might send who has some of the keys, and how it is refused."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from beamkeep.contexts.exchange.envelope import digest_of
from beamkeep.contexts.federation.seal import time_text
from beamkeep.contexts.federation.signatures import SignaturePrefix, key_fingerprint
from beamkeep.testing.signing import public_key, signed
from tests.support.tampering import ALPHABET, Sent, written

PUBLISHER, AUDIENCE, PURPOSE = "north-ring", "forging", "DatasetExchange"
GOOD, OLD, LOST, UNKNOWN = (f"{PUBLISHER}-{name}" for name in ("good", "old", "lost", "unknown"))
"""The key that is in use, one that it has replaced, one that was revoked, and one of nobody."""
ONLINE = f"{PUBLISHER}-online"
NUMBER = 2
"""The sequence number of the publisher's seal; its head is the same number."""

INVALID, MALFORMED = "InvalidArtifactEnvelopeError", "MalformedRequestError"
STALE, STALE_POINTER = "StaleArtifactError", "StaleSealPointerError"
CONFLICT, AGAIN = "SealPointerConflictError", "ArtifactAlreadyImportedError"


class Forger:
    """Makes envelopes of a publisher for a recipient, with any key."""

    def __init__(self, recipient: str, recipients_key: str) -> None:
        self.recipient, self.recipients_key = recipient, recipients_key
        self.imported = self.sent()

    def pointer(self, by: str = ONLINE, **changes: Any) -> dict[str, Any]:
        """Return a pointer of the publisher's seal."""
        made: dict[str, Any] = {
            "facility_code": PUBLISHER,
            "head_hash": f"{NUMBER:064x}",
            "sequence_number": NUMBER,
            "signed_at": time_text(datetime.now(UTC) - timedelta(days=10)),
            "key_fingerprint": key_fingerprint(public_key(by)),
            **changes,
        }
        return {**made, "signature": signed(by, SignaturePrefix.SEAL_POINTER, made)}

    def sent(
        self, by: str = GOOD, prefix: SignaturePrefix = SignaturePrefix.ARTIFACT, **changes: Any
    ) -> Sent:
        """Return an envelope, good but for the changes, with the signature of a key."""
        content = changes.pop("content", {"dataset_id": str(uuid4()), "byte_size": 4096, "x": "é"})
        made: dict[str, Any] = {
            "format": "beamkeep/artifact/v1",
            "publisher_facility_code": PUBLISHER,
            "recipient_facility_code": self.recipient,
            "audience": AUDIENCE,
            "purpose": PURPOSE,
            "artifact_kind": "Dataset",
            "artifact_id": content["dataset_id"],
            "content": content,
            "content_hash": digest_of(content),
            "key_fingerprint": key_fingerprint(public_key(by)),
            "seal_pointer": self.pointer(),
            "exported_at": time_text(datetime.now(UTC)),
            **changes,
        }
        return {"envelope": made, "signature": signed(by, prefix, made)}

    def changed(self, **changes: Any) -> bytes:
        """Return a good envelope that was changed after it was signed."""
        sent = self.sent()
        return written({**sent, "envelope": {**sent["envelope"], **changes}})

    def ago(self, **time: float) -> str:
        return time_text(datetime.now(UTC) - timedelta(**time))

    def pointing(self, **changes: Any) -> bytes:
        return written(self.sent(seal_pointer=self.pointer(**changes)))

    def older_copy(self) -> bytes:
        """An earlier envelope of the record that was imported, withheld until now."""
        content = self.imported["envelope"]["content"]
        return written(self.sent(content=content, exported_at=self.ago(hours=1)))

    def other_text(self) -> bytes:
        """The signature in another text for the same bytes."""
        sent = self.sent()
        place = ALPHABET.index(sent["signature"][-1])
        return written({**sent, "signature": sent["signature"][:-1] + ALPHABET[place ^ 1]})

    def spliced(self) -> bytes:
        """The signature of one good envelope next to another."""
        return written({**self.sent(), "signature": self.sent()["signature"]})

    def deep(self) -> bytes:
        value: Any = 1
        for _ in range(40):
            value = {"a": value}
        return self.changed(content={"dataset_id": str(uuid4()), "deep": value})

    def text(self, old: str, new: str) -> bytes:
        """A good envelope with another text in one place."""
        whole = written(self.sent()).decode()
        assert old in whole
        return whole.replace(old, new, 1).encode()


type Forgery = Callable[[Forger], bytes]

# What is sent, and the class of its refusal.
FORGED: Mapping[str, tuple[Forgery, str]] = {
    # Signed by the right key, for something else.
    "format": (lambda f: written(f.sent(format="beamkeep/artifact/v2")), INVALID),
    "publisher": (lambda f: written(f.sent(publisher_facility_code="elsewhere")), INVALID),
    "recipient": (lambda f: written(f.sent(recipient_facility_code="elsewhere")), INVALID),
    "audience": (lambda f: written(f.sent(audience="imaging-exchange")), INVALID),
    "purpose": (lambda f: written(f.sent(purpose="CalibrationExchange")), INVALID),
    "kind": (lambda f: written(f.sent(artifact_kind="Calibration")), INVALID),
    "artifact": (lambda f: written(f.sent(artifact_id=str(uuid4()))), INVALID),
    "hash": (lambda f: written(f.sent(content_hash="0" * 64)), INVALID),
    "fingerprint": (lambda f: written(f.sent(key_fingerprint="0" * 64)), INVALID),
    # Signed by another key, or for another use.
    "unknown key": (lambda f: written(f.sent(by=UNKNOWN)), INVALID),
    "key of the recipient": (lambda f: written(f.sent(by=f.recipients_key)), INVALID),
    "seal key": (lambda f: written(f.sent(by=ONLINE)), INVALID),
    "replaced key": (lambda f: written(f.sent(by=OLD)), INVALID),
    "revoked key": (lambda f: written(f.sent(by=LOST)), INVALID),
    "fingerprint of the right key": (
        lambda f: written(f.sent(by=OLD, key_fingerprint=key_fingerprint(public_key(GOOD)))),
        INVALID,
    ),
    "signature of a pointer": (
        lambda f: written(f.sent(prefix=SignaturePrefix.SEAL_POINTER)),
        INVALID,
    ),
    "signature of a key check": (
        lambda f: written(f.sent(prefix=SignaturePrefix.KEY_CHECK)),
        INVALID,
    ),
    "signature of another envelope": (lambda f: f.spliced(), INVALID),
    # Changed after it was signed.
    "time": (lambda f: f.changed(exported_at=f.ago(seconds=5)), INVALID),
    "content": (lambda f: f.changed(content={"dataset_id": str(uuid4())}), INVALID),
    "no pointer any more": (lambda f: f.changed(seal_pointer=None), INVALID),
    # The pointer.
    "no pointer": (lambda f: written(f.sent(seal_pointer=None)), INVALID),
    "pointer of another site": (lambda f: f.pointing(facility_code="elsewhere"), INVALID),
    "pointer by another key": (lambda f: f.pointing(by=GOOD), INVALID),
    "pointer of the future": (
        lambda f: f.pointing(signed_at=f.ago(minutes=-1)),
        INVALID,
    ),
    "pointer changed": (
        lambda f: written(f.sent(seal_pointer={**f.pointer(), "sequence_number": 2**50})),
        INVALID,
    ),
    "older pointer": (lambda f: f.pointing(sequence_number=NUMBER - 1), STALE_POINTER),
    "other head": (lambda f: f.pointing(head_hash="ab" * 32), CONFLICT),
    # Sent before, or too late.
    "replayed": (lambda f: written(f.imported), AGAIN),
    "replayed in another text": (lambda f: json.dumps(f.imported, indent=2).encode(), AGAIN),
    "older copy": (lambda f: f.older_copy(), STALE),
    "of the future": (lambda f: written(f.sent(exported_at=f.ago(minutes=-10))), STALE),
    "eight days old": (lambda f: written(f.sent(exported_at=f.ago(days=8))), STALE),
    # Not an envelope.
    "empty": (lambda _: b"{}", MALFORMED),
    "a list": (lambda _: b"[]", MALFORMED),
    "cut off": (lambda f: written(f.sent())[:-20], MALFORMED),
    "another member": (lambda f: written({**f.sent(), "alg": "none"}), MALFORMED),
    "no signature": (lambda f: written({"envelope": f.sent()["envelope"]}), MALFORMED),
    "another text of the signature": (lambda f: f.other_text(), MALFORMED),
    "padded signature": (
        lambda f: written({**(sent := f.sent()), "signature": f"{sent['signature']}=="}),
        MALFORMED,
    ),
    "upper-case hash": (lambda f: f.changed(content_hash="AB" * 32), MALFORMED),
    "a member twice": (lambda f: f.text('"format":', '"format":"x","format":'), MALFORMED),
    "not a number": (lambda f: f.text('"byte_size":4096', '"byte_size":NaN'), MALFORMED),
    "a large number": (lambda f: f.text('"byte_size":4096', f'"byte_size":{2**60}'), MALFORMED),
    "half a character": (lambda f: f.text('"x":"é"', '"x":"\\ud800"'), MALFORMED),
    "not UTF-8": (lambda f: written(f.sent()).replace("é".encode(), b"\xe9"), MALFORMED),
    "too deep": (lambda f: f.deep(), MALFORMED),
    "too large": (
        lambda f: f.changed(content={"dataset_id": str(uuid4()), "x": "x" * 600_000}),
        MALFORMED,
    ),
}

# The classes that may answer each random change of an envelope that was imported.
CHANGED: Mapping[str, frozenset[str]] = {
    "any_value": frozenset({MALFORMED, INVALID, AGAIN}),
    "left_out": frozenset({MALFORMED, INVALID}),
    "added": frozenset({MALFORMED, INVALID}),
    "one_character": frozenset({MALFORMED, INVALID, AGAIN}),
    "truncated": frozenset({MALFORMED}),
    "twice": frozenset({MALFORMED}),
    "too_deep": frozenset({MALFORMED}),
    "too_large": frozenset({MALFORMED}),
    "reformatted": frozenset({AGAIN}),
    "raw_bytes": frozenset({MALFORMED, INVALID, AGAIN}),
}
