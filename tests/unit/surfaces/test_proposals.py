"""Proposals over REST and MCP: headers, answers, texts of tools, and delegated tokens."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2
import jsonschema_rs
import mcp_types as types
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.support.described import document
from tests.support.examples import EXAMPLES
from tests.support.examples.agent import MODEL
from tests.support.listening import listening
from tests.support.rest_client import RestClient, rest_client

from beamkeep.adapters.tokens.providers import (
    IdentityProviders,
    IntrospectionProvider,
    JwtProvider,
)
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.kernel import Accepted, Operation, SurfaceKind, reply_of
from beamkeep.runtime import Service
from beamkeep.runtime.tokens import TokenVerifier
from beamkeep.surfaces.http.edge import Edge, EdgeOptions
from beamkeep.surfaces.http.pages import application
from beamkeep.surfaces.tools.listing import tools
from beamkeep.testing.installation import ISSUER
from beamkeep.testing.service import call, memory_service, policy
from beamkeep.testing.static_verifier import StaticVerifier
from beamkeep.testing.tokens import AUDIENCE, NOW, Clock, claims, jwk, mint
from beamkeep.testing.web import GENEROUS, RESOURCE, always_ready, http_client

pytestmark = pytest.mark.anyio

FAMILY: dict[str, Any] = {"name": "Detectors", "affordances": []}
NOTE = "Für die Nachtschicht: bitte prüfen"
OWN = ("get_proposal", "withdraw_proposal")
MCP = SurfaceKind.MCP_STREAMABLE_HTTP


async def let_propose(
    service: Service, principal_id: str, on: SurfaceKind, *names: str, may: tuple[str, ...] = OWN
) -> None:
    """Let a principal propose these commands on a seeded surface, and call a few others."""
    terms = policy("Proposers", seeded.SURFACES[on], principal_id, *may)
    await call(service, "define_policy", terms | {"proposable_commands": [*names]})


# REST


@pytest.fixture
async def rest() -> AsyncGenerator[RestClient]:
    """A deployment where Bob may propose everything that can be proposed."""
    async with rest_client() as rest:
        listed = await rest("list_actors", {"kind": "human"})
        (bob,) = [each["actor_id"] for each in listed["items"] if each["name"] == "Bob"]
        http = seeded.SURFACES[SurfaceKind.HTTP]
        await rest("define_policy", policy("Own proposals", http, bob, *OWN, scope="Own"))
        terms = policy("Proposers", http, bob)
        await rest("define_policy", terms | {"proposable_commands": ["*"]})
        yield rest


async def test_a_proposal_is_answered_with_202_and_its_address(rest: RestClient):
    answer = await rest.send("define_family", FAMILY, "bob", idempotency_key="k")
    assert answer.status_code == 202
    assert answer.json().keys() == {"proposal_id"}
    assert answer.headers["location"] == f"/proposals/{answer.json()['proposal_id']}"
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["position-token"] == str(rest.store.position)
    for token in ("bob", "ada"):
        headers = {"authorization": f"Bearer {token}"}
        shown = await rest.http.get(answer.headers["location"], headers=headers)
        assert (shown.status_code, shown.json()["command_name"]) == (200, "define_family")
    again = await rest.send("define_family", FAMILY, "bob", idempotency_key="k")
    assert (again.status_code, again.content) == (202, answer.content)
    assert again.headers["location"] == answer.headers["location"]
    assert again.headers["idempotency-replayed"] == "true"


async def test_a_proposal_that_a_worker_carries_out_later_has_its_own_address(rest: RestClient):
    arguments = await EXAMPLES["conduct_procedure"](rest.do)
    answer = await rest.send("conduct_procedure", arguments, "bob")
    id = answer.json()["proposal_id"]
    assert (answer.status_code, answer.headers["location"]) == (202, f"/proposals/{id}")
    approved = await rest("approve_proposal", {"proposal_id": id})
    assert (approved["status"], approved["answer"].keys() >= {"conduct_id"}) == (202, True)


async def test_an_approval_answers_what_the_command_answered(rest: RestClient):
    id = (await rest("define_family", FAMILY, token="bob"))["proposal_id"]
    answer = await rest.send("approve_proposal", {"proposal_id": id}, if_match='"1"')
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    told = answer.json()
    assert (told["proposal_id"], told["status"]) == (id, 201)
    shown = await rest("get_family", told["answer"])
    assert shown["name"] == "Detectors"
    written = (await rest("get_proposal", {"proposal_id": id}, token="bob"))["written"]
    made = {"stream_type": "Family", "stream_id": told["answer"]["family_id"], "version": 1}
    assert written == [made]


async def test_an_approved_start_shows_the_cautions_of_the_run(rest: RestClient):
    arguments = await EXAMPLES["start_run"](rest.do)
    id = (await rest("start_run", arguments, token="bob"))["proposal_id"]
    approved = await rest("approve_proposal", {"proposal_id": id})
    assert approved["answer"].keys() == {"run_id", "advisories", "acknowledged_cautions"}


async def test_the_header_of_a_note_is_percent_encoded(rest: RestClient):
    answer = await rest.send("define_family", FAMILY, proposal_note=quote(NOTE))
    assert answer.status_code == 202
    assert (await rest("get_proposal", answer.json()))["note"] == NOTE


@pytest.mark.parametrize(
    ("name", "arguments", "note"),
    [
        ("define_family", FAMILY, ""),
        ("define_family", FAMILY, "%20" * 501),
        ("define_family", FAMILY, "%ff"),
        ("define_zone", {"name": "Hutch"}, "Please"),
    ],
    ids=["empty", "too long", "not UTF-8", "not proposable"],
)
async def test_a_note_that_cannot_be_used_is_malformed(
    rest: RestClient, name: str, arguments: dict[str, Any], note: str
):
    before = rest.store.position
    answer = await rest.send(name, arguments, proposal_note=note)
    assert (answer.status_code, answer.json()["code"]) == (422, "MalformedRequestError")
    assert rest.store.position == before


async def test_a_dry_run_tells_that_the_command_would_be_proposed(rest: RestClient):
    answer = await rest.send("define_family", FAMILY, "bob", params={"dry_run": "true"})
    (event,) = answer.json()["events"]
    assert (answer.status_code, answer.json()["would_propose"]) == (200, True)
    assert event["event_type"] == "FamilyDefined"


def described(row: Operation) -> Any:
    return document()["paths"][row.route.path][row.route.method.lower()]


# Accepted without a body: no document can say that a body is sometimes empty.
BODILESS = {"cancel_conduct"}


def test_the_document_has_202_and_the_note_for_exactly_what_can_be_proposed():
    proposed = {"$ref": "#/components/schemas/Proposed"}
    note = {"$ref": "#/components/parameters/ProposalNote"}
    for row in CATALOGUE.operations:
        told, can_be = described(row), row.name in CATALOGUE.proposable
        accepted = told["responses"].get("202", {}).get("content", {})
        schema = accepted.get("application/json", {}).get("schema", {})
        named = can_be and row.name not in BODILESS
        assert (proposed in schema.get("anyOf", [schema])) is named, row.name
        assert (note in told["parameters"]) is can_be, row.name
        later = issubclass(reply_of(row) or Operation, Accepted)
        assert ("202" in told["responses"]) is (can_be or later), row.name


# Delegated tokens

KEY = rsa.generate_private_key(65537, 2048)
ASKED = "https://asked.test"
SIGNING = {"issuer": ISSUER, "audiences": [AUDIENCE], "jwks_uri": f"{ISSUER}/jwks"}
ASKING = {
    "issuer": ASKED,
    "endpoint": f"{ASKED}/introspect",
    "client_id": "beamkeep",
    "client_secret": "s3cret",
    "audiences": [AUDIENCE],
}
ACT = {"act": {"sub": "robot"}}


def edge(service: Service, verifier: TokenVerifier) -> Edge:
    options = EdgeOptions(RESOURCE, verifier, limits=GENEROUS, allowed_hosts=("127.0.0.1:*",))
    return application(service, options, ready=always_ready, metrics=bytes)


def told_by_provider(request: httpx2.Request) -> httpx2.Response:
    """Answer as identity providers do: with the keys, or about the token that is asked about."""
    if request.method == "GET":
        return httpx2.Response(200, json={"keys": [jwk(KEY, "rsa")]})
    token = {"active": True, "sub": "eva", "client_id": "console", "aud": AUDIENCE}
    delegated = ACT if b"delegated" in request.content else {}
    return httpx2.Response(200, json={**token, "exp": NOW + 3600, **delegated})


@pytest.mark.parametrize(
    ("plain", "delegated"),
    [
        (mint(KEY, body=claims(sub="ada")), mint(KEY, body=claims(sub="ada", **ACT))),
        ("opaque-plain", "opaque-delegated"),
    ],
    ids=["signed", "introspected"],
)
async def test_attack_14_a_token_with_the_claim_act_approves_nothing(plain: str, delegated: str):
    service, _ = await memory_service()
    login = {"issuer": ASKED, "subject": "eva"}
    eva = await call(service, "register_actor", {"name": "Eva", "identities": [login]})
    everything = policy("Eva", seeded.SURFACES[SurfaceKind.HTTP], eva.id, "*")
    await call(service, "define_policy", everything)
    bob = await call(service, "register_actor", {"name": "Bob"})
    login = {"issuer": ISSUER, "subject": "bob", "actor_id": str(bob.id)}
    await call(service, "bind_actor_identity", login)
    await let_propose(service, bob.id, SurfaceKind.HTTP, "define_family")
    proposed = await call(service, "define_family", FAMILY, "bob")
    path = f"/proposals/{json.loads(proposed.body)['proposal_id']}/approve"
    entries: list[JwtProvider | IntrospectionProvider] = [
        JwtProvider.model_validate(SIGNING),
        IntrospectionProvider.model_validate(ASKING),
    ]
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(told_by_provider)) as asking:
        providers = IdentityProviders(entries, ASKED, asking, Clock())
        async with http_client(edge(service, providers)) as http:
            answers = [
                await http.post(path, json={}, headers={"authorization": f"Bearer {token}"})
                for token in (delegated, plain)
            ]
    refused, approved = answers
    assert (refused.status_code, refused.json()["code"]) == (403, "ProposalNotYoursToApproveError")
    assert approved.status_code == 200


# MCP

TOOLS = [*OWN, "define_family", "deprecate_family", "get_family", "approve_proposal"]


@pytest.fixture
async def service() -> Service:
    """A service where an agent with a login may propose what its tools name."""
    service, _ = await memory_service()
    told = {"kind": "Scheduler", "name": "Night", "version": "1", "model_ref": MODEL}
    agent = await call(service, "define_agent", {**told, "tools": TOOLS})
    login = {"issuer": ISSUER, "subject": "robot", "actor_id": str(agent.id)}
    await call(service, "bind_actor_identity", login)
    may = (*OWN, "get_family", "approve_proposal")
    await let_propose(service, agent.id, MCP, "*", may=may)
    return service


@asynccontextmanager
async def agent_of(service: Service) -> AsyncGenerator[Client]:
    """The client of the SDK, with the login of the agent."""
    serving = edge(service, StaticVerifier("ada", "robot"))
    async with (
        listening(serving) as port,
        httpx2.AsyncClient(headers={"authorization": "Bearer robot"}) as http,
        Client(
            streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        ) as connected,
    ):
        yield connected


async def answered(client: Client, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    result = await client.call_tool(name, arguments)
    assert isinstance(result, types.CallToolResult)
    return result


def body_of(result: types.CallToolResult) -> dict[str, Any]:
    return result.structured_content or {}


async def test_tools_that_need_approval_say_so_and_nobody_approves_with_a_tool(service: Service):
    async with agent_of(service) as agent:
        listed = {each.name: each.description for each in (await agent.list_tools()).tools}
    plain = {name: each.description for name, each in tools(CATALOGUE).items()}
    needs = {name: f"Needs approval. {plain[name]}" for name in listed if name.endswith("_family")}
    assert needs.keys() == {"define_family", "deprecate_family", "get_family"}
    needs["get_family"] = str(plain["get_family"])
    assert listed == {name: plain[name] for name in OWN} | needs


async def test_an_agent_proposes_and_a_person_approves(service: Service):
    async with agent_of(service) as agent:
        made = await answered(agent, "define_family", {**FAMILY, "proposal_note": NOTE})
        body: dict[str, Any] = body_of(made)
        assert not made.is_error
        assert body.keys() == {"proposal_id"}
        schema = tools(CATALOGUE)["define_family"].output_schema or {}
        jsonschema_rs.validate(schema, body)
        assert (made.meta or {})["link"] == f"/proposals/{body['proposal_id']}"
        shown = await answered(agent, "get_proposal", body)
        told: dict[str, Any] = body_of(shown)
        assert (told["note"], told["status"], told["now"]["refusal"]["status"]) == (
            NOTE,
            "Open",
            403,
        )
        approved = json.loads((await call(service, "approve_proposal", body)).body)
        closed = await answered(agent, "get_proposal", body)
        (written,) = body_of(closed)["written"]
        assert written["stream_id"] == approved["answer"]["family_id"]


async def test_the_two_tools_that_reach_all_others_propose_too(service: Service):
    async with agent_of(service) as agent:
        found = await answered(agent, "find_operation", {"words": "define a device family"})
        texts = {each["name"]: each["description"] for each in body_of(found)["operations"]}
        assert texts["define_family"].startswith("Needs approval. ")
        assert "approve_proposal" not in texts
        called = {"name": "define_family", "arguments": FAMILY}
        made = await answered(agent, "call_operation", called)
        assert body_of(made).keys() == {"proposal_id"}


async def test_attack_14_approving_over_mcp_is_refused(service: Service):
    async with agent_of(service) as agent:
        made = await answered(agent, "define_family", FAMILY)
        refused = await answered(agent, "approve_proposal", body_of(made))
    assert refused.is_error
    assert body_of(refused)["code"] == "ProposalNotYoursToApproveError"


async def test_attack_17_a_tool_that_is_not_granted_is_not_proposed(service: Service):
    async with agent_of(service) as agent:
        for name, arguments in (
            ("define_capability", {"name": "x"}),
            ("call_operation", {"name": "define_capability", "arguments": {"name": "x"}}),
        ):
            refused = await answered(agent, name, arguments)
            assert body_of(refused)["code"] == "UnauthorizedError"


async def test_a_tool_that_was_revoked_is_not_approved(service: Service):
    async with agent_of(service) as agent:
        made = await answered(agent, "define_family", FAMILY)
    (row,) = json.loads((await call(service, "list_agents", {"kind": "Scheduler"})).body)["items"]
    revoked = {"agent_id": row["agent_id"], "tool_name": "define_family"}
    await call(service, "revoke_agent_tool", revoked)
    async with http_client(edge(service, StaticVerifier("ada"))) as http:
        id = body_of(made)["proposal_id"]
        headers = {"authorization": "Bearer ada"}
        refused = await http.post(f"/proposals/{id}/approve", json={}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "ProposalCannotApproveError")
