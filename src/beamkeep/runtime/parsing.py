"""Parsing: from the text of a request to a checked command or query."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast
from uuid import UUID

import msgspec
from pydantic import BaseModel, ValidationError

from beamkeep.kernel import Refusal
from beamkeep.schemas.plain import require_few, require_plain

MOST_FAULTS = 100
ESCAPED_COLON = re.compile(rb"(?<!\\)(?:\\\\)*\\u003[aA]")
ENCODER = msgspec.json.Encoder()


class MalformedRequestError(Refusal, status=422):
    """The request does not have the declared shape."""


type Arguments = Mapping[str, Any] | MalformedRequestError
"""The arguments of a call; malformed ones are refused after the call is authorized."""


def parse_body(body: bytes) -> dict[str, Any]:
    """Return a JSON object. Raise MalformedRequestError when the body is not one."""
    if not body:
        return {}
    require_few(body, MalformedRequestError)
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedRequestError("The body is not well-formed JSON.") from None
    if not isinstance(value, dict):
        raise MalformedRequestError("The body is not a JSON object.")
    read = cast("dict[str, Any]", value)
    if _left_out_a_name(body, read):
        raise MalformedRequestError("A name occurs twice in one object; give each only once.")
    return read


def repeats_a_name(body: bytes) -> bool:
    """Return whether an object in a JSON text has a name twice.

    Raise MalformedRequestError when the text has too many names and values to be read.
    """
    require_few(body, MalformedRequestError)
    try:
        return _left_out_a_name(body, msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _repeats(body)


def _left_out_a_name(body: bytes, value: object) -> bool:
    """Return whether a name was dropped when this value was read from this text."""
    # Every name has a colon, so the value has fewer colons than the text when one was dropped.
    # Counting takes a microsecond, and comparing all names takes thirty.
    colons = body.count(b":")
    if b"\\u003" in body:
        colons += len(ESCAPED_COLON.findall(body))
    try:
        return ENCODER.encode(value).count(b":") != colons
    except (ValueError, OverflowError, RecursionError):
        return _repeats(body)


def _repeats(body: bytes) -> bool:
    found: list[bool] = []
    with suppress(ValueError, RecursionError):
        json.loads(body, object_pairs_hook=lambda each: found.append(len(dict(each)) < len(each)))
    return any(found)


def parse[M: BaseModel](model: type[M], arguments: Mapping[str, object]) -> M:
    """Return a command or query. Raise MalformedRequestError, which names fields, never values."""
    try:
        require_plain(arguments, MalformedRequestError)
        return model.model_validate(arguments)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        # A list of which entries are rejected is called too short as well, though it is not.
        within = {fault["loc"][:n] for fault in found for n in range(len(fault["loc"]))}
        found = [each for each in found if each["type"] != "too_short" or each["loc"] not in within]
        faults = [
            {"field": ".".join(map(str, fault["loc"]))[:200], "problem": fault["msg"]}
            for fault in found[:MOST_FAULTS]
        ]
    except UnicodeEncodeError:
        faults = [{"field": "", "problem": "a text holds an unpaired surrogate"}]
    detail = "; ".join(f"{fault['field']}: {fault['problem']}" for fault in faults[:10])
    raise MalformedRequestError(detail, errors=faults)


def parse_id(arguments: Arguments, field: str) -> UUID | None:
    """Return the id in a field, or None when it is not one."""
    text = None if isinstance(arguments, MalformedRequestError) else arguments.get(field)
    if not isinstance(text, str):
        return None
    try:
        # It knows the usual form alone, and takes a tenth of the time.
        return msgspec.convert(text, UUID)
    except msgspec.ValidationError:
        pass
    try:
        return UUID(text)
    except ValueError:
        return None
