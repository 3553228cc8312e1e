"""Small constrained values used across contexts."""

import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, get_args, get_type_hints

from annotated_types import Ge, Lt, MaxLen, MinLen
from pydantic import AwareDatetime, BaseModel, BeforeValidator, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ._event import MayContainPersonalData
from ._record import Record
from ._refusal import Refusal

EXAMPLE = "2030-01-31T07:30:00Z"


def _zoned(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and ":" not in value):
        raise ValueError(f"a time needs a date, a time of day and a zone, for example {EXAMPLE}")
    return value


type Name = Annotated[str, MinLen(1), MaxLen(200)]
type Reason = Annotated[str, MinLen(1), MaxLen(500)]
type Tag = Annotated[str, MinLen(1), MaxLen(50)]
type ReferenceScheme = Annotated[str, MinLen(1), MaxLen(50)]
type ReferenceValue = Annotated[str, MinLen(1), MaxLen(200)]
References = dict[ReferenceScheme, ReferenceValue]
# A day's margin keeps a time of any zone representable in UTC.
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 1, tzinfo=UTC)
type Timestamp = Annotated[datetime, AwareDatetime, Ge(FIRST), Lt(LAST), BeforeValidator(_zoned)]

type FreeText = Annotated[str, MayContainPersonalData()]
"""A text of an event in which someone may have named a person."""


def folded(text: str) -> str:
    """Return a text as names are compared: without case, accents and blanks around it."""
    if (text := text.strip()).isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(each for each in apart if not unicodedata.combining(each)).casefold()


def trimmed(text: str, refusal: type[Refusal]) -> str:
    """Return the text without blanks around it. Raise the refusal when nothing is left."""
    if not (stripped := text.strip()):
        raise refusal("Enter at least one visible character.")
    return stripped


@dataclass(frozen=True)
class Trimmed:
    """Marks a text of a command that is trimmed, and refused when it is blank."""

    refusal: type[Refusal]

    def trim(self, text: str) -> str:
        return trimmed(text, self.refusal)

    def __get_pydantic_core_schema__(self, text: Any, schemas: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.trim, schemas(text))


def declared_refusals(model: type[BaseModel]) -> tuple[type[Refusal], ...]:
    """Return the refusals that the fields of a command declare, also inside its records."""
    fields = model.model_fields.values()
    parts: list[Any] = [part for each in fields for part in (each.annotation, *each.metadata)]
    for part in parts:  # it grows by what each part contains; an alias may contain itself
        held = get_args(part) or (getattr(part, "__value__", None),)
        if isinstance(part, type) and issubclass(part, Record):
            held = get_type_hints(part, include_extras=True).values()
        parts += [each for each in held if each not in parts]
    return tuple({part.refusal: None for part in parts if isinstance(part, Trimmed)})
