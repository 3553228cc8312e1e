"""Practice: a method as one site performs it, or as devices of some families perform it."""

from collections.abc import Mapping
from uuid import UUID

from beamkeep.contexts.equipment.declaration import (
    Declaration,
    DeclarationStatus,
    Lifecycle,
    VersionTag,
    require_current,
)
from beamkeep.contexts.equipment.family import Family, FamilyNotFoundError, families
from beamkeep.contexts.federation.facility import (
    FacilityCode,
    FacilityNotFoundError,
    facility_by_code,
)
from beamkeep.kernel import (
    Aggregate,
    Call,
    Cannot,
    Command,
    Event,
    Invalid,
    Listing,
    NotFound,
    Reader,
    Record,
    reads,
)
from beamkeep.kernel.values import Name, trimmed

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


class PracticeNotFoundError(NotFound):
    """The practice does not exist."""


class InvalidPracticeNameError(Invalid):
    """Practice name must not be blank."""


class InvalidPracticeScopeError(Invalid):
    """A practice must name a facility, at least one family, or both."""


class InvalidPracticeVersionTagError(Invalid):
    """Version tag must not be blank and must differ from the practice's current tag."""


class PracticeCannotVersionError(Cannot):
    """A deprecated practice cannot be versioned."""


class PracticeCannotDeprecateError(Cannot):
    """A deprecated practice cannot be deprecated again."""


class PracticeBoundMethodDeprecatedError(Cannot):
    """A practice cannot use a deprecated method."""


class PracticeFamilyDeprecatedError(Cannot):
    """A practice cannot name a deprecated family."""


STATUS = Lifecycle(
    (PracticeVersioned, PracticeCannotVersionError),
    (PracticeDeprecated, PracticeCannotDeprecateError),
    InvalidPracticeVersionTagError,
)


class Practice(Declaration, kw_only=True):
    method_id: UUID
    facility_code: str | None
    family_ids: frozenset[UUID]


def begin(event: PracticeDefined) -> Practice:
    return STATUS.begin(Practice, event.practice_id, event)


def evolve(practice: Practice, event: PracticeVersioned | PracticeDeprecated) -> Practice:
    return STATUS.evolve(practice, event)


class DeclarePractice(Command):
    name: Name
    facility_code: FacilityCode | None
    """The site: plans can bind only assets at this site or in its areas; null for every site."""
    family_ids: FamilyIds
    """Families that the assets of a plan must cover in addition to those of the method."""


class DefinePractice(DeclarePractice):
    method_id: UUID
    facility_code: FacilityCode | None = None
    family_ids: FamilyIds = frozenset()


class PracticeCommand(Command):
    practice_id: UUID


class VersionPractice(PracticeCommand, DeclarePractice):
    """Every field replaces its previous value."""

    version_tag: VersionTag


class DeprecatePractice(PracticeCommand): ...


class PracticeReferences(Record):
    """The method that a practice uses, and the families that it names."""

    method: Method
    families: Mapping[UUID, Family]


async def references(method_id: UUID, command: DeclarePractice, read: Reader) -> PracticeReferences:
    method = await read.one(methods, method_id)
    if command.facility_code is not None:
        await facility_by_code(command.facility_code, read)
    return PracticeReferences(method, await read.many(families, sorted(command.family_ids)))


def define_practice(
    command: DefinePractice, given: PracticeReferences, call: Call
) -> list[PracticeDefined]:
    """Define how a site, or devices of some families, perform a method."""
    content = _content(command)
    _require_references_current(given)
    return [PracticeDefined(call.now, call.new_id, *content, method_id=command.method_id)]


def version_practice(
    practice: Practice, command: VersionPractice, given: PracticeReferences, call: Call
) -> list[PracticeVersioned]:
    """Replace every field of a practice except its method."""
    content = _content(command)
    tag = STATUS.new_tag(practice, command.version_tag)
    _require_references_current(given)
    return [PracticeVersioned(call.now, practice.id, *content, version_tag=tag)]


def deprecate_practice(
    practice: Practice, command: DeprecatePractice, call: Call
) -> list[PracticeDeprecated]:
    """Deprecate a practice, so that no plan can newly follow it."""
    STATUS.require(practice.status, PracticeDeprecated)
    return [PracticeDeprecated(call.now, practice.id)]


def _content(command: DeclarePractice) -> tuple[str, str | None, tuple[UUID, ...]]:
    """Return the checked fields of PracticeContent."""
    name = trimmed(command.name, InvalidPracticeNameError)
    if command.facility_code is None and not command.family_ids:
        raise InvalidPracticeScopeError
    return name, command.facility_code, tuple(sorted(command.family_ids))


def _require_references_current(given: PracticeReferences) -> None:
    require_current([given.method], PracticeBoundMethodDeprecatedError)
    require_current(given.families.values(), PracticeFamilyDeprecatedError)


practices = Aggregate("Practice", begin, evolve, absent=PracticeNotFoundError)

# fmt: off
OPERATIONS = (
    practices.creates("POST /practices", DefinePractice, define_practice, MethodNotFoundError,
        FacilityNotFoundError, FamilyNotFoundError, InvalidPracticeNameError,
        InvalidPracticeScopeError, PracticeBoundMethodDeprecatedError,
        PracticeFamilyDeprecatedError,
        given=lambda command, read: references(command.method_id, command, read)),
    practices.changes("POST /practices/{practice_id}/version", VersionPractice, version_practice,
        FacilityNotFoundError, FamilyNotFoundError, InvalidPracticeNameError,
        InvalidPracticeScopeError, InvalidPracticeVersionTagError, PracticeCannotVersionError,
        PracticeBoundMethodDeprecatedError, PracticeFamilyDeprecatedError,
        given=lambda practice, command, read: references(practice.method_id, command, read)),
    practices.changes("POST /practices/{practice_id}/deprecate", DeprecatePractice,
        deprecate_practice, PracticeCannotDeprecateError, destructive=True),
)
# fmt: on


class ListPractices(Listing):
    """List practices, oldest first."""

    status: DeclarationStatus | None = None
    method_id: UUID | None = None
    facility_code: FacilityCode | None = None


QUESTIONS = reads("/practices", practices, ListPractices, milestones=STATUS.milestones)
