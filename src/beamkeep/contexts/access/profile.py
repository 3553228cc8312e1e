"""Profile: the personal data of an actor, in rows that can be erased and nowhere else."""

import json
from collections.abc import Sequence
from datetime import datetime
from hmac import digest
from uuid import UUID

from beamkeep.contexts.seams.installation import Reader
from beamkeep.kernel import ActorKind, DenialReason, Record, Standing, Table

SYSTEM = UUID("00000000-0000-7000-8000-000000000001")
MONITOR = UUID("00000000-0000-7000-8000-000000000002")
DEVELOPER = UUID("00000000-0000-7000-8000-000000000003")
RUN_DEBRIEFER = UUID("00000000-0000-7000-8000-000000000051")
CAUTION_DRAFTER = UUID("00000000-0000-7000-8000-000000000052")
RUN_SUPERVISOR = UUID("00000000-0000-7000-8000-000000000053")
CAUTION_PROMOTER = UUID("00000000-0000-7000-8000-000000000054")
CLEARANCE_EXPIRER = UUID("00000000-0000-7000-8000-000000000055")
AGENTS = RUN_DEBRIEFER, CAUTION_DRAFTER, RUN_SUPERVISOR, CAUTION_PROMOTER, CLEARANCE_EXPIRER
SEEDED = frozenset({SYSTEM, MONITOR, DEVELOPER, *AGENTS})

DELETED_USER = "<deleted user>"


class PersonalDetails(Record):
    name: str
    email: str | None = None
    phone: str | None = None
    affiliation: str | None = None
    external_id: str | None = None
    external_id_namespace: str | None = None


class Profile(PersonalDetails, kw_only=True):
    actor_id: UUID
    created_at: datetime
    updated_at: datetime


class ShownIdentity(Record):
    """A login at an identity provider."""

    issuer: str
    subject: str


class Identity(ShownIdentity):
    """A login, bound to an actor."""

    actor_id: UUID


def digest_of(key: bytes, actor_id: UUID, issuer: str, subject: str) -> str:
    """Return the digest that names a login in events; it reveals nothing without the key."""
    # With the actor's id in the text, one login of two actors, before and after an erasure, has
    # two digests that cannot be linked.
    text = json.dumps([str(actor_id), issuer, subject]).encode()
    return digest(key, text, "sha256").hex()


PROFILES = Table("actor_profile", Profile, key=("actor_id",))
IDENTITIES = Table("actor_identity", Identity, key=("issuer", "subject"))
STANDINGS = Table("principal_standing", Standing, key=("principal_id",))


class ActorStanding(Record):
    """The columns of a principal's standing that the events of its actor write."""

    principal_id: UUID
    kind: ActorKind
    barred: DenialReason | None = None


ACTOR_STANDINGS = Table("principal_standing", ActorStanding, key=("principal_id",))


class ShownLogin(ShownIdentity):
    """A login, and the digest by which events and refusals name it."""

    subject_digest: str


class ShownProfile(PersonalDetails):
    identities: tuple[ShownLogin, ...] = ()


class ShownName(Record):
    name: str


async def profiles(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownProfile]:
    """Return the current profile of each actor, with its logins."""
    key, shown = read.facts.login_key, dict[UUID, list[ShownLogin]]()
    for login in await read.rows(IDENTITIES, actor_id=ids):
        digest = digest_of(key, login.actor_id, login.issuer, login.subject)
        own = ShownLogin.of(login, subject_digest=digest)
        shown.setdefault(login.actor_id, []).append(own)
    found: dict[UUID, ShownProfile] = {}
    for row in await read.rows(PROFILES, actor_id=ids):
        found[row.actor_id] = ShownProfile.of(row, identities=tuple(shown.get(row.actor_id, ())))
    return dict.fromkeys(ids, ShownProfile(DELETED_USER)) | found


async def names(ids: Sequence[UUID], read: Reader) -> dict[UUID, ShownName]:
    """Return the current name of each actor."""
    found = {row.actor_id: ShownName(row.name) for row in await read.rows(PROFILES, actor_id=ids)}
    return dict.fromkeys(ids, ShownName(DELETED_USER)) | found
