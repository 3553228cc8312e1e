"""What both ways of checking a token share: provider addresses, strict claims, bounded answers."""

import asyncio
import json
import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

import httpx2
from pydantic import AfterValidator, ConfigDict, StringConstraints

from beamkeep.addresses import is_loopback
from beamkeep.kernel import Record
from beamkeep.runtime.tokens import VerifiedPrincipal

LEEWAY = 60.0
"""Seconds by which the clock of an identity provider may differ from ours."""

LONGEST_NAME = 255
LONGEST_ANSWER = 256 * 1024
ANSWER_SECONDS = 2.0

PROVIDER_CONFIG = ConfigDict(
    frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True
)


def _require_https(address: str) -> str:
    parts = urlsplit(address)
    host = parts.hostname
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("must be an address with a host, without credentials and fragment")
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)):
        return address
    raise ValueError("must be an https address; http is for loopback only")


ProviderAddress = Annotated[str, AfterValidator(_require_https)]
Name = Annotated[str, StringConstraints(min_length=1)]


class VerifiedToken(Record):
    """A verified principal, and how long at most the token need not be checked again."""

    principal: VerifiedPrincipal
    keep_until: float
    """By the stopwatch: a clock that is set back must not prolong it."""


type Claims = Mapping[str, object]


def read_object(text: bytes) -> Claims | None:
    """A JSON object in UTF-8, or nothing where readers could disagree about what it says."""
    try:
        value: object = json.loads(
            text.decode(), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        return None
    return cast("Claims", value) if isinstance(value, dict) else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refuse_constant(_: str) -> object:
    raise ValueError


def moment(value: object) -> float | None:
    """Seconds since 1970, or nothing when the claim is not such a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An integer too large for a float would raise where it is used.
    if not -(2**53) < value < 2**53 or not math.isfinite(value):
        return None
    return float(value)


def name(value: object) -> str | None:
    """A name fit to be stored and compared, or nothing."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable():
        return value
    return None


def names_one_of(audience: object, ours: Collection[str]) -> bool:
    """Whether an `aud` claim, one text or a list of texts, holds one of our identifiers exactly."""
    named = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    return all(isinstance(each, str) for each in named) and any(each in ours for each in named)


async def answer_of(
    http: httpx2.AsyncClient,
    method: str,
    address: str,
    *,
    form: dict[str, str] | None = None,
    auth: httpx2.BasicAuth | None = None,
) -> tuple[int, bytes] | None:
    """Status and body of one request, or nothing when no whole answer came in time."""
    body = bytearray()
    try:
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            http.stream(
                method,
                address,
                data=form,
                auth=auth,
                headers={"Accept": "application/json"},
                follow_redirects=False,
            ) as response,
        ):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > LONGEST_ANSWER:
                    return None
            return response.status_code, bytes(body)
    except (httpx2.HTTPError, OSError):
        return None
