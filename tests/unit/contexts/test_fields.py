"""Every field of every command takes what the table `fields.txt` says, and refuses the rest.

The table is written by hand. A row has the path of a field and what the field takes: a text by its
shortest and longest length, with the refusal of a blank one; a number by its bounds; a choice by
its values; a list by its fewest and most items. `null` marks a number that must be sent and may be
null, `?` a field that may be left out, `[]` the items of a list, `{}` the values of a map, `<...>`
the kind of a record. Ids in the route have no row. The steps of recipes and the names of slots have
tests of their own.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints
from uuid import UUID

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.support.rows import selected

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Command, Operation, Refusal

TABLE = Path(__file__).with_name("fields.txt")
STEPS = ("steps", "closing_steps")
LONGEST = 20_000
COUNTS = ("too_long", "too_short")


class Row(NamedTuple):
    """One field of a command, and what it takes."""

    operation: Operation
    path: str
    takes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.operation.name} {self.path}"


def rows() -> Iterator[Row]:
    operation = None
    for line in TABLE.read_text().splitlines():
        match line.split():
            case [name] if not line.startswith(" "):
                found = CATALOGUE.named[name]
                assert isinstance(found, Operation)
                operation = found
            case [path, *takes] if operation:
                yield Row(operation, path, tuple(takes))
            case _:
                raise AssertionError(f"not a row: {line!r}")


ROWS = tuple(rows())


def of(kind: str) -> list[Row]:
    """Return the wanted rows of texts, numbers, choices, lists or other values."""
    wanted = {operation.name for operation in selected(CATALOGUE.operations)}
    rows = [row for row in ROWS if row.operation.name in wanted]
    return [row for row in rows if kind_of(row.takes) == kind]


def kind_of(takes: tuple[str, ...]) -> str:
    match takes:
        case [_, "items"]:
            return "list"
        case ["number" | "integer", *_]:
            return "number"
        case ["one", "of", _]:
            return "choice"
        case [lengths, *_] if ".." in lengths:
            return "text"
        case _:
            return "other"


def paths(schema: Any, defs: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every field below a schema."""
    while "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    if "discriminator" in schema:
        for kind, ref in schema["discriminator"]["mapping"].items():
            yield from paths({"$ref": ref}, defs, f"{path}<{kind}>")
    for one in schema.get("anyOf", ()):
        yield from paths(one, defs, path)
    if (
        not {"anyOf", "discriminator", "properties"} & schema.keys()
        and schema.get("type") != "null"
    ):
        yield path
    for name, held in schema.get("properties", {}).items():
        left_out = "" if name in schema.get("required", ()) else "?"
        if "const" not in held and name not in STEPS:
            yield from paths(held, defs, f"{path}.{name}{left_out}".removeprefix("."))
    if isinstance(schema.get("items"), dict):
        yield from paths(schema["items"], defs, f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from paths(schema["additionalProperties"], defs, path + "{}")


@cache
def adapter(command: type[Command], field: str) -> TypeAdapter[Any]:
    names = {each.alias or name: name for name, each in command.model_fields.items()}
    return TypeAdapter(get_type_hints(command, include_extras=True)[names[field]])


def parts(path: str) -> list[str]:
    spaced = path.replace("?", "")
    for mark in ("[]", "{}", "<"):
        spaced = spaced.replace(mark, f".{mark}")
    return spaced.split(".")


def value_at(path: list[str], value: Any) -> Any:
    """Return the value of a top field in which only the field at the path is filled."""
    for part in reversed(path):
        match part[0]:
            case "[":
                value = [value]
            case "{":
                value = {"key": value}
            case "<":
                value = {"kind": part[1:-1], **value}
            case _:
                value = {part: value}
    return value


def fault(row: Row, value: object) -> str | None:
    """Return what the field says to a value: nothing, what is wrong, or a refusal's code."""
    top, *below = parts(row.path)
    names = [part for part in below if part[0] not in "[{<"]
    try:
        adapter(row.operation.command, top).validate_python(value_at(below, value))
    except Refusal as refusal:
        return type(refusal).__name__
    except ValidationError as error:
        for each in error.errors():
            if [part for part in each["loc"] if part in names] == names:
                return each["type"] if each["type"] in COUNTS else "shape"
    return None


def test_the_table_has_every_field():
    found = {
        f"{operation.name} {path}"
        for operation in CATALOGUE.operations
        for schema in [operation.command.model_json_schema()]
        for path in paths(schema, schema.get("$defs", {}))
        if path and path not in operation.route.fields
    }
    assert {str(row) for row in ROWS} == found


def test_a_command_takes_no_other_field_and_lacks_none(subtests: pytest.Subtests):
    for operation in selected(CATALOGUE.operations):
        with subtests.test(operation.name):
            with pytest.raises(ValidationError) as error:
                operation.command.model_validate({"colour": "red"})
            faults = {(each["type"], each["loc"][0]) for each in error.value.errors()}
            tops = {row.path.partition(".")[0] for row in ROWS if row.operation is operation}
            required = {re.split(r"[\[{<]", top)[0] for top in tops if "?" not in top}
            missing = {name for kind, name in faults if kind == "missing"}
            assert ("extra_forbidden", "colour") in faults
            assert missing - {*STEPS} == required | {*operation.route.fields}


def test_a_text_has_its_length_and_is_not_blank(subtests: pytest.Subtests):
    for row in of("text"):
        with subtests.test(str(row)):
            lengths, *refusal = row.takes
            least, most = (int(end) if end else LONGEST for end in lengths.split(".."))
            assert (fault(row, "x" * max(least, 1)), fault(row, "x" * most)) == (None, None)
            assert fault(row, "x" * (most + 1)) == (None if most == LONGEST else "shape")
            assert fault(row, "") == ("shape" if least else None)
            assert fault(row, 7) == "shape"
            assert fault(row, " \t") == (refusal[0] if refusal else None)
            top, *below = parts(row.path)
            if refusal not in ([], ["shape"]) and {*below} <= {"[]"}:
                kept = adapter(row.operation.command, top).validate_python(value_at(below, " x "))
                assert "x" in ({*kept} if below else {kept})


def test_a_number_is_within_its_bounds(subtests: pytest.Subtests):
    for row in of("number"):
        with subtests.test(str(row)):
            whole, *bounds = (each for each in row.takes if each != "null")
            assert fault(row, "many") == "shape"
            if "?" not in row.path:
                assert fault(row, None) == (None if "null" in row.takes else "shape")
            assert fault(row, 1.5) == ("shape" if whole == "integer" else None)
            assert fault(row, 1) is None
            for bound in bounds:
                sign, end = bound[:-1].rstrip("0123456789"), int(bound.lstrip("<>="))
                outside = end + 1 if sign == "<=" else end - 1 if sign == ">=" else end
                assert fault(row, outside) == "shape"
                assert sign == ">" or fault(row, end) is None


def test_a_choice_is_one_of_its_values(subtests: pytest.Subtests):
    for row in of("choice"):
        with subtests.test(str(row)):
            *_, values = row.takes
            for value in values.split("|"):
                assert values.isdigit() or fault(row, value) is None
            assert fault(row, "Nonsense") == "shape"


ID, TIME = str(UUID(int=1)), "2030-01-31T07:30:00Z"
INFERENCE = dict.fromkeys(("operation_name", "provider_name", "request_model"), "x")
READING = {"channel_name": "x", "value": 1, "sampling_procedure": "monitor"}
ACTIVITY: dict[str, object] = {"step_kind": "check", "stage": "Failed", "detail": {}}
RECORDS: dict[str, dict[str, object]] = {
    "register_team members?": {"principal_id": ID},
    "register_actor identities?": {"issuer": "https://idp.test", "subject": "ada"},
    "append_inferences entries": {"inference_id": ID, "occurred_at": TIME, **INFERENCE},
    "append_observations entries": {"observation_id": ID, "sampled_at": TIME, **READING},
    "append_activities entries": {"activity_id": ID, "sampled_at": TIME, **ACTIVITY},
    "register_clearance bindings": {"kind": "Subject", "id": ID},
    "amend_clearance bindings": {"kind": "Subject", "id": ID},
    "register_dataset parts?": {"path": "x", "byte_size": 1, "sha256": "x"},
    "ingest_scan parts?": {"path": "x", "byte_size": 1, "sha256": "0" * 64},
    "register_edition contributors?": {"actor_id": ID, "role": "Other"},
    "mint_dataset_external_id contributors?": {"actor_id": ID, "role": "Other"},
    "conduct_until_advised space.axes": {"name": "x", "lower": 0.0, "upper": 1.0},
}
"""An item of each list of records, of which one is missing or too many."""


def test_a_list_has_its_fewest_and_most_items(subtests: pytest.Subtests):
    for row in of("list"):
        with subtests.test(str(row)):
            least, most = map(int, row.takes[0].split(".."))
            assert fault(row, items(row, most + 1)) == "too_long"
            assert fault(row, items(row, most)) != "too_long"
            assert not least or fault(row, items(row, least - 1)) == "too_short"


def items(row: Row, count: int) -> object:
    """Return a list or a map with so many items that the field takes."""
    if sample := RECORDS.get(str(row)):
        return [sample] * count
    held = {each.path: each.takes[0] for each in ROWS if each.operation is row.operation}
    kind = held.get(f"{row.path}[]")
    if kind == "integer":
        return [*range(count)]
    ids = kind == "id"
    made = [str(UUID(int=n)) if ids else f"x{n}" for n in range(count)]
    return dict.fromkeys(made, "x") if row.path + "{}" in held else made


WRONG = {
    "id": "not-an-id",
    "time": "2030-01-31",
    "day": TIME,
    "boolean": "perhaps",
    "json": "text",
    "hash": "0" * 63,
    "signature": "A" * 85,
}


def test_a_value_of_another_type_is_refused(subtests: pytest.Subtests):
    for row in of("other"):
        with subtests.test(str(row)):
            assert row.takes[0] in {*WRONG, "any"}
            assert row.takes[0] == "any" or fault(row, WRONG[row.takes[0]]) == "shape"
