"""The validator of RO-Crates, without a network."""

# pyright: basic, reportMissingTypeStubs=false, reportAttributeAccessIssue=false

import warnings
from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from typing import Any
from unittest.mock import patch

import rocrate
from requests import Response
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.utils.http import HttpRequester

CONTEXT = files(rocrate).joinpath("data", "ro-crate.jsonld").read_bytes()
"""The context that the library `rocrate` carries. It is that of 1.3, which defines every term of
1.2 alike; the validator would fetch that of 1.2 from the network."""


def _get(requester: HttpRequester, url: str, **_: Any) -> Response:
    assert url == "https://w3id.org/ro/crate/1.2/context"
    found = Response()
    found.url, found.status_code, found.raw = url, 200, BytesIO(CONTEXT)
    found.headers["content-type"] = "application/ld+json"
    return found


def crate_findings(manifest: Mapping[str, Any], recommended: bool = False) -> list[str]:
    """Return what the validator finds in a manifest: violations, and with them recommendations."""
    settings = ValidationSettings(
        rocrate_uri=None,
        profile_identifier="ro-crate-1.2",
        requirement_severity=Severity.RECOMMENDED if recommended else Severity.REQUIRED,
        metadata_only=True,
        offline=True,
    )
    # The library that the validator uses deprecates a part of itself.
    with patch.object(HttpRequester, "get", _get, create=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = services.validate_metadata_as_dict(dict(manifest), settings).get_issues()
    return [f"{each.severity.name}: {each.message}" for each in found]
