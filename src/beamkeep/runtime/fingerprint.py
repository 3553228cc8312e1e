"""The fingerprint of a command: the same for two requests that ask for the same."""

from collections.abc import Mapping, Set
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, cast
from uuid import UUID

import msgspec
from pydantic import BaseModel

from beamkeep.kernel import Command, Record

encode = msgspec.json.Encoder(order="sorted").encode


WRITTEN_ALIKE = frozenset({str, UUID, int, bool, type(None)})
"""Types whose equal values have one JSON form."""


def fingerprint(name: str, command: Command) -> bytes:
    """Return the digest of a command, the same for every form in which it can be sent."""
    return sha256(encode([name, _canonical(command)])).digest()


def fingerprint_as_sent(name: str, arguments: Mapping[str, Any]) -> bytes:
    """Return the digest of the arguments as they were sent, which earlier releases stored."""
    return sha256(encode([name, arguments])).digest()


def _canonical(value: object) -> object:
    """A value in the one JSON form that all its equals have, in every process."""
    if type(value) in WRITTEN_ALIKE:
        return value
    match value:
        case BaseModel():
            # A value equal to its default is left out, so that a later release can add a field.
            default = _defaults(type(value))
            return {
                name: _canonical(each)
                for name, each in value.__dict__.items()
                if each != default[name]
            }
        case Record():
            tag = type(value).__struct_config__.tag
            return [tag, _canonical(msgspec.structs.asdict(value))]
        case dict():
            members = cast("dict[object, object]", value)
            return {name: _canonical(each) for name, each in members.items()}
        case list() | tuple():
            return [_canonical(each) for each in cast("list[object]", value)]
        case Set():
            # By their JSON: records have no order, and the order of a set differs by process.
            return sorted(map(_canonical, cast("Set[object]", value)), key=encode)
        case float() if value.is_integer():
            return int(value)
        case datetime():
            return value.astimezone(UTC)
        case _:
            return value


@cache
def _defaults(model: type[BaseModel]) -> Mapping[str, object]:
    fields = model.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields}
