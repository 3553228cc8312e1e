"""Identifiers of things in other systems: every character of them is seen."""

from collections.abc import Mapping

from beamkeep.kernel import Refusal
from beamkeep.kernel.values import Trimmed, trimmed

MOST_REFERENCES = 20


def identifier(text: str, refusal: type[Refusal]) -> str:
    """Return an identifier, trimmed. Raise the refusal when it has characters that nobody sees."""
    if not (stripped := trimmed(text, refusal)).isprintable():
        raise refusal("Remove the characters that cannot be seen, such as line breaks.")
    return stripped


class Identifier(Trimmed):
    """Marks an identifier of a command, which is refused when a character of it is not seen."""

    def trim(self, text: str) -> str:
        """Return the identifier as the command stores it."""
        return identifier(text, self.refusal)


def outside_references(given: Mapping[str, str], refusal: type[Refusal]) -> dict[str, str]:
    """Return the names of a thing in other systems, trimmed, by scheme."""
    found: dict[str, str] = {}
    for name, text in given.items():
        scheme, value = identifier(name, refusal), identifier(text, refusal)
        if scheme in found:
            raise refusal(f"The scheme {scheme} occurs twice; give each scheme once.")
        if value.lower().startswith(f"{scheme.lower()}:"):
            raise refusal(f"Remove the prefix {scheme}: from the value.")
        found[scheme] = value
    if len(found) > MOST_REFERENCES:
        raise refusal(f"At most {MOST_REFERENCES} references are allowed; there are {len(found)}.")
    return found
