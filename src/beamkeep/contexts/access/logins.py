"""Logins: those an actor has according to its events."""

from uuid import UUID

from beamkeep.kernel import Record, replace

from . import actor


class LoginDigest(actor.BoundLogin):
    """A login of an actor as events name it."""

    actor_id: UUID


class Logins(Record):
    """The logins of an actor, each with the digest of its subject."""

    id: UUID
    bound: frozenset[actor.BoundLogin] | None
    """None while a login may be bound whose event carries no digest."""


def begin(event: actor.ActorRegistered) -> Logins:
    named = event.identities
    return Logins(event.actor_id, None if named is None else frozenset(named))


def evolve(logins: Logins, event: actor.ActorChanged) -> Logins:
    match event, logins.bound:
        case actor.ActorProfileForgotten(), _:
            return replace(logins, bound=frozenset())
        case actor.ActorIdentityBound(subject_digest=""), _:
            return replace(logins, bound=None)
        case actor.ActorIdentityBound(), frozenset() as bound:
            return replace(logins, bound=bound | {actor.BoundLogin.of(event)})
        case actor.ActorIdentityUnbound(), frozenset() as bound:
            return replace(logins, bound=bound - {actor.BoundLogin.of(event)})
        case _:
            return logins
