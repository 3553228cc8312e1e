"""The JSON Schemas of everything that is sent to the service or answered by it."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args, get_type_hints

from msgspec import Raw
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from beamkeep import kernel
from beamkeep.kernel import Catalogue, Operation, Period, Question
from beamkeep.runtime.queries import MOST_COUNTED
from beamkeep.runtime.store import Envelope

from .schema import Endpoint

type SchemaObject = dict[str, Any]

SCHEMAS = "#/components/schemas/"
ID: SchemaObject = {"type": "string", "format": "uuid"}
TIME: SchemaObject = {"type": "string", "format": "date-time"}
TEXT: SchemaObject = {"type": "string"}
STALE: SchemaObject = {"const": True, "description": "The list is behind the event log."}
TOTAL: SchemaObject = {"anyOf": [{"type": "integer"}, {"const": f"{MOST_COUNTED}+"}]}


def ref(kind: str, name: str) -> SchemaObject:
    """Return a reference to a component of the document."""
    return {"$ref": f"#/components/{kind}/{name}"}


def or_null(schema: SchemaObject) -> SchemaObject:
    """Return the schema of a value that may be null."""
    return {"anyOf": [schema, {"type": "null"}]}


def exactly(properties: Mapping[str, SchemaObject], **optional: SchemaObject) -> SchemaObject:
    """Return an object with all of these properties and no others but the optional ones."""
    return {
        "type": "object",
        "properties": {**properties, **optional},
        "required": list(properties),
        "additionalProperties": False,
    }


def page_of(item: SchemaObject, **optional: SchemaObject) -> SchemaObject:
    """Return one page of a list."""
    found: SchemaObject = {"items": {"type": "array", "items": item}}
    return exactly(found | {"next_cursor": or_null(TEXT)}, **optional)


OBJECT_NAME = exactly({"kind": TEXT, "name": TEXT, "status": or_null(TEXT), "link": TEXT})
NAMES: SchemaObject = {
    "names": {"type": "object", "additionalProperties": OBJECT_NAME},
    "names_more": {"type": "boolean"},
}
PLANNED = exactly({"event_type": TEXT, "payload": or_null({"type": "object"})})
EVENTS: SchemaObject = {"events": {"type": "array", "items": PLANNED}}
PROPOSED: SchemaObject = {"proposal_id": ID}
WOULD_PROPOSE: SchemaObject = {"would_propose": {"const": True}}
ADVICE = exactly({"path": TEXT, "rule": TEXT})
WARNINGS: SchemaObject = {"warnings": {"type": "array", "items": ADVICE}}
PROBLEM: SchemaObject = {
    "type": {"type": "string", "format": "uri"},
    "title": TEXT,
    "status": {"type": "integer"},
    "detail": TEXT,
    "code": TEXT | {"description": "The name of the refusal."},
}
PROBLEM_TEXT = "Why a request was refused (RFC 9457)."
FIXED_SCHEMAS: SchemaObject = {
    "Problem": exactly(PROBLEM) | {"description": PROBLEM_TEXT, "additionalProperties": True},
    "DryRun": exactly(EVENTS, **WOULD_PROPOSE),
    "Warned": {"anyOf": [exactly(WARNINGS), exactly(EVENTS, **WARNINGS, **WOULD_PROPOSE)]},
    "Proposed": exactly(PROPOSED, **WARNINGS),
    "RecordedEvent": exactly(
        {
            name: {"type": "object"} if kind is Raw else TypeAdapter(kind).json_schema()
            for name, kind in get_type_hints(Envelope).items()
        }
    ),
}


class _Schemas(GenerateJsonSchema):
    """An answer always holds every field, and a title that repeats a name is left out."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return self.mode == "serialization" or super().field_is_required(field, total)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class ApiSchemas:
    """The schemas of the arguments and the answers of a catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        found, rest = TypeAdapter.json_schemas(
            list(_types(catalogue)), ref_template=SCHEMAS + "{model}", schema_generator=_Schemas
        )
        self._of = {str(key): schema for (key, _), schema in found.items()}
        self._named: SchemaObject = FIXED_SCHEMAS | rest.get("$defs", {})

    def arguments(self, endpoint: Endpoint) -> SchemaObject:
        """Return what a call accepts, in its path and in addition to it."""
        return self._followed(self._of[f"{endpoint.name} arguments"])

    def reply(self, operation: Operation) -> SchemaObject:
        """Return the properties that an operation answers in addition to the id of a new object."""
        return self._properties(operation, "reply") | self._properties(operation, "joined")

    def answer(self, question: Question) -> SchemaObject:
        """Return what a question answers, with the names that it may be asked for."""
        whole = self._followed(self._answer(question))
        return whole | {"properties": whole["properties"] | NAMES}

    def _answer(self, question: Question) -> SchemaObject:
        match question.source:
            case kernel.One(_, period):
                return self._object(question, {}, period)
            case kernel.Many(view):
                times = {"created_at": TIME} | dict.fromkeys(view.milestones, or_null(TIME))
                item = self._object(question, times, view.period)
                return page_of(item, total=TOTAL, stale=STALE)
            case kernel.History():
                return page_of(ref("schemas", "RecordedEvent"))
            case kernel.Entries() | kernel.Listed():
                return page_of(self._of[f"{question.name} row"])
            case kernel.Answer():
                return self._of[f"{question.name} row"]

    def named_in(self, *documents: SchemaObject) -> SchemaObject:
        """Return the schemas that documents refer to, directly or not, by name."""
        found: SchemaObject = {}
        unread: list[object] = [*documents]
        while unread:
            text = json.dumps(unread.pop())
            for name in re.findall(rf'"\$ref": "{SCHEMAS}([^"]+)"', text):
                if name not in found:
                    found[name] = self._named[name]
                    unread.append(found[name])
        return dict(sorted(found.items()))

    def _object(
        self, question: Question, times: SchemaObject, period: Period | None
    ) -> SchemaObject:
        """Return an object as reads show it."""
        state = self._properties(question, "state")
        del state["id"]
        current: SchemaObject = {period.name: {"type": "boolean"}} if period else {}
        own = {question.aggregate.id_field: ID, **state, "owner_id": ID, **times}
        return exactly(own | self._properties(question, "joined") | current)

    def _properties(self, endpoint: Endpoint, part: str) -> SchemaObject:
        key = f"{endpoint.name} {part}"
        return dict(self._followed(self._of[key])["properties"]) if key in self._of else {}

    def _followed(self, schema: SchemaObject) -> SchemaObject:
        return self._named[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


api_schemas = cache(ApiSchemas)
"""The schemas of a catalogue, made once."""


def _types(catalogue: Catalogue) -> Iterator[tuple[Any, Any, TypeAdapter[Any]]]:
    for endpoint in catalogue.named.values():
        asked = endpoint.command if isinstance(endpoint, Operation) else endpoint.query
        yield f"{endpoint.name} arguments", "validation", TypeAdapter(asked)
        for part, kind in _answer_types(endpoint).items():
            if kind is not None:
                yield f"{endpoint.name} {part}", "serialization", TypeAdapter(kind)


def _answer_types(endpoint: Endpoint) -> dict[str, type[object] | None]:
    if isinstance(endpoint, Operation):
        joined = _joined_row(endpoint.answered_with)
        return {"reply": kernel.reply_of(endpoint), "joined": joined}
    match endpoint.source:
        case kernel.One(enricher) | kernel.Many(_, enricher):
            state = get_type_hints(endpoint.aggregate.begin)["return"]
            return {"state": state, "joined": _joined_row(enricher)}
        case kernel.Entries(table):
            return {"row": table.row}
        case kernel.Answer(_, shape) | kernel.Listed(_, shape):
            return {"row": shape}
        case kernel.History():
            return {}


def _joined_row(enricher: kernel.Enricher | None) -> type[object] | None:
    """Return the type of the row that an enricher finds for each id, from its signature."""
    return get_args(get_type_hints(enricher)["return"])[1] if enricher else None
