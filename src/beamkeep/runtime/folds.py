"""Fingerprints of folds: which code made a snapshot."""

import sys
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from uuid import UUID

import msgspec

from beamkeep.kernel import Aggregate

DOMAIN = ("kernel", "schemas", "contexts")
"""The packages whose code a fold may use. Any change of them makes new snapshots, because an old
snapshot that does not fit the new code would be a wrong state without an error."""


@cache
def fingerprint(aggregate: Aggregate[Any, Any, Any]) -> UUID:
    """Return a name for the code that folds an aggregate's events, changed whenever it changes."""
    homes = {fold.__module__ for fold in (aggregate.begin, aggregate.evolve)}
    outside = sorted(home for home in homes if not home.startswith("beamkeep."))
    sources = [_source(home) for home in outside]
    known = [_domain(), aggregate.name.encode(), *sources]
    return UUID(bytes=sha256(b"\0".join(known)).digest()[:16])


@cache
def _domain() -> bytes:
    """Return the digest of all code of the domain and of the JSON encoder."""
    digest = sha256(f"{msgspec.__version__} {sys.version_info[:2]}".encode())
    for room in DOMAIN:
        for path, source in sorted(_modules(files("beamkeep") / room, room)):
            digest.update(f"\0{path}\0".encode() + source)
    return digest.digest()


def _modules(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _modules(each, f"{path}/{each.name}")
        elif each.name.endswith(".py"):
            found.append((f"{path}/{each.name}", each.read_bytes()))
    return found


def _source(module: str) -> bytes:
    """Return the source of a module outside the domain, such as a test."""
    spec = sys.modules[module].__spec__
    origin = spec.origin if spec else None
    if origin is None:
        return module.encode()
    with open(origin, "rb") as file:
        return file.read()
