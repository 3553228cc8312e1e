"""Signers: keys in memory, in files and in a PKCS#11 token sign alike, or say why they cannot."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from beamkeep.contexts.federation.signatures import Signer, SignerUnavailableError, SignMessage
from beamkeep.parts.exchange.signers.key_files import KeyFileSigner
from beamkeep.parts.exchange.signers.memory import MemorySigner
from beamkeep.parts.exchange.signers.pkcs11_token import Pkcs11Signer
from beamkeep.parts.exchange.signers.signing import Pkcs11Token, SigningStep, signer_of

pytestmark = pytest.mark.anyio
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
MODULE, TOKEN, PIN = Path("/usr/lib/softhsm/libsofthsm2.so"), "beamkeep", "123456"


def write_key(directory: Path, name: str, text: bytes = PEM, mode: int = 0o600) -> Path:
    path = directory / name
    path.write_bytes(text)
    path.chmod(mode)
    return path


@pytest.fixture(scope="session")
def token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pkcs11Token]:
    """A software token with one key; the library reads its configuration once per process."""
    place = tmp_path_factory.mktemp("softhsm")
    (place / "tokens").mkdir()
    config = write_key(place, "softhsm2.conf", f"directories.tokendir = {place}/tokens\n".encode())
    before = os.environ.get("SOFTHSM2_CONF")
    os.environ["SOFTHSM2_CONF"] = str(config)
    pem = write_key(place, "key.pem")
    made = "--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", PIN
    kept = "--import", str(pem), "--token", TOKEN, "--label", "seal-online", "--id", "01"
    for arguments in (made, (*kept, "--pin", PIN)):
        subprocess.run(["softhsm2-util", *arguments], check=True, capture_output=True)
    yield Pkcs11Token(MODULE, TOKEN, PIN)
    os.environ.pop("SOFTHSM2_CONF")
    if before is not None:
        os.environ["SOFTHSM2_CONF"] = before


def in_memory(request: pytest.FixtureRequest) -> Signer:
    return MemorySigner({"seal-online": KEY})


def in_files(request: pytest.FixtureRequest) -> Signer:
    place: Path = request.getfixturevalue("tmp_path")
    write_key(place, "seal-online")
    return KeyFileSigner(place)


def in_token(request: pytest.FixtureRequest) -> Signer:
    return Pkcs11Signer(*request.getfixturevalue("token"))


@pytest.fixture(params=[in_memory, in_files, in_token])
def signer(request: pytest.FixtureRequest) -> Signer:
    kind: Callable[[pytest.FixtureRequest], Signer] = request.param
    return kind(request)


async def test_a_signature_is_that_of_the_key_named(signer: Signer):
    for message in (b"", b"beamkeep/artifact/v1\n{}", bytes(100_000)):
        # Ed25519 is deterministic, so the signature is known.
        assert await signer.sign("seal-online", message) == KEY.sign(message)


async def test_a_key_that_there_is_not_signs_nothing(signer: Signer):
    for name in ("seal-offline", "seal-online2", "../seal-online", "a/b", ".", "", "x" * 500):
        assert await signer.sign(name, b"message") is None


async def test_a_signer_that_is_away_says_so():
    memory = MemorySigner({"seal-online": KEY})
    memory.is_away = True
    with pytest.raises(SignerUnavailableError, match="switched off"):
        await memory.sign("seal-online", b"message")


async def test_a_key_file_that_others_may_read_is_not_used(tmp_path: Path):
    for mode in (0o644, 0o640, 0o660, 0o604, 0o700):
        write_key(tmp_path, "open", mode=mode)
        with pytest.raises(SignerUnavailableError, match="mode 0600"):
            await KeyFileSigner(tmp_path).sign("open", b"message")


async def test_only_a_regular_file_in_the_directory_is_read(tmp_path: Path):
    directory = tmp_path / "keys"
    directory.mkdir()
    (directory / "link").symlink_to(write_key(tmp_path, "outside"))
    os.mkfifo(directory / "pipe", 0o600)
    (directory / "folder").mkdir(0o600)
    for name in ("link", "pipe", "folder"):
        with pytest.raises(SignerUnavailableError):
            await KeyFileSigner(directory).sign(name, b"message")
    assert await KeyFileSigner(directory).sign("../outside", b"message") is None


async def test_a_key_file_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_key(tmp_path, "seal-online")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(SignerUnavailableError, match="own user"):
        await KeyFileSigner(tmp_path).sign("seal-online", b"message")


async def test_a_file_without_an_ed25519_key_is_not_used(tmp_path: Path):
    other = generate_private_key(65537, 2048)
    rsa = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for text in (b"", b"no key", PEM[:60], rsa):
        write_key(tmp_path, "other", text)
        with pytest.raises(SignerUnavailableError, match="no Ed25519 key"):
            await KeyFileSigner(tmp_path).sign("other", b"message")


async def test_a_directory_that_is_gone_is_no_missing_key(tmp_path: Path):
    with pytest.raises(SignerUnavailableError, match="does not exist"):
        await KeyFileSigner(tmp_path / "gone").sign("seal-online", b"message")


async def test_a_token_that_is_gone_or_refuses_the_pin_says_so(token: Pkcs11Token):
    module, label, pin = token
    for wrong in (
        Pkcs11Token(module, "another", pin),
        Pkcs11Token(module, label, "000000"),
        Pkcs11Token(Path("/nowhere/lib.so"), label, pin),
    ):
        with pytest.raises(SignerUnavailableError, match=r"The PKCS#11 token failed with \w+"):
            await Pkcs11Signer(*wrong).sign("seal-online", b"message")


async def test_the_settings_choose_the_signer(tmp_path: Path, token: Pkcs11Token):
    assert signer_of(None, None) is None
    assert isinstance(signer_of(tmp_path, None), KeyFileSigner)
    assert isinstance(signer_of(None, token), Pkcs11Signer)


async def test_a_deployment_without_a_signer_says_which_settings_are_missing():
    with pytest.raises(SignerUnavailableError, match="SIGNING_KEY_DIRECTORY"):
        await SigningStep(None)(SignMessage("seal-online", b"message"))
    kept = SigningStep(MemorySigner({"seal-online": KEY}))
    assert await kept(SignMessage("seal-online", b"message")) == KEY.sign(b"message")
