"""Write the pages of docs/reference from the code's own declarations, or say which are stale."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeAliasType, cast, get_args, get_origin, get_type_hints

from docs.house_picture import house_picture
from msgspec.structs import fields
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from beamkeep.adapters.tokens.providers import IntrospectionProvider, JwtProvider
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.deployment.parts import PARTS
from beamkeep.deployment.settings import ServerSettings, Settings
from beamkeep.kernel import (
    Accepted,
    Aggregate,
    Axis,
    Created,
    Entries,
    Event,
    Many,
    MayContainPersonalData,
    Operation,
    Question,
    Refusal,
    event_types,
    reply_of,
)
from beamkeep.parts.settings import CoreSettings
from beamkeep.runtime.queries import NotFreshYetError
from beamkeep.surfaces.http.openapi import ALWAYS, OF_COMMANDS, document_text
from beamkeep.surfaces.tools.client_methods import client_modules
from beamkeep.surfaces.tools.command_line import as_file, catalogue_rows
from beamkeep.surfaces.tools.finding import operation_index, text_of
from beamkeep.surfaces.tools.synchronous import synchronous_modules
from beamkeep_client.shared.words import ACTIONS, NOUNS, QUESTIONS, THINGS

ROOT = Path(__file__).parent.parent
CLIENT = "client/src/beamkeep_client"
NOTE = "<!-- Written by docs/generate.py from the code; `make reference` writes it again. -->"

WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
"""Begins a page whose tables need the room of the sidebar."""


def main() -> int:
    """Write every page, or compare every page with what would be written."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="write nothing; fail when stale")
    checking = options.parse_args().check
    stale: list[str] = []
    for name, text in pages().items():
        file = ROOT / name
        if file.exists() and file.read_text() == text:
            continue
        stale.append(name)
        if not checking:
            file.write_text(text)
    for name in stale:
        print(f"{name} {'is stale; run `make reference`' if checking else 'written'}")
    return int(checking and bool(stale))


def pages() -> dict[str, str]:
    """Every generated file by name."""
    reference = {
        "openapi.json": document_text(CATALOGUE),
        "events.json": events_data(),
        "operations.md": _page("Operations and questions", operations()),
        "transitions.md": WIDE + _page("Transitions", transitions()),
        "events.md": _page("Events", events()),
        "refusals.md": _page("Refusals", refusals()),
        "settings.md": _page("Settings", settings()),
        "glossary.md": _page("Glossary", glossary()),
        "index.md": _page("Reference", index()),
    }
    written = {f"docs/reference/{name}": text for name, text in reference.items()}
    written |= {"docs/explanations/pictures/house.svg": house_picture()}
    client = {"catalogue.json": as_file(catalogue_rows()), **client_modules()}
    client |= synchronous_modules(ROOT / CLIENT, client)
    return written | {f"{CLIENT}/{name}": text for name, text in client.items()}


def events_data() -> str:
    """Return the events of every stream, what they say, and the tables with it, as JSON."""
    events = {
        aggregate.name: {
            event.__name__: _said(event, aggregate) for event in event_types(aggregate)
        }
        for aggregate in CATALOGUE.aggregates.values()
    }
    rows: dict[str, dict[str, str]] = defaultdict(dict)
    for each in CATALOGUE.questions:
        if isinstance(each.source, Entries) and each.about:
            rows[each.source.table.name] = {"stream": each.aggregate.name, "read": each.name}
    return json.dumps({"events": events, "rows": rows}, indent=1) + "\n"


def _said(event: type[Event], aggregate: Aggregate[Any, Any, Any]) -> dict[str, str]:
    """Return what an event says, and the state that it leads to with the name of its schema."""
    said = {"text": text_of(event, aggregate)}
    for axis in aggregate.axes:
        if event in axis.moves and isinstance(target := axis.moves[event][1], Enum):
            said |= {"schema": type(target).__name__, "state": str(target)}
    return said


def index() -> Iterator[str]:
    """What the pages of the reference list."""
    yield "These pages are written from the code, so they list everything that the service has."
    yield _table(
        ("page", "lists"), [(f"[{title}]({name}.md)", contents) for name, title, contents in LISTS]
    )
    names = "\n".join(name for name, *_ in LISTS)
    yield f"```{{toctree}}\n:hidden:\n\n{names}\n../domain/index\n```"
    yield (
        "The OpenAPI document is in `docs/reference/openapi.json` and at `/openapi.json` of a"
        " running service. The service shows it at `/docs`, with an example of every operation."
    )


LISTS = (
    ("operations", "Operations and questions", "every operation, its path and its answer"),
    ("transitions", "Transitions", "which operation is allowed in which state"),
    ("events", "Events", "every event with its fields"),
    ("refusals", "Refusals", "every code, its status and its meaning"),
    ("settings", "Settings", "every setting of the service"),
    ("glossary", "Glossary", "the words of beamlines and the words of Beamkeep"),
)


def glossary() -> Iterator[str]:
    """The words that people use, and the nouns of the catalogue."""
    yield (
        "Beamkeep has one name for each thing. The first table explains the names. The other"
        " tables list words that people use at beamlines, with the Beamkeep words for them."
        " `beamkeep find`, the search at `/docs` and `find_operation` of agents know all of these"
        " words."
    )
    yield "## The nouns of Beamkeep"
    yield _table(("noun", "meaning"), sorted(NOUNS.items()))
    search, rows = operation_index(CATALOGUE), {row["name"]: row for row in catalogue_rows()}
    found = {word: rows[search.find(word, CATALOGUE.named, 1)[0]] for word in THINGS}
    yield "## Things"
    yield _table(
        ("people say", "Beamkeep says", "finds first"),
        [
            (word, meant, f"`beamkeep {_verb(found[word])}`")
            for word, meant in sorted(THINGS.items())
        ],
    )
    for title, words in (("Actions", ACTIONS), ("Questions", QUESTIONS)):
        yield f"## {title}"
        yield _table(("people say", "Beamkeep says"), sorted(words.items()))


def _verb(row: Mapping[str, Any]) -> str:
    return f"{row['noun']} {row.get('short', row['verb'])}".strip()


def operations() -> Iterator[str]:
    """What can be asked for, by aggregate."""
    yield (
        "Each row is a path of the REST interface, a tool of MCP, a verb of the command line"
        " (with `-` for `_`), a name a policy may permit and a label of the metrics."
        " Every command also takes `dry_run`, which answers 200 and writes nothing."
    )
    yield (
        f"There are {len(CATALOGUE.operations)} commands and {len(CATALOGUE.questions)} queries."
        " A `create` opens a new stream and answers its id, a `change` appends to existing"
        " streams, a `worker` is accepted now and carried out by a worker later, and a `query`"
        " writes nothing."
    )
    for name, aggregate in CATALOGUE.aggregates.items():
        yield f"## {name}"
        rows = [row for row in CATALOGUE.named.values() if row.aggregate is aggregate]
        yield _table(
            ("name", "method and path", "kind", "status", "what it does"),
            [(f"`{r.name}`", f"`{r.route}`", _kind(r), _status(r), _line(r.doc)) for r in rows],
        )
    yield "## Filters of the lists"
    lists = [q for q in CATALOGUE.questions if isinstance(q.source, Many)]
    yield _table(
        ("list", "filters", "times in addition to `created_at`"),
        [
            (
                f"`{question.name}`",
                _codes([*question.source.view.filters, *question.source.view.aliases]),
                _codes(question.source.view.milestones),
            )
            for question in lists
            if isinstance(question.source, Many)
        ],
    )


def transitions() -> Iterator[str]:
    """Every axis, as a matrix of events and the states they may happen in."""
    yield (
        "One table for each axis of state. A row is an event, a column the state it finds;"
        " the cell is the state it leads to. Where there is a dash, the command is refused."
    )
    for axis in _axes():
        aggregate = CATALOGUE.streams[next(iter(axis.moves))]
        yield f"## {aggregate.name}: {axis.name}"
        states = _states(axis)
        rows: list[Sequence[str]] = []
        for event, (sources, target, refusal) in axis.moves.items():
            moves = [str(target) if state in sources else "-" for state in states]
            rows.append((f"`{event.__name__}`", *moves, f"`{refusal.__name__}`"))
        yield _table(("event", *map(str, states), "refused with"), rows)


def events() -> Iterator[str]:
    """Every event with its fields."""
    yield (
        "Events are kept for ever. Form is the version an event is stored in today; older forms"
        " are read through upcasts. A field marked † may contain personal data by accident;"
        " no field is meant to hold any. Every event also carries `occurred_at`, and its envelope"
        " the principal, the command, the surface and the position."
    )
    for name, aggregate in CATALOGUE.aggregates.items():
        yield f"## {name}"
        rows = [
            (
                f"`{event.__name__}`",
                text_of(event, aggregate),
                str(_form(aggregate, event)),
                ", ".join(_fields(event)),
            )
            for event in event_types(aggregate)
        ]
        yield _table(("event", "says", "form", "fields"), rows)


def refusals() -> Iterator[str]:
    """Every refusal with its status, its sentence and who may meet it."""
    yield (
        "A refusal is a problem body of RFC 9457, the same on every surface; its `code` is the"
        " name here. 404 of an aggregate is possible wherever it is named."
    )
    met: dict[type[Refusal], list[str]] = defaultdict(list)
    for row in CATALOGUE.named.values():
        own = [*row.refusals, *_implied(row)]
        for refusal in dict.fromkeys(own):
            if refusal not in (*ALWAYS, *OF_COMMANDS):
                met[refusal].append(f"`{row.name}`")
    for title, several in (("Any call", ALWAYS), ("Any command", OF_COMMANDS)):
        yield f"## {title}"
        yield _table(("code", "status", "meaning"), [_refusal(r) for r in _by_status(several)])
    yield "## Of single operations and questions"
    yield _table(
        ("code", "status", "meaning", "where"),
        [(*_refusal(refusal), ", ".join(met[refusal])) for refusal in _by_status(met)],
    )


def settings() -> Iterator[str]:
    """Every setting with its type, default and meaning."""
    yield cleandoc(Settings.__doc__ or "")
    yield "Lists and objects are written as JSON. Defaults of secrets are not shown."
    sections: dict[str, type[CoreSettings]] = {"Every part": CoreSettings}
    sections |= {"Surfaces": ServerSettings}
    sections |= {part.name.capitalize(): part.wiring().settings for part in PARTS}
    shown: set[str] = set()
    for title, section in sections.items():
        own = {name: it for name, it in section.model_fields.items() if name not in shown}
        shown |= own.keys()
        if own:
            yield f"## {title}"
            yield _settings_table(own, str.upper)
    yield "## Identity providers"
    yield "`IDENTITY_PROVIDERS` is a JSON list of objects of these two kinds."
    for provider in (JwtProvider, IntrospectionProvider):
        yield f'### `"kind": "{provider.model_fields["kind"].default}"`'
        yield cleandoc(provider.__doc__ or "")
        yield _settings_table(provider.model_fields, str)


def _settings_table(found: dict[str, FieldInfo], spelled: Any) -> str:
    rows = [
        (
            f"`{spelled(name)}`",
            _type(field.annotation),
            _default(field),
            _line(field.description or ""),
        )
        for name, field in found.items()
    ]
    return _table(("name", "type", "default", "meaning"), rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    match default:
        case None:
            return "none"
        case SecretStr():
            return "not shown"
        case bool(value):
            return f"`{str(value).lower()}`"
        case tuple():
            texts = [f'"{value}"' for value in cast("tuple[object, ...]", field.default)]
            return f"`[{', '.join(texts)}]`"
        case value:
            return f"`{value}`"


def _page(title: str, parts: Iterable[str]) -> str:
    return "\n\n".join([NOTE, f"# {title}", *parts]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def _line(text: str) -> str:
    return " ".join(cleandoc(text).split())


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _kind(row: Operation | Question) -> str:
    if isinstance(row, Question):
        return "query"
    if _status(row) == "202":
        return "worker"
    return "create" if row.genesis else "change"


def _status(row: Operation | Question) -> str:
    if isinstance(row, Question):
        return "200"
    reply = reply_of(row)
    if row.genesis or (reply and issubclass(reply, Created)):
        return "201"
    if reply and issubclass(reply, Accepted):
        return "202"
    return "200" if reply else "204"


def _axes() -> list[Axis[Any, Any]]:
    """Every axis that an aggregate declares, in the order of the catalogue."""
    return [axis for aggregate in CATALOGUE.aggregates.values() for axis in aggregate.axes]


def _states(axis: Axis[Any, Any]) -> list[Hashable]:
    """Every value of an axis: the members of its enumeration, or the two truth values."""
    target: Hashable = next(iter(axis.moves.values()))[1]
    return list(type(target)) if isinstance(target, Enum) else [True, False]


def _form(aggregate: Aggregate[Any, Any, Any], event: type[Event]) -> int:
    return 1 + sum(upcast.event_type == event.__name__ for upcast in aggregate.upcasts)


def _fields(event: type[Event]) -> Iterator[str]:
    hints = get_type_hints(event, include_extras=True)
    for field in fields(event):
        if field.name != "occurred_at":
            mark = " †" if _marked(hints[field.name]) else ""
            yield f"`{field.name}`{mark} {_type(hints[field.name])}"


def _marked(hint: Any) -> bool:
    if isinstance(hint, TypeAliasType):
        return _marked(hint.__value__)
    if isinstance(hint, MayContainPersonalData):
        return True
    marks = getattr(hint, "__metadata__", ())
    return any(_marked(part) for part in (*get_args(hint), *marks))


def _type(hint: Any) -> str:
    """A type in words a reader knows."""
    if isinstance(hint, TypeAliasType):
        return _type(hint.__value__)
    arguments = get_args(hint)
    match get_origin(hint):
        case None:
            return _plain(hint)
        case origin if origin is Annotated:
            return _type(arguments[0])
        case origin if origin in (tuple, list, frozenset, set):
            return f"list of {_type(arguments[0])}"
        case origin if origin is dict:
            return f"map of {_type(arguments[0])} to {_type(arguments[1])}"
        case origin if getattr(origin, "__name__", "") == "Literal":
            return " or ".join(f"`{argument}`" for argument in arguments)
        case _:
            ordered = sorted(arguments, key=lambda argument: argument is NoneType)
            return " or ".join(dict.fromkeys(_type(argument) for argument in ordered))


def _plain(kind: Any) -> str:
    known = {
        "str": "text",
        "bool": "bool",
        "int": "integer",
        "float": "number",
        "datetime": "time",
        "NoneType": "none",
        "Path": "file",
        "SecretStr": "secret",
        "JwtProvider": "object",
        "IntrospectionProvider": "object",
    }
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(f"`{member.value}`" for member in kind)
    return known.get(kind.__name__, kind.__name__)


def _implied(row: Operation | Question) -> Iterator[type[Refusal]]:
    """What every change and every question about one object may be refused with."""
    if row.about if isinstance(row, Question) else not row.genesis:
        yield row.aggregate.absent
    if isinstance(row, Question) and isinstance(row.source, Many):
        yield NotFreshYetError


def _refusal(refusal: type[Refusal]) -> tuple[str, str, str]:
    return f"`{refusal.__name__}`", str(refusal.status), _line(refusal.__doc__ or "")


def _by_status(several: Iterable[type[Refusal]]) -> list[type[Refusal]]:
    return sorted(several, key=lambda refusal: (refusal.status, refusal.__name__))


if __name__ == "__main__":
    sys.exit(main())
