"""Policy: whom it permits what, and the grant rows that go with it."""

from collections.abc import Sequence
from uuid import UUID

from beamkeep.contexts.access.actor import ActorDeactivated, ActorNotFoundError, ActorRegistered
from beamkeep.contexts.access.profile import STANDINGS
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import administrators, policy, seeded
from beamkeep.contexts.trust.conduit import ConduitDefined, ConduitNotFoundError
from beamkeep.contexts.trust.grants import POLICY_GRANTS, GrantExceedsOwnError
from beamkeep.contexts.trust.policy import (
    AddPolicyGrant,
    DefinePolicy,
    InvalidPolicyPermittedCommandsError,
    Policy,
    PolicyCannotAddGrantError,
    PolicyCannotDefineError,
    PolicyCannotRevokeGrantError,
    PolicyDefined,
    PolicyGrantAdded,
    PolicyGrantRevoked,
    PolicyNotFoundError,
    RevokePolicyGrant,
    begin,
    evolve,
)
from beamkeep.contexts.trust.surface import SurfaceDefined, SurfaceNotFoundError
from beamkeep.kernel import (
    ActorKind,
    Event,
    Grant,
    ObjectScope,
    SideWrite,
    Standing,
    SurfaceKind,
    replace,
)
from beamkeep.testing.past import ABSENT, CALL, ME, NEW, NOW
from beamkeep.testing.scenario import Scenario

OPERATION_NAMES = CATALOGUE.named.keys()
ID = NEW
ENTRY, CONSOLE, ELSEWHERE = UUID(int=20), UUID(int=30), UUID(int=31)
INTERNAL = UUID("00000000-0000-7000-8000-000000000021")
LISE, OTTO, NIELS = UUID(int=100), UUID(int=101), UUID(int=102)

TOPOLOGY = (
    ConduitDefined(NOW, ENTRY, "Entry", UUID(int=10), UUID(int=11)),
    ConduitDefined(NOW, INTERNAL, "Internal", UUID(int=12), UUID(int=11)),
    SurfaceDefined(NOW, CONSOLE, "Console", SurfaceKind.HTTP, ENTRY),
    SurfaceDefined(NOW, ELSEWHERE, "Elsewhere", SurfaceKind.HTTP, UUID(int=22)),
    *(ActorRegistered(NOW, id, ActorKind.HUMAN) for id in (LISE, OTTO, NIELS)),
)
defined = PolicyDefined(
    NOW, ID, "Team", ENTRY, CONSOLE, (LISE, OTTO), ("define_zone", "get_zone"), ObjectScope.OWN
)
DEFINE = DefinePolicy(
    name="Team",
    conduit_id=ENTRY,
    surface_id=CONSOLE,
    permitted_principal_ids=frozenset({OTTO, LISE}),
    permitted_commands=frozenset({"get_zone", "define_zone"}),
    object_scope=ObjectScope.OWN,
)
revoked = PolicyGrantRevoked(NOW, ID, LISE, "left")
REVOKE = RevokePolicyGrant(policy_id=ID, permitted_principal_id=LISE, reason="left")


OPERATIONS = (*policy.OPERATIONS, *administrators.OPERATIONS)
EVERYTHING = Grant(
    UUID(int=40), ME, seeded.ENTRY, seeded.SURFACES[SurfaceKind.HTTP], ("*",), ObjectScope.ALL
)


def with_policy(grant: Grant) -> tuple[Event, SideWrite]:
    """A grant, and the policy that it comes from."""
    own = PolicyDefined.of(
        grant, occurred_at=NOW, name="Own", permitted_principal_ids=(grant.principal_id,)
    )
    return own, POLICY_GRANTS.insert(grant)


def given(*history: Event | SideWrite) -> Scenario:
    return Scenario(OPERATIONS, (*TOPOLOGY, *with_policy(EVERYTHING), *history))


def given_i_hold(*grants: Grant, since: Sequence[Event | SideWrite] = ()) -> Scenario:
    mine = [
        part
        for n, grant in enumerate(grants)
        for part in with_policy(replace(grant, principal_id=ME, policy_id=UUID(int=500 + n)))
    ]
    return Scenario(OPERATIONS, (*TOPOLOGY, defined, *mine, *since))


def grant(principal_id: UUID) -> Grant:
    return Grant(ID, principal_id, ENTRY, CONSOLE, ("define_zone", "get_zone"), ObjectScope.OWN)


def defining(**changes: object) -> DefinePolicy:
    return DEFINE.model_copy(update=changes)


def test_a_policy_is_defined_with_one_grant_row_for_each_principal():
    given().when(DEFINE).then(
        defined, POLICY_GRANTS.insert(grant(LISE)), POLICY_GRANTS.insert(grant(OTTO))
    )


def test_a_policy_permits_everything_by_an_asterisk_alone():
    given().when(
        defining(permitted_commands=frozenset({"*"}), permitted_principal_ids=frozenset({LISE}))
    ).then(
        replace(defined, permitted_principal_ids=(LISE,), permitted_commands=("*",)),
        POLICY_GRANTS.insert(Grant(ID, LISE, ENTRY, CONSOLE, ("*",), ObjectScope.OWN)),
    )


def test_a_policy_for_calls_from_inside_has_no_surface():
    given().when(
        defining(conduit_id=INTERNAL, surface_id=None, permitted_principal_ids=frozenset({LISE}))
    ).then(
        replace(defined, conduit_id=INTERNAL, surface_id=None, permitted_principal_ids=(LISE,)),
        POLICY_GRANTS.insert(replace(grant(LISE), conduit_id=INTERNAL, surface_id=None)),
    )


def test_commands_and_queries_must_be_known():
    for names in ({"define_zone", "fly"}, {"*", "define_zone"}, {"Define_Zone"}, {" get_zone"}):
        given().when(defining(permitted_commands=frozenset(names))).refused(
            InvalidPolicyPermittedCommandsError, saying="Unknown: "
        )


def test_what_a_policy_refers_to_must_exist():
    given().when(defining(conduit_id=ABSENT)).refused(ConduitNotFoundError)
    given().when(defining(surface_id=ABSENT)).refused(SurfaceNotFoundError)
    given().when(defining(permitted_principal_ids=frozenset({LISE, ABSENT}))).refused(
        ActorNotFoundError
    )


def test_a_surface_goes_with_its_own_conduit():
    given().when(defining(surface_id=ELSEWHERE)).refused(
        PolicyCannotDefineError, saying=f"The conduit must be {UUID(int=22)}."
    )
    given().when(defining(conduit_id=INTERNAL)).refused(PolicyCannotDefineError)


def test_without_a_surface_the_conduit_is_internal():
    given().when(defining(surface_id=None)).refused(PolicyCannotDefineError, saying="Internal")


def test_faults_are_reported_in_order():
    wrong = {"surface_id": ELSEWHERE, "permitted_commands": frozenset({"fly"})}
    given().when(defining(**wrong, conduit_id=ABSENT)).refused(ConduitNotFoundError)
    given().when(defining(**wrong)).refused(InvalidPolicyPermittedCommandsError)


def adding(principal_id: UUID) -> AddPolicyGrant:
    return AddPolicyGrant(policy_id=ID, permitted_principal_id=principal_id)


ADD = adding(NIELS)
ADDED = (PolicyGrantAdded(NOW, ID, NIELS), POLICY_GRANTS.insert(grant(NIELS)))


def test_one_more_principal_is_permitted():
    given(defined).when(ADD).then(*ADDED)


def test_a_principal_is_not_permitted_twice():
    given(defined).when(adding(LISE)).refused(PolicyCannotAddGrantError, saying="already")


def test_a_revoked_principal_is_permitted_again():
    revoked = PolicyGrantRevoked(NOW, ID, LISE, "left")
    given(defined, revoked).when(adding(LISE)).then(
        PolicyGrantAdded(NOW, ID, LISE), POLICY_GRANTS.insert(grant(LISE))
    )


def test_a_policy_permits_at_most_5000():
    others = tuple(UUID(int=1000 + n) for n in range(5000))
    full, nearly = (replace(defined, permitted_principal_ids=others[:n]) for n in (5000, 4999))
    given(nearly).when(ADD).then(*ADDED)
    given(full).when(ADD).refused(PolicyCannotAddGrantError, saying="full")


def test_an_actor_that_is_not_active_or_does_not_exist_is_not_permitted():
    barred = given(defined, ActorDeactivated(NOW, NIELS))
    barred.when(ADD).refused(PolicyCannotAddGrantError, saying="not active")
    given(defined).when(adding(ABSENT)).refused(ActorNotFoundError)


LESS: tuple[list[Grant], ...] = (
    [],
    [replace(grant(ME), permitted_commands=("define_zone",))],
    [replace(grant(ME), permitted_commands=("define_zone", "list_zones"))],
    [replace(grant(ME), surface_id=ELSEWHERE)],
    [replace(grant(ME), surface_id=None)],
    [replace(grant(ME), conduit_id=INTERNAL)],
    [Grant(ID, ME, ENTRY, ELSEWHERE, ("*",), ObjectScope.ALL)],
)
ENOUGH = (
    [grant(ME)],
    [replace(grant(ME), permitted_commands=("*",))],
    [replace(grant(ME), object_scope=ObjectScope.ALL)],
    [replace(grant(ME), permitted_commands=(name,)) for name in ("define_zone", "get_zone")],
)


def test_nobody_grants_what_they_do_not_hold():
    for own in LESS:
        for command in (ADD, DEFINE):
            given_i_hold(*own).when(command).refused(GrantExceedsOwnError, saying="get_zone")


def test_a_caller_who_holds_as_much_grants_it():
    for own in ENOUGH:
        given_i_hold(*own).when(ADD).then(*ADDED)


def test_an_agent_grants_only_what_is_among_its_tools():
    everything = replace(grant(ME), permitted_commands=("*",), object_scope=ObjectScope.ALL)
    administrator = Grant(
        ID, ME, seeded.ENTRY, seeded.SURFACES[SurfaceKind.HTTP], ("*",), ObjectScope.ALL
    )
    for own in (grant(ME), everything, administrator):
        for tools in ((), ("get_zone",), ("add_grant", "define_zone")):
            agent = STANDINGS.insert(Standing(ME, ActorKind.AGENT, tools=tools))
            given_i_hold(own, since=[agent]).when(ADD).refused(GrantExceedsOwnError)
    for own in (grant(ME), everything):
        both = STANDINGS.insert(Standing(ME, ActorKind.AGENT, tools=("define_zone", "get_zone")))
        given_i_hold(own, since=[both]).when(ADD).then(*ADDED)


def test_a_grant_that_its_policy_has_revoked_meanwhile_counts_no_more():
    revoked = PolicyGrantRevoked(NOW, UUID(int=500), ME, "left")
    for own in (grant(ME), EVERYTHING):
        given_i_hold(own, since=[revoked]).when(ADD).refused(GrantExceedsOwnError)


def test_nobody_shows_more_objects_than_they_see():
    everything = defining(object_scope=ObjectScope.ALL)
    given_i_hold(grant(ME)).when(everything).refused(GrantExceedsOwnError, saying="scope All")
    asterisk = defining(permitted_commands=frozenset({"*"}))
    given_i_hold(grant(ME)).when(asterisk).refused(GrantExceedsOwnError, saying=": *.")


def test_nobody_grants_themselves_more():
    lise = replace(CALL, principal_id=LISE)
    own = replace(grant(LISE), policy_id=UUID(int=41))
    scenario = Scenario(OPERATIONS, (*TOPOLOGY, *with_policy(own)))
    more = defining(permitted_principal_ids=frozenset({LISE}), object_scope=ObjectScope.ALL)
    scenario.when(more, call=lise).refused(GrantExceedsOwnError)


def test_everything_but_only_its_own_objects_does_not_make_an_administrator():
    http = seeded.SURFACES[SurfaceKind.HTTP]
    own = Grant(NEW, ME, seeded.ENTRY, http, ("*",), ObjectScope.OWN)
    given_i_hold(own).when(DEFINE).refused(GrantExceedsOwnError)


def test_a_refused_policy_for_calls_inside_the_service_names_no_surface():
    inside = defining(surface_id=None, conduit_id=seeded.INTERNAL)
    given_i_hold().when(inside).refused(
        GrantExceedsOwnError, saying=f"conduit {seeded.INTERNAL} and no surface with scope"
    )


def test_a_long_list_of_what_is_not_held_is_cut():
    names = frozenset(sorted(OPERATION_NAMES)[:12])
    given_i_hold().when(defining(permitted_commands=names)).refused(
        GrantExceedsOwnError, saying=" and 2 more."
    )


def test_a_grant_is_revoked_with_its_row_and_the_last_one_too():
    for past in ((defined,), (defined, replace(revoked, permitted_principal_id=OTTO))):
        given(*past).when(REVOKE).then(revoked, POLICY_GRANTS.delete(ID, LISE))


def test_what_is_not_granted_is_not_revoked():
    given(defined, revoked).when(REVOKE).refused(PolicyCannotRevokeGrantError)


def test_a_policy_that_does_not_exist_is_not_changed():
    given().when(REVOKE).refused(PolicyNotFoundError)


def test_a_policy_is_what_its_events_say():
    team = begin(defined)
    both, commands = frozenset({LISE, OTTO}), frozenset({"define_zone", "get_zone"})
    assert team == Policy(ID, "Team", ENTRY, CONSOLE, both, commands, ObjectScope.OWN)
    more = evolve(team, PolicyGrantAdded(NOW, ID, NIELS))
    assert more.permitted_principal_ids == {LISE, OTTO, NIELS}
    assert evolve(more, revoked).permitted_principal_ids == {OTTO, NIELS}
