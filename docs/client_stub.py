"""The types of the Python client, from the same declarations as the catalogue."""

import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.surfaces.shapes import ApiSchemas, SchemaObject
from beamkeep.surfaces.tools.command_line import CommandRow, catalogue_rows

HEAD = '''\
"""Types of the client. Written by docs/generate.py; `make reference` writes it anew."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from .answers import Answer

type Token = str | Callable[[], str] | None
type Object = Mapping[str, Any]

def plural(noun: str) -> str: ...

class Changed(Answer):
    version: int

class Pages[R]:
    def __iter__(self) -> Iterator[R]: ...

class AsyncPages[R]:
    def __aiter__(self) -> AsyncIterator[R]: ...

class Event(Answer):
    id: str
    type: str
    subject: str
    time: str
    streamtype: str
    streamversion: int
    principalid: str
    commandname: str
    cursor: str
    data: Answer

class Events:
    def list(
        self,
        *,
        types: Sequence[str] | None = ...,
        stream_types: Sequence[str] | None = ...,
        stream_ids: Sequence[str] | None = ...,
        principal_id: str | None = ...,
        command_name: str | None = ...,
        since: str | None = ...,
        until: str | None = ...,
        after: str | None = ...,
    ) -> Iterator[Event]: ...
    def follow(
        self,
        *,
        types: Sequence[str] | None = ...,
        stream_types: Sequence[str] | None = ...,
        stream_ids: Sequence[str] | None = ...,
        principal_id: str | None = ...,
        command_name: str | None = ...,
        since: str | None = ...,
        after: str | None = ...,
    ) -> Iterator[Event]: ...
'''
CLIENT = """
class {name}:
    def __init__(
        self,
        url: str | None = ...,
        token: Token = ...,
        *,
        profile: str = ...,
        surface_id: str | None = ...,
        transport: Any = ...,
    ) -> None: ...
"""
OF_THEIR_OWN = {"list_events", "search"}
"""Questions without a noun that the client has in another form."""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def client_stub() -> str:
    """Return the file that type checkers read instead of the client."""
    schemas, rows = ApiSchemas(CATALOGUE), catalogue_rows()
    named: dict[str, list[str]] = {}
    lines = [HEAD]
    nouns: dict[str, list[tuple[CommandRow, dict[str, Any]]]] = {}
    top: list[tuple[CommandRow, dict[str, Any]]] = []
    for data in rows:
        row = CATALOGUE.named[data["name"]]
        if data.get("noun"):
            nouns.setdefault(data["noun"], []).append((row, data))
        elif row.name not in OF_THEIR_OWN:
            top.append((row, data))
    classes: list[str] = []
    for sync in (True, False):
        for noun, several in nouns.items():
            lines_of = [f"\nclass {'' if sync else 'Async'}{_class(noun)}Verbs:"]
            for row, data in several:
                answer = _answer(row, data, schemas, named)
                lines_of += _methods(data, answer, sync)
            classes += lines_of
    for row, data in top:
        _answer(row, data, schemas, named)
    for name, fields in named.items():
        lines += [f"\nclass {name}(Answer):", *(fields or ["    ..."])]
    lines += classes
    for name in ("Beamkeep", "AsyncBeamkeep"):
        lines.append(CLIENT.format(name=name).rstrip())
        prefix = "Async" if name != "Beamkeep" else ""
        lines += [f"    {_plural(noun)}: {prefix}{_class(noun)}Verbs" for noun in nouns]
        for row, data in top:
            lines += _methods(data, _answer(row, data, schemas, named), name == "Beamkeep")
        lines += [*_context(name)]
    return "\n".join(lines) + "\n"


def _context(name: str) -> Iterator[str]:
    if name == "Beamkeep":
        yield "    events: Events"
        yield "    def search(self, q: str, **filters: Any) -> list[Answer]: ..."
        yield "    def close(self) -> None: ..."
        yield "    def __enter__(self) -> Self: ..."
        yield "    def __exit__(self, *_: object) -> None: ..."
    else:
        yield "    async def close(self) -> None: ..."
        yield "    async def __aenter__(self) -> Self: ..."
        yield "    async def __aexit__(self, *_: object) -> None: ..."


def _is_paged(data: Mapping[str, Any]) -> bool:
    return bool(data.get("columns")) and "cursor" in data["fields"]


def _class(noun: str) -> str:
    return "".join(word.capitalize() for word in noun.split("-"))


def _plural(noun: str) -> str:
    word = noun.replace("-", "_")
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _methods(data: Mapping[str, Any], answer: str, sync: bool) -> Iterator[str]:
    parameters = ", ".join(["self", *parameters_of(data)])
    is_list = _is_paged(data)
    for verb in filter(None, [data["verb"], data.get("short")]):
        name = identifier(verb.replace("-", "_"))
        if is_list:
            returns = f"{'' if sync else 'Async'}Pages[{answer}]"
            yield f"    def {name}({parameters}) -> {returns}: ..."
        else:
            yield f"    {'' if sync else 'async '}def {name}({parameters}) -> {answer}: ..."


def _answer(
    row: CommandRow, data: Mapping[str, Any], schemas: ApiSchemas, named: dict[str, list[str]]
) -> str:
    """Return the class of an answer, made when it is first met."""
    name = "".join(word.capitalize() for word in row.name.split("_")) + "Answer"
    if name in named:
        return name
    if isinstance(row, Operation):
        own = {row.aggregate.id_field: {"type": "string"}} if row.genesis else {}
        properties: SchemaObject = own | schemas.reply(row)
        if not properties:
            return "Changed"
        answer: SchemaObject = {"properties": properties}
        named[name] = ["    version: int"]
    else:
        answer = schemas.answer(row)
        if _is_paged(data):
            answer = answer["properties"]["items"]["items"]
        named[name] = []
    shapes = schemas.named_in(answer)
    if "$ref" in answer:
        answer = shapes[answer["$ref"].rpartition("/")[2]]
    named[name] += [
        f"    {field}: {_type(schema, shapes)}"
        for field, schema in answer.get("properties", {}).items()
        if field.isidentifier() and field not in {"from", "version"}
    ]
    return name


def _type(schema: SchemaObject, shapes: SchemaObject) -> str:
    """Return the type of one field of an answer."""
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(each, shapes) for each in schema["anyOf"]))
    if "$ref" in schema:
        return _type(shapes[schema["$ref"].rpartition("/")[2]], shapes)
    if "enum" in schema and all(isinstance(each, str) for each in schema["enum"]):
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_type(schema.get('items', {}), shapes)}]"
    if kind == "object":
        return "Answer"
    return PLAIN.get(str(kind), "Any")


PYTHON = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def parameters_of(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parameters of a method of the Python client, those that are required first."""
    fields: Mapping[str, Mapping[str, Any]] = data["fields"]
    in_path: Sequence[str] = data.get("in_path", ())
    target = in_path[0] if in_path and fields[in_path[0]].get("refers_to") else None
    if target:
        yield "target: str"
    required = data.get("required", ())
    own = [name for name in fields if name != target]
    if own:
        yield "*"
    for name in sorted(own, key=lambda each: each not in required):
        field = fields[name]
        short = name.removesuffix("_id") if field.get("refers_to") else name
        kind = PYTHON.get(field.get("type", ""), "Any")
        if field.get("enum"):
            kind = f"Literal[{', '.join(map(repr, field['enum']))}]"
        kind = f"Sequence[{kind}]" if field.get("many") else kind
        short = identifier(short)
        yield f"{short}: {kind}" if name in required else f"{short}: {kind} | None = ..."


def identifier(name: str) -> str:
    """Return a name that Python accepts: `from_` for `from`."""
    return f"{name}_" if keyword.iskeyword(name) else name
