"""Administrators: the last one who can log in stays, and nobody logs in as somebody greater."""

from collections.abc import Sequence
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
from beamkeep.contexts.trust import policy as policy_module
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.administrators import OPERATIONS
from beamkeep.contexts.trust.conduit import ConduitDefined
from beamkeep.contexts.trust.grants import (
    POLICY_GRANTS,
    GrantExceedsOwnError,
    GrantRequiresConfirmedLoginError,
)
from beamkeep.contexts.trust.policy import (
    AddPolicyGrant,
    DefinePolicy,
    PolicyDefined,
    PolicyGrantRevoked,
    RevokePolicyGrant,
    begin,
    grants_of,
)
from beamkeep.contexts.trust.surface import SurfaceDefined
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
from beamkeep.testing.installation import FACTS, ISSUER
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


MINE = policy(90, ME)
"""The caller may do everything, and has no login that would make an administrator."""
ALONE = (*person(ADA), login(ADA), *policy(1, ADA), *MINE)
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


def test_an_actor_who_could_not_administrate_does_not_replace_the_last_administrator():
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
    for history in ((*otto, *MINE), (*ALONE, *otto)):
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
    here = replace(FACTS, open_for_development=True, issuers=frozenset[str]())
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
    digest = digest_of(FACTS.login_key, OTTO, ISSUER, "mine")
    for history in (person(OTTO), [*person(OTTO), *HELPDESK]):
        parts = given(*history).when(BIND).decided()
        bound = actor.ActorIdentityBound(NOW, OTTO, ISSUER, digest, bound_by=ME, confirmed=False)
        assert parts[0] == bound


def is_confirmed(decided: Sequence[object]) -> bool:
    bound = decided[0]
    assert isinstance(bound, actor.ActorIdentityBound | actor.ActorRegistered)
    assert bound.bound_by
    return bound.confirmed


def test_an_administrator_binds_a_login_to_anybody_and_it_needs_no_confirmation():
    assert is_confirmed(given(*person(OTTO), *policy(5, OTTO), *MINE).when(BIND).decided())


def test_only_a_person_binds_logins_that_need_no_confirmation():
    for kind in (ActorKind.SERVICE_ACCOUNT, ActorKind.AGENT):
        robot = replace(CALL, principal_kind=kind)
        assert not is_confirmed(given(*person(OTTO), *MINE).when(BIND, call=robot).decided())
        register = actor.RegisterActor(name="Otto", identities=(LOGIN,))
        assert not is_confirmed(given(*MINE).when(register, call=robot).decided())


LOGIN = actor.Login(issuer=ISSUER, subject="mine")


def test_logins_of_a_new_actor_need_a_confirmation_unless_an_administrator_registers_it():
    register = actor.RegisterActor(name="Otto", identities=(LOGIN,))
    assert not is_confirmed(given(*HELPDESK).when(register).decided())
    assert is_confirmed(given(*MINE).when(register).decided())


def test_only_an_administrator_binds_a_login_to_a_machine_account_of_others():
    gateway = person(OTTO, ActorKind.SERVICE_ACCOUNT)
    given(*gateway, *HELPDESK).when(BIND).refused(actor.AdministratorRequiredError)
    assert given(*gateway, *MINE).when(BIND).decided()
    itself = replace(CALL, principal_id=OTTO, principal_kind=ActorKind.SERVICE_ACCOUNT)
    assert given(*gateway).when(BIND, call=itself).decided()


WEAK = actor.ActorIdentityBound(NOW, OTTO, ISSUER, "d", bound_by=GRACE, confirmed=False)


def test_a_caller_by_an_unconfirmed_login_binds_none_that_outlasts_it():
    otto = replace(CALL, principal_id=OTTO)
    assert is_confirmed(given(*person(OTTO)).when(BIND, call=otto).decided())
    assert not is_confirmed(given(*person(OTTO), WEAK).when(BIND, call=otto).decided())
    unbound = actor.ActorIdentityUnbound(NOW, OTTO, ISSUER, "d")
    assert is_confirmed(given(*person(OTTO), WEAK, unbound).when(BIND, call=otto).decided())


def test_only_an_administrator_unbinds_a_login_of_another_person():
    history = (*person(OTTO), login(OTTO), *HELPDESK)
    given(*history).when(unbind(OTTO)).refused(actor.AdministratorRequiredError)
    robot = replace(CALL, principal_kind=ActorKind.SERVICE_ACCOUNT)
    given(*person(OTTO), login(OTTO), *MINE).when(unbind(OTTO), call=robot).refused(
        actor.AdministratorRequiredError
    )
    assert given(*person(OTTO), login(OTTO), *MINE).when(unbind(OTTO)).decided()
    assert given(*history).when(unbind(OTTO), call=replace(CALL, principal_id=OTTO)).decided()
    gateway = (*person(OTTO, ActorKind.SERVICE_ACCOUNT), login(OTTO), *HELPDESK)
    assert given(*gateway).when(unbind(OTTO)).decided()


CONFIRM = actor.ConfirmActorIdentity(actor_id=OTTO, issuer=ISSUER, subject="mine")
DIGEST = digest_of(FACTS.login_key, OTTO, ISSUER, "mine")
BOUND = IDENTITIES.insert(Identity(ISSUER, "mine", OTTO))
UNCONFIRMED = (*person(OTTO), replace(WEAK, subject_digest=DIGEST), BOUND)


def test_an_administrator_confirms_a_login():
    confirmed = actor.ActorIdentityConfirmed(NOW, OTTO, ISSUER, DIGEST)
    given(*UNCONFIRMED, *MINE).when(CONFIRM).then(confirmed)
    given(*UNCONFIRMED, confirmed, *MINE).when(CONFIRM).refused(
        actor.ActorCannotConfirmIdentityError, saying="needs no confirmation"
    )
    given(*person(OTTO), *MINE).when(CONFIRM).refused(
        actor.ActorCannotConfirmIdentityError, saying="not bound"
    )


def test_nobody_else_confirms_a_login_not_even_the_actor_or_a_machine_that_may_do_everything():
    given(*UNCONFIRMED, *HELPDESK).when(CONFIRM).refused(actor.AdministratorRequiredError)
    for id, kind in ((OTTO, ActorKind.HUMAN), (ME, ActorKind.AGENT)):
        call = replace(CALL, principal_id=id, principal_kind=kind)
        given(*UNCONFIRMED, *MINE).when(CONFIRM, call=call).refused(
            actor.AdministratorRequiredError
        )


def ways_to_grant(*commands: str) -> tuple[Command, Command]:
    """The two commands that would give OTTO what policy 7 permits."""
    define = DefinePolicy(
        name="Team",
        conduit_id=seeded.ENTRY,
        surface_id=HTTP,
        permitted_principal_ids=frozenset({OTTO, ADA}),
        permitted_commands=frozenset(commands),
        object_scope=ObjectScope.ALL,
    )
    return define, AddPolicyGrant(policy_id=UUID(int=7), permitted_principal_id=OTTO)


PLACE = (
    ConduitDefined(NOW, seeded.ENTRY, "Entry", UUID(int=10), UUID(int=11)),
    SurfaceDefined(NOW, HTTP, "HTTP", SurfaceKind.HTTP, seeded.ENTRY),
    *person(GRACE),
    *person(ADA),
    *MINE,
)
GRANTING = (*OPERATIONS, *policy_module.OPERATIONS)


def granting(*history: Part) -> Scenario:
    return Scenario(GRANTING, (*PLACE, *history))


def test_no_grant_goes_beyond_what_the_binder_of_an_unconfirmed_login_holds():
    for commands in (("*",), ("get_zone",), ("define_zone", "list_zones")):
        team = policy(7, ADA, commands=commands)
        helper = policy(8, GRACE, commands=("define_zone",))
        for way in ways_to_grant(*commands):
            refused = granting(*UNCONFIRMED, *team, *helper).when(way)
            told = refused.refused(GrantRequiresConfirmedLoginError, saying=f"Actor {OTTO} has a")
            assert told.facts == {
                "actor_id": str(OTTO),
                "issuer": ISSUER,
                "subject_digest": DIGEST,
                "bound_by": str(GRACE),
            }


def test_a_grant_within_what_the_binder_holds_needs_no_confirmation():
    team = policy(7, GRACE, commands=("get_zone",))
    for way in ways_to_grant("get_zone"):
        assert granting(*UNCONFIRMED, *team).when(way).decided()
        assert granting(*UNCONFIRMED, *policy(7, ADA), *policy(8, GRACE)).when(way).decided()


def test_a_confirmed_login_and_one_from_before_bindings_named_the_binder_carry_every_grant():
    team = policy(7, ADA)
    confirmed = actor.ActorIdentityConfirmed(NOW, OTTO, ISSUER, DIGEST)
    old = actor.ActorIdentityBound(NOW, OTTO, ISSUER, DIGEST)
    for history in ((*UNCONFIRMED, confirmed), (*person(OTTO), old, BOUND)):
        for way in ways_to_grant("*"):
            assert granting(*history, *team).when(way).decided()


def test_a_binder_who_has_lost_the_permission_or_is_not_active_holds_it_no_longer():
    team, (_, add) = policy(7, GRACE, commands=("get_zone",)), ways_to_grant("get_zone")
    revoked = PolicyGrantRevoked(NOW, UUID(int=7), GRACE, "left")
    gone = actor.ActorDeactivated(NOW, GRACE)
    for change in (revoked, gone):
        granting(*UNCONFIRMED, *team, change).when(add).refused(GrantRequiresConfirmedLoginError)


def test_an_own_login_next_to_an_unconfirmed_one_is_as_weak():
    own = replace(WEAK, subject_digest="e", bound_by=OTTO)
    team, (_, add) = policy(7, GRACE), ways_to_grant("*")
    told = granting(*person(OTTO), own, *team).when(add).refused(GrantRequiresConfirmedLoginError)
    assert told.facts["bound_by"] == str(OTTO)


def test_everybody_may_bind_a_second_login_of_their_own():
    otto = replace(CALL, principal_id=OTTO)
    assert given(*person(OTTO), *policy(5, OTTO)).when(BIND, call=otto).decided()
