"""What a caller whose grant has the scope Own may do with the objects of others."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest
from tests.support.examples import EXAMPLES
from tests.support.examples.campaign import a_campaign
from tests.system.canaries import FREE, PERSONAL, Canaries

from beamkeep.adapters.memory.store import MemoryBackup, MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.equipment.asset import Asset, assets
from beamkeep.contexts.subject.subject import (
    MountSubject,
    Subject,
    SubjectMountTargetUnavailableError,
)
from beamkeep.kernel import AnyReader, History, Many, One, Operation, Refusal, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Request
from beamkeep.runtime.codec import encode
from beamkeep.runtime.store import Stream
from beamkeep.surfaces.problem import problem
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import CALLERS, AdminClient, by, call, enrol, memory_service, permit

pytestmark = pytest.mark.anyio

ABSENT = uuid4()
ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
STAFF, VISITOR, PROBE = "ada", "vera", "probe"
"""Who may do everything, who may do everything with her own objects, and an account like her."""

# What she cannot do with her own objects either: the rule asks who decided, proposed or is named.
OF_THE_STAFF = {
    "add_grant": "GrantExceedsOwnError",
    "confirm_actor_identity": "AdministratorRequiredError",
    "bind_enclosure_monitor": "AdministratorRequiredError",
    "bind_supply_monitor": "AdministratorRequiredError",
    "observe_enclosure_status": "MonitorTriggerNotBoundError",
    "observe_supply_status": "MonitorTriggerNotBoundError",
    "append_inferences": "DecisionCannotAppendInferencesError",
    "define_policy": "GrantExceedsOwnError",
    "take_visit_surface_control": "VisitCannotTakeControlError",
    "unbind_actor_identity": "AdministratorRequiredError",
    "withdraw_proposal": "ProposalCannotWithdrawError",
}
# What a command changes, copies or publishes beside its target. It is absent if it is of others.
ABSENT_BESIDE = {
    "activate_clearance": "ClearanceNotFoundError",
    "add_edition_dataset": "DatasetNotFoundError",
    "add_run_to_campaign": "RunNotFoundError",
    "export_artifact": "DatasetNotFoundError",
    "install_asset": "AssetNotFoundError",
    "mint_dataset_external_id": "ActorNotFoundError",
    "promote_caution_proposal": "DecisionNotFoundError",
    "record_attestation": "DistributionNotFoundError",
    "register_edition": "DatasetNotFoundError",
    "register_procedure": "RecipeNotFoundError",
    "remove_run_from_campaign": "RunNotFoundError",
    "seal_edition": "DatasetNotFoundError",
    "start_run": "CampaignNotFoundError",
    "uninstall_asset": "AssetNotFoundError",
    "withdraw_edition": "DatasetNotFoundError",
}


class Told(NamedTuple):
    """What came of a call: its status, and its body as JSON."""

    status: int
    body: Any

    @property
    def ok(self) -> bool:
        return self.status < 300

    @property
    def code(self) -> str | None:
        return None if self.ok else self.body["code"]

    @property
    def is_marked(self) -> bool:
        text = json.dumps(self.body)
        return FREE in text or PERSONAL in text


class Maker(AdminClient):
    """Makes the objects of an example as the staff.

    Every text can be found again, but those of one object, which is the nth of its kind.
    """

    def __init__(
        self, service: Service, store: MemoryStore, of: str, nth: int | None, *, marks: bool
    ) -> None:
        super().__init__(service, store)
        self._of, self._nth, self._marks = of, nth, marks
        self.ids: list[str] = []
        """Of the objects of the kind, in the order they were made."""

    async def __call__(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        row = CATALOGUE.named[name]
        if not isinstance(row, Operation):
            return await super().__call__(name, arguments, **options)
        is_one, id_field = row.aggregate.name == self._of, row.aggregate.id_field
        if row.genesis:
            plain = is_one and len(self.ids) == self._nth
        else:
            plain = is_one and arguments[id_field] in self.ids[(self._nth or 0) :][:1]
        marked = self._marks and not plain
        sent = Canaries().into(name, arguments) if marked else arguments
        answer = await super().__call__(name, sent, **options)
        if is_one and row.genesis and "proposal_note" not in options:
            self.ids.append(answer[id_field])
        return answer


class World(NamedTuple):
    """An example that is ready, all of it made by the staff."""

    arguments: dict[str, Any]
    target: Stream | None
    made: Sequence[Stream]
    backup: MemoryBackup


class Facility:
    """A service in memory with its people, which is put back before each use."""

    def __init__(self, service: Service, store: MemoryStore, visitors: Mapping[str, UUID]) -> None:
        self.service, self.store, self.visitors = service, store, visitors
        self._fresh = store.backup()

    def visitor(self, operation: Operation) -> str:
        """Who calls with the scope Own: an account where it cannot be a person."""
        return PROBE if operation.name in CALLERS else VISITOR

    async def world(self, operation: Operation) -> World:
        """Put the service back, and make an example; nothing is marked that it is about."""
        of = operation.aggregate
        nth: int | None = None
        if not operation.genesis:
            do = await self._made(operation, None, marks=False)
            id = do[0][of.id_field]
            nth = do[1].index(id) if id in do[1] else None
        marks = operation.genesis or nth is not None
        arguments, _ = await self._made(operation, nth, marks=marks)
        target = None if operation.genesis else (of.name, UUID(arguments[of.id_field]))
        made = [stream for stream in self.store.streams if stream not in self._fresh.streams]
        return World(arguments, target, made, self.store.backup())

    async def _made(
        self, operation: Operation, nth: int | None, *, marks: bool
    ) -> tuple[dict[str, Any], list[str]]:
        self.store.restore(self._fresh)
        of = "" if operation.genesis else operation.aggregate.name
        maker = Maker(self.service, self.store, of, nth, marks=marks)
        return await EXAMPLES[operation.name](maker), maker.ids

    def client(self) -> AdminClient:
        """Return who makes the objects of an example as the staff."""
        return AdminClient(self.service, self.store)

    def put_back(self, world: World, mine: Sequence[Stream], who: str) -> MemoryBackup:
        """Put a world back, in which these objects belong to a visitor."""
        self.store.restore(world.backup)
        for stream in mine:
            self.give(stream, self.visitors[who])
        return self.store.backup()

    def give(self, stream: Stream, owner_id: UUID) -> None:
        """Make an object somebody's own."""
        first = self.store.streams[stream][0]
        self.store.streams[stream][0] = replace(first, principal_id=owner_id)

    async def send(self, who: str, name: str, arguments: Mapping[str, Any], **options: Any) -> Told:
        """Make one call, whatever comes of it."""
        try:
            answer = await call(self.service, name, arguments, subject=who, **options)
        except Refusal as refusal:
            return Told(refusal.status, json.loads(encode(problem(refusal))))
        return Told(getattr(answer, "status", 200), json.loads(answer.body or b"null"))


async def facility_with_visitors() -> Facility:
    service, store = await memory_service()
    vera = await enrol(service, VISITOR, "*", scope="Own")
    login = {"issuer": ISSUER, "subject": PROBE}
    account = {"name": PROBE, "kind": "service_account", "identities": [login]}
    probe = (await call(service, "register_actor", account)).id
    await permit(service, probe, "*", scope="Own")
    return Facility(service, store, {VISITOR: vera, PROBE: probe})


@pytest.fixture(scope="module")
async def here() -> Facility:
    return await facility_with_visitors()


EVERY = [each for each in CATALOGUE.operations if not each.route.is_internal]
CHANGES = [each for each in EVERY if not each.genesis]


def elsewhere(world: World, id: str, told: Told) -> str:
    """What was told, with another id in place of that of the target."""
    assert world.target
    return json.dumps([told.status, told.body]).replace(id, "ID")


async def test_every_command_on_anothers_object_answers_as_for_an_absent_one(
    here: Facility, subtests: pytest.Subtests
):
    for operation in CHANGES:
        with subtests.test(operation.name):
            await require_absent(here, operation)


async def require_absent(here: Facility, operation: Operation) -> None:
    world = await here.world(operation)
    assert world.target
    who, name, id_field = here.visitor(operation), operation.name, operation.aggregate.id_field
    others = [stream for stream in world.made if stream != world.target]
    nobodys = str(uuid4())
    absent = {**world.arguments, id_field: nobodys}
    forms: list[dict[str, Any]] = [
        {"dry_run": True},
        {},
        {"idempotency_key": "k"},
        {"if_match": '"99"'},
        {"if_match": "*"},
        {"dry_run": True, "if_match": '"99"'},
        {"proposal_note": "Please"},
    ]
    staff = CALLERS.get(name, STAFF)
    for mine in ([], others):
        for done in (False, True):
            here.put_back(world, mine, who)
            if done:
                await here.send(staff, name, deepcopy(world.arguments))
            before = here.store.backup()
            for form in forms:
                at = (mine != [], done, form)
                told = await here.send(who, name, deepcopy(world.arguments), **form)
                asked = str(world.target[1])
                expected = await here.send(who, name, deepcopy(absent), **form)
                assert elsewhere(world, asked, told) == elsewhere(world, nobodys, expected), at
                is_note = "proposal_note" in form and name not in CATALOGUE.proposable
                assert told.status == (422 if is_note else 404), (at, told)
                assert here.store.backup() == before, at


async def test_an_answer_is_not_repeated_to_who_may_not_change_the_object_any_more(
    here: Facility, subtests: pytest.Subtests
):
    for operation in CHANGES:
        if operation.name not in OF_THE_STAFF:
            with subtests.test(operation.name):
                await require_not_repeated(here, operation)


async def require_not_repeated(here: Facility, operation: Operation) -> None:
    world = await here.world(operation)
    assert world.target
    who = here.visitor(operation)
    here.put_back(world, world.made, who)
    sent = who, operation.name
    first = await here.send(*sent, deepcopy(world.arguments), idempotency_key="k")
    assert first.ok, first
    again = await here.send(*sent, deepcopy(world.arguments), idempotency_key="k")
    assert again.ok
    here.give(world.target, UUID(int=1))
    hidden = await here.send(*sent, deepcopy(world.arguments), idempotency_key="k")
    assert (hidden.status, hidden.code) == (404, operation.aggregate.absent.__name__)


async def test_every_command_on_ones_own_object_may_name_the_objects_of_others(
    here: Facility, subtests: pytest.Subtests
):
    for operation in EVERY:
        with subtests.test(operation.name):
            await require_own(here, operation)


async def require_own(here: Facility, operation: Operation) -> None:
    world = await here.world(operation)
    who, name = here.visitor(operation), operation.name
    target = [world.target] if world.target else []
    for mine, refused in (
        (world.made, OF_THE_STAFF),
        (target, OF_THE_STAFF | ABSENT_BESIDE),
    ):
        before = here.put_back(world, mine, who)
        dry = await here.send(who, name, deepcopy(world.arguments), dry_run=True)
        assert dry.code == refused.get(name), (len(mine), dry)
        assert here.store.backup() == before
        told = await here.send(who, name, deepcopy(world.arguments))
        assert told.code == refused.get(name), (len(mine), told)
        if told.ok:
            changed = changed_streams(here.store, before)
            assert await owners(here, changed) <= {here.visitors[who]}
        else:
            assert here.store.backup() == before
        if mine is world.made:
            continue
        again = await here.send(who, name, deepcopy(world.arguments))
        for answer in (dry, told, again, *await everything_read(here, who)):
            assert not answer.is_marked, answer


def changed_streams(store: MemoryStore, before: MemoryBackup) -> set[Stream]:
    """The objects that have more events than before."""
    return {
        stream
        for stream, events in store.streams.items()
        if len(events) > len(before.streams.get(stream, ()))
    }


async def owners(here: Facility, streams: set[Stream]) -> set[UUID]:
    """Who own these objects."""
    return {here.store.streams[stream][0].principal_id for stream in streams}


async def everything_read(here: Facility, who: str) -> list[Told]:
    """What a visitor reads of all her objects."""
    me, told = here.visitors[who], list[Told]()
    mine = [s for s, events in here.store.streams.items() if events[0].principal_id == me]
    for question in CATALOGUE.questions:
        kind, id_field = question.aggregate.name, question.aggregate.id_field
        match question.source:
            case Many() if any(name == kind for name, _ in mine):
                told.append(await here.send(who, question.name, {}))
            case One() | History():
                for name, id in mine:
                    if name == kind:
                        told.append(await here.send(who, question.name, {id_field: str(id)}))
            case _:
                pass
    assert all(answer.ok for answer in told), told
    return told


async def test_every_command_changes_the_objects_of_everybody_with_the_scope_all(
    here: Facility, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
):
    asked = list[Sequence[Stream]]()
    owners_of = here.store.owners

    async def counted(streams: Sequence[Stream]) -> Mapping[Stream, UUID]:
        asked.append(streams)
        return await owners_of(streams)

    monkeypatch.setattr(here.store, "owners", counted)
    for operation in EVERY:
        with subtests.test(operation.name):
            world = await here.world(operation)
            here.put_back(world, world.made, VISITOR)
            asked.clear()
            staff = CALLERS.get(operation.name, STAFF)
            told = await here.send(staff, operation.name, deepcopy(world.arguments))
            assert told.ok, told
            assert asked == [], "the scope All needs no statement to look for owners"


def operation(name: str) -> Operation:
    """The operation of this name."""
    row = CATALOGUE.named[name]
    assert isinstance(row, Operation)
    return row


async def test_a_refusal_quotes_nothing_that_the_caller_may_not_read():
    here = await facility_with_visitors()
    world = await here.world(operation("mount_subject"))
    assert world.target
    here.put_back(world, [world.target], VISITOR)
    asset = {"asset_id": world.arguments["asset_id"]}
    await call(here.service, "decommission_asset", asset)
    sent = VISITOR, "mount_subject", world.arguments
    told = (await here.send(*sent)).body
    assert told["code"] == "SubjectMountTargetUnavailableError"
    assert told["detail"] == told["title"]
    assert "lifecycle" not in told
    assert [fact["id"] for fact in told["facts"]] == [str(world.target[1])]

    await permit(here.service, here.visitors[VISITOR], "get_asset")
    told = (await here.send(*sent)).body
    assert told["lifecycle"] == "Decommissioned"
    assert "Decommissioned" in told["detail"]


async def test_a_refusal_by_a_loader_quotes_nothing_either():
    here = await facility_with_visitors()
    world = await here.world(operation("mount_subject"))
    assert world.target

    async def quoting(_: Subject, command: MountSubject, read: AnyReader) -> Asset:
        asset = await read.one(assets, command.asset_id)
        raise SubjectMountTargetUnavailableError(f"It is '{asset.name}'.", lifecycle="Active")

    quotes = replace(operation("mount_subject"), given=quoting)
    for mine, quoted in ((world.made, True), ([world.target], False)):
        here.put_back(world, mine, VISITOR)
        with pytest.raises(SubjectMountTargetUnavailableError) as refused:
            await here.service.dispatcher.execute(quotes, Request(by(VISITOR), world.arguments))
        told = problem(refused.value)
        assert ("lifecycle" in told, "It is" in told["detail"]) == (quoted, quoted)


async def test_what_a_command_copies_is_copied_by_who_may_read_it():
    here = await facility_with_visitors()
    world = await here.world(operation("register_edition"))
    here.put_back(world, [], VISITOR)
    sent = VISITOR, "register_edition", world.arguments
    (dataset_id,) = world.arguments["dataset_ids"]
    hidden = await here.send(*sent)
    absent = await here.send(*sent[:2], {**world.arguments, "dataset_ids": [str(ABSENT)]})
    told = json.dumps(hidden.body).replace(dataset_id, str(ABSENT))
    assert (hidden.status, told) == (404, json.dumps(absent.body))
    await permit(here.service, here.visitors[VISITOR], "get_dataset", "get_actor")
    assert (await here.send(*sent)).status == 201


# What a command changes, copies or publishes beside its target, by the argument that names it.
NAMED_BESIDE = {
    "add_edition_dataset": "dataset_id",
    "add_run_to_campaign": "run_id",
    "export_artifact": "artifact_id",
    "install_asset": "asset_id",
    "mint_dataset_external_id": "creator_ids",
    "promote_caution_proposal": "decision_id",
    "record_acquisition": "corrects_acquisition_id",
    "record_attestation": "distribution_id",
    "register_edition": "dataset_ids",
    "register_procedure": "recipe",
    "remove_run_from_campaign": "run_id",
    "start_run": "campaign_id",
}


async def test_what_a_command_changes_or_copies_besides_its_target_is_absent_as_well(
    here: Facility, subtests: pytest.Subtests
):
    for name, field in NAMED_BESIDE.items():
        for done in (False, True):
            with subtests.test(name, done=done):
                await require_absent_beside(here, operation(name), field, done=done)


async def require_absent_beside(
    here: Facility, changing: Operation, field: str, *, done: bool
) -> None:
    world = await here.world(changing)
    here.put_back(world, [world.target] if world.target else [], VISITOR)
    given = await with_beside(here, changing.name, world.arguments)
    id = re.findall(ID, json.dumps(given[field]))[0]
    absent = {**given, field: json.loads(json.dumps(given[field]).replace(id, str(ABSENT)))}
    if done:
        assert (await here.send(STAFF, changing.name, deepcopy(given))).ok
    for dry_run in (True, False):
        sent = VISITOR, changing.name
        hidden = await here.send(*sent, deepcopy(given), dry_run=dry_run)
        missing = await here.send(*sent, deepcopy(absent), dry_run=dry_run)
        assert hidden.status == 404, hidden
        told = json.loads(json.dumps(hidden.body).replace(id, str(ABSENT)))
        assert told == missing.body


async def test_a_check_of_a_copy_of_others_that_takes_no_check_is_refused_as_for_an_absent_copy():
    here = await facility_with_visitors()
    world = await here.world(operation("record_attestation"))
    here.put_back(world, [], VISITOR)
    ended = {"distribution_id": world.arguments["distribution_id"], "reason": "Other bytes"}
    assert (await here.send(STAFF, "mark_distribution_overwritten", ended)).ok
    refused = {
        who: await here.send(who, "record_attestation", world.arguments) for who in (STAFF, VISITOR)
    }
    assert (refused[STAFF].status, refused[VISITOR].status) == (409, 404)


async def with_beside(here: Facility, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an example, with what the example leaves out made by the staff."""
    staff = AdminClient(here.service, here.store)
    match name:
        case "start_run" if "campaign_id" not in arguments:
            return {**arguments, "campaign_id": await a_campaign(staff)}
        case "record_acquisition":
            made = await staff(name, arguments)
            return {**arguments, "corrects_acquisition_id": made["acquisition_id"]}
        case _:
            return dict(arguments)


async def test_a_proposal_lapses_when_its_proposer_may_not_change_the_object_any_more():
    here = await facility_with_visitors()
    world = await here.world(operation("rename_asset"))
    here.put_back(world, [], VISITOR)
    me = here.visitors[VISITOR]
    allowed = await permit(here.service, me, "rename_asset")
    made = await here.send(VISITOR, "rename_asset", world.arguments, proposal_note="Please")
    assert made.status == 202
    approval = STAFF, "approve_proposal", made.body
    assert (await here.send(*approval, dry_run=True)).ok
    left = {"policy_id": str(allowed), "permitted_principal_id": str(me), "reason": "Left"}
    await call(here.service, "revoke_grant", left)
    assert (await here.send(*approval)).code == "ProposalCannotApproveError"


async def test_who_may_not_change_an_object_waits_for_no_turn_on_it(
    monkeypatch: pytest.MonkeyPatch,
):
    here = await facility_with_visitors()
    world = await here.world(operation("rename_asset"))
    waited = list[Stream | None]()
    wait_turn = here.store.wait_turn

    def noted(stream: Stream | None) -> AbstractAsyncContextManager[None]:
        waited.append(stream)
        return wait_turn(stream)

    monkeypatch.setattr(here.store, "is_contended", bool)
    monkeypatch.setattr(here.store, "wait_turn", noted)
    for mine, expected in (((), None), (tuple(world.made), world.target)):
        here.put_back(world, mine, VISITOR)
        waited.clear()
        await here.send(VISITOR, "rename_asset", world.arguments)
        assert waited == [expected]
