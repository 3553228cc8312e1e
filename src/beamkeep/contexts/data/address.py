"""Addresses of copies: one spelling for each place, and which places lie in which."""

import re
from collections.abc import Iterator
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from beamkeep.contexts.seams.addresses import is_loopback

FILE = "file"
ROOT = re.compile(r"[^/]*:(//[^/]*)?")
"""The scheme and the authority of an address."""


class MalformedAddressError(ValueError):
    """An address that names no place."""


def canonical(uri: str, *, is_directory: bool) -> str:
    """Return the one spelling of a `file` address; other addresses stay as they are."""
    split = urlsplit(uri)
    if split.scheme.lower() != FILE:
        return uri
    path = unquote_to_bytes(split.path)
    parts = [part for part in path.split(b"/") if part not in {b"", b"."}]
    if not path.startswith(b"/") or not parts:
        raise MalformedAddressError("Enter the whole path, such as file:///data/scan.h5.")
    if b".." in parts or b"\0" in path:
        raise MalformedAddressError("Remove '..' and the character with the number 0.")
    end = "/" if is_directory else ""
    return f"{FILE}://{_host(split.netloc)}/{quote_from_bytes(b'/'.join(parts))}{end}"


def canonical_prefix(prefix: str) -> str:
    """Return the beginning of addresses in the spelling of `canonical`."""
    split = urlsplit(prefix)
    if split.scheme.lower() != FILE or not split.path.strip("/."):
        return prefix
    try:
        return canonical(prefix, is_directory=split.path.endswith("/"))
    except MalformedAddressError:
        return prefix


def above(uri: str) -> Iterator[str]:
    """Yield the addresses of all directories that an address lies in, the nearest first."""
    left, end = uri.rstrip("/"), _root_end(uri)
    while (slash := left.rfind("/", end)) > end:
        left = left[:slash]
        yield left


def _host(netloc: str) -> str:
    """Return the host of a file; none if every host that sees the file has it at this path."""
    host = netloc.lower()
    return "" if is_loopback(host.strip("[]")) else host


def _root_end(uri: str) -> int:
    found = ROOT.match(uri)
    return found.end() if found else 0
