"""Verifying copies: which copies are due, where this host sees them, and how far a reading is."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

from beamkeep_client.tools.copies import (
    DueCopy,
    OutsideDirectoriesError,
    PathMap,
    Size,
    bar,
    due_copy,
    opened,
    outcome_of,
)

ROW: Mapping[str, Any] = {
    "distribution_id": "c",
    "dataset_id": "d",
    "uri": "file:///data/run%201/scan.h5",
    "access_protocol": "POSIX",
    "checksum": {"algorithm": "sha256", "value": "ab" * 32},
    "byte_size": 10,
    "of_parts": False,
    "verified_at": None,
    "marked_stale_at": None,
}
HERE = (("/data", "/data"),)
EARLY, LATE = "2030-01-01T00:00:00Z", "2030-02-01T00:00:00Z"
BETWEEN = datetime(2030, 1, 15, tzinfo=UTC)


def due(
    roots: tuple[tuple[str, str], ...] = HERE,
    under: str | None = None,
    since: datetime | None = None,
    **row: Any,
) -> DueCopy | None:
    return due_copy({**ROW, **row}, roots, under, since)


def test_the_longest_directory_that_fits_says_where_a_copy_is():
    roots = ("/data", "/mnt/a"), ("/data/run 1", "/mnt/b"), ("/dat", "/mnt/c")
    found = due(roots)
    assert found
    assert (found.root, found.path) == (Path("/mnt/b"), Path("/mnt/b/scan.h5"))
    assert due((("/dat", "/mnt/c"),)) is None
    assert due(uri="file:///data/../etc/passwd") is None
    assert due(uri="file://other/data/scan.h5") is None


def test_only_files_below_the_wanted_directory_are_read():
    assert due(under="/data/run 1/")
    assert due(under="/data/run") is None
    for protocol in ("HTTPS", "S3", "Offline"):
        assert due(access_protocol=protocol) is None
    assert due(access_protocol="NFS")


def test_a_copy_with_a_result_is_due_only_if_the_result_is_old():
    for result in ("verified_at", "marked_stale_at"):
        early, late = {**ROW, result: EARLY}, {**ROW, result: LATE}
        assert due_copy(early, HERE, None, None) is None
        assert due_copy(early, HERE, None, BETWEEN)
        assert due_copy(late, HERE, None, BETWEEN) is None
    assert due(since=BETWEEN, verified_at=EARLY, marked_stale_at=LATE) is None
    assert due(unreachable_since=EARLY)


def test_the_outcome_is_the_one_that_the_service_decides():
    copy = due()
    assert copy
    found = {"algorithm": "sha256", "value": "ab" * 32, "byte_size": 10}
    assert outcome_of(copy, {"found": found}) == "Match"
    assert outcome_of(copy, {"found": {**found, "byte_size": 9}}) == "Mismatch"
    assert outcome_of(copy, {"found": {**found, "value": "cd" * 32}}) == "Mismatch"
    assert outcome_of(copy, {"failure": "NotFound"}) == "Unreachable"


@pytest.mark.parametrize(
    ("text", "value"), [("200MB", 2e8), ("1.5 GB/s", 1.5e9), ("64k", 64_000), ("10", 10)]
)
def test_a_rate_is_written_as_people_do(text: str, value: float):
    assert Size().convert(text, None, None) == value


@pytest.mark.parametrize("text", ["", "fast", "-1MB", "0", "1PB"])
def test_any_other_rate_is_refused(text: str):
    with pytest.raises(click.BadParameter):
        Size().convert(text, None, None)


def test_a_map_has_two_absolute_directories_or_one_for_both():
    assert PathMap().convert("/data/=/mnt/data", None, None) == ("/data", "/mnt/data")
    assert PathMap().convert("/data", None, None) == ("/data", "/data")
    for wrong in ("data=/mnt", "/data=mnt", "=/mnt"):
        with pytest.raises(click.BadParameter):
            PathMap().convert(wrong, None, None)


def test_a_bar_fits_the_terminal_at_any_size(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    for read, total in ((0, 0), (0, 10**13), (10**12, 10**13), (10**13, 10**13), (11, 10)):
        line = bar(read, total, 3600.0, "123/4567")
        assert len(line) <= 80
    assert "10%" in bar(10**12, 10**13, 3600.0, "1/2")
    assert "540 min left" in bar(10**12, 10**13, 3600.0, "1/2")


def test_a_link_is_followed_inside_its_directory_only(tmp_path: Path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "scan.h5").write_text("frames")
    (tmp_path / "secret.h5").write_text("secret")
    (tmp_path / "root" / "in.h5").symlink_to("scan.h5")
    (tmp_path / "root" / "out.h5").symlink_to("../secret.h5")
    (tmp_path / "alias").symlink_to("root")
    copy = due()
    assert copy
    for root in (tmp_path / "root", tmp_path / "alias"):
        for name in ("scan.h5", "in.h5"):
            with opened(copy._replace(root=root, path=root / name)) as file:
                assert os.read(file, 10) == b"frames"
        with (
            pytest.raises(OutsideDirectoriesError),
            opened(copy._replace(root=root, path=root / "out.h5")),
        ):
            pass
    with pytest.raises(FileNotFoundError), opened(copy._replace(root=root, path=root / "no.h5")):
        pass
