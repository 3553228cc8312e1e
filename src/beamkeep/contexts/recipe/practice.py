"""Practice: a method as one site performs it, or as devices of some families perform it."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from beamkeep.contexts.equipment import declaration
from beamkeep.contexts.equipment.family import Family, FamilyNotFoundError, families
from beamkeep.contexts.federation import facility
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    Aggregate,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Invalid,
    Listing,
    NotFound,
    reads,
)
from beamkeep.kernel.values import Name, Trimmed

from .method import FamilyIds, Method, MethodNotFoundError, methods


# Events are stored for ever: add a field with a default; never rename or drop one.
class PracticeEvent(Event):
    practice_id: UUID


class PracticeContent(PracticeEvent):
    name: str
    facility_code: str | None
    family_ids: tuple[UUID, ...]


class PracticeDefined(PracticeContent):
    method_id: UUID


class PracticeVersioned(PracticeContent):
    version_tag: str


class PracticeDeprecated(PracticeEvent): ...


class PracticeNotFoundError(NotFound): ...


class InvalidPracticeNameError(Blank): ...


class InvalidPracticeScopeError(Invalid):
    """A practice must name a facility, at least one family, or both."""


class InvalidPracticeVersionTagError(declaration.InvalidVersionTag): ...


class PracticeCannotVersionError(declaration.CannotVersion): ...


class PracticeCannotDeprecateError(declaration.CannotDeprecate): ...


class PracticeBoundMethodDeprecatedError(Cannot):
    """A practice cannot use a deprecated method."""


class PracticeFamilyDeprecatedError(Cannot):
    """A practice cannot name a deprecated family."""


STATUS = declaration.Lifecycle(
    (PracticeVersioned, PracticeCannotVersionError),
    (PracticeDeprecated, PracticeCannotDeprecateError),
    InvalidPracticeVersionTagError,
)


class Practice(declaration.Declaration, kw_only=True):
    method_id: UUID
    facility_code: str | None
    family_ids: frozenset[UUID]


def begin(event: PracticeDefined) -> Practice:
    return STATUS.begin(Practice, event.practice_id, event)


def evolve(practice: Practice, event: PracticeVersioned | PracticeDeprecated) -> Practice:
    return STATUS.evolve(practice, event)


class DeclarePractice(Command):
    name: Annotated[Name, Trimmed(InvalidPracticeNameError)]
    facility_code: facility.FacilityCode | None
    """The site: plans can bind only assets at this site or in its areas; null for every site."""
    family_ids: FamilyIds
    """Families that the assets of a plan must cover in addition to those of the method."""


class DefinePractice(DeclarePractice):
    method_id: UUID
    facility_code: facility.FacilityCode | None = None
    family_ids: FamilyIds = frozenset()


class PracticeCommand(Command):
    practice_id: UUID


class VersionPractice(PracticeCommand, DeclarePractice):
    version_tag: Annotated[declaration.VersionTag, Trimmed(InvalidPracticeVersionTagError)]


class DeprecatePractice(PracticeCommand): ...


type PracticeReferences = tuple[Method, Mapping[UUID, Family]]
"""The method that a practice uses, and the families that it names."""


async def references(method_id: UUID, command: DeclarePractice, read: Reader) -> PracticeReferences:
    method = await read.one(methods, method_id)
    if command.facility_code is not None:
        await facility.facility_by_code(command.facility_code, read)
    return method, await read.many(families, sorted(command.family_ids))


def define_practice(
    command: DefinePractice, given: PracticeReferences, call: Call
) -> list[PracticeDefined]:
    """Define how a site, or devices of some families, perform a method."""
    family_ids = _family_ids(command)
    _require_references_current(given)
    now, id = call.now, call.new_id
    return [PracticeDefined.of(command, occurred_at=now, practice_id=id, family_ids=family_ids)]


def version_practice(
    practice: Practice, command: VersionPractice, given: PracticeReferences, call: Call
) -> list[PracticeVersioned]:
    """Replace every field of a practice except its method."""
    ids = _family_ids(command)
    tag = STATUS.new_tag(practice, command.version_tag)
    _require_references_current(given)
    now = call.now
    return [PracticeVersioned.of(command, occurred_at=now, version_tag=tag, family_ids=ids)]


def deprecate_practice(
    practice: Practice, command: DeprecatePractice, call: Call
) -> list[PracticeDeprecated]:
    """Deprecate a practice, so that no plan can newly follow it."""
    return [STATUS.allow(practice.status, PracticeDeprecated(call.now, practice.id))]


def _family_ids(command: DeclarePractice) -> tuple[UUID, ...]:
    """Return the families in the order of storage; raise when there is no scope at all."""
    if command.facility_code is None and not command.family_ids:
        raise InvalidPracticeScopeError
    return tuple(sorted(command.family_ids))


def _require_references_current(given: PracticeReferences) -> None:
    method, named = given
    declaration.require_current([method], PracticeBoundMethodDeprecatedError)
    declaration.require_current(named.values(), PracticeFamilyDeprecatedError)


practices = Aggregate("Practice", begin, evolve, absent=PracticeNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    practices.creates("POST /practices", DefinePractice, define_practice, MethodNotFoundError,
        facility.FacilityNotFoundError, FamilyNotFoundError, InvalidPracticeScopeError,
        PracticeBoundMethodDeprecatedError, PracticeFamilyDeprecatedError,
        given=lambda command, read: references(command.method_id, command, read)),
    practices.changes("POST /practices/{practice_id}/version", VersionPractice, version_practice,
        facility.FacilityNotFoundError, FamilyNotFoundError, InvalidPracticeScopeError,
        PracticeCannotVersionError, PracticeBoundMethodDeprecatedError,
        PracticeFamilyDeprecatedError,
        given=lambda practice, command, read: references(practice.method_id, command, read)),
    practices.changes("POST /practices/{practice_id}/deprecate", DeprecatePractice,
        deprecate_practice, PracticeCannotDeprecateError, destructive=True),
)
# fmt: on


class ListPractices(Listing):
    """List practices, newest first."""

    status: frozenset[declaration.DeclarationStatus] | None = None
    method_id: UUID | None = None
    facility_code: facility.FacilityCode | None = None


QUESTIONS = reads(
    "/practices",
    practices,
    ListPractices,
    milestones=STATUS.milestones,
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.status,
        scope=lambda it: it.facility_code,
        version=2,
    ),
)
