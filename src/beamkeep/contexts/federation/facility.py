"""Facility: a site or an area of one, by the code that every deployment knows it by."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.kernel import (
    CLAIMS,
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Outcome,
    Reader,
    Record,
    SideWrite,
    claim,
    claim_key,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, trimmed

CODE = r"^[a-z0-9-]{1,32}$"
CODES = "facility-code"


class FacilityKind(StrEnum):
    SITE = "Site"
    AREA = "Area"


class FacilityStatus(StrEnum):
    ACTIVE = "Active"
    DECOMMISSIONED = "Decommissioned"


# Events are stored for ever: add a field with a default; never rename or drop one.
class FacilityEvent(Event):
    facility_id: UUID


class FacilityRegistered(FacilityEvent):
    code: str
    name: str
    kind: FacilityKind
    parent_id: UUID | None


class FacilityDecommissioned(FacilityEvent):
    reason: FreeText


class FacilityNotFoundError(NotFound):
    """The facility does not exist."""


class InvalidFacilityCodeError(Invalid):
    """A facility's code is 1 to 32 lower-case letters, digits and hyphens."""


class InvalidFacilityNameError(Invalid):
    """The facility's name is not usable."""


class InvalidFacilityParentError(Invalid):
    """An area names the site it is part of, and a site names none."""


class InvalidFacilityReasonError(Invalid):
    """The reason is not usable."""


class FacilityAlreadyExistsError(Cannot):
    """A facility has this code already, and a code is never given twice; choose another."""


class FacilityCannotRegisterError(Cannot):
    """The area cannot be registered: what it is to be part of is no active site."""


class FacilityCannotDecommissionError(Cannot):
    """The facility cannot be decommissioned."""


S = FacilityStatus
STATUS: Axis[FacilityStatus, FacilityDecommissioned] = Axis(
    "status",
    # event, allowed from, leads to, refused with
    (FacilityDecommissioned, {S.ACTIVE}, S.DECOMMISSIONED, FacilityCannotDecommissionError),
)


class Facility(Record):
    id: UUID
    code: str
    name: str
    kind: FacilityKind
    parent_id: UUID | None
    status: FacilityStatus = FacilityStatus.ACTIVE


def begin(event: FacilityRegistered) -> Facility:
    return Facility(event.facility_id, event.code, event.name, event.kind, event.parent_id)


def evolve(facility: Facility, event: FacilityDecommissioned) -> Facility:
    return replace(facility, status=STATUS.after(event))


type FacilityCode = Annotated[str, MinLen(1), MaxLen(32)]


def claims_of(facility: Facility) -> tuple[Insert, ...]:
    """The code it has for good."""
    return (claim(CODES, facility.code, holder=facility.id, loser=FacilityAlreadyExistsError),)


class RegisterFacility(Command):
    code: FacilityCode
    """Lower-case letters, digits and hyphens; for ever, and the same in every deployment."""
    name: Name
    kind: FacilityKind
    parent_id: UUID | None = None
    """The site an area is part of."""


class DecommissionFacility(Command):
    facility_id: UUID
    reason: Reason


class Surroundings(Record):
    """What a facility must not be torn out of."""

    own_code: str
    areas: Iterable[Facility]


async def facility_by_code(code: str, read: Reader) -> Facility:
    """The facility of this code, or the refusal that it does not exist."""
    if found := await _ids_of(code, read):
        return await read.one(facilities, found[0])
    raise FacilityNotFoundError(f"There is no facility {code}.")


async def own_site(call: Call, read: Reader) -> list[Outcome]:
    """The deployment's own site, if no facility has its code."""
    code = read.installation.facility_code
    site = RegisterFacility(code=code, name=code, kind=FacilityKind.SITE)
    return [] if await _ids_of(code, read) else [register_facility(site, None, call)]


async def _ids_of(code: str, read: Reader) -> list[UUID]:
    found = await read.rows(CLAIMS, scope=CODES, key=claim_key(code))
    return [held.holder for held in found if held.holder]


async def parent(command: RegisterFacility, read: Reader) -> Facility | None:
    return await read.one(facilities, command.parent_id) if command.parent_id else None


async def surroundings(
    facility: Facility, command: DecommissionFacility, read: Reader
) -> Surroundings:
    active = ListFacilities(parent_id=facility.id, status=FacilityStatus.ACTIVE)
    areas = await read.many(facilities, await read.matching(active))
    return Surroundings(read.installation.facility_code, areas.values())


def register_facility(
    command: RegisterFacility, given: Facility | None, call: Call
) -> list[FacilityRegistered | SideWrite]:
    """Register a site, the own one or a peer, or an area of a site."""
    code, kind = command.code, command.kind
    if not re.fullmatch(CODE, code):
        raise InvalidFacilityCodeError
    name = trimmed(command.name, InvalidFacilityNameError)
    if (kind is FacilityKind.AREA) != (given is not None):
        raise InvalidFacilityParentError
    if given and (given.kind, given.status) != (FacilityKind.SITE, FacilityStatus.ACTIVE):
        raise FacilityCannotRegisterError(f"{given.code}: {given.kind}, {given.status}.")
    registered = FacilityRegistered(call.now, call.new_id, code, name, kind, command.parent_id)
    return [registered, *claims_of(begin(registered))]


def decommission_facility(
    facility: Facility, command: DecommissionFacility, given: Surroundings, call: Call
) -> list[FacilityDecommissioned]:
    """Take a facility out of use for good; its code stays taken."""
    reason = trimmed(command.reason, InvalidFacilityReasonError)
    STATUS.require(facility.status, FacilityDecommissioned)
    if facility.code == given.own_code:
        raise FacilityCannotDecommissionError("It is the deployment's own site.")
    if active := sorted(area.code for area in given.areas if area.status is FacilityStatus.ACTIVE):
        raise FacilityCannotDecommissionError(f"First decommission {', '.join(active)}.")
    return [FacilityDecommissioned(call.now, facility.id, reason)]


facilities = Aggregate("Facility", begin, evolve, FacilityNotFoundError)

# fmt: off
OPERATIONS = (
    facilities.creates("POST /federation/facilities", RegisterFacility, register_facility,
        FacilityNotFoundError, InvalidFacilityCodeError, InvalidFacilityNameError,
        InvalidFacilityParentError, FacilityCannotRegisterError, FacilityAlreadyExistsError,
        given=parent),
    facilities.changes("POST /federation/facilities/{facility_id}/decommission",
        DecommissionFacility, decommission_facility, InvalidFacilityReasonError,
        FacilityCannotDecommissionError, given=surroundings),
)
# fmt: on


class ListFacilities(Listing):
    """List facilities, by age."""

    code: FacilityCode | None = None
    kind: FacilityKind | None = None
    status: FacilityStatus | None = None
    parent_id: UUID | None = None


QUESTIONS = reads(
    "/federation/facilities",
    facilities,
    ListFacilities,
    milestones={"decommissioned_at": (FacilityDecommissioned,)},
)
