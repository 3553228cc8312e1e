"""The one path of a command: the order of refusals, retries, races and idempotency."""

import json
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import pytest
from tests.support.examples import EXAMPLES

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.access.actor import (
    ActorCannotDeactivateError,
    ActorIdentityAlreadyBoundError,
    ActorNotFoundError,
)
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.contexts.trust.policy import (
    InvalidPolicyReasonError,
    PolicyCannotAddGrantError,
    PolicyCannotRevokeGrantError,
    PolicyNotFoundError,
)
from beamkeep.contexts.trust.visit import VisitCannotTakeControlError
from beamkeep.contexts.trust.zone import InvalidZoneNameError
from beamkeep.deployment.seeding import prepare
from beamkeep.deployment.service import compose
from beamkeep.kernel import DENIALS, Denial, DenialReason, Operation, Refusal, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request, UnauthorizedError
from beamkeep.runtime.codec import Codec
from beamkeep.runtime.deciding import CommandResult
from beamkeep.runtime.dispatch import (
    ConcurrencyError,
    IdempotencyConflictError,
    PreconditionFailedError,
)
from beamkeep.runtime.entry_points import InvalidSurfaceIdError
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.runtime.remedies import ObjectState
from beamkeep.runtime.store import Append, MovedError, Position, StoredAnswer
from beamkeep.runtime.tokens import InvalidTokenError, UnregisteredLoginError
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import ADMIN, AdminClient, by, call, enrol, memory_service, permit

pytestmark = pytest.mark.anyio

HTTP = seeded.SURFACES[SurfaceKind.HTTP]
MCP = seeded.SURFACES[SurfaceKind.MCP_STREAMABLE_HTTP]
ABSENT = str(UUID(int=404))

type Interlude = Callable[[], Awaitable[object]]


class CuedStore(MemoryStore):
    """A store in which others write on cue, and which can be told to fail."""

    def __init__(self) -> None:
        super().__init__(Codec(CATALOGUE.aggregates.values()))
        self.appends = 0
        self.moves = 0
        self.interlude: Interlude | None = None
        self.denials_fail = False

    async def append(self, append: Append) -> Position:
        self.appends += 1
        if self.moves:
            self.moves -= 1
            raise MovedError
        if interlude := self.interlude:
            self.interlude = None
            await interlude()
        return await super().append(append)

    async def deny(self, denial: Denial) -> None:
        if self.denials_fail:
            raise ConnectionError("the disk is full")
        await super().deny(denial)

    def snapshot(self) -> object:
        return deepcopy((self.streams, self.tables, self.answers, self.position))


@pytest.fixture
async def store() -> CuedStore:
    store = CuedStore()
    await prepare(store, store, ADMIN, open_for_development=False)
    return store


@pytest.fixture
def service(store: CuedStore) -> Service:
    return compose(store, store, cursor_key=b"k" * 32)


async def send(service: Service, name: str, request: Request) -> CommandResult:
    operation = service.catalogue.named[name]
    assert isinstance(operation, Operation)
    return await service.dispatcher.execute(operation, request)


def body(answer: CommandResult) -> dict[str, Any]:
    return json.loads(answer.body)


def person(store: MemoryStore, subject: str = "ada") -> UUID:
    return store.tables["actor_identity"][ISSUER, subject].actor_id


def count(store: MemoryStore, name: str) -> int:
    return len([stream for stream in store.streams if stream[0] == name])


async def zone(service: Service, **more: Any) -> CommandResult:
    return await call(service, "define_zone", {"name": "Hutch"}, **more)


async def team(service: Service, store: MemoryStore) -> UUID:
    return await permit(service, person(store), "get_zone")


async def test_a_creation_answers_201_with_the_new_id(service: Service, store: CuedStore):
    made = await zone(service)
    assert made.id is not None
    assert (made.status, body(made)) == (201, {"zone_id": str(made.id)})
    assert (made.version, made.token, made.replayed) == (1, store.position, False)


async def test_a_change_answers_204_with_nothing_and_the_new_version(service: Service):
    otto = await enrol(service, "otto")
    changed = await call(service, "deactivate_actor", {"actor_id": str(otto)})
    assert (changed.status, changed.body, changed.id, changed.version) == (204, b"", otto, 2)


async def test_the_envelope_says_who_did_it_where_and_by_which_call(
    service: Service, store: CuedStore
):
    caller = by("ada", SurfaceKind.MCP_STREAMABLE_HTTP)
    made = await send(service, "define_zone", Request(caller, {"name": "Hutch"}))
    assert made.id is not None
    (envelope,) = store.streams["Zone", made.id]
    assert envelope.principal_id == person(store)
    assert envelope.command_name == "define_zone"
    assert envelope.surface_id == MCP
    assert envelope.correlation_id == caller.correlation_id
    assert envelope.causation_id is None
    assert json.loads(envelope.recorded.payload) == {
        "zone_id": str(made.id),
        "name": "Hutch",
        "occurred_at": envelope.occurred_at.isoformat().replace("+00:00", "Z"),
    }


async def test_a_call_from_inside_has_no_surface(service: Service, store: CuedStore):
    ada = person(store)
    inside = {
        "name": "Inside",
        "conduit_id": str(seeded.INTERNAL),
        "surface_id": None,
        "permitted_principal_ids": [str(ada)],
        "permitted_commands": ["define_zone"],
        "object_scope": "All",
    }
    await call(service, "define_policy", inside)
    caller = Caller(uuid4(), principal_id=ada)
    made = await send(service, "define_zone", Request(caller, {"name": "Hutch"}))
    assert made.id is not None
    assert store.streams["Zone", made.id][0].surface_id is None


async def test_each_refusal_comes_before_the_next(service: Service, store: CuedStore):
    """Everything is wrong at first; each step sets right what was just refused."""
    policy = str(await team(service, store))
    otto = await enrol(service, "otto")
    await zone(service, idempotency_key="used")
    wrong: dict[str, Any] = {
        "subject": "nobody",
        "surface": "no uuid",
        "key": "not visible",
        "if_match": '"7"',
        "arguments": {"policy_id": ABSENT, "permitted_principal_id": "x"},
    }
    corrections: list[tuple[type[Refusal], dict[str, Any]]] = [
        (UnregisteredLoginError, {"subject": "otto"}),
        (InvalidSurfaceIdError, {"surface": None}),
        (UnauthorizedError, {"subject": "ada"}),
        (
            MalformedRequestError,
            {"arguments": {"policy_id": ABSENT, "permitted_principal_id": ABSENT}},
        ),
        (MalformedRequestError, {"key": "used"}),
        (IdempotencyConflictError, {"key": "new"}),
        (
            PolicyNotFoundError,
            {"arguments": {"policy_id": policy, "permitted_principal_id": ABSENT}},
        ),
        (
            ActorNotFoundError,
            {"arguments": {"policy_id": policy, "permitted_principal_id": str(person(store))}},
        ),
        (PreconditionFailedError, {"if_match": '"1"'}),
        (
            PolicyCannotAddGrantError,
            {"arguments": {"policy_id": policy, "permitted_principal_id": str(otto)}},
        ),
    ]
    for refusal, correction in corrections:
        request = Request(
            by(wrong["subject"], selected_surface=wrong["surface"]),
            wrong["arguments"],
            wrong["key"],
            wrong["if_match"],
        )
        with pytest.raises(Refusal) as refused:
            await send(service, "add_grant", request)
        assert type(refused.value) is refusal
        wrong |= correction
    request = Request(by("ada"), wrong["arguments"], wrong["key"], wrong["if_match"])
    assert (await send(service, "add_grant", request)).status == 204


async def test_a_blank_text_comes_before_412_and_412_before_409(service: Service, store: CuedStore):
    policy = str(await team(service, store))
    wrong = {"policy_id": policy, "permitted_principal_id": ABSENT, "reason": " "}
    with pytest.raises(InvalidPolicyReasonError):
        await call(service, "revoke_grant", wrong, if_match='"2"')
    with pytest.raises(PreconditionFailedError):
        await call(service, "revoke_grant", wrong | {"reason": "left"}, if_match='"2"')
    with pytest.raises(PolicyCannotRevokeGrantError):
        await call(service, "revoke_grant", wrong | {"reason": "left"})


async def test_a_refused_command_writes_nothing(service: Service, store: CuedStore):
    before = store.snapshot()
    with pytest.raises(InvalidZoneNameError):
        await call(service, "define_zone", {"name": " "}, idempotency_key="k")
    assert store.snapshot() == before


async def test_an_unreadable_body_is_reported_only_to_permitted_callers(service: Service):
    await enrol(service, "otto")
    unreadable = MalformedRequestError("The body is not well-formed JSON.")
    with pytest.raises(UnauthorizedError):
        await send(service, "define_zone", Request(by("otto"), unreadable))
    for name in ("define_zone", "deactivate_actor"):
        with pytest.raises(MalformedRequestError, match="not well-formed"):
            await send(service, name, Request(by("ada"), unreadable))


async def test_an_id_in_the_path_that_is_none_is_malformed(service: Service):
    with pytest.raises(MalformedRequestError, match="actor_id"):
        await call(service, "deactivate_actor", {"actor_id": "x"})


async def test_an_unknown_login_is_401(service: Service):
    with pytest.raises(UnregisteredLoginError) as refused:
        await zone(service, subject="nobody")
    assert refused.value.status == 401
    assert "nobody" not in str(refused.value)


async def test_the_same_subject_at_another_issuer_is_somebody_else(service: Service):
    caller = Caller(uuid4(), identity=("https://elsewhere", "ada"), transport=SurfaceKind.HTTP)
    with pytest.raises(InvalidTokenError):
        await send(service, "define_zone", Request(caller, {"name": "Hutch"}))


async def test_a_login_taken_away_opens_nothing(service: Service, store: CuedStore):
    await enrol(service, "otto", "define_zone")
    await zone(service, subject="otto")
    await call(service, "forget_actor", {"actor_id": str(person(store, "otto"))})
    with pytest.raises(InvalidTokenError):
        await zone(service, subject="otto")


@pytest.mark.parametrize("selected", ["x", "", ABSENT, str(MCP)])
async def test_a_surface_that_calls_of_this_kind_do_not_arrive_at_is_400(
    service: Service, selected: str
):
    caller = by("ada", selected_surface=selected)
    with pytest.raises(InvalidSurfaceIdError) as refused:
        await send(service, "define_zone", Request(caller, {"name": "Hutch"}))
    assert refused.value.status == 400


async def test_a_call_arrives_at_the_surface_it_selects(service: Service, store: CuedStore):
    console = {"name": "Console", "kind": "HTTP", "conduit_id": str(seeded.ENTRY)}
    surface = await call(service, "define_surface", console)
    there = Request(by("ada", selected_surface=str(surface.id)), {"name": "Hutch"})
    with pytest.raises(UnauthorizedError):
        await send(service, "define_zone", there)
    policy = {
        "name": "Console",
        "conduit_id": str(seeded.ENTRY),
        "surface_id": str(surface.id),
        "permitted_principal_ids": [str(person(store))],
        "permitted_commands": ["define_zone"],
        "object_scope": "All",
    }
    await call(service, "define_policy", policy)
    made = await send(service, "define_zone", there)
    assert made.id is not None
    assert store.streams["Zone", made.id][0].surface_id == surface.id


async def test_a_policy_on_the_http_surface_denies_over_mcp(service: Service):
    await enrol(service, "otto", "define_zone")
    assert (await zone(service, subject="otto")).status == 201
    for transport in (SurfaceKind.MCP_STDIO, SurfaceKind.MCP_STREAMABLE_HTTP):
        with pytest.raises(UnauthorizedError):
            await send(service, "define_zone", Request(by("otto", transport), {"name": "Hutch"}))


async def test_a_policy_of_one_command_permits_no_other(service: Service):
    await enrol(service, "otto", "define_zone")
    with pytest.raises(UnauthorizedError):
        await call(service, "register_actor", {"name": "Niels"}, subject="otto")


async def test_what_a_caller_may_call_is_listed_by_name(service: Service):
    await enrol(service, "otto", "define_zone", "get_zone")
    catalogue = service.catalogue
    assert await service.admission.permitted(by("otto"), catalogue) == {"define_zone", "get_zone"}
    assert await service.admission.permitted(by("ada"), catalogue) == set(catalogue.named)
    elsewhere = by("otto", SurfaceKind.MCP_STDIO)
    assert await service.admission.permitted(elsewhere, catalogue) == set()


async def test_a_denial_is_recorded_and_its_reason_not_shown(service: Service, store: CuedStore):
    otto = await enrol(service, "otto")
    caller = by("otto")
    with pytest.raises(UnauthorizedError) as refused:
        await send(service, "define_zone", Request(caller, {"name": "Hutch"}))
    assert refused.value.status == 403
    assert refused.value.facts == {}
    assert str(refused.value) == (
        "You are not permitted to make this call on this surface."
        " Call: define_zone. Surface: HTTP. Ask an administrator for a grant."
    )
    (denial,) = await store.rows(DENIALS, {})
    assert denial == Denial(
        denial.denial_id,
        seeded.ENTRY,
        HTTP,
        otto,
        "define_zone",
        DenialReason.NO_MATCHING_POLICY,
        caller.correlation_id,
        denial.occurred_at,
    )


async def test_the_reason_of_a_denial_is_on_record(service: Service, store: CuedStore):
    otto = await enrol(service, "otto", "define_zone")
    await call(service, "deactivate_actor", {"actor_id": str(otto)})
    with pytest.raises(UnauthorizedError):
        await zone(service, subject="otto")
    stranger = Caller(uuid4(), principal_id=UUID(int=404), transport=SurfaceKind.HTTP)
    with pytest.raises(UnauthorizedError):
        await send(service, "define_zone", Request(stranger, {"name": "Hutch"}))
    found = {(d.principal_id, d.reason_code) for d in await store.rows(DENIALS, {})}
    assert found == {
        (otto, DenialReason.INACTIVE_PRINCIPAL),
        (UUID(int=404), DenialReason.UNKNOWN_PRINCIPAL),
    }


async def test_an_unknown_login_and_a_bad_surface_are_no_denials(
    service: Service, store: CuedStore
):
    with pytest.raises(InvalidTokenError):
        await zone(service, subject="nobody")
    with pytest.raises(InvalidSurfaceIdError):
        await send(service, "define_zone", Request(by("ada", selected_surface="x"), {}))
    assert await store.rows(DENIALS, {}) == ()


async def test_a_denial_that_cannot_be_recorded_is_a_denial_all_the_same(
    service: Service, store: CuedStore
):
    await enrol(service, "otto")
    store.denials_fail = True
    with pytest.raises(UnauthorizedError):
        await zone(service, subject="otto")
    assert await store.rows(DENIALS, {}) == ()


async def test_the_same_request_with_the_same_key_is_answered_again_and_not_done_again(
    service: Service, store: CuedStore
):
    first = await zone(service, idempotency_key="k")
    before = store.snapshot()
    again = await zone(service, idempotency_key="k")
    assert (again.status, again.body, again.replayed) == (201, first.body, True)
    assert (again.version, again.token) == (first.version, first.token)
    assert store.snapshot() == before


async def test_a_change_is_answered_again_though_it_could_not_be_done_again(service: Service):
    deactivate = {"actor_id": str(await enrol(service, "otto"))}
    for replayed in (False, True):
        answer = await call(service, "deactivate_actor", deactivate, idempotency_key="k")
        assert (answer.status, answer.body, answer.replayed) == (204, b"", replayed)


async def test_the_order_of_the_fields_does_not_matter(service: Service):
    fields = {"name": "Otto", "email": "otto@idp.test"}
    first = await call(service, "register_actor", fields, idempotency_key="k")
    turned = dict(reversed(fields.items()))
    again = await call(service, "register_actor", turned, idempotency_key="k")
    assert again.body == first.body


async def test_an_answer_that_an_earlier_release_stored_is_given_again(
    service: Service, store: CuedStore
):
    first = await zone(service, idempotency_key="k")
    ((key, kept),) = store.answers.items()
    sent = sha256(b'["define_zone",{"name":"Hutch"}]').digest()
    store.answers[key] = StoredAnswer(sent, kept.status, kept.result)
    again = await zone(service, idempotency_key="k")
    assert (again.body, again.replayed, again.version, again.token) == (
        first.body,
        True,
        None,
        None,
    )
    with pytest.raises(IdempotencyConflictError):
        await call(service, "define_zone", {"name": "Other"}, idempotency_key="k")


async def test_another_request_with_the_same_key_is_422(service: Service, store: CuedStore):
    await zone(service, idempotency_key="k")
    before = store.snapshot()
    for name, arguments in (
        ("define_zone", {"name": "Other"}),
        ("register_actor", {"name": "Hutch"}),
        ("deactivate_actor", {"actor_id": ABSENT}),
    ):
        with pytest.raises(IdempotencyConflictError) as refused:
            await call(service, name, arguments, idempotency_key="k")
        assert refused.value.status == 422
    assert store.snapshot() == before


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "a\n", "\x7f"])
async def test_a_key_that_is_not_1_to_255_visible_characters_is_422(service: Service, key: str):
    with pytest.raises(MalformedRequestError, match="1 to 255 visible ASCII"):
        await zone(service, idempotency_key=key)


@pytest.mark.parametrize("key", ["!", "~", "x" * 255])
async def test_any_visible_key_will_do(service: Service, key: str):
    assert (await zone(service, idempotency_key=key)).status == 201


async def test_the_same_key_of_another_principal_is_another_entry(service: Service):
    await enrol(service, "otto", "define_zone")
    first = await zone(service, idempotency_key="k")
    other = await zone(service, idempotency_key="k", subject="otto")
    assert not other.replayed
    assert other.body != first.body


async def test_the_same_key_on_another_surface_is_another_entry(service: Service):
    first = await zone(service, idempotency_key="k")
    caller = by("ada", SurfaceKind.MCP_STREAMABLE_HTTP)
    other = await send(service, "define_zone", Request(caller, {"name": "Hutch"}, "k"))
    assert not other.replayed
    assert other.body != first.body


async def test_nobody_is_answered_again_whose_grant_is_gone(service: Service):
    otto = await enrol(service, "otto")
    policy = await permit(service, otto, "define_zone")
    await zone(service, idempotency_key="k", subject="otto")
    revoke = {"policy_id": str(policy), "permitted_principal_id": str(otto), "reason": "left"}
    await call(service, "revoke_grant", revoke)
    with pytest.raises(UnauthorizedError):
        await zone(service, idempotency_key="k", subject="otto")


async def test_a_refusal_is_not_remembered(service: Service, store: CuedStore):
    otto = await enrol(service, "otto")
    register = {"name": "Otto", "identities": [{"issuer": ISSUER, "subject": "otto"}]}
    with pytest.raises(ActorIdentityAlreadyBoundError):
        await call(service, "register_actor", register, idempotency_key="k")
    assert store.answers == {}
    unbind = {"actor_id": str(otto), "issuer": ISSUER, "subject": "otto"}
    await call(service, "unbind_actor_identity", unbind)
    again = await call(service, "register_actor", register, idempotency_key="k")
    assert (again.status, again.replayed) == (201, False)


async def test_of_two_first_calls_at_once_one_is_done_and_both_are_answered_alike(
    service: Service, store: CuedStore
):
    others: list[CommandResult] = []

    async def meanwhile() -> None:
        others.append(await zone(service, idempotency_key="k"))

    zones = count(store, "Zone")
    store.interlude = meanwhile
    mine = await zone(service, idempotency_key="k")
    assert mine.replayed
    assert mine.body == others[0].body
    assert count(store, "Zone") == zones + 1


@pytest.mark.parametrize("if_match", ['"1"', "1", "*", ' "1" '])
async def test_a_change_of_the_version_named_is_made(service: Service, if_match: str):
    otto = await enrol(service, "otto")
    deactivate = {"actor_id": str(otto)}
    assert (await call(service, "deactivate_actor", deactivate, if_match=if_match)).version == 2


@pytest.mark.parametrize("if_match", ['"2"', '"0"', '""', "", "x"])
async def test_a_change_of_another_version_is_412(service: Service, if_match: str):
    otto = await enrol(service, "otto")
    with pytest.raises(PreconditionFailedError, match="The current version is 1") as refused:
        await call(service, "deactivate_actor", {"actor_id": str(otto)}, if_match=if_match)
    assert refused.value.status == 412


async def test_a_dry_run_tells_the_events_and_writes_nothing(service: Service, store: CuedStore):
    before, store.appends = store.snapshot(), 0
    answer = await zone(service, dry_run=True, idempotency_key="k")
    assert answer.status == 200
    (event,) = body(answer)["events"]
    assert event["event_type"] == "ZoneDefined"
    assert event["payload"].keys() == {"zone_id", "name", "occurred_at"}
    assert event["payload"]["name"] == "Hutch"
    assert store.snapshot() == before
    assert store.appends == 0


async def test_a_dry_run_is_refused_as_the_command_would_be(service: Service):
    with pytest.raises(InvalidZoneNameError):
        await call(service, "define_zone", {"name": " "}, dry_run=True)
    await enrol(service, "otto")
    with pytest.raises(UnauthorizedError):
        await zone(service, dry_run=True, subject="otto")
    deactivate = {"actor_id": str(await enrol(service, "niels"))}
    with pytest.raises(PreconditionFailedError):
        await call(service, "deactivate_actor", deactivate, dry_run=True, if_match='"9"')


async def test_a_dry_run_is_refused_a_key_that_is_taken(service: Service, store: CuedStore):
    await enrol(service, "otto")
    taken = {"name": "Otto", "identities": [{"issuer": ISSUER, "subject": "otto"}]}
    before = store.snapshot()
    with pytest.raises(ActorIdentityAlreadyBoundError):
        await call(service, "register_actor", taken, dry_run=True)
    free = {"name": "Otto", "identities": [{"issuer": ISSUER, "subject": "free"}]}
    assert (await call(service, "register_actor", free, dry_run=True)).status == 200
    assert store.snapshot() == before


async def payloads(service: Service, name: str, arguments: Mapping[str, Any]) -> list[bool]:
    """Whether Otto is shown the payload of each event that a dry run would write."""
    told = body(await call(service, name, arguments, subject="otto", dry_run=True))
    return [event["payload"] is not None for event in told["events"]]


async def test_a_dry_run_shows_payloads_only_to_who_may_read_the_target(service: Service):
    otto = await enrol(service, "otto", "rename_asset", "register_asset")
    family = await call(service, "define_family", {"name": "Beamline", "affordances": []})
    asset = {"name": "Beamline", "tier": "Unit", "facility_code": "local"}
    asset |= {"family_ids": [str(family.id)]}
    theirs = {"asset_id": str((await call(service, "register_asset", asset)).id), "name": "New"}
    own = await call(service, "register_asset", asset, subject="otto")
    mine = {"asset_id": str(own.id), "name": "New"}
    assert await payloads(service, "rename_asset", theirs) == [False]
    assert await payloads(service, "rename_asset", mine) == [False]
    assert await payloads(service, "register_asset", asset) == [False], "they may not read it"
    await permit(service, otto, "get_asset", scope="Own")
    assert await payloads(service, "rename_asset", theirs) == [False]
    assert await payloads(service, "rename_asset", mine) == [True]
    assert await payloads(service, "register_asset", asset) == [True], "it would be their own"
    await permit(service, otto, "get_asset", scope="All")
    assert await payloads(service, "rename_asset", theirs) == [True]


async def test_a_dry_run_shows_the_payload_of_another_stream_only_to_who_may_read_that():
    service, store = await memory_service()
    otto = await enrol(service, "otto", "add_run_to_campaign")
    await permit(service, otto, "get_campaign", "get_run", scope="Own")
    arguments = await EXAMPLES["add_run_to_campaign"](AdminClient(service, store))
    assert await payloads(service, "add_run_to_campaign", arguments) == [False, False]
    for own, shown in (("run", {False}), ("campaign", {True})):
        stored = store.streams[own.capitalize(), UUID(arguments[f"{own}_id"])]
        stored[0] = replace(stored[0], principal_id=otto)
        assert {*await payloads(service, "add_run_to_campaign", arguments)} == shown
    stored = store.streams["Run", UUID(arguments["run_id"])]
    stored[0] = replace(stored[0], principal_id=person(store))
    assert sorted(await payloads(service, "add_run_to_campaign", arguments)) == [False, True]


async def test_a_dry_run_is_not_answered_from_memory(service: Service):
    await zone(service, idempotency_key="k")
    assert (await zone(service, dry_run=True, idempotency_key="k")).status == 200


async def test_a_command_is_decided_again_up_to_three_times(service: Service, store: CuedStore):
    store.moves, store.appends = 3, 0
    assert (await zone(service)).status == 201
    assert store.appends == 4


async def test_a_command_that_keeps_losing_is_409_and_writes_nothing(
    service: Service, store: CuedStore
):
    store.moves, store.appends = 100, 0
    before = store.snapshot()
    with pytest.raises(ConcurrencyError) as refused:
        await zone(service)
    assert refused.value.status == 409
    assert store.appends == 4
    assert store.snapshot() == before


async def test_what_was_decided_on_an_old_version_is_decided_again(
    service: Service, store: CuedStore
):
    deactivate = {"actor_id": str(await enrol(service, "otto"))}
    store.interlude = lambda: call(service, "deactivate_actor", deactivate)
    with pytest.raises(ActorCannotDeactivateError):
        await call(service, "deactivate_actor", deactivate)


async def test_what_was_decided_on_an_old_version_of_another_stream_is_decided_again(
    service: Service, store: CuedStore
):
    policy, otto = await team(service, store), await enrol(service, "otto")
    store.interlude = lambda: call(service, "deactivate_actor", {"actor_id": str(otto)})
    grant = {"policy_id": str(policy), "permitted_principal_id": str(otto)}
    with pytest.raises(PolicyCannotAddGrantError, match="not active"):
        await call(service, "add_grant", grant)


async def test_the_loser_of_a_race_for_a_login_learns_that_it_is_bound(
    service: Service, store: CuedStore
):
    register = {"name": "Otto", "identities": [{"issuer": ISSUER, "subject": "otto"}]}
    actors = count(store, "Actor")
    store.interlude = lambda: call(service, "register_actor", register)
    with pytest.raises(ActorIdentityAlreadyBoundError):
        await call(service, "register_actor", register)
    assert count(store, "Actor") == actors + 1


async def visit(service: Service, store: MemoryStore, parent_id: UUID | None = None) -> UUID:
    """A visit whose visitors have arrived."""
    (policy_id,) = {
        row.policy_id
        for row in store.tables["policy_grant"].values()
        if row.surface_id == HTTP and row.principal_id == person(store)
    }
    register: Mapping[str, object] = {
        "policy_id": str(policy_id),
        "parent_surface_id": str(HTTP),
        "type": "user",
        "planned_start_at": "2030-01-01T00:00:00Z",
        "planned_end_at": "2030-01-02T00:00:00Z",
        "parent_id": parent_id and str(parent_id),
    }
    made = await call(service, "register_visit", register)
    await call(service, "record_visit_arrival", {"visit_id": str(made.id)})
    return made.id


async def take(service: Service, visit_id: UUID) -> CommandResult:
    return await call(service, "take_visit_surface_control", {"visit_id": str(visit_id)})


async def test_the_loser_of_a_race_for_a_surface_learns_who_holds_it(
    service: Service, store: CuedStore
):
    mine, theirs = await visit(service, store), await visit(service, store)
    store.interlude = lambda: take(service, theirs)
    with pytest.raises(
        VisitCannotTakeControlError, match=f"Visit {theirs} controls the surface"
    ) as refused:
        await take(service, mine)
    assert refused.value.facts == {
        "held_by_visit_id": theirs,
        "facts": [ObjectState("Visit", mine, state="Arrived")],
        "must_be": (),
        "cleared_by": [],
    }
    assert [row.visit_id for row in store.tables["surface_control"].values()] == [theirs]


async def test_a_child_takes_control_from_its_parent_in_one_append(
    service: Service, store: CuedStore
):
    parent = await visit(service, store)
    child = await visit(service, store, parent)
    await take(service, parent)
    store.appends = 0
    taken = await take(service, child)
    assert store.appends == 1
    assert (taken.id, taken.version) == (child, 3)
    released, took = store.streams["Visit", parent][-1], store.streams["Visit", child][-1]
    assert [e.recorded.event_type for e in (released, took)] == [
        "VisitSurfaceControlReleased",
        "VisitSurfaceControlTaken",
    ]
    assert (released.recorded.version, took.recorded.version) == (4, 3)
    assert released.correlation_id == took.correlation_id
    assert [row.visit_id for row in store.tables["surface_control"].values()] == [child]


async def test_a_parent_that_moves_meanwhile_is_looked_at_again(service: Service, store: CuedStore):
    parent = await visit(service, store)
    child = await visit(service, store, parent)
    await take(service, parent)
    store.interlude = lambda: call(
        service, "release_visit_surface_control", {"visit_id": str(parent)}
    )
    await take(service, child)
    types = [e.recorded.event_type for e in store.streams["Visit", parent]]
    assert types.count("VisitSurfaceControlReleased") == 1
