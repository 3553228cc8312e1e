"""A part: what a deployment can switch on, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from .wiring import Wiring


class Part(NamedTuple):
    """A part by its name, with its verbs, and how it is wired into a deployment."""

    name: str
    wiring: Callable[[], Wiring[Any]]
    """Imports what the part consists of. The help of the command line does without."""
    verbs: tuple[click.Command, ...] = ()
    """The commands of `beamkeep` that the part adds."""
