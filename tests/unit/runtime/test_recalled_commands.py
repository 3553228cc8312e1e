"""Commands that are decided from memory: the same as by what is stored, or decided again by it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.campaign.campaign import CampaignCannotHoldError, CampaignNotFoundError
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.kernel import DENIALS, Operation, Refusal, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request, UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.dispatch import (
    Dispatcher,
    IdempotencyConflictError,
    PreconditionFailedError,
)
from beamkeep.runtime.store import (
    Append,
    CallContext,
    CallLookup,
    MovedError,
    OutcomeUnknownError,
    Position,
)
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import ADMIN, by, call, enrol, permit

pytestmark = pytest.mark.anyio

HTTP = seeded.SURFACES[SurfaceKind.HTTP]
REASON = {"reason": "No beam"}


class WatchedStore(MemoryStore):
    """A store that notes how each command was opened, and how often it was asked to write."""

    def __init__(self) -> None:
        super().__init__(Codec(CATALOGUE.aggregates.values()))
        self.opened = list[str]()
        self.appends = 0
        self.fails: type[Exception] | None = None

    async def open(self, opening: CallLookup) -> CallContext:
        found = await super().open(opening)
        self.opened.append("recalled" if found.is_recalled else "read")
        return found

    async def append(self, append: Append) -> Position:
        self.appends += 1
        if fails := self.fails:
            self.fails = None
            raise fails
        return await super().append(append)


@pytest.fixture
async def store() -> WatchedStore:
    store = WatchedStore()
    await prepare(store, store, ADMIN, open_for_development=False)
    return store


@pytest.fixture
def service(store: WatchedStore) -> Service:
    return compose(store, store, cursor_key=b"k" * 32)


class Campaign:
    """A campaign that is held and resumed, until both commands are remembered."""

    def __init__(self, service: Service, store: WatchedStore, id: UUID, subject: str) -> None:
        self.service, self.store, self.id, self.subject = service, store, id, subject

    async def do(self, verb: str, arguments: Mapping[str, Any] = {}, **more: Any) -> Any:
        """Make a command of this campaign."""
        named = {"campaign_id": str(self.id), **arguments}
        return await call(self.service, f"{verb}_campaign", named, subject=self.subject, **more)

    async def hold(self, **more: Any) -> Any:
        return await self.do("hold", REASON, **more)

    def version(self) -> int:
        return len(self.store.streams["Campaign", self.id])

    def opened(self) -> list[str]:
        """Return how the commands since the last look were opened."""
        opened, self.store.opened = self.store.opened, list[str]()
        self.store.appends = 0
        return opened


async def campaign(service: Service, store: WatchedStore, subject: str = "ada") -> Campaign:
    lead = store.tables["actor_identity"][ISSUER, "ada"].actor_id
    arguments = {"name": "Alloys", "intent": "Series", "lead_actor_id": str(lead)}
    made = await call(service, "register_campaign", arguments, subject=subject)
    found = Campaign(service, store, made.id, subject)
    for verb, more in (("start", {}), ("hold", REASON), ("resume", {})):
        await found.do(verb, more)
    found.opened()
    return found


@pytest.fixture
async def running(service: Service, store: WatchedStore) -> Campaign:
    return await campaign(service, store)


async def test_a_command_like_an_earlier_one_is_decided_without_reading(running: Campaign):
    held = await running.hold()
    resumed = await running.do("resume")
    assert running.opened() == ["recalled", "recalled"]
    assert (held.version, resumed.version, running.version()) == (5, 6, 6)


async def test_a_refusal_from_memory_is_what_a_reader_of_the_store_gets(running: Campaign):
    await running.hold()
    running.opened()
    with pytest.raises(CampaignCannotHoldError) as refused:
        await running.hold()
    assert running.opened() == ["recalled", "read"]
    assert "Held" in str(refused.value)
    assert running.version() == 5


async def test_a_precondition_is_judged_by_what_is_stored(running: Campaign):
    with pytest.raises(PreconditionFailedError, match="current version is 4"):
        await running.hold(if_match='"3"')
    assert running.opened() == ["recalled", "read"]
    await running.hold(if_match='"4"')
    assert running.opened() == ["recalled"]


async def test_a_repeated_request_is_answered_again_and_not_done_again(
    running: Campaign, store: WatchedStore
):
    held = await running.hold(idempotency_key="k")
    again = await running.hold(idempotency_key="k")
    assert (again.version, again.token, again.replayed) == (held.version, held.token, True)
    await running.do("resume")
    late = await running.hold(idempotency_key="k")
    assert (late.token, late.replayed) == (held.token, True)
    assert running.version() == 6
    with pytest.raises(IdempotencyConflictError):
        await running.do("hold", {"reason": "Another"}, idempotency_key="k")


async def test_a_creation_that_is_repeated_creates_nothing(service: Service, store: WatchedStore):
    await call(service, "define_zone", {"name": "Hall"})
    first = await call(service, "define_zone", {"name": "Hutch"}, idempotency_key="k")
    zones = [stream for stream in store.streams if stream[0] == "Zone"]
    store.opened.clear()
    again = await call(service, "define_zone", {"name": "Hutch"}, idempotency_key="k")
    assert store.opened == ["read"]
    assert (again.body, again.replayed) == (first.body, True)
    assert [stream for stream in store.streams if stream[0] == "Zone"] == zones


async def test_a_revoked_grant_stops_the_next_command_and_the_denial_is_on_record(
    service: Service, store: WatchedStore
):
    otto = await enrol(service, "otto")
    commands = (f"{verb}_campaign" for verb in ("register", "start", "hold", "resume"))
    policy = await permit(service, otto, *commands)
    running = await campaign(service, store, "otto")
    await running.hold()
    assert running.opened() == ["recalled"]
    revoke = {"policy_id": str(policy), "permitted_principal_id": str(otto), "reason": "left"}
    await call(service, "revoke_grant", revoke)
    running.opened()
    with pytest.raises(UnauthorizedError):
        await running.do("resume")
    assert running.opened() == ["recalled", "read"]
    assert [each.principal_id for each in await store.rows(DENIALS, {})] == [otto]
    assert running.version() == 5


async def test_a_deactivated_actor_is_stopped_at_once(service: Service, store: WatchedStore):
    otto = await enrol(service, "otto", "*")
    running = await campaign(service, store, "otto")
    await call(service, "deactivate_actor", {"actor_id": str(otto)})
    with pytest.raises(UnauthorizedError):
        await running.hold()
    assert running.version() == 4


async def test_an_own_grant_reaches_own_objects_from_memory_and_no_others(
    service: Service, store: WatchedStore, running: Campaign
):
    await enrol(service, "otto", "*", scope="Own")
    own = await campaign(service, store, "otto")
    await own.hold()
    assert own.opened() == ["recalled"]
    foreign = Campaign(service, store, running.id, "otto")
    with pytest.raises(CampaignNotFoundError):
        await foreign.hold()
    assert running.version() == 4


@pytest.mark.parametrize("more", [{"dry_run": True}, {"proposal_note": "Please"}])
async def test_what_is_not_carried_out_now_is_decided_by_what_is_stored(
    running: Campaign, more: Mapping[str, Any]
):
    await running.hold(**more)
    assert "recalled" not in running.opened()
    assert running.version() == 4


async def test_commands_together_are_decided_by_what_is_stored(running: Campaign, service: Service):
    def request(verb: str, **more: Any) -> tuple[Operation, Request]:
        operation = service.catalogue.named[f"{verb}_campaign"]
        assert isinstance(operation, Operation)
        return operation, Request(by("ada"), {"campaign_id": str(running.id), **more})

    await service.dispatcher.execute_together([request("hold", **REASON), request("resume")])
    assert running.opened() == ["read", "read"]
    assert running.version() == 6


async def test_a_decision_of_several_events_is_made_by_what_is_stored(
    service: Service, store: WatchedStore
):
    grants = store.tables["policy_grant"].values()
    planned = {
        "policy_id": str(next(grant.policy_id for grant in grants if grant.surface_id == HTTP)),
        "parent_surface_id": str(HTTP),
        "type": "user",
        "planned_start_at": "2030-01-01T00:00:00Z",
        "planned_end_at": "2030-01-02T00:00:00Z",
    }

    async def visit(**more: str) -> dict[str, str]:
        made = await call(service, "register_visit", planned | more)
        arrived = {"visit_id": str(made.id)}
        await call(service, "record_visit_arrival", arrived)
        return arrived

    parent = await visit()
    child = await visit(parent_id=parent["visit_id"])
    await call(service, "take_visit_surface_control", parent)
    store.opened.clear()
    await call(service, "take_visit_surface_control", child)
    assert store.opened == ["recalled", "read"]
    written = [store.streams["Visit", UUID(each["visit_id"])][-1] for each in (parent, child)]
    assert [each.event_type for each in written] == [
        "VisitSurfaceControlReleased",
        "VisitSurfaceControlTaken",
    ]


async def test_a_command_whose_object_moved_is_decided_again(
    running: Campaign, store: WatchedStore
):
    store.fails = MovedError
    assert (await running.hold()).version == 5
    assert running.opened() == ["recalled", "read"]


async def test_a_rule_that_breaks_on_what_is_recalled_decides_again(
    running: Campaign, service: Service, store: WatchedStore
):
    operation = service.catalogue.named["hold_campaign"]
    assert isinstance(operation, Operation)
    rule = operation.rule

    def breaking(*given: Any) -> Any:
        assert store.opened[-1] == "read", "the state is older than what was read since"
        return rule(*given)

    await service.dispatcher.execute(
        replace(operation, rule=breaking),
        Request(by("ada"), {"campaign_id": str(running.id), **REASON}),
    )
    assert running.opened() == ["recalled", "read"]
    assert running.version() == 5


async def test_an_unknown_outcome_is_not_tried_again(running: Campaign, store: WatchedStore):
    store.fails = OutcomeUnknownError
    with pytest.raises(OutcomeUnknownError):
        await running.hold()
    assert (store.appends, running.version()) == (1, 4)


async def test_what_fails_after_the_write_is_not_decided_again(
    running: Campaign, store: WatchedStore, monkeypatch: pytest.MonkeyPatch
):
    class AnswerError(Refusal, status=409):
        """The answer could not be completed."""

    async def failing(*_: Any) -> CommandResult:
        raise AnswerError

    monkeypatch.setattr(Dispatcher, "_completed", failing)
    with pytest.raises(AnswerError):
        await running.hold()
    assert running.opened() == ["recalled"]
    assert running.version() == 5
