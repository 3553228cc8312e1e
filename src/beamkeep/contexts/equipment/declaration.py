"""Declaration: what is defined once, replaced version by version, and deprecated in the end."""

from collections.abc import Iterable, Set
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen
from msgspec import convert
from msgspec.structs import asdict

from beamkeep.kernel import Advice, Axis, Cannot, Event, Invalid, Record
from beamkeep.kernel.values import trimmed
from beamkeep.schemas import JsonSchema, declare, lint_schema

MOST_WARNINGS = 100


class DeclarationStatus(StrEnum):
    DEFINED = "Defined"
    VERSIONED = "Versioned"
    DEPRECATED = "Deprecated"


CURRENT = frozenset({DeclarationStatus.DEFINED, DeclarationStatus.VERSIONED})

type VersionTag = Annotated[str, MinLen(1), MaxLen(50)]


class InvalidVersionTag(
    Invalid, says="Version tag must not be blank and must differ from the {}'s current tag."
):
    """The tag of a new version cannot be used."""


class CannotVersion(Cannot, says="A deprecated {} cannot be versioned."):
    """The declaration cannot have a new version."""


class CannotDeprecate(Cannot, says="A deprecated {} cannot be deprecated again."):
    """The declaration cannot be deprecated."""


class Declaration(Record):
    """The state that every declaration has; each kind adds the fields of its own."""

    id: UUID
    name: str
    status: DeclarationStatus = DeclarationStatus.DEFINED
    version_tag: str | None = None
    """The tag of the current version; null until the first new version."""


class Lifecycle[V: Event, D: Event](Axis[DeclarationStatus, V | D]):
    """The status axis of one kind of declaration: how it is versioned and deprecated."""

    def __init__(
        self,
        versioned: tuple[type[V], type[Cannot]],
        deprecated: tuple[type[D], type[Cannot]],
        invalid_tag: type[Invalid],
    ) -> None:
        super().__init__(
            "status",
            # event, allowed from, leads to, refused with
            (versioned[0], CURRENT, DeclarationStatus.VERSIONED, versioned[1]),
            (deprecated[0], CURRENT, DeclarationStatus.DEPRECATED, deprecated[1]),
        )
        self._versioned, self._invalid_tag = versioned[0], invalid_tag
        self.milestones = {"versioned_at": (versioned[0],), "deprecated_at": (deprecated[0],)}

    def new_tag(
        self, declaration: Declaration, text: str, used: Set[str | None] = frozenset()
    ) -> str:
        """Return the trimmed tag of a new version; raise the refusal of the tag or the status."""
        tag = trimmed(text, self._invalid_tag)
        if tag == declaration.version_tag or tag in used:
            raise self._invalid_tag(f"The tag {tag} is taken; choose another.")
        self.require(declaration.status, self._versioned)
        return tag

    def begin[S: Declaration](self, state: type[S], id: UUID, event: Event) -> S:
        """Return a new declaration in which every field has the event's value of that name."""
        return convert({**asdict(event), "id": id}, state)

    def evolve[S: Declaration](self, declaration: S, event: V | D) -> S:
        """Return the declaration after a new version or its deprecation."""
        changed = {**asdict(event), "status": self.after(event)}
        return convert({**asdict(declaration), **changed}, type(declaration))


def require_current(referred: Iterable[Declaration], refusal: type[Cannot]) -> None:
    """Refuse a new reference to a deprecated declaration."""
    if old := [each for each in referred if each.status is DeclarationStatus.DEPRECATED]:
        named = ", ".join(f"{each.name} ({each.id})" for each in old)
        ids = [each.id for each in old]
        raise refusal(f"Deprecated: {named}. Use a current one instead.", deprecated_ids=ids)


def declared_schema(
    schema: JsonSchema | None, refusal: type[Invalid]
) -> tuple[JsonSchema | None, list[Advice]]:
    """Return a schema that may be declared, and the advice to its author."""
    allowed = declare(schema, refusal)
    return allowed, lint_schema(allowed or {})[:MOST_WARNINGS]
