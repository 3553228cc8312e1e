"""The nouns of the Python client with a method for each verb, and the classes of their answers."""

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.kernel import Operation
from beamkeep.surfaces.shapes import ApiSchemas, SchemaObject
from beamkeep.surfaces.tools.command_line import CommandRow, catalogue_rows, rows_of_context
from beamkeep.surfaces.tools.synchronous import synchronous
from beamkeep_client.shared.words import NOUNS

type Data = Mapping[str, Any]

NOTE = "Written from the declarations; `make reference` writes it again."
ANSWERS = f'''\
"""The classes of answers.

{NOTE}
"""

from __future__ import annotations

from typing import Any, Literal

from .answers import Answer, Changed, Time
'''
METHODS = f'''\
"""The nouns of the client, with a method for each verb.

{NOTE}
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Literal

from beamkeep_client import typed_answers as answers
from beamkeep_client.answers import Changed
from beamkeep_client.asynchronous.calls import AsyncCalls, AsyncPages


class AsyncVerbs:
    """The verbs of one noun."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    def __repr__(self) -> str:
        verbs = (name for name in vars(type(self)) if not name.startswith("_"))
        return f"<{{type(self).__name__}}: {{', '.join(verbs)}}>"
'''
OF_A_SITE = '''\
"""The methods of the Python client for the context {context}.

Written by `beamkeep describe-context {context}`, which writes it again.
"""

from __future__ import annotations

'''
IMPORTS = {
    "collections.abc": ("Sequence",),
    "datetime": ("datetime",),
    "typing": ("Any", "Literal"),
    "beamkeep_client": ("AsyncBeamkeep", "Beamkeep"),
    "beamkeep_client.answers": ("Answer", "Changed", "Time"),
    "beamkeep_client.asynchronous.calls": ("AsyncPages",),
    "beamkeep_client.asynchronous.nouns": ("AsyncVerbs",),
    "beamkeep_client.synchronous.calls": ("Pages",),
    "beamkeep_client.synchronous.nouns": ("Verbs",),
}
"""What the methods for a context may need."""
WIDTH = 96
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
NAMED = {"list_events": "Event", "search": "Hit"}
"""Answers whose class is not called as their question."""
OF_THE_PAST = {"until", "order", "limit", "names"}
"""Arguments of the list of events that do not fit events which are still to happen."""
SHADOWING = {*dir(dict)}
"""Fields with a name that a dictionary has for something else."""


class Parameter(NamedTuple):
    """A parameter of a method, and the argument of the operation that it stands for."""

    name: str
    argument: str
    type: str
    help: str
    default: str | None = None
    is_first: bool = False
    """Whether it is given without its name."""

    @property
    def text(self) -> str:
        """The parameter as a signature has it."""
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.type}{default}"


OPTIONS = (
    Parameter(
        "dry_run", "", type="bool", help="Check the command and write nothing.", default="False"
    ),
    Parameter(
        "note",
        "",
        type="str | None",
        help="Propose the command instead, and say this to the approver.",
        default="None",
    ),
    Parameter(
        "idempotency_key",
        "",
        type="str | None",
        help="A repeat with the same key has no further effect.",
        default="None",
    ),
)
"""What every command takes."""
IF_MATCH = Parameter(
    "if_match", "", type="int | None", help="The version the object must have.", default="None"
)
"""What every command takes that is about an object which exists."""


def client_modules() -> dict[str, str]:
    """Return the generated modules of the client by name."""
    rows = catalogue_rows()
    kinds, classes = _kinds(rows, "answers.")
    nouns = _by_noun(rows)
    top = nouns.pop("")
    methods = [line for noun, several in nouns.items() for line in _noun(noun, several, kinds)]
    methods += [*_events(top, kinds), *_client(nouns, top, kinds)]
    return {
        "typed_answers.py": "\n".join([ANSWERS, *classes]) + "\n",
        "asynchronous/nouns.py": "\n".join([METHODS, *methods]) + "\n",
    }


def client_of_context(context: str) -> str:
    """Return the module with the methods for a context of a site."""
    rows = rows_of_context(context)
    kinds, classes = _kinds(rows)
    nouns = _by_noun(rows)
    methods = [line for noun, several in nouns.items() for line in _noun(noun, several, kinds)]
    text = "\n".join([*methods, *_context(context, nouns)])
    text = "\n".join([*classes, text, synchronous(text)]) + "\n"
    return "\n".join([OF_A_SITE.format(context=context) + _imports(text), text])


def _kinds(rows: Sequence[Data], module: str = "") -> tuple[dict[str, str], list[str]]:
    """Return the class of each answer, as the methods name it, and the lines of all classes."""
    schemas = ApiSchemas(CATALOGUE)
    found = {data["name"]: _kind(CATALOGUE.named[data["name"]], data, schemas) for data in rows}
    kinds = {
        name: kind if kind == "Changed" else f"{module}{kind}" for name, (kind, _) in found.items()
    }
    return kinds, [line for _, lines in found.values() for line in lines]


def _by_noun(rows: Iterable[Data]) -> dict[str, list[Data]]:
    nouns: dict[str, list[Data]] = {}
    for data in rows:
        nouns.setdefault(data.get("noun", ""), []).append(data)
    return nouns


def _imports(text: str) -> str:
    """Return the imports of the names that a text has."""
    lines = list[str]()
    for module, names in IMPORTS.items():
        if used := [name for name in names if re.search(rf"\b{name}\b", text)]:
            lines.append(f"from {module} import {', '.join(used)}\n")
    return "".join(lines)


# --- methods ---


def _noun(noun: str, several: Iterable[Data], kinds: Mapping[str, str]) -> Iterator[str]:
    yield from (f"\nclass Async{_class(noun)}Verbs(AsyncVerbs):", f'    """{_meaning(noun)}"""')
    for data in several:
        yield from _method(data, kinds)
        if short := data.get("short"):
            yield f"\n    {_identifier(short)} = {_identifier(data['verb'])}"


def _meaning(noun: str) -> str:
    return NOUNS.get(noun, f"The verbs of the noun {noun}.")


def _context(context: str, nouns: Iterable[str]) -> Iterator[str]:
    """Yield the class that adds the nouns of a context to a client."""
    yield f"\nclass Async{_class(context.replace('_', '-'))}:"
    yield f'    """The nouns of the context {context}, for a client."""\n'
    yield "    def __init__(self, client: AsyncBeamkeep) -> None:"
    for noun in nouns:
        yield f"        self.{_plural(noun)} = Async{_class(noun)}Verbs(client.calls)"


def _events(top: Iterable[Data], kinds: Mapping[str, str]) -> Iterator[str]:
    """Yield the class of events: a list of those that happened, and a stream."""
    (data,) = (each for each in top if each["name"] == "list_events")
    parameters = [
        each._replace(name=f"{each.name}s") if data["fields"][each.argument].get("many") else each
        for each in _parameters(data)
    ]
    streamed = [each for each in parameters if each.argument not in OF_THE_PAST]
    kind, given = kinds[data["name"]], _given(streamed)
    yield from ("\nclass AsyncEvents(AsyncVerbs):", '    """The events of the service."""')
    yield from _signature("list", parameters, f"AsyncPages[{kind}]")
    yield from _docstring(data["doc"], parameters)
    yield from _call("self._calls.pages", [f'"{data["name"]}"', kind, *_given(parameters)])
    yield from _signature("follow", streamed, f"AsyncIterator[{kind}]")
    text = "Yield events as they happen, without end; a lost connection is made again."
    yield from _docstring(text, streamed)
    yield from _call("self._calls.follow", [kind, *given])


def _client(nouns: Iterable[str], top: Iterable[Data], kinds: Mapping[str, str]) -> Iterator[str]:
    """Yield the class that has every noun as an attribute."""
    yield from ("\nclass AsyncNouns:", '    """Every noun of the catalogue as an attribute."""\n')
    attributes = {_plural(noun): f"Async{_class(noun)}Verbs" for noun in nouns}
    attributes |= {"events": "AsyncEvents"}
    yield from (f"    {name}: {kind}" for name, kind in attributes.items())
    yield "\n    def __init__(self, calls: AsyncCalls) -> None:"
    yield "        self._calls = calls"
    yield from (f"        self.{name} = {kind}(calls)" for name, kind in attributes.items())
    for data in top:
        if data["name"] != "list_events":
            yield from _method(data, kinds)


def _method(data: Data, kinds: Mapping[str, str]) -> Iterator[str]:
    name, kind = data["name"], kinds[data["name"]]
    parameters, options = [*_parameters(data)], [*_options(data)]
    given = [f'"{name}"', kind, *_given(parameters)]
    both, verb = [*parameters, *options], _identifier(data["verb"])
    if _is_paged(data):
        yield from _signature(verb, both, f"AsyncPages[{kind}]")
        yield from _docstring(data["doc"], both)
        yield from _call("self._calls.pages", given)
        return
    found = name == "search"
    yield from _signature(verb, both, f"list[{kind}]" if found else kind, "async ")
    yield from _docstring(data["doc"], both)
    call = "command" if data["kind"] != "question" else "items" if found else "ask"
    yield from _call(
        f"await self._calls.{call}", [*given, *(f"{each.name}={each.name}" for each in options)]
    )


def _parameters(data: Data) -> Iterator[Parameter]:
    """Yield the parameters of a method, those that are required first."""
    fields: Mapping[str, Data] = data["fields"]
    in_path: Sequence[str] = data.get("in_path", ())
    target = in_path[0] if in_path and fields[in_path[0]].get("refers_to") else None
    if target:
        noun = data["noun"].replace("-", " ")
        text = f"The {noun}: its name, its id or the end of its id."
        yield Parameter("target", target, type="str", help=text, is_first=True)
    required = data.get("required", ())
    alone = required if len(required) == 1 and not data.get("noun") else ()
    for name in sorted(fields, key=lambda each: each not in required):
        if name != target:
            parameter = _parameter(name, fields[name], required=name in required)
            yield parameter._replace(is_first=name in alone)


def _parameter(name: str, field: Data, required: bool) -> Parameter:
    short = name.removesuffix("_id") if field.get("refers_to") else name
    kind = PLAIN.get(field.get("type", ""), "Any")
    if field.get("enum"):
        kind = f"Literal[{', '.join(map(repr, field['enum']))}]"
    elif field.get("format") == "date-time":
        kind = "str | datetime"
    kind = f"Sequence[{kind}]" if field.get("many") else kind
    optional = "Any" if kind == "Any" else f"{kind} | None"
    help = " ".join(field.get("help", "").split())
    if required:
        return Parameter(identifier(short), name, type=kind, help=help)
    return Parameter(identifier(short), name, type=optional, help=help, default="None")


def _options(data: Data) -> Iterator[Parameter]:
    if data["kind"] != "question":
        yield from OPTIONS
        if data["kind"] == "change":
            yield IF_MATCH


def _given(parameters: Iterable[Parameter]) -> list[str]:
    """Return the expression that has the arguments of an operation by their own names."""
    return ["{" + ", ".join(f'"{each.argument}": {each.name}' for each in parameters) + "}"]


def _signature(
    name: str, parameters: Sequence[Parameter], returns: str, prefix: str = ""
) -> Iterator[str]:
    first = [each.text for each in parameters if each.is_first]
    others = [each.text for each in parameters if not each.is_first]
    words = ["self", *first, *(["*"] if others else []), *others]
    line = f"    {prefix}def {name}({', '.join(words)}) -> {returns}:"
    yield ""
    if len(line) <= WIDTH:
        yield line
        return
    yield f"    {prefix}def {name}("
    yield from (f"        {word}," for word in words)
    yield f"    ) -> {returns}:"


def _docstring(doc: str, parameters: Iterable[Parameter]) -> Iterator[str]:
    lines = doc.replace("\\", "\\\\").splitlines()
    helped = [each for each in parameters if each.help]
    if helped:
        lines += ["", "Args:"]
    for each in helped:
        text = f"{each.name}: {each.help}".replace("\\", "\\\\")
        lines += wrap(text, WIDTH - 12, initial_indent="    ", subsequent_indent="        ")
    first, *rest = lines
    yield f'        """{first}' + ("" if rest else '"""')
    yield from (f"        {line}".rstrip() for line in rest)
    if rest:
        yield '        """'


def _call(function: str, arguments: Sequence[str]) -> Iterator[str]:
    line = f"        return {function}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"        return {function}("
    yield from (f"            {each}," for each in arguments)
    yield "        )"


def _is_paged(data: Data) -> bool:
    return bool(data.get("columns")) and bool({"cursor", "after"} & data["fields"].keys())


def _class(noun: str) -> str:
    return "".join(word.capitalize() for word in noun.split("-"))


def _plural(noun: str) -> str:
    word = noun.replace("-", "_")
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _identifier(verb: str) -> str:
    return identifier(verb.replace("-", "_"))


# --- answers ---


def _kind(row: CommandRow, data: Data, schemas: ApiSchemas) -> tuple[str, list[str]]:
    """Return the name of the class of an answer, and its lines."""
    name = NAMED.get(row.name) or _class(row.name.replace("_", "-")) + "Answer"
    base, inherited = "Answer", set[str]()
    if isinstance(row, Operation):
        own = {row.aggregate.id_field: {"type": "string"}} if row.genesis else {}
        properties: SchemaObject = own | schemas.reply(row)
        if not properties:
            return "Changed", []
        answer: SchemaObject = {"properties": properties}
        base, inherited = "Changed", {"version"}
    else:
        answer = schemas.answer(row)
        if _is_paged(data) or row.name in NAMED:
            answer = answer["properties"]["items"]["items"]
    shapes = schemas.named_in(answer)
    if "$ref" in answer:
        answer = shapes[answer["$ref"].rpartition("/")[2]]
    fields = [
        f"    {field}: {_type(schema, shapes)}{_ignored(field)}"
        for field, schema in answer.get("properties", {}).items()
        if identifier(field) == field and field not in inherited
    ]
    text = f"The answer of {row.name}." if row.name not in NAMED else f"A row of {row.name}."
    return name, [f"\nclass {name}({base}):", f'    """{text}"""\n', *fields]


def _ignored(field: str) -> str:
    return "  # pyright: ignore" if field in SHADOWING else ""


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
    if kind == "string" and schema.get("format") == "date-time":
        return "Time"
    return PLAIN.get(str(kind), "Any")


def identifier(name: str) -> str:
    """Return a name that Python accepts: `from_` for `from`."""
    return f"{name}_" if keyword.iskeyword(name) else name
