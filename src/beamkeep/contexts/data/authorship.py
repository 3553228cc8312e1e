"""Authorship: who made a dataset or an edition, under which licence, and when it was published."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from annotated_types import Ge, Le, MaxLen, MinLen

from beamkeep.contexts.access.actor import actors
from beamkeep.contexts.access.profile import PROFILES, PersonalDetails
from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import Invalid, Record

MOST_PEOPLE = 100
FIRST_YEAR, YEARS_AHEAD = 1900, 10
"""An embargo may end after the current year, so a year of publication may lie ahead."""
LICENSE = re.compile(r"[A-Za-z0-9.+-]{1,100}")


class ContributorRole(StrEnum):
    CONTACT_PERSON = "ContactPerson"
    DATA_COLLECTOR = "DataCollector"
    DATA_CURATOR = "DataCurator"
    DATA_MANAGEMENT = "DataManager"
    PROJECT_LEADER = "ProjectLeader"
    PROJECT_MEMBER = "ProjectMember"
    RESEARCHER = "Researcher"
    RIGHTS_HOLDER = "RightsHolder"
    SUPERVISOR = "Supervisor"
    OTHER = "Other"


class Contributor(Record):
    actor_id: UUID
    role: ContributorRole


type CreatorIds = Annotated[tuple[UUID, ...], MaxLen(MOST_PEOPLE)]
type Contributors = Annotated[tuple[Contributor, ...], MaxLen(MOST_PEOPLE)]
type LicenseText = Annotated[str, MinLen(1), MaxLen(100)]
type Year = Annotated[int, Ge(0), Le(9999)]


def require_creators(given: Sequence[UUID], refusal: type[Invalid]) -> tuple[UUID, ...]:
    """Return the creators in their order; raise the refusal when none is given, or one twice."""
    if not given:
        raise refusal("Name at least one.")
    if len({*given}) < len(given):
        raise refusal("An actor is named twice.")
    return tuple(given)


def require_contributors(
    given: Sequence[Contributor], refusal: type[Invalid]
) -> tuple[Contributor, ...]:
    """Return the contributors in their order; raise the refusal when one has a role twice."""
    if len({*given}) < len(given):
        raise refusal("An actor is named twice with the same role.")
    return tuple(given)


def require_license(given: str | None, refusal: type[Invalid]) -> str | None:
    """Return the SPDX identifier without blanks around it; raise the refusal if it is none."""
    if given is None:
        return None
    if not LICENSE.fullmatch(license := given.strip()):
        raise refusal(f"The value is {license[:100]!r}.")
    return license


def require_year(given: int | None, now: datetime, refusal: type[Invalid]) -> int | None:
    """Return the year; raise the refusal when it is too early or too far ahead."""
    if given is not None and not FIRST_YEAR <= given <= now.year + YEARS_AHEAD:
        detail = f"The year is {given}; it must be {FIRST_YEAR} to {now.year + YEARS_AHEAD}."
        raise refusal(detail)
    return given


async def require_actors(
    creator_ids: Iterable[UUID], contributors: Iterable[Contributor], read: Reader
) -> None:
    """Raise ActorNotFoundError when one of these people, who are published, cannot be read."""
    ids = [*creator_ids, *(each.actor_id for each in contributors)]
    await read.many(actors, ids, to_show=True)


async def profiles_of(ids: Iterable[UUID], read: Reader) -> dict[UUID, PersonalDetails]:
    """Return the personal details of actors whom the caller may see and who are not erased."""
    found = await read.rows(PROFILES, actor_id=frozenset(await read.visible(actors, ids)))
    return {row.actor_id: PersonalDetails.of(row) for row in found}
