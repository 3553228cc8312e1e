"""Words that can be found again, put into every text that a call takes."""

from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import uuid4

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Listing, Question
from beamkeep.surfaces.schema import input_schema

PERSONAL, FREE = f"personal{uuid4().hex}", f"free{uuid4().hex}"
"""In what is said of a person, and in everything else."""

# Texts that cannot hold any word, and why.
FIXED = {
    "advisor": "it names an advisor of the deployment",
    "after": "it was given out",
    "audience": "a key check covers it",
    "basis": "it is a digest that was given out",
    "capture_name": "it names a capture of a step",
    "checksum": "it is the digest of bytes",
    "checksum_value": "it is the digest of bytes",
    "closing_steps": "their texts name addresses, jobs and one another",
    "code": "it is short, and other calls name it",
    "command_name": "it names a command",
    "criterion": "its texts are values of the control system",
    "cursor": "it was given out",
    "digests": "they are digests of bytes",
    "encoding": "its texts name formats",
    "entry": "it is a path in a file that is read",
    "envelope": "a key has signed it",
    "facility_code": "it names a facility",
    "found": "it is the digest of bytes",
    "head_hash": "it is the digest of a register",
    "issuer": "it names an identity provider, and stays on record",
    "key_check_signature": "a key has made it",
    "license": "it names a license",
    "locator": "it names a file that is read",
    "media_type": "it names a format",
    "min_token": "it was given out",
    "new_key_check_signature": "a key has made it",
    "new_public_key": "it is a key",
    "new_secret_ref": "it names a key of the signer",
    "objective": "its texts name a capture of a step and its value",
    "offline_root_signature": "a key has made it",
    "operating_point": "its keys and what they hold depend on the quantity",
    "parts": "the checksum seals their texts",
    "permitted_commands": "they name commands",
    "proposable_commands": "they name commands",
    "public_key": "it is a key",
    "publisher_facility_code": "it names a facility",
    "secret_ref": "it names a key of the signer",
    "service": "it names a transfer service",
    "signature": "a key has made it",
    "space": "its texts name axes that steps use, and values of the control system",
    "steps": "their texts name addresses, jobs and one another",
    "stream_type": "it names a kind of object",
    "stream_types": "they name kinds of objects",
    "task_id": "a transfer service gave it out",
    "tool_name": "it names a command or a question",
    "tools": "they name commands and questions",
    "type": "it names a type of events",
    "types": "they name types of events",
}
# Values of any form, and the texts in their examples.
OPEN = {"settings_patch": "serial_number", "settings_schema": "description"}
SAID = frozenset({"storage"})
"""Texts that stand for themselves: only a supply of this kind holds copies of datasets."""
ANY = "*"
PLAIN = frozenset({"enum", "format", "const"})

type Field = tuple[str, ...]
"""The way to an argument: the name of the call, and those of the arguments it is in."""


def texts(name: str) -> frozenset[Field]:
    """Every text that a call takes and that can hold any word."""
    return frozenset(_texts(input_schema(CATALOGUE.named[name]), (name,)))


def _texts(schema: Mapping[str, Any], at: Field) -> Iterator[Field]:
    name = at[-1]
    if name in FIXED:
        return
    if name in OPEN:
        yield (*at, OPEN[name])
        return
    if schema.get("type") == "string" and PLAIN.isdisjoint(schema):
        yield at
    arms = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    for shape in (*arms, *filter(None, [schema.get("items")])):
        yield from _texts(shape, at)
    for member, shape in schema.get("properties", {}).items():
        yield from _texts(shape, (*at, member))
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield from _texts(cast("dict[str, Any]", others), (*at, ANY))


class Canaries:
    """Marks the arguments of calls, and remembers which texts were marked."""

    def __init__(self) -> None:
        self.marked: set[Field] = set()

    def into(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The same arguments, with a word in every text."""
        row = CATALOGUE.named[name]
        word = PERSONAL if row.aggregate.name == "Actor" else FREE
        is_list = isinstance(row, Question) and issubclass(row.query, Listing)
        asked = {"name": "Hutch", **arguments} if is_list else dict(arguments)
        return self._into(asked, (name,), word, texts(name))

    def _into(self, value: Any, at: Field, word: str, known: frozenset[Field]) -> Any:
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value).items()
            return {n: self._into(each, _below(at, n, known), word, known) for n, each in members}
        if isinstance(value, list):
            return [self._into(each, at, word, known) for each in cast("list[Any]", value)]
        if not isinstance(value, str) or at not in known or value in SAID:
            return value
        self.marked.add(at)
        match at[-1]:
            case "email":
                return f"{word}@lab.test"
            case "external_id_namespace" | "external_id" | "url":
                return f"{value}-{word}"
            case _:
                return f"{value} {word}"


def _below(at: Field, name: str, known: frozenset[Field]) -> Field:
    """The way to a member, however deep in a value of any form."""
    if at[-1] in OPEN:
        return (*at, name) if name == OPEN[at[-1]] else at
    here = (*at, name)
    return here if any(field[: len(here)] == here for field in known) else (*at, ANY)
