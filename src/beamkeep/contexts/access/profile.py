"""What is known of an actor as a person: mutable rows, the only home of personal data."""

import json
from collections.abc import Sequence
from datetime import datetime
from hmac import digest
from uuid import UUID

from beamkeep.kernel import Reader, Record, Standing, Table

SYSTEM = UUID("00000000-0000-7000-8000-000000000001")
MONITOR = UUID("00000000-0000-7000-8000-000000000002")
DEVELOPER = UUID("00000000-0000-7000-8000-000000000003")
SEEDED = frozenset({SYSTEM, MONITOR, DEVELOPER})

DELETED_USER = "<deleted user>"


class Profile(Record):
    actor_id: UUID
    name: str
    email: str | None
    phone: str | None
    affiliation: str | None
    external_id: str | None
    external_id_namespace: str | None
    created_at: datetime
    updated_at: datetime


class Identity(Record):
    """A login at an identity provider, bound to an actor."""

    issuer: str
    subject: str
    actor_id: UUID


def digest_of(key: bytes, actor_id: UUID, issuer: str, subject: str) -> str:
    """A login as an event may name it: worth nothing to whoever lacks the key."""
    # The actor's id keeps two actors with one login, before and after erasure, from being linked.
    text = json.dumps([str(actor_id), issuer, subject]).encode()
    return digest(key, text, "sha256").hex()


PROFILES = Table("actor_profile", Profile, key=("actor_id",))
IDENTITIES = Table("actor_identity", Identity, key=("issuer", "subject"))
STANDINGS = Table("principal_standing", Standing, key=("principal_id",))


class ShownIdentity(Record):
    issuer: str
    subject: str


class ShownProfile(Record):
    name: str
    email: str | None = None
    phone: str | None = None
    affiliation: str | None = None
    external_id: str | None = None
    external_id_namespace: str | None = None
    identities: tuple[ShownIdentity, ...] = ()


class ShownName(Record):
    name: str


async def profiles(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownProfile]:
    """Today's profile of each actor, with its logins."""
    found = {row.actor_id: row for row in await read.rows(PROFILES, actor_id=ids)}
    logins = await read.rows(IDENTITIES, actor_id=ids)
    return {
        id: ShownProfile(
            row.name,
            row.email,
            row.phone,
            row.affiliation,
            row.external_id,
            row.external_id_namespace,
            tuple(ShownIdentity(i.issuer, i.subject) for i in logins if i.actor_id == id),
        )
        if (row := found.get(id))
        else ShownProfile(DELETED_USER)
        for id in ids
    }


async def names(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownName]:
    """Today's name of each actor."""
    found = {row.actor_id: row.name for row in await read.rows(PROFILES, actor_id=ids)}
    return {id: ShownName(found.get(id, DELETED_USER)) for id in ids}
