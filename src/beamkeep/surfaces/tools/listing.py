"""The tools of MCP: each operation and question with the schemas of its arguments and answers."""

import json
from functools import cache

from mcp_types import Tool

from beamkeep import kernel
from beamkeep.kernel import Catalogue, Operation
from beamkeep.surfaces.schema import Endpoint, input_schema
from beamkeep.surfaces.shapes import (
    ID,
    PROPOSED,
    SCHEMAS,
    WARNINGS,
    WOULD_PROPOSE,
    ApiSchemas,
    SchemaObject,
    api_schemas,
    exactly,
)

from .compact import compact, unfold
from .definitions import tool_definition

# A model reads what an event contains in the answer itself; OpenAPI has the whole schema.
EVENTS: SchemaObject = {"events": {"type": "array", "items": {"type": "object"}}}


@cache
def tools(catalogue: Catalogue) -> dict[str, Tool]:
    """Return the tool of every operation and question, by name."""
    schemas = api_schemas(catalogue)
    return {
        name: tool_definition(
            row,
            input_schema(row),
            output_schema(row, schemas, name in catalogue.proposable),
            proposable=name in catalogue.proposable,
        )
        for name, row in catalogue.named.items()
    }


def output_schema(
    endpoint: Endpoint, schemas: ApiSchemas, proposable: bool = False
) -> SchemaObject:
    """Return the schema of the structured content of an answer, complete in itself."""
    answer = (
        _done(endpoint, schemas.reply(endpoint), proposable)
        if isinstance(endpoint, Operation)
        else schemas.answer(endpoint)
    )
    if "$ref" in answer:
        answer = schemas.named_in(answer)[answer["$ref"].removeprefix(SCHEMAS)]
    used = schemas.named_in(answer)
    whole = answer | ({"$defs": used} if used else {})
    return compact(unfold(json.loads(json.dumps(whole).replace(SCHEMAS, "#/$defs/"))), texts=False)


def _done(operation: Operation, reply: SchemaObject, proposable: bool) -> SchemaObject:
    """Return the answer of an operation, of its dry run, or of its proposal."""
    own = ({operation.aggregate.id_field: ID} if operation.genesis else {}) | reply
    warnings = WARNINGS if kernel.warns(operation) else {}
    proposed = {**PROPOSED, **WOULD_PROPOSE} if proposable else {}
    kinds = [own, EVENTS, *([PROPOSED] if proposable else [])]
    either = {"anyOf": [{"required": [*each]} for each in kinds]} if own else {}
    return exactly({}, **own, **warnings, **EVENTS, **proposed) | either
