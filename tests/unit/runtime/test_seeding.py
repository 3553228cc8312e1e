"""A fresh deployment is prepared once, and recovered when it locked itself out."""

import asyncio
import json
from uuid import UUID

import pytest

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.seams.installation import Facts
from beamkeep.contexts.trust.bootstrap import Administrator, AdministratorUnusableError
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.kernel import CLAIMS
from beamkeep.runtime import Service
from beamkeep.runtime.admission import UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.store import Append, Position
from beamkeep.runtime.tokens import InvalidTokenError
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import ADMIN, call

pytestmark = pytest.mark.anyio

SYSTEM = UUID("00000000-0000-7000-8000-000000000001")
MONITOR = UUID("00000000-0000-7000-8000-000000000002")
MONITORS = UUID("00000000-0000-7000-8000-000000000040")
FOUNDATIONS = [
    "actor-System",
    "actor-Monitor",
    "zone-Clients",
    "zone-Service",
    "zone-Workers",
    "conduit-Entry",
    "conduit-Internal",
    "surface-HTTP",
    "surface-MCP_STDIO",
    "surface-MCP_STREAMABLE_HTTP",
    "policy-Monitors",
    "policy-Deliveries",
    "policy-Checks",
    "policy-Minting",
    "agent-RunSupervisor",
    "agent-CautionPromoter",
    "agent-ClearanceExpirer",
]
OWN_SITE = ["FacilityRegistered"]
FIRST_ADMINISTRATOR = ["ActorRegistered", "PolicyDefined", "PolicyDefined", "PolicyDefined"]


def fresh() -> MemoryStore:
    return MemoryStore(Codec(CATALOGUE.aggregates.values()))


def serve(store: MemoryStore) -> Service:
    # No provider is configured here, so nobody counts as an administrator and everybody may go.
    return compose(store, store, cursor_key=b"k")


async def start(
    store: MemoryStore,
    admin: Administrator | None = ADMIN,
    open_for_development: bool = False,
    code: str = "local",
    issuers: frozenset[str] = frozenset({ISSUER}),
) -> list[str]:
    here = Facts(facility_code=code, issuers=issuers)
    return await prepare(store, store, admin, open_for_development, facts=here)


async def sites(store: MemoryStore) -> list[tuple[str, str, str]]:
    found = json.loads((await call(serve(store), "list_facilities", {})).body)["items"]
    return [(site["code"], site["name"], site["kind"]) for site in found]


async def test_a_fresh_deployment_is_seeded():
    assert await start(fresh()) == FOUNDATIONS + OWN_SITE + FIRST_ADMINISTRATOR


async def test_without_settings_there_is_no_administrator():
    assert await start(fresh(), admin=None) == FOUNDATIONS + OWN_SITE


async def test_a_second_start_writes_nothing():
    store = fresh()
    await start(store)
    before = store.position
    assert await start(store) == []
    assert store.position == before


async def test_processes_that_start_together_seed_once():
    store = fresh()
    sown = await asyncio.gather(*(start(store) for _ in range(5)))
    assert sorted(sown, key=len) == [[], [], [], [], FOUNDATIONS + OWN_SITE + FIRST_ADMINISTRATOR]


async def test_a_start_that_broke_off_is_finished_by_the_next():
    class Breaking(MemoryStore):
        left = 5

        async def append(self, append: Append) -> Position:
            self.left -= 1
            if self.left < 0:
                raise ConnectionError
            return await super().append(append)

    store = Breaking(Codec(CATALOGUE.aggregates.values()))
    with pytest.raises(ConnectionError):
        await start(store)
    store.left = 100
    assert await start(store) == FOUNDATIONS[5:] + OWN_SITE + FIRST_ADMINISTRATOR


async def test_the_envelope_of_a_seed_names_system():
    store = fresh()
    await start(store)
    envelopes = [envelope for stream in store.streams.values() for envelope in stream]
    assert {e.principal_id for e in envelopes} == {SYSTEM}
    assert {e.command_name for e in envelopes} == {"bootstrap_deployment"}
    assert {e.surface_id for e in envelopes} == {None}


async def test_a_seed_is_remembered_by_a_claim_without_a_holder():
    store = fresh()
    await start(store)
    claims = await store.rows(CLAIMS, {"scope": "seed"})
    assert [claim.key for claim in claims] == [f'["{key}"]' for key in FOUNDATIONS]
    assert {claim.holder for claim in claims} == {None}


async def test_what_was_revoked_or_deactivated_since_stays_so():
    store = fresh()
    await start(store)
    service = serve(store)
    revoke = {
        "policy_id": str(MONITORS),
        "permitted_principal_id": str(MONITOR),
        "reason": "not used here",
    }
    await call(service, "revoke_grant", revoke)
    await call(service, "deactivate_actor", {"actor_id": str(MONITOR)})
    assert await start(store) == []
    assert not [key for key in store.tables["policy_grant"] if key[0] == MONITORS]


async def test_the_own_site_has_the_code_of_the_settings_for_its_name():
    store = fresh()
    await start(store, code="synchrotron")
    assert await sites(store) == [("synchrotron", "synchrotron", "Site")]


async def test_a_facility_that_has_the_code_already_is_the_own_site():
    store = fresh()
    await start(store)
    peer = {"code": "synchrotron", "name": "The ring", "kind": "Site"}
    await call(serve(store), "register_facility", peer)
    assert await start(store, code="synchrotron") == []
    assert await start(store, code="neutron-source") == OWN_SITE
    assert await sites(store) == [
        ("neutron-source", "neutron-source", "Site"),
        ("synchrotron", "The ring", "Site"),
        ("local", "local", "Site"),
    ]


async def test_a_service_that_runs_open_seeds_the_developer_once():
    store = fresh()
    await start(store, admin=None)
    assert await start(store, admin=None, open_for_development=True) == [
        "actor-Developer",
        "policy-Development-HTTP",
        "policy-Development-MCP_STDIO",
        "policy-Development-MCP_STREAMABLE_HTTP",
    ]
    assert await start(store, admin=None, open_for_development=True) == []


async def test_the_developer_is_no_administrator():
    store = fresh()
    await start(store, admin=None, open_for_development=True)
    assert await start(store) == FIRST_ADMINISTRATOR


async def test_the_settings_are_ignored_while_there_is_an_administrator():
    store = fresh()
    await start(store)
    assert await start(store, Administrator(ISSUER, "otto", "Otto")) == []
    with pytest.raises(InvalidTokenError):
        await call(serve(store), "list_zones", {}, subject="otto")


async def grants_of_ada(store: MemoryStore) -> list[tuple[UUID, UUID]]:
    ada = store.tables["actor_identity"][ISSUER, "ada"].actor_id
    return [
        (row.policy_id, ada)
        for row in store.tables["policy_grant"].values()
        if row.principal_id == ada
    ]


async def test_a_deployment_that_locked_itself_out_is_recovered_for_the_same_actor():
    store = fresh()
    await start(store)
    service = serve(store)
    grants = await grants_of_ada(store)
    # The policy on the HTTP surface goes last, for it permits the revoking.
    for policy_id, ada in reversed(grants):
        revoke = {"policy_id": str(policy_id), "permitted_principal_id": str(ada), "reason": "x"}
        await call(service, "revoke_grant", revoke)
    with pytest.raises(UnauthorizedError):
        await call(service, "list_zones", {})
    assert await start(store) == ["PolicyDefined"] * 3
    await call(service, "list_zones", {})


@pytest.mark.parametrize("removal", ["unbind_actor_identity", "forget_actor"])
async def test_an_administrator_who_lost_every_login_is_followed_by_another(removal: str):
    store = fresh()
    await start(store)
    (_, ada), *_ = await grants_of_ada(store)
    login = {"issuer": ISSUER, "subject": "ada"} if removal.startswith("unbind") else {}
    await call(serve(store), removal, {"actor_id": str(ada), **login})
    assert await start(store) == FIRST_ADMINISTRATOR
    await call(serve(store), "list_zones", {})


async def test_an_administrator_whose_provider_is_no_longer_configured_is_followed_by_another():
    store = fresh()
    await start(store)
    second = "https://idp.second"
    grace = Administrator(second, "grace", "Grace")
    assert await start(store, grace, issuers=frozenset({ISSUER, second})) == []
    assert await start(store, grace, issuers=frozenset({second})) == FIRST_ADMINISTRATOR
    assert await start(store, grace, issuers=frozenset({second})) == []


async def test_a_login_bound_already_makes_its_actor_the_administrator():
    store = fresh()
    await start(store)
    service = serve(store)
    login = {"issuer": ISSUER, "subject": "otto"}
    otto = await call(service, "register_actor", {"name": "Otto", "identities": [login]})
    (_, ada), *_ = await grants_of_ada(store)
    await call(service, "deactivate_actor", {"actor_id": str(ada)})
    assert await start(store, Administrator(ISSUER, "otto", "Somebody")) == ["PolicyDefined"] * 3
    assert store.tables["actor_profile"][(otto.id,)].name == "Otto"
    await call(service, "list_zones", {}, subject="otto")


async def test_an_actor_that_is_not_active_fails_the_start():
    store = fresh()
    await start(store)
    (_, ada), *_ = await grants_of_ada(store)
    await call(serve(store), "deactivate_actor", {"actor_id": str(ada)})
    before = store.position
    with pytest.raises(AdministratorUnusableError):
        await start(store)
    assert store.position == before
    await start(store, Administrator(ISSUER, "otto", "Otto"))


async def test_a_machine_account_fails_the_start():
    store = fresh()
    await start(store)
    service = serve(store)
    robot = {
        "name": "Robot",
        "kind": "service_account",
        "identities": [{"issuer": ISSUER, "subject": "robot"}],
    }
    await call(service, "register_actor", robot)
    (_, ada), *_ = await grants_of_ada(store)
    await call(service, "deactivate_actor", {"actor_id": str(ada)})
    with pytest.raises(AdministratorUnusableError):
        await start(store, Administrator(ISSUER, "robot", "Robot"))
