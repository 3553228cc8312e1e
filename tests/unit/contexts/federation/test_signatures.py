"""Signatures: one text for one value, and what is signed has one form."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from beamkeep.contexts.federation.signatures import (
    LARGEST_INTEGER,
    MOST_BYTES,
    SMALL_ORDER,
    SignaturePrefix,
    decoded_key,
    decoded_signature,
    encoded,
    key_fingerprint,
    message_of,
    require_signable,
    verifies,
)
from beamkeep.schemas import Json
from beamkeep.testing.signing import public_key, signed

KEY, TEXT = public_key("a"), signed("a", SignaturePrefix.ARTIFACT, {"b": 1, "a": "é"})
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_signature_covers_prefix_line_feed_and_canonical_json():
    assert message_of(SignaturePrefix.ARTIFACT, {"b": 1.0, "a": "é"}) == (
        b'beamkeep/artifact/v1\n{"a":"\xc3\xa9","b":1}'
    )


def test_a_signature_verifies_with_its_key_and_its_prefix_only():
    value = {"a": "é", "b": 1}
    assert verifies(KEY, TEXT, SignaturePrefix.ARTIFACT, value)
    assert not verifies(public_key("b"), TEXT, SignaturePrefix.ARTIFACT, value)
    assert not verifies(KEY, TEXT, SignaturePrefix.ARTIFACT, {**value, "b": 2})
    for prefix in set(SignaturePrefix) - {SignaturePrefix.ARTIFACT}:
        assert not verifies(KEY, TEXT, prefix, value)


def test_of_the_texts_that_decode_alike_only_one_is_taken():
    signatures = [TEXT[:-1] + last for last in ALPHABET]
    assert [text for text in signatures if decoded_signature(text)] == [
        text for text in signatures if text[-1] in "AQgw"
    ]
    keys = [KEY[:-1] + last for last in ALPHABET]
    assert [text[-1] for text in keys if decoded_key(text)] == list("AEIMQUYcgkosw048")


def test_a_text_of_another_form_is_no_key_and_no_signature():
    for text in ("", KEY[:-1], KEY + "=", KEY + "A", KEY[:-1] + "=", "+" + KEY[1:], "é" + KEY[1:]):
        assert decoded_key(text) is None
    for text in ("", TEXT[:-1], TEXT + "==", "/" + TEXT[1:], " " + TEXT[1:], TEXT + "\n", KEY):
        assert decoded_signature(text) is None


def test_a_fingerprint_is_the_digest_of_the_key_itself():
    assert key_fingerprint(encoded(b"\x05" * 32)) == (
        "f849d67325facf04177bc663b2dc544051831c589ef581d412f2eba44834e77c"
    )


def test_the_14_weak_keys_are_no_keys():
    assert len(SMALL_ORDER) == 14
    assert [decoded_key(encoded(key)) for key in SMALL_ORDER] == [None] * 14


def test_the_library_takes_weak_keys_for_keys():
    """Why they are listed: a signature of the identity and zero fits every message."""
    weak, forged = (1).to_bytes(32, "little"), (1).to_bytes(32, "little") + bytes(32)
    assert weak in SMALL_ORDER
    for message in (b"one", b"two"):
        Ed25519PublicKey.from_public_bytes(weak).verify(forged, message)
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(b"\x05" * 32).verify(forged, b"one")


@pytest.mark.parametrize(
    ("value", "saying"),
    [
        ([], "must be a JSON object"),
        (nested(33), "over 32 levels deep"),
        ({"a": "\ud800"}, "not Unicode"),
        ({"\udfff": 1}, "not Unicode"),
        ({"a": [LARGEST_INTEGER + 1]}, "an integer"),
        ({"a": -LARGEST_INTEGER - 1}, "an integer"),
        ({"a": float("nan")}, "not finite"),
        ({"a": (1, 2)}, "tuple is not a type of JSON"),
        ({"a": float("inf")}, "not finite"),
        ({"a": "x" * MOST_BYTES}, "more than 524,288 bytes"),
    ],
)
def test_what_readers_would_read_differently_is_not_signed(value: Json, saying: str):
    with pytest.raises(ValueError, match=saying):
        require_signable(value)


def test_what_is_within_all_bounds_is_signed():
    for value in (nested(31), {"a": LARGEST_INTEGER, "b": -LARGEST_INTEGER, "c": 1e300}, {}):
        assert require_signable(value) == value
