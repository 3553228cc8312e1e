"""Bootstrap: what a fresh deployment begins with, and who becomes its first administrator."""

from collections.abc import Iterable
from uuid import UUID

import pytest

from beamkeep.contexts.access.actor import (
    ActorIdentityBound,
    ActorIdentityConfirmed,
    ActorIdentityUnbound,
    ActorRegistered,
    BoundLogin,
)
from beamkeep.contexts.access.profile import IDENTITIES, STANDINGS, SYSTEM, Identity, digest_of
from beamkeep.contexts.trust.bootstrap import (
    Administrator,
    AdministratorUnusableError,
    administrator,
    developer,
    foundations,
)
from beamkeep.contexts.trust.conduit import ConduitDefined
from beamkeep.contexts.trust.grants import POLICY_GRANTS
from beamkeep.contexts.trust.policy import PolicyDefined
from beamkeep.contexts.trust.surface import SurfaceDefined
from beamkeep.contexts.trust.zone import ZoneDefined
from beamkeep.kernel import (
    ActorKind,
    Call,
    DenialReason,
    Event,
    Grant,
    Insert,
    ObjectScope,
    Outcome,
    SideWrite,
    Standing,
    SurfaceKind,
    replace,
)
from beamkeep.testing.installation import FACTS
from beamkeep.testing.past import CALL, NEW, NOW, Past

pytestmark = pytest.mark.anyio

HERE = replace(FACTS, issuers=frozenset({"https://idp", "https://idp.second"}))
ADA = Administrator("https://idp", "ada", "Ada")


def fixed(number: int) -> UUID:
    return UUID(f"00000000-0000-7000-8000-{number:012}")


HTTP, STDIO, STREAMABLE = fixed(30), fixed(31), fixed(32)


def call(id: UUID | None) -> Call:
    machine = ActorKind.SERVICE_ACCOUNT
    return replace(CALL, principal_id=SYSTEM, principal_kind=machine, new_id=id or NEW)


def events(outcomes: Iterable[Outcome]) -> list[Event]:
    return [part for outcome in outcomes for part in outcome if isinstance(part, Event)]


def everything(name: str, principal_id: UUID) -> list[Event]:
    return [
        PolicyDefined(
            NOW, NEW, name, fixed(20), surface_id, (principal_id,), ("*",), ObjectScope.ALL
        )
        for surface_id in (HTTP, STDIO, STREAMABLE)
    ]


def test_the_foundations():
    stream = SurfaceKind.MCP_STREAMABLE_HTTP
    observing = ("observe_enclosure_status", "observe_supply_status")
    assert events(outcome for _, outcome in foundations(call)) == [
        ActorRegistered(NOW, fixed(1), ActorKind.SERVICE_ACCOUNT, ()),
        ActorRegistered(NOW, fixed(2), ActorKind.SERVICE_ACCOUNT, ()),
        ZoneDefined(NOW, fixed(10), "Clients"),
        ZoneDefined(NOW, fixed(11), "Service"),
        ZoneDefined(NOW, fixed(12), "Workers"),
        ConduitDefined(NOW, fixed(20), "Entry", fixed(10), fixed(11)),
        ConduitDefined(NOW, fixed(21), "Internal", fixed(12), fixed(11)),
        SurfaceDefined(NOW, HTTP, "HTTP", SurfaceKind.HTTP, fixed(20)),
        SurfaceDefined(NOW, STDIO, "MCP stdio", SurfaceKind.MCP_STDIO, fixed(20)),
        SurfaceDefined(NOW, STREAMABLE, "MCP streamable HTTP", stream, fixed(20)),
        PolicyDefined(
            NOW, fixed(40), "Monitors", fixed(21), None, (fixed(2),), observing, ObjectScope.ALL
        ),
        PolicyDefined(
            *(NOW, fixed(41), "Deliveries", fixed(21), None, (fixed(1),)),
            *(("pause_subscription",), ObjectScope.ALL),
        ),
        PolicyDefined(
            *(NOW, fixed(42), "Checks", fixed(21), None, (fixed(1),)),
            *(("end_distribution_check", "record_attestation"), ObjectScope.ALL),
        ),
        PolicyDefined(
            *(NOW, fixed(43), "Minting", fixed(21), None, (fixed(1),)),
            *(("settle_dataset_external_id", "settle_edition_external_id"), ObjectScope.ALL),
        ),
    ]


def test_each_foundation_is_remembered_by_a_key_of_its_own():
    assert [key for key, _ in foundations(call)] == [
        *("actor-System", "actor-Monitor"),
        *("zone-Clients", "zone-Service", "zone-Workers"),
        *("conduit-Entry", "conduit-Internal"),
        *("surface-HTTP", "surface-MCP_STDIO", "surface-MCP_STREAMABLE_HTTP"),
        *("policy-Monitors", "policy-Deliveries", "policy-Checks", "policy-Minting"),
    ]


def test_seeded_actors_have_no_login():
    outcomes = [outcome for _, outcome in (*foundations(call), *developer(call))]
    inserted = [part for outcome in outcomes for part in outcome if isinstance(part, Insert)]
    assert not [part for part in inserted if part.table == IDENTITIES]


def test_the_developer_may_do_everything_on_every_seeded_surface():
    found = list(developer(call))
    assert [key for key, _ in found] == [
        "actor-Developer",
        "policy-Development-HTTP",
        "policy-Development-MCP_STDIO",
        "policy-Development-MCP_STREAMABLE_HTTP",
    ]
    assert events(outcome for _, outcome in found) == [
        ActorRegistered(NOW, fixed(3), ActorKind.HUMAN, ()),
        *everything("Development", fixed(3)),
    ]


BOUND = UUID(int=100)
login = IDENTITIES.insert(Identity("https://idp", "ada", BOUND))


def standing(barred: DenialReason | None = None, kind: ActorKind = ActorKind.HUMAN) -> Insert:
    return STANDINGS.insert(Standing(BOUND, kind, barred))


def grant(
    principal_id: UUID = BOUND,
    surface_id: UUID | None = HTTP,
    commands: tuple[str, ...] = ("*",),
    scope: ObjectScope = ObjectScope.ALL,
) -> Insert:
    row = Grant(UUID(int=41), principal_id, fixed(20), surface_id, commands, scope)
    return POLICY_GRANTS.insert(row)


known = ActorRegistered(NOW, BOUND, ActorKind.HUMAN)


async def named(*history: Event | SideWrite) -> list[Event]:
    return events(await administrator(ADA, call, Past([known, *history], HERE)))


async def test_a_fresh_deployment_registers_its_administrator():
    outcomes = await administrator(ADA, call, Past([], HERE))
    named = BoundLogin("https://idp", digest_of(HERE.login_key, NEW, "https://idp", "ada"))
    assert events(outcomes) == [
        ActorRegistered(NOW, NEW, ActorKind.HUMAN, (named,), SYSTEM, confirmed=True),
        *everything("Administrators", NEW),
    ]
    bound = [p for p in outcomes[0] if isinstance(p, Insert) and p.table == IDENTITIES]
    assert [part.row for part in bound] == [Identity("https://idp", "ada", NEW)]


async def test_an_actor_with_that_login_is_taken_instead():
    assert await named(login, standing()) == everything("Administrators", BOUND)


async def test_an_actor_with_that_login_keeps_no_other_that_somebody_else_bound():
    digests = [digest_of(HERE.login_key, BOUND, "https://idp", name) for name in ("ada", "eve")]
    bound = [
        ActorIdentityBound(NOW, BOUND, "https://idp", digest, bound_by=UUID(int=7), confirmed=False)
        for digest in digests
    ]
    eve = IDENTITIES.insert(Identity("https://idp", "eve", BOUND))
    past = Past([known, *bound, login, eve, standing()], HERE)
    settled, *_ = await administrator(ADA, call, past)
    assert [*settled] == [
        ActorIdentityConfirmed(NOW, BOUND, "https://idp", digests[0]),
        ActorIdentityUnbound(NOW, BOUND, "https://idp", digests[1]),
        IDENTITIES.delete("https://idp", "eve"),
    ]


async def test_blanks_around_the_login_in_the_settings_do_not_matter():
    person = Administrator(" https://idp", "ada ", "Ada")
    past = Past([known, login, standing()], HERE)
    assert events(await administrator(person, call, past)) == everything("Administrators", BOUND)


async def test_the_settings_are_ignored_while_there_is_an_administrator():
    assert await named(login, standing(), grant(surface_id=HTTP)) == []
    elsewhere = IDENTITIES.insert(Identity("https://idp.second", "ada", BOUND))
    assert await named(elsewhere, standing(), grant()) == []


async def test_an_administrator_whom_the_http_surface_does_not_let_in_is_let_in_again():
    for surface_id in (STDIO, STREAMABLE):
        found = await named(login, standing(), grant(surface_id=surface_id))
        assert found == everything("Administrators", BOUND)


async def test_an_administrator_who_cannot_log_in_does_not_keep_the_settings_from_recovering():
    removed = IDENTITIES.insert(Identity("https://idp.closed", "ada", BOUND))
    for history in ((standing(), grant()), (standing(), grant(), removed)):
        registered, *policies = await named(*history)
        assert isinstance(registered, ActorRegistered)
        assert policies == everything("Administrators", registered.actor_id)


async def test_not_everybody_who_is_permitted_something_is_an_administrator():
    seeded = STANDINGS.insert(Standing(fixed(3), ActorKind.HUMAN))
    other = IDENTITIES.insert(Identity("https://idp", "otto", BOUND))
    for history in (
        (standing(), grant(commands=("define_zone",))),
        (standing(), grant(surface_id=UUID(int=33))),
        (standing(), grant(surface_id=None)),
        (standing(), grant(scope=ObjectScope.OWN)),
        (standing(DenialReason.INACTIVE_PRINCIPAL), grant()),
        (standing(kind=ActorKind.SERVICE_ACCOUNT), grant()),
        (seeded, grant(fixed(3))),
    ):
        assert len(await named(other, *history)) == 4


async def test_developer_does_not_keep_the_settings_from_naming_an_administrator():
    seeded = STANDINGS.insert(Standing(fixed(3), ActorKind.HUMAN))
    past = Past([seeded, grant(fixed(3))], replace(HERE, open_for_development=True))
    assert len(events(await administrator(ADA, call, past))) == 4


async def test_a_login_of_an_actor_that_may_not_administrate_fails_the_start():
    barred = standing(DenialReason.INACTIVE_PRINCIPAL)
    for unusable in (barred, standing(kind=ActorKind.SERVICE_ACCOUNT)):
        with pytest.raises(AdministratorUnusableError, match="BOOTSTRAP_ADMIN"):
            await named(login, unusable)
