"""One working example of every command and question, made with nothing but calls."""

from tests.support.examples import trust
from tests.support.examples.making import Do, Example

__all__ = ["CALLERS", "EXAMPLES", "Do", "Example"]

EXAMPLES: dict[str, Example] = {**trust.EXAMPLES}

CALLERS: dict[str, str] = {}
"""Who calls where it cannot be a person, by the name of the operation."""
