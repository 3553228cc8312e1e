"""Profile times: when the profile of an actor was written, according to its events."""

from datetime import datetime
from uuid import UUID

from beamkeep.kernel import Record, Table, replace

from . import actor


class ProfileTimes(Record):
    """Of a profile, what its events repeat."""

    actor_id: UUID
    created_at: datetime
    updated_at: datetime


PROFILE_TIMES = Table("actor_profile", ProfileTimes, key=("actor_id",))


class KeptProfile(Record):
    """The times of a profile; none after it was erased."""

    id: UUID
    times: ProfileTimes | None


def begin(event: actor.ActorRegistered) -> KeptProfile:
    at = event.occurred_at
    return KeptProfile(event.actor_id, ProfileTimes(event.actor_id, created_at=at, updated_at=at))


def evolve(kept: KeptProfile, event: actor.ActorChanged) -> KeptProfile:
    match event, kept.times:
        case actor.ActorProfileForgotten(), _:
            return replace(kept, times=None)
        case actor.ActorProfileUpdated(), ProfileTimes() as times:
            return replace(kept, times=replace(times, updated_at=event.occurred_at))
        case _:
            return kept


def rows_of(kept: KeptProfile) -> list[ProfileTimes]:
    """Return the times that the row of the profile has."""
    return [kept.times] if kept.times else []
