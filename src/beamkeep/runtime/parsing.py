"""From what a caller sent to a checked command or query."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast
from uuid import UUID

import msgspec
from pydantic import BaseModel, ValidationError

from beamkeep.kernel import Refusal

MAX_DEPTH = 64
EXACT_INTEGER = 2**53


class MalformedRequestError(Refusal, status=422):
    """The request does not have the declared shape."""


type Arguments = Mapping[str, Any] | MalformedRequestError
"""What a caller sent, or what is wrong with it: whoever may not call is told that first."""


def parse_body(body: bytes) -> dict[str, Any]:
    """A JSON object, or the refusal that it is none."""
    if not body:
        return {}
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedRequestError("The body is not well-formed JSON.") from None
    if not isinstance(value, dict):
        raise MalformedRequestError("The body is not a JSON object.")
    return cast("dict[str, Any]", value)


def parse[M: BaseModel](model: type[M], arguments: Mapping[str, object]) -> M:
    """The arguments as a command or query; the refusal names each faulty field, never its value."""
    try:
        _require_plain(arguments, MAX_DEPTH)
        return model.model_validate(arguments)
    except ValidationError as error:
        faults = [
            {"field": ".".join(str(part) for part in fault["loc"]), "problem": fault["msg"]}
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    except UnicodeEncodeError:
        faults = [{"field": "", "problem": "a text holds an unpaired surrogate"}]
    told = "; ".join(f"{fault['field']}: {fault['problem']}" for fault in faults[:10])
    raise MalformedRequestError(told, errors=faults)


def parse_id(arguments: Arguments, field: str) -> UUID | None:
    """The id a field names, if it is one."""
    text = arguments.get(field) if isinstance(arguments, Mapping) else None
    try:
        return UUID(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _require_plain(value: object, depth: int) -> None:
    """Refuse what JSON can say and the store or another reader of it cannot keep."""
    match value:
        case str():
            if "\x00" in value:
                raise MalformedRequestError("A text holds a null character.")
            if not value.isascii():
                value.encode()
        case int() if abs(value) > EXACT_INTEGER:
            raise MalformedRequestError("An integer is beyond 2^53, where readers round.")
        case float() if not isfinite(value):
            raise MalformedRequestError("A number is not finite.")
        case dict() | list() if not depth:
            raise MalformedRequestError(f"The body is nested more than {MAX_DEPTH} deep.")
        case dict() | list():
            held = cast("dict[str, object] | list[object]", value)
            for item in (*held, *held.values()) if isinstance(held, dict) else held:
                _require_plain(item, depth - 1)
        case _:
            pass
