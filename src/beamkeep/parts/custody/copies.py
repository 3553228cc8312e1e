"""Reads copies of datasets in child processes, from the places that the deployment allows."""

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from beamkeep.contexts.data.attestation import CheckFailure
from beamkeep.contexts.data.check import CopyToRead
from beamkeep.contexts.seams.receivers import ReceiverHosts
from beamkeep_client.shared.checksums import CheckedFile, FileMark, FileOnHost, FoundBytes

from .checks import ReadProgress

CHILD = "beamkeep.parts.custody.copies_child"
INHERITED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "BEAMKEEP_HOST_NAME")
"""The settings that a child inherits: which certificates it trusts, and the name of its host."""
STALL_SECONDS = 600.0
"""Seconds without a sign of the child after which the storage counts as not answering."""
SLOWEST_HTTPS, SHORTEST_HTTPS = 10_000_000, 600.0
"""Bytes a second, and seconds, by which a transfer must end."""


class ChildCopyReader:
    """Reads each copy in a child process; a storage that hangs holds neither a thread nor a loop.

    A child has no access to the database, and inherits no setting and no descriptor.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        https_hosts: Sequence[str],
        bytes_per_second: float,
        *,
        owned: Sequence[Path] = (),
        stall_seconds: float = STALL_SECONDS,
        shortest_https: float = SHORTEST_HTTPS,
    ) -> None:
        self._roots, self._owned = roots, owned
        self._hosts = ReceiverHosts(tuple(https_hosts))
        self._rate, self._stall, self._shortest = bytes_per_second, stall_seconds, shortest_https

    async def read(
        self, copy: CopyToRead, known: Iterable[CheckedFile], progress: ReadProgress
    ) -> FoundBytes | CheckFailure:
        """Return what a copy contains, or why it cannot be read; tell the progress meanwhile."""
        now, ends_at = asyncio.get_running_loop().time, float("inf")
        if urlsplit(copy.uri).scheme == "https":
            if not self._is_allowed(copy.uri):
                return CheckFailure.OUTSIDE_ROOTS
            slowest = min(SLOWEST_HTTPS, self._rate)
            ends_at = now() + max(self._shortest, copy.byte_size / slowest)
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in INHERITED if name in os.environ},
            start_new_session=True,
        )
        to_child, from_child = child.stdin, child.stdout
        if to_child is None or from_child is None:
            raise ChildProcessError("The reader of a copy has no pipes")
        try:
            to_child.write(self._request(copy, known))
            to_child.write_eof()
            while True:
                async with asyncio.timeout_at(min(ends_at, now() + self._stall)):
                    line = await from_child.readline()
                if not line:
                    raise ChildProcessError("The reader of a copy ended without an answer")
                if outcome := _heard(json.loads(line), progress):
                    return outcome
        except TimeoutError:
            return CheckFailure.TIMEOUT
        finally:
            with suppress(ProcessLookupError):
                child.kill()
            # A process in a call of a storage that hangs ends only when the call does.
            with suppress(TimeoutError):
                await asyncio.wait_for(child.wait(), 1.0)

    def _is_allowed(self, uri: str) -> bool:
        try:
            self._hosts.receiver(uri)
        except ValueError:
            return False
        return True

    def _request(self, copy: CopyToRead, known: Iterable[CheckedFile]) -> bytes:
        request = {
            "uri": copy.uri,
            "algorithm": copy.algorithm,
            "parts": copy.parts,
            "roots": [str(root) for root in self._roots],
            "owned": [str(each) for each in self._owned],
            "known": list(known),
            "bytes_per_second": self._rate,
        }
        return json.dumps(request).encode()


def _heard(answer: dict[str, object], progress: ReadProgress) -> FoundBytes | CheckFailure | None:
    match answer:
        case {"read": int(count)}:
            progress.bytes_read = count
        case {"file": [str(path), str(value), [int(a), int(b), int(c), int(d)]]}:
            progress.files.append(CheckedFile(path, value, FileMark(a, b, c, d)))
        case {"found": [str(algorithm), str(value), int(size), int(count), None, dict()]}:
            return FoundBytes(algorithm, value, byte_size=size, file_count=count)
        case {
            "found": [
                str(algorithm),
                str(value),
                int(size),
                int(count),
                [str(host), str(device), str(inode), int(links)],
                dict(),
            ]
        }:
            file = FileOnHost(host, device, inode=inode, links=links)
            return FoundBytes(algorithm, value, byte_size=size, file_count=count, file=file)
        case {"failure": str(failure)}:
            return CheckFailure(failure)
        case _:
            raise ChildProcessError("The reader of a copy answered something else")
    return None
