"""SQL statements with named parameters."""

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

# `:name`, but not the `::type` of a cast.
PARAMETER = re.compile(r"(?<!:):([a-z]\w*)")


class Statement:
    """A statement with `:name` parameters, for a driver that takes only `$1`, `$2` and so on.

    The parameters are numbered once, in the order in which they first appear.
    """

    def __init__(self, named: str) -> None:
        numbers: dict[str, str] = {}
        self.named = named
        self.text = PARAMETER.sub(
            lambda found: numbers.setdefault(found[1], f"${len(numbers) + 1}"), named
        )
        self.names = tuple(numbers)
        # One call for all values; with a single name it would return the value itself.
        self._several = itemgetter(*self.names) if len(self.names) > 1 else None

    def bind(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the text and its arguments, as a connection takes them.

        Values that the statement does not name are ignored. Raise `KeyError` when one is missing.
        """
        if self._several:
            return (self.text, *self._several(values))
        return (self.text, *[values[name] for name in self.names])
