"""The refusal of a command by the state, which may leave a row."""

from typing import ClassVar, Self

from ._refusal import Refusal
from ._table import Insert


class Cannot(Refusal, status=409):
    """The current state does not allow the request."""

    row: Insert | None = None
    """A row that is written when a command is refused with this."""

    is_alarm: ClassVar[bool] = False
    """Whether it is logged with its facts, because somebody must look into the cause."""

    def leaving(self, row: Insert) -> Self:
        """Return this refusal with a row to write."""
        self.row = row
        return self
