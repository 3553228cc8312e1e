"""Reading copies: in child processes, from allowed places only, and never without end."""

import asyncio
import hashlib
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.support.certificates import certificate
from tests.support.receiving import Got, LocalReceiver, answer

from beamkeep.contexts.data.attestation import CheckFailure
from beamkeep.contexts.data.check import CopyToRead
from beamkeep.contexts.data.shapes import ChecksumAlgorithm
from beamkeep.parts.custody import copies
from beamkeep.parts.custody.checks import ReadProgress
from beamkeep.parts.custody.copies import SHORTEST_HTTPS, ChildCopyReader
from beamkeep.testing.waiting import until
from beamkeep_client.shared.checksums import CheckedFile, FoundBytes, identity_of, tree_digest

pytestmark = pytest.mark.anyio
CONTENT = b"frames" * 100_000
SUM = hashlib.sha256(CONTENT).hexdigest()
RATE = 1e9


def copy(uri: str, parts: Sequence[str] | None = None, *, tree: bool = False) -> CopyToRead:
    algorithm = ChecksumAlgorithm.SHA256_TREE if tree else ChecksumAlgorithm.SHA256
    return CopyToRead(uri, algorithm, len(CONTENT), parts=tuple(parts) if parts else None)


@pytest.fixture
def reader(tmp_path: Path) -> ChildCopyReader:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scan.h5").write_bytes(CONTENT)
    (tmp_path / "secret.h5").write_bytes(CONTENT)
    return ChildCopyReader([tmp_path / "data"], (), RATE)


async def read(
    reader: ChildCopyReader, wanted: CopyToRead, known: Sequence[CheckedFile] = ()
) -> FoundBytes | CheckFailure:
    return await reader.read(wanted, known, ReadProgress())


async def test_a_file_beneath_a_root_is_read(reader: ChildCopyReader, tmp_path: Path):
    found = await read(reader, copy(f"file://{tmp_path}/data/scan.h5"))
    file = identity_of((tmp_path / "data" / "scan.h5").stat())
    assert found == FoundBytes("sha256", SUM, len(CONTENT), file_count=1, file=file)
    assert file.host == socket.gethostname()


async def test_nothing_outside_of_the_roots_is_read(reader: ChildCopyReader, tmp_path: Path):
    (tmp_path / "data" / "link.h5").symlink_to("../secret.h5")
    for uri in (
        f"file://{tmp_path}/secret.h5",
        f"file://{tmp_path}/data/link.h5",
        f"file://{tmp_path}/data/../secret.h5",
        f"file://{tmp_path}/data/%2e%2e/secret.h5",
        f"file://elsewhere{tmp_path}/data/scan.h5",
        "file:///etc/passwd",
        "https://localhost/scan.h5",
    ):
        assert await read(reader, copy(uri)) is CheckFailure.OUTSIDE_ROOTS


async def test_no_link_out_of_a_directory_that_belongs_to_somebody_is_read(tmp_path: Path):
    (tmp_path / "vera").mkdir()
    (tmp_path / "otto.h5").write_bytes(CONTENT)
    (tmp_path / "vera" / "mine.h5").symlink_to("../otto.h5")
    reader = ChildCopyReader([tmp_path], (), RATE, owned=[tmp_path / "vera"])
    told = await read(reader, copy(f"file://{tmp_path}/vera/mine.h5"))
    assert told is CheckFailure.OUTSIDE_ROOTS


async def test_what_cannot_be_read_is_told(reader: ChildCopyReader, tmp_path: Path):
    os.mkfifo(tmp_path / "data" / "fifo")
    for name, failure in (
        ("missing.h5", CheckFailure.NOT_FOUND),
        ("scan.h5/below", CheckFailure.NOT_FOUND),
        ("fifo", CheckFailure.CORRUPT),
        ("", CheckFailure.CORRUPT),
    ):
        assert await read(reader, copy(f"file://{tmp_path}/data/{name}")) is failure


async def test_a_directory_goes_on_after_the_files_that_were_read(
    reader: ChildCopyReader, tmp_path: Path
):
    base = tmp_path / "data" / "frames"
    base.mkdir()
    for number in range(5):
        (base / f"{number}.tif").write_text(str(number))
    wanted, progress = copy(f"file://{base}/", tree=True), ReadProgress()
    found = await reader.read(wanted, (), progress)
    sums = {f"{n}.tif": hashlib.sha256(str(n).encode()).hexdigest() for n in range(5)}
    assert isinstance(found, FoundBytes)
    assert found[:4] == ("sha256-tree", tree_digest(sums.items()), 5, 5)
    assert {file.path: file.sha256 for file in progress.files} == sums
    # A known file is believed while it is unchanged, so a wrong sum shows that it was not read.
    wrong = [file._replace(sha256="0" * 64) for file in progress.files[:3]]
    (base / "0.tif").write_text("0")
    again = ReadProgress()
    found = await reader.read(wanted, wrong, again)
    believed = {file.path: file.sha256 for file in wrong[1:]}
    assert isinstance(found, FoundBytes)
    assert found.value == tree_digest({**sums, **believed}.items())
    assert [file.path for file in again.files] == ["0.tif", "3.tif", "4.tif"]
    parts = await read(reader, copy(f"file://{base}/", ["3.tif"], tree=True))
    assert isinstance(parts, FoundBytes)
    assert parts.value == tree_digest([("3.tif", sums["3.tif"])])


async def children() -> list[int]:
    """Return the processes that read copies for this one."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    found = list[int]()
    for pid in path.read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):
            if copies.CHILD.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return found


@pytest.fixture
async def slow(tmp_path: Path) -> AsyncGenerator[tuple[asyncio.Task[Any], ReadProgress, int]]:
    """A reading that would take hours, and its child."""
    (tmp_path / "big.h5").touch()
    os.truncate(tmp_path / "big.h5", 10**12)
    progress = ReadProgress()
    reader = ChildCopyReader([tmp_path], (), 50_000_000)
    task = asyncio.create_task(reader.read(copy(f"file://{tmp_path}/big.h5"), (), progress))
    await until(lambda: progress.bytes_read, "bytes are read")
    (child,) = await children()
    yield task, progress, child
    task.cancel()
    await asyncio.wait([task])
    assert await children() == []


type SlowReading = tuple[asyncio.Task[Any], ReadProgress, int]


async def test_the_child_has_neither_settings_nor_descriptors(
    slow: SlowReading, monkeypatch: pytest.MonkeyPatch
):
    _, _, child = slow
    variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
    assert {each.split(b"=")[0].decode() for each in variables if each} <= {
        *copies.INHERITED,
        "LC_CTYPE",
    }
    targets = [os.readlink(f"/proc/{child}/fd/{n}") for n in os.listdir(f"/proc/{child}/fd")]
    assert [each for each in targets if each.endswith("big.h5")]
    others = [each for each in targets if not each.endswith(("big.h5", "/dev/null"))]
    assert len(others) == 2
    assert {each.split(":")[0] for each in others} <= {"pipe", "socket"}


async def test_the_loop_never_waits_for_a_reading(slow: SlowReading):
    _, progress, _ = slow
    turns, before = 0, progress.bytes_read
    while progress.bytes_read == before:
        await asyncio.sleep(0)
        turns += 1
    assert turns > 1000


async def test_a_reading_that_is_cancelled_leaves_no_child(slow: SlowReading):
    task, _, child = slow
    task.cancel()
    await asyncio.wait([task])
    assert not Path(f"/proc/{child}").exists()


async def test_a_child_that_dies_is_no_finding(slow: SlowReading):
    task, _, child = slow
    os.kill(child, signal.SIGKILL)
    with pytest.raises(ChildProcessError):
        await task


async def test_a_storage_that_does_not_answer_is_a_timeout(tmp_path: Path):
    (tmp_path / "scan.h5").write_bytes(CONTENT)
    reader = ChildCopyReader([tmp_path], (), RATE, stall_seconds=0.0)
    assert await read(reader, copy(f"file://{tmp_path}/scan.h5")) is CheckFailure.TIMEOUT


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LocalReceiver]:
    served = LocalReceiver()
    await served.serve(context=certificate("localhost", tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    yield served
    await served.close()


def by_https(server: LocalReceiver, shortest_https: float = SHORTEST_HTTPS) -> ChildCopyReader:
    hosts = (f"localhost:{server.port}",)
    return ChildCopyReader([], hosts, RATE, shortest_https=shortest_https)


def body(content: bytes, **headers: str) -> Callable[[Got], Awaitable[bytes]]:
    async def behave(got: Got) -> bytes:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode() + content

    return behave


async def test_one_file_is_read_by_https(server: LocalReceiver):
    server.behaviours["/a/scan.h5"] = body(CONTENT, content_length=str(len(CONTENT)))
    uri = f"https://localhost:{server.port}/a/scan.h5"
    found = await read(by_https(server), copy(uri))
    assert found == FoundBytes("sha256", SUM, len(CONTENT), file_count=1)
    (got,) = server.got
    assert got.headers["accept-encoding"] == "identity"
    assert "authorization" not in got.headers


async def test_what_https_refuses_is_told_and_no_redirection_is_followed(server: LocalReceiver):
    for status, failure in (
        (404, CheckFailure.NOT_FOUND),
        (410, CheckFailure.NOT_FOUND),
        (403, CheckFailure.PERMISSION_DENIED),
        (301, CheckFailure.TRANSPORT_ERROR),
        (206, CheckFailure.TRANSPORT_ERROR),
        (500, CheckFailure.TRANSPORT_ERROR),
    ):
        server.answers("/scan.h5", status, location=f"https://localhost:{server.port}/other")
        uri = f"https://localhost:{server.port}/scan.h5"
        assert await read(by_https(server), copy(uri)) is failure
    assert server.at("/other") == []


async def test_a_body_that_is_cut_off_is_no_finding(server: LocalReceiver):
    uri = f"https://localhost:{server.port}/scan.h5"
    for short in (
        body(CONTENT[:1000], content_length=str(len(CONTENT))),
        body(b"5\r\nframe", transfer_encoding="chunked"),
    ):
        server.behaviours["/scan.h5"] = short
        assert await read(by_https(server), copy(uri)) is CheckFailure.TRANSPORT_ERROR


async def test_a_server_with_another_certificate_or_name_is_not_read(
    server: LocalReceiver, monkeypatch: pytest.MonkeyPatch
):
    uri = f"https://localhost:{server.port}/scan.h5"
    for wrong in (f"https://127.0.0.1:{server.port}/scan.h5", f"https://localhost:{443}/scan.h5"):
        assert await read(by_https(server), copy(wrong)) is CheckFailure.OUTSIDE_ROOTS
    monkeypatch.delenv("SSL_CERT_FILE")
    assert await read(by_https(server), copy(uri)) is CheckFailure.TRANSPORT_ERROR
    assert server.got == []


async def test_a_transfer_that_is_too_slow_is_a_timeout(server: LocalReceiver):
    gate = asyncio.Event()

    async def slow(got: Got) -> bytes:
        await gate.wait()
        return answer(200)

    server.behaviours["/scan.h5"] = slow
    reader = by_https(server, shortest_https=1.0)
    uri = f"https://localhost:{server.port}/scan.h5"
    assert await read(reader, copy(uri)) is CheckFailure.TIMEOUT
    gate.set()
