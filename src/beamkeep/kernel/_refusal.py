"""Refusals: how the service says no. The class is the code, the docstring is the message."""

import re
from inspect import cleandoc
from typing import ClassVar

NOT_SHOWN = "(not shown)"
"""Stands for a value of an object that the caller may not see."""


class Refusal(Exception):
    """The request was understood and refused."""

    status: ClassVar[int] = 500
    retry_after: ClassVar[int | None] = None
    """Seconds after which the same request may succeed; None if unknown."""

    says: ClassVar[str] = ""
    """The message of a subclass without a docstring; braces stand for what its name adds."""

    def __init_subclass__(
        cls, status: int | None = None, retry_after: int | None = None, says: str | None = None
    ) -> None:
        cls.status = status or cls.status
        cls.retry_after = retry_after or cls.retry_after
        cls.says = says or cls.says
        if cls.__doc__ is None:
            parent = cls.mro()[1].__name__.removeprefix("Invalid")
            named = cls.__name__.removeprefix("Invalid").removesuffix("Error").removesuffix(parent)
            message = cls.says.format(re.sub("(?<!^)(?=[A-Z])", " ", named).lower())
            cls.__doc__ = message[:1].upper() + message[1:]

    def __init__(self, detail: str | None = None, **facts: object) -> None:
        self.facts = facts
        """Extra members of the problem body, for programs."""
        super().__init__(" ".join([cleandoc(type(self).__doc__ or ""), detail or ""]).strip())


class Invalid(Refusal, status=400):
    """The request is wrong in any state."""


class Blank(Invalid, says="{} must not be blank."):
    """A text must not be blank."""


class NotFound(Refusal, status=404, says="The {} does not exist."):
    """The object does not exist."""
