"""Refusals: how the service says no. The class is the code, the docstring is the message."""

from inspect import cleandoc
from typing import ClassVar


class Refusal(Exception):
    """The request was understood and refused."""

    status: ClassVar[int]
    retry_after: ClassVar[int | None] = None
    """Seconds after which the same request may fare better, where that is known."""

    def __init__(self, detail: str | None = None, **facts: object) -> None:
        self.facts = facts
        """What the refusal rests on, for programs: extra members of the problem body."""
        super().__init__(" ".join([cleandoc(type(self).__doc__ or ""), detail or ""]).strip())


class Invalid(Refusal):
    """The request does not make sense, whatever the state."""

    status = 400


class NotFound(Refusal):
    """No such thing."""

    status = 404


class Cannot(Refusal):
    """The present state does not allow it."""

    status = 409
