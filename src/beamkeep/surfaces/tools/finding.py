"""How operations are found by words and named, and the context that they belong to."""

import re
from collections.abc import Mapping
from functools import cache
from inspect import cleandoc
from typing import Any

from beamkeep.kernel import Aggregate, Catalogue, Event, Operation, Question
from beamkeep_client.shared.words import OperationIndex, OperationTexts


@cache
def operation_index(catalogue: Catalogue) -> OperationIndex:
    """Return the search of a catalogue, which is that of the command line."""
    found: Mapping[str, OperationTexts] = {
        name: _texts(row) for name, row in catalogue.named.items()
    }
    return OperationIndex(found)


def _texts(row: Operation | Question) -> OperationTexts:
    model = row.command if isinstance(row, Operation) else row.query
    parameters = " ".join([*row.route.fields, *model.model_fields])
    return OperationTexts(f"{row.name} {row.aggregate.noun}", row.doc, parameters)


def context_of(aggregate: Aggregate[Any, Any, Any]) -> str:
    """Return the name of the context that an aggregate belongs to."""
    return aggregate.begin.__module__.split(".")[-2:][0]


TO = {"add", "append", "assign", "bind", "grant"}
FROM = {"remove", "revoke", "unbind"}


def title_of(row: Operation | Question) -> str:
    """Return what a button says: «Add a family to an asset», or the title that is declared."""
    if row.title:
        return row.title
    noun = row.aggregate.noun
    verb, _, rest = row.name.partition("_")
    shown = "show" if verb == "get" else verb
    part, whole = rest.removeprefix(f"{noun}_"), _with_article(noun)
    if verb == "list" or not rest:
        found = rest
    elif rest == noun or part == rest:
        found = _with_article(rest)
    elif verb in {"make", "mark"}:
        found = f"{whole} {part}"
    elif verb in TO:
        found = f"{_with_article(part)} to {whole}"
    elif verb in FROM:
        found = f"{_with_article(part)} from {whole}"
    else:
        found = f"the {part} of {whole}"
    return f"{shown} {found}".replace("_", " ").strip().capitalize()


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def text_of(event: type[Event], aggregate: Aggregate[Any, Any, Any]) -> str:
    """Return what an event says after the name of its object: «grant added»."""
    if event.__doc__:
        return cleandoc(event.__doc__).removesuffix(".").lower()
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", event.__name__.removeprefix(aggregate.name))
    return words.lower()
