"""What is wrong with a token, in words for those who run the service."""

from datetime import UTC, datetime
from typing import cast

from beamkeep.runtime.tokens import (
    IdentityProviderUnavailableError,
    InvalidTokenError,
    token_fault,
)

MOST_SHOWN = 120
"""Characters of a value from a token that are shown; anybody can send any value."""


def refused(reason: str, part: str, *, expected: str, found: str, remedy: str) -> InvalidTokenError:
    """Return the refusal of a token, with its cause."""
    return InvalidTokenError().because(token_fault(reason, part, expected, found, remedy))


def unavailable(
    reason: str, part: str, *, expected: str, found: str, remedy: str
) -> IdentityProviderUnavailableError:
    """Return the refusal where the provider cannot be asked, with its cause."""
    fault = token_fault(reason, part, expected, found, remedy)
    return IdentityProviderUnavailableError().because(fault)


def shown(value: object) -> str:
    """Return a value of a token as one short printable text; never used for a person's data."""
    if value is None:
        return "nothing"
    if isinstance(value, list):
        # Only texts are shown: a list in a list in a list could be deep without end.
        texts = [each for each in cast("list[object]", value) if isinstance(each, str)]
        return ", ".join(map(shown, texts[:5])) or "a list without texts"
    if not isinstance(value, str):
        return f"a value of type {type(value).__name__}"
    text = value if value.isprintable() else ascii(value)
    return (text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...") or "an empty text"


def without_value(value: object) -> str:
    """Return what sort of value a claim has that must be a name, and not the value."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters, not all of them printable or too many"
    return shown(value)


def at(seconds: float) -> str:
    """Return a time of a token in ISO 8601."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError):
        return f"{seconds:.0f} seconds after 1970"


def any_of(values: tuple[str, ...]) -> str:
    """Return the accepted values as one text."""
    return " or ".join(values)
