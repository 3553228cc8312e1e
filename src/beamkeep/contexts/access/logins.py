"""Logins: those an actor has according to its events."""

from uuid import UUID

from beamkeep.kernel import Record, replace

from .actor import (
    ActorChanged,
    ActorIdentityBound,
    ActorIdentityUnbound,
    ActorProfileForgotten,
    ActorRegistered,
    BoundLogin,
)


class Logins(Record):
    """The logins of an actor, each with the digest of its subject."""

    id: UUID
    bound: frozenset[BoundLogin] | None
    """None while a login may be bound whose event carries no digest."""


def begin(event: ActorRegistered) -> Logins:
    named = event.identities
    return Logins(event.actor_id, None if named is None else frozenset(named))


def evolve(logins: Logins, event: ActorChanged) -> Logins:
    match event, logins.bound:
        case ActorProfileForgotten(), _:
            return replace(logins, bound=frozenset())
        case ActorIdentityBound(subject_digest=""), _:
            return replace(logins, bound=None)
        case ActorIdentityBound(), frozenset() as bound:
            return replace(logins, bound=bound | {BoundLogin.of(event)})
        case ActorIdentityUnbound(), frozenset() as bound:
            return replace(logins, bound=bound - {BoundLogin.of(event)})
        case _:
            return logins
