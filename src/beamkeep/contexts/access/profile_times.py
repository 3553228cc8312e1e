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


class ProfileState(Record):
    """The times of a profile; none after it was erased."""

    id: UUID
    times: ProfileTimes | None


def begin(event: actor.ActorRegistered) -> ProfileState:
    at = event.occurred_at
    return ProfileState(event.actor_id, ProfileTimes(event.actor_id, created_at=at, updated_at=at))


def evolve(state: ProfileState, event: actor.ActorChanged) -> ProfileState:
    match event, state.times:
        case actor.ActorProfileForgotten(), _:
            return replace(state, times=None)
        case actor.ActorProfileUpdated(), ProfileTimes() as times:
            return replace(state, times=replace(times, updated_at=event.occurred_at))
        case _:
            return state


def rows_of(state: ProfileState) -> list[ProfileTimes]:
    """Return the times that the row of the profile has."""
    return [state.times] if state.times else []
