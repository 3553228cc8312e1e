"""The client of Beamkeep: command line, Python client, Bluesky recorder."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import Answer, Changed, Refused
    from .asynchronous.client import AsyncBeamkeep
    from .http import ServiceError
    from .references import AmbiguousNameError
    from .synchronous.client import Beamkeep

WHERE = {
    "AmbiguousNameError": "references",
    "Answer": "answers",
    "AsyncBeamkeep": "asynchronous.client",
    "Beamkeep": "synchronous.client",
    "Changed": "answers",
    "Refused": "answers",
    "ServiceError": "http",
}
__all__ = [
    "AmbiguousNameError",
    "Answer",
    "AsyncBeamkeep",
    "Beamkeep",
    "Changed",
    "Refused",
    "ServiceError",
]


def __getattr__(name: str) -> object:
    # Loaded when used: the help of the command line does without them.
    if name not in WHERE:
        raise AttributeError(name)
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"{__name__}.{WHERE[name]}"), name)
