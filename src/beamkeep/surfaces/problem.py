"""The problem body of a refusal, the same on every surface (RFC 9457)."""

from inspect import cleandoc
from typing import Any

import msgspec

from beamkeep.kernel import Refusal


def problem(refusal: Refusal) -> dict[str, Any]:
    """Return the problem body of a refusal."""
    code = type(refusal).__name__
    facts: dict[str, Any] = msgspec.to_builtins(refusal.facts)
    return facts | {
        "type": f"urn:beamkeep:refusal:{code}",
        "title": cleandoc(type(refusal).__doc__ or code).splitlines()[0],
        "status": refusal.status,
        "detail": str(refusal),
        "code": code,
    }
