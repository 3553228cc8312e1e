"""Facility: a site or an area of a site, with the code that all deployments use for it."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import MaxLen, MinLen

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import (
    CLAIMS,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DirectoryEntry,
    Event,
    Insert,
    Invalid,
    Listing,
    NotFound,
    Outcome,
    Record,
    SideWrite,
    claim,
    claim_key,
    reads,
    replace,
)
from beamkeep.kernel.values import FreeText, Name, Reason, Trimmed

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


class FacilityTrustAnchorCredentialAdded(FacilityEvent):
    """Trust anchor added."""

    credential_id: UUID


class FacilityTrustAnchorCredentialRemoved(FacilityEvent):
    """Trust anchor removed."""

    credential_id: UUID
    reason: FreeText


type FacilityChanged = (
    FacilityDecommissioned
    | FacilityTrustAnchorCredentialAdded
    | FacilityTrustAnchorCredentialRemoved
)


class FacilityNotFoundError(NotFound): ...


class InvalidFacilityCodeError(Invalid):
    """Facility code must have 1 to 32 lower-case letters, digits and hyphens."""


class InvalidFacilityNameError(Blank): ...


class InvalidFacilityParentError(Invalid):
    """An area must name its site as parent, and a site must have no parent."""


class InvalidFacilityReasonError(Blank): ...


class FacilityAlreadyExistsError(Cannot):
    """Facility code must be unique, also among decommissioned facilities; choose another code."""


class FacilityCannotRegisterError(Cannot):
    """Parent of an area must be an active site."""


class FacilityCannotDecommissionError(Cannot):
    """Only an active facility without active areas can be decommissioned, never the own site."""


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
    trust_anchor_credential_ids: tuple[UUID, ...] = ()


def begin(event: FacilityRegistered) -> Facility:
    return Facility.of(event, id=event.facility_id)


def evolve(facility: Facility, event: FacilityChanged) -> Facility:
    anchors = {*facility.trust_anchor_credential_ids}
    match event:
        case FacilityDecommissioned():
            return replace(facility, status=STATUS.after(event))
        case FacilityTrustAnchorCredentialAdded():
            anchors.add(event.credential_id)
        case FacilityTrustAnchorCredentialRemoved():
            anchors.discard(event.credential_id)
    return replace(facility, trust_anchor_credential_ids=tuple(sorted(anchors)))


type FacilityCode = Annotated[str, MinLen(1), MaxLen(32)]


def claims_of(facility: Facility) -> tuple[Insert, ...]:
    """Return the claim of the facility's code, which is never freed."""
    return (claim(CODES, facility.code, holder=facility.id, loser=FacilityAlreadyExistsError),)


class RegisterFacility(Command):
    code: FacilityCode
    """Lower-case letters, digits and hyphens; permanent, and the same in every deployment."""
    name: Annotated[Name, Trimmed(InvalidFacilityNameError)]
    kind: FacilityKind
    parent_id: UUID | None = None
    """Site of the area; required for an area, not allowed for a site."""


class DecommissionFacility(Command):
    facility_id: UUID
    reason: Annotated[Reason, Trimmed(InvalidFacilityReasonError)]


class FacilityDependents(Record):
    """What keeps a facility from being decommissioned: its areas, and the deployment itself."""

    own_code: str
    areas: Iterable[Facility]


async def facility_by_code(code: str, read: Reader) -> Facility:
    """Return the facility with this code; raise FacilityNotFoundError when there is none."""
    if found := await _ids_of(code, read):
        return await read.one(facilities, found[0])
    raise FacilityNotFoundError(f"There is no facility {code}.")


def require_active_site(facility: Facility, refusal: type[Cannot]) -> None:
    """Raise a refusal unless a facility is a site that is not decommissioned."""
    if (facility.kind, facility.status) != (FacilityKind.SITE, FacilityStatus.ACTIVE):
        raise refusal(
            f"Facility {facility.code} has kind {facility.kind} and status {facility.status}."
        )


def is_own_site(facility: Facility, read: Reader) -> bool:
    """Return whether a facility is the site that this deployment is at."""
    return facility.code == read.facts.facility_code


async def own_site(call: Call, read: Reader) -> list[Outcome]:
    """Return the registration of the deployment's own site, unless a facility has its code."""
    code = read.facts.facility_code
    site = RegisterFacility(code=code, name=code, kind=FacilityKind.SITE)
    return [] if await _ids_of(code, read) else [register_facility(site, None, call)]


async def _ids_of(code: str, read: Reader) -> list[UUID]:
    found = await read.rows(CLAIMS, scope=CODES, key=claim_key(code))
    return [held.holder for held in found if held.holder]


async def parent(command: RegisterFacility, read: Reader) -> Facility | None:
    return await read.one(facilities, command.parent_id) if command.parent_id else None


async def facility_dependents(
    facility: Facility, command: DecommissionFacility, read: Reader
) -> FacilityDependents:
    active = ListFacilities(parent_id=facility.id, status=frozenset({FacilityStatus.ACTIVE}))
    areas = await read.many(facilities, await read.matching(active))
    return FacilityDependents(read.facts.facility_code, areas.values())


def register_facility(
    command: RegisterFacility, given: Facility | None, call: Call
) -> list[FacilityRegistered | SideWrite]:
    """Register a site, or an area of a site."""
    if not re.fullmatch(CODE, command.code):
        raise InvalidFacilityCodeError(f"The code is {command.code!r}.")
    if (command.kind is FacilityKind.AREA) != (given is not None):
        raise InvalidFacilityParentError(f"The kind is {command.kind}.")
    if given:
        require_active_site(given, FacilityCannotRegisterError)
    registered = FacilityRegistered.of(command, occurred_at=call.now, facility_id=call.new_id)
    return [registered, *claims_of(begin(registered))]


def decommission_facility(
    facility: Facility, command: DecommissionFacility, given: FacilityDependents, call: Call
) -> list[FacilityDecommissioned]:
    """Decommission a facility permanently; its code cannot be used again."""
    STATUS.require(facility.status, FacilityDecommissioned)
    if facility.code == given.own_code:
        raise FacilityCannotDecommissionError(f"The own site is {facility.code}.")
    if active := sorted(area.code for area in given.areas if area.status is FacilityStatus.ACTIVE):
        raise FacilityCannotDecommissionError(f"First decommission {', '.join(active)}.")
    return [FacilityDecommissioned(call.now, facility.id, command.reason)]


facilities = Aggregate("Facility", begin, evolve, absent=FacilityNotFoundError, axes=(STATUS,))

# fmt: off
OPERATIONS = (
    facilities.creates("POST /federation/facilities", RegisterFacility, register_facility,
        FacilityNotFoundError, InvalidFacilityCodeError, InvalidFacilityParentError,
        FacilityCannotRegisterError, FacilityAlreadyExistsError, given=parent),
    facilities.changes("POST /federation/facilities/{facility_id}/decommission",
        DecommissionFacility, decommission_facility, FacilityCannotDecommissionError,
        given=facility_dependents, destructive=True),
)
# fmt: on


class ListFacilities(Listing):
    """List facilities, newest first."""

    code: FacilityCode | None = None
    kind: FacilityKind | None = None
    status: frozenset[FacilityStatus] | None = None
    parent_id: UUID | None = None


ENDS = {"decommissioned_at": (FacilityDecommissioned,)}
QUESTIONS = reads(
    "/federation/facilities",
    facilities,
    ListFacilities,
    milestones=ENDS,
    version=2,
    directory=DirectoryEntry(
        lambda it: it.name,
        status=lambda it: it.status,
        keywords=lambda it: (it.code,),
        scope=lambda it: it.code,
        version=2,
    ),
)
