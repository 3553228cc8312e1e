"""The one path of a question: what is shown, to whom, as of when, and page by page."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.support.examples.calibration import define_calibration, first_revision
from tests.support.examples.caution import a_proposal
from tests.support.examples.starting import start_run

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.actor import ActorNotFoundError
from beamkeep.contexts.access.profile import (
    CAUTION_PROMOTER,
    CLEARANCE_EXPIRER,
    RUN_SUPERVISOR,
    digest_of,
)
from beamkeep.contexts.agent.agent import MODEL_KINDS
from beamkeep.contexts.agent.seeded import SEEDED_AGENTS
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.caution.caution import (
    CautionCategory,
    CautionRegistered,
    CautionSeverity,
    Target,
    TargetKind,
)
from beamkeep.contexts.safety.clearance import AssetBinding, ClearanceActivated, ClearanceRegistered
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.conduit import ConduitNotFoundError
from beamkeep.contexts.trust.policy import InvalidPolicyPermittedCommandsError
from beamkeep.contexts.trust.zone import ZoneNotFoundError
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.kernel import DENIALS, Question, Refusal, SurfaceKind, View
from beamkeep.runtime import Service, queries
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.runtime.codec import Codec, encode
from beamkeep.runtime.cursors import Cursors
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.queries import NotFreshYetError
from beamkeep.runtime.store import Position
from beamkeep.testing.appends import append, at
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import ADMIN, AdminClient, by, call, enrol, memory_service, permit

pytestmark = pytest.mark.anyio

HTTP = seeded.SURFACES[SurfaceKind.HTTP]
ABSENT = str(UUID(int=404))
DAWN = datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that is put forward by hand."""

    hours = 0

    def __call__(self) -> datetime:
        return DAWN + timedelta(hours=self.hours)


@pytest.fixture
async def store() -> MemoryStore:
    store = MemoryStore(Codec(CATALOGUE.aggregates.values()))
    await prepare(store, store, ADMIN, open_for_development=False)
    return store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(store: MemoryStore, clock: Clock) -> Service:
    return compose(store, store, cursor_key=b"k" * 32, clock=clock)


async def ask(
    service: Service, name: str, subject: str = "ada", /, **arguments: object
) -> dict[str, Any]:
    found = await call(service, name, arguments, subject=subject)
    return json.loads(found.body)


async def ids(
    service: Service, name: str, subject: str = "ada", /, **arguments: object
) -> list[str]:
    """The ids of one list, the oldest first; a cursor is of the order that its list had."""
    given = arguments if "cursor" in arguments else {"order": "oldest", **arguments}
    items = (await ask(service, name, subject, **given))["items"]
    return [item[service.catalogue.named[name].aggregate.id_field] for item in items]


async def refusal(
    service: Service, name: str, subject: str = "ada", /, **arguments: object
) -> Refusal:
    with pytest.raises(Refusal) as refused:
        await call(service, name, arguments, subject=subject)
    return refused.value


async def make(service: Service, name: str, subject: str = "ada", /, **arguments: object) -> str:
    return str((await call(service, name, arguments, subject=subject)).id)


def ada(store: MemoryStore) -> str:
    return str(store.tables["actor_identity"][ISSUER, "ada"].actor_id)


class TestOne:
    """One object."""

    async def test_its_state_its_owner_and_its_version(self, service: Service, store: MemoryStore):
        zone = await make(service, "define_zone", name="Hutch")
        found = await call(service, "get_zone", {"zone_id": zone})
        assert json.loads(found.body) == {"zone_id": zone, "name": "Hutch", "owner_id": ada(store)}
        assert found.version == 1

    async def test_an_actor_is_shown_with_its_profile_and_its_logins(
        self, service: Service, store: MemoryStore
    ):
        otto = await enrol(service, "otto")
        key = service.sessions().facts.login_key
        digest = digest_of(key, otto, ISSUER, "otto")
        update = {"actor_id": str(otto), "email": "otto@idp.test", "affiliation": "DESY"}
        await call(service, "update_actor_profile", update)
        assert await ask(service, "get_actor", actor_id=str(otto)) == {
            "actor_id": str(otto),
            "kind": "human",
            "active": True,
            "unconfirmed_logins": [],
            "owner_id": ada(store),
            "name": "otto",
            "email": "otto@idp.test",
            "phone": None,
            "affiliation": "DESY",
            "external_id": None,
            "external_id_namespace": None,
            "identities": [{"issuer": ISSUER, "subject": "otto", "subject_digest": digest}],
        }

    async def test_one_that_does_not_exist_is_404(self, service: Service):
        refused = await refusal(service, "get_zone", zone_id=ABSENT)
        assert type(refused) is ZoneNotFoundError
        assert refused.status == 404

    async def test_an_id_of_something_else_is_404(self, service: Service):
        refused = await refusal(service, "get_actor", actor_id=str(seeded.CLIENTS))
        assert type(refused) is ActorNotFoundError

    async def test_an_id_that_is_none_is_422(self, service: Service):
        for wrong in ({}, {"zone_id": "x"}, {"zone_id": 1}, {"zone_id": None}):
            for name in ("get_zone", "get_zone_history"):
                assert (await refusal(service, name, **wrong)).status == 422

    async def test_what_is_not_asked_for_is_422(self, service: Service):
        refused = await refusal(service, "get_zone", zone_id=ABSENT, colour="red")
        assert type(refused) is MalformedRequestError

    async def test_a_question_that_could_not_be_read_is_422(self, service: Service):
        question = service.catalogue.named["get_zone"]
        assert isinstance(question, Question)
        with pytest.raises(MalformedRequestError, match="not JSON"):
            await service.queries.ask(
                question, Request(by("ada"), MalformedRequestError("not JSON"))
            )

    async def test_an_idempotency_key_is_ignored(self, service: Service):
        found = await call(service, "list_zones", {}, idempotency_key="not visible")
        assert found.body


class TestAsOf:
    """One object as it was."""

    @pytest.fixture
    async def otto(self, service: Service, clock: Clock) -> str:
        """Registered at 0 h, deactivated at 2 h, forgotten at 4 h."""
        otto = str(await enrol(service, "otto"))
        clock.hours = 2
        await call(service, "deactivate_actor", {"actor_id": otto})
        clock.hours = 4
        await call(service, "forget_actor", {"actor_id": otto})
        return otto

    @pytest.mark.parametrize(
        ("as_of", "active", "version"),
        [
            (1, True, 1),
            ("1", True, 1),
            (2, False, 2),
            (3, False, 3),
            (None, False, 3),
            ("2030-01-01T00:00:00Z", True, 1),
            ("2030-01-01T01:59:59.999999Z", True, 1),
            ("2030-01-01T02:00:00Z", False, 2),
            ("2030-01-01T03:00:00+01:00", False, 2),
            ("2031-01-01T00:00:00Z", False, 3),
        ],
    )
    async def test_a_version_or_a_time(
        self, service: Service, otto: str, as_of: object, active: bool, version: int
    ):
        found = await call(service, "get_actor", {"actor_id": otto, "as_of": as_of})
        assert (json.loads(found.body)["active"], found.version) == (active, version)

    @pytest.mark.parametrize("as_of", ["2029-12-31T23:59:59Z", "0001-01-01T00:00:00Z"])
    async def test_before_the_first_event_it_is_404(self, service: Service, otto: str, as_of: str):
        refused = await refusal(service, "get_actor", actor_id=otto, as_of=as_of)
        assert type(refused) is ActorNotFoundError

    @pytest.mark.parametrize(
        "as_of", [0, -1, "0", "x", "", 1.5, "2030-01-01T00:00:00", "2030-01-01", "1893456000.5"]
    )
    async def test_what_is_neither_is_422(self, service: Service, otto: str, as_of: object):
        refused = await refusal(service, "get_actor", actor_id=otto, as_of=as_of)
        assert type(refused) is MalformedRequestError

    @pytest.mark.parametrize("as_of", [None, 1, "2030-01-01T00:00:00Z"])
    async def test_a_forgotten_profile_is_forgotten_as_of_any_time(
        self, service: Service, otto: str, as_of: object
    ):
        found = await ask(service, "get_actor", actor_id=otto, as_of=as_of)
        shown = {k: found[k] for k in ("name", "email", "phone", "affiliation", "external_id")}
        assert shown == {
            "name": "<deleted user>",
            "email": None,
            "phone": None,
            "affiliation": None,
            "external_id": None,
        }
        assert found["identities"] == []

    @pytest.mark.parametrize(
        ("as_of", "in_force", "in_effect"),
        [
            (None, False, False),
            (1, False, True),
            (2, True, None),
            ("2030-01-01T00:30:00Z", False, True),
            ("2030-01-01T02:00:00Z", True, True),
            ("2030-01-01T02:59:59Z", True, True),
            ("2030-01-01T03:00:00Z", False, False),
        ],
    )
    async def test_what_holds_for_a_time_is_shown_as_of_then_and_not_as_of_now(
        self,
        service: Service,
        store: MemoryStore,
        clock: Clock,
        as_of: object,
        in_force: bool,
        in_effect: bool | None,
    ):
        id, end = UUID(int=50), DAWN + timedelta(hours=3)
        start, about = DAWN + timedelta(hours=1), Target(TargetKind.ASSET, UUID(int=51))
        paper = ClearanceRegistered(
            *(DAWN, id, "radiation", "ring", "Salts", (AssetBinding(id),), (), None),
            *(start, end, None),
        )
        warning = CautionRegistered(
            *(DAWN, id, about, CautionCategory.WEAR, CautionSeverity.WARNING, "It sticks", "Push"),
            *((), end, False, id, None, None),
        )
        active = ClearanceActivated(DAWN + timedelta(hours=2), id)
        await store.append(append(at(1, paper), at(2, active), at(1, warning)))
        clock.hours = 4
        shown = await ask(service, "get_clearance", clearance_id=str(id), as_of=as_of)
        assert shown["in_force"] is in_force
        if in_effect is not None:
            shown = await ask(service, "get_caution", caution_id=str(id), as_of=as_of)
            assert shown["in_effect"] is in_effect

    async def test_a_forgotten_name_is_gone_from_the_list(self, service: Service, otto: str):
        listed = (await ask(service, "list_actors"))["items"]
        names = {item["actor_id"]: item["name"] for item in listed}
        assert names[otto] == "<deleted user>"
        assert "otto" not in names.values()
        assert "Ada" in names.values()


async def team(service: Service, store: MemoryStore) -> str:
    return str(await permit(service, UUID(ada(store)), "get_zone"))


async def visit(service: Service, policy_id: str, **more: object) -> str:
    fields: Mapping[str, object] = {
        "policy_id": policy_id,
        "parent_surface_id": str(HTTP),
        "type": "user",
        "planned_start_at": "2030-01-01T00:00:00Z",
        "planned_end_at": "2030-01-02T00:00:00Z",
    }
    return await make(service, "register_visit", **{**fields, **more})


class TestHistory:
    """What happened to one object."""

    async def test_an_entry_is_the_envelope_with_the_payload(
        self, service: Service, store: MemoryStore
    ):
        zone = await make(service, "define_zone", name="Hutch")
        (entry,) = (await ask(service, "get_zone_history", zone_id=zone))["items"]
        (envelope,) = store.streams["Zone", UUID(zone)]
        assert entry == {
            "event_id": str(envelope.event_id),
            "stream_type": "Zone",
            "stream_id": zone,
            "version": 1,
            "transaction_id": store.position.tx,
            "position": store.position.position,
            "event_type": "ZoneDefined",
            "schema_version": 1,
            "principal_id": ada(store),
            "command_name": "define_zone",
            "surface_id": str(HTTP),
            "correlation_id": str(envelope.correlation_id),
            "causation_id": None,
            "recorded_at": entry["recorded_at"],
            "occurred_at": "2030-01-01T00:00:00Z",
            "payload": {"zone_id": zone, "name": "Hutch", "occurred_at": "2030-01-01T00:00:00Z"},
        }

    async def test_it_is_read_page_by_page(self, service: Service, store: MemoryStore):
        policy = await team(service, store)
        for reason in ("a", "b"):
            grant = {"policy_id": policy, "permitted_principal_id": ada(store)}
            await call(service, "revoke_grant", grant | {"reason": reason})
            await call(service, "add_grant", grant)
        pages: list[list[int]] = []
        cursor: str | None = None
        while cursor or not pages:
            page = await ask(
                service, "get_policy_history", policy_id=policy, limit=2, cursor=cursor
            )
            pages.append([entry["version"] for entry in page["items"]])
            cursor = page["next_cursor"]
        assert pages == [[1, 2], [3, 4], [5]]

    async def test_a_page_that_is_just_full_is_the_last(self, service: Service):
        zone = await make(service, "define_zone", name="Hutch")
        page = await ask(service, "get_zone_history", zone_id=zone, limit=1)
        assert page["next_cursor"] is None

    async def test_the_history_of_nothing_is_404(self, service: Service):
        refused = await refusal(service, "get_zone_history", zone_id=ABSENT)
        assert type(refused) is ZoneNotFoundError

    async def test_a_cursor_of_another_object_is_refused(
        self, service: Service, store: MemoryStore
    ):
        policies = [await team(service, store), await team(service, store)]
        for policy in policies:
            grant = {"policy_id": policy, "permitted_principal_id": ada(store)}
            await call(service, "revoke_grant", grant | {"reason": "left"})
        first = await ask(service, "get_policy_history", policy_id=policies[0], limit=1)
        refused = await refusal(
            service, "get_policy_history", policy_id=policies[1], cursor=first["next_cursor"]
        )
        assert refused.status == 422


class TestLists:
    """Many objects."""

    async def test_actors_are_found_by_each_facet(self, service: Service, store: MemoryStore):
        otto = str(await enrol(service, "otto"))
        robot = await make(service, "register_actor", name="Robot", kind="service_account")
        await call(service, "deactivate_actor", {"actor_id": otto})
        system = "00000000-0000-7000-8000-000000000001"
        monitor = "00000000-0000-7000-8000-000000000002"
        assert await ids(service, "list_actors", kind="human") == [ada(store), otto]
        assert await ids(service, "list_actors", kind="service_account") == [system, monitor, robot]
        agents = [str(id) for id in (RUN_SUPERVISOR, CAUTION_PROMOTER, CLEARANCE_EXPIRER)]
        assert await ids(service, "list_actors", kind="agent") == agents
        assert await ids(service, "list_actors", active=False) == [otto]
        assert await ids(service, "list_actors", active="true", kind="human") == [ada(store)]
        assert len(await ids(service, "list_actors")) == 8

    async def test_an_actor_is_listed_with_its_name_alone(self, service: Service):
        await enrol(service, "otto")
        otto = (await ask(service, "list_actors"))["items"][0]
        assert otto.keys() == {
            "actor_id",
            "kind",
            "active",
            "unconfirmed_logins",
            "owner_id",
            "created_at",
            "deactivated_at",
            "name",
        }
        assert otto["name"] == "otto"

    async def test_conduits_are_found_by_each_facet(self, service: Service):
        entry, internal = str(seeded.ENTRY), str(seeded.INTERNAL)
        clients, workers = str(seeded.CLIENTS), str(seeded.WORKERS)
        target = str(seeded.SERVICE)
        assert await ids(service, "list_conduits", source_zone_id=clients) == [entry]
        assert await ids(service, "list_conduits", source_zone_id=workers) == [internal]
        assert await ids(service, "list_conduits", target_zone_id=target) == [entry, internal]
        assert await ids(service, "list_conduits", target_zone_id=clients) == []

    async def test_surfaces_are_found_by_each_facet(self, service: Service):
        stdio = str(seeded.SURFACES[SurfaceKind.MCP_STDIO])
        assert await ids(service, "list_surfaces", kind="MCP_STDIO") == [stdio]
        assert len(await ids(service, "list_surfaces", conduit_id=str(seeded.ENTRY))) == 3
        assert await ids(service, "list_surfaces", conduit_id=str(seeded.INTERNAL)) == []

    async def test_policies_are_found_by_each_facet(self, service: Service, store: MemoryStore):
        otto = await enrol(service, "otto")
        policy = str(await permit(service, otto, "get_zone"))
        workers = seeded.MONITORS, seeded.DELIVERIES, seeded.CHECKS, seeded.MINTING
        agents = [agent.policy_id for agent in SEEDED_AGENTS if agent.kind not in MODEL_KINDS]
        within = [str(policy_id) for policy_id in (*workers, *agents)]
        internal = str(seeded.INTERNAL)
        assert sorted(await ids(service, "list_policies", conduit_id=internal)) == within
        on_http = await ids(service, "list_policies", surface_id=str(HTTP))
        assert len(on_http) == 2
        assert on_http[-1] == policy
        assert await ids(service, "list_policies", permitted_principal_id=str(otto)) == [policy]
        grant = {"policy_id": policy, "permitted_principal_id": ada(store)}
        await call(service, "add_grant", grant)
        found = await ids(service, "list_policies", permitted_principal_id=ada(store))
        assert len(found) == 4
        await call(service, "revoke_grant", grant | {"reason": "left"})
        assert len(await ids(service, "list_policies", permitted_principal_id=ada(store))) == 3

    async def test_visits_are_found_by_each_facet(self, service: Service, store: MemoryStore):
        policy, other = await team(service, store), await team(service, store)
        parent = await visit(service, policy)
        child = await visit(service, policy, parent_id=parent, type="staff")
        strange = await visit(service, other)
        await call(service, "record_visit_arrival", {"visit_id": child})
        assert await ids(service, "list_visits", status="Planned") == [parent, strange]
        assert await ids(service, "list_visits", status="Arrived") == [child]
        assert len(await ids(service, "list_visits", parent_surface_id=str(HTTP))) == 3
        assert await ids(service, "list_visits", parent_surface_id=ABSENT) == []
        assert await ids(service, "list_visits", type="staff") == [child]
        assert await ids(service, "list_visits", parent_id=parent) == [child]
        assert await ids(service, "list_visits", policy_id=other) == [strange]
        assert await ids(service, "list_visits", policy_id=policy, type="user") == [parent]

    async def test_a_filter_that_is_none_is_422(self, service: Service):
        for wrong in ({"kind": "robot"}, {"colour": "red"}, {"active": "perhaps"}):
            assert (await refusal(service, "list_actors", **wrong)).status == 422

    async def test_a_list_is_read_page_by_page_and_nothing_is_missed_or_doubled(
        self, service: Service
    ):
        made = [await make(service, "define_zone", name=f"Z{n}") for n in range(5)]
        pages: list[list[str]] = []
        cursor: str | None = None
        while cursor or not pages:
            page = await ask(service, "list_zones", limit=3, cursor=cursor)
            pages.append([row["zone_id"] for row in page["items"]])
            cursor = page["next_cursor"]
        assert [len(page) for page in pages] == [3, 3, 2]
        assert [id for page in pages for id in page][:5] == made[::-1]

    async def test_a_list_begins_with_the_newest_unless_the_oldest_are_asked_for(
        self, service: Service
    ):
        made = [await make(service, "define_zone", name=f"Z{n}") for n in range(3)]
        newest = [row["zone_id"] for row in (await ask(service, "list_zones"))["items"]]
        assert newest[:3] == made[::-1]
        assert await ids(service, "list_zones", order="oldest") == newest[::-1]
        cursor = (await ask(service, "list_zones", limit=1))["next_cursor"]
        refused = await refusal(service, "list_zones", cursor=cursor, order="oldest")
        assert type(refused) is MalformedRequestError

    async def test_every_list_is_narrowed_by_name_owner_and_time(self, service: Service):
        await enrol(service, "otto", "define_zone", "list_zones")
        by_ada = await make(service, "define_zone", name="Hütch")
        by_otto = await make(service, "define_zone", "otto", name="hutch")
        await make(service, "define_zone", name="Hutch 2")
        assert await ids(service, "list_zones", name="HUTCH") == [by_ada, by_otto]
        otto = (await ask(service, "get_zone", zone_id=by_otto))["owner_id"]
        assert await ids(service, "list_zones", name="hutch", owner_id=otto) == [by_otto]
        assert by_ada not in await ids(service, "list_zones", created_before="2029-12-31T23:59:59Z")
        assert by_ada in await ids(service, "list_zones", created_after="2029-12-31T23:59:59Z")

    async def test_a_list_is_narrowed_to_one_status_or_several(
        self, service: Service, store: MemoryStore
    ):
        policy = await team(service, store)
        planned, cancelled = await visit(service, policy), await visit(service, policy)
        await call(service, "cancel_visit", {"visit_id": cancelled, "reason": "ill"})
        assert await ids(service, "list_visits", status="Planned") == [planned]
        both = ["Planned", "Cancelled"]
        assert await ids(service, "list_visits", status=both) == [planned, cancelled]

    async def test_a_list_tells_how_many_there_are_where_that_is_asked_for(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ):
        for n in range(4):
            await make(service, "define_zone", name=f"Z{n}")
        page = await ask(service, "list_zones", limit=2, count=True)
        assert (len(page["items"]), page["total"]) == (2, 7)
        counted = await ask(service, "list_zones", limit=2, count=True, cursor=page["next_cursor"])
        assert counted["total"] == 7, "of the whole list, not of the rest"
        assert (await ask(service, "list_zones", name="z1", count=True))["total"] == 1
        assert "total" not in await ask(service, "list_zones")
        monkeypatch.setattr(queries, "MOST_COUNTED", 6)
        assert (await ask(service, "list_zones", count=True))["total"] == "6+"

    async def test_a_page_has_1_to_100_rows_and_50_by_default(self, service: Service):
        for n in range(60):
            await make(service, "define_zone", name=f"Z{n}")
        assert len(await ids(service, "list_zones")) == 50
        assert len(await ids(service, "list_zones", limit=100)) == 63
        assert len(await ids(service, "list_zones", limit="1")) == 1
        for limit in (0, 101, -1, "x"):
            assert (await refusal(service, "list_zones", limit=limit)).status == 422

    async def test_a_surface_is_shown_with_the_visit_that_controls_it(
        self, service: Service, store: MemoryStore, clock: Clock
    ):
        policy = await team(service, store)
        mine = await visit(service, policy)
        await call(service, "record_visit_arrival", {"visit_id": mine})
        free = await ask(service, "get_surface", surface_id=str(HTTP))
        assert (free["controlling_visit_id"], free["controlled_since"]) == (None, None)
        clock.hours = 3
        await call(service, "take_visit_surface_control", {"visit_id": mine})
        taken = await ask(service, "get_surface", surface_id=str(HTTP))
        assert taken["controlling_visit_id"] == mine
        assert taken["controlled_since"] == "2030-01-01T03:00:00Z"
        listed = (await ask(service, "list_surfaces", order="oldest"))["items"]
        assert [row["controlling_visit_id"] for row in listed] == [mine, None, None]
        await call(service, "cancel_visit", {"visit_id": mine, "reason": "ill"})
        assert await ask(service, "get_surface", surface_id=str(HTTP)) == free


class TestFreshness:
    """A list that shows at least what was written then."""

    async def test_a_token_of_an_earlier_answer_is_waited_for(self, service: Service):
        made = await call(service, "define_zone", {"name": "Hutch"})
        found = await ids(service, "list_zones", min_token=str(made.token))
        assert found[-1] == str(made.id)

    @pytest.mark.parametrize(
        "token",
        [
            "x",
            "1",
            "1-",
            "-1",
            "1-x",
            "1.5-2",
            "",
            " ",
            "-1-1",
            "1-1-1",
            "1-1\n",
            "٣-٣",
            "1000000000000000000-1",
            "1-1000000000000000000",
        ],
    )
    async def test_what_is_no_token_is_422(self, service: Service, token: str):
        refused = await refusal(service, "list_zones", min_token=token)
        assert type(refused) is MalformedRequestError

    async def test_a_list_that_stays_behind_is_503(
        self, service: Service, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(queries, "FRESHNESS_DEADLINE", 0.0)
        ahead = Position(store.position.tx + 1, 1)
        refused = await refusal(service, "list_zones", min_token=str(ahead))
        assert type(refused) is NotFreshYetError
        assert (refused.status, refused.retry_after) == (503, 1)

    async def test_a_list_waits_for_itself_and_an_answer_from_lists_for_all_of_them(
        self, service: Service, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ):
        asked: list[set[str]] = []

        async def follows(views: Sequence[View[Any]], position: Position) -> bool:
            asked.append({view.name for view in views})
            return True

        monkeypatch.setattr(store, "follows", follows)
        for name in ("list_zones", "get_status"):
            await call(service, name, {"min_token": str(store.position)})
        assert asked == [{"zone"}, {view.name for view in CATALOGUE.views}]

    async def test_a_list_that_catches_up_in_time_is_shown(
        self, service: Service, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
    ):
        behind = iter([False, False])

        async def slowly(view: object, position: Position) -> bool:
            return next(behind, True)

        monkeypatch.setattr(store, "follows", slowly)
        assert len(await ids(service, "list_zones", min_token=str(store.position))) == 3


class TestCursors:
    """Where a page ended."""

    @pytest.fixture
    async def cursor(self, service: Service) -> str:
        return (await ask(service, "list_zones", limit=1))["next_cursor"]

    async def test_a_cursor_continues_with_another_limit(self, service: Service, cursor: str):
        assert len(await ids(service, "list_zones", cursor=cursor, limit=100)) == 2

    async def test_a_cursor_of_another_principal_is_422(self, service: Service, cursor: str):
        await enrol(service, "otto", "list_zones")
        refused = await refusal(service, "list_zones", "otto", cursor=cursor)
        assert type(refused) is MalformedRequestError

    async def test_a_cursor_of_another_question_is_422(self, service: Service, cursor: str):
        assert (await refusal(service, "list_conduits", cursor=cursor)).status == 422

    async def test_a_cursor_with_another_filter_is_422(self, service: Service):
        cursor = (await ask(service, "list_surfaces", limit=1))["next_cursor"]
        assert len(await ids(service, "list_surfaces", cursor=cursor)) == 2
        assert (await refusal(service, "list_surfaces", cursor=cursor, kind="HTTP")).status == 422

    async def test_an_altered_cursor_is_422(self, service: Service, cursor: str):
        altered = ("A" if cursor[0] != "A" else "B") + cursor[1:]
        assert (await refusal(service, "list_zones", cursor=altered)).status == 422

    async def test_a_cursor_is_of_the_same_filters_in_every_process(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ):
        signed: list[bytes] = []

        def write(_: Cursors, place: str, asker: UUID, name: str, filters: object) -> str:
            signed.append(encode(filters))
            return place

        monkeypatch.setattr(Cursors, "write", write)
        for choice in ("Hold", "Stop"):
            await make(service, "register_decision", context="RunHold", choice=choice)
        words = [f"word {n}" for n in range(9)]
        await ask(service, "list_decisions", limit=1, exclude_choice=words)
        # A set is in an order of its own in each process, unless it is sorted.
        assert json.loads(signed[0])["exclude_choice"] == words

    @pytest.mark.parametrize("garbage", ["", "x", "====", "é", "AAAA", "x" * 500, "x" * 501])
    async def test_garbage_is_422(self, service: Service, garbage: str):
        assert (await refusal(service, "list_zones", cursor=garbage)).status == 422


READS = ("get_actor", "get_actor_history", "list_actors", "get_conduit", "list_conduits")
ABOUT_CONDUITS = ("get_conduit_history", "list_conduit_denials", "evaluate_authorization")


class TestObjectRule:
    """Whoever may see only their own is told nothing of the rest."""

    @pytest.fixture
    async def otto(self, service: Service) -> str:
        """May read only his own, and make actors and conduits."""
        commands = (*READS, *ABOUT_CONDUITS, "register_actor", "define_conduit")
        return str(await enrol(service, "otto", *commands, scope="Own"))

    @pytest.fixture
    async def his_conduit(self, service: Service, otto: str) -> str:
        zones = {"source_zone_id": str(seeded.CLIENTS), "target_zone_id": str(seeded.WORKERS)}
        return await make(service, "define_conduit", "otto", name="His", **zones)

    async def test_an_actor_sees_itself_and_whom_it_registered(
        self, service: Service, store: MemoryStore, otto: str
    ):
        niels = await make(service, "register_actor", "otto", name="Niels")
        for name in ("get_actor", "get_actor_history"):
            for own in (otto, niels):
                assert await ask(service, name, "otto", actor_id=own)
            for foreign in (ada(store), ABSENT):
                refused = await refusal(service, name, "otto", actor_id=foreign)
                assert type(refused) is ActorNotFoundError
                assert str(refused) == (f"The actor does not exist. There is no actor {foreign}.")
        assert await ids(service, "list_actors", "otto") == [otto, niels]

    async def test_a_conduit_is_seen_by_its_definer(
        self, service: Service, otto: str, his_conduit: str
    ):
        for name in ("get_conduit", "get_conduit_history", "list_conduit_denials"):
            assert await ask(service, name, "otto", conduit_id=his_conduit)
            refused = await refusal(service, name, "otto", conduit_id=str(seeded.ENTRY))
            assert type(refused) is ConduitNotFoundError
        assert await ids(service, "list_conduits", "otto") == [his_conduit]

    async def test_an_authorization_is_evaluated_of_ones_own(
        self, service: Service, store: MemoryStore, otto: str
    ):
        about = {"command_name": "get_actor", "conduit_id": str(seeded.ENTRY)}
        assert await ask(service, "evaluate_authorization", "otto", principal_id=otto, **about)
        refused = await refusal(
            service, "evaluate_authorization", "otto", principal_id=ada(store), **about
        )
        assert type(refused) is ActorNotFoundError

    async def test_of_what_follows_a_decision_only_ones_own_is_shown(self, service: Service):
        await enrol(service, "olga", "register_decision", "get_decision", scope="Own")
        stop = {"context": "RunHold", "choice": "Stop"}
        first = await make(service, "register_decision", "olga", **stop)
        hers = await make(service, "register_decision", "olga", **stop, parent_id=first)
        another = await make(service, "register_decision", **stop, parent_id=first)
        seen = {
            who: (await ask(service, "get_decision", who, decision_id=first))["child_ids"]
            for who in ("olga", "ada")
        }
        assert seen == {"olga": [hers], "ada": [hers, another]}

    async def test_proposals_that_became_a_caution_are_distinguished_from_the_others(self):
        service, store = await memory_service()
        do = AdminClient(service, store)
        first, second = await a_proposal(do), await a_proposal(do)
        made = await do("promote_caution_proposal", {"decision_id": first})
        for promoted, told in ((True, [first]), (False, [second])):
            assert await ids(service, "list_decisions", promoted=promoted) == told
        shown = await do("get_decision", {"decision_id": first})
        assert shown["promoted_caution_id"] == made["caution_id"]

    async def test_of_what_used_a_calibration_only_ones_own_is_shown(self):
        service, store = await memory_service()
        do = AdminClient(service, store)
        commands = ("define_calibration", "append_calibration_revision", "list_calibration_uses")
        await enrol(service, "olga", *commands, scope="Own")
        made = await do("define_calibration", await define_calibration(do), subject="olga")
        value = await first_revision(do, made["calibration_id"])
        revised = await do("append_calibration_revision", value, subject="olga")
        of = {"revision_id": revised["revision_id"]}
        pinned = {"pinned_calibration_ids": [*of.values()]}
        run = await do("start_run", await start_run(do) | pinned)
        for who, told in (("ada", [run["run_id"]]), ("olga", [])):
            page = await do("list_calibration_uses", of, subject=who)
            assert [use["id"] for use in page["items"]] == told

    async def test_pages_are_filled_after_leaving_out(self, service: Service, otto: str):
        mine = [otto]
        for n in range(3):
            await make(service, "register_actor", name=f"A{n}")
            mine.append(await make(service, "register_actor", "otto", name=f"O{n}"))
        first = await ask(service, "list_actors", "otto", limit=2)
        assert [row["actor_id"] for row in first["items"]] == mine[:1:-1]
        rest = await ask(service, "list_actors", "otto", limit=2, cursor=first["next_cursor"])
        assert [row["actor_id"] for row in rest["items"]] == mine[1::-1]
        assert rest["next_cursor"] is None

    async def test_a_policy_that_says_all_widens_what_is_seen(
        self, service: Service, store: MemoryStore, otto: str
    ):
        wide = await permit(service, UUID(otto), "get_actor")
        assert await ask(service, "get_actor", "otto", actor_id=ada(store))
        revoke = {"policy_id": str(wide), "permitted_principal_id": otto, "reason": "left"}
        await call(service, "revoke_grant", revoke)
        refused = await refusal(service, "get_actor", "otto", actor_id=ada(store))
        assert refused.status == 404

    async def test_a_forbidden_question_is_403_whether_or_not_the_object_exists(
        self, service: Service, store: MemoryStore, otto: str
    ):
        policy = await team(service, store)
        for id in (policy, ABSENT, "x"):
            for name in ("get_policy", "get_policy_history"):
                refused = await refusal(service, name, "otto", policy_id=id)
                assert type(refused) is UnauthorizedError
        assert type(await refusal(service, "list_policies", "otto")) is UnauthorizedError


class TestDenials:
    """The calls that were turned away on a conduit."""

    @pytest.fixture
    async def denied(self, service: Service, clock: Clock) -> dict[str, str]:
        """Otto is turned away twice, then Niels, who is not active, once."""
        people = {name: str(await enrol(service, name)) for name in ("otto", "niels")}
        await call(service, "deactivate_actor", {"actor_id": people["niels"]})
        for subject in ("otto", "otto", "niels"):
            clock.hours += 1
            await refusal(service, "list_zones", subject)
        return people

    async def test_the_newest_comes_first(self, service: Service, denied: dict[str, str]):
        found = await ask(service, "list_conduit_denials", conduit_id=str(seeded.ENTRY))
        assert [(row["principal_id"], row["occurred_at"]) for row in found["items"]] == [
            (denied["niels"], "2030-01-01T03:00:00Z"),
            (denied["otto"], "2030-01-01T02:00:00Z"),
            (denied["otto"], "2030-01-01T01:00:00Z"),
        ]
        assert found["items"][0].keys() == {
            "denial_id",
            "conduit_id",
            "surface_id",
            "principal_id",
            "command_name",
            "reason_code",
            "correlation_id",
            "occurred_at",
        }

    async def test_they_are_found_by_each_filter(self, service: Service, denied: dict[str, str]):
        async def count(conduit_id: UUID = seeded.ENTRY, **filters: object) -> int:
            found = await ask(
                service, "list_conduit_denials", conduit_id=str(conduit_id), **filters
            )
            return len(found["items"])

        assert await count() == 3
        assert await count(seeded.INTERNAL) == 0
        assert await count(principal_id=denied["otto"]) == 2
        assert await count(reason_code="inactive_principal") == 1
        assert await count(principal_id=denied["otto"], reason_code="inactive_principal") == 0

    async def test_they_are_read_page_by_page(self, service: Service, denied: dict[str, str]):
        question = {"conduit_id": str(seeded.ENTRY), "limit": 2}
        first = await ask(service, "list_conduit_denials", **question)
        rest = await ask(service, "list_conduit_denials", **question, cursor=first["next_cursor"])
        times = [row["occurred_at"] for page in (first, rest) for row in page["items"]]
        assert times == sorted(times, reverse=True)
        assert (len(first["items"]), len(rest["items"]), rest["next_cursor"]) == (2, 1, None)


class TestEvaluation:
    """What would be decided."""

    ASKED: Mapping[str, str] = {"command_name": "define_zone", "conduit_id": str(seeded.ENTRY)}

    async def test_an_allowed_call(self, service: Service):
        otto = await enrol(service, "otto")
        policy = await permit(service, otto, "define_zone", scope="Own")
        asked = {**self.ASKED, "principal_id": str(otto), "surface_id": str(HTTP)}
        assert await ask(service, "evaluate_authorization", **asked) == {
            "decision": "Allow",
            "determining_policies": [str(policy)],
            "object_scope": "Own",
            "reason_code": None,
        }

    async def test_a_denied_call_leaves_no_denial(self, service: Service, store: MemoryStore):
        asked = {**self.ASKED, "principal_id": str(await enrol(service, "otto", "define_zone"))}
        assert await ask(service, "evaluate_authorization", **asked) == {
            "decision": "Deny",
            "determining_policies": [],
            "object_scope": None,
            "reason_code": "no_matching_policy",
        }
        assert await store.rows(DENIALS, {}) == ()

    async def test_a_principal_that_does_not_exist_is_404_and_a_command_400(
        self, service: Service, store: MemoryStore
    ):
        for principal_id, expected in (
            (ABSENT, ActorNotFoundError),
            (ada(store), InvalidPolicyPermittedCommandsError),
        ):
            asked = {**self.ASKED, "principal_id": principal_id, "command_name": "fly"}
            assert type(await refusal(service, "evaluate_authorization", **asked)) is expected
