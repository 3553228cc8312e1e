"""Artifacts: a checksum covers everything that is there, or there is none."""

import os
import subprocess
from pathlib import Path

import pytest

from beamkeep.parts.conducting.compute.artifacts import artifact_at
from beamkeep.parts.conducting.compute.seam import ComputeArtifactMissingError

LISTED = "find . -type f -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"


def test_the_checksum_of_a_directory_is_what_sha256sum_says(tmp_path: Path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    for name in ("a/b/z.tif", "a/é.txt", "a.txt", "a-b.txt", "Z"):
        (tmp_path / name).write_text(f"of {name}")
    said = subprocess.run(["sh", "-c", LISTED], cwd=tmp_path, capture_output=True, check=True)
    made = artifact_at(tmp_path)
    assert made.checksum_value == said.stdout.split()[0].decode()
    assert (made.checksum_algorithm, made.entry_count) == ("sha256-tree", 5)


def test_the_media_type_of_a_file_follows_its_name(tmp_path: Path):
    (tmp_path / "frame.tif").write_bytes(b"")
    made = artifact_at(tmp_path / "frame.tif")
    assert (made.media_type, made.byte_size, made.entry_count) == ("image/tiff", 0, 1)


def test_what_no_checksum_covers_is_no_artifact(tmp_path: Path):
    for name in ("link", "pipe", "newline\n", "e\u0301", os.fsdecode(b"\xff")):
        directory = tmp_path / str(len([*tmp_path.iterdir()]))
        directory.mkdir()
        match name:
            case "link":
                (directory / name).symlink_to("/etc/passwd")
            case "pipe":
                os.mkfifo(directory / name)
            case _:
                (directory / name).touch()
        with pytest.raises(ComputeArtifactMissingError, match=r"not a regular file|cannot be part"):
            artifact_at(directory)


def test_nothing_and_a_link_are_no_artifacts(tmp_path: Path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("absent", "link"):
        with pytest.raises(ComputeArtifactMissingError, match="no file or directory"):
            artifact_at(tmp_path / name)
