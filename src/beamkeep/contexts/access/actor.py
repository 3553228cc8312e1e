"""Actor: a principal: a person, a software agent or a machine account."""

import re
from typing import Annotated, Literal
from uuid import UUID

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel, ConfigDict

from beamkeep.contexts.seams.installation import Reader
from beamkeep.contexts.seams.outside import Identifier
from beamkeep.kernel import (
    ActorKind,
    Aggregate,
    Axis,
    Blank,
    Call,
    Cannot,
    Command,
    DenialReason,
    Event,
    Invalid,
    Lock,
    NotFound,
    Record,
    Refusal,
    SideWrite,
    Standing,
    UnnamedListing,
    reads,
    replace,
)
from beamkeep.kernel.values import Name, Trimmed

from . import profile
from .profile import (
    ACTOR_STANDINGS,
    IDENTITIES,
    PROFILES,
    SEEDED,
    STANDINGS,
    SYSTEM,
    ActorStanding,
    Identity,
    Profile,
    digest_of,
)

MOST_BINDINGS = 10
LOGIN_BYTES = 2_500
ADMINISTRATORS = "administrators"
"""The lock that is held while a command may remove an administrator."""
EMAIL = re.compile(r"[^@]+@[^@]+")
REGISTRY = re.compile(r"[a-z0-9-]{1,100}")


# Events are stored for ever: add a field with a default; never rename or drop one.
class ActorEvent(Event):
    actor_id: UUID


class BoundLogin(Record):
    """A login, named by a digest that only the deployment's own key can confirm."""

    issuer: str
    subject_digest: str


class ActorRegistered(ActorEvent):
    kind: ActorKind
    identities: tuple[BoundLogin, ...] | None = None
    """None in events that were recorded before registrations named the logins."""
    bound_by: UUID | None = None
    """None without logins, and in events that were recorded before bindings named the binder."""
    confirmed: bool = True
    """Whether an administrator bound the logins, or they were bound before logins needed one."""


class ActorDeactivated(ActorEvent): ...


class ActorProfileUpdated(ActorEvent):
    changed_fields: tuple[str, ...]


class ActorProfileForgotten(ActorEvent):
    """Profile erased."""


class ActorIdentityEvent(ActorEvent):
    issuer: str
    subject_digest: str = ""
    """Empty in events that were recorded before bindings named the subject."""


class ActorIdentityBound(ActorIdentityEvent):
    bound_by: UUID | None = None
    """None in events that were recorded before bindings named the binder."""
    confirmed: bool = True
    """Whether the login may carry every later grant of the actor."""


class ActorIdentityConfirmed(ActorIdentityEvent): ...


class ActorIdentityUnbound(ActorIdentityEvent): ...


type ActorProfileChanged = ActorProfileUpdated | ActorProfileForgotten
type ActorIdentityChanged = ActorIdentityBound | ActorIdentityConfirmed | ActorIdentityUnbound
type ActorChanged = ActorDeactivated | ActorProfileChanged | ActorIdentityChanged


class ActorNotFoundError(NotFound): ...


class InvalidActorNameError(Blank): ...


class InvalidActorEmailError(Invalid):
    """E-mail address must contain exactly one @, with text on both sides."""


class InvalidActorPhoneError(Blank): ...


class InvalidActorAffiliationError(Blank): ...


class InvalidActorExternalIdError(Invalid):
    """Researcher identifier must come with its registry in lower case, for example orcid."""


class InvalidActorProfileError(Invalid):
    """Profile update must contain at least one field."""


class InvalidActorIdentityError(Invalid):
    """Issuer and subject of a login must not be blank or too long."""


class ActorIdentityAlreadyBoundError(Cannot):
    """A login can be bound only once; unbind the login from its present actor first."""


class ActorCannotDeactivateError(Cannot):
    """Only an active actor other than System can be deactivated."""


class ActorCannotUpdateProfileError(Cannot):
    """Only an actor that has a profile can be updated."""


class ActorCannotForgetError(Cannot):
    """Only an actor that has a profile can be forgotten."""


class ActorCannotBindIdentityError(Cannot):
    """A login can be bound only to an active actor with a profile and fewer than 10 logins."""


class ActorCannotUnbindIdentityError(Cannot):
    """Only a login that is bound to this actor can be unbound."""


class ActorCannotConfirmIdentityError(Cannot):
    """Only a login that is bound to this actor and needs a confirmation can be confirmed."""


class AdministratorRequiredError(Refusal, status=403):
    """Only a person who is an administrator can make this call. Ask an administrator to make it."""


class LastAdministratorError(Cannot):
    """The deployment must keep at least one administrator who can log in."""


ACTIVE: Axis[bool, ActorDeactivated] = Axis(
    "active",
    # event, allowed from, leads to, refused with
    (ActorDeactivated, {True}, False, ActorCannotDeactivateError),
)


class UnconfirmedLogin(BoundLogin):
    """A login that may carry only grants that its binder holds too."""

    bound_by: UUID


class Actor(Record):
    id: UUID
    kind: ActorKind
    active: bool = True
    unconfirmed_logins: frozenset[UnconfirmedLogin] = frozenset()
    """The logins that no administrator has bound or confirmed."""


def begin(event: ActorRegistered) -> Actor:
    registered = Actor(event.actor_id, event.kind)
    if event.confirmed or event.bound_by is None:
        return registered
    logins = (UnconfirmedLogin.of(each, bound_by=event.bound_by) for each in event.identities or ())
    return replace(registered, unconfirmed_logins=frozenset(logins))


def evolve(actor: Actor, event: ActorChanged) -> Actor:
    unconfirmed = actor.unconfirmed_logins
    match event:
        case ActorDeactivated():
            return replace(actor, active=ACTIVE.after(event))
        case ActorProfileForgotten():
            return replace(actor, unconfirmed_logins=frozenset())
        case ActorIdentityBound(confirmed=False, bound_by=UUID() as binder):
            login = UnconfirmedLogin.of(event, bound_by=binder)
            return replace(actor, unconfirmed_logins=unconfirmed | {login})
        case ActorIdentityConfirmed() | ActorIdentityUnbound():
            other = (each for each in unconfirmed if BoundLogin.of(each) != BoundLogin.of(event))
            return replace(actor, unconfirmed_logins=frozenset(other))
        case _:
            return actor


def standing_of(actor: Actor) -> ActorStanding:
    """Return the row that says whether the actor may act."""
    barred = None if actor.active else DenialReason.INACTIVE_PRINCIPAL
    return ActorStanding(actor.id, actor.kind, barred)


type LoginIssuer = Annotated[str, MinLen(1), MaxLen(500)]
type LoginSubject = Annotated[str, MinLen(1), MaxLen(255)]
type Email = Annotated[str, MinLen(1), MaxLen(254)]
type Phone = Annotated[str, MinLen(1), MaxLen(50)]
type Affiliation = Annotated[str, MinLen(1), MaxLen(200)]
type ExternalId = Annotated[str, MinLen(1), MaxLen(100), Identifier(InvalidActorExternalIdError)]


class Login(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: Annotated[LoginIssuer, Trimmed(InvalidActorIdentityError)]
    subject: Annotated[LoginSubject, Trimmed(InvalidActorIdentityError)]


class ProfileFields(Command):
    email: Annotated[Email, Trimmed(InvalidActorEmailError)] | None = None
    phone: Annotated[Phone, Trimmed(InvalidActorPhoneError)] | None = None
    affiliation: Annotated[Affiliation, Trimmed(InvalidActorAffiliationError)] | None = None
    external_id: ExternalId | None = None
    """Researcher identifier without its scheme, for example 0000-0002-1825-0097."""
    external_id_namespace: ExternalId | None = None
    """Registry of the researcher identifier in lower case, for example orcid."""


class RegisterActor(ProfileFields):
    name: Annotated[Name, Trimmed(InvalidActorNameError)]
    kind: Literal["human", "service_account"] = "human"
    identities: Annotated[tuple[Login, ...], MaxLen(MOST_BINDINGS)] = ()


class ActorCommand(Command):
    actor_id: UUID


class DeactivateActor(ActorCommand): ...


class UpdateActorProfile(ActorCommand, ProfileFields):
    """A field that is left out stays unchanged; null clears a field."""

    name: Annotated[Name, Trimmed(InvalidActorNameError)] | None = None


class ForgetActor(ActorCommand): ...


class BindActorIdentity(ActorCommand, Login): ...


class ConfirmActorIdentity(ActorCommand, Login): ...


class UnbindActorIdentity(ActorCommand, Login): ...


class ActorDetails(Record):
    """The rows of an actor next to its stream, and what a command needs besides."""

    profile: Profile | None = None
    bound_pairs: frozenset[tuple[str, str]] = frozenset()
    login_key: bytes = b""
    last_administrator: bool = False
    """Whether the command would leave no administrator who can log in."""
    permitted_everything: bool = False
    """Whether the caller is permitted everything."""


class NewLogins(Record):
    """What the logins of a new actor need."""

    login_key: bytes = b""
    permitted_everything: bool = False
    """Whether the caller is permitted everything."""


async def actor_details(actor: Actor, command: ActorCommand, read: Reader) -> ActorDetails:
    profile = await read.rows(PROFILES, actor_id=actor.id)
    logins = await read.rows(IDENTITIES, actor_id=actor.id)
    pairs, key = frozenset((i.issuer, i.subject) for i in logins), read.facts.login_key
    return ActorDetails(profile[0] if profile else None, pairs, login_key=key)


def register_actor(
    command: RegisterActor, given: NewLogins, call: Call
) -> list[ActorRegistered | SideWrite]:
    """Register a person or a machine account, with its profile and its logins."""
    id, kind = call.new_id, ActorKind(command.kind)
    profile = Profile.of(command, actor_id=id, created_at=call.now, updated_at=call.now)
    _require_sound(profile)
    logins = [login_pair(login) for login in command.identities]
    if len(set(logins)) < len(logins):
        raise ActorIdentityAlreadyBoundError("The request contains the same login twice.")
    key, bound_by = given.login_key, call.principal_id if logins else None
    bound = tuple(BoundLogin(login[0], digest_of(key, id, *login)) for login in logins)
    registered = ActorRegistered(
        *(call.now, id, kind),
        identities=bound,
        bound_by=bound_by,
        confirmed=not logins or calls_as_administrator(given.permitted_everything, call),
    )
    standing = STANDINGS.insert(Standing.of(standing_of(begin(registered))))
    bindings = (_bound(login, id) for login in logins)
    return [registered, standing, PROFILES.insert(profile), *bindings]


def deactivate_actor(
    actor: Actor, command: DeactivateActor, given: ActorDetails, call: Call
) -> list[ActorDeactivated | SideWrite]:
    """Deactivate an actor permanently; every later call of the actor is denied."""
    ACTIVE.require(actor.active, ActorDeactivated)
    if actor.id == SYSTEM:
        raise ActorCannotDeactivateError("The service itself acts as System.")
    deactivated = ActorDeactivated(call.now, actor.id)
    standing = ACTOR_STANDINGS.replace(standing_of(evolve(actor, deactivated)))
    return [deactivated, standing, *_administrator_lock(actor, given)]


def update_actor_profile(
    actor: Actor, command: UpdateActorProfile, given: ActorDetails, call: Call
) -> list[ActorProfileUpdated | SideWrite]:
    """Update the profile of an actor."""
    changed = command.model_fields_set - {"actor_id"}
    if not changed:
        raise InvalidActorProfileError
    if "name" in changed and command.name is None:
        raise InvalidActorNameError("The name cannot be cleared; leave it out to keep it.")
    # An invalid value is refused before a missing profile.
    empty = Profile("-", actor_id=actor.id, created_at=call.now, updated_at=call.now)
    profile = replace(given.profile or empty, **command.model_dump(include=changed))
    _require_sound(profile)
    if given.profile is None:
        raise ActorCannotUpdateProfileError("The profile was erased; register the person again.")
    updated = ActorProfileUpdated(call.now, actor.id, tuple(sorted(changed)))
    return [updated, PROFILES.replace(replace(profile, updated_at=call.now))]


def forget_actor(
    actor: Actor, command: ForgetActor, given: ActorDetails, call: Call
) -> list[ActorProfileForgotten | SideWrite]:
    """Erase the personal data of an actor; its past actions stay recorded under its id."""
    if given.profile is None:
        raise ActorCannotForgetError("The profile was erased already.")
    forgotten = ActorProfileForgotten(call.now, actor.id)
    logins = (IDENTITIES.delete(*pair) for pair in sorted(given.bound_pairs))
    return [forgotten, PROFILES.delete(actor.id), *logins, *_administrator_lock(actor, given)]


def bind_actor_identity(
    actor: Actor, command: BindActorIdentity, given: ActorDetails, call: Call
) -> list[ActorIdentityBound | SideWrite]:
    """Bind a login at an identity provider to an actor; calls with that login act as the actor."""
    login = login_pair(command)
    if actor.id in SEEDED:
        raise ActorCannotBindIdentityError("A seeded actor cannot have logins.")
    if not actor.active:
        raise ActorCannotBindIdentityError("The actor is not active; register the person again.")
    if given.profile is None:
        raise ActorCannotBindIdentityError("The actor was forgotten; register the person again.")
    if len(given.bound_pairs) >= MOST_BINDINGS:
        detail = f"The actor has {MOST_BINDINGS} logins; unbind one first."
        raise ActorCannotBindIdentityError(detail)
    own = actor.id == call.principal_id
    if actor.kind is ActorKind.SERVICE_ACCOUNT and not own:
        # The account may report what a sensor sees, which no policy says.
        require_administrator(given.permitted_everything, call)
    confirmed = calls_as_administrator(given.permitted_everything, call)
    if own:
        # Somebody who calls by an unconfirmed login must not make another one that outlasts it.
        confirmed = not actor.unconfirmed_logins
    bound = ActorIdentityBound(
        *(call.now, actor.id, login[0]),
        subject_digest=digest_of(given.login_key, actor.id, *login),
        bound_by=call.principal_id,
        confirmed=confirmed,
    )
    return [bound, _bound(login, actor.id)]


def confirm_actor_identity(
    actor: Actor, command: ConfirmActorIdentity, given: ActorDetails, call: Call
) -> list[ActorIdentityConfirmed]:
    """Confirm, as an administrator, that a login belongs to the actor it is bound to."""
    require_administrator(given.permitted_everything, call)
    login = login_pair(command)
    bound = BoundLogin(login[0], digest_of(given.login_key, actor.id, *login))
    if login not in given.bound_pairs:
        raise ActorCannotConfirmIdentityError("The login is not bound to this actor.")
    if bound not in map(BoundLogin.of, actor.unconfirmed_logins):
        raise ActorCannotConfirmIdentityError("The login needs no confirmation.")
    return [ActorIdentityConfirmed.of(bound, occurred_at=call.now, actor_id=actor.id)]


def unbind_actor_identity(
    actor: Actor, command: UnbindActorIdentity, given: ActorDetails, call: Call
) -> list[ActorIdentityUnbound | SideWrite]:
    """Unbind a login from an actor; only an administrator can unbind one of another person."""
    if actor.kind is ActorKind.HUMAN and actor.id != call.principal_id:
        require_administrator(given.permitted_everything, call)
    login = login_pair(command)
    if login not in given.bound_pairs:
        raise ActorCannotUnbindIdentityError
    digest = digest_of(given.login_key, actor.id, *login)
    unbound = ActorIdentityUnbound(call.now, actor.id, issuer=login[0], subject_digest=digest)
    return [unbound, IDENTITIES.delete(*login), *_administrator_lock(actor, given)]


def administrator_lock(actor_id: UUID, is_last: bool) -> Lock:
    """Return the lock for removing an administrator; raise when the actor is the last one."""
    if is_last:
        raise LastAdministratorError(
            f"Actor {actor_id} is the last one. First permit another person * with scope All on the"
            " HTTP surface, and bind a login at a configured identity provider to that person."
        )
    return Lock(ADMINISTRATORS)


def calls_as_administrator(permitted_everything: bool, call: Call) -> bool:
    """Return whether the caller is permitted everything and is a person, or is the service."""
    person = call.principal_kind is ActorKind.HUMAN or call.principal_id == SYSTEM
    return permitted_everything and person


def require_administrator(permitted_everything: bool, call: Call) -> None:
    """Raise AdministratorRequiredError unless the caller is an administrator."""
    if not calls_as_administrator(permitted_everything, call):
        raise AdministratorRequiredError


def _administrator_lock(actor: Actor, given: ActorDetails) -> list[SideWrite]:
    lock = administrator_lock(actor.id, given.last_administrator)
    return [lock] if actor.kind is ActorKind.HUMAN else []


def _bound(login: tuple[str, str], actor_id: UUID) -> SideWrite:
    return IDENTITIES.insert(Identity(*login, actor_id), loser=ActorIdentityAlreadyBoundError)


def login_pair(login: Login) -> tuple[str, str]:
    """Return the issuer and the subject; raise when they are too long for the key of a row."""
    # PostgreSQL limits the bytes of a key.
    if (size := len(f"{login.issuer}{login.subject}".encode())) > LOGIN_BYTES:
        text = f"Issuer and subject have {size} bytes together; at most {LOGIN_BYTES} are allowed."
        raise InvalidActorIdentityError(text)
    return login.issuer, login.subject


def _require_sound(profile: Profile) -> None:
    """Raise the refusal of an e-mail address or a researcher identifier that makes no sense."""
    if profile.email is not None and not EMAIL.fullmatch(profile.email):
        raise InvalidActorEmailError
    registry = profile.external_id_namespace
    if (registry is None) != (profile.external_id is None):
        missing = "external_id_namespace" if registry is None else "external_id"
        raise InvalidActorExternalIdError(f"{missing} is missing.")
    if registry is not None and not REGISTRY.fullmatch(registry):
        detail = f"Registry {registry} may contain only lower-case letters, digits and hyphens."
        raise InvalidActorExternalIdError(detail)


actors = Aggregate(
    "Actor", begin, evolve, absent=ActorNotFoundError, self_owned=True, axes=(ACTIVE,)
)

# fmt: off
OPERATIONS = (
    actors.changes("POST /actors/{actor_id}/update-profile", UpdateActorProfile,
        update_actor_profile, InvalidActorProfileError, ActorCannotUpdateProfileError,
        given=actor_details),
)
# fmt: on


class ListActors(UnnamedListing):
    """List actors, newest first."""

    kind: ActorKind | None = None
    active: bool | None = None
    unconfirmed_login_bound_by: UUID | None = None
    """Only actors with a login that this actor bound and no administrator has confirmed."""


TIMES = {"deactivated_at": (ActorDeactivated,)}
SHOWN, LISTED = profile.profiles, profile.names
QUESTIONS = reads(
    "/actors",
    actors,
    ListActors,
    milestones=TIMES,
    facets={
        "unconfirmed_login_bound_by": lambda actor: {
            login.bound_by for login in actor.unconfirmed_logins
        }
    },
    shown_with=SHOWN,
    listed_with=LISTED,
    version=2,
)
