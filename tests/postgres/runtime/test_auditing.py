"""The rows beside the streams are compared with what the streams say, whoever wrote them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import pytest
from tests.support.examples import EXAMPLES

from beamkeep.adapters.memory.ledger import MemoryLedger
from beamkeep.adapters.postgres.ledger import ledger
from beamkeep.contexts.access.actor import ActorIdentityBound, ActorRegistered
from beamkeep.contexts.access.profile import IDENTITIES, PROFILES, STANDINGS, Identity, Profile
from beamkeep.contexts.data.dataset import PARTS, PartRow
from beamkeep.contexts.data.dataset import STANDINGS as STANDINGS_OF_DATASETS
from beamkeep.contexts.data.distribution import COPIES
from beamkeep.contexts.feed.subscription import BOOKMARKS, DELIVERIES, SECRETS
from beamkeep.contexts.seams.lineage import EDGES, ProvenanceEdge, ProvenanceRelation
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.grants import POLICY_GRANTS
from beamkeep.kernel import (
    CLAIMS,
    ActorKind,
    Claim,
    Grant,
    ObjectScope,
    SideWrite,
    Standing,
    SurfaceKind,
    claim_key,
    replace,
)
from beamkeep.runtime import Service
from beamkeep.runtime.store import EventStore
from beamkeep.testing.appends import append, at
from beamkeep.testing.database import Database
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.past import NOW
from beamkeep.testing.postgres import postgres_service
from beamkeep.testing.service import AdminClient, call, enrol, memory_service, permit
from beamkeep.workers.auditing import DERIVED, Ledger, differences

pytestmark = pytest.mark.anyio

HTTP = seeded.SURFACES[SurfaceKind.HTTP]
NOBODY = UUID(int=404)


class Audited(NamedTuple):
    """A service whose rows can be compared, and written past it."""

    service: Service
    store: EventStore
    opened: Callable[[], AbstractAsyncContextManager[Ledger]]

    async def found(self) -> list[str]:
        async with self.opened() as opened:
            return [found async for found in differences(opened)]

    async def write_past(self, *rows: SideWrite) -> None:
        await self.store.append(append(side_writes=list(rows)))


@pytest.fixture
async def audited(place: Database | None) -> AsyncGenerator[Audited]:
    if place is None:
        service, store = await memory_service()

        @asynccontextmanager
        async def opened() -> AsyncGenerator[MemoryLedger]:
            yield MemoryLedger(store, b"k" * 32)

        yield Audited(service, store, opened)
        return
    async with postgres_service(place) as deployed:
        yield Audited(deployed.service, deployed.store, lambda: ledger(place.url()))


async def test_the_rows_of_a_fresh_deployment_are_those_its_streams_call_for(audited: Audited):
    assert await audited.found() == []


async def test_whatever_is_done_the_rows_are_those_the_streams_call_for():
    service, store = await memory_service()
    do = AdminClient(service, store)
    for name, example in EXAMPLES.items():
        await do(name, await example(do))
    for derived in DERIVED:
        assert [
            row async for row in MemoryLedger(store, b"").rows(derived.table, derived.owner, ())
        ]
    found = [each async for each in differences(MemoryLedger(store, b"k" * 32))]
    assert found == []


async def test_a_grant_that_was_written_past_the_service_is_found(audited: Audited):
    otto = await enrol(audited.service, "otto", "get_zone")
    (own,) = await audited.store.rows(POLICY_GRANTS, {"principal_id": otto})
    for policy_id in (own.policy_id, seeded.MONITORS, NOBODY):
        everything = Grant(policy_id, otto, seeded.ENTRY, HTTP, ("*",), ObjectScope.ALL)
        await audited.write_past(POLICY_GRANTS.delete(policy_id, otto))
        await audited.write_past(POLICY_GRANTS.insert(everything))
    told = await audited.found()
    assert [line.partition(":")[0] for line in told] == [
        f"bk.policy_grant has a row of Policy {NOBODY}, which does not exist",
        f"bk.policy_grant has a row that the events of Policy {seeded.MONITORS} do not explain",
        f"bk.policy_grant has a row that the events of Policy {own.policy_id} do not explain",
        f"bk.policy_grant lacks a row that the events of Policy {own.policy_id} require",
    ]
    assert f"policy_id {NOBODY}, principal_id {otto}" in told[0]
    assert "permitted_commands *, object_scope All" in told[0]


async def test_a_grant_that_was_taken_away_past_the_service_is_found(audited: Audited):
    otto = await enrol(audited.service, "otto")
    policy_id = await permit(audited.service, otto, "get_zone")
    await audited.write_past(POLICY_GRANTS.delete(policy_id, otto))
    (told,) = await audited.found()
    assert told.startswith(
        f"bk.policy_grant lacks a row that the events of Policy {policy_id} require"
    )


async def test_a_standing_that_was_changed_past_the_service_is_found(audited: Audited):
    otto = await enrol(audited.service, "otto")
    await call(audited.service, "deactivate_actor", {"actor_id": str(otto)})
    await audited.write_past(STANDINGS.replace(Standing(otto, ActorKind.HUMAN)))
    events, row = f"that the events of Actor {otto}", f"principal_id {otto}, kind human, barred"
    assert await audited.found() == [
        f"bk.principal_standing has a row {events} do not explain: {row} None.",
        f"bk.principal_standing lacks a row {events} require: {row} inactive_principal.",
    ]
    await audited.write_past(STANDINGS.insert(Standing(NOBODY, ActorKind.HUMAN)))
    assert len(await audited.found()) == 3


async def test_a_login_that_was_written_past_the_service_is_found_and_its_subject_not_shown(
    audited: Audited,
):
    otto = await enrol(audited.service, "otto")
    login = {"actor_id": str(otto), "issuer": ISSUER, "subject": "otto.second"}
    await call(audited.service, "bind_actor_identity", login)
    assert await audited.found() == []
    await audited.write_past(IDENTITIES.insert(Identity(ISSUER, "mallory", otto)))
    (told,) = await audited.found()
    assert told.startswith(f"bk.actor_identity has a row that the events of Actor {otto} do not")
    assert "mallory" not in told
    await audited.write_past(IDENTITIES.delete(ISSUER, "mallory"))
    await call(audited.service, "unbind_actor_identity", login)
    assert await audited.found() == []
    await audited.write_past(IDENTITIES.delete(ISSUER, "otto"))
    (told,) = await audited.found()
    assert told.startswith(f"bk.actor_identity lacks a row that the events of Actor {otto} require")
    await call(audited.service, "forget_actor", {"actor_id": str(otto)})
    assert await audited.found() == []


async def test_a_login_from_before_events_named_it_is_not_doubted(audited: Audited):
    registered = ActorRegistered(NOW, NOBODY, ActorKind.HUMAN)
    standing = STANDINGS.insert(Standing(NOBODY, ActorKind.HUMAN))
    login = IDENTITIES.insert(Identity(ISSUER, "old", NOBODY))
    profile = PROFILES.insert(Profile("Old", actor_id=NOBODY, created_at=NOW, updated_at=NOW))
    await audited.store.append(append(at(1, registered), side_writes=[standing, login, profile]))
    await audited.store.append(append(at(2, ActorIdentityBound(NOW, NOBODY, ISSUER))))
    assert await audited.found() == []


async def test_a_claim_that_was_written_or_taken_away_past_the_service_is_found(audited: Audited):
    hall = {"code": "hall-2", "name": "Hall 2", "kind": "Site"}
    facility = (await call(audited.service, "register_facility", hall)).id
    await audited.write_past(
        CLAIMS.delete("facility-code", claim_key("hall-2")),
        CLAIMS.insert(Claim("facility-code", claim_key("hall-3"), facility)),
        CLAIMS.insert(Claim("supply", claim_key("free"), None)),
        CLAIMS.insert(Claim("unheard-of", claim_key("x"), facility)),
    )
    events, row = f"that the events of Facility {facility}", "scope facility-code, key"
    unheld = 'scope supply, key ["free"], holder None'
    unheard = f'scope unheard-of, key ["x"], holder {facility}'
    assert await audited.found() == [
        f'bk.claims has a row {events} do not explain: {row} ["hall-3"], holder {facility}.',
        f'bk.claims lacks a row {events} require: {row} ["hall-2"], holder {facility}.',
        f"bk.claims has a row of Supply None, which does not exist: {unheld}.",
        f"bk.claims has a row of a scope that nothing uses: {unheard}.",
    ]


async def test_a_stream_that_cannot_be_read_is_named(audited: Audited):
    await audited.store.append(append(at(1, ActorIdentityBound(NOW, NOBODY, ISSUER))))
    told = await audited.found()
    assert told
    assert all(line.startswith(f"The stream Actor {NOBODY} cannot be read") for line in told)


async def test_the_row_of_a_subscription_is_compared_without_its_secrets(audited: Audited):
    do = AdminClient(audited.service, audited.store)
    arguments = await EXAMPLES["register_subscription"](do)
    id = UUID((await do("register_subscription", arguments))["subscription_id"])
    assert await audited.found() == []
    (secrets,) = await audited.store.rows(SECRETS, {"subscription_id": id})
    await audited.write_past(
        BOOKMARKS.delete(id), SECRETS.insert(replace(secrets, subscription_id=NOBODY))
    )
    told = await audited.found()
    assert told == [
        (
            f"bk.subscription_secret has a row of Subscription {NOBODY}, which does not exist:"
            f" subscription_id {NOBODY}."
        ),
        (
            f"bk.subscription_place lacks a row that the events of Subscription {id} require:"
            f" subscription_id {id}."
        ),
    ]
    refused = await EXAMPLES["retry_delivery"](do)
    where = {"subscription_id": UUID(refused["subscription_id"])}
    (delivery,) = await audited.store.rows(DELIVERIES, where)
    await audited.write_past(DELIVERIES.insert(replace(delivery, subscription_id=NOBODY)))
    (more,) = [each for each in await audited.found() if each not in told]
    assert more.startswith(f"bk.delivery has a row of Subscription {NOBODY}, which does not exist")


async def test_a_copy_or_an_edge_that_was_changed_past_the_service_is_found(audited: Audited):
    do = AdminClient(audited.service, audited.store)
    first = await EXAMPLES["register_dataset"](do)
    dataset_id = UUID((await do("register_dataset", first))["dataset_id"])
    copy_id = UUID((await EXAMPLES["mark_distribution_stale"](do))["distribution_id"])
    assert await audited.found() == []
    (copy,) = await audited.store.rows(COPIES, {"distribution_id": copy_id})
    (standing,) = await audited.store.rows(STANDINGS_OF_DATASETS, {"dataset_id": dataset_id})
    produced = ProvenanceRelation.PRODUCED_BY
    await audited.write_past(
        COPIES.upsert(replace(copy, good_checks=())),
        STANDINGS_OF_DATASETS.upsert(replace(standing, sealed=True)),
        EDGES.delete(dataset_id, produced, UUID(first["producing_run_id"]), dataset_id),
        EDGES.insert(ProvenanceEdge(dataset_id, produced, NOBODY, source_id=NOBODY)),
        PARTS.insert(PartRow("a.h5", 1, "0" * 64, dataset_id)),
    )
    events = f"the events of Dataset {dataset_id}"
    assert sorted(line.partition(":")[0] for line in await audited.found()) == [
        f"bk.dataset_copy has a row that the events of Distribution {copy_id} do not explain",
        f"bk.dataset_copy lacks a row that the events of Distribution {copy_id} require",
        f"bk.dataset_part has a row that {events} do not explain",
        f"bk.dataset_standing has a row that {events} do not explain",
        f"bk.dataset_standing lacks a row that {events} require",
        f"bk.provenance_edge has a row of Dataset {NOBODY}, which does not exist",
        f"bk.provenance_edge lacks a row that {events} require",
    ]


def test_every_relation_of_edges_is_compared():
    compared = {scope for derived in DERIVED if derived.table is EDGES for scope in derived.scopes}
    assert compared == {*ProvenanceRelation}
