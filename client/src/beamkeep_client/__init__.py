"""The client of Beamkeep: command line, Python client, Bluesky recorder."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import Answer, Refused
    from .client import AsyncBeamkeep, Beamkeep
    from .http import ServiceError
    from .references import AmbiguousNameError

WHERE = {
    "AmbiguousNameError": "references",
    "Answer": "answers",
    "AsyncBeamkeep": "client",
    "Beamkeep": "client",
    "Refused": "answers",
    "ServiceError": "http",
}
__all__ = [
    "AmbiguousNameError",
    "Answer",
    "AsyncBeamkeep",
    "Beamkeep",
    "Refused",
    "ServiceError",
]


def __getattr__(name: str) -> Any:
    # Loaded when used: the help of the command line does without them.
    if name not in WHERE:
        raise AttributeError(name)
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"{__name__}.{WHERE[name]}"), name)
