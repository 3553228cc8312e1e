"""Keys are read from files that only the user of the service can read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from beamkeep.adapters.files.private_files import OpenKeyFileError, read_private
from beamkeep.parts.subscriptions.sealing import secret_keeper
from beamkeep.parts.witness.keys import make_key, signing_key


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    make_key("control.example.org/witness", path)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_the_user_alone_is_read(key_file: Path, mode: int):
    key_file.chmod(mode)
    assert read_private(key_file) == key_file.read_bytes()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o610, 0o700])
@pytest.mark.parametrize("read", [read_private, signing_key, secret_keeper])
def test_a_file_that_others_can_use_is_refused(
    key_file: Path, mode: int, read: Callable[[Path], object]
):
    key_file.chmod(mode)
    with pytest.raises(ValueError, match="mode 0600 or 0400"):
        read(key_file)


def test_neither_a_directory_nor_a_file_of_another_user_is_read(key_file: Path):
    with pytest.raises((OpenKeyFileError, IsADirectoryError)):
        read_private(key_file.parent)
    if os.geteuid() == 0:
        os.chown(key_file, 65534, 65534)
        with pytest.raises(OpenKeyFileError):
            read_private(key_file)
