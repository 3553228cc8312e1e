"""Practice: a method as one site does it, or as it is done with devices of some families."""

from collections.abc import Mapping
from uuid import UUID

from beamkeep.contexts.equipment.family import (
    Family,
    FamilyNotFoundError,
    VersionTag,
    families,
    new_tag,
)
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
    replace,
)
from beamkeep.kernel.values import Name, trimmed

from .declaration import DeclarationStatus, lifecycle, milestones, require_current
from .method import FamilyIds, Method, MethodNotFoundError, methods


# Events are stored for ever: add a field with a default; never rename or drop one.
class PracticeEvent(Event):
    practice_id: UUID


class PracticeDefined(PracticeEvent):
    name: str
    method_id: UUID
    facility_code: str | None
    family_ids: tuple[UUID, ...]


class PracticeVersioned(PracticeEvent):
    version_tag: str
    name: str
    facility_code: str | None
    family_ids: tuple[UUID, ...]


class PracticeDeprecated(PracticeEvent): ...


class PracticeNotFoundError(NotFound):
    """The practice does not exist."""


class InvalidPracticeNameError(Invalid):
    """The practice's name is not usable."""


class InvalidPracticeScopeError(Invalid):
    """A practice is of a site, of some families of devices, or of both; name at least one."""


class InvalidPracticeVersionTagError(Invalid):
    """The version tag is not usable: a new version has a tag of its own."""


class PracticeCannotVersionError(Cannot):
    """The practice cannot be versioned."""


class PracticeCannotDeprecateError(Cannot):
    """The practice cannot be deprecated."""


class PracticeBoundMethodDeprecatedError(Cannot):
    """A deprecated method is not practised anew."""


class PracticeFamilyDeprecatedError(Cannot):
    """No practice may be for a deprecated family of devices."""


STATUS = lifecycle(
    (PracticeVersioned, PracticeCannotVersionError),
    (PracticeDeprecated, PracticeCannotDeprecateError),
)


class Practice(Record):
    id: UUID
    name: str
    method_id: UUID
    facility_code: str | None
    family_ids: frozenset[UUID]
    status: DeclarationStatus = DeclarationStatus.DEFINED
    version_tag: str | None = None


def begin(event: PracticeDefined) -> Practice:
    return Practice(
        event.practice_id,
        event.name,
        event.method_id,
        event.facility_code,
        frozenset(event.family_ids),
    )


def evolve(practice: Practice, event: PracticeVersioned | PracticeDeprecated) -> Practice:
    practice = replace(practice, status=STATUS.after(event))
    match event:
        case PracticeVersioned():
            return replace(
                practice,
                version_tag=event.version_tag,
                name=event.name,
                facility_code=event.facility_code,
                family_ids=frozenset(event.family_ids),
            )
        case PracticeDeprecated():
            return practice


class DeclarePractice(Command):
    name: Name
    facility_code: FacilityCode | None
    """The site: plans bind only assets of it or of an area in it; null for every site."""
    family_ids: FamilyIds
    """Families that plans must cover besides those the method needs."""


class DefinePractice(DeclarePractice):
    method_id: UUID
    facility_code: FacilityCode | None = None
    family_ids: FamilyIds = frozenset()


class PracticeCommand(Command):
    practice_id: UUID


class VersionPractice(PracticeCommand, DeclarePractice):
    """Every field replaces the old one."""

    version_tag: VersionTag


class DeprecatePractice(PracticeCommand): ...


class Practised(Record):
    """What a practice does, and with devices of which families."""

    method: Method
    families: Mapping[UUID, Family]


async def practised(command: DefinePractice, read: Reader) -> Practised:
    return await _practised(command.method_id, command, read)


async def practised_anew(practice: Practice, command: VersionPractice, read: Reader) -> Practised:
    return await _practised(practice.method_id, command, read)


async def _practised(method_id: UUID, command: DeclarePractice, read: Reader) -> Practised:
    method = await read.one(methods, method_id)
    if command.facility_code is not None:
        await facility_by_code(command.facility_code, read)
    return Practised(method, await read.many(families, sorted(command.family_ids)))


def define_practice(command: DefinePractice, given: Practised, call: Call) -> list[PracticeDefined]:
    """Define how a site, or devices of some families, practise a method."""
    name, facility_code, family_ids = _declaration(command)
    _require_practicable(given)
    method_id = command.method_id
    return [PracticeDefined(call.now, call.new_id, name, method_id, facility_code, family_ids)]


def version_practice(
    practice: Practice, command: VersionPractice, given: Practised, call: Call
) -> list[PracticeVersioned]:
    """Replace everything a practice says, but for its method."""
    declaration = _declaration(command)
    tag = new_tag(command.version_tag, practice.version_tag, InvalidPracticeVersionTagError)
    STATUS.require(practice.status, PracticeVersioned)
    _require_practicable(given)
    return [PracticeVersioned(call.now, practice.id, tag, *declaration)]


def deprecate_practice(
    practice: Practice, command: DeprecatePractice, call: Call
) -> list[PracticeDeprecated]:
    """Let no new plan follow a practice."""
    STATUS.require(practice.status, PracticeDeprecated)
    return [PracticeDeprecated(call.now, practice.id)]


def _declaration(command: DeclarePractice) -> tuple[str, str | None, tuple[UUID, ...]]:
    """What the practice says, once it makes sense."""
    name = trimmed(command.name, InvalidPracticeNameError)
    if command.facility_code is None and not command.family_ids:
        raise InvalidPracticeScopeError
    return name, command.facility_code, tuple(sorted(command.family_ids))


def _require_practicable(given: Practised) -> None:
    """Refuse a practice of what takes no new one."""
    require_current([given.method], PracticeBoundMethodDeprecatedError)
    require_current(given.families.values(), PracticeFamilyDeprecatedError)


practices = Aggregate("Practice", begin, evolve, PracticeNotFoundError)

# fmt: off
OPERATIONS = (
    practices.creates("POST /practices", DefinePractice, define_practice, MethodNotFoundError,
        FacilityNotFoundError, FamilyNotFoundError, InvalidPracticeNameError,
        InvalidPracticeScopeError, PracticeBoundMethodDeprecatedError,
        PracticeFamilyDeprecatedError, given=practised),
    practices.changes("POST /practices/{practice_id}/version", VersionPractice, version_practice,
        FacilityNotFoundError, FamilyNotFoundError, InvalidPracticeNameError,
        InvalidPracticeScopeError, InvalidPracticeVersionTagError, PracticeCannotVersionError,
        PracticeBoundMethodDeprecatedError, PracticeFamilyDeprecatedError, given=practised_anew),
    practices.changes("POST /practices/{practice_id}/deprecate", DeprecatePractice,
        deprecate_practice, PracticeCannotDeprecateError),
)
# fmt: on


class ListPractices(Listing):
    """List practices, by age."""

    status: DeclarationStatus | None = None
    method_id: UUID | None = None
    facility_code: FacilityCode | None = None


QUESTIONS = reads("/practices", practices, ListPractices, milestones=milestones(STATUS))
