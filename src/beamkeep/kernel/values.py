"""Small constrained values used across contexts."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from annotated_types import Ge, Lt, MaxLen, MinLen
from pydantic import AwareDatetime, BeforeValidator

from ._event import MayContainPersonalData
from ._refusal import Refusal


def _written_out(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and ":" not in value):
        raise ValueError(
            "a time needs a date, a time of day and a zone, for example 2030-01-31T07:30:00Z"
        )
    return value


MOST_REFERENCES = 20

type Name = Annotated[str, MinLen(1), MaxLen(200)]
type Reason = Annotated[str, MinLen(1), MaxLen(500)]
type Tag = Annotated[str, MinLen(1), MaxLen(50)]
type ReferenceScheme = Annotated[str, MinLen(1), MaxLen(50)]
type ReferenceValue = Annotated[str, MinLen(1), MaxLen(200)]
# Whatever its zone, it is a time in UTC too, with some days to spare.
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 1, tzinfo=UTC)
type Timestamp = Annotated[
    datetime, AwareDatetime, Ge(FIRST), Lt(LAST), BeforeValidator(_written_out)
]

type FreeText = Annotated[str, MayContainPersonalData()]
"""A text of an event in which someone may have named a person."""


def trimmed(text: str, refusal: type[Refusal]) -> str:
    """The text without blanks around it; a blank one is refused."""
    if not (kept := text.strip()):
        raise refusal("Enter at least one visible character.")
    return kept


def trimmed_or_none(text: str | None, refusal: type[Refusal]) -> str | None:
    """As `trimmed`, for a text that may be left out."""
    return None if text is None else trimmed(text, refusal)


def outside_references(given: Mapping[str, str], refusal: type[Refusal]) -> dict[str, str]:
    """What other systems call a thing, by scheme, as it may be kept."""
    kept: dict[str, str] = {}
    for name, text in given.items():
        scheme, value = trimmed(name, refusal), trimmed(text, refusal)
        if scheme in kept:
            raise refusal(f"The scheme {scheme} occurs twice; give each scheme once.")
        if value.lower().startswith(f"{scheme.lower()}:"):
            raise refusal(f"Remove the prefix {scheme}: from the value.")
        kept[scheme] = value
    if len(kept) > MOST_REFERENCES:
        raise refusal(f"At most {MOST_REFERENCES} references are allowed; there are {len(kept)}.")
    return kept
