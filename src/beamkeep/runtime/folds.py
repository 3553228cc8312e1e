"""Fingerprints of folds: which code made a snapshot."""

import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import msgspec

from beamkeep.kernel import AnyAggregate

PACKAGE = Path(__file__).parents[1]
DOMAIN = ("kernel", "schemas", "contexts")
"""The packages whose code a fold may use. Snapshots of other code could be wrong without error."""


@cache
def fingerprint(aggregate: AnyAggregate) -> UUID:
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
    for module in sorted(path for room in DOMAIN for path in (PACKAGE / room).rglob("*.py")):
        name = module.relative_to(PACKAGE).as_posix()
        digest.update(f"\0{name}\0".encode() + module.read_bytes())
    return digest.digest()


def _source(module: str) -> bytes:
    """Return the source of a module outside the domain, such as a test."""
    file = sys.modules[module].__file__
    return Path(file).read_bytes() if file else module.encode()
