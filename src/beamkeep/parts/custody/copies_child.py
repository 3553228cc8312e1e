"""Reads one copy of a dataset in a process of its own, and prints what it found line by line.

It is started with the request on its standard input, and without the settings of the service.
"""

import json
import os
import ssl
import sys
import time
from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from beamkeep.adapters.files.data_roots import (
    DataRoots,
    OutsideRootsError,
    SpecialFileError,
    path_of,
)
from beamkeep_client.shared.checksums import (
    BLOCK,
    CheckedFile,
    FileMark,
    FoundBytes,
    Pace,
    RateLimit,
    check_file,
    check_tree,
    failure_of,
    sums_of_blocks,
)

TELL_EVERY = 0.5
SILENCE = 60.0
"""Seconds without a byte after which a server counts as gone."""


def main() -> None:
    """Read a copy and print the outcome."""
    request = json.load(sys.stdin)
    os.nice(10)
    try:
        found = _read(request)
    except OSError as error:
        _tell(failure=_failure(error))
    except HTTPException:
        _tell(failure="TransportError")
    else:
        _tell(found=found)


def _read(request: dict[str, Any]) -> FoundBytes:
    pace, uri = _pace(request["bytes_per_second"]), str(request["uri"])
    if urlsplit(uri).scheme == "https":
        return _read_https(uri, pace)
    opened = _roots(request).open(path_of(uri))
    try:
        if request["algorithm"] == "sha256":
            return check_file(opened, pace, from_storage=True)
        known = [CheckedFile(p, value, FileMark(*mark)) for p, value, mark in request["known"]]
        return check_tree(
            opened,
            request["parts"],
            pace,
            known={each.path: each for each in known},
            checked=lambda file: _tell(file=file),
            from_storage=True,
        )
    finally:
        os.close(opened)


def _roots(request: dict[str, Any]) -> DataRoots:
    roots, owned = ([Path(each) for each in request[name]] for name in ("roots", "owned"))
    return DataRoots(roots, owned=owned)


def _read_https(uri: str, pace: Pace) -> FoundBytes:
    """Return the sum of what one GET answers; a redirection is not followed."""
    parts = urlsplit(uri)
    context = ssl.create_default_context()
    connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=SILENCE, context=context)
    try:
        connection.request("GET", parts.path or "/", headers={"Accept-Encoding": "identity"})
        response = connection.getresponse()
        if response.status != 200:
            raise _refused(response.status)
        sums, length = sums_of_blocks(_blocks(response, pace))
        declared = response.headers.get("content-length")
        if declared is not None and length != int(declared):
            raise ConnectionResetError("The server sent fewer bytes than it declared")
        return FoundBytes("sha256", sums["sha256"], byte_size=length, file_count=1)
    finally:
        connection.close()


def _blocks(response: HTTPResponse, pace: Pace) -> Iterator[memoryview]:
    buffer = bytearray(BLOCK)
    while count := response.readinto(buffer):
        yield memoryview(buffer)[:count]
        pace(count)


def _refused(status: int) -> OSError:
    match status:
        case 404 | 410:
            return FileNotFoundError(status)
        case 401 | 403:
            return PermissionError(status)
        case _:
            return ConnectionError(status)


def _failure(error: OSError) -> str:
    match error:
        case OutsideRootsError():
            return "OutsideRoots"
        case SpecialFileError():
            return "Corrupt"
        case _:
            return failure_of(error)


def _pace(bytes_per_second: float) -> Pace:
    limit, read, reported_at = RateLimit(bytes_per_second), 0, time.monotonic()

    def pace(count: int) -> None:
        nonlocal read, reported_at
        limit(count)
        read += count
        if time.monotonic() - reported_at >= TELL_EVERY:
            _tell(read=read)
            reported_at = time.monotonic()

    return pace


def _tell(**fact: object) -> None:
    # When the worker is gone the pipe is broken, and this process ends too.
    print(json.dumps(fact), flush=True)


if __name__ == "__main__":
    main()
