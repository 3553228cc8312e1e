"""Declaration: the life of everything that says how work is done."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from beamkeep.kernel import Axis, Cannot, Event


class DeclarationStatus(StrEnum):
    DEFINED = "Defined"
    VERSIONED = "Versioned"
    DEPRECATED = "Deprecated"


CURRENT = frozenset({DeclarationStatus.DEFINED, DeclarationStatus.VERSIONED})


def lifecycle[V: Event, D: Event](
    versioned: tuple[type[V], type[Cannot]], deprecated: tuple[type[D], type[Cannot]]
) -> Axis[DeclarationStatus, V | D]:
    """The one axis of a declaration: by which events it moves, and what refuses them."""
    return Axis(
        "status",
        # event, allowed from, leads to, refused with
        (versioned[0], CURRENT, DeclarationStatus.VERSIONED, versioned[1]),
        (deprecated[0], CURRENT, DeclarationStatus.DEPRECATED, deprecated[1]),
    )


def milestones[V: Event, D: Event](
    axis: Axis[DeclarationStatus, V | D],
) -> Mapping[str, tuple[type[Event], ...]]:
    """When a declaration was last versioned, and when it was deprecated."""
    versioned, deprecated = axis.moves
    return {"versioned_at": (versioned,), "deprecated_at": (deprecated,)}


class Declared(Protocol):
    """A declaration, a family of devices among them."""

    @property
    def id(self) -> UUID: ...
    @property
    def name(self) -> str: ...
    @property
    def status(self) -> str: ...


def require_current(referred: Iterable[Declared], refusal: type[Cannot]) -> None:
    """Refuse a new reference to what is deprecated."""
    if old := [each for each in referred if each.status == DeclarationStatus.DEPRECATED]:
        named = ", ".join(f"{each.name} ({each.id})" for each in old)
        ids = [each.id for each in old]
        raise refusal(f"{named}: Deprecated; name another.", deprecated_ids=ids)
