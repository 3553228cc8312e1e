"""Administrators: the last one who can log in stays, and nobody logs in as somebody greater."""

from uuid import UUID

from beamkeep.contexts.access import actor
from beamkeep.contexts.access.actor import begin as actor_of
from beamkeep.contexts.access.profile import (
    ACTOR_STANDINGS,
    DEVELOPER,
    IDENTITIES,
    PROFILES,
    STANDINGS,
    ActorStanding,
    Identity,
    Profile,
    digest_of,
)
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.administrators import OPERATIONS
from beamkeep.contexts.trust.grants import POLICY_GRANTS, GrantExceedsOwnError
from beamkeep.contexts.trust.policy import (
    PolicyDefined,
    PolicyGrantRevoked,
    RevokePolicyGrant,
    begin,
    grants_of,
)
from beamkeep.kernel import (
    ActorKind,
    Command,
    DenialReason,
    Event,
    Lock,
    ObjectScope,
    SideWrite,
    Standing,
    SurfaceKind,
    replace,
)
from beamkeep.testing.installation import INSTALLATION, ISSUER
from beamkeep.testing.past import CALL, ME, NOW
from beamkeep.testing.scenario import Scenario

ADA, GRACE, OTTO = UUID(int=100), UUID(int=101), UUID(int=102)
HTTP = seeded.SURFACES[SurfaceKind.HTTP]
MCP = [id for kind, id in seeded.SURFACES.items() if kind is not SurfaceKind.HTTP]
CONSOLE = UUID(int=30)
HELD = Lock(actor.ADMINISTRATORS)
type Part = Event | SideWrite


def person(id: UUID, kind: ActorKind = ActorKind.HUMAN) -> list[Part]:
    registered = actor.ActorRegistered(NOW, id, kind, ())
    profile = Profile("Somebody", actor_id=id, created_at=NOW, updated_at=NOW)
    standing = Standing.of(actor.standing_of(actor_of(registered)))
    return [registered, STANDINGS.insert(standing), PROFILES.insert(profile)]


def login(id: UUID, issuer: str = ISSUER, subject: str = "s") -> SideWrite:
    return IDENTITIES.insert(Identity(issuer, f"{subject}{id.int}", id))


def policy(
    number: int,
    *ids: UUID,
    surface_id: UUID = HTTP,
    commands: tuple[str, ...] = ("*",),
    scope: ObjectScope = ObjectScope.ALL,
) -> list[Part]:
    defined = PolicyDefined(
        NOW, UUID(int=number), "Administrators", seeded.ENTRY, surface_id, ids, commands, scope
    )
    return [defined, *map(POLICY_GRANTS.insert, grants_of(begin(defined)))]


def given(*history: Part) -> Scenario:
    return Scenario(OPERATIONS, history)


def unbind(id: UUID) -> actor.UnbindActorIdentity:
    return actor.UnbindActorIdentity(actor_id=id, issuer=ISSUER, subject=f"s{id.int}")


def revoke(number: int, id: UUID) -> RevokePolicyGrant:
    return RevokePolicyGrant(policy_id=UUID(int=number), permitted_principal_id=id, reason="left")


ALONE = (*person(ADA), login(ADA), *policy(1, ADA))
REMOVALS: tuple[Command, ...] = (
    actor.DeactivateActor(actor_id=ADA),
    actor.ForgetActor(actor_id=ADA),
    unbind(ADA),
    revoke(1, ADA),
)


def test_the_last_administrator_stays():
    for removal in REMOVALS:
        given(*ALONE).when(removal).refused(
            actor.LastAdministratorError, saying=f"Actor {ADA} is the last one."
        )


def test_whoever_could_not_administrate_does_not_make_up_for_the_last():
    barred = Standing(GRACE, ActorKind.HUMAN, DenialReason.INACTIVE_PRINCIPAL)
    for others in (
        [*person(GRACE), *policy(2, GRACE)],
        [*person(GRACE), login(GRACE, "https://idp.closed"), *policy(2, GRACE)],
        [*person(GRACE, ActorKind.SERVICE_ACCOUNT), login(GRACE), *policy(2, GRACE)],
        [*person(GRACE), STANDINGS.replace(barred), login(GRACE), *policy(2, GRACE)],
        [*person(GRACE), login(GRACE), *policy(2, GRACE, surface_id=CONSOLE)],
        *([*person(GRACE), login(GRACE), *policy(2, GRACE, surface_id=id)] for id in MCP),
        [*person(GRACE), login(GRACE), *policy(2, GRACE, commands=("define_zone",))],
        [*person(GRACE), login(GRACE), *policy(2, GRACE, scope=ObjectScope.OWN)],
        [*person(DEVELOPER), *policy(2, DEVELOPER)],
    ):
        for removal in REMOVALS:
            given(*ALONE, *others).when(removal).refused(actor.LastAdministratorError)


def test_of_two_administrators_one_may_go():
    two = (*ALONE, *person(GRACE), login(GRACE), *policy(2, GRACE))
    given(*two).when(actor.DeactivateActor(actor_id=ADA)).then(
        actor.ActorDeactivated(NOW, ADA),
        ACTOR_STANDINGS.replace(
            ActorStanding(ADA, ActorKind.HUMAN, DenialReason.INACTIVE_PRINCIPAL)
        ),
        HELD,
    )
    given(*two).when(actor.ForgetActor(actor_id=ADA)).then(
        actor.ActorProfileForgotten(NOW, ADA),
        PROFILES.delete(ADA),
        IDENTITIES.delete(ISSUER, f"s{ADA.int}"),
        HELD,
    )
    given(*two).when(revoke(1, ADA)).then(
        PolicyGrantRevoked(NOW, UUID(int=1), ADA, "left"),
        POLICY_GRANTS.delete(UUID(int=1), ADA),
        HELD,
    )


def test_an_administrator_who_stays_one_may_lose_a_second_login_or_a_second_grant():
    again = (*ALONE, login(ADA, subject="t"), *policy(2, ADA))
    other = actor.UnbindActorIdentity(actor_id=ADA, issuer=ISSUER, subject=f"t{ADA.int}")
    for removal in (unbind(ADA), other, revoke(1, ADA), revoke(2, ADA)):
        assert given(*again).when(removal).decided()
    given(*ALONE, login(ADA, subject="t")).when(revoke(1, ADA)).refused(
        actor.LastAdministratorError
    )


def test_somebody_who_is_no_administrator_goes_while_there_is_one_or_none():
    otto = (*person(OTTO), login(OTTO), *policy(3, OTTO, commands=("get_zone",)))
    for history in (otto, (*ALONE, *otto)):
        for removal in (
            actor.DeactivateActor(actor_id=OTTO),
            actor.ForgetActor(actor_id=OTTO),
            unbind(OTTO),
        ):
            assert HELD in given(*history).when(removal).decided()
        assert HELD not in given(*history).when(revoke(3, OTTO)).decided()


def test_a_machine_account_goes_without_asking_who_administrates():
    robot = (*person(OTTO, ActorKind.SERVICE_ACCOUNT), login(OTTO))
    assert HELD not in given(*ALONE, *robot).when(actor.DeactivateActor(actor_id=OTTO)).decided()


def test_developer_counts_where_the_deployment_is_open_for_development():
    history = (*ALONE, *person(DEVELOPER), *policy(2, DEVELOPER))
    here = replace(INSTALLATION, open_for_development=True, issuers=frozenset[str]())
    for removal in (actor.DeactivateActor(actor_id=DEVELOPER), revoke(2, DEVELOPER)):
        Scenario(OPERATIONS, history, here).when(removal).refused(actor.LastAdministratorError)
    for removal in REMOVALS:
        assert Scenario(OPERATIONS, history, here).when(removal).decided()


def test_a_login_of_somebody_else_is_still_not_unbound():
    wrong = actor.UnbindActorIdentity(actor_id=OTTO, issuer=ISSUER, subject=f"s{ADA.int}")
    given(*ALONE, *person(OTTO)).when(wrong).refused(actor.ActorCannotUnbindIdentityError)


BIND = actor.BindActorIdentity(actor_id=OTTO, issuer=ISSUER, subject="mine")
HELPDESK = policy(4, ME, OTTO, commands=("get_zone",))


def test_no_login_is_bound_to_an_actor_that_holds_more_than_the_caller():
    for more in (
        policy(5, OTTO),
        policy(5, OTTO, commands=("list_zones",)),
        policy(5, OTTO, commands=("get_zone",), surface_id=CONSOLE),
    ):
        given(*person(OTTO), *HELPDESK, *more).when(BIND).refused(GrantExceedsOwnError)
    own = policy(6, ME, scope=ObjectScope.OWN)
    given(*person(OTTO), *own, *policy(5, OTTO, commands=("get_zone",))).when(BIND).refused(
        GrantExceedsOwnError, saying="scope All: get_zone."
    )


def test_a_login_is_bound_to_an_actor_that_holds_as_much_or_nothing():
    digest = digest_of(INSTALLATION.login_key, OTTO, ISSUER, "mine")
    for history in (person(OTTO), [*person(OTTO), *HELPDESK]):
        parts = given(*history).when(BIND).decided()
        assert parts[0] == actor.ActorIdentityBound(NOW, OTTO, ISSUER, digest)


def test_an_administrator_binds_a_login_to_anybody():
    assert given(*person(OTTO), *policy(5, OTTO), *policy(6, ME)).when(BIND).decided()


def test_everybody_may_bind_a_second_login_of_their_own():
    otto = replace(CALL, principal_id=OTTO)
    assert given(*person(OTTO), *policy(5, OTTO)).when(BIND, call=otto).decided()
