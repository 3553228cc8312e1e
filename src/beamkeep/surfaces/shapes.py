"""The JSON Schema of everything that is sent to the service or answered by it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args, get_type_hints

from msgspec import Raw
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from beamkeep.kernel import (
    Answer,
    Catalogue,
    Enricher,
    Entries,
    History,
    Listed,
    Many,
    One,
    Operation,
    Period,
    Question,
    reply_of,
)
from beamkeep.runtime.store import Envelope

type Schema = dict[str, Any]

WHEREVER = "#/components/schemas/{model}"
ID: Schema = {"type": "string", "format": "uuid"}
TIME: Schema = {"type": "string", "format": "date-time"}
TEXT: Schema = {"type": "string"}


def or_null(schema: Schema) -> Schema:
    """This, or nothing."""
    return {"anyOf": [schema, {"type": "null"}]}


def exactly(properties: Mapping[str, Schema], **perhaps: Schema) -> Schema:
    """An object with all of these members, perhaps some of those, and no other."""
    return {
        "type": "object",
        "properties": {**properties, **perhaps},
        "required": list(properties),
        "additionalProperties": False,
    }


def page_of(item: Schema) -> Schema:
    """One page of a list."""
    return exactly({"items": {"type": "array", "items": item}, "next_cursor": or_null(TEXT)})


PLANNED = exactly({"event_type": TEXT, "payload": or_null({"type": "object"})})
EVENTS: dict[str, Schema] = {"events": {"type": "array", "items": PLANNED}}
ADVICE = exactly({"path": TEXT, "rule": TEXT})
WARNINGS: dict[str, Schema] = {"warnings": {"type": "array", "items": ADVICE}}
FIXED_SCHEMAS: dict[str, Schema] = {
    "Problem": {
        "type": "object",
        "description": "Why a request was refused (RFC 9457).",
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": TEXT,
            "code": {"type": "string", "description": "The name of the refusal."},
        },
        "required": ["type", "title", "status", "detail", "code"],
    },
    "DryRun": exactly(EVENTS),
    "Warned": {"anyOf": [exactly(WARNINGS), exactly(EVENTS, **WARNINGS)]},
    "RecordedEvent": exactly(
        {
            name: {"type": "object"} if kind is Raw else TypeAdapter(kind).json_schema()
            for name, kind in get_type_hints(Envelope).items()
        }
    ),
}


class _Schemas(GenerateJsonSchema):
    """An answer always holds every field; and a title that repeats the name says nothing."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return self.mode == "serialization" or super().field_is_required(field, total)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Shapes:
    """The schema of everything that is sent or answered."""

    def __init__(self, catalogue: Catalogue) -> None:
        found, rest = TypeAdapter.json_schemas(
            list(_shaped(catalogue)), ref_template=WHEREVER, schema_generator=_Schemas
        )
        self._of = {cast("str", key): schema for (key, _), schema in found.items()}
        self.named: dict[str, Schema] = rest.get("$defs", {})

    def __getitem__(self, key: str) -> Schema:
        return self._of[key]

    def whole(self, key: str) -> Schema:
        """The schema itself where another would name it."""
        schema = self._of[key]
        return self.named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def shown(self, question: Question, times: Mapping[str, Schema]) -> Schema:
        """An object as reads show it."""
        of = question.aggregate
        state = dict(self.whole(f"{question.name} state")["properties"])
        del state["id"]
        beside = self._of.get(f"{question.name} joined") and self.whole(f"{question.name} joined")
        joined: Schema = beside["properties"] if beside else {}
        period = _period(question)
        now: Schema = {period.name: {"type": "boolean"}} if period else {}
        return exactly({of.id_field: ID, **state, "owner_id": ID, **times, **joined, **now})

    def replied(self, operation: Operation) -> dict[str, Schema]:
        """What an operation answers beside the usual."""
        parts = (f"{operation.name} replies", f"{operation.name} joined")
        return {
            name: schema
            for part in parts
            if part in self._of
            for name, schema in self.whole(part)["properties"].items()
        }


def _shaped(catalogue: Catalogue) -> Iterator[tuple[Any, Any, TypeAdapter[Any]]]:
    for operation in catalogue.operations:
        yield f"{operation.name} asks", "validation", TypeAdapter(operation.command)
        if reply := reply_of(operation):
            yield f"{operation.name} replies", "serialization", TypeAdapter(reply)
        if joined := operation.answered_with:
            yield f"{operation.name} joined", "serialization", TypeAdapter(_joined_row(joined))
    for question in catalogue.questions:
        yield f"{question.name} asks", "validation", TypeAdapter(question.query)
        for part, shape in _answered(question):
            yield f"{question.name} {part}", "serialization", TypeAdapter(shape)


def _answered(question: Question) -> Iterator[tuple[str, type[object]]]:
    match question.source:
        case One(joined) | Many(_, joined):
            yield "state", get_type_hints(question.aggregate.begin)["return"]
            if joined:
                yield "joined", _joined_row(joined)
        case Entries(table):
            yield "row", table.row
        case Answer(_, shape) | Listed(_, shape):
            yield "row", shape
        case History():
            pass


def _period(question: Question) -> Period | None:
    match question.source:
        case One(_, period):
            return period
        case Many(view):
            return view.period
        case _:
            return None


def _joined_row(joined: Enricher) -> type[object]:
    """What a function of type `Joined` finds for each id, by its signature."""
    return get_args(get_type_hints(joined)["return"])[1]


def reachable(roots: Sequence[object], schemas: Mapping[str, Schema]) -> Schema:
    """The schemas something refers to, by name."""
    found: dict[str, Schema] = {}
    ahead: list[Any] = list(roots)
    while ahead:
        value: Any = ahead.pop()
        if isinstance(value, list):
            ahead += cast("list[Any]", value)
        elif isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            ahead += members.values()
            where, _, name = str(members.get("$ref", "")).rpartition("/")
            if where == "#/components/schemas" and name not in found:
                found[name] = schemas[name]
                ahead.append(schemas[name])
    return dict(sorted(found.items()))
