"""Checkpoints as signed notes."""

from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from beamkeep.parts.witness.trees.notes import (
    Checkpoint,
    Form,
    InvalidNoteError,
    NoteSigner,
    VerifierKey,
    read_key,
    read_note,
    read_notes,
    read_signer,
)

PUBLISHED = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
ROOT = bytes(range(32))
CHECKPOINT = Checkpoint("control.example.org/north-ring/events-1", 862464, ROOT)
SIGNER = NoteSigner(
    "control.example.org/north-ring/witness", Ed25519PrivateKey.from_private_bytes(b"k" * 32)
)
NEXT = NoteSigner(
    "control.example.org/north-ring/witness", Ed25519PrivateKey.from_private_bytes(b"n" * 32)
)
PEER = NoteSigner("south.example.org/witness", Ed25519PrivateKey.from_private_bytes(b"p" * 32))


def test_a_checkpoint_is_written_as_c2sp_does():
    note = CHECKPOINT.signed([SIGNER])
    origin, size, root, empty, line, end = note.split("\n")
    assert (origin, size, root) == (CHECKPOINT.origin, "862464", b64encode(ROOT).decode())
    assert (empty, end) == ("", "")
    assert line.startswith("\N{EM DASH} control.example.org/north-ring/witness ")


def test_a_key_and_its_signature_are_those_of_the_published_example():
    # The example of Go's package `note`, which signed notes come from.
    key = read_key(PUBLISHED)
    assert (key.name, key.form) == ("PeterNeumann", Form.NOTE)
    assert read_key(key.text) == key
    message = (
        "If you think cryptography is the answer to your problem,\n"
        "then you don't know what your problem is.\n"
    )
    told = b64decode(
        "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    )
    assert told[:4] == key.id
    assert key.verifies(told[4:], message)
    assert not key.verifies(told[4:], message.upper())


def test_a_note_is_read_and_its_signatures_tell_the_keys():
    note = read_note(CHECKPOINT.signed([SIGNER, NEXT]))
    assert note.checkpoint == CHECKPOINT
    assert note.signed_by([SIGNER.key(), NEXT.key(), PEER.key()]) == [SIGNER.key(), NEXT.key()]


def test_the_same_tree_gives_the_same_note():
    assert CHECKPOINT.signed([SIGNER]) == CHECKPOINT.signed([SIGNER])


@pytest.mark.parametrize(
    "other",
    [
        CHECKPOINT._replace(origin="control.example.org/north-ring/rows-1"),
        CHECKPOINT._replace(size=862465),
        CHECKPOINT._replace(root=bytes(32)),
    ],
)
def test_a_signature_holds_for_its_own_checkpoint_only(other: Checkpoint):
    lines = CHECKPOINT.signed([SIGNER]).split("\n\n")[1]
    assert read_note(f"{other.text}\n{lines}").signed_by([SIGNER.key()]) == []


def test_a_cosignature_tells_when_a_witness_has_seen_the_checkpoint():
    line = CHECKPOINT.cosigned(PEER, 1_800_000_000)
    assert b64decode(line.split()[2])[4:12] == (1_800_000_000).to_bytes(8)
    note = read_note(CHECKPOINT.signed([SIGNER]) + line)
    key = PEER.key(Form.COSIGNATURE)
    assert note.signed_by([PEER.key(Form.COSIGNATURE)._replace(public=bytes(32))]) == []
    assert note.signed_by([SIGNER.key(), key]) == [SIGNER.key(), key]


def test_a_cosignature_with_another_time_does_not_hold():
    note = read_note(CHECKPOINT.signed([]) + CHECKPOINT.cosigned(PEER, 2))
    ((name, signed),) = note.signatures
    forged = note._replace(signatures=[(name, signed[:4] + (3).to_bytes(8) + signed[12:])])
    assert note.signed_by([PEER.key(Form.COSIGNATURE)]) == [PEER.key(Form.COSIGNATURE)]
    assert forged.signed_by([PEER.key(Form.COSIGNATURE)]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n1\nAAAA\n",
        CHECKPOINT.text + "\n",
        CHECKPOINT.signed([SIGNER]).removesuffix("\n"),
        CHECKPOINT.signed([SIGNER]).replace("862464", "0862464"),
        CHECKPOINT.signed([SIGNER]).replace("862464", "-1"),
        CHECKPOINT.signed([SIGNER]).replace("862464\n", "862464\nextension\n"),
        CHECKPOINT.signed([SIGNER]).replace("\N{EM DASH}", "-"),
        CHECKPOINT.signed([SIGNER]).replace("Hh8=", "Hh9="),
        CHECKPOINT.signed([SIGNER]).replace("Hh8=", "Hh8"),
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(text: str):
    with pytest.raises(InvalidNoteError):
        read_note(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name",
        "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+Axpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+AQ==",
    ],
)
def test_a_text_that_is_no_key_is_refused(text: str):
    with pytest.raises(InvalidNoteError):
        read_key(text)


def test_notes_of_a_file_are_read_one_by_one_with_what_cannot_be_read():
    one, other = CHECKPOINT.signed([SIGNER, NEXT]), CHECKPOINT._replace(size=7).signed([SIGNER])
    assert read_notes(one + other) == [one, other]
    assert read_notes(one + "spoiled\n" + other + "the end") == [
        one,
        f"spoiled\n{other}",
        "the end\n",
    ]


def test_a_private_key_is_read_as_it_was_written():
    assert read_signer(SIGNER.secret_text).key() == SIGNER.key()
    for text in (SIGNER.key().text, SIGNER.secret_text.replace("witness+", "another+")):
        with pytest.raises(InvalidNoteError):
            read_signer(text)


def test_keys_of_two_forms_have_two_ids():
    keys = {SIGNER.key(form).id for form in Form}
    assert len(keys) == len(Form)
    assert VerifierKey(*SIGNER.key()) == SIGNER.key()
