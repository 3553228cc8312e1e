"""Actor: a principal, be it a person, a software agent or a machine account."""

import re
from collections.abc import Iterable
from typing import Annotated, Literal
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict

from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Axis,
    Call,
    Cannot,
    Command,
    DenialReason,
    Event,
    Invalid,
    Listing,
    Lock,
    NotFound,
    Reader,
    Record,
    SideWrite,
    Standing,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, trimmed, trimmed_or_none

from .profile import (
    IDENTITIES,
    PROFILES,
    SEEDED,
    STANDINGS,
    SYSTEM,
    Identity,
    Profile,
    digest_of,
    names,
    profiles,
)

MOST_BINDINGS = 10
LOGIN_BYTES = 2_500
ADMINISTRATORS = "administrators"
"""Held by whoever may take away the last administrator."""
NAMESPACE = re.compile(r"[a-z0-9-]{1,100}")


# Events are stored for ever: add a field with a default; never rename or drop one.
class ActorEvent(Event):
    actor_id: UUID


class BoundLogin(Record):
    """A login, named so that only the deployment's own key can confirm whose it is."""

    issuer: str
    subject_digest: str


class ActorRegistered(ActorEvent):
    kind: ActorKind
    identities: tuple[BoundLogin, ...] | None = None
    """None where it was recorded before registrations named them."""


class ActorDeactivated(ActorEvent): ...


class ActorProfileUpdated(ActorEvent):
    changed_fields: tuple[str, ...]


class ActorProfileForgotten(ActorEvent): ...


class ActorIdentityBound(ActorEvent):
    issuer: str
    subject_digest: str = ""
    """Empty where it was recorded before bindings named it."""


class ActorIdentityUnbound(ActorEvent):
    issuer: str
    subject_digest: str = ""


type ActorChanged = (
    ActorDeactivated
    | ActorProfileUpdated
    | ActorProfileForgotten
    | ActorIdentityBound
    | ActorIdentityUnbound
)


class ActorNotFoundError(NotFound):
    """The actor does not exist."""


class InvalidActorNameError(Invalid):
    """The actor's name is not usable."""


class InvalidActorEmailError(Invalid):
    """An e-mail address has exactly one @, with text on both sides."""


class InvalidActorPhoneError(Invalid):
    """The phone number is not usable."""


class InvalidActorAffiliationError(Invalid):
    """The affiliation is not usable."""


class InvalidActorExternalIdError(Invalid):
    """A researcher identifier comes with its registry, and a registry with an identifier.

    The registry is lower case, like orcid.
    """


class InvalidActorProfileError(Invalid):
    """Nothing to change was given; name at least one field of the profile."""


class InvalidActorIdentityError(Invalid):
    """The issuer and the subject of a login are not blank, and not too long together."""


class ActorIdentityAlreadyBoundError(Cannot):
    """The login is bound to an actor already; unbind it there first."""


class ActorCannotDeactivateError(Cannot):
    """The actor cannot be deactivated."""


class ActorCannotUpdateProfileError(Cannot):
    """The actor's profile cannot be changed: it was forgotten."""


class ActorCannotForgetError(Cannot):
    """The actor cannot be forgotten: there is no profile any more."""


class ActorCannotBindIdentityError(Cannot):
    """The login cannot be bound to this actor."""


class ActorCannotUnbindIdentityError(Cannot):
    """The login cannot be unbound: this actor does not hold it."""


class LastAdministratorError(Cannot):
    """The deployment would be left without an administrator who can log in."""


ACTIVE: Axis[bool, ActorChanged] = Axis(
    "active",
    # event, allowed from, leads to, refused with
    (ActorDeactivated, {True}, False, ActorCannotDeactivateError),
)


class Actor(Record):
    id: UUID
    kind: ActorKind
    active: bool = True


def begin(event: ActorRegistered) -> Actor:
    return Actor(event.actor_id, event.kind)


def evolve(actor: Actor, event: ActorChanged) -> Actor:
    match event:
        case ActorDeactivated():
            return replace(actor, active=ACTIVE.after(event))
        case (
            ActorProfileUpdated()
            | ActorProfileForgotten()
            | ActorIdentityBound()
            | ActorIdentityUnbound()
        ):
            return actor


def standing_of(actor: Actor) -> Standing:
    """The row by which the actor is found when it calls."""
    barred = None if actor.active else DenialReason.INACTIVE_PRINCIPAL
    return Standing(actor.id, actor.kind, barred)


type Issuer = Annotated[str, MinLen(1), MaxLen(500)]
type Subject = Annotated[str, MinLen(1), MaxLen(255)]
type Email = Annotated[str, MinLen(1), MaxLen(254)]
type Phone = Annotated[str, MinLen(1), MaxLen(50)]
type Affiliation = Annotated[str, MinLen(1), MaxLen(200)]
type ExternalId = Annotated[str, MinLen(1), MaxLen(100)]


class Login(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Issuer
    subject: Subject


class ProfileFields(Command):
    email: Email | None = None
    phone: Phone | None = None
    affiliation: Affiliation | None = None
    external_id: ExternalId | None = None
    """Researcher identifier, without a scheme."""
    external_id_namespace: ExternalId | None = None
    """Registry of that identifier, lower case."""


class RegisterActor(ProfileFields):
    name: Name
    kind: Literal["human", "service_account"] = "human"
    identities: Annotated[tuple[Login, ...], MaxLen(MOST_BINDINGS)] = ()


class ActorCommand(Command):
    actor_id: UUID


class DeactivateActor(ActorCommand): ...


class UpdateActorProfile(ActorCommand, ProfileFields):
    """A field left out stays; null clears it."""

    name: Name | None = None


class ForgetActor(ActorCommand): ...


class BindActorIdentity(ActorCommand, Login): ...


class UnbindActorIdentity(ActorCommand, Login): ...


class Known(Record):
    """What is known of an actor beside its stream."""

    profile: Profile | None
    bound_pairs: frozenset[tuple[str, str]]
    login_key: bytes = b""
    last_administrator: bool = False
    """Whether the command would leave no administrator who can log in."""


async def login_key(command: RegisterActor, read: Reader) -> bytes:
    return read.installation.login_key


async def known(actor: Actor, command: ActorCommand, read: Reader) -> Known:
    profile = await read.rows(PROFILES, actor_id=actor.id)
    logins = await read.rows(IDENTITIES, actor_id=actor.id)
    return Known(
        profile[0] if profile else None,
        frozenset((i.issuer, i.subject) for i in logins),
        read.installation.login_key,
    )


def register_actor(
    command: RegisterActor, given: bytes, call: Call
) -> list[ActorRegistered | SideWrite]:
    """Register a person or a machine account, with its profile and its logins."""
    profile = _checked(
        Profile(
            call.new_id,
            command.name,
            command.email,
            command.phone,
            command.affiliation,
            command.external_id,
            command.external_id_namespace,
            call.now,
            call.now,
        )
    )
    logins = [trimmed_login(login) for login in command.identities]
    if len(set(logins)) < len(logins):
        raise ActorIdentityAlreadyBoundError("It is named twice in the request.")
    named = tuple(_named(given, call.new_id, *login) for login in logins)
    registered = ActorRegistered(call.now, call.new_id, ActorKind(command.kind), named)
    return [
        registered,
        STANDINGS.insert(standing_of(begin(registered))),
        PROFILES.insert(profile),
        *(
            IDENTITIES.insert(Identity(*login, call.new_id), loser=ActorIdentityAlreadyBoundError)
            for login in logins
        ),
    ]


def deactivate_actor(
    actor: Actor, command: DeactivateActor, given: Known, call: Call
) -> list[ActorDeactivated | SideWrite]:
    """Bar an actor from acting, for good."""
    ACTIVE.require(actor.active, ActorDeactivated)
    if actor.id == SYSTEM:
        raise ActorCannotDeactivateError("The service itself acts as System.")
    deactivated = ActorDeactivated(call.now, actor.id)
    return [
        deactivated,
        STANDINGS.replace(standing_of(evolve(actor, deactivated))),
        *_another_administrator(actor, given),
    ]


def update_actor_profile(
    actor: Actor, command: UpdateActorProfile, given: Known, call: Call
) -> list[ActorProfileUpdated | SideWrite]:
    """Change what is known of an actor as a person."""
    changed = command.model_fields_set - {"actor_id"}
    if not changed:
        raise InvalidActorProfileError
    if "name" in changed and command.name is None:
        raise InvalidActorNameError("It may not be cleared.")
    # A bad value is reported before a lost profile.
    profile = _checked(_merged(given.profile or _blank(actor.id, call), command, changed))
    if given.profile is None:
        raise ActorCannotUpdateProfileError
    return [
        ActorProfileUpdated(call.now, actor.id, tuple(sorted(changed))),
        PROFILES.replace(replace(profile, updated_at=call.now)),
    ]


def forget_actor(
    actor: Actor, command: ForgetActor, given: Known, call: Call
) -> list[ActorProfileForgotten | SideWrite]:
    """Erase everything personal about an actor; what it did stays on record under its id."""
    if given.profile is None:
        raise ActorCannotForgetError
    return [
        ActorProfileForgotten(call.now, actor.id),
        PROFILES.delete(actor.id),
        *(IDENTITIES.delete(*pair) for pair in sorted(given.bound_pairs)),
        *_another_administrator(actor, given),
    ]


def bind_actor_identity(
    actor: Actor, command: BindActorIdentity, given: Known, call: Call
) -> list[ActorIdentityBound | SideWrite]:
    """Let a login at an identity provider act as this actor."""
    issuer, subject = trimmed_login(command)
    if actor.id in SEEDED:
        raise ActorCannotBindIdentityError("Nobody logs in as a seeded actor.")
    if not actor.active:
        raise ActorCannotBindIdentityError("It is not active; register the person anew.")
    if given.profile is None:
        raise ActorCannotBindIdentityError("It was forgotten; register the person anew.")
    if len(given.bound_pairs) >= MOST_BINDINGS:
        raise ActorCannotBindIdentityError(f"It has {MOST_BINDINGS} logins; unbind one first.")
    digest = digest_of(given.login_key, actor.id, issuer, subject)
    return [
        ActorIdentityBound(call.now, actor.id, issuer, digest),
        IDENTITIES.insert(
            Identity(issuer, subject, actor.id), loser=ActorIdentityAlreadyBoundError
        ),
    ]


def unbind_actor_identity(
    actor: Actor, command: UnbindActorIdentity, given: Known, call: Call
) -> list[ActorIdentityUnbound | SideWrite]:
    """Take a login away from this actor."""
    pair = trimmed_login(command)
    if pair not in given.bound_pairs:
        raise ActorCannotUnbindIdentityError
    digest = digest_of(given.login_key, actor.id, *pair)
    return [
        ActorIdentityUnbound(call.now, actor.id, pair[0], digest),
        IDENTITIES.delete(*pair),
        *_another_administrator(actor, given),
    ]


def last_administrator(actor_id: UUID) -> LastAdministratorError:
    """The refusal to take away the only administrator there is."""
    return LastAdministratorError(
        f"Actor {actor_id} is the last one. First permit another person * with scope All on a"
        " seeded surface, and bind a login of theirs at a configured identity provider."
    )


def _another_administrator(actor: Actor, given: Known) -> list[SideWrite]:
    """Refuse what would take away the last one, and let no two such decisions cross."""
    if given.last_administrator:
        raise last_administrator(actor.id)
    return [Lock(ADMINISTRATORS)] if actor.kind is ActorKind.HUMAN else []


def _named(key: bytes, actor_id: UUID, issuer: str, subject: str) -> BoundLogin:
    return BoundLogin(issuer, digest_of(key, actor_id, issuer, subject))


def trimmed_login(login: Login) -> tuple[str, str]:
    """The issuer and the subject as they are kept."""
    issuer = trimmed(login.issuer, InvalidActorIdentityError)
    subject = trimmed(login.subject, InvalidActorIdentityError)
    # A login is found by both together, and a key in the database has so many bytes at most.
    if (size := len(f"{issuer}{subject}".encode())) > LOGIN_BYTES:
        raise InvalidActorIdentityError(
            f"Issuer and subject are {size} bytes long together; at most {LOGIN_BYTES} are kept."
        )
    return issuer, subject


def _merged(profile: Profile, command: UpdateActorProfile, changed: Iterable[str]) -> Profile:
    return replace(profile, **{field: getattr(command, field) for field in changed})


def _blank(actor_id: UUID, call: Call) -> Profile:
    return Profile(actor_id, "-", None, None, None, None, None, call.now, call.now)


def _checked(profile: Profile) -> Profile:
    """The profile as it may be kept."""
    name = trimmed(profile.name, InvalidActorNameError)
    email = trimmed_or_none(profile.email, InvalidActorEmailError)
    if (email is not None and not all(email.split("@", 1))) or (email or "@").count("@") != 1:
        raise InvalidActorEmailError
    registry = trimmed_or_none(profile.external_id_namespace, InvalidActorExternalIdError)
    external_id = trimmed_or_none(profile.external_id, InvalidActorExternalIdError)
    if (registry is None) != (external_id is None):
        raise InvalidActorExternalIdError
    if registry is not None and not NAMESPACE.fullmatch(registry):
        raise InvalidActorExternalIdError
    return replace(
        profile,
        name=name,
        email=email,
        phone=trimmed_or_none(profile.phone, InvalidActorPhoneError),
        affiliation=trimmed_or_none(profile.affiliation, InvalidActorAffiliationError),
        external_id=external_id,
        external_id_namespace=registry,
    )


actors = Aggregate("Actor", begin, evolve, ActorNotFoundError, self_owned=True)

INVALID_PROFILE = (
    InvalidActorNameError,
    InvalidActorEmailError,
    InvalidActorExternalIdError,
    InvalidActorPhoneError,
    InvalidActorAffiliationError,
)

# fmt: off
OPERATIONS = (
    actors.creates("POST /actors", RegisterActor, register_actor, *INVALID_PROFILE,
        InvalidActorIdentityError, ActorIdentityAlreadyBoundError, given=login_key),
    actors.changes("POST /actors/{actor_id}/update-profile", UpdateActorProfile,
        update_actor_profile, *INVALID_PROFILE, InvalidActorProfileError,
        ActorCannotUpdateProfileError, given=known),
)
# fmt: on


class ListActors(Listing):
    """List actors, by age."""

    kind: ActorKind | None = None
    active: bool | None = None


QUESTIONS = reads(
    "/actors",
    actors,
    ListActors,
    milestones={"deactivated_at": (ActorDeactivated,)},
    shown_with=profiles,
    listed_with=names,
)
