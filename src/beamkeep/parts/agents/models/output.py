"""What a model wrote: cleaned, parsed, and checked against its schema and bounds."""

import json
import re
import unicodedata
from typing import cast

from beamkeep.schemas import Json, JsonObject

from .seam import LanguageModelOutputInvalidError, ModelAnswer

MOST_BYTES = 256 * 1024
MOST_DEPTH = 16
CHECKED_HERE = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "pattern")
"""Keywords that providers do not understand: descriptions state them, and we check them."""

INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)
"""Characters that show nothing and are neither control nor format characters."""
BREAKS = re.compile("\r\n|[\r\u0085\u2028\u2029]")
MARKDOWN_LINK = re.compile(r"!?\[([^\]\n]*)\]\s?[(\[][^)\]\n]*[)\]]")
ADDRESS = re.compile(
    r"[^\s<>()\[\]]*:/{2,}[^\s<>()\[\]]*|\b(?:javascript|data|mailto):\S+", re.IGNORECASE
)
TAG = re.compile(r"<(?!withheld>)[/!?]?[A-Za-z][^<>]*>?|<!--")
GONE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


def clean(text: str) -> str:
    """Return a text without characters that are not seen, in the normal form NFC."""
    broken = BREAKS.sub("\n", text).replace("\t", " ")
    seen = (c for c in broken if c == "\n" or unicodedata.category(c) not in GONE)
    return unicodedata.normalize("NFC", INVISIBLE.sub("", "".join(seen)))


def read_output(
    text: str | None, schema: JsonObject, answered: ModelAnswer | None = None
) -> JsonObject:
    """Return the object in an answer, its texts cleaned. Raise when it does not fit the schema."""
    from jsonschema_rs import validator_for  # noqa: PLC0415 - only answers of a model need it

    def invalid(detail: str) -> LanguageModelOutputInvalidError:
        return LanguageModelOutputInvalidError(detail, answered)

    if not text:
        raise invalid("The answer is empty.")
    if len(text) > MOST_BYTES:
        raise invalid(f"The answer has {len(text)} characters.")
    if _depth(text) > MOST_DEPTH:
        raise invalid("The answer is nested too deeply.")
    try:
        parsed = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    except ValueError:
        raise invalid("The answer is not JSON.") from None
    cleaned = _cleaned(parsed)
    # The text of a fault would repeat what the model wrote.
    if not isinstance(cleaned, dict) or not validator_for(schema).is_valid(cleaned):
        raise invalid("The answer does not fit the schema.")
    return cleaned


def for_provider(schema: Json) -> Json:
    """Return a schema with the keywords that every provider takes; bounds go to descriptions."""
    if isinstance(schema, list):
        return [for_provider(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    supported: JsonObject = {
        name: {key: for_provider(each) for key, each in cast("JsonObject", value).items()}
        if name == "properties"
        else for_provider(value)
        if name in {"items", "anyOf"}
        else value
        for name, value in schema.items()
        if name not in CHECKED_HERE
    }
    bounds = [f"{name} {schema[name]}" for name in CHECKED_HERE if name in schema]
    if bounds:
        said = str(schema.get("description", "")).strip()
        supported["description"] = f"{said} ({', '.join(bounds)})".strip()
    return supported


def _depth(text: str) -> int:
    """Return how deep brackets are nested outside of strings, without parsing."""
    deepest = depth = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', text):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def _cleaned(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {clean(name): _cleaned(each) for name, each in value.items()}
    return value


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _no_twins(pairs: list[tuple[str, Json]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def plain(text: str) -> str:
    """Return a text without links, images and tags, which a logbook might render."""
    unlinked = ADDRESS.sub("[link]", MARKDOWN_LINK.sub(r"\1", text))
    return TAG.sub("", unlinked).strip()
