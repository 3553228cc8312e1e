"""The OpenAPI document of the service, made once for all tests that read it."""

from functools import cache
from typing import Any

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.surfaces.http.openapi import describe


@cache
def document() -> dict[str, Any]:
    """Return the document. No test may change it."""
    return describe(CATALOGUE)
