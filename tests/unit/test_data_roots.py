"""Data roots: what may be opened beneath them, and what leads out."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamkeep.adapters.files.data_roots import (
    DataRoots,
    OutsideRootsError,
    PathResolver,
    SpecialFileError,
    by_components,
    by_kernel,
    has_openat2,
    path_of,
)

SWAPS = 3_000
RESOLVES = {"kernel": by_kernel, "components": by_components}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "inner").mkdir(parents=True)
    (tmp_path / "root" / "inner" / "scan.h5").write_bytes(b"frames")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "scan.h5").write_bytes(b"secret")
    return tmp_path / "root"


@pytest.fixture(params=RESOLVES)
def resolve(request: pytest.FixtureRequest) -> PathResolver:
    return RESOLVES[request.param]


@pytest.fixture
def roots(root: Path, resolve: PathResolver) -> DataRoots:
    return DataRoots([root], resolve)


@pytest.fixture(autouse=True)
def every_descriptor_is_closed() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


def read(roots: DataRoots, path: Path | str) -> bytes:
    with os.fdopen(roots.open(str(path)), "rb") as file:
        return file.read()


def test_this_machine_resolves_by_the_kernel():
    assert has_openat2()


def test_a_file_and_a_directory_beneath_a_root_are_opened(roots: DataRoots, root: Path):
    assert read(roots, root / "inner" / "scan.h5") == b"frames"
    for directory in (root / "inner", root):
        opened = roots.open(str(directory))
        inside = os.listdir(opened)
        os.close(opened)
        assert inside == os.listdir(directory)


def test_what_is_missing_or_forbidden_is_reported_as_such(roots: DataRoots, root: Path):
    with pytest.raises(FileNotFoundError):
        roots.open(str(root / "inner" / "other.h5"))
    with pytest.raises(NotADirectoryError):
        roots.open(str(root / "inner" / "scan.h5" / "below"))
    if os.geteuid():
        (root / "inner" / "scan.h5").chmod(0)
        with pytest.raises(PermissionError):
            roots.open(str(root / "inner" / "scan.h5"))


def test_a_path_outside_of_every_root_is_not_opened(roots: DataRoots, root: Path):
    for path in (
        root.parent / "secret" / "scan.h5",
        f"{root}/../secret/scan.h5",
        f"{root}/inner/../../secret/scan.h5",
        f"{root}-2/scan.h5",
        "root/inner/scan.h5",
        "/etc/passwd",
        "",
    ):
        with pytest.raises(OutsideRootsError):
            roots.open(str(path))


def test_no_link_leads_out_of_a_root(roots: DataRoots, root: Path):
    links = {
        "relative": "../secret/scan.h5",
        "absolute": root.parent / "secret" / "scan.h5",
        "inside-by-absolute": root / "inner" / "scan.h5",
        "out-and-in-again": f"../{root.name}/inner/scan.h5",
        "loop": "loop",
        "magic": "/proc/self/cwd",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
        with pytest.raises(OutsideRootsError):
            roots.open(str(root / name))
    (root / "directory").symlink_to("../secret")
    with pytest.raises(OutsideRootsError):
        roots.open(str(root / "directory" / "scan.h5"))


def test_a_link_inside_a_root_is_followed_by_the_kernel_only(root: Path):
    (root / "latest").symlink_to("inner/scan.h5")
    (root / "inner" / "up").symlink_to("../inner")
    for name in ("latest", "inner/up/scan.h5"):
        assert read(DataRoots([root], by_kernel), root / name) == b"frames"
        with pytest.raises(OutsideRootsError):
            DataRoots([root], by_components).open(str(root / name))


def test_a_root_may_be_a_link_itself_and_roots_may_be_nested(root: Path, resolve: PathResolver):
    (root.parent / "alias").symlink_to(root)
    assert read(DataRoots([root.parent / "alias"], resolve), root.parent / "alias/inner/scan.h5")
    nested = DataRoots([root / "inner", root], resolve)
    assert nested.roots == (root,)
    assert read(nested, root / "inner" / "scan.h5") == b"frames"


def test_a_special_file_is_never_opened(roots: DataRoots, root: Path):
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        for name in ("fifo", "socket"):
            with pytest.raises(SpecialFileError):
                roots.open(str(root / name))
    # A reader that had opened the FIFO, if only for a moment, would let this writer pass.
    with pytest.raises(OSError, match="No such device"):
        os.open(root / "fifo", os.O_WRONLY | os.O_NONBLOCK)


def test_devices_are_not_opened(resolve: PathResolver):
    for device in ("/dev/null", "/dev/zero"):
        with pytest.raises(SpecialFileError):
            DataRoots([Path("/dev")], resolve).open(device)


def test_no_swap_during_the_resolution_leads_out(roots: DataRoots, root: Path):
    """A directory is exchanged with a link that leads out, again and again."""
    (root / "inner" / "deep").mkdir()
    (root / "inner" / "deep" / "scan.h5").write_bytes(b"frames")
    (root.parent / "secret" / "deep").mkdir()
    (root.parent / "secret" / "deep" / "scan.h5").write_bytes(b"secret")
    (root / "other").symlink_to("../secret")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "inner").rename(root / "kept")
            (root / "other").rename(root / "inner")
            (root / "inner").rename(root / "other")
            (root / "kept").rename(root / "inner")

    swapper = threading.Thread(target=swap)
    swapper.start()
    found: set[bytes] = set()
    refused = 0
    try:
        for _ in range(SWAPS):
            try:
                found.add(read(roots, root / "inner" / "deep" / "scan.h5"))
            except (OutsideRootsError, FileNotFoundError):
                refused += 1
    finally:
        stop.set()
        swapper.join()
    assert found == {b"frames"}
    assert refused


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///data/run%20one/a%23b.h5", b"/data/run one/a#b.h5"),
        ("file://localhost/data/a.h5", b"/data/a.h5"),
        ("file:/data/µ.h5", "/data/µ.h5".encode()),
        ("file:///data/%ff.h5", b"/data/\xff.h5"),
    ],
)
def test_the_path_of_a_uri_is_decoded(uri: str, path: bytes):
    assert path_of(uri) == path


@pytest.mark.parametrize(
    "uri", ["https://host/data/a.h5", "file://host/data/a.h5", "file:///data/%00.h5", "/data/a.h5"]
)
def test_a_uri_of_another_host_or_scheme_has_no_path(uri: str):
    with pytest.raises(OutsideRootsError):
        path_of(uri)


def test_no_link_leads_out_of_a_directory_that_belongs_to_somebody(
    root: Path, resolve: PathResolver
):
    for name in ("vera", "otto"):
        (root / name).mkdir()
        (root / name / "scan.h5").write_bytes(name.encode())
    (root / "vera" / "theirs").symlink_to("../otto/scan.h5")
    (root / "vera" / "shared").symlink_to("../inner")
    (root / "vera" / "mine").symlink_to("scan.h5")
    roots = DataRoots([root], resolve, owned=[root / "vera", root / "otto"])
    for name in ("theirs", "shared/scan.h5"):
        with pytest.raises(OutsideRootsError):
            roots.open(str(root / "vera" / name))
    assert read(roots, root / "vera" / "scan.h5") == b"vera"
    assert read(roots, root / "inner" / "scan.h5") == b"frames"
