"""Sealing: a text is opened by its own key for its own subscription, and by nothing else."""

from base64 import b64decode, b64encode
from pathlib import Path
from uuid import UUID

import pytest

from beamkeep.parts.subscriptions.sealing import AesSecretKeeper, secret_keeper

ID, OTHER = UUID(int=1), UUID(int=2)
KEEPER = AesSecretKeeper(b"k" * 32)


def test_a_sealed_text_is_opened_and_does_not_show_it():
    sealed = KEEPER.seal("whsec_x", ID)
    assert KEEPER.open(sealed, ID) == "whsec_x"
    assert b"whsec_x" not in b64decode(sealed)
    assert KEEPER.seal("whsec_x", ID) != sealed


def test_neither_another_subscription_nor_another_key_opens_it():
    sealed = KEEPER.seal("whsec_x", ID)
    with pytest.raises(ValueError, match="another key"):
        KEEPER.open(sealed, OTHER)
    with pytest.raises(ValueError, match="another key"):
        AesSecretKeeper(b"o" * 32).open(sealed, ID)


def test_a_changed_text_is_not_opened():
    sealed = bytearray(b64decode(KEEPER.seal("whsec_x", ID)))
    sealed[-1] ^= 1
    with pytest.raises(ValueError, match="another key"):
        KEEPER.open(b64encode(sealed).decode(), ID)


def test_secrets_are_random_and_have_32_bytes():
    first, second = KEEPER.new(), KEEPER.new()
    assert first.text != second.text
    assert first.secret_id != second.secret_id
    assert len(b64decode(first.text.removeprefix("whsec_"))) == 32


def test_the_key_is_read_from_a_file(tmp_path: Path):
    path = tmp_path / "key"
    path.write_text(b64encode(b"k" * 32).decode() + "\n")
    path.chmod(0o600)
    assert secret_keeper(path).open(KEEPER.seal("whsec_x", ID), ID) == "whsec_x"


@pytest.mark.parametrize("text", ["", "short", "====", b64encode(b"k" * 31).decode(), "k" * 32])
def test_a_file_without_a_key_of_32_bytes_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ValueError, match=r"."):
        secret_keeper(path)
