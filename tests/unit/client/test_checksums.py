"""Checksums: of a file and of a directory, as data is compared by them."""

import hashlib
import os
import shutil
import socket
import subprocess
import threading
import time
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamkeep_client.shared.checksums import (
    BLOCK,
    HASHES,
    ChangedWhileReadError,
    CheckedFile,
    FoundBytes,
    Pace,
    RateLimit,
    TreeRefusedError,
    check_file,
    check_tree,
    failure_of,
    identity_of,
    no_pace,
    sums_of_file,
    tree_digest,
)

CONTENT = os.urandom(BLOCK * 2 + 17)


@pytest.fixture(autouse=True)
def every_descriptor_is_closed() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


def checked(path: Path, pace: Pace = no_pace) -> FoundBytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return check_file(file, pace) if path.is_file() else check_tree(file, pace=pace)
    finally:
        os.close(file)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b/2.tif", "a.tif", "b/c/1.tif", "ä.tif", "b-1.tif", "Z.tif"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_a_file_has_the_sum_that_sha256sum_prints(tmp_path: Path):
    (tmp_path / "scan.h5").write_bytes(CONTENT)
    summed = subprocess.run(
        ["sha256sum", tmp_path / "scan.h5"], capture_output=True, text=True, check=True
    )
    found = checked(tmp_path / "scan.h5")
    assert found[:4] == ("sha256", summed.stdout.split()[0], len(CONTENT), 1)


@pytest.mark.parametrize("content", [b"", b"x", CONTENT])
def test_further_sums_are_computed_in_the_same_reading(tmp_path: Path, content: bytes):
    (tmp_path / "scan.h5").write_bytes(content)
    with (tmp_path / "scan.h5").open("rb") as file:
        sums, mark = sums_of_file(file.fileno(), algorithms=tuple(HASHES), from_storage=True)
    assert sums == {
        **{name: hashlib.new(name, content).hexdigest() for name in HASHES if name != "adler32"},
        "adler32": f"{zlib.adler32(content):08x}",
    }
    assert mark.byte_size == len(content)


def test_a_tree_is_the_sum_of_the_lines_that_sha256sum_prints(tree: Path):
    """The list is written by other programs: find, sort by bytes, sha256sum."""
    line = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"
    summed = subprocess.run(
        ["bash", "-c", line], cwd=tree, capture_output=True, text=True, check=True
    )
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    assert checked(tree)[:4] == ("sha256-tree", summed.stdout.split()[0], size, 6)


def test_a_tree_of_parts_is_these_files_and_nothing_else(tree: Path):
    parts = ["b/c/1.tif", "a.tif"]
    (tree / "link").symlink_to("/etc/passwd")
    directory = os.open(tree, os.O_RDONLY)
    found = check_tree(directory, parts)
    with pytest.raises(FileNotFoundError):
        check_tree(directory, [*parts, "missing.tif"])
    for path in ("link", "../a", "/etc/passwd", "b//2.tif", ""):
        with pytest.raises(TreeRefusedError):
            check_tree(directory, [path])
    os.close(directory)
    lines = [(name, hashlib.sha256(name.encode()).hexdigest()) for name in parts]
    assert found[:4] == ("sha256-tree", tree_digest(lines), 14, 2)


def test_a_file_is_recognised_under_another_name(tmp_path: Path):
    names = {name: tmp_path / name for name in ("first", "hard", "other")}
    names["first"].write_bytes(CONTENT)
    os.link(names["first"], names["hard"])
    names["other"].write_bytes(CONTENT)
    first, hard, other = (checked(names[name]).file for name in ("first", "hard", "other"))
    assert first
    assert (first, first.links) == (hard, 2)
    assert other
    assert (other.host, other.device) == (first.host, first.device)
    assert other.inode != first.inode


def test_a_tree_of_hard_links_is_recognised(tree: Path, tmp_path_factory: pytest.TempPathFactory):
    linked = tmp_path_factory.mktemp("linked") / "tree"
    subprocess.run(["cp", "-al", str(tree), str(linked)], check=True)
    assert checked(linked).file == checked(tree).file
    copied = tmp_path_factory.mktemp("copied") / "tree"
    subprocess.run(["cp", "-a", str(tree), str(copied)], check=True)
    assert checked(copied).file != checked(tree).file


def test_a_host_has_the_name_that_its_setting_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BEAMKEEP_HOST_NAME", "nvme1")
    assert identity_of(tmp_path.stat()).host == "nvme1"


def test_names_are_compared_in_unicode_form_nfc(tmp_path: Path):
    for form in ("NFC", "NFD"):
        (tmp_path / form).mkdir()
        (tmp_path / form / unicodedata.normalize(form, "Prüfkörper.tif")).write_text("frames")
    assert checked(tmp_path / "NFC")[:4] == checked(tmp_path / "NFD")[:4]
    (tmp_path / "NFD" / "Prüfkörper.tif").write_text("frames")
    with pytest.raises(TreeRefusedError, match="Unicode"):
        checked(tmp_path / "NFD")


def test_a_tree_with_links_or_special_files_is_refused(tree: Path):
    def refused() -> None:
        with pytest.raises(TreeRefusedError) as error:
            checked(tree)
        assert failure_of(error.value) == "Corrupt"

    for target in ("a.tif", "b", "nowhere", "/etc/passwd"):
        (tree / "b" / "link").symlink_to(target)
        refused()
        (tree / "b" / "link").unlink()
    os.mkfifo(tree / "b" / "fifo")
    refused()
    (tree / "b" / "fifo").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tree / "s"))
        refused()
    (tree / "s").unlink()
    for name in (b"new\nline", b"\xff"):
        Path(os.fsdecode(bytes(tree) + b"/" + name)).write_text("")
        refused()
        Path(os.fsdecode(bytes(tree) + b"/" + name)).unlink()
    assert checked(tree).file_count == 6


def test_a_file_that_changes_while_it_is_read_has_no_sum(tmp_path: Path):
    path = tmp_path / "scan.h5"

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"more")

    def overwrite() -> None:
        with path.open("r+b") as file:
            file.write(b"other")

    def truncate() -> None:
        os.truncate(path, 5)

    for change in (append, overwrite, truncate):
        path.write_bytes(CONTENT)
        os.utime(path, ns=(0, 0))
        with pytest.raises(ChangedWhileReadError) as error:
            checked(path, lambda _, change=change: change())
        assert failure_of(error.value) == "Corrupt"


def test_a_tree_that_changes_while_it_is_read_has_no_sum(tree: Path):
    # The files that were read already are changed when the last one is read.
    for name in ("b/new.tif", "a.tif", "Z.tif"):
        counts = list[int]()

        def change(count: int, name: str = name, counts: list[int] = counts) -> None:
            counts.extend([count] if count else [])
            if len(counts) == 6:
                (tree / name).write_text("written while read")

        with pytest.raises(ChangedWhileReadError):
            checked(tree, change)
    assert checked(tree).file_count == 7


def test_files_that_were_read_before_and_are_the_same_are_not_read_again(tree: Path):
    directory, first, second = os.open(tree, os.O_RDONLY), list[CheckedFile](), list[CheckedFile]()
    found = check_tree(directory, checked=first.append)
    assert len(first) == 6
    known = {each.path: each for each in first}
    assert check_tree(directory, known=known, checked=second.append) == found
    assert second == []
    # The same size and modification time, yet other bytes: the change time tells.
    status = (tree / "a.tif").stat()
    (tree / "a.tif").write_text("A.TIF")
    os.utime(tree / "a.tif", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert check_tree(directory, known=known, checked=second.append) != found
    assert [each.path for each in second] == ["a.tif"]
    os.close(directory)


def test_every_byte_is_counted_once(tmp_path: Path, tree: Path):
    counts = list[int]()
    (tree / "scan.h5").write_bytes(CONTENT)
    assert checked(tree, counts.append).byte_size == sum(counts)
    assert max(counts) <= BLOCK


def test_a_rate_limit_holds_over_all_threads():
    now, waited, lock = [0.0], list[float](), threading.Lock()

    def wait(seconds: float) -> None:
        with lock:
            waited.append(seconds)
            now[0] = max(now[0], 0) + seconds

    limit = RateLimit(100.0, clock=lambda: now[0], wait=wait)
    for _ in range(2):
        limit(50)
    assert waited == []  # a second's worth at once
    for _ in range(10):
        limit(100)
    assert now[0] == pytest.approx(10.0)
    now[0] += 60
    limit(100)  # a pause earns a second's worth, not a minute's
    limit(100)
    assert waited[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (FileNotFoundError(), "NotFound"),
        (NotADirectoryError(), "NotFound"),
        (PermissionError(), "PermissionDenied"),
        (TimeoutError(), "Timeout"),
        (ConnectionResetError(), "TransportError"),
        (OSError(5, "Input/output error"), "Corrupt"),
        (OSError(116, "Stale file handle"), "TransportError"),
    ],
)
def test_an_error_is_reported_in_the_words_of_an_attestation(error: OSError, failure: str):
    assert failure_of(error) == failure


@pytest.mark.timed
def test_a_file_is_summed_at_four_fifths_of_the_speed_of_sha256sum(tmp_path: Path):
    """Both read the same cached file, in turns; the best of three counts."""
    path, seconds = tmp_path / "big", dict[str, float](ours=1e9, theirs=1e9)
    program = shutil.which("sha256sum") or "sha256sum"
    with path.open("wb") as file:
        for _ in range(256):
            file.write(os.urandom(BLOCK))

    def theirs() -> None:
        subprocess.run([program, path], check=True, capture_output=True)

    for _ in range(3):
        for name, run in (("ours", lambda: checked(path)), ("theirs", theirs)):
            begun = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
    assert seconds["theirs"] / seconds["ours"] >= 0.8
