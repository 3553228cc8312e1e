"""References to objects: a UUID, the end of one, or a name that one object has.

An asset is also found by an alternate identifier, such as a process variable.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from .catalogue import Entry, catalogue
from .http import ServiceError
from .terminal import printable, tail

END = re.compile(r"…?([0-9a-f]{6,12})")
MOST_CANDIDATES = 10
UNAUTHORIZED = "UnauthorizedError"
"""The code of a call that the caller has no permission for."""


class Reference(NamedTuple):
    """What a caller calls an object, and the kind of object that is meant."""

    text: str
    kind: str


class AmbiguousNameError(LookupError):
    """A reference that fits no object, or several."""


def unresolved(entry: Entry, arguments: Mapping[str, Any]) -> list[Reference]:
    """Return every reference among the arguments that is not a UUID."""
    found: dict[Reference, None] = {}
    for name, field in entry.fields.items():
        if field.refers_to and arguments.get(name) is not None:
            values: Sequence[object] = arguments[name] if field.many else [arguments[name]]
            texts = [str(value) for value in values]
            found |= {Reference(text, field.refers_to): None for text in texts if not is_id(text)}
    return [*found]


def search_for(reference: Reference) -> dict[str, Any]:
    """Return what a search is given to find what a reference means."""
    end = END.fullmatch(reference.text)
    return {"q": end[1] if end else reference.text, "kind": reference.kind}


def not_searchable(reference: Reference, error: ServiceError) -> ServiceError:
    """Return what it means that the service refused a search."""
    if error.code != UNAUTHORIZED:
        return error
    refused = f"You may not find {_plural(reference.kind)} by name."
    return _unauthorized(f"{refused} {_remedy(reference.text, 'search')} {error.detail}")


def _noun(kind: str) -> str:
    return " ".join(re.findall(r"[A-Z][a-z]*", kind)).lower()


def _get(kind: str) -> Entry:
    """Return the question that shows an object of a kind."""
    return catalogue()[f"get_{_noun(kind).replace(' ', '_')}"]


def _plural(kind: str) -> str:
    # The path of an object ends with the plural and the id: /plans/{plan_id}.
    return _get(kind).path.split("/")[-2].replace("-", " ")


def not_found(reference: Reference, caller: Mapping[str, Any] | None) -> Exception:
    """Return what it means that a search found nothing; without a caller, that is not known."""
    text, kind = reference
    noun, plural, get = _noun(kind), _plural(kind), _get(kind).name
    if caller is None:
        return AmbiguousNameError(f"No {noun} that you may see is called {printable(text)}.")
    # A search shows the objects that the caller may get.
    if get not in caller.get("permitted_commands", (get,)):
        return _unauthorized(f"You may not see {plural}. {_remedy(text, get)}")
    if get in caller.get("own_only", ()):
        own = f"No {noun} that you created is called {printable(text)}."
        return AmbiguousNameError(f"{own} You may not see other {plural}.")
    return AmbiguousNameError(f"No {noun} is called {printable(text)}.")


def _remedy(text: str, name: str) -> str:
    return f"Give the id of {printable(text)}, or ask an administrator to permit {name}."


def _unauthorized(detail: str) -> ServiceError:
    return ServiceError(detail, status=403, code=UNAUTHORIZED)


def assets_to_read(reference: Reference, hits: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the assets of a search that may have a text as identifier, where none has it as name.

    A search does not say by which word it found them.
    """
    named = [hit for hit in hits if _is_called(hit, reference.text)]
    if reference.kind != "Asset" or named or END.fullmatch(reference.text):
        return []
    return [hit["id"] for hit in hits[:MOST_CANDIDATES]]


def with_identifiers(
    hits: Sequence[Mapping[str, Any]], assets: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the hits of a search, with the alternate identifiers of the assets that were read."""
    known = {
        asset["asset_id"]: [each["value"] for each in asset["alternate_identifiers"]]
        for asset in assets
    }
    return [{**hit, "identifiers": known.get(hit["id"], ())} for hit in hits]


def _is_called(hit: Mapping[str, Any], text: str) -> bool:
    return text.casefold() in [
        each.casefold() for each in (str(hit["name"]), *hit.get("identifiers", ()))
    ]


def chosen(reference: Reference, hits: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the object that a reference means; raise AmbiguousNameError when it is not one."""
    text, kind = reference
    end = END.fullmatch(text)
    exact = [hit for hit in hits if _is_called(hit, text)]
    ends = [hit for hit in hits if end and hit["id"].endswith(end[1])]
    fitting = ends or exact
    if len(fitting) == 1:
        return fitting[0]
    noun = _noun(kind)
    fit = "Several fit" if fitting else "These are similar"
    lines = [
        f"  {tail(hit['id'])}  {printable(str(hit['name']))}  {hit.get('status') or ''}".rstrip()
        for hit in (fitting or hits)[:MOST_CANDIDATES]
    ]
    question = f"{printable(text)} does not name one {noun}. {fit}; give the id:"
    raise AmbiguousNameError("\n".join([question, *lines]))


def with_ids(
    entry: Entry, arguments: Mapping[str, Any], ids: Mapping[Reference, str]
) -> dict[str, Any]:
    """Return the arguments with ids in place of references."""
    kinds = {name: field.refers_to for name, field in entry.fields.items()}
    return {name: _replaced(v, kinds.get(name) or "", ids) for name, v in arguments.items()}


def _replaced(value: Any, kind: str, ids: Mapping[Reference, str]) -> Any:
    if isinstance(value, str):
        return ids.get(Reference(value, kind), value)
    if isinstance(value, list | tuple):
        return [_replaced(each, kind, ids) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def is_id(text: str) -> bool:
    """Return whether a text is a UUID."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
