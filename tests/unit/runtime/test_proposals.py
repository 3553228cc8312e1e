"""Proposals: every command that can be proposed, from the proposal to its approval."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.support.examples import EXAMPLES, OUTSIDE
from tests.support.prepared import Prepared
from tests.support.rows import selected

from beamkeep.adapters.memory.store import MemoryStore
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.proposal import proposal
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Question, Refusal, SurfaceKind, replace
from beamkeep.runtime import Service
from beamkeep.runtime.admission import Caller, Request, UnauthorizedError
from beamkeep.runtime.dispatch import PreconditionFailedError
from beamkeep.runtime.parsing import MalformedRequestError
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import by, call, enrol, memory_service, permit, policy

pytestmark = pytest.mark.anyio

HTTP = seeded.SURFACES[SurfaceKind.HTTP]
READING = ("get_proposal", "withdraw_proposal")
NEVER_PROPOSED = """
Actor Agent Attestation Conduit Credential Decision Permit Policy Proposal Seal Subscription Surface
Team Visit Zone
"""
"""The aggregates of which no operation can be proposed."""
OTHERS_NOT_PROPOSABLE = """
add_facility_trust_anchor_credential append_activities append_clearance_review_step
append_observations append_run_logbook_entry approve_clearance bind_enclosure_monitor
bind_supply_monitor observe_enclosure_status observe_supply_status reject_clearance
remove_facility_trust_anchor_credential unbind_enclosure_monitor unbind_supply_monitor
"""
NOT_PROPOSABLE = {
    row.name
    for row in CATALOGUE.operations
    if row.aggregate.name in NEVER_PROPOSED.split() or row.name in OTHERS_NOT_PROPOSABLE.split()
}
WANTED = {row.name for row in selected(CATALOGUE.operations)}
PROPOSABLE = sorted(CATALOGUE.proposable & WANTED)
FAMILY: dict[str, Any] = {"name": "Detectors", "affordances": []}


class Proposing(Prepared):
    """A service, a proposer who may propose everything, and an administrator who approves."""

    def __init__(self, service: Service, store: MemoryStore, proposer: UUID) -> None:
        super().__init__(service, store)
        self.proposer = proposer

    async def propose(self, name: str, arguments: dict[str, Any], **options: Any) -> str:
        made = await call(self.service, name, arguments, "paul", **options)
        assert made.status == 202
        return json.loads(made.body)["proposal_id"]

    async def approve(self, id: str, **more: Any) -> Any:
        return await self.do("approve_proposal", {"proposal_id": id, **more})

    async def shown(self, id: str, **options: Any) -> Any:
        found = await call(self.service, "get_proposal", {"proposal_id": id}, **options)
        return json.loads(found.body)

    def expire(self, id: str) -> None:
        """Let the time of a proposal be over."""
        stream = "Proposal", UUID(id)
        first, *rest = self.store.streams[stream]
        payload = json.loads(bytes(first.payload))
        payload["expires_at"] = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
        raw = msgspec.Raw(json.dumps(payload).encode())
        self.store.streams[stream] = [replace(first, payload=raw), *rest]

    @property
    def denials(self) -> list[str]:
        return [
            row.command_name for row in self.store.tables.get("authorization_denials", {}).values()
        ]


async def let_propose(service: Service, subject: str, *commands: str) -> UUID:
    id = await enrol(service, subject, *READING)
    terms = policy("Proposers", HTTP, id) | {"proposable_commands": list(commands)}
    await call(service, "define_policy", terms)
    return id


@pytest.fixture(scope="module")
def deployment() -> Proposing:
    return asyncio.run(prepared_proposing())


async def prepared_proposing() -> Proposing:
    service, store = await memory_service()
    return Proposing(service, store, await let_propose(service, "paul", "*"))


@pytest.fixture
def proposing(deployment: Proposing) -> Proposing:
    deployment.restore()
    return deployment


def test_these_operations_cannot_be_proposed():
    operations = {operation.name for operation in CATALOGUE.operations}
    assert operations - CATALOGUE.proposable == NOT_PROPOSABLE


async def test_a_command_is_proposed_and_then_carried_out_by_the_approver(
    proposing: Proposing, subtests: pytest.Subtests
):
    for name in PROPOSABLE:
        with subtests.test(name):
            await require_approval(name, proposing)


async def require_approval(name: str, proposing: Proposing) -> None:
    """Fail unless the approver writes what the proposer proposed, in the approver's name."""
    arguments = await proposing.example(name)
    before = proposing.store.position.position
    id = await proposing.propose(name, arguments)
    assert proposing.store.position.position == before + 1
    shown = await proposing.shown(id)
    assert shown["now"]["refusal"] is None
    answered = await proposing.approve(id, basis=shown["now"]["basis"])
    assert 200 <= answered["status"] < 300
    (registered, approved) = proposing.store.streams["Proposal", UUID(id)]
    streams = proposing.store.streams.values()
    written = [e for stream in streams for e in stream if e.position > before + 1]
    written.sort(key=lambda e: e.position)
    assert {e.causation_id for e in written} == {registered.event_id}
    assert {e.correlation_id for e in written} == {registered.correlation_id}
    assert {e.principal_id for e in written} == {approved.principal_id}
    assert approved.principal_id != proposing.proposer
    assert [e.command_name for e in written] == [name] * (len(written) - 1) + ["approve_proposal"]
    if name not in OUTSIDE:
        assert [e.event_type for e in written[:-1]] == shown["would_write"]
    closed = await proposing.shown(id)
    assert closed["status"] == "Approved"
    assert {each["stream_id"] for each in closed["written"]} == {
        str(e.stream_id) for e in written[:-1]
    }


async def test_an_approver_without_the_permission_is_denied_that_command(
    proposing: Proposing, subtests: pytest.Subtests
):
    for name in PROPOSABLE:
        with subtests.test(name):
            arguments = await proposing.example(name)
            await enrol(proposing.service, "boss", "approve_proposal", "get_proposal")
            id = await proposing.propose(name, arguments)
            before = proposing.store.position
            assert (await proposing.shown(id, subject="boss"))["now"]["refusal"]["status"] == 403
            assert proposing.denials == []
            with pytest.raises(UnauthorizedError):
                await call(proposing.service, "approve_proposal", {"proposal_id": id}, "boss")
            assert proposing.denials == [name]
            assert proposing.store.position == before


async def test_an_expired_proposal_is_not_carried_out(
    proposing: Proposing, subtests: pytest.Subtests
):
    for name in PROPOSABLE:
        with subtests.test(name):
            id = await proposing.propose(name, await proposing.example(name))
            proposing.expire(id)
            before = proposing.store.position
            with pytest.raises(proposal.ProposalExpiredError):
                await proposing.approve(id)
            assert proposing.store.position == before


async def test_a_policy_with_every_command_does_not_let_the_others_be_proposed(
    proposing: Proposing, subtests: pytest.Subtests
):
    for name in sorted(NOT_PROPOSABLE & WANTED - {*READING}):
        with subtests.test(name):
            proposing.restore()
            with pytest.raises(UnauthorizedError):
                await call(proposing.service, name, {}, "paul")
            assert proposing.denials == [name]


async def test_a_note_makes_a_proposal_where_the_caller_may_act(proposing: Proposing):
    made = await call(proposing.service, "define_family", FAMILY, proposal_note="Please look")
    id = json.loads(made.body)["proposal_id"]
    assert made.status == 202
    assert (await proposing.shown(id))["note"] == "Please look"
    with pytest.raises(proposal.ProposalNotYoursToApproveError):
        await proposing.approve(id)


@pytest.mark.parametrize("note", ["", "x" * 501])
async def test_a_note_has_1_to_500_characters(proposing: Proposing, note: str):
    with pytest.raises(MalformedRequestError):
        await call(proposing.service, "define_family", FAMILY, proposal_note=note)


async def test_a_note_on_what_cannot_be_proposed_is_malformed(proposing: Proposing):
    with pytest.raises(MalformedRequestError):
        await call(proposing.service, "define_zone", {"name": "Z"}, proposal_note="Please")


async def test_a_dry_run_says_that_the_command_would_be_proposed(proposing: Proposing):
    before = proposing.store.position
    told = await call(proposing.service, "define_family", FAMILY, "paul", dry_run=True)
    assert (told.status, json.loads(told.body)["would_propose"]) == (200, True)
    assert proposing.store.position == before


async def test_the_key_of_the_proposer_still_answers_the_proposal(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY, idempotency_key="k")
    await proposing.approve(id)
    again = await call(proposing.service, "define_family", FAMILY, "paul", idempotency_key="k")
    assert (again.status, json.loads(again.body), again.replayed) == (
        202,
        {"proposal_id": id},
        True,
    )


async def test_the_key_of_the_approver_answers_the_approval_again(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY)
    arguments = {"proposal_id": id}
    first, again = [
        await call(proposing.service, "approve_proposal", arguments, idempotency_key="k")
        for _ in range(2)
    ]
    assert (first.body, again.replayed) == (again.body, True)


async def test_the_same_proposal_is_open_once(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY)
    with pytest.raises(proposal.ProposalAlreadyOpenError) as refused:
        await proposing.propose("define_family", {"affordances": [], "name": "Detectors"})
    assert refused.value.facts == {"proposal_id": id}


async def test_a_closed_or_expired_proposal_can_be_made_again(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY)
    await call(proposing.service, "withdraw_proposal", {"proposal_id": id}, "paul")
    for _ in range(2):
        id = await proposing.propose("define_family", FAMILY)
        proposing.expire(id)
    (claim,) = [row for row in proposing.store.tables["claims"].values() if row.holder == UUID(id)]
    assert claim.scope == "open-proposal"


async def test_attack_11_a_proposer_has_at_most_fifty_open_proposals(proposing: Proposing):
    for number in range(50):
        await proposing.propose("define_family", FAMILY | {"name": f"Family {number}"})
    with pytest.raises(proposal.ProposalTooManyOpenError):
        await proposing.propose("define_family", FAMILY)


async def test_attack_12_what_changes_after_the_approver_looked_is_not_carried_out(
    proposing: Proposing,
):
    arguments = await EXAMPLES["start_run"](proposing.do)
    id = await proposing.propose("start_run", arguments)
    basis = (await proposing.shown(id))["now"]["basis"]
    plan = await proposing.do("get_plan", {"plan_id": arguments["plan_id"]})
    asset = {"asset_id": plan["asset_ids"][0], "reason": "Changed meanwhile"}
    await proposing.do("degrade_asset", asset)
    with pytest.raises(PreconditionFailedError):
        await proposing.approve(id, basis=basis)
    assert (await proposing.shown(id))["status"] == "Open"
    assert (await proposing.shown(id))["now"]["basis"] != basis


async def test_attack_13_a_note_is_shown_as_the_words_of_the_proposer_alone(proposing: Proposing):
    note = "already agreed with safety, approve at once"
    id = await proposing.propose("define_family", FAMILY, proposal_note=note)
    shown = await proposing.shown(id)
    assert (shown["note"], shown["proposed_by"]) == (note, str(proposing.proposer))
    listed = await call(proposing.service, "list_proposals", {})
    assert note not in listed.body.decode()
    assert "arguments" not in json.loads(listed.body)["items"][0]


@pytest.mark.parametrize(
    "caller",
    [
        by("ada", SurfaceKind.MCP_STREAMABLE_HTTP),
        by("ada", SurfaceKind.MCP_STDIO),
        by("ada", delegated=True),
    ],
    ids=["over MCP", "over stdio", "with a delegated token"],
)
async def test_attack_14_an_agent_with_the_token_of_a_person_does_not_approve(
    proposing: Proposing, caller: Any
):
    id = await proposing.propose("define_family", FAMILY)
    operation = CATALOGUE.by_command[proposal.ApproveProposal]
    with pytest.raises(proposal.ProposalNotYoursToApproveError):
        await proposing.service.dispatcher.execute(operation, Request(caller, {"proposal_id": id}))


async def test_attack_14_only_a_person_approves(proposing: Proposing):
    login = {"issuer": ISSUER, "subject": "bot"}
    made = await proposing.do(
        "register_actor", {"name": "Bot", "kind": "service_account", "identities": [login]}
    )
    await proposing.do("define_policy", policy("Bots", HTTP, made["actor_id"], "*"))
    id = await proposing.propose("define_family", FAMILY)
    with pytest.raises(proposal.ProposalNotYoursToApproveError):
        await call(proposing.service, "approve_proposal", {"proposal_id": id}, "bot")


RIGHTS = """
    add_grant bind_actor_identity register_subscription approve_proposal grant_agent_tool
"""


@pytest.mark.parametrize("name", RIGHTS.split())
async def test_attack_15_no_policy_lets_rights_be_proposed(proposing: Proposing, name: str):
    terms = policy("Rights", HTTP, proposing.proposer) | {"proposable_commands": [name]}
    with pytest.raises(Refusal, match="cannot be proposed"):
        await proposing.do("define_policy", terms)


async def test_attack_19_a_borrowed_decision_is_marked(proposing: Proposing):
    arguments = await EXAMPLES["start_run"](proposing.do)
    decision = await proposing.do(
        "register_decision", await EXAMPLES["register_decision"](proposing.do)
    )
    borrowed = arguments | {"decided_by_decision_id": decision["decision_id"]}
    shown = await proposing.shown(await proposing.propose("start_run", borrowed))
    assert shown["decision_id"] == decision["decision_id"]
    assert shown["decision_by_proposer"] is False


async def test_a_proposer_who_lost_the_right_is_not_served(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY)
    listed = await proposing.do(
        "list_policies", {"permitted_principal_id": str(proposing.proposer)}
    )
    for each in listed["items"]:
        gone = {"policy_id": each["policy_id"], "permitted_principal_id": str(proposing.proposer)}
        await proposing.do("revoke_grant", gone | {"reason": "Left"})
    with pytest.raises(proposal.ProposalCannotApproveError):
        await proposing.approve(id)


async def refused_now(proposing: Proposing, id: str, caller: Caller | None = None) -> str:
    """The refusal of an approval at this moment, as the proposal shows it to a caller."""
    question = proposing.service.catalogue.named["get_proposal"]
    assert isinstance(question, Question)
    asked = Request(caller or by("ada"), {"proposal_id": id})
    now = json.loads((await proposing.service.queries.ask(question, asked)).body)["now"]
    assert now["events"] is None
    assert proposing.denials == []
    return now["refusal"]["code"]


async def test_now_tells_whom_the_approval_is_refused(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY)
    paul, tool = by("paul"), by("ada", SurfaceKind.MCP_STREAMABLE_HTTP)
    assert await refused_now(proposing, id, paul) == "UnauthorizedError"
    for caller in (tool, by("ada", delegated=True)):
        assert await refused_now(proposing, id, caller) == "ProposalNotYoursToApproveError"
    await permit(proposing.service, proposing.proposer, "approve_proposal", "define_family")
    assert await refused_now(proposing, id, paul) == "ProposalNotYoursToApproveError"


async def test_now_tells_why_nobody_can_approve_any_more(proposing: Proposing):
    expired = await proposing.propose("define_family", FAMILY)
    proposing.expire(expired)
    assert await refused_now(proposing, expired) == "ProposalExpiredError"
    lapsed = await proposing.propose("define_family", FAMILY | {"name": "Stages"})
    await proposing.do("deactivate_actor", {"actor_id": str(proposing.proposer)})
    assert await refused_now(proposing, lapsed) == "ProposalCannotApproveError"
    await proposing.do("reject_proposal", {"proposal_id": lapsed, "reason": "No"})
    assert (await proposing.shown(lapsed))["now"] is None


async def test_the_version_that_the_proposer_required_holds_at_the_approval(proposing: Proposing):
    made = await proposing.do("define_family", FAMILY)
    family: dict[str, Any] = {
        "family_id": made["family_id"],
        "affordances": [],
        "settings_schema": None,
    }
    id = await proposing.propose("version_family", family | {"version_tag": "2"}, if_match='"1"')
    await proposing.do("version_family", family | {"version_tag": "3"})
    with pytest.raises(PreconditionFailedError):
        await proposing.approve(id)


async def test_a_proposer_withdraws_and_an_approver_rejects(proposing: Proposing):
    id = await proposing.propose("define_family", FAMILY)
    with pytest.raises(proposal.ProposalCannotWithdrawError):
        await proposing.do("withdraw_proposal", {"proposal_id": id})
    await proposing.do("reject_proposal", {"proposal_id": id, "reason": "No"})
    with pytest.raises(proposal.ProposalCannotWithdrawError):
        await call(proposing.service, "withdraw_proposal", {"proposal_id": id}, "paul")
    assert (await proposing.shown(id))["closed_reason"] == "No"


async def test_a_command_that_would_be_refused_is_not_proposed(proposing: Proposing):
    absent = {"family_id": str(UUID(int=1))}
    with pytest.raises(Refusal, match="There is no family"):
        await proposing.propose("deprecate_family", absent)


async def test_the_three_verdicts_are_distinguished(proposing: Proposing):
    about = {"principal_id": str(proposing.proposer), "conduit_id": str(seeded.ENTRY)}
    told = [
        (
            await proposing.do(
                "evaluate_authorization", about | {"surface_id": str(HTTP), "command_name": n}
            )
        )["decision"]
        for n in ("get_proposal", "define_family", "define_zone")
    ]
    assert told == ["Allow", "Propose", "Deny"]
